package e2e

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/testweb"
)

// TestSimulatedWebPolitely crawls a web in which everything goes wrong to its
// end, retries included, with the built binary. Every reachable URL must end in
// an allowed status, and the server's own log must show no gap below the delay
// and never two requests to a host at once. The long form is the web of 100,000 pages on 1,000
// hosts.
func TestSimulatedWebPolitely(t *testing.T) {
	cfg := testweb.DefaultConfig()
	cfg.Hosts, cfg.Pages, cfg.LargestHost = 60, 1500, 150
	if soak() {
		cfg.Hosts, cfg.Pages, cfg.LargestHost = 1000, 100_000, 5000
	}
	cfg.Shares, cfg.MaxPerHost, cfg.Delay, cfg.RetryAfter = testweb.Standard(), 1, 20*time.Millisecond, time.Second
	web, addr := serveWeb(t, cfg)
	dir := filepath.Join(t.TempDir(), "crawl")
	config := site(t, addr, `
fetcher {
  server_delay = "20ms"
  exceptions_per_queue_clear_after = "1s"
}
db {
  fetch_retry_delay = "1s"
}
cycle {
  wait = "20s"
}
indexer {
  enabled = false
}
`)
	start := time.Now()
	out := mustRun(t, "run", "--json", "--config", config, "--dir", dir, "--seeds", "http://host0.test/",
		"-D", "http.robots_503_defer_visits_delay=1s", "-D", "http.read_timeout=5s")
	var rep cycle.Report
	if err := json.Unmarshal([]byte(out), &rep); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)

	l := openLocal(t, dir, addr)
	got := l.statuses(t)
	diffs := web.Truth(testweb.Options{}).Check(got)
	for i, d := range diffs {
		if i == 20 {
			t.Errorf("and %d more", len(diffs)-20)
			break
		}
		t.Errorf("%+v", d)
	}
	if c, err := l.DB.Check(t.Context()); err != nil || c.Total != 0 {
		t.Errorf("CrawlDB is inconsistent: %v %+v", err, c)
	}
	r := web.Report()
	for i, v := range r.Violations {
		if i == 10 {
			break
		}
		t.Errorf("impolite: %+v", v)
	}
	if r.MaxConcurrent > 1 || r.MinGap >= 0 && r.MinGap < cfg.Delay {
		t.Errorf("shortest gap %v (%s), %d requests to a host at once", r.MinGap, r.MinGapHost, r.MaxConcurrent)
	}
	t.Logf("%d URLs in %v: %d requests, shortest gap %v, %d rounds", len(got), took, r.Requests, r.MinGap, rep.Rounds)
}
