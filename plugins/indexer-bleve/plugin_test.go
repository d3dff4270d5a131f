package indexerbleve_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	bleve "github.com/gonutch/crawler/plugins/indexer-bleve"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

func open(t *testing.T, dir string, params indexwriter.Params) *bleve.Index {
	t.Helper()
	x := bleve.New(bleve.Config{Analyzer: "standard", StoreContent: true}, dir)
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
	x := bleve.New(bleve.Config{Analyzer: "standard"}, t.TempDir())
	for _, p := range []indexwriter.Params{{"analyzer": "klingon"}, {"nonsense": "1"}, {"store_content": "maybe"}} {
		if err := x.Open(t.Context(), "main", p); !fault.Is(err, fault.Invalid) {
			t.Errorf("%v: error %v, want kind invalid", p, err)
		}
	}
	if _, err := x.Search(t.Context(), "main", &searcher.Query{Text: "a"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("search before open: %v", err)
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
	y := bleve.New(bleve.Config{Analyzer: "standard"}, dir)
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
	x := bleve.New(bleve.Config{Analyzer: "standard", StoreContent: true}, b.TempDir())
	if err := x.Open(b.Context(), "main", nil); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = x.Shutdown() }()
	text := strings.Repeat("the quick brown fox jumps over the lazy dog and runs away from it all ", 60)
	n := 0
	for b.Loop() {
		ops := make([]indexwriter.Op, 250)
		for i := range ops {
			n++
			ops[i] = add(fmt.Sprintf("http://a/%d", n), map[string][]string{"title": {"t"}, "content": {text}})
		}
		if _, err := x.Write(b.Context(), "main", ops); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "docs/s")
}
