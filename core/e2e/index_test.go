package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/query"
)

// hook is a server for indexer-webhook.
type hook struct {
	addr string
	down atomic.Bool // it answers 503
	hang atomic.Bool // it does not answer

	mu    sync.Mutex
	docs  map[string]string // id → title
	sent  map[string]int    // id → operations taken
	ops   int
	asked int
}

func serveHook(t *testing.T) *hook {
	h := &hook{docs: map[string]string{}, sent: map[string]int{}}
	over := make(chan struct{})
	h.addr = "http://" + serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		h.mu.Lock()
		h.asked++
		h.mu.Unlock()
		switch {
		case err != nil: // its sender was killed
			return
		case h.hang.Load():
			select {
			case <-r.Context().Done():
			case <-over:
			}
			return
		case h.down.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		for line := range strings.Lines(string(body)) {
			op, err := readOp(line)
			if err != nil {
				t.Errorf("%q: %v", line, err)
			}
			h.ops++
			h.sent[op.ID]++
			op.apply(h.docs)
		}
	}))
	t.Cleanup(func() { close(over) })
	return h
}

// operation is one as indexer-webhook and indexer-jsonl write it.
type operation struct {
	Op     string              `json:"op"`
	ID     string              `json:"id"`
	Fields map[string][]string `json:"fields"`
}

func readOp(line string) (op operation, err error) {
	return op, json.Unmarshal([]byte(line), &op)
}

func (o *operation) apply(docs map[string]string) {
	if o.Op == "delete" {
		delete(docs, o.ID)
	} else {
		docs[o.ID] = strings.Join(o.Fields["title"], "|")
	}
}

func (h *hook) counts() (ops, asked int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ops, h.asked
}

func (h *hook) config() string {
	return fmt.Sprintf("index_writer \"hook\" {\n  plugin = \"indexer-webhook\"\n  url    = [%q]\n  format = \"ndjson\"\n}\n", h.addr+"/")
}

