package cycle

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/step/refilter"
)

// TestRefilter: after a change of rules what they reject leaves CrawlDB and index, what
// they rename is fetched by its new name, and pages that did not change do not bring the old
// URLs back.
func TestRefilter(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{
		"/": page("root", "/keep", "/secret/a", "/q?b=1&a=2", "/r"), "/keep": page("keep", "/secret/b"), "/secret/a": page("a", "/only-from-a"),
		"/secret/b": page("b"), "/q": page("q"), "/only-from-a": page("only"), "/r": moved("/secret/c"), "/secret/c": page("c"),
	})
	w.run()
	changed := func(want bool) {
		t.Helper()
		if got, err := refilter.Changed(t.Context(), w.DB, w.Chains.Fingerprint()); got != want || err != nil {
			t.Errorf("rules changed: %v, want %v; %v", got, want, err)
		}
	}
	changed(false)
	if n := len(w.idx.docs); n != 7 {
		t.Fatalf("%d documents: %v", n, w.indexed())
	}
	w.reopen(`plugin.urlfilter-regex.rules=["-/secret/","+."]`, `plugin.add=["urlnormalizer-querystring"]`)
	changed(true)
	before := w.final()
	rep, err := w.cycle.Refilter(t.Context(), refilter.Options{Samples: 9})
	if err != nil {
		t.Fatal(err)
	}
	if rep.URLs != 8 || rep.Removed != 3 || rep.Renamed != 1 || rep.Documents != 4 || rep.Plugins[0].Plugin != "urlfilter-regex" || len(rep.Plugins[0].Rules) != 1 {
		t.Errorf("dry run: %+v", rep)
	}
	if d := cmp.Diff(before, w.final()); d != "" {
		t.Errorf("the dry run changed something:\n%s", d)
	}
	changed(true)
	if _, err := w.cycle.Refilter(t.Context(), refilter.Options{Apply: true}); err != nil {
		t.Fatal(err)
	}
	changed(false)
	w.run()
	w.again()
	want := map[string]string{"/": "root", "/keep": "keep", "/q?a=2&b=1": "q", "/only-from-a": "only"}
	if d := cmp.Diff(want, w.indexed()); d != "" {
		t.Errorf("index (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"/", "/keep", "/only-from-a", "/q?a=2&b=1", "/r"}, keys(w.statuses())); d != "" {
		t.Errorf("CrawlDB (-want +got):\n%s", d)
	}
	for _, l := range w.links() {
		if l == "/secret/a > /only-from-a to /only-from-a" {
			t.Error("a removed page still links")
		}
	}
}

// TestIndexURLs: indexer.url_normalizers makes the ids of documents, deletes included;
// indexer.url_filters keeps pages out of the index and leaves the CrawlDB alone.
func TestIndexURLs(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{
		"/": page("root", "/keep", "/secret", "/q?b=1&a=2"), "/keep": page("keep"), "/secret": page("secret"), "/q": page("q"),
	})
	w.run()
	w.reopen(`plugin.urlfilter-regex.rules=["-/secret","+."]`, `plugin.add=["urlnormalizer-querystring"]`, "indexer.url_normalizers=true", "indexer.url_filters=true")
	delete(w.idx.docs, w.site.URL+"/q?b=1&a=2")
	w.site.set("/secret", page("changed secret"))
	w.site.set("/q", page("changed q"))
	w.again()
	want := map[string]string{"/": "root", "/keep": "keep", "/q?a=2&b=1": "changed q"}
	if d := cmp.Diff(want, w.indexed()); d != "" {
		t.Errorf("index (-want +got):\n%s", d)
	}
	if s := w.statuses(); s["/secret"] != "db_fetched" || s["/q?b=1&a=2"] != "db_fetched" {
		t.Errorf("CrawlDB: %v", s)
	}
	w.site.set("/q", nil)
	w.again()
	delete(want, "/q?a=2&b=1")
	if d := cmp.Diff(want, w.indexed()); d != "" {
		t.Errorf("after it is gone (-want +got):\n%s", d)
	}
}
