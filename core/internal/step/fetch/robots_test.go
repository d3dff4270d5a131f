package fetch

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRobotsDeferred: a host whose robots.txt can't be had is asked once, held in
// the store, and all its URLs are given back until then.
func TestRobotsDeferred(t *testing.T) {
	for name, code := range map[string]int{"503": 503, "429": 429, "no answer": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(testConfig(), script{"http://a/robots.txt": always(code, "")})
				list := urls("a", 5)
				b.fetch(t, list...)
				if d := cmp.Diff(all(list, "robots_deferred"), b.results(t)); d != "" {
					t.Error(d)
				}
				if d := cmp.Diff([]string{"http://a/robots.txt"}, b.requests()); d != "" {
					t.Error(d)
				}
				until := b.until["a"]
				if b.holds["a"] != "robots_deferred" || until.Before(time.Now().Add(9*time.Minute)) {
					t.Errorf("held until %v: %s", until, b.holds["a"])
				}
				for _, o := range b.outs {
					if !o.HoldUntil.Equal(until) {
						t.Errorf("%s: released until %v, want %v", o.Item.URL, o.HoldUntil, until)
					}
				}
				// A new process knows it from the store.
				b.outs = nil
				b.start(testConfig())
				b.fetch(t, "http://a/0")
				if d := cmp.Diff(map[string]string{"http://a/0": "robots_deferred"}, b.results(t)); d != "" || len(b.log) != 1 {
					t.Errorf("%s, %d requests", d, len(b.log))
				}
				// When the hold is over it asks again.
				b.outs, b.script["http://a/robots.txt"] = nil, always(404, "")
				time.Sleep(time.Until(until))
				b.start(testConfig())
				b.fetch(t, "http://a/0")
				if d := cmp.Diff(map[string]string{"http://a/0": "fetch_success"}, b.results(t)); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

// TestRobotsNotDeferred: with http.robots_503_defer_visits off an unreachable
// robots.txt allows everything, in a later process too.
func TestRobotsNotDeferred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Robots.Defer = false
		b := newBench(cfg, script{"http://a/robots.txt": always(503, "")})
		b.fetch(t, "http://a/0")
		b.start(cfg)
		b.fetch(t, "http://a/1")
		if d := cmp.Diff(all([]string{"http://a/0", "http://a/1"}, "fetch_success"), b.results(t)); d != "" {
			t.Error(d)
		}
		if len(b.holds) != 0 {
			t.Errorf("holds: %v", b.holds)
		}
	})
}

// TestRobotsRedirect: each hop waits for the turn of its host, between that host's
// own pages.
func TestRobotsRedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(testConfig(), script{
			"http://a/robots.txt": redirect(301, "http://b/r1"),
			"http://b/r1":         redirect(302, "http://b/r2"),
			"http://b/r2":         always(200, "user-agent: *\ndisallow: /1"),
		})
		list := append(urls("a", 3), urls("b", 3)...)
		b.fetch(t, list...)
		want := all(list, "fetch_success")
		want["http://a/1"] = "fetch_gone"
		if d := cmp.Diff(want, b.results(t)); d != "" {
			t.Error(d)
		}
		b.polite(t, delay)
		if b.eng.Stats.Robots.Load() != 4 {
			t.Errorf("%d robots requests", b.eng.Stats.Robots.Load())
		}
	})
}

// TestRobotsRedirectToDeadHost: when the host that a robots.txt redirects to is
// blocked, the robots.txt is unreachable, and the URLs that wait come back.
func TestRobotsRedirectToDeadHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Queue.MaxExceptions = 1
		b := newBench(cfg, script{
			"http://a/robots.txt": redirect(301, "http://b/r"),
			"http://b/0":          always(0, ""),
		})
		if err := b.eng.Add(t.Context(), item("http://b/0")); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- b.eng.Run(t.Context()) }()
		time.Sleep(5 * time.Second) // b is blocked now
		b.fetchMore(t, urls("a", 3)...)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		want := all(urls("a", 3), "robots_deferred")
		want["http://b/0"] = "fetch_retry"
		if d := cmp.Diff(want, b.results(t)); d != "" {
			t.Error(d)
		}
		if b.holds["a"] != "robots_deferred" {
			t.Errorf("holds %v", b.holds)
		}
	})
}

