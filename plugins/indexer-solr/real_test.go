package indexersolr_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	solr "github.com/gonutch/crawler/plugins/indexer-solr"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
	"github.com/gonutch/crawler/sdk/testengine"
)

// TestReal does everything with a real Solr, single and SolrCloud, each started
// once.
func TestReal(t *testing.T) {
	single := testengine.Start(t, testengine.Solr, func(home string) {
		if err := os.CopyFS(filepath.Join(home, "configsets", "crawler"), os.DirFS("configset")); err != nil {
			t.Fatal(err)
		}
	})
	realAll(t, single, "http")
	t.Run("restart", func(t *testing.T) {
		libtest.EngineRestart(t, open(t, single.URL, indexwriter.Params{"collection": "restart", "create": "true"}), single.Stop, single.Start)
	})
	single.Stop()
	realAll(t, testengine.Start(t, testengine.SolrCloud, nil), "cloud")
}

func realAll(t *testing.T, s *testengine.Server, kind string) {
	p := func(collection string) indexwriter.Params {
		return indexwriter.Params{"type": kind, "collection": collection, "create": "true"}
	}
	t.Run(kind+"/conformance", func(t *testing.T) {
		url, _ := json.Marshal([]string{s.URL})
		plugintest.Run(t, solr.Plugin(), plugintest.Options{Settings: `{"url": ` + string(url) + `, "type": "` + kind + `", "collection": "conformance", "create": true}`})
	})
	t.Run(kind+"/documents", func(t *testing.T) { realDocuments(t, open(t, s.URL, p("documents"))) })
	t.Run(kind+"/search", func(t *testing.T) { libtest.EngineSearch(t, open(t, s.URL, p("search"))) })
}

func find(t *testing.T, s *solr.Solr, q searcher.Query) (*searcher.Result, []string) {
	t.Helper()
	return libtest.Find(t, s, q)
}

func realDocuments(t *testing.T, s *solr.Solr) {
	d, err := s.Describe(t.Context(), "main", []model.Document{
		{ID: "a", Fields: map[string][]string{"tstamp": {"yesterday"}, "contentLength": {"1", "2"}, "host": {"a", "b"}, "x_dt": {"2026-01-02T03:04:05Z"}}},
		{ID: "b", Fields: map[string][]string{"contentLength": {"many"}, "title": {"a", "b"}, "x_l": {"x"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"field contentLength: takes one value, documents have 2 (a)", `field tstamp: "yesterday" is no DatePointField (a)`, `field x_l: "x" is no LongPointField (b)`,
	}, d.Problems); diff != "" || !strings.HasPrefix(d.Version, "Apache Solr 9.") {
		t.Errorf("%s\n%+v", diff, d)
	}
	refused := write(t, s,
		add("http://a/1", map[string][]string{
			"title": {"One"}, "content": {"first words"}, "type": {"text/html", "text"}, "tstamp": {"2026-01-02T03:04:05.678Z"}, "contentLength": {"42"}, "own_field": {"x"},
		}),
		add("http://a/bad", map[string][]string{"tstamp": {"yesterday"}}),
		add("http://a/worse", map[string][]string{"contentLength": {"1", "2"}}),
		add("http://a/2", map[string][]string{"title": {"Two \x01\x02"}}),
	)
	if refused[0] != "" || refused[3] != "" || !strings.Contains(refused[1], "yesterday") || !strings.Contains(refused[2], "contentLength") {
		t.Errorf("refused: %q", refused)
	}
	r, ids := find(t, s, searcher.Query{})
	if diff := cmp.Diff([]string{"http://a/1", "http://a/2"}, ids); diff != "" {
		t.Error(diff)
	}
	for _, h := range r.Hits {
		want := map[string][]string{
			"id": {"http://a/1"}, "title": {"One"}, "type": {"text/html", "text"}, "tstamp": {"2026-01-02T03:04:05.678Z"}, "contentLength": {"42"}, "own_field": {"x"},
		}
		if diff := cmp.Diff(want, h.Fields); h.ID == "http://a/1" && diff != "" {
			t.Error(diff)
		}
	}
	write(t, s, add("http://a/1", map[string][]string{"title": {"New"}}), del("http://a/2"), del("http://a/never"))
	if r, ids = find(t, s, searcher.Query{}); len(ids) != 1 || r.Hits[0].Fields["title"][0] != "New" || r.Hits[0].Fields["type"] != nil {
		t.Errorf("after update and delete: %v", r.Hits)
	}
}
