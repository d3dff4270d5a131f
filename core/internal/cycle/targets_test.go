package cycle

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk/extension/searcher"
)

// record is an operation as indexer-webhook and indexer-jsonl write it.
type record struct {
	Op     string              `json:"op"`
	ID     string              `json:"id"`
	Fields map[string][]string `json:"fields"`
}

// hook is a server for indexer-webhook that can be down, and that refuses documents
// of a title or can't take them now.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	down   bool
	refuse map[string]int // title → status
	docs   map[string]record
	sent   int // operations
	asked  int // requests, those that were not served included
}

func serveHook(t *testing.T) *hook {
	h := &hook{docs: map[string]record{}, refuse: map[string]int{}}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.asked++
		if h.down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		results := []map[string]any{}
		for line := range strings.Lines(string(body)) {
			var op record
			if err := json.Unmarshal([]byte(line), &op); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			results = append(results, h.take(op))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"results": results})
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) take(op record) map[string]any {
	h.sent++
	if s := h.refuse[strings.Join(op.Fields["headline"], "")]; s != 0 {
		return map[string]any{"status": s, "error": "mapping conflict"}
	}
	if op.Op == "delete" {
		delete(h.docs, op.ID)
	} else {
		h.docs[op.ID] = op
	}
	return map[string]any{"status": 200}
}

func (h *hook) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// targets are the three index writers of a world.
type targets struct {
	*world
	hook *hook
	dir  string
}

func newTargets(t *testing.T, pages map[string]http.HandlerFunc, sets ...string) (*targets, []string) {
	x := &targets{hook: serveHook(t), dir: t.TempDir()}
	sets = append([]string{
		"index_writer.main.path=" + filepath.Join(x.dir, "bleve"),
		"index_writer.files.plugin=indexer-jsonl", "index_writer.files.path=" + filepath.Join(x.dir, "jsonl"),
		"index_writer.hook.plugin=indexer-webhook", "index_writer.hook.url=" + x.hook.URL, "index_writer.hook.format=ndjson", "index_writer.hook.retries=0",
		"index_writer.hook.rename=title=headline", "indexer.retries=0",
	}, sets...)
	x.world = newWorld(t, pages, sets...)
	x.world.cycle.d.targets = nil // those that are configured
	return x, sets
}

// titles returns path → title of what each target holds.
func (x *targets) titles() map[string]map[string]string {
	x.t.Helper()
	out := map[string]map[string]string{"main": {}, "files": {}, "hook": {}}
	path := func(id string) string { return strings.TrimPrefix(id, x.site.URL) }
	res, err := x.Chains.Search(x.t.Context(), "main", &searcher.Query{Limit: 1000})
	if err != nil {
		x.t.Fatal(err)
	}
	for _, h := range res.Hits {
		out["main"][path(h.ID)] = strings.Join(h.Fields["title"], "|")
	}
	for _, name := range files(x.t, filepath.Join(x.dir, "jsonl")) {
		b, err := os.ReadFile(name)
		if err != nil {
			x.t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			var op record
			if err := json.Unmarshal([]byte(line), &op); err != nil {
				x.t.Fatalf("%s: %q: %v", name, line, err)
			}
			op.ID = path(op.ID)
			op.apply(out["files"])
		}
	}
	x.hook.mu.Lock()
	defer x.hook.mu.Unlock()
	for id, d := range x.hook.docs {
		out["hook"][path(id)] = strings.Join(d.Fields["headline"], "|")
	}
	return out
}

func (x *targets) check(step string, want map[string]map[string]string) {
	x.t.Helper()
	if d := cmp.Diff(want, x.titles()); d != "" {
		x.t.Errorf("%s (-want +got):\n%s", step, d)
	}
}

func all(want map[string]string) map[string]map[string]string {
	return map[string]map[string]string{"main": want, "files": want, "hook": want}
}

// TestTargets: after every kind of change each target holds exactly the right set,
// also one that was down meanwhile, and one that refuses some of it.
func TestTargets(t *testing.T) {
	x, _ := newTargets(t, map[string]http.HandlerFunc{
		"/":        page("root", "/same", "/changed", "/moved", "/gone", "/noindex", "/twin"),
		"/same":    page("same"),
		"/changed": page("before"),
		"/moved":   page("moved"),
		"/gone":    page("gone"),
		"/noindex": page("open"),
		"/twin":    page("twin"),
		"/new":     page("new"),
	})
	x.run()
	before := map[string]string{
		"/": "root", "/same": "same", "/changed": "before", "/moved": "moved", "/gone": "gone", "/noindex": "open", "/twin": "twin",
	}
	x.check("first", all(before))

	x.hook.set(func() { x.hook.down = true })
	x.site.set("/changed", page("after"))
	x.site.set("/moved", moved("/new"))
	x.site.set("/gone", nil)
	x.site.set("/noindex", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Robots-Tag", "noindex")
		page("shut")(w, r)
	})
	x.site.set("/twin", page("same")) // the same bytes as /same, which is as long
	x.again()
	after := map[string]string{"/": "root", "/same": "same", "/changed": "after", "/new": "new"}
	want := all(after)
	want["hook"] = before
	x.check("while one is down", want)

	x.hook.set(func() { x.hook.down, x.hook.sent = false, 0 })
	rep, err := x.cycle.Pending(t.Context())
	if err != nil || len(rep.Down) > 0 {
		t.Fatal(rep, err)
	}
	x.check("sent later", all(after))
	if x.hook.sent != 6 { // 2 adds, 4 deletes
		t.Errorf("%d operations were sent", x.hook.sent)
	}

	// Some documents don't fit the mapping of the server.
	x.hook.set(func() { x.hook.refuse["newer"], x.hook.refuse["busy"] = 400, 429 })
	x.site.set("/changed", page("newer"))
	x.site.set("/new", page("busy"))
	x.again()
	latest := maps.Clone(after)
	latest["/changed"], latest["/new"] = "newer", "busy"
	want = all(latest)
	want["hook"] = after
	x.check("some refused", want)
	counts, err := x.DB.DocCounts(t.Context())
	if c := counts["hook"]; err != nil || c.Refused != 1 || c.Pending != 1 {
		t.Errorf("%+v %v", c, err)
	}
	x.hook.set(func() { clear(x.hook.refuse) })
	if _, err := x.cycle.RetryRefused(t.Context(), []string{"hook"}); err != nil {
		t.Fatal(err)
	}
	x.check("taken in the end", all(latest))
}

