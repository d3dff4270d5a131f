package store

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTemp: what is being made stays, what was left goes, and nothing else is touched.
func TestTemp(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "a[b]")
	names := func() (out []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			out = append(out, filepath.Join(dir, e.Name()))
		}
		return out
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	has := func(what string, want ...string) {
		t.Helper()
		got := names()
		for _, w := range want {
			found := false
			for _, g := range got {
				found = found || g == w
			}
			if !found {
				t.Errorf("%s: %s is gone; there are %q", what, w, got)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: there are %q, want %q", what, got, want)
		}
	}
	own := filepath.Join(dir, ".a[b].mine")
	must(os.WriteFile(own, nil, 0o600))
	busy, err := TempDir(target)
	must(err)
	must(os.WriteFile(filepath.Join(busy.Path, "x"), nil, 0o600))
	file, err := TempFile(target)
	must(err)
	other, err := TempFile(filepath.Join(dir, "other"))
	must(err)
	has("three at work", own, busy.Path, file.Path, other.Path)

	// As a process that is killed would: the locks go, the files stay.
	must(busy.Done())
	must(file.Done())
	must(other.Done())
	must(other.Done())
	next, err := TempDir(target)
	must(err)
	has("left ones", own, next.Path, other.Path)
	must(next.Remove())
	has("removed", own, other.Path)

	whole, err := TempFile(target)
	must(err)
	must(whole.File.Close())
	must(os.Rename(whole.Path, target))
	must(whole.Done())
	has("done", own, other.Path, target)
}
