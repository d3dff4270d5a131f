package protocolbrowser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
	"github.com/gonutch/crawler/sdk/testsite"
)

// processes returns the ids of the browser processes of f whose command line has word.
func processes(t testing.TB, f *Fetcher, word string) []int {
	t.Helper()
	var out []int
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, []byte("--user-data-dir="+f.pool.dataDir+"/")) || !bytes.Contains(line, []byte(word)) {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(file, "/")[2]); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

func (f *Fetcher) pid() int {
	f.pool.mu.Lock()
	defer f.pool.mu.Unlock()
	return chromedp.FromContext(f.pool.cur.ctx).Browser.Process().Pid
}

// TestCrashes: a page's process that dies is that page's failure; a browser that dies is
// replaced; when the plugin ends, nothing is left.
func TestCrashes(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	asked, release := make(chan struct{}, 4), make(chan struct{})
	s.Site().Page("/", "<p>fine").Page("/hangs", `<p>here<script src="/never"></script>`)
	s.Site().Handle("/never", func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	f := fetcher(t)
	hang := func(kill func()) *protocol.Response {
		got := make(chan *protocol.Response, 1)
		go func() {
			r, err := f.Fetch(t.Context(), &protocol.Request{URL: s.Site().URL("/hangs")})
			if err != nil {
				t.Error(err)
			}
			got <- r
		}()
		<-asked
		kill()
		return <-got
	}
	fine := func(when string) {
		if r := libtest.Get(t, f, s.Site().URL("/")); r.Status.Code != model.ProtocolSuccess || !strings.Contains(string(r.Body), "<p>fine") {
			t.Errorf("%s: %v", when, r.Status)
		}
	}
	fine("at first")
	pid := f.pid()
	r := hang(func() {
		for _, p := range processes(t, f, "--type=renderer") {
			_ = syscall.Kill(p, syscall.SIGKILL)
		}
	})
	if r == nil || r.Status.Code != model.ProtocolException || !strings.Contains(r.Status.Message, "crashed") {
		t.Errorf("renderer killed: %v", r)
	}
	fine("after a page's crash")
	if f.pid() != pid {
		t.Error("the browser was replaced because of a page")
	}
	if r = hang(func() { _ = syscall.Kill(pid, syscall.SIGKILL) }); r == nil || r.Status.Code != model.ProtocolException || !strings.Contains(r.Status.Message, "browser ended") {
		t.Errorf("browser killed: %v", r)
	}
	fine("after the browser's crash")
	if f.pid() == pid {
		t.Error("the browser is the one that was killed")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	// The last ones notice their browser's end by themselves.
	for end := time.Now().Add(time.Minute); len(processes(t, f, "")) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("processes left: %v", processes(t, f, ""))
		}
	}
	if left, _ := filepath.Glob(f.pool.dataDir + "/*"); len(left) > 0 {
		t.Errorf("files left: %v", left)
	}
	if _, err := f.Fetch(t.Context(), &protocol.Request{URL: s.Site().URL("/")}); !fault.Is(err, fault.Shutdown) {
		t.Errorf("after Close: %v", err)
	}
}

// TestRestart: a browser is replaced after so many pages.
func TestRestart(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	s.Site().Page("/", "<p>fine")
	f := fetcher(t, func(c *Config) { c.Own.RestartAfter = 2 })
	pids := map[int]bool{}
	for range 3 {
		if r := libtest.Get(t, f, s.Site().URL("/")); r.Status.Code != model.ProtocolSuccess {
			t.Fatal(r.Status)
		}
		pids[f.pid()] = true
	}
	if len(pids) != 2 {
		t.Errorf("%d browsers for 3 pages", len(pids))
	}
}

