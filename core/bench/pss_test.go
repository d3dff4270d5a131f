package bench

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/step/inject"
	"github.com/gonutch/crawler/core/internal/testweb"
	"github.com/gonutch/crawler/plugins"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// pss is what one plugin's processes take, in bytes; shared pages count in parts.
type pss struct {
	idle, peak int64
	records    int64
}

// served starts a simulated web for the time of the benchmark.
func served(b *testing.B, n int) (proxy string) {
	b.Helper()
	cfg := testweb.DefaultConfig()
	cfg.Pages, cfg.Hosts, cfg.PageSize, cfg.Delay, cfg.MaxPerHost = n, max(n/20, 1), testweb.Size50KB, 0, 0
	web, err := testweb.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = web.Serve(ctx, l) })
	b.Cleanup(func() { cancel(); wg.Wait() })
	return l.Addr().String()
}

// openPlugins opens a crawl with the plugins that includes names.
func openPlugins(b *testing.B, proxy, includes string) (*crawl.Crawl, *config.Config, error) {
	b.Helper()
	u := url.URL{Host: proxy}
	sets := []string{
		"crawl.dir=" + filepath.Join(b.TempDir(), "crawl"), "http.agent_name=bench", "http.agent_url=http://host0.test/", "http.proxy_host=" + u.Hostname(),
		"http.proxy_port=" + u.Port(), "fetcher.server_delay=0s", "store.low_water=0", "log.crawl_log=false",
	}
	if includes != "" {
		sets = append(sets, "plugin.includes="+includes)
	}
	cfg, err := config.Load(config.Options{Defaults: crawler.Defaults(), Sets: sets})
	if err != nil {
		b.Fatal(err)
	}
	c, err := crawl.Open(b.Context(), crawl.Options{Config: cfg, Builtins: plugins.Builtins(), Log: hclog.NewNullLogger(), Version: "bench"})
	return c, cfg, err
}

// startable returns the built-in plugins that start with their default settings, and why
// others do not.
func startable(b *testing.B, proxy string) (ids []string, why map[string]string) {
	b.Helper()
	c, _, err := openPlugins(b, proxy, ".*")
	if err != nil {
		b.Fatal(err)
	}
	why = map[string]string{}
	for _, m := range c.Choice.Plugins {
		if err := c.Host.Start(b.Context(), []string{m.ID}); err != nil {
			text, _, _ := strings.Cut(err.Error(), "\n")
			why[m.ID] = text
			continue
		}
		ids = append(ids, m.ID)
	}
	if err := c.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	return ids, why
}

// loaded crawls with the plugins that includes names and returns what they took before and,
// at most, while it ran; and the greatest sum at one time.
func loaded(b *testing.B, proxy, includes string) (by map[string]pss, sum pss) {
	b.Helper()
	c, cfg, err := openPlugins(b, proxy, includes)
	if err != nil {
		b.Fatal(err)
	}
	settings, err := cycle.LoadConfig(cfg, c.Rules)
	if err != nil {
		b.Fatal(err)
	}
	cy, err := cycle.New(c, settings)
	if err != nil {
		b.Fatal(err)
	}
	cy.SetRounds(4)
	if err := c.StartPlugins(b.Context(), true); err != nil {
		b.Fatal(err)
	}
	by = map[string]pss{}
	sample := func(note func(*pss, int64)) {
		var total int64
		for _, s := range c.Host.Stats() {
			p := by[s.ID]
			note(&p, s.PSS)
			p.records = s.Records
			by[s.ID] = p
			total += s.PSS
		}
		note(&sum, total)
	}
	sample(func(p *pss, n int64) { p.idle, p.peak = n, n })
	seeds := []inject.Seed{{URL: "http://host0.test/", Where: "benchmark"}}
	if _, err := cy.Inject(b.Context(), seeds, transition.InjectNew, false); err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := cy.NewRunner().Run(b.Context())
		done <- err
	}()
	for tick := time.Tick(50 * time.Millisecond); ; {
		select {
		case err := <-done:
			if err != nil {
				b.Fatal(err)
			}
			if err := c.Close(context.Background()); err != nil {
				b.Fatal(err)
			}
			return by, sum
		case <-tick:
			sample(func(p *pss, n int64) { p.peak = max(p.peak, n) })
		}
	}
}

// BenchmarkPluginMemory prints one table of the memory (PSS, shared pages counted in
// parts) of each built-in plugin's processes: started, and at most while CRAWLER_BENCH_PAGES
// pages of 50 KB of a simulated web are crawled and indexed, with the default plugins and
// with all that start with their default settings.
func BenchmarkPluginMemory(b *testing.B) {
	n := min(benchPages(b), 20_000)
	if testing.Short() {
		n = 200
	}
	proxy := served(b, n)
	var text strings.Builder
	for b.Loop() {
		text.Reset()
		_, _ = fmt.Fprintf(&text, "%d pages\n", n)
		ids, why := startable(b, proxy)
		some, sumSome := loaded(b, proxy, "")
		all, sumAll := loaded(b, proxy, strings.Join(ids, "|"))
		w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
		mib := func(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }
		_, _ = fmt.Fprintln(w, "MiB\tdefault, idle\tunder load\tall, idle\tunder load\trecords\t")
		for _, id := range sortedKeys(all) {
			a, d := all[id], some[id]
			cells := []string{"", ""}
			if d.idle > 0 {
				cells = []string{mib(d.idle), mib(d.peak)}
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t\n", id, cells[0], cells[1], mib(a.idle), mib(a.peak), grouped(a.records))
		}
		_, _ = fmt.Fprintf(w, "sum (%d, %d plugins)\t%s\t%s\t%s\t%s\t\t\n", len(some), len(all), mib(sumSome.idle), mib(sumSome.peak), mib(sumAll.idle), mib(sumAll.peak))
		_ = w.Flush()
		for _, id := range sortedKeys(why) {
			_, _ = fmt.Fprintf(&text, "%s is not among them: %s\n", id, why[id])
		}
		b.ReportMetric(float64(sumSome.peak)/(1<<20), "default-MiB")
		b.ReportMetric(float64(sumAll.peak)/(1<<20), "all-MiB")
	}
	b.ReportMetric(0, "ns/op")
	show(b, text.String())
}
