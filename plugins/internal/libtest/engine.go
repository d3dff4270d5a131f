package libtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/fault"
)

// Engine is an index writer that can be searched, with the instance "main" opened.
type Engine interface {
	indexwriter.Writer
	searcher.Searcher
}

// Find returns the answer to q, up to 100 hits, and the ids of the hits, sorted.
func Find(t testing.TB, e Engine, q searcher.Query) (*searcher.Result, []string) {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	r, err := e.Search(t.Context(), Instance, &q)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, h := range r.Hits {
		ids = append(ids, h.ID)
	}
	slices.Sort(ids)
	return r, ids
}

func written(t testing.TB, e Engine, ops ...indexwriter.Op) {
	t.Helper()
	w := &Writer{Writer: e}
	w.MustWrite(t, ops...)
	w.MustCommit(t)
}

// EngineSearch goes through the contract of searchers with an empty index.
func EngineSearch(t *testing.T, e Engine) {
	written(t, e,
		Add("http://a/1", "title", "Window functions", "content", "A window function performs a calculation across rows.", "host", "a", "lang", "en", "type", "text/html", "date", "2026-01-02T03:04:05Z"),
		Add("http://a/2", "title", "Tables", "content", "The rows of a table; see the window.", "host", "a", "type", "text/html", "date", "2026-01-31T00:00:00Z"),
		Add("http://b/3", "title", "Other", "content", "nothing", "anchor", "about window frames", "host", "b", "type", "text/plain", "date", "2025-12-31T23:59:59Z"),
	)
	for q, want := range map[string][]string{
		"":                  {"http://a/1", "http://a/2", "http://b/3"},
		"window":            {"http://a/1", "http://a/2", "http://b/3"},
		"window rows":       {"http://a/1", "http://a/2"},
		"tables window":     {"http://a/2"}, // words from different fields
		"window -rows":      {"http://b/3"},
		`"window function"`: {"http://a/1"},
		"title:tables":      {"http://a/2"},
		"host:a":            {"http://a/1", "http://a/2"},
		"func*":             {"http://a/1"},
		"absent":            {},
	} {
		if _, ids := Find(t, e, searcher.Query{Text: q}); !slices.Equal(ids, want) {
			t.Errorf("%q: %v, want %v", q, ids, want)
		}
	}
	r, _ := Find(t, e, searcher.Query{Text: "window", Facets: []string{"host", "lang", "type", "date"}, Limit: 1})
	want := map[string][]searcher.FacetValue{
		"host": {{Value: "a", Count: 2}, {Value: "b", Count: 1}}, "lang": {{Value: "en", Count: 1}},
		"type": {{Value: "text/html", Count: 2}, {Value: "text/plain", Count: 1}}, "date": {{Value: "2026-01", Count: 2}, {Value: "2025-12", Count: 1}},
	}
	if d := cmp.Diff(want, r.Facets); d != "" || r.Total != 3 || len(r.Hits) != 1 {
		t.Errorf("%d hits of %d, want 1 of 3; facets (-want +got):\n%s", len(r.Hits), r.Total, d)
	}
	r, _ = Find(t, e, searcher.Query{Text: "functions"})
	if s := r.Hits[0].Snippets; !slices.Equal(s["title"], []string{"Window \x01functions\x02"}) || len(s["content"]) != 1 || !strings.Contains(strings.NewReplacer("\x01", "", "\x02", "").Replace(s["content"][0]), "A window function performs") {
		t.Errorf("snippets: %q", s)
	}
	if r, ids := Find(t, e, searcher.Query{Text: "window", Offset: 1}); len(ids) != 2 || r.Total != 3 {
		t.Errorf("second page: %v", ids)
	}
	for _, q := range []searcher.Query{{Text: "a", Limit: libindex.MaxLimit + 1}, {Text: "a", Offset: -1}, {Text: "a", Offset: 10_000}} {
		if _, err := e.Search(t.Context(), Instance, &q); !fault.Is(err, fault.Invalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// EngineRestart stops a server in the middle: that is a transient error, and the same batch sent
// again when it is back loses and doubles nothing.
func EngineRestart(t *testing.T, e Engine, stop, start func()) {
	var batch []indexwriter.Op
	for n := range 300 {
		batch = append(batch, Add(fmt.Sprint("http://a/", n), "title", "x"))
	}
	written(t, e, batch[:200]...)
	stop()
	if _, err := e.Write(t.Context(), Instance, batch[100:]); !fault.Is(err, fault.Transient) {
		t.Fatalf("got %v, want a transient error", err)
	}
	start()
	written(t, e, batch[100:]...)
	if r, _ := Find(t, e, searcher.Query{}); r.Total != 300 {
		t.Errorf("%d documents, want 300", r.Total)
	}
}
