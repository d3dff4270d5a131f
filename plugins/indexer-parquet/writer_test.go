package indexerparquet_test

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	indexerparquet "github.com/gonutch/crawler/plugins/indexer-parquet"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
)

func open(t testing.TB, params indexwriter.Params) *libtest.Writer {
	t.Helper()
	w, err := libtest.OpenWriter(t, indexerparquet.Plugin(), t.TempDir(), params)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// row is what a reader sees, by the library's own mapping of structs.
type row struct {
	Op    string   `parquet:"op"`
	ID    string   `parquet:"id"`
	Boost float64  `parquet:"boost"`
	Title *string  `parquet:"title,optional"`
	Tag   []string `parquet:"tag"`
}

func read(t *testing.T, w *libtest.Writer) (rows []row, files []string) {
	t.Helper()
	dir := filepath.Join(w.Dir, libtest.Instance)
	files = slices.Sorted(maps.Keys(libtest.Files(t, dir)))
	for _, name := range files {
		if strings.HasSuffix(name, ".part") {
			continue
		}
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		r := parquet.NewGenericReader[row](f)
		batch := make([]row, r.NumRows())
		if n, err := r.Read(batch); int64(n) != r.NumRows() || err != nil && err != io.EOF {
			t.Errorf("%s: %d rows, %v", name, n, err)
		}
		rows = append(rows, batch...)
		_ = r.Close()
		_ = f.Close()
	}
	return rows, files
}

func TestRows(t *testing.T) {
	for _, compression := range []string{"none", "gzip", "snappy", "zstd"} {
		w := open(t, indexwriter.Params{"fields": "title,tag[]", "compression": compression, "row_group": "2"})
		w.MustWrite(t, libtest.Add("a", "title", "A", "tag", "1", "tag", "2", "other", "x"), libtest.Add("b"), libtest.Delete("a"), libtest.Add("c", "title", "x", "title", "y", "tag", ""))
		if rows, _ := read(t, w); len(rows) != 0 {
			t.Errorf("before the commit: %v", rows)
		}
		w.MustCommit(t)
		w.MustCommit(t)
		text := func(s string) *string { return &s }
		want := []row{{"add", "a", 1, text("A"), []string{"1", "2"}}, {"add", "b", 1, nil, []string{}}, {"delete", "a", 0, nil, []string{}}, {"add", "c", 1, text("x\ny"), []string{""}}}
		rows, files := read(t, w)
		for i := range rows {
			if rows[i].Tag == nil {
				rows[i].Tag = []string{}
			}
		}
		if d := cmp.Diff(want, rows); d != "" || !slices.Equal(files, []string{"00000001.parquet"}) {
			t.Errorf("%s: %v %s", compression, files, d)
		}
	}
}

// TestFiles: files end at the size and at commits; what was not committed is gone.
func TestFiles(t *testing.T) {
	w := open(t, indexwriter.Params{"fields": "title", "row_group": "1", "max_file_size": "64KiB", "compression": "none"})
	for i := range 4 {
		w.MustWrite(t, libtest.Add(fmt.Sprint(i), "title", strings.Repeat(fmt.Sprint(i), 40<<10)))
	}
	w.MustCommit(t)
	w.MustWrite(t, libtest.Add("lost"))
	w.Kill()
	w2, err := libtest.OpenWriter(t, indexerparquet.Plugin(), w.Dir, indexwriter.Params{"fields": "title"})
	if err != nil {
		t.Fatal(err)
	}
	w2.MustWrite(t, libtest.Add("4"))
	w2.MustCommit(t)
	rows, files := read(t, w2)
	if len(rows) != 5 || rows[4].ID != "4" || len(files) < 3 || slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, ".part") }) {
		t.Errorf("%d rows in %v", len(rows), files)
	}
}

func TestErrors(t *testing.T) {
	for _, p := range []indexwriter.Params{{"fields": "title,title"}, {"fields": "id"}, {"fields": "a,a[]"}, {"compression": "rar"}, {"row_group": "many"}} {
		if _, err := libtest.OpenWriter(t, indexerparquet.Plugin(), t.TempDir(), p); !fault.Is(err, fault.Invalid) {
			t.Errorf("%v: %v", p, err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	libtest.BenchWrite(b, func(b *testing.B) *libtest.Writer { return open(b, nil) })
}
