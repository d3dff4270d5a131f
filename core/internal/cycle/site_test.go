package cycle

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/hostdb"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/step/index"
	"github.com/gonutch/crawler/core/internal/step/inject"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/plugins"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/model"
)

// webSite is a small site whose pages a test changes between rounds.
type webSite struct {
	*httptest.Server
	mu    sync.Mutex
	pages map[string]http.HandlerFunc // by path
	asked map[string]int
}

func serve(t *testing.T, pages map[string]http.HandlerFunc) *webSite {
	w := &webSite{pages: pages, asked: map[string]int{}}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

func (w *webSite) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.asked[r.URL.Path]++
	f := w.pages[r.URL.Path]
	w.mu.Unlock()
	if f == nil {
		f = http.NotFound
	}
	f(rw, r)
}

func (w *webSite) set(path string, f http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages[path] = f
}

func (w *webSite) count(path string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[path]
}

// page is an HTML page with a text and links.
func page(text string, links ...string) http.HandlerFunc {
	var b strings.Builder
	fmt.Fprintf(&b, "<html><head><title>%s</title></head><body><p>%s</p>", text, text)
	for _, l := range links {
		fmt.Fprintf(&b, `<a href="%s">to %s</a> `, l, l)
	}
	b.WriteString("</body></html>")
	tag := fmt.Sprintf(`"%x"`, b.String())
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("ETag", tag[:min(len(tag), 60)]+`"`)
		if r.Header.Get("If-None-Match") == w.Header().Get("ETag") {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte(b.String()))
	}
}

func moved(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusMovedPermanently) }
}

// memIndex is an index writer in memory.
type memIndex struct {
	mu      sync.Mutex
	pending []indexwriter.Op
	docs    map[string]model.Document
	adds    map[string]int
}

func (x *memIndex) Name() string { return "mem" }

func (x *memIndex) Write(_ context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.pending = append(x.pending, ops...)
	return make([]indexwriter.Result, len(ops)), nil
}

func (x *memIndex) Commit(context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, op := range x.pending {
		if op.Kind == indexwriter.Delete {
			delete(x.docs, op.Doc.ID)
			continue
		}
		x.docs[op.Doc.ID] = op.Doc
		x.adds[op.Doc.ID]++
	}
	x.pending = nil
	return nil
}

// world is a site, a crawl directory in memory and an index.
type world struct {
	t    *testing.T
	site *webSite
	fs   store.FS
	idx  *memIndex
	*crawl.Crawl
	cycle *Cycle
}

func newWorld(t *testing.T, pages map[string]http.HandlerFunc, sets ...string) *world {
	w := &world{t: t, site: serve(t, pages), fs: store.NewMemFS(), idx: &memIndex{docs: map[string]model.Document{}, adds: map[string]int{}}}
	w.open(sets...)
	t.Cleanup(w.close)
	var seeds []inject.Seed
	for _, s := range []string{"/"} {
		seeds = append(seeds, inject.Seed{URL: w.site.URL + s, Where: "test"})
	}
	if _, err := w.cycle.Inject(t.Context(), seeds, transition.InjectNew, false); err != nil {
		t.Fatal(err)
	}
	return w
}

// open opens the crawl, as a new process does.
func (w *world) open(sets ...string) {
	w.t.Helper()
	cfg, err := config.Load(config.Options{Defaults: crawler.Defaults(), Sets: append([]string{
		"crawl.dir=crawl", "http.agent_name=testbot", "http.agent_url=http://example.org/bot", "fetcher.server_delay=0s",
		"store.low_water=0", "log.crawl_log=false", "cycle.overlap=false", "store.commit_wait=10ms", "linkdb.ignore_internal_links=false",
	}, sets...)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.Crawl, err = crawl.Open(w.t.Context(), crawl.Options{
		Config: cfg, Builtins: plugins.Builtins(), Local: true, Version: "test", FS: w.fs, Log: hclog.NewNullLogger(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	settings, err := LoadConfig(cfg, w.Rules)
	if err != nil {
		w.t.Fatal(err)
	}
	if w.cycle, err = New(w.Crawl, settings); err != nil {
		w.t.Fatal(err)
	}
	w.cycle.d.targets = []index.Target{{Writer: w.idx}}
}

func (w *world) close() {
	w.t.Helper()
	if err := w.Crawl.Close(context.Background()); err != nil {
		w.t.Error(err)
	}
}

func (w *world) reopen(sets ...string) {
	w.t.Helper()
	w.close()
	w.open(sets...)
}

func (w *world) run() Report {
	w.t.Helper()
	rep, err := w.cycle.NewRunner().Run(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if c, err := w.DB.Check(w.t.Context()); err != nil || c.Total != 0 {
		w.t.Fatalf("CrawlDB is inconsistent: %v %v", err, c.Problems)
	}
	return rep
}

// again fetches everything that is known once more, in one round, and then what that
// brought up.
func (w *world) again() {
	w.t.Helper()
	w.cycle.SetAddDays(100)
	w.cycle.d.cfg.Rounds = 1
	w.run()
	w.cycle.SetAddDays(0)
	w.cycle.d.cfg.Rounds = -1
	w.run()
}

// indexed returns path → title of what the index holds.
func (w *world) indexed() map[string]string {
	got := map[string]string{}
	for id, d := range w.idx.docs {
		got[strings.TrimPrefix(id, w.site.URL)] = strings.Join(d.Fields["title"], "|")
	}
	return got
}

// statuses returns path → status of the CrawlDB.
func (w *world) statuses() map[string]string {
	w.t.Helper()
	got := map[string]string{}
	err := w.DB.Scan(w.t.Context(), "", func(k urlkey.Key, r *crawldb.Record) error {
		u, err := urlkey.ToURL(k)
		got[strings.TrimPrefix(u, w.site.URL)] = r.Datum.Status.String()
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

// links returns "from > to anchor" of the LinkDB, sorted.
func (w *world) links() []string {
	w.t.Helper()
	var out []string
	err := w.Links.Each(w.t.Context(), "", func(k urlkey.Key, in []model.Inlink) error {
		to, err := urlkey.ToURL(k)
		for _, l := range in {
			out = append(out, strings.ReplaceAll(fmt.Sprintf("%s > %s %s", l.From, to, l.Anchor), w.site.URL, ""))
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func (w *world) leased() int {
	n := 0
	for _, s := range w.DB.LeasedSegments() {
		n += w.DB.LeasedCount(s)
	}
	return n
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func putHost(t *testing.T, w *world, host string, rec *hostdb.Record) {
	t.Helper()
	err := w.Store.Update(t.Context(), func(tx *store.Tx) error {
		hostdb.Put(tx, host, rec)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