// searched returns id → title of what the embedded index holds.
func searched(t *testing.T, args ...string) map[string]string {
	t.Helper()
	var a query.SearchAnswer
	out := mustRun(t, append([]string{"search", "*", "--limit", "1000", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	docs := map[string]string{}
	for i := range a.Hits {
		docs[a.Hits[i].ID] = strings.Join(a.Hits[i].Fields["title"], "|")
	}
	if len(docs) != len(a.Hits) || int(a.Total) != len(a.Hits) {
		t.Errorf("%d hits of %d are of %d documents", len(a.Hits), a.Total, len(docs))
	}
	return docs
}

// TestKillIndex kills the core and the plugins of the writers with SIGKILL at random moments of
// index steps. In the end each target holds exactly the documents of the crawl.
func TestKillIndex(t *testing.T) {
	kills := 15
	if soak() {
		kills = 100
	}
	web := &pages{hosts: 8, perHost: 40}
	addr, h, files := serve(t, web), serveHook(t), filepath.Join(t.TempDir(), "files")
	dir := filepath.Join(t.TempDir(), "crawl")
	config := site(t, addr, h.config()+fmt.Sprintf(`
index_writer "files" {
  plugin = "indexer-jsonl"
  path   = %q
}
fetcher {
  server_delay = "0s"
}
indexer {
  batch_size  = 20
  commit_size = 60
}
`, files))
	common := []string{"--config", config, "--dir", dir}
	mustRun(t, append([]string{"run", "--seeds", "http://h0.test/", "-D", "indexer.enabled=false"}, common...)...)
	want := map[string]string{}
	for _, u := range web.urls() {
		host, path, _ := strings.Cut(strings.TrimPrefix(u, "http://"), "/")
		want[u] = "Page /" + path + " of " + host
	}
	rng := rand.New(rand.NewPCG(3, 4))
	writers := []string{"indexer-bleve", "indexer-jsonl", "indexer-webhook"}
	done := map[string]int{}
	for n := range kills {
		args := []string{"index"}
		if ops, _ := h.counts(); ops >= len(want) {
			args = []string{"reindex"} // goes on with one that was killed
		}
		before, _ := h.counts()
		after := before + rng.IntN(len(want)*2/3)
		r := start(t, append(args, common...)...)
		eventually(t, time.Minute, "documents are sent", func() bool { ops, _ := h.counts(); return ops > after || len(r.exited) > 0 })
		what := "the core"
		if n%2 == 1 {
			what = writers[n/2%len(writers)]
		}
		if len(r.exited) > 0 {
			what = "nothing"
		}
		if pid := pluginProcesses(t)[what]; pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			if code := r.end(t, time.Minute); code != 0 { // what was lost was sent again at once
				t.Errorf("kill %d: exit code %d after the end of %s\n%s", n, code, what, r.errOut.String())
			}
		} else {
			_ = r.cmd.Process.Kill()
			<-r.exited
			r.exited <- nil
		}
		done[what]++
		eventually(t, 10*time.Second, "all processes are gone", func() bool { return len(processes(t)) == 0 })
	}
	t.Logf("killed: %v", done)
	if done["nothing"] > kills/3 {
		t.Error("most kills met no work")
	}
	mustRun(t, append([]string{"reindex"}, common...)...) // what is left of the last one
	if rep := reported(t, mustRun(t, append([]string{"index", "--json"}, common...)...)); rep.Indexed+rep.Deleted != 0 || len(rep.Waiting) != 0 {
		t.Errorf("a further index step: %+v", rep)
	}
	h.mu.Lock()
	if d := cmp.Diff(want, h.docs); d != "" {
		t.Errorf("webhook (-want +got):\n%s", d)
	}
	h.mu.Unlock()
	if d := cmp.Diff(want, searched(t, common...)); d != "" {
		t.Errorf("bleve (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want, replayed(t, files)); d != "" {
		t.Errorf("jsonl (-want +got):\n%s", d)
	}
}

// replayed returns id → title of what the operations in the files of indexer-jsonl come to.
func replayed(t *testing.T, folder string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	docs := map[string]string{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			op, err := readOp(line)
			if err != nil {
				t.Fatalf("%s: %q: %v", name, line, err)
			}
			op.apply(docs)
		}
	}
	return docs
}

// depth is a site of which each round finds one page more; reached is told of each.
type depth struct {
	pages   int
	reached func(n int)
}

func (d *depth) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := 0
	if r.URL.Path != "/" {
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil {
			http.NotFound(w, r)
			return
		}
	}
	d.reached(n)
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<title>page %d</title><p>text %d</p>", n, n)
	if n+1 < d.pages {
		fmt.Fprintf(w, "<a href=\"/%d\">next</a>", n+1)
	}
}

// TestWriterDown: a writer's server is down for three rounds of a run and back in the fourth. Only
// the first round waits for it, and in the end it has each document once.
func TestWriterDown(t *testing.T) {
	h := serveHook(t)
	h.down.Store(true)
	asked := map[int]int{}
	addr := serve(t, &depth{pages: 6, reached: func(n int) {
		_, asked[n] = h.counts() // one page a round: never two at the same time
		if n == 3 {
			h.down.Store(false)
		}
	}})
	config := site(t, addr, h.config()+"indexer {\n  retries = 1\n  retry_delay = \"100ms\"\n}\nfetcher {\n  server_delay = \"0s\"\n}\n")
	common := []string{"--config", config, "--dir", filepath.Join(t.TempDir(), "crawl")}
	rep := reported(t, mustRun(t, append([]string{"run", "--seeds", "http://site.test/", "--json"}, common...)...))
	if asked[1] == 0 || asked[2] != asked[1] || asked[3] != asked[1] {
		t.Errorf("requests before the page of each round: %v; want them in the first round only", asked)
	}
	want := map[string]string{"http://site.test/": "page 0"}
	for n := 1; n < 6; n++ {
		want[fmt.Sprintf("http://site.test/%d", n)] = fmt.Sprint("page ", n)
	}
	if d := cmp.Diff(want, h.docs); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for id, n := range h.sent {
		if n != 1 {
			t.Errorf("%s was sent %d times", id, n)
		}
	}
	if rep.IndexedNew != 6 || len(rep.Down)+len(rep.Waiting) != 0 {
		t.Errorf("%+v", rep)
	}
}

// TestHangingServer: a server that takes requests and never answers is a server that is down: its
// documents wait, none of them counts as poisonous, and no plugin is killed for it.
func TestHangingServer(t *testing.T) {
	h := serveHook(t)
	h.hang.Store(true)
	addr := serve(t, &depth{pages: 3, reached: func(int) {}})
	config := site(t, addr, h.config()+"indexer {\n  retries = 1\n  retry_delay = \"100ms\"\n}\nfetcher {\n  server_delay = \"0s\"\n}\nplugin {\n  call_timeout = \"8s\"\n}\n")
	common := []string{"--config", config, "--dir", filepath.Join(t.TempDir(), "crawl")}
	r := start(t, append([]string{"run", "--seeds", "http://site.test/", "--json"}, common...)...)
	if code := r.end(t, 2*time.Minute); code != 0 || strings.Contains(r.errOut.String(), "plugin died") {
		t.Errorf("exit code %d\n%s", code, r.errOut.String())
	}
	if rep := reported(t, r.out.String()); rep.Waiting["hook"] != 3 || len(rep.Refused) != 0 || len(rep.Down) != 1 || !strings.Contains(rep.Down[0].Error, "no answer within") {
		t.Errorf("%+v", rep)
	}
	h.hang.Store(false)
	mustRun(t, append([]string{"index", "--pending"}, common...)...)
	if d := cmp.Diff(map[string]string{"http://site.test/": "page 0", "http://site.test/1": "page 1", "http://site.test/2": "page 2"}, h.docs); d != "" {
		t.Error(d)
	}
}

// TestStopDown: SIGTERM cuts short what a writer that is down or hangs is waited for; the report
// tells what waits, and "index --pending" sends it.
func TestStopDown(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		t.Run(fmt.Sprint("hangs ", hangs), func(t *testing.T) {
			h := serveHook(t)
			h.down.Store(!hangs)
			h.hang.Store(hangs)
			addr := serve(t, &depth{pages: 1, reached: func(int) {}})
			// Left alone, it would be tried for an hour.
			config := site(t, addr, h.config()+"indexer {\n  retries = 100\n  retry_delay = \"1m\"\n}\n")
			common := []string{"--config", config, "--dir", filepath.Join(t.TempDir(), "crawl")}
			r := start(t, append([]string{"run", "--seeds", "http://site.test/"}, common...)...)
			eventually(t, time.Minute, "the writer's server is asked", func() bool { _, n := h.counts(); return n > 0 || len(r.exited) > 0 })
			if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			code := r.end(t, 45*time.Second)
			if out := r.out.String(); code != 0 || !strings.Contains(out, "writer down  hook since ") || !strings.Contains(out, "waiting      1: hook 1; to send them: crawler index --pending") {
				t.Errorf("exit code %d\n%s\n%s", code, out, r.errOut.String())
			}
			h.down.Store(false)
			h.hang.Store(false)
			mustRun(t, append([]string{"index", "--pending"}, common...)...)
			if d := cmp.Diff(map[string]string{"http://site.test/": "page 0"}, h.docs); d != "" {
				t.Error(d)
			}
		})
	}
}