// TestRobotsRedirectAbandoned: what the end of a round cuts off says nothing
// about the host.
func TestRobotsRedirectAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.TimeLimit = 5 * time.Second
		b := newBench(cfg, script{"http://a/robots.txt": redirect(301, "http://b/r")})
		b.eng.front.Hold("b", time.Now().Add(30*time.Second), "test", time.Now())
		b.fetch(t, urls("a", 3)...)
		if d := cmp.Diff(all(urls("a", 3), "time_limit"), b.results(t)); d != "" {
			t.Error(d)
		}
		if len(b.holds) != 0 || len(b.robots) != 0 || b.eng.robots.busy() {
			t.Errorf("holds %v, stored %v", b.holds, b.robots)
		}
		// The next round starts anew.
		b.outs = nil
		b.start(testConfig())
		b.fetch(t, urls("a", 3)...)
		if d := cmp.Diff(all(urls("a", 3), "fetch_success"), b.results(t)); d != "" {
			t.Error(d)
		}
	})
}

func TestCrawlDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(testConfig(), script{"http://a/robots.txt": always(200, "user-agent: *\ncrawl-delay: 7")})
		b.fetch(t, urls("a", 3)...)
		if d := cmp.Diff(all(urls("a", 3), "fetch_success"), b.results(t)); d != "" {
			t.Error(d)
		}
		b.polite(t, 7*time.Second)
		// A process that finds the rules in the store must not ask sooner either: the one
		// before may have asked just now.
		b.outs, b.log = nil, nil
		start := time.Now()
		b.start(testConfig())
		b.fetch(t, "http://a/9")
		if b.log[0].URL != "http://a/9" || b.log[0].start.Sub(start) < 7*time.Second {
			t.Errorf("%s asked for %v after the start", b.log[0].URL, b.log[0].start.Sub(start))
		}
	})
}

func TestCrawlDelayTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(testConfig(), script{"http://a/robots.txt": always(200, "user-agent: *\ncrawl-delay: 3600")})
		b.fetch(t, urls("a", 3)...)
		for u, r := range b.results(t) {
			if r != "crawl_delay" && r != "host_held" {
				t.Errorf("%s: %s", u, r)
			}
			if got := time.Until(b.outcome(t, u).HoldUntil); got < 23*time.Hour {
				t.Errorf("%s comes back in %v", u, got)
			}
		}
		if len(b.log) != 1 || b.holds["a"] != "crawl_delay" {
			t.Errorf("%v, holds %v", b.requests(), b.holds)
		}
		cfg := testConfig()
		cfg.MaxCrawlDelay, cfg.ReleaseAfter = -1, -1 // any delay is waited for
		b.outs = nil
		b.start(cfg)
		b.fetch(t, "http://a/0")
		if d := cmp.Diff(map[string]string{"http://a/0": "fetch_success"}, b.results(t)); d != "" {
			t.Error(d)
		}
	})
}

// TestRobotsStored: with fetcher.store_robotstxt the text goes with the content, as
// an extra that no fetch list knows.
func TestRobotsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.StoreRobots = true
		b := newBench(cfg, script{"http://a/robots.txt": always(200, "user-agent: *\n")})
		b.fetch(t, "http://a/0")
		if len(b.outs) != 2 || !b.outs[0].Extra || b.outs[0].Fetch.URL != "http://a/robots.txt" || !strings.HasPrefix(string(b.outs[0].Response.Body), "user-agent") {
			t.Errorf("%+v", b.outs)
		}
		b.settled(t)
	})
}

// TestStopWhileRobotsUnderWay: the items that wait for a robots.txt stay leased.
func TestStopWhileRobotsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Queue.StartDelay = false
		b := newBench(cfg, nil)
		if err := b.eng.Add(t.Context(), item("http://a/0"), item("http://a/1")); err != nil {
			t.Fatal(err)
		}
		b.eng.Close()
		done := make(chan error, 1)
		go func() { done <- b.eng.Run(t.Context()) }()
		time.Sleep(latency / 2)
		b.eng.Stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if len(b.outs) != 0 || len(b.log) != 1 {
			t.Errorf("outcomes %v, requests %v", b.results(t), b.requests())
		}
		if _, ok := b.robots["http://a"]; !ok {
			t.Error("the answer was not kept")
		}
	})
}

func TestAllowlist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Robots.Allowlist = map[string]bool{"a": true}
		b := newBench(cfg, script{"http://a/robots.txt": always(200, "user-agent: *\ndisallow: /")})
		b.fetch(t, "http://a/0")
		if d := cmp.Diff([]string{"http://a/0"}, b.requests()); d != "" {
			t.Error(d)
		}
	})
}

// TestSinkErrorInRobots: an error of the sink while items are given back ends the
// fetch.
func TestSinkErrorInRobots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(testConfig(), script{"http://a/robots.txt": always(503, "")})
		b.fail = context.DeadlineExceeded
		if err := b.eng.Add(t.Context(), item("http://a/0")); err != nil {
			t.Fatal(err)
		}
		if err := b.eng.Run(t.Context()); err != context.DeadlineExceeded { // the very one
			t.Errorf("error %v", err)
		}
	})
}
