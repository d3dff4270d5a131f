package fetch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
)

type script = map[string]func(int) *protocol.Response

func urls(host string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("http://%s/%d", host, i)
	}
	return out
}

func all(list []string, result string) map[string]string {
	m := map[string]string{}
	for _, u := range list {
		m[u] = result
	}
	return m
}

func TestPolitely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(testConfig(), script{
			"http://a/robots.txt": always(200, "user-agent: *\ndisallow: /1\n"),
			"http://b/2":          always(404, ""),
		})
		start := time.Now()
		list := append(urls("a", 4), urls("b", 4)...)
		b.fetch(t, list...)
		want := all(list, "fetch_success")
		want["http://a/1"], want["http://b/2"] = "fetch_gone", "fetch_gone"
		if d := cmp.Diff(want, b.results(t)); d != "" {
			t.Error(d)
		}
		b.polite(t, delay)
		if first := b.log[0].start.Sub(start); first < delay {
			t.Errorf("first request %v after the start", first)
		}
		if p := b.outcome(t, "http://a/1").Fetch.Protocol; p.Code != model.ProtocolRobotsDenied || !strings.Contains(p.Message, "robots.txt:2") {
			t.Errorf("denied with %v", p)
		}
		if n := b.count["http://a/robots.txt"]; n != 1 {
			t.Errorf("robots.txt asked for %d times", n)
		}
		if slices.Contains(b.requests(), "http://a/1") {
			t.Error("a forbidden page was asked for")
		}
		b.settled(t)
	})
}

// TestThreadsPerQueue: several requests at once to one host, and only one for its
// robots.txt, which all wait for.
func TestThreadsPerQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Queue.ThreadsPerQueue, cfg.Queue.MinDelay, cfg.Queue.StartDelay = 4, 0, false
		b := newBench(cfg, nil)
		list := urls("a", 40)
		b.fetch(t, list...)
		if d := cmp.Diff(all(list, "fetch_success"), b.results(t)); d != "" {
			t.Error(d)
		}
		if n := b.count["http://a/robots.txt"]; n != 1 || b.log[0].URL != "http://a/robots.txt" {
			t.Errorf("robots.txt asked for %d times, first request %s", n, b.log[0].URL)
		}
	})
}

func TestConditionalAndPrivate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(testConfig(), script{"http://127.0.0.1:81/old": always(304, "")})
		b.eng.deps.AllowPrivate = map[string]bool{"127.0.0.1:81": true}
		old := item("http://127.0.0.1:81/old")
		old.Hint.Status, old.Hint.ETag, old.Hint.LastModified = model.StatusDBNotModified, `"e"`, "then"
		gone := item("http://127.0.0.1:82/gone")
		gone.Hint.Status, gone.Hint.ETag = model.StatusDBGone, `"e"`
		if err := b.eng.Add(t.Context(), old, gone); err != nil {
			t.Fatal(err)
		}
		b.fetch(t)
		for _, x := range b.log {
			private := strings.Contains(x.URL, ":81/")
			if got := len(x.AllowPrivate) == 1; got != private {
				t.Errorf("%s may reach %v", x.URL, x.AllowPrivate)
			}
			if got := x.ETag != ""; got != (x.URL == old.URL) {
				t.Errorf("%s was asked for with ETag %q", x.URL, x.ETag)
			}
		}
		if d := cmp.Diff(map[string]string{old.URL: "fetch_notmodified", gone.URL: "fetch_success"}, b.results(t)); d != "" {
			t.Error(d)
		}
	})
}

