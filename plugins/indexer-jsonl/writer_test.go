package indexerjsonl_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	indexerjsonl "github.com/gonutch/crawler/plugins/indexer-jsonl"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/plugins/internal/libwriter"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
)

func open(t testing.TB, dir string, params indexwriter.Params) *libtest.Writer {
	t.Helper()
	w, err := libtest.OpenWriter(t, indexerjsonl.Plugin(), dir, params)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestForm(t *testing.T) {
	w := open(t, t.TempDir(), nil)
	w.MustWrite(t, libtest.Add("a", "title", "x < y", "tag", "1", "tag", "2"), libtest.Delete("b"))
	w.MustCommit(t)
	want := map[string]string{"00000001.jsonl": `{"op":"add","id":"a","boost":1,"fields":{"id":["a"],"tag":["1","2"],"title":["x \u003c y"]}}
{"op":"delete","id":"b"}
`}
	if d := cmp.Diff(want, libtest.Files(t, filepath.Join(w.Dir, libtest.Instance))); d != "" {
		t.Error(d)
	}
}

// TestRotation: files end at the size and at commits, and go on counting after a
// restart; what was not committed is gone.
func TestRotation(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	params := indexwriter.Params{"path": path, "max_file_size": "64KiB"}
	w := open(t, dir, params)
	big := strings.Repeat("x", 40<<10)
	w.MustWrite(t, libtest.Add("1", "c", big), libtest.Add("2", "c", big), libtest.Add("3", "c", big))
	if got := slices.Sorted(maps.Keys(libtest.Files(t, path))); !slices.Equal(got, []string{"00000001.jsonl.part", "00000002.jsonl.part"}) {
		t.Errorf("before the commit: %v", got)
	}
	w.MustCommit(t)
	w.MustCommit(t)
	w.MustWrite(t, libtest.Add("4"))
	w.Kill()
	// As kill -9 leaves it: a file with half a line.
	if err := os.WriteFile(filepath.Join(path, "00000009.jsonl.part"), []byte(`{"op":"ad`), 0o600); err != nil {
		t.Fatal(err)
	}
	w = open(t, dir, params)
	w.MustWrite(t, libtest.Add("5"))
	w.MustCommit(t)
	files := libtest.Files(t, path)
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, []string{"00000001.jsonl", "00000002.jsonl", "00000003.jsonl"}) {
		t.Errorf("in the end: %v", got)
	}
	var ids []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for line := range strings.Lines(files[name]) {
			var r libwriter.Record
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Errorf("%s: %q: %v", name, line, err)
			}
			ids = append(ids, r.ID)
		}
	}
	if d := cmp.Diff([]string{"1", "2", "3", "5"}, ids); d != "" {
		t.Error(d)
	}
}

// TestForeignFiles: what others have in the folder, half-made files too, stays there and counts for nothing.
func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	want := map[string]string{"holiday.mp4.part": "a", "00000007.csv.part": "b", "00000008.csv": "c", "9": "d"}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := open(t, dir, indexwriter.Params{"path": path})
	w.MustWrite(t, libtest.Delete("x"))
	w.MustCommit(t)
	got := libtest.Files(t, path)
	if got["00000001.jsonl"] == "" {
		t.Errorf("no file 1: %v", got)
	}
	delete(got, "00000001.jsonl")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestGzip(t *testing.T) {
	w := open(t, t.TempDir(), indexwriter.Params{"gzip": "true"})
	w.MustWrite(t, libtest.Delete("a"))
	w.MustCommit(t)
	z, err := gzip.NewReader(bytes.NewReader([]byte(libtest.Files(t, filepath.Join(w.Dir, libtest.Instance))["00000001.jsonl.gz"])))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(z); err != nil || string(b) != "{\"op\":\"delete\",\"id\":\"a\"}\n" {
		t.Errorf("%q %v", b, err)
	}
}

func TestErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []indexwriter.Params{{"max_file_size": "lots"}, {"nonsense": "1"}, {"gzip": "maybe"}} {
		if _, err := libtest.OpenWriter(t, indexerjsonl.Plugin(), t.TempDir(), p); !fault.Is(err, fault.Invalid) {
			t.Errorf("%v: %v", p, err)
		}
	}
	if _, err := libtest.OpenWriter(t, indexerjsonl.Plugin(), t.TempDir(), indexwriter.Params{"path": file}); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func BenchmarkWrite(b *testing.B) {
	libtest.BenchWrite(b, func(b *testing.B) *libtest.Writer { return open(b, b.TempDir(), nil) })
}

// TestOneFolder: two writers never write into one folder.
func TestOneFolder(t *testing.T) {
	dir, path := t.TempDir(), t.TempDir()
	params := indexwriter.Params{"path": path}
	w := open(t, dir, params)
	if _, err := libtest.OpenWriter(t, indexerjsonl.Plugin(), dir, params); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), path) {
		t.Errorf("a second writer: %v", err)
	}
	w.MustWrite(t, libtest.Add("1"))
	w.MustCommit(t)
	w.Kill()
	open(t, dir, params).MustCommit(t)
}
