package bench

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/net/html"

	"github.com/gonutch/crawler"
	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/testweb"
	"github.com/gonutch/crawler/plugins"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
)

// urlPlugins are the normalizers and filters with rules as a crawl may have them;
// without an entry a plugin runs with its own.
func urlPlugins() map[string]string {
	return map[string]string{
		"urlnormalizer-ajax": "", "urlnormalizer-basic": "", "urlnormalizer-pass": "", "urlnormalizer-querystring": "", "urlnormalizer-regex": "",
		"urlnormalizer-host": `rules=["*.example.org example.org","*.example.com example.com"]`, "urlnormalizer-protocol": `rules=["*.example.org https"]`,
		"urlnormalizer-slash": `rules=["*.example.org +"]`,
		"urlfilter-automaton": "", "urlfilter-regex": "", "urlfilter-suffix": "", "urlfilter-validator": "",
		"urlfilter-prefix": `rules=["http://","https://"]`, "urlfilter-domain": `rules=["host0.test","host1.test","host2.test"]`,
		"urlfilter-domaindenylist": `rules=["example.org","example.com"]`, "urlfilter-fast": `rules=["Domain example.org","DenyPath /private/"]`,
	}
}

// benchURLs is how many outlinks are judged: CRAWLER_BENCH_URLS, or few.
func benchURLs(b *testing.B) int {
	v := os.Getenv("CRAWLER_BENCH_URLS")
	if v == "" {
		return 20_000
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		b.Fatalf("CRAWLER_BENCH_URLS=%s: want a number", v)
	}
	return n
}

// show prints a table of the last run; b.Log would cut it.
func show(b *testing.B, text string) {
	if _, err := fmt.Fprintf(os.Stdout, "\n%s\n", text); err != nil {
		b.Error(err)
	}
}

// outlinks returns n links, page by page, of a simulated web.
func outlinks(b *testing.B, n int) [][]string {
	b.Helper()
	cfg := testweb.DefaultConfig()
	cfg.Links, cfg.PageSize, cfg.Shares = 60, testweb.Size6KB, testweb.Plain()
	cfg.Pages = max(n/40, 100)
	cfg.Hosts = max(cfg.Pages/50, 1)
	web, err := testweb.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	var out [][]string
	for i := 0; n > 0; i++ {
		u := web.PageURL(i % cfg.Pages)
		rec := httptest.NewRecorder()
		web.ServeHTTP(rec, httptest.NewRequest("GET", u, nil))
		doc, err := html.Parse(rec.Body)
		if err != nil {
			b.Fatal(err)
		}
		links, _ := extract(doc, u)
		links = links[:min(len(links), n)]
		n -= len(links)
		out = append(out, links)
	}
	return out
}

// urlCrawl opens the chains of the plugins named.
func urlCrawl(b *testing.B, local bool, ids []string, cache string) *crawl.Crawl {
	b.Helper()
	sets := []string{"http.agent_name=bench", "http.agent_url=http://b/", "index_writer.main.enabled=false", "plugin.includes=" + strings.Join(ids, "|"), "plugin.cache_size=" + cache}
	for _, id := range ids {
		if rules := urlPlugins()[id]; rules != "" {
			sets = append(sets, "plugin."+id+"."+rules)
		}
	}
	cfg, err := config.Load(config.Options{Defaults: crawler.Defaults(), Sets: sets})
	if err != nil {
		b.Fatal(err)
	}
	c, err := crawl.Open(b.Context(), crawl.Options{Config: cfg, Builtins: plugins.Builtins(), NoStore: true, Local: local, Log: hclog.NewNullLogger(), Version: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	if err := c.StartPlugins(b.Context(), true); err != nil {
		b.Fatal(err)
	}
	return c
}

// judged is what a run over many URLs took.
type judged struct {
	urls, kept int64
	wall, cpu  time.Duration // processor time of this process and the plugins
}

func (j judged) perSecond() string { return grouped(int64(float64(j.urls) / j.wall.Seconds())) }

func (j judged) cpuPerURL() string {
	return fmt.Sprintf("%.2f µs", float64(j.cpu.Nanoseconds())/1000/float64(j.urls))
}

// grouped writes n with thousands separators.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// processorTime is that of this process and, when they are processes, of the plugins.
func processorTime(b *testing.B, c *crawl.Crawl) time.Duration {
	sum := cpu(b)
	if c.Host != nil {
		for _, s := range c.Host.Stats() {
			sum += s.CPU
		}
	}
	return sum
}

// judge calls ask with each batch, many at once.
func judge(b *testing.B, c *crawl.Crawl, batches [][]string, workers int, ask func([]string) ([]chain.URLResult, error)) judged {
	b.Helper()
	if _, err := ask(batches[0]); err != nil { // connections are made
		b.Fatal(err)
	}
	var next, urls, kept atomic.Int64
	runtime.GC()
	start, cpu := time.Now(), processorTime(b, c)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(batches)); i = next.Add(1) - 1 {
				out, err := ask(batches[i])
				if err != nil {
					b.Error(err)
					return
				}
				for _, r := range out {
					if r.Err != nil {
						b.Error(r.Err)
						return
					}
					if !r.Dropped {
						kept.Add(1)
					}
				}
				urls.Add(int64(len(out)))
			}
		})
	}
	wg.Wait()
	return judged{urls: urls.Load(), kept: kept.Load(), wall: time.Since(start), cpu: processorTime(b, c) - cpu}
}