// TestRetryAfter: the host is held, here and in the store, and what is left of it
// does not hold up the round.
func TestRetryAfter(t *testing.T) {
	for name, c := range map[string]struct {
		code  int
		after time.Duration
		want  time.Duration
	}{
		"429":             {429, 5 * time.Minute, 5 * time.Minute},
		"503":             {503, 5 * time.Minute, 5 * time.Minute},
		"at most the max": {429, 24 * time.Hour, time.Hour},
		"default":         {429, 0, 2 * time.Minute},
		"no answer yet":   {0, 5 * time.Minute, 5 * time.Minute}, // the plugin has to wait, such as for a login
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(testConfig(), script{"http://a/0": func(int) *protocol.Response {
					r := answer(c.code, "")
					r.RetryAfter = c.after
					return r
				}})
				start := time.Now()
				b.fetch(t, urls("a", 3)...)
				if d := cmp.Diff(map[string]string{"http://a/0": "fetch_retry", "http://a/1": "host_held", "http://a/2": "host_held"}, b.results(t)); d != "" {
					t.Error(d)
				}
				end := b.log[len(b.log)-1].end
				if got := b.until["a"].Sub(end); got != c.want || b.holds["a"] != "retry_after" {
					t.Errorf("held for %v, want %v (%s)", got, c.want, b.holds["a"])
				}
				if got := b.outcome(t, "http://a/0").Fetch.RetryAfter(); got != c.want {
					t.Errorf("the record says %v, want %v", got, c.want)
				}
				if got := b.outcome(t, "http://a/1").HoldUntil; !got.Equal(b.until["a"]) {
					t.Errorf("released until %v, held until %v", got, b.until["a"])
				}
				if took := time.Since(start); took > time.Minute {
					t.Errorf("the round took %v", took)
				}
			})
		})
	}
}

// TestExceptions: too many failures in a row release the rest of the host's URLs
// until it can be asked again.
func TestExceptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Queue.MaxExceptions = 2
		b := newBench(cfg, script{"http://a/0": always(0, ""), "http://a/1": always(500, "")})
		b.fetch(t, urls("a", 5)...)
		want := all(urls("a", 5), "exceptions")
		want["http://a/0"], want["http://a/1"] = "fetch_retry", "fetch_retry"
		if d := cmp.Diff(want, b.results(t)); d != "" {
			t.Error(d)
		}
		if b.holds["a"] != "exceptions" {
			t.Errorf("holds: %v", b.holds)
		}
		if got := time.Until(b.outcome(t, "http://a/4").HoldUntil); got < 29*time.Minute {
			t.Errorf("released until %v from now", got)
		}
		// What is added while the host is blocked comes back at once, not in a loop.
		o := b.eng.AddFront(item("http://a/9"))
		if o == nil || o.Released != ReleasedExceptions || time.Until(o.HoldUntil) < 29*time.Minute {
			t.Errorf("%+v", o)
		}
		b.polite(t, delay)
		b.settled(t)
	})
}

func TestTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.TimeLimit = 3500 * time.Millisecond
		b := newBench(cfg, nil)
		if err := b.eng.Add(t.Context(), item("http://a/0"), item("http://a/1"), item("http://a/2"), item("http://a/3")); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- b.eng.Run(t.Context()) }()
		time.Sleep(10 * time.Second)
		want := map[string]string{"http://a/0": "fetch_success", "http://a/1": "fetch_success", "http://a/2": "time_limit", "http://a/3": "time_limit"}
		if d := cmp.Diff(want, b.results(t)); d != "" {
			t.Error(d)
		}
		b.mu.Lock()
		b.outs = nil
		b.mu.Unlock()
		b.eng.StartRound() // the next round has its own time
		b.fetchMore(t, "http://a/2")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(map[string]string{"http://a/2": "fetch_success"}, b.results(t)); d != "" {
			t.Error(d)
		}
	})
}

func (b *bench) fetchMore(t *testing.T, list ...string) {
	for _, u := range list {
		if err := b.eng.Add(t.Context(), item(u)); err != nil {
			t.Fatal(err)
		}
	}
	b.eng.Close()
}

