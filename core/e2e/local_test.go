// Package e2e tests the crawler as a whole: crawls of simulated and real sites,
// in this process and with the built binary.
package e2e

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/step/inject"
	"github.com/gonutch/crawler/core/internal/testweb"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/plugins"
	"github.com/gonutch/crawler/sdk/model"
)

// serveWeb serves a simulated web until the test ends; it returns the proxy's
// address.
func serveWeb(t testing.TB, cfg testweb.Config) (*testweb.Web, string) {
	t.Helper()
	web, err := testweb.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- web.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return web, l.Addr().String()
}

// local is a crawl whose plugins run in this process.
type local struct {
	*crawl.Crawl
	cycle *cycle.Cycle
}

func openLocal(t testing.TB, dir, proxy string, sets ...string) *local {
	t.Helper()
	host, port, err := net.SplitHostPort(proxy)
	if err != nil {
		t.Fatal(err)
	}
	sets = append([]string{
		"crawl.dir=" + dir, "http.agent_name=testbot", "http.agent_url=http://example.org/bot", "http.proxy_host=" + host, "http.proxy_port=" + port,
		"fetcher.server_delay=0s", "store.low_water=0", "log.crawl_log=false",
	}, sets...)
	return openWith(t, config.Options{Defaults: crawler.Defaults(), Sets: sets})
}

// openWith is openLocal with any configuration.
func openWith(t testing.TB, opt config.Options) *local {
	t.Helper()
	cfg, err := config.Load(opt)
	if err != nil {
		t.Fatal(err)
	}
	level := hclog.Warn
	if testing.Verbose() {
		level = hclog.Info
	}
	c, err := crawl.Open(t.Context(), crawl.Options{
		Config: cfg, Builtins: plugins.Builtins(), Local: true, Version: "test",
		Log: hclog.New(&hclog.LoggerOptions{Level: level, Output: logWriter{t}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := cycle.LoadConfig(cfg, c.Rules)
	if err != nil {
		t.Fatal(err)
	}
	cy, err := cycle.New(c, settings)
	if err != nil {
		t.Fatal(err)
	}
	l := &local{Crawl: c, cycle: cy}
	t.Cleanup(func() { l.close(t) })
	return l
}

func (l *local) close(t testing.TB) {
	if err := l.Crawl.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

type logWriter struct{ t testing.TB }

func (w logWriter) Write(p []byte) (int, error) {
	w.t.Log(string(p[:len(p)-1]))
	return len(p), nil
}

func (l *local) inject(t testing.TB, urls ...string) {
	t.Helper()
	var seeds []inject.Seed
	for _, u := range urls {
		seeds = append(seeds, inject.Seed{URL: u, Where: "test"})
	}
	if _, err := l.cycle.Inject(t.Context(), seeds, transition.InjectNew, false); err != nil {
		t.Fatal(err)
	}
}

// statuses returns the CrawlDB as URL → status.
func (l *local) statuses(t testing.TB) map[string]model.Status {
	t.Helper()
	got := map[string]model.Status{}
	err := l.DB.Scan(t.Context(), "", func(k urlkey.Key, r *crawldb.Record) error {
		u, err := urlkey.ToURL(k)
		got[u] = r.Datum.Status
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestCrawlSimulatedWeb crawls a standard simulated web to its end and compares the
// CrawlDB with the ground truth.
func TestCrawlSimulatedWeb(t *testing.T) { crawlSimulatedWeb(t, false, "never") }

// TestCrawlSimulatedWebWithSitemaps reaches the pages that only sitemaps name, too.
func TestCrawlSimulatedWebWithSitemaps(t *testing.T) { crawlSimulatedWeb(t, true, "once") }

func crawlSimulatedWeb(t *testing.T, sitemaps bool, read string) {
	cfg := testweb.DefaultConfig()
	cfg.Hosts, cfg.Pages, cfg.Shares, cfg.MaxPerHost = 20, 600, testweb.Standard(), 1
	if sitemaps {
		cfg.Hosts, cfg.Pages, cfg.Shares.Sitemap = 12, 300, 1
	}
	web, addr := serveWeb(t, cfg)
	l := openLocal(t, filepath.Join(t.TempDir(), "crawl"), addr, "sitemap.from_hostdb="+read, "sitemap.url_default_sitemap_xml=false", fmt.Sprintf("indexer.enabled=%v", !sitemaps))
	l.inject(t, "http://host0.test/")
	start := time.Now()
	rep, err := l.cycle.NewRunner().Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v: %+v", time.Since(start), rep)
	if sitemaps {
		t.Logf("%+v", *rep.Sitemaps)
		if rep.Sitemaps.Sitemaps == 0 || rep.Sitemaps.Added == 0 {
			t.Error("no sitemap was of use")
		}
	}
	diffs := web.Truth(testweb.Options{OnePass: true, Sitemaps: sitemaps}).Check(l.statuses(t))
	for i, d := range diffs {
		if i == 20 {
			t.Errorf("and %d more", len(diffs)-20)
			break
		}
		t.Errorf("%+v", d)
	}
	if r := web.Report(); !r.Polite() {
		t.Errorf("impolite: %+v", r.Violations)
	}
	if c, err := l.DB.Check(t.Context()); err != nil {
		t.Error(err)
	} else {
		t.Logf("check: %+v", c)
	}
}
