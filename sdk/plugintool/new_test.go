package plugintool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gonutch/crawler/sdk/extension"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/plugintool"
)

// module makes a module beside this one that requires it, as an author has.
func module(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	const path = "github.com/gonutch/crawler"
	text := strings.Replace(string(mod), "module "+path, "module example.org/mine", 1)
	text += "\nrequire " + path + " v0.0.0\nreplace " + path + " => " + root + "\n"
	dir := t.TempDir()
	for name, b := range map[string][]byte{"go.mod": []byte(text), "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func goTool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestNew writes a plugin for every point, compiles them all and runs the tests
// of one.
func TestNew(t *testing.T) {
	dir := module(t)
	for _, p := range extension.Points() {
		files, err := plugintool.New(dir, id(p), p.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil || len(b) == 0 {
				t.Errorf("%s: %v", name, err)
			}
			if filepath.Base(name) != "plugin.hcl" {
				continue
			}
			m, err := manifest.Read(name, b)
			if err != nil {
				t.Error(err)
				continue
			}
			if _, ok := m.Provided(p.Name); !ok || m.ID != id(p) {
				t.Errorf("%s: id %s, provides %+v", name, m.ID, m.Provides)
			}
		}
	}
	goTool(t, dir, "vet", "./...")
	if os.Getenv("PLUGINTOOL_ALL") != "" {
		goTool(t, dir, "test", "./...")
	} else {
		goTool(t, dir, "test", "./urlfilter-x")
	}
}

func id(p extension.Point) string {
	if p.Name == "searcher" {
		return p.Prefix + "y" // it shares its prefix with indexwriter
	}
	return p.Prefix + "x"
}

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range [][2]string{{"urlfilter-x", "urlfilters"}, {"x", "urlfilter"}, {"urlfilter-", "urlfilter"}, {"urlfilter-X", "urlfilter"}, {"../urlfilter-x", "urlfilter"}} {
		if _, err := plugintool.New(dir, c[0], c[1]); !fault.Is(err, fault.Invalid) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("something was written: %v, %v", entries, err)
	}
	keep := filepath.Join(dir, "urlfilter-x", "mine.txt")
	if err := os.MkdirAll(filepath.Dir(keep), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keep, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := plugintool.New(dir, "urlfilter-x", "urlfilter"); !fault.Is(err, fault.Invalid) {
		t.Errorf("over a folder that is there: %v", err)
	}
	if _, err := os.Stat(keep); err != nil {
		t.Error(err)
	}
}
