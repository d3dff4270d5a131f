package indexerelastic_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	elastic "github.com/gonutch/crawler/plugins/indexer-elastic"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
	"github.com/gonutch/crawler/sdk/testengine"
)

// TestReal does everything with a real OpenSearch, started once.
func TestReal(t *testing.T) {
	s := testengine.Start(t, testengine.OpenSearch, nil)
	t.Run("conformance", func(t *testing.T) {
		url, _ := json.Marshal([]string{s.URL})
		plugintest.Run(t, elastic.Plugin(), plugintest.Options{Settings: `{"url": ` + string(url) + `, "index": "conformance", "replicas": 0}`})
	})
	t.Run("documents", func(t *testing.T) { realDocuments(t, s) })
	t.Run("search", func(t *testing.T) { realSearch(t, s) })
	t.Run("stream", func(t *testing.T) { realStream(t, s) })
	t.Run("restart", func(t *testing.T) { realRestart(t, s) })
}

func find(t *testing.T, e *elastic.Elastic, q searcher.Query) (*searcher.Result, []string) {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	r, err := e.Search(t.Context(), "main", &q)
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

// realDocuments: a document field by field, an update, a delete, and documents
// that don't fit the mapping.
func realDocuments(t *testing.T, s *testengine.Server) {
	e := open(t, s.URL, indexwriter.Params{"index": "documents", "alias": "pages", "replicas": "0"})
	long := "http://a/" + strings.Repeat("ü", 600)
	refused := write(t, e,
		add("http://a/1", map[string][]string{
			"title": {"One"}, "content": {"first words"}, "type": {"text/html", "text"}, "tstamp": {"2026-01-02T03:04:05.678Z"}, "contentLength": {"42"}, "host": {"a"},
		}),
		add("http://a/bad", map[string][]string{"tstamp": {"yesterday"}}),
		add("http://a/worse", map[string][]string{"contentLength": {"many"}}),
		add(long, map[string][]string{"title": {"long"}}),
	)
	if refused[0] != "" || refused[3] != "" || !strings.Contains(refused[1], "[tstamp]") || !strings.Contains(refused[1], "yesterday") || !strings.Contains(refused[2], "contentLength") {
		t.Errorf("refused: %q", refused)
	}
	r, ids := find(t, e, searcher.Query{})
	if diff := cmp.Diff([]string{"http://a/1", long}, ids); diff != "" {
		t.Error(diff)
	}
	for _, h := range r.Hits {
		if h.ID != "http://a/1" {
			continue
		}
		want := map[string][]string{
			"id": {"http://a/1"}, "title": {"One"}, "type": {"text/html", "text"}, "tstamp": {"2026-01-02T03:04:05.678Z"}, "contentLength": {"42"}, "host": {"a"},
		}
		if diff := cmp.Diff(want, h.Fields); diff != "" {
			t.Error(diff)
		}
	}
	write(t, e, add("http://a/1", map[string][]string{"title": {"Two"}}), del(long), del("http://a/never"))
	r, ids = find(t, e, searcher.Query{})
	if diff := cmp.Diff([]string{"http://a/1"}, ids); diff != "" || r.Hits[0].Fields["title"][0] != "Two" || r.Hits[0].Fields["type"] != nil {
		t.Errorf("%s\n%v", diff, r.Hits)
	}
	desc, err := e.Describe(t.Context(), "main", []model.Document{{ID: "a", Fields: map[string][]string{"tstamp": {"yesterday"}, "new": {"x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`field tstamp: "yesterday" is no date (a)`}, desc.Problems); diff != "" || !strings.HasPrefix(desc.Version, "opensearch 2.") || desc.Facts[0].Value != "1" {
		t.Errorf("%s\n%+v", diff, desc)
	}
	// The alias is another way to the same index, and opening it again finds it in order.
	if _, ids := find(t, open(t, s.URL, indexwriter.Params{"index": "pages", "create": "false"}), searcher.Query{Text: "two"}); len(ids) != 1 {
		t.Errorf("through the alias: %v", ids)
	}
}

func realSearch(t *testing.T, s *testengine.Server) {
	e := open(t, s.URL, indexwriter.Params{"index": "search", "replicas": "0"})
	write(t, e,
		add("http://a/1", map[string][]string{"title": {"Window functions"}, "content": {"A window function performs a calculation across rows."}, "host": {"a"}, "lang": {"en"}}),
		add("http://a/2", map[string][]string{"title": {"Tables"}, "content": {"The rows of a table; see the window."}, "host": {"a"}}),
		add("http://b/3", map[string][]string{"title": {"Other"}, "content": {"nothing"}, "anchor": {"about window frames"}, "host": {"b"}}),
	)
	for _, c := range []struct {
		q    string
		want []string
	}{
		{"", []string{"http://a/1", "http://a/2", "http://b/3"}},
		{"window", []string{"http://a/1", "http://a/2", "http://b/3"}},
		{"window rows", []string{"http://a/1", "http://a/2"}},
		{"tables window", []string{"http://a/2"}}, // words from different fields
		{"window -rows", []string{"http://b/3"}},
		{`"window function"`, []string{"http://a/1"}},
		{"title:other", []string{"http://b/3"}},
		{"host:a", []string{"http://a/1", "http://a/2"}},
		{"func*", []string{"http://a/1"}},
		{"absent", []string{}},
	} {
		if _, ids := find(t, e, searcher.Query{Text: c.q}); !slices.Equal(ids, c.want) {
			t.Errorf("%q: %v, want %v", c.q, ids, c.want)
		}
	}
	r, _ := find(t, e, searcher.Query{Text: "window", Facets: []string{"host", "lang", "title"}, Limit: 1})
	want := map[string][]searcher.FacetValue{
		"host": {{Value: "a", Count: 2}, {Value: "b", Count: 1}}, "lang": {{Value: "en", Count: 1}},
		"title": {{Value: "Other", Count: 1}, {Value: "Tables", Count: 1}, {Value: "Window functions", Count: 1}},
	}
	if diff := cmp.Diff(want, r.Facets); diff != "" {
		t.Error(diff)
	}
	if r.Total != 3 || len(r.Hits) != 1 {
		t.Errorf("%d hits of %d, want 1 of 3", len(r.Hits), r.Total)
	}
	r, _ = find(t, e, searcher.Query{Text: "functions"})
	if diff := cmp.Diff(map[string][]string{"title": {"Window \x01functions\x02"}, "content": {"A window function performs a calculation across rows."}}, r.Hits[0].Snippets); diff != "" {
		t.Error(diff)
	}
	r, ids := find(t, e, searcher.Query{Text: "window", Offset: 1})
	if len(ids) != 2 || r.Total != 3 {
		t.Errorf("second page: %v", ids)
	}
	for _, bad := range []string{"((", `"open`, "title:[a"} {
		if _, err := e.Search(t.Context(), "main", &searcher.Query{Text: bad}); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// realStream: each version of a page is an entry once, a delete removes all.
func realStream(t *testing.T, s *testengine.Server) {
	e := open(t, s.URL, indexwriter.Params{"index": "stream", "data_stream": "true", "replicas": "0"})
	page := func(n int) indexwriter.Op {
		return add("http://a/1", map[string][]string{"title": {fmt.Sprint("version ", n)}, "tstamp": {fmt.Sprintf("2026-01-0%dT00:00:00Z", n)}})
	}
	for _, batch := range [][]indexwriter.Op{{page(1)}, {page(1), page(2)}, {add("http://a/2", map[string][]string{"tstamp": {"2026-01-01T00:00:00Z"}})}} {
		for _, r := range write(t, e, batch...) {
			if r != "" {
				t.Error(r)
			}
		}
	}
	if r, ids := find(t, e, searcher.Query{}); !slices.Equal(ids, []string{"http://a/1", "http://a/1", "http://a/2"}) || r.Hits[0].Fields["@timestamp"] == nil {
		t.Errorf("entries: %v %v", ids, r.Hits)
	}
	write(t, e, page(3), del("http://a/1"))
	if _, ids := find(t, e, searcher.Query{}); !slices.Equal(ids, []string{"http://a/2"}) {
		t.Errorf("after the delete: %v", ids)
	}
}

// realRestart: a server that goes away is a transient error, and the same batch
// sent again when it is back loses and doubles nothing.
func realRestart(t *testing.T, s *testengine.Server) {
	e := open(t, s.URL, indexwriter.Params{"index": "restart", "replicas": "0"})
	var batch []indexwriter.Op
	for n := range 300 {
		batch = append(batch, add(fmt.Sprint("http://a/", n), map[string][]string{"title": {"x"}}))
	}
	write(t, e, batch[:200]...)
	s.Stop()
	if _, err := e.Write(t.Context(), "main", batch[100:]); !fault.Is(err, fault.Transient) {
		t.Fatalf("got %v, want a transient error", err)
	}
	s.Start()
	write(t, e, batch[100:]...)
	if r, _ := find(t, e, searcher.Query{}); r.Total != 300 {
		t.Errorf("%d documents, want 300", r.Total)
	}
}
