package indexerdummy_test

import (
	"os"
	"path/filepath"
	"testing"

	indexerdummy "github.com/gonutch/crawler/plugins/indexer-dummy"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
)

func open(t testing.TB, path string, params indexwriter.Params) *libtest.Writer {
	t.Helper()
	p := indexwriter.Params{"path": path}
	for k, v := range params {
		p[k] = v
	}
	w, err := libtest.OpenWriter(t, indexerdummy.Plugin(), t.TempDir(), p)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestForm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "dummy.txt")
	w := open(t, path, nil)
	w.MustWrite(t, libtest.Add("a"), libtest.Delete("b"), libtest.Add("odd\nid\t"))
	if got := read(t, path); got != "" {
		t.Errorf("before the commit: %q", got)
	}
	w.MustCommit(t)
	w.MustCommit(t) // nothing to commit
	want := "add\ta\ndelete\tb\nadd\todd\\nid\\t\ncommit\n"
	if got := read(t, path); got != want {
		t.Errorf("%q", got)
	}
	w.MustWrite(t, libtest.Add("lost"))
	w.Kill()
	w = open(t, path, indexwriter.Params{"delete": "false"})
	w.MustWrite(t, libtest.Delete("c"), libtest.Add("d"))
	w.MustCommit(t)
	if got := read(t, path); got != want+"add\td\ncommit\n" {
		t.Errorf("after opening again: %q", got)
	}
}

// TestCrash: whatever stands behind the last commit line is cut off.
func TestCrash(t *testing.T) {
	for before, want := range map[string]string{
		"add\ta\ncommit\nadd\tb\nad": "add\ta\ncommit\n",
		"add\ta\ncommit\ncommi":      "add\ta\ncommit\n",
		"commit\nadd\tx":             "commit\n",
		"add\tno commit":             "",
		"ad":                         "",
		"add\tcommit\nx":             "",
	} {
		path := filepath.Join(t.TempDir(), "dummy.txt")
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		open(t, path, nil)
		if got := read(t, path); got != want {
			t.Errorf("%q: %q, want %q", before, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "letter.txt")
	if err := os.WriteFile(path, []byte("dear all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []indexwriter.Params{{"path": path}, {"path": filepath.Dir(path)}, {"path": filepath.Join(path, "x")}, {"delete": "perhaps"}, {"nonsense": ""}} {
		if _, err := libtest.OpenWriter(t, indexerdummy.Plugin(), t.TempDir(), p); !fault.Is(err, fault.Invalid) {
			t.Errorf("%v: %v", p, err)
		}
	}
	if got := read(t, path); got != "dear all\n" {
		t.Errorf("somebody's file was changed: %q", got)
	}
}

func BenchmarkWrite(b *testing.B) {
	libtest.BenchWrite(b, func(b *testing.B) *libtest.Writer { return open(b, filepath.Join(b.TempDir(), "dummy.txt"), nil) })
}