func TestThroughput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.MinPagesPerSec, cfg.MinPagesRetries, cfg.MinPagesAfter = 3, 2, 5*time.Second
		b := newBench(cfg, nil)
		b.fetch(t, urls("a", 100)...)
		n := map[string]int{}
		for _, r := range b.results(t) {
			n[r]++
		}
		if n["throughput"] < 85 || n["fetch_success"] < 4 || len(n) != 2 {
			t.Errorf("%v", n)
		}
	})
}

// TestStop: what is under way is finished, nothing else is asked for, and what is
// left has no outcome, so that it stays leased.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Threads, cfg.Queue.StartDelay = 1, false
		b := newBench(cfg, nil)
		for _, h := range []string{"a", "b", "c", "d"} {
			if err := b.eng.Add(t.Context(), item("http://"+h+"/")); err != nil {
				t.Fatal(err)
			}
		}
		b.eng.Close()
		done := make(chan error, 1)
		go func() { done <- b.eng.Run(t.Context()) }()
		time.Sleep(latency / 2) // one request is under way, another item waits for the worker
		b.eng.Stop()
		b.eng.Stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if len(b.log) != 1 || len(b.results(t)) != 0 {
			t.Errorf("%d requests, outcomes %v", len(b.log), b.results(t))
		}
	})
}

// TestLargeBodies: bodies above the whole budget don't deadlock and don't leak.
func TestLargeBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Threads, cfg.MaxBytesInFlight, cfg.Queue.StartDelay = 8, 64<<10, false
		large := strings.Repeat("x", 100<<10)
		s := script{}
		var list []string
		for i := range 8 {
			u := fmt.Sprintf("http://h%d/", i)
			s[u] = always(200, large)
			list = append(list, u)
		}
		b := newBench(cfg, s)
		b.fetch(t, list...)
		if d := cmp.Diff(all(list, "fetch_success"), b.results(t)); d != "" {
			t.Error(d)
		}
		b.settled(t)
	})
}

// TestBudgetHoldsBack: no request starts while bodies that nobody freed fill the
// budget.
func TestBudgetHoldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Threads, cfg.MaxBytesInFlight, cfg.Queue.StartDelay = 1, 64<<10, false
		b := newBench(cfg, script{"http://a/": always(200, strings.Repeat("x", 40<<10))})
		b.keep = true
		for _, h := range []string{"a", "b", "c"} {
			if err := b.eng.Add(t.Context(), item("http://"+h+"/")); err != nil {
				t.Fatal(err)
			}
		}
		b.eng.Close()
		done := make(chan error, 1)
		go func() { done <- b.eng.Run(t.Context()) }()
		time.Sleep(5 * time.Second)
		if n := b.eng.Stats.Requests.Load(); n != 2 { // 32 KiB and the next one's 32 KiB
			t.Errorf("%d pages fetched with a full budget", n)
		}
		b.mu.Lock()
		for _, o := range b.outs {
			o.Free()
			o.Free()
		}
		b.keep = false
		b.mu.Unlock()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if len(b.results(t)) != 3 {
			t.Errorf("%v", b.results(t))
		}
		b.settled(t)
	})
}

func TestErrorsEndTheFetch(t *testing.T) {
	boom := errors.New("boom")
	for name, prepare := range map[string]func(*bench, context.CancelCauseFunc){
		"plugin": func(b *bench, _ context.CancelCauseFunc) { b.err = boom },
		"sink":   func(b *bench, _ context.CancelCauseFunc) { b.fail = boom },
		"cancel": func(_ *bench, cancel context.CancelCauseFunc) {
			go func() {
				time.Sleep(1500 * time.Millisecond)
				cancel(boom)
			}()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(testConfig(), nil)
				ctx, cancel := context.WithCancelCause(t.Context())
				prepare(b, cancel)
				for _, u := range append(urls("a", 5), urls("b", 5)...) {
					if err := b.eng.Add(ctx, item(u)); err != nil {
						t.Fatal(err)
					}
				}
				if err := b.eng.Run(ctx); !errors.Is(err, boom) {
					t.Errorf("error %v", err)
				}
				b.settled(t)
			})
		})
	}
}