// batched cuts the links of all pages into calls of n.
func batched(pages [][]string, n int) [][]string {
	var all []string
	for _, p := range pages {
		all = append(all, p...)
	}
	var out [][]string
	for from := 0; from < len(all); from += n {
		out = append(out, all[from:min(from+n, len(all))])
	}
	return out
}

// BenchmarkURLPlugins prints one table of all normalizers and filters: URLs of a
// simulated web a second in process and through gRPC, in batches of 500 and
// eight at a time, and the processor time of each URL.
func BenchmarkURLPlugins(b *testing.B) {
	batches := batched(outlinks(b, benchURLs(b)), 500)
	var text strings.Builder
	for b.Loop() {
		text.Reset()
		_, _ = fmt.Fprintf(&text, "%s URLs\n", grouped(int64(benchURLs(b))))
		w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
		_, _ = fmt.Fprintln(w, "plugin\tin process, URLs/s\tby gRPC, URLs/s\tin process, CPU/URL\tby gRPC, CPU/URL\tkept\t")
		for _, id := range sortedKeys(urlPlugins()) {
			var got [2]judged
			for i, local := range []bool{true, false} {
				c := urlCrawl(b, local, []string{id}, "0")
				ask := func(urls []string) ([]chain.URLResult, error) { return c.Chains.Filter(context.Background(), urls) }
				if strings.HasPrefix(id, "urlnormalizer-") {
					ask = func(urls []string) ([]chain.URLResult, error) {
						return c.Chains.Normalize(context.Background(), urlnormalizer.ScopeOutlink, urls)
					}
				}
				got[i] = judge(b, c, batches, 8, ask)
				if err := c.Close(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			if got[0].kept != got[1].kept || got[0].kept == 0 {
				b.Errorf("%s: %d URLs kept in process, %d by gRPC", id, got[0].kept, got[1].kept)
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d %%\t\n", id, got[0].perSecond(), got[1].perSecond(), got[0].cpuPerURL(), got[1].cpuPerURL(), 100*got[0].kept/got[0].urls)
		}
		_ = w.Flush()
	}
	b.ReportMetric(0, "ns/op")
	show(b, text.String())
}

// BenchmarkURLChain judges the outlinks of the pages of a simulated web by eight
// normalizers and four filters, as the parse step does, without and with the result cache.
// CRAWLER_BENCH_URLS=1000000 is the long form.
func BenchmarkURLChain(b *testing.B) {
	pages := outlinks(b, benchURLs(b))
	ids := []string{"urlfilter-regex", "urlfilter-validator", "urlfilter-suffix", "urlfilter-domaindenylist"}
	for _, id := range sortedKeys(urlPlugins()) {
		if strings.HasPrefix(id, "urlnormalizer-") {
			ids = append(ids, id)
		}
	}
	var text strings.Builder
	for b.Loop() {
		text.Reset()
		_, _ = fmt.Fprintf(&text, "%s outlinks of %s pages\n", grouped(int64(benchURLs(b))), grouped(int64(len(pages))))
		w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
		_, _ = fmt.Fprintln(w, "result cache\ttime\tURLs/s\tCPU/URL\tkept\t")
		var got []judged
		for _, cache := range []string{"0", "64MiB"} {
			c := urlCrawl(b, false, ids, cache)
			j := judge(b, c, pages, 16*runtime.NumCPU(), func(urls []string) ([]chain.URLResult, error) {
				return c.Chains.NormalizeFilter(context.Background(), urlnormalizer.ScopeOutlink, urls)
			})
			got = append(got, j)
			if err := c.Close(context.Background()); err != nil {
				b.Fatal(err)
			}
			name := cache
			if cache == "0" {
				name = "off"
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d %%\t\n", name, j.wall.Round(10*time.Millisecond), j.perSecond(), j.cpuPerURL(), 100*j.kept/j.urls)
		}
		_ = w.Flush()
		if got[0].kept != got[1].kept || got[0].kept == 0 {
			b.Errorf("%d URLs kept without the cache, %d with it", got[0].kept, got[1].kept)
		}
		b.ReportMetric(float64(got[0].cpu)/float64(got[1].cpu), "CPU-off/on")
	}
	b.ReportMetric(0, "ns/op")
	show(b, text.String())
}