// TestReindex: a target that lost everything, and one that is new, are filled from
// the segments, without a single request to the site.
func TestReindex(t *testing.T) {
	x, sets := newTargets(t, map[string]http.HandlerFunc{"/": page("root", "/a", "/b"), "/a": page("a"), "/b": page("b")})
	x.run()
	asked := x.site.count("/a")
	x.hook.set(func() { clear(x.hook.docs) })
	rep, err := x.cycle.Reindex(t.Context(), []string{"hook"}, false)
	if err != nil || rep.Indexed != 3 {
		t.Fatal(rep, err)
	}
	want := map[string]string{"/": "root", "/a": "a", "/b": "b"}
	x.check("emptied", all(want))

	late := filepath.Join(x.dir, "late")
	sets = append(sets, "index_writer.late.plugin=indexer-jsonl", "index_writer.late.path="+late)
	x.reopen(sets...)
	x.cycle.d.targets = nil
	if rep, err = x.cycle.Index(t.Context()); err != nil || !slices.Equal(rep.Incomplete, []string{"late"}) {
		t.Fatal(rep.Incomplete, err)
	}
	if _, err := x.cycle.Reindex(t.Context(), []string{"late"}, false); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(late, "*"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	b, err := os.ReadFile(names[0])
	if err != nil || strings.Count(string(b), "\n") != 3 {
		t.Errorf("%s %v", b, err)
	}
	if rep, err = x.cycle.Index(t.Context()); err != nil || rep.Incomplete != nil || rep.Indexed != 0 {
		t.Error(rep, err)
	}
	if n := x.site.count("/a"); n != asked {
		t.Errorf("the site was asked %d times", n-asked)
	}
	if _, err := x.cycle.Reindex(t.Context(), []string{"nobody"}, false); err == nil {
		t.Error("an unknown writer was filled")
	}
}

// TestExchanges: documents and their deletes go where the exchanges say.
func TestExchanges(t *testing.T) {
	x, _ := newTargets(t, map[string]http.HandlerFunc{"/": page("root", "/a", "/b"), "/a": page("alpha"), "/b": page("beta")},
		"plugin.add=exchange-jexl",
		"exchange.alphas.plugin=exchange-jexl", "exchange.alphas.expr=doc.title =~ 'a.*'", "exchange.alphas.writers=hook,files",
		"exchange.rest.plugin=exchange-jexl", "exchange.rest.default=true", "exchange.rest.writers=main")
	x.run()
	x.check("first", map[string]map[string]string{"main": {"/": "root", "/b": "beta"}, "files": {"/a": "alpha"}, "hook": {"/a": "alpha"}})
	x.site.set("/a", nil)
	x.site.set("/b", page("alphabet"))
	x.again()
	x.check("changed", map[string]map[string]string{"main": {"/": "root"}, "files": {"/b": "alphabet"}, "hook": {"/b": "alphabet"}})
}

// TestCheckWriters: what is wrong is told before anything is sent.
func TestCheckWriters(t *testing.T) {
	x, sets := newTargets(t, map[string]http.HandlerFunc{"/": page("root")})
	x.run()
	checks, err := x.cycle.CheckWriters(t.Context())
	if err != nil || len(checks) != 3 {
		t.Fatal(checks, err)
	}
	for _, c := range checks {
		if !c.OK() || c.Server == "" && c.Name != "main" || c.Held != 1 {
			t.Errorf("%+v", c)
		}
	}
	x.hook.set(func() { x.hook.down = true })
	x.reopen(append(sets, "index_writer.hook.rename=titel=headline", "index_writer.files.enabled=false")...)
	x.cycle.d.targets = nil
	checks, err = x.cycle.CheckWriters(t.Context())
	if err != nil || len(checks) != 3 {
		t.Fatal(checks, err)
	}
	if c := checks[0]; c.Name != "hook" || c.OK() || !strings.Contains(c.Error, "503") {
		t.Errorf("%+v", c)
	}
	if c := checks[2]; c.Name != "files" || c.Configured || c.Held != 1 {
		t.Errorf("%+v", c)
	}
	x.hook.set(func() { x.hook.down = false })
	checks, err = x.cycle.CheckWriters(t.Context())
	if err != nil || len(checks[0].Problems) != 1 || !strings.Contains(checks[0].Problems[0], "titel") {
		t.Errorf("%+v %v", checks, err)
	}
}