func TestRedirects(t *testing.T) {
	for _, c := range []struct {
		max, hops        int
		skip             bool
		follow, exceeded bool
	}{
		{max: 0, hops: 0},
		{max: 0, hops: 0, skip: true},
		{max: 2, hops: 0, follow: true},
		{max: 2, hops: 1, follow: true},
		{max: 2, hops: 2},
		{max: 2, hops: 2, skip: true, exceeded: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			cfg := testConfig()
			cfg.RedirectMax, cfg.RedirectSkip = c.max, c.skip
			b := newBench(cfg, script{"http://a/": redirect(302, "http://b/")})
			it := item("http://a/")
			it.Hops = c.hops
			if err := b.eng.Add(t.Context(), it); err != nil {
				t.Fatal(err)
			}
			b.fetch(t)
			o := b.outcome(t, "http://a/")
			if o.Fetch.Status != model.StatusFetchRedirTemp || o.Follow != c.follow || o.Exceeded != c.exceeded {
				t.Errorf("%+v: %s, follow %v, exceeded %v", c, o.Fetch.Status, o.Follow, o.Exceeded)
			}
		})
	}
}

// TestFollowedRedirectWaits: the target of a redirect waits for its host's turn.
func TestFollowedRedirectWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(testConfig(), nil)
		if err := b.eng.Add(t.Context(), item("http://a/0"), item("http://a/1")); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- b.eng.Run(t.Context()) }()
		time.Sleep(2500 * time.Millisecond) // robots.txt and /0 are done
		if o := b.eng.AddFront(item("http://a/target")); o != nil {
			t.Fatalf("%+v", o)
		}
		b.eng.Close()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		want := []string{"http://a/robots.txt", "http://a/0", "http://a/target", "http://a/1"}
		if d := cmp.Diff(want, b.requests()); d != "" {
			t.Error(d)
		}
		b.polite(t, delay)
	})
}

func TestDropSegmentAndFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Queue.MaxItems = 3
		b := newBench(cfg, nil)
		other := item("http://a/other")
		other.Segment = "s2"
		if err := b.eng.Add(t.Context(), item("http://a/0"), other, item("http://a/1"), item("http://a/2")); err != nil {
			t.Fatal(err)
		}
		if err := b.eng.DropSegment(t.Context(), "s1"); err != nil {
			t.Fatal(err)
		}
		b.fetch(t)
		want := map[string]string{"http://a/0": "host_held", "http://a/1": "host_held", "http://a/2": "frontier_full", "http://a/other": "fetch_success"}
		if d := cmp.Diff(want, b.results(t)); d != "" {
			t.Error(d)
		}
	})
}

// TestFileURLs: there is no host to be polite to.
func TestFileURLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(testConfig(), nil)
		var list []string
		for i := range 50 {
			list = append(list, fmt.Sprintf("file:///d/%d.html", i))
		}
		start := time.Now()
		b.fetch(t, list...)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("50 files took %v", took)
		}
		if d := cmp.Diff(all(list, "fetch_success"), b.results(t)); d != "" {
			t.Error(d)
		}
	})
}

func TestDescribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.StoreRequest, cfg.StoreHeaders, cfg.StoreVersions, cfg.Publish = true, true, true, true
		b := newBench(cfg, nil)
		b.fetch(t, "http://a/")
		want := model.Metadata{"_request_": {"GET /"}, "_response.headers_": {"HTTP/1.1 OK"}, "_protocol.versions_": {"HTTP/1.1"}}
		if d := cmp.Diff(want, b.outcome(t, "http://a/").Fetch.Metadata); d != "" {
			t.Error(d)
		}
		if len(b.events) != 2 || b.events[1].Data.First("status") != "fetch_success" {
			t.Errorf("events %+v", b.events)
		}
	})
}
