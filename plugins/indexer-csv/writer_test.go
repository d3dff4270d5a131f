package indexercsv_test

import (
	"encoding/csv"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	indexercsv "github.com/gonutch/crawler/plugins/indexer-csv"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
)

func open(t testing.TB, params indexwriter.Params) *libtest.Writer {
	t.Helper()
	w, err := libtest.OpenWriter(t, indexercsv.Plugin(), t.TempDir(), params)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// written commits and returns the one file there is.
func written(t testing.TB, w *libtest.Writer) string {
	t.Helper()
	w.MustCommit(t)
	files := libtest.Files(t, filepath.Join(w.Dir, libtest.Instance))
	if len(files) != 1 {
		t.Fatalf("%d files", len(files))
	}
	return files["00000001.csv"]
}

// Defaults and forms: nutch.md 2.8.
func TestForms(t *testing.T) {
	doc := libtest.Add("u", "title", `say "hi", you`, "content", "two\nlines", "tag", "a", "tag", "b|c", "tag", "d")
	for name, c := range map[string]struct {
		params indexwriter.Params
		want   string
	}{
		"defaults":     {nil, "id,title,content\r\nu,\"say \"\"hi\"\", you\",\"two\nlines\"\r\n"},
		"no header":    {indexwriter.Params{"header": "false", "fields": "id,missing"}, "u,\r\n"},
		"values":       {indexwriter.Params{"fields": "tag"}, "tag\r\na|b|c|d\r\n"},
		"max values":   {indexwriter.Params{"fields": "tag", "maxfieldvalues": "2", "valuesep": ";"}, "tag\r\na;b|c\r\n"},
		"max length":   {indexwriter.Params{"fields": "title,content", "maxfieldlength": "3"}, "title,content\r\nsay,two\r\n"},
		"no limits":    {indexwriter.Params{"fields": "tag", "maxfieldvalues": "-1", "maxfieldlength": "-1"}, "tag\r\na|b|c|d\r\n"},
		"tabs":         {indexwriter.Params{"fields": "id,title", "separator": "\t", "escapechar": `\`}, "id\ttitle\r\nu\t\"say \\\"hi\\\", you\"\r\n"},
		"no quotes":    {indexwriter.Params{"fields": "title,content", "quotechar": ""}, "title,content\r\nsay \"hi\"  you,two lines\r\n"},
		"single quote": {indexwriter.Params{"fields": "title", "quotechar": "'"}, "title\r\n'say \"\"hi\"\", you'\r\n"},
	} {
		w := open(t, c.params)
		w.MustWrite(t, doc)
		if d := cmp.Diff(c.want, written(t, w)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestCharset(t *testing.T) {
	w := open(t, indexwriter.Params{"charset": "ISO-8859-1", "fields": "title", "header": "false"})
	w.MustWrite(t, libtest.Add("u", "title", "für € \xff"))
	if got := written(t, w); got != "f\xfcr ? ?\r\n" {
		t.Errorf("%q", got)
	}
	w = open(t, indexwriter.Params{"fields": "title", "header": "false", "maxfieldlength": "2"})
	w.MustWrite(t, libtest.Add("u", "title", "日本語"), libtest.Add("v", "title", "\xff\xfe\xfd"))
	if got := written(t, w); got != "日本\r\n\uFFFD\r\n" {
		t.Errorf("%q", got)
	}
}

func TestErrors(t *testing.T) {
	for name, p := range map[string]indexwriter.Params{
		"charset": {"charset": "klingon"}, "fields": {"fields": ""}, "separator": {"separator": ""}, "quotechar": {"quotechar": ","},
		"escapechar": {"escapechar": ""}, "maxfieldlength": {"maxfieldlength": "many"}, "nonsense": {"nonsense": "1"},
	} {
		_, err := libtest.OpenWriter(t, indexercsv.Plugin(), t.TempDir(), p)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzRow: whatever a page says, encoding/csv reads back one row of it.
func FuzzRow(f *testing.F) {
	f.Add("a\"b", "c,\r\nd")
	f.Add("\xff", "")
	f.Fuzz(func(t *testing.T, a, b string) {
		w := open(t, indexwriter.Params{"header": "false", "fields": "title,content", "maxfieldlength": "-1"})
		w.MustWrite(t, libtest.Add("u", "title", a, "content", b))
		rows, err := csv.NewReader(strings.NewReader(written(t, w))).ReadAll()
		if err != nil || a+b != "" && (len(rows) != 1 || len(rows[0]) != 2) {
			t.Errorf("%q, %q: %q %v", a, b, rows, err)
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	libtest.BenchWrite(b, func(b *testing.B) *libtest.Writer { return open(b, nil) })
}