func TestSettings(t *testing.T) {
	if _, err := FindBrowser(""); err != nil {
		t.Skip("no Chromium: apt-get install chromium")
	}
	base := DefaultConfig()
	base.HTTP.AgentName, base.HTTP.AgentURL, base.Own.Sandbox = "x", "https://x.example/", false
	for name, change := range map[string]func(*OwnConfig){
		"path": func(o *OwnConfig) { o.Path = "/no/such/browser" }, "pages": func(o *OwnConfig) { o.Pages = 0 },
		"wait": func(o *OwnConfig) { o.Wait = []string{"lod"} }, "selector": func(o *OwnConfig) { o.Wait = []string{"selector"} },
		"step": func(o *OwnConfig) { o.Steps = []string{"jump"} }, "step's on": func(o *OwnConfig) { o.Steps = []string{"on ("} },
		"step's number": func(o *OwnConfig) { o.Steps = []string{"scroll x"} }, "type": func(o *OwnConfig) { o.Steps = []string{"type input"} },
		"block": func(o *OwnConfig) { o.Block = []string{"images"} }, "block_urls": func(o *OwnConfig) { o.BlockURLs = []string{"["} },
		"window": func(o *OwnConfig) { o.Window = "big" }, "screenshot": func(o *OwnConfig) { o.Screenshot = "yes" },
		"subrequests": func(o *OwnConfig) { o.SubRequests = "none" }, "timeout": func(o *OwnConfig) { o.PageTimeout = 0 },
		"bytes": func(o *OwnConfig) { o.MaxPageBytes = setting.Size(-1) },
	} {
		cfg := base
		change(&cfg.Own)
		if _, err := NewFetcher(cfg); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: error %v, want Invalid", name, err)
		}
	}
	if os.Getuid() == 0 {
		cfg := base
		cfg.Own.Sandbox = true
		if _, err := NewFetcher(cfg); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "sandbox = false") {
			t.Errorf("root in a sandbox: %v", err)
		}
	}
}

// The defaults in Go and in the manifest are the same.
func TestDefaults(t *testing.T) {
	m := libtest.Manifest(t, Plugin())
	var got OwnConfig
	if err := json.Unmarshal(libtest.Settings(t, m, "").Own, &got); err != nil {
		t.Fatal(err)
	}
	if want := DefaultConfig().Own; !reflect.DeepEqual(got, want) || len(m.Settings) != reflect.TypeFor[OwnConfig]().NumField() {
		t.Errorf("manifest %+v, code %+v", got, want)
	}
}

// TestLoad: many more requests than pages at once, over browsers that are replaced again and again, and
// one that is killed under its pages, end with the right page each or with the reason; no more pages
// are open than the setting says, and nothing is left.
func TestLoad(t *testing.T) {
	const requests, open, each = 40, 3, 6
	s := testsite.Start(t, testsite.Options{})
	var mu sync.Mutex
	now, most := 0, 0
	atOnce := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		now += n
		most = max(most, now)
	}
	halfway, killed := make(chan struct{}), make(chan struct{})
	for i := range requests {
		s.Site().Page(fmt.Sprintf("/%d", i), fmt.Sprintf(`<p id=p>loading<script>fetch("/data/%d").then(r => r.text()).then(x => { p.textContent = x; p.className = "done" })</script>`, i))
		s.Site().Handle(fmt.Sprintf("/data/%d", i), func(w http.ResponseWriter, _ *http.Request) {
			atOnce(1)
			defer atOnce(-1)
			if i == requests/2 {
				close(halfway)
				<-killed
			}
			fmt.Fprintf(w, "words of page %d.", i)
		})
	}
	f := fetcher(t, func(c *Config) {
		c.Own.Pages, c.Own.RestartAfter = open, each
		c.Own.Wait = []string{"selector .done"}
	})
	answers := make([]*protocol.Response, requests)
	var wg sync.WaitGroup
	wg.Go(func() { // while a page waits for its data, so that one at least is lost
		<-halfway
		defer close(killed)
		for _, p := range processes(t, f, "--type=renderer") {
			_ = syscall.Kill(p, syscall.SIGKILL)
		}
	})
	for i := range requests {
		wg.Go(func() {
			r, err := f.Fetch(t.Context(), &protocol.Request{URL: s.Site().URL(fmt.Sprintf("/%d", i)), Timeout: 20 * time.Minute})
			if err != nil {
				t.Errorf("page %d: %v", i, err)
				return
			}
			answers[i] = r
		})
	}
	wg.Wait()
	lost := 0
	for i, r := range answers {
		switch {
		case r == nil:
		case r.Status.Code == model.ProtocolSuccess && strings.Contains(string(r.Body), fmt.Sprintf("words of page %d.", i)):
		case r.Status.Code == model.ProtocolException && (i != requests/2 || strings.Contains(r.Status.Message, "crashed")):
			lost++
		default:
			t.Errorf("page %d: %v, %q, %s", i, r.Status, r.Body, r.Headers.First(headerNotes))
		}
	}
	if lost < 1 || lost > open {
		t.Errorf("%d pages were lost, want those open when their processes were killed: 1 to %d", lost, open)
	}
	if most > open {
		t.Errorf("%d pages were open at once, want %d at most", most, open)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if left := processes(t, f, "--type=renderer"); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
}
