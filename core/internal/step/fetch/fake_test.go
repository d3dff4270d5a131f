package fetch

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/core/internal/db/hostdb"
	"github.com/gonutch/crawler/core/internal/frontier"
	"github.com/gonutch/crawler/core/internal/robots"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/extension/publisher"
	"github.com/gonutch/crawler/sdk/model"
)

// The tests run in synctest bubbles: time is the bubble's, so delays cost
// nothing, and a deadlock fails the test.

const (
	latency = 10 * time.Millisecond // of every answer
	delay   = time.Second           // between requests to a host
)

type exchange struct {
	protocol.Request
	start, end time.Time
}

// web answers requests by script and keeps a log.
type web struct {
	mu     sync.Mutex
	script map[string]func(n int) *protocol.Response // n-th request of the URL, from 1
	err    error                                     // of the plugin
	log    []exchange
	count  map[string]int
	events []publisher.Event
}

func (w *web) Fetch(ctx context.Context, req *protocol.Request) (*protocol.Response, error) {
	start := time.Now()
	select {
	case <-time.After(latency):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, w.err
	}
	if w.count == nil {
		w.count = map[string]int{}
	}
	w.count[req.URL]++
	w.log = append(w.log, exchange{*req, start, time.Now()})
	f := w.script[req.URL]
	switch {
	case f != nil:
	case strings.HasSuffix(req.URL, "/robots.txt"):
		f = always(404, "")
	default:
		f = always(200, "page "+req.URL)
	}
	r := f(w.count[req.URL])
	r.URL, r.FetchTime, r.Elapsed = req.URL, start, latency
	return r, nil
}

func (w *web) Publish(ev publisher.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, ev)
}

// requests returns the URLs asked for, in order of their starts.
func (w *web) requests() []string {
	var out []string
	for _, x := range w.log {
		out = append(out, x.URL)
	}
	return out
}

// polite checks every pair of requests to one host.
func (w *web) polite(t *testing.T, gap time.Duration) {
	t.Helper()
	last := map[string]exchange{}
	for _, x := range w.log {
		h := urlkey.Host(x.URL)
		if p, ok := last[h]; ok && x.start.Sub(p.end) < gap {
			t.Errorf("%s came %v after %s, want %v", x.URL, x.start.Sub(p.end), p.URL, gap)
		}
		last[h] = x
	}
}

func answer(code int, body string) *protocol.Response {
	s := model.ProtocolStatus{HTTP: code}
	switch {
	case code == 0:
		s.Code, s.Message = model.ProtocolException, "connection refused"
	case code < 300:
		s.Code = model.ProtocolSuccess
	case code == 301:
		s.Code = model.ProtocolMoved
	case code == 302:
		s.Code = model.ProtocolTempMoved
	case code == 304:
		s.Code = model.ProtocolNotModified
	case code == 404:
		s.Code = model.ProtocolNotFound
	default:
		s.Code = model.ProtocolException
	}
	return &protocol.Response{
		Status: s, Body: []byte(body), ContentType: "text/html", Protocol: "HTTP/1.1", Headers: model.Metadata{},
		RawRequest: []byte("GET /"), RawResponse: []byte("HTTP/1.1 " + http.StatusText(code)),
	}
}

func always(code int, body string) func(int) *protocol.Response {
	return func(int) *protocol.Response { return answer(code, body) }
}

func redirect(code int, to string) func(int) *protocol.Response {
	return func(int) *protocol.Response {
		r := answer(code, "")
		r.Location = to
		return r
	}
}

// memory is a RobotsStore.
type memory struct {
	mu     sync.Mutex
	robots map[string]hostdb.Robots
	holds  map[string]string    // queue → reason
	until  map[string]time.Time // queue → end
}

func newMemory() *memory {
	return &memory{robots: map[string]hostdb.Robots{}, holds: map[string]string{}, until: map[string]time.Time{}}
}

func (m *memory) LoadRobots(origin string) (*hostdb.Robots, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.robots[origin]; ok {
		return &r, nil
	}
	return nil, nil
}

func (m *memory) SaveRobots(r hostdb.Robots) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.robots[r.Origin] = r
	return nil
}

func (m *memory) Hold(queue string, until time.Time, why string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holds[queue], m.until[queue] = why, until
	return nil
}

func testConfig() Config {
	q := frontier.DefaultConfig()
	q.Delay, q.StartDelay, q.MaxItems = delay, true, 1000
	policy := robots.DefaultPolicy()
	policy.DeferDelay, policy.MaxDefer = 10*time.Minute, time.Hour
	return Config{
		Threads: 4, Queue: q, QueueMode: urlkey.ByHost, MaxCrawlDelay: 30 * time.Second, TimeLimit: -1, ReleaseAfter: time.Minute,
		MinPagesPerSec: -1, MaxBytesInFlight: 64 << 20, RetryAfterDefault: 2 * time.Minute, RetryAfterMax: time.Hour, Magic: true,
		Robots: RobotsConfig{Agents: []string{"testbot"}, Defer: true, ContentLimit: 500 << 10, Policy: policy},
	}
}

// bench is an engine with its surroundings.
type bench struct {
	*web
	*memory
	eng  *Engine
	mu   sync.Mutex
	outs []*Outcome
	keep bool  // don't free outcomes
	fail error // of the sink
}

func newBench(cfg Config, script map[string]func(int) *protocol.Response) *bench {
	b := &bench{web: &web{script: script}, memory: newMemory()}
	b.start(cfg)
	return b
}

// start makes a new engine over the same web and store, as a new process does.
func (b *bench) start(cfg Config) {
	b.eng = New(cfg, Deps{Fetcher: b.web, Robots: b.memory, Sink: b.sink, Log: hclog.NewNullLogger(), Now: time.Now})
}

func (b *bench) sink(_ context.Context, o *Outcome) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return b.fail
	}
	b.outs = append(b.outs, o)
	if !b.keep {
		o.Free()
	}
	return nil
}

func item(url string) Item {
	return Item{Segment: "s1", Key: urlkey.FromURL(url), URL: url}
}

// fetch adds the URLs and runs the engine to its end.
func (b *bench) fetch(t *testing.T, urls ...string) {
	t.Helper()
	for _, u := range urls {
		if err := b.eng.Add(t.Context(), item(u)); err != nil {
			t.Fatal(err)
		}
	}
	b.eng.Close()
	if err := b.eng.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// results returns URL → fetch status or release reason, and fails when a URL has
// two outcomes.
func (b *bench) results(t *testing.T) map[string]string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	got := map[string]string{}
	for _, o := range b.outs {
		if o.Extra {
			continue
		}
		if was, ok := got[o.Item.URL]; ok {
			t.Errorf("%s has the outcomes %s and %s", o.Item.URL, was, o.Fetch.Status)
		}
		if got[o.Item.URL] = o.Fetch.Status.String(); o.Released != "" {
			got[o.Item.URL] = string(o.Released)
		}
	}
	return got
}

func (b *bench) outcome(t *testing.T, url string) *Outcome {
	t.Helper()
	for _, o := range b.outs {
		if o.Item.URL == url && !o.Extra {
			return o
		}
	}
	t.Fatalf("%s has no outcome", url)
	return nil
}

// settled fails when bytes are missing from the budget.
func (b *bench) settled(t *testing.T) {
	t.Helper()
	if !b.eng.budget.TryAcquire(b.eng.cfg.MaxBytesInFlight) {
		t.Error("bytes of the budget were not given back")
	}
}
