package pluginhost

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk/fault"
)

func manifestOf(id, more string) string {
	return fmt.Sprintf("id = %q\nname = \"Test\"\nversion = \"1\"\napi = 1\nprovide \"urlfilter\" {}\n%s\n", id, more)
}

// write makes a file below dir, executable when it has no extension.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	mode := os.FileMode(0o600)
	if filepath.Ext(name) == "" {
		mode = 0o700
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDiscover(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "good/plugin.hcl", manifestOf("urlfilter-good", `command = ["./run"]`))
	write(t, dir, "good/run", "")
	write(t, dir, "script/plugin.hcl", manifestOf("urlfilter-script", `command = ["sh", "x.sh"]`))
	write(t, dir, "new-a/plugin.hcl", manifestOf("urlfilter-a", `command = ["run"]`))
	write(t, dir, "new-a/run", "")
	write(t, dir, "not-a-plugin/README.md", "")
	write(t, dir, "unbuilt/plugin.hcl", manifestOf("urlfilter-unbuilt", `command = ["./run"]`))
	write(t, dir, "plain/plugin.hcl", manifestOf("urlfilter-plain", `command = ["./run.txt"]`))
	write(t, dir, "plain/run.txt", "")
	write(t, dir, "none/plugin.hcl", manifestOf("urlfilter-none", ""))
	write(t, dir, "strange/plugin.hcl", manifestOf("urlfilter-strange", `command = ["no-such-program-anywhere"]`))
	write(t, dir, "zz-twice/plugin.hcl", manifestOf("urlfilter-good", `command = ["./run"]`))
	write(t, dir, "zz-twice/run", "")
	write(t, dir, "broken/plugin.hcl", "id = ")
	single := filepath.Join(t.TempDir(), "single")
	write(t, single, "plugin.hcl", manifestOf("urlfilter-single", `command = ["./run"]`))
	write(t, single, "run", "")

	found, errs := Discover([]Builtin{
		{"urlfilter-a", []byte(manifestOf("urlfilter-a", ""))},
		{"urlfilter-b", []byte(manifestOf("urlfilter-b", ""))},
		{"urlfilter-c", []byte(manifestOf("urlfilter-other", ""))},
	}, []string{dir, single, filepath.Join(dir, "missing"), "optional"}, func(f string) bool { return f == "optional" })
	var got []string
	for _, f := range found {
		if f.Err != nil {
			errs = append(errs, f.Err)
			continue
		}
		got = append(got, fmt.Sprint(f.ID, " ", f.File != "", " ", f.Replaces))
	}
	want := []string{
		"urlfilter-a true true", "urlfilter-b false false", "urlfilter-good true false",
		"urlfilter-script true false", "urlfilter-single true false",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, text := range []string{
		`id is "urlfilter-other", want "urlfilter-c"`, "broken/plugin.hcl:1", "not built yet?", "chmod +x",
		"command is missing", "neither in the plugin's folder nor on the search path", "is already in", "missing: no such file",
	} {
		n := 0
		for _, err := range errs {
			if strings.Contains(strings.ReplaceAll(err.Error(), "open ", ""), text) || strings.Contains(err.Error(), "missing") && strings.HasPrefix(text, "missing") {
				n++
			}
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("kind of %v", err)
			}
		}
		if n == 0 {
			t.Errorf("no error says %q", text)
		}
	}
	if len(errs) != 8 {
		t.Errorf("%d errors: %v", len(errs), errs)
	}
}

// TestFolderPlugin runs a folder plugin whose program is a copy of this binary
// behind a script, with a checksum.
func TestFolderPlugin(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("exec %s plugin serve x\n", exe)
	src := strings.Replace(chaosManifest, "api         = 1", "api         = 1\ncommand     = [\"sh\", \"start.sh\"]", 1)
	write(t, dir, "p/plugin.hcl", src)
	write(t, dir, "p/start.sh", script)
	found, errs := Discover(nil, []string{dir}, nil)
	if len(found) != 1 || len(errs) > 0 {
		t.Fatal(found, errs)
	}
	run := func(sum string) error {
		h, err := New(Options{Checksums: map[string]string{"urlfilter-chaos": sum}}, list(found[0].Manifest), chaosSettings(nil))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = h.Close(t.Context()) }()
		return h.Start(t.Context(), []string{"urlfilter-chaos"})
	}
	sum := sha256.Sum256([]byte(script))
	// The program was built with the other manifest: that is found out, so the
	// checksum was right and the process started and answered.
	if err := run(strings.ToUpper(hex.EncodeToString(sum[:]))); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "another manifest") {
		t.Errorf("got %v", err)
	}
	if err := run(strings.Repeat("0", 64)); !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "plugin.checksums wants 000") {
		t.Errorf("wrong checksum: %v", err)
	}
}
