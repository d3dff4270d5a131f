package examples_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/plugintool"
)

// check runs "plugin check" and returns what failed, by name.
func check(t *testing.T, folder string) map[string][]string {
	t.Helper()
	p, err := plugintool.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	failed := map[string][]string{}
	n, err := p.Check(t.Context(), plugintool.Settings{}, func(r plugintool.Result) {
		if !r.OK() {
			failed[r.Name] = r.Failures
		}
	})
	if err != nil {
		t.Error(err)
	}
	if n != len(failed) {
		t.Errorf("%d failures counted, %d reported", n, len(failed))
	}
	return failed
}

func TestCheck(t *testing.T) {
	dir := goPlugin(t)
	if failed := check(t, dir); len(failed) != 0 {
		t.Errorf("failed: %v", failed)
	}
	file := filepath.Join(dir, "plugin.hcl")
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(src), `provide "urlfilter" {}`, "provide \"urlfilter\" {}\nprovide \"segmentmerge\" {}", 1)
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	failed := check(t, dir)
	for _, name := range []string{"base/describe", "base/provides", "segmentmerge/same answer twice"} {
		if len(failed[name]) == 0 {
			t.Errorf("%s passed with a manifest that is not the program's", name)
		}
	}
	if len(failed["urlfilter/any order"]) != 0 {
		t.Errorf("what still holds failed: %v", failed["urlfilter/any order"])
	}
}

func TestBrokenFolders(t *testing.T) {
	manifest := func(command string) string {
		return "id = \"urlfilter-x\"\nname = \"x\"\nversion = \"1\"\napi = 1\n" + command + "\nprovide \"urlfilter\" {}\n"
	}
	for name, c := range map[string]struct{ hcl, want string }{
		"no manifest":   {"", "plugin.hcl"},
		"bad manifest":  {"id = ", "plugin.hcl:1"},
		"no command":    {manifest(""), "command is missing"},
		"no program":    {manifest(`command = ["./urlfilter-x"]`), "not built yet"},
		"not in path":   {manifest(`command = ["no-such-program-anywhere"]`), "search path"},
		"no permission": {manifest(`command = ["plugin.hcl"]`), "chmod +x"},
		"folder":        {manifest(`command = ["/"]`), "is a folder"},
	} {
		dir := t.TempDir()
		if c.hcl != "" {
			if err := os.WriteFile(filepath.Join(dir, "plugin.hcl"), []byte(c.hcl), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := plugintool.Open(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want something about %q", name, err, c.want)
		}
	}
	// A program that is no plugin: what it printed is in the message.
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plugin.hcl"), []byte(manifest(`command = ["sh", "-c", "echo out of order >&2; exit 3"]`)), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := plugintool.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Call(t.Context(), plugintool.Settings{}, "urlfilter", []byte(`["a"]`)); err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("got %v", err)
	}
	if _, err := p.Call(t.Context(), plugintool.Settings{}, "parser", nil); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "it provides urlfilter") {
		t.Errorf("got %v", err)
	}
}
