package indexerelastic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	elastic "github.com/gonutch/crawler/plugins/indexer-elastic"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
	"github.com/gonutch/crawler/sdk/testengine"
)

// TestReal does everything with a real OpenSearch and a real Elasticsearch, each started once.
func TestReal(t *testing.T) {
	for _, kind := range []testengine.Kind{testengine.OpenSearch, testengine.Elasticsearch} {
		t.Run(string(kind), func(t *testing.T) { testReal(t, kind) })
	}
}

func testReal(t *testing.T, kind testengine.Kind) {
	s := testengine.Start(t, kind, nil)
	t.Run("conformance", func(t *testing.T) {
		url, _ := json.Marshal([]string{s.URL})
		plugintest.Run(t, elastic.Plugin(), plugintest.Options{Settings: `{"url": ` + string(url) + `, "index": "conformance", "replicas": 0}`})
	})
	t.Run("documents", func(t *testing.T) { realDocuments(t, s, string(kind)) })
	t.Run("search", func(t *testing.T) { realSearch(t, s) })
	t.Run("facets of another's index", func(t *testing.T) { realForeign(t, s) })
	if kind == testengine.OpenSearch { // the other has no data streams
		t.Run("stream", func(t *testing.T) { realStream(t, s) })
	}
	t.Run("full", func(t *testing.T) { realFull(t, s) })
	t.Run("restart", func(t *testing.T) {
		libtest.EngineRestart(t, open(t, s.URL, indexwriter.Params{"index": "restart", "replicas": "0"}), s.Stop, s.Start)
	})
}

func find(t *testing.T, e *elastic.Elastic, q searcher.Query) (*searcher.Result, []string) {
	t.Helper()
	return libtest.Find(t, e, q)
}

// realDocuments: a document field by field, an update, a delete, and documents
// that don't fit the mapping.
func realDocuments(t *testing.T, s *testengine.Server, name string) {
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
	if diff := cmp.Diff([]string{`field tstamp: "yesterday" is no date (a)`}, desc.Problems); diff != "" || !strings.HasPrefix(desc.Version, name+" ") || desc.Facts[0].Value != "1" {
		t.Errorf("%s\n%+v", diff, desc)
	}
	// The alias is another way to the same index, and opening it again finds it in order.
	if _, ids := find(t, open(t, s.URL, indexwriter.Params{"index": "pages", "create": "false"}), searcher.Query{Text: "two"}); len(ids) != 1 {
		t.Errorf("through the alias: %v", ids)
	}
}

func realSearch(t *testing.T, s *testengine.Server) {
	e := open(t, s.URL, indexwriter.Params{"index": "search", "replicas": "0"})
	libtest.EngineSearch(t, e)
	r, _ := find(t, e, searcher.Query{Facets: []string{"title"}})
	if d := cmp.Diff([]searcher.FacetValue{{Value: "Other", Count: 1}, {Value: "Tables", Count: 1}, {Value: "Window functions", Count: 1}}, r.Facets["title"]); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"((", `"open`, "title:[a"} {
		if _, err := e.Search(t.Context(), "main", &searcher.Query{Text: bad}); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// realForeign: facets of indexes that others made, with dates as keywords or whatever the server
// makes of the first document.
func realForeign(t *testing.T, s *testengine.Server) {
	mapping := filepath.Join(t.TempDir(), "mapping.json")
	text := `{"settings": {"number_of_replicas": 0}, "mappings": {"properties": {"date": {"type": "keyword"}, "tstamp": {"type": "text", "fields": {"raw": {"type": "keyword"}}}}}}`
	if err := os.WriteFile(mapping, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	e := open(t, s.URL, indexwriter.Params{"index": "foreign", "mapping_file": mapping, "text_fields": "host"})
	for k, date := range []string{"2025-11-30T10:00:00Z", "2026-01-02T03:04:05.678Z", "2026-01-31T00:00:00Z", "soon", "12"} {
		refused := write(t, e, add(fmt.Sprint("http://a/", k), map[string][]string{"date": {date}, "tstamp": {date}, "host": {"a"}, "title": {"One"}}))
		if refused[0] != "" {
			t.Error(refused)
		}
	}
	r, ids := find(t, e, searcher.Query{Facets: []string{"date", "tstamp", "lastModified", "host", "title"}})
	dates := []searcher.FacetValue{{Value: "2026-01", Count: 2}, {Value: "2025-11", Count: 1}}
	want := map[string][]searcher.FacetValue{"date": dates, "tstamp": dates, "lastModified": {}, "host": {{Value: "a", Count: 5}}, "title": {{Value: "One", Count: 5}}}
	if d := cmp.Diff(want, r.Facets); d != "" || len(ids) != 5 {
		t.Errorf("%v (-want +got):\n%s", ids, d)
	}
	if r, _ := find(t, e, searcher.Query{Text: "host:b", Facets: []string{"date"}}); len(r.Facets["date"]) != 0 {
		t.Errorf("facets of no document: %v", r.Facets)
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

// realFull: an index that is blocked, as the server blocks it when its disk is full or an operator
// does, puts everything off until the block is lifted.
func realFull(t *testing.T, s *testengine.Server) {
	e := open(t, s.URL, indexwriter.Params{"index": "full", "replicas": "0", "retries": "0"})
	write(t, e, add("http://a/1", nil), add("http://a/2", nil))
	block := func(setting, value string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+"/full/_settings", strings.NewReader(`{"index.blocks.`+setting+`": `+value+`}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
	}
	for _, setting := range []string{"read_only_allow_delete", "write"} {
		block(setting, "true")
		results, err := e.Write(t.Context(), "main", []indexwriter.Op{add("http://a/1", map[string][]string{"title": {"new"}}), add("http://a/3", nil), del("http://a/2")})
		if err != nil {
			t.Fatal(err)
		}
		for k, r := range results {
			if !r.Later || !strings.Contains(r.Rejected, "block") {
				t.Errorf("%s: operation %d: %+v", setting, k, r)
			}
		}
		block(setting, "null")
	}
	write(t, e, add("http://a/1", nil), add("http://a/3", nil), del("http://a/2"))
	if _, ids := find(t, e, searcher.Query{}); !slices.Equal(ids, []string{"http://a/1", "http://a/3"}) {
		t.Errorf("afterwards: %v", ids)
	}
}
