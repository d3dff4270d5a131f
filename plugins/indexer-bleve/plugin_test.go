package indexerbleve_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	bleve "github.com/gonutch/crawler/plugins/indexer-bleve"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

func open(t *testing.T, dir string, params indexwriter.Params) *bleve.Index {
	t.Helper()
	x := bleve.New(bleve.Config{Analyzer: "standard", StoreContent: true}, dir, 250)
	if err := x.Open(t.Context(), "main", params); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func add(id string, fields map[string][]string) indexwriter.Op {
	return indexwriter.Op{Doc: model.Document{ID: id, Boost: 1, Fields: fields}}
}

func write(t *testing.T, x *bleve.Index, ops ...indexwriter.Op) {
	t.Helper()
	res, err := x.Write(t.Context(), "main", ops)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range res {
		if r.Rejected != "" {
			t.Errorf("op %d rejected: %s", i, r.Rejected)
		}
	}
}

func find(t *testing.T, x *bleve.Index, text string) []string {
	t.Helper()
	res, err := x.Search(t.Context(), "main", &searcher.Query{Text: text, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, h := range res.Hits {
		ids = append(ids, h.ID)
	}
	slices.Sort(ids)
	if int(res.Total) != len(ids) {
		t.Errorf("%q: total %d, hits %d", text, res.Total, len(ids))
	}
	return ids
}

func corpus() []indexwriter.Op {
	return []indexwriter.Op{
		add("http://a/1", map[string][]string{"title": {"Window functions"}, "content": {"A window function performs a calculation across rows."}, "host": {"a"}, "type": {"text/html", "text", "html"}, "tstamp": {"2026-01-02T03:04:05Z"}, "contentLength": {"42"}}),
		add("http://a/2", map[string][]string{"title": {"Tables"}, "content": {"The rows of a table; see the window."}, "host": {"a"}, "type": {"text/html"}}),
		add("http://b/3", map[string][]string{"title": {"Other"}, "content": {"nothing"}, "anchor": {"about window frames"}, "host": {"b"}, "type": {"text/plain"}}),
	}
}

func TestSearch(t *testing.T) {
	x := open(t, t.TempDir(), nil)
	write(t, x, corpus()...)
	for _, c := range []struct {
		q    string
		want []string
	}{
		{"window", []string{"http://a/1", "http://a/2", "http://b/3"}},
		{"WINDOW rows", []string{"http://a/1", "http://a/2"}},
		{"window -rows", []string{"http://b/3"}},
		{`"window function"`, []string{"http://a/1"}},
		{"+window +table", []string{"http://a/2"}},
		{"title:window", []string{"http://a/1"}},
		{"host:b", []string{"http://b/3"}},
		{"type:html", []string{"http://a/1"}},
		{"func*", []string{"http://a/1"}},
		{"tabel~1", []string{"http://a/2"}},
		{"the rows of the window", []string{"http://a/1", "http://a/2"}},
		{"the", []string{}},
		{"absent", []string{}},
		{"", []string{"http://a/1", "http://a/2", "http://b/3"}},
		{"-window", []string{}},
	} {
		if d := cmp.Diff(c.want, find(t, x, c.q)); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.q, d)
		}
	}
}

// TestContract is what the servers' searchers go through, too.
func TestContract(t *testing.T) {
	for _, analyzer := range []string{"auto", "standard"} {
		t.Run(analyzer, func(t *testing.T) {
			libtest.EngineSearch(t, open(t, t.TempDir(), indexwriter.Params{"analyzer": analyzer}))
		})
	}
}

func TestHit(t *testing.T) {
	x := open(t, t.TempDir(), nil)
	write(t, x, corpus()...)
	res, err := x.Search(t.Context(), "main", &searcher.Query{Text: "window", Facets: []string{"host"}, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	h := res.Hits[0]
	if h.ID != "http://a/1" {
		t.Errorf("first hit is %s, want the one with the word in its title", h.ID)
	}
	if d := cmp.Diff([]string{"\x01Window\x02 functions"}, h.Snippets["title"]); d != "" {
		t.Errorf("title (-want +got):\n%s", d)
	}
	if s := h.Snippets["content"]; len(s) == 0 || !strings.Contains(s[0], "\x01window\x02 function") {
		t.Errorf("snippet %q does not mark the word", s)
	}
	if h.Fields["content"] != nil || h.Fields["contentLength"][0] != "42" || h.Fields["tstamp"][0] != "2026-01-02T03:04:05Z" {
		t.Errorf("fields %v", h.Fields)
	}
	if d := cmp.Diff([]searcher.FacetValue{{Value: "a", Count: 2}, {Value: "b", Count: 1}}, res.Facets["host"]); d != "" {
		t.Errorf("facet (-want +got):\n%s", d)
	}
}

// TestLanguages: each document is found by the words of its own language, whatever the query's,
// and after reopening.
func TestLanguages(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir, indexwriter.Params{"analyzer": "auto"})
	page := func(id, lang, text string) indexwriter.Op {
		f := map[string][]string{"content": {text}, "host": {"a"}}
		if lang != "" {
			f["lang"] = []string{lang}
		}
		return add(id, f)
	}
	write(t, x, page("http://a/de", "de", "Die Häuser der alten Städte"), page("http://a/en", "en-GB", "The houses are standing; cities die"),
		page("http://a/fr", "fr", "Les maisons étaient vieilles"), page("http://a/ja", "ja", "東京都の家"), page("http://a/none", "", "houses and die Häuser"),
		page("http://a/xx", "tlh", "die Häuser"))
	for range 2 {
		for q, want := range map[string][]string{
			"haus":           {"http://a/de"},                                 // stemmed: only where it is German
			"Häuser":         {"http://a/de", "http://a/none", "http://a/xx"}, // as it stands elsewhere
			"die Häuser":     {"http://a/de", "http://a/none", "http://a/xx"}, // a stop word in German only
			"house":          {"http://a/en"},
			"the house":      {"http://a/en"},
			"stand city":     {"http://a/en"},
			"maison vieille": {"http://a/fr"},
			"東京":             {"http://a/ja"},
			`"alten Städte"`: {"http://a/de"},
			"content:haus":   {"http://a/de"},
			"host:a -Häuser": {"http://a/en", "http://a/fr", "http://a/ja"},
			"lang:fr":        {"http://a/fr"},
			"hous*":          {"http://a/en", "http://a/none"},
			"the":            {},
		} {
			if d := cmp.Diff(want, find(t, x, q)); d != "" {
				t.Errorf("%q (-want +got):\n%s", q, d)
			}
		}
		desc, err := x.Describe(t.Context(), "main", nil)
		if err != nil || len(desc.Problems) != 0 || desc.Facts[2].Value != "cjk, de, en, fr, standard" {
			t.Errorf("%+v %v", desc, err)
		}
		if err := x.Close(t.Context(), "main"); err != nil {
			t.Fatal(err)
		}
		if err := x.Open(t.Context(), "main", indexwriter.Params{"analyzer": "auto"}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFacets: host, type, language and, by month, date.
func TestFacets(t *testing.T) {
	x := open(t, t.TempDir(), nil)
	for n, f := range []map[string][]string{
		{"host": {"a"}, "type": {"text/html", "text"}, "lang": {"en"}, "date": {"2026-01-02T03:04:05Z"}},
		{"host": {"a"}, "type": {"text/plain", "text"}, "lang": {"de"}, "date": {"2026-01-31T03:04:05.678+02:00"}},
		{"host": {"b"}, "type": {"text/html", "text"}, "lang": {"en"}, "date": {"2025-12-31T03:04:05Z"}},
		{"host": {"b"}, "date": {"yesterday"}},
	} {
		write(t, x, add(fmt.Sprint("http://a/", n), f))
	}
	res, err := x.Search(t.Context(), "main", &searcher.Query{Facets: []string{"host", "type", "lang", "date"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]searcher.FacetValue{
		"host": {{Value: "a", Count: 2}, {Value: "b", Count: 2}}, "lang": {{Value: "en", Count: 2}, {Value: "de", Count: 1}},
		"type": {{Value: "text", Count: 3}, {Value: "text/html", Count: 2}, {Value: "text/plain", Count: 1}},
		"date": {{Value: "2026-01", Count: 2}, {Value: "2025-12", Count: 1}},
	}
	if d := cmp.Diff(want, res.Facets); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, h := range res.Hits {
		for f := range h.Fields {
			if strings.HasSuffix(f, "_month") || strings.HasPrefix(f, "_") {
				t.Errorf("a hit shows %s", f)
			}
		}
	}
}

// TestDescribe: settings that the index was not made with, and values that don't fit, are told.
func TestDescribe(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir, nil)
	write(t, x, corpus()...)
	params := indexwriter.Params{"analyzer": "de", "store_content": "false", "text_fields": "b,a"}
	if err := x.Open(t.Context(), "main", params); err != nil {
		t.Fatal(err)
	}
	d, err := x.Describe(t.Context(), "main", []model.Document{{ID: "http://a/1", Fields: map[string][]string{"tstamp": {"yesterday"}}}})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(d.Problems, "\n")
	for _, want := range []string{`analyzer = "de" does not count, because the index was made with "standard"`, `store_content = "false"`, `text_fields = "a,b"`, `"yesterday" is no date`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if d.Facts[0].Value != "3" || !strings.HasPrefix(d.Server, dir) {
		t.Errorf("%+v", d)
	}
}

func TestReplaceDeleteReopen(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir, nil)
	write(t, x, corpus()...)
	write(t, x, corpus()...) // again: no doubles
	write(t, x, add("http://a/2", map[string][]string{"content": {"replaced"}}), indexwriter.Op{Kind: indexwriter.Delete, Doc: model.Document{ID: "http://b/3"}},
		indexwriter.Op{Kind: indexwriter.Delete, Doc: model.Document{ID: "http://never/"}})
	if d := cmp.Diff([]string{"http://a/1"}, find(t, x, "window")); d != "" {
		t.Errorf("after update (-want +got):\n%s", d)
	}
	for range 2 {
		if err := x.Close(t.Context(), "main"); err != nil {
			t.Fatal(err)
		}
	}
	y := open(t, dir, nil)
	if d := cmp.Diff([]string{"http://a/2"}, find(t, y, "replaced")); d != "" {
		t.Errorf("after reopening (-want +got):\n%s", d)
	}
}

func TestErrors(t *testing.T) {
	x := bleve.New(bleve.Config{Analyzer: "standard"}, t.TempDir(), 250)
	for _, p := range []indexwriter.Params{{"analyzer": "klingon"}, {"nonsense": "1"}, {"store_content": "maybe"}} {
		if err := x.Open(t.Context(), "main", p); !fault.Is(err, fault.Invalid) {
			t.Errorf("%v: error %v, want kind invalid", p, err)
		}
	}
	if _, err := x.Search(t.Context(), "main", &searcher.Query{Text: "a"}); err == nil {
		t.Error("search before open")
	}
	y := open(t, t.TempDir(), nil)
	for _, q := range []searcher.Query{{Text: `"open`}, {Text: "a", Limit: 5000}, {Text: "a", Offset: -1}} {
		if _, err := y.Search(t.Context(), "main", &q); !fault.Is(err, fault.Invalid) {
			t.Errorf("query %+v: error %v, want kind invalid", q, err)
		}
	}
}

func TestSecondProcessDoesNotHang(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, nil)
	y := bleve.New(bleve.Config{Analyzer: "standard"}, dir, 250)
	if err := y.Open(t.Context(), "main", nil); err == nil {
		t.Error("the same index was opened twice")
	}
}

func TestSearchWhileWriting(t *testing.T) {
	x := open(t, t.TempDir(), nil)
	write(t, x, corpus()...)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 20 {
			write(t, x, add(fmt.Sprintf("http://c/%d", i), map[string][]string{"content": {"filler"}}))
		}
	})
	for range 20 {
		if got := find(t, x, "title:window"); len(got) != 1 {
			t.Errorf("found %v while writing", got)
		}
	}
	wg.Wait()
}

func BenchmarkWrite(b *testing.B) {
	libtest.BenchWrite(b, func(b *testing.B) *libtest.Writer {
		w, err := libtest.OpenWriter(b, bleve.Plugin(), b.TempDir(), nil)
		if err != nil {
			b.Fatal(err)
		}
		return w
	})
}

// TestMadeHalf: an index whose making was cut off at any point is made anew, or to its end.
func TestMadeHalf(t *testing.T) {
	whole := t.TempDir()
	if err := open(t, whole, nil).Shutdown(); err != nil {
		t.Fatal(err)
	}
	const meta, store = "index_meta.json", "store"
	for name, parts := range map[string]map[string]string{
		"begun":       {},
		"no store":    {meta: ".new/" + meta},
		"whole":       {meta: ".new/" + meta, store: ".new/" + store},
		"store moved": {meta: ".new/" + meta, store: store},
		"meta moved":  {meta: meta, store: store},
	} {
		dir := t.TempDir()
		index := filepath.Join(dir, "main")
		if err := os.MkdirAll(filepath.Join(index, ".new"), 0o700); err != nil {
			t.Fatal(err)
		}
		for part, at := range parts {
			from, to := filepath.Join(whole, "main", part), filepath.Join(index, at)
			if out, err := exec.Command("cp", "-r", from, to).CombinedOutput(); err != nil {
				t.Fatalf("%s", out)
			}
		}
		x := open(t, dir, nil)
		write(t, x, corpus()...)
		if ids := find(t, x, "window"); len(ids) != 3 {
			t.Errorf("%s: %v", name, ids)
		}
	}
}
