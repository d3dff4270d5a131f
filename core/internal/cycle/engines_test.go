package cycle

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/testengine"
)

// TestEngines lets a site change in every way that matters to an index, with real servers as
// targets, one of them stopped meanwhile. Titles go into a field for numbers, too, so that a title
// in words is a mapping conflict.
func TestEngines(t *testing.T) {
	mapping := filepath.Join(t.TempDir(), "mapping.json")
	text := `{"settings": {"number_of_replicas": 0}, "mappings": {"properties": {
		"title": {"type": "text"}, "content": {"type": "text"}, "tstamp": {"type": "date"}, "title_l": {"type": "long"}, "id": {"type": "keyword"}, "host": {"type": "keyword"}}}}`
	if err := os.WriteFile(mapping, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind     testengine.Kind
		restarts bool
		sets     []string
	}{
		{testengine.OpenSearch, true, []string{"plugin=indexer-elastic", "mapping_file=" + mapping}},
		{testengine.Elasticsearch, true, []string{"plugin=indexer-elastic", "mapping_file=" + mapping}},
		{testengine.Solr, true, []string{"plugin=indexer-solr", "create=true"}},
		{testengine.SolrCloud, false, []string{"plugin=indexer-solr", "create=true", "type=cloud"}},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			server := testengine.Start(t, c.kind, func(home string) {
				if err := os.CopyFS(filepath.Join(home, "configsets", "crawler"), os.DirFS("../../../plugins/indexer-solr/configset")); err != nil {
					t.Fatal(err)
				}
			})
			sets := []string{"indexer.retries=0", "index_writer.main.enabled=false"}
			for _, s := range append(c.sets, "url="+server.URL, "retries=0", "copy=title=title_l") {
				sets = append(sets, "index_writer.engine."+s)
			}
			stop, start := server.Stop, server.Start
			if !c.restarts {
				stop, start = func() {}, func() {}
			}
			testEngine(t, sets, stop, start)
		})
	}
}

func testEngine(t *testing.T, sets []string, stop, start func()) {
	x := newWorld(t, map[string]http.HandlerFunc{
		"/":        page("1", "/same", "/changed", "/moved", "/gone", "/noindex", "/twin", "/words"),
		"/same":    page("2"),
		"/changed": page("3"),
		"/moved":   page("4"),
		"/gone":    page("5"),
		"/noindex": page("6"),
		"/twin":    page("7"),
		"/words":   page("words"),
		"/new":     page("8"),
	}, sets...)
	x.cycle.d.targets = nil
	x.run()
	before := map[string]string{"/": "1", "/same": "2", "/changed": "3", "/moved": "4", "/gone": "5", "/noindex": "6", "/twin": "7"}
	x.holds("first", before)
	x.document("/same")
	if counts, err := x.DB.DocCounts(t.Context()); err != nil || counts["engine"].Refused != 1 {
		t.Errorf("refused: %+v, %v", counts["engine"], err)
	}

	stop()
	x.site.set("/changed", page("33"))
	x.site.set("/moved", moved("/new"))
	x.site.set("/gone", nil)
	x.site.set("/noindex", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Robots-Tag", "noindex")
		page("66")(w, r)
	})
	x.site.set("/twin", page("2"))
	x.site.set("/words", page("9"))
	x.again()
	start()
	if _, err := x.cycle.Pending(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := map[string]string{"/": "1", "/same": "2", "/changed": "33", "/new": "8", "/words": "9"}
	x.holds("changed", after)
	rep, err := x.cycle.Index(t.Context())
	if err != nil || rep.Indexed+rep.Deleted != 0 {
		t.Errorf("a further index step sends something: %+v, %v", rep, err)
	}
	checks, err := x.cycle.CheckWriters(t.Context())
	if err != nil || !checks[0].OK() || checks[0].Held != int64(len(after)) {
		t.Errorf("check: %+v, %v", checks, err)
	}

	// A server that lost everything is filled from the segments.
	asked := x.site.count("/same")
	if _, err := x.cycle.Reindex(t.Context(), []string{"engine"}, true); err != nil {
		t.Fatal(err)
	}
	x.holds("reindexed", after)
	if n := x.site.count("/same"); n != asked {
		t.Errorf("the site was asked %d times", n-asked)
	}
}

// holds compares what the engine finds with path → title.
func (w *world) holds(step string, want map[string]string) {
	w.t.Helper()
	res, err := w.Chains.Search(w.t.Context(), "engine", &searcher.Query{Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	got := map[string]string{}
	for _, h := range res.Hits {
		got[strings.TrimPrefix(h.ID, w.site.URL)] = strings.Join(h.Fields["title"], "|")
	}
	if d := cmp.Diff(want, got); d != "" || int(res.Total) != len(want) {
		w.t.Errorf("%s: %d hits (-want +got):\n%s", step, res.Total, d)
	}
}

// document compares one document field by field.
func (w *world) document(path string) {
	w.t.Helper()
	res, err := w.Chains.Search(w.t.Context(), "engine", &searcher.Query{Text: "title:2"})
	if err != nil || len(res.Hits) != 1 {
		w.t.Fatal(res, err)
	}
	got := maps.Clone(res.Hits[0].Fields)
	for _, f := range []string{"tstamp", "date", "lastModified", "segment", "digest", "contentLength"} { // time, and what the site's links are long
		delete(got, f)
	}
	url := w.site.URL + path
	want := map[string][]string{
		"id": {url}, "url": {url}, "host": {"127.0.0.1"}, "title": {"2"}, "title_l": {"2"}, "type": {"text/html", "text", "html"}, "anchor": {"to " + path},
	}
	for f := range got {
		slices.Sort(got[f])
	}
	for f := range want {
		slices.Sort(want[f])
	}
	if d := cmp.Diff(want, got); d != "" {
		w.t.Errorf("document (-want +got):\n%s", d)
	}
}
