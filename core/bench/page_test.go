package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/net/html"

	"github.com/gonutch/crawler"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/pluginhost"
	"github.com/gonutch/crawler/core/internal/step/parse"
	"github.com/gonutch/crawler/core/internal/testweb"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/plugins"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// TestMain lets this test binary serve the built-in plugins, as the crawler does.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "plugin" && os.Args[2] == "serve" {
		for _, p := range plugins.Builtins() {
			if mf, err := manifest.Read("plugin.hcl", p.Manifest); err == nil && mf.ID == os.Args[3] {
				sdk.Main(p)
				os.Exit(0)
			}
		}
		os.Exit(2)
	}
	if len(os.Args) == 5 && os.Args[1] == "plugin" && os.Args[2] == "guard" {
		pluginhost.Guard(os.Stdin, os.Args[3], os.Args[4])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// pages returns n HTML pages of about size bytes of a simulated web.
func pages(b *testing.B, n int, size testweb.PageSize) []*model.Content {
	b.Helper()
	cfg := testweb.DefaultConfig()
	cfg.Hosts, cfg.Pages, cfg.PageSize, cfg.Shares = max(n/50, 1), n, size, testweb.Plain()
	web, err := testweb.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	out := make([]*model.Content, n)
	for i := range out {
		u := web.PageURL(i)
		rec := httptest.NewRecorder()
		web.ServeHTTP(rec, httptest.NewRequest("GET", u, nil))
		out[i] = &model.Content{
			URL: u, Base: u, Body: rec.Body.Bytes(), ContentType: rec.Header().Get("Content-Type"), MIMEType: "text/html", FetchTime: time.Now(),
		}
	}
	return out
}

// cpu returns the processor time of this process and of the children it has
// waited for.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var ru syscall.Rusage
		if err := syscall.Getrusage(who, &ru); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	}
	return sum
}

// chainRun takes every page through parser, normalizers, filters and scoring. The
// time is of starting and ending the plugins, too.
func chainRun(b *testing.B, all []*model.Content, local bool) (total time.Duration, links int64) {
	b.Helper()
	start := cpu(b)
	cfg, err := config.Load(config.Options{Defaults: crawler.Defaults(), Sets: []string{
		"http.agent_name=bench", "http.agent_url=http://b/", "plugin.remove=[\"indexer-bleve\"]",
	}})
	if err != nil {
		b.Fatal(err)
	}
	c, err := crawl.Open(b.Context(), crawl.Options{Config: cfg, Builtins: plugins.Builtins(), NoStore: true, Local: local, Log: hclog.NewNullLogger(), Version: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	pc, err := parse.LoadConfig(cfg)
	if err != nil {
		b.Fatal(err)
	}
	p, err := parse.New(pc, c.Chains)
	if err != nil {
		b.Fatal(err)
	}
	one := func(in *model.Content) error {
		r, err := c.Chains.Parse(context.Background(), in)
		if err != nil || r.Err != nil {
			return errors.Join(err, r.Err)
		}
		raw := r.Parses[0].Outlinks
		accepted, _, err := p.Outlinks(context.Background(), in.URL, raw)
		if err != nil {
			return err
		}
		atomic.AddInt64(&links, int64(len(accepted)))
		d := scoring.DistributeInput{URL: in.URL, Fields: model.Fields{"opic_cash": model.Micro}, AllLinks: len(raw)}
		host := urlkey.Host(in.URL)
		for _, l := range accepted {
			d.Targets = append(d.Targets, scoring.Target{URL: l.URL, Anchor: l.Anchor, Internal: urlkey.Host(l.URL) == host})
		}
		_, _, err = c.Chains.Distribute(context.Background(), []scoring.DistributeInput{d})
		return err
	}
	var wg sync.WaitGroup
	var next atomic.Int64
	for range 16 * runtime.NumCPU() {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(all)); i = next.Add(1) - 1 {
				if err := one(all[i]); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := c.Close(context.Background()); err != nil { // waits for the processes, so that their time counts
		b.Fatal(err)
	}
	return cpu(b) - start, links
}

// extensions builds a built-in plugin with its default settings inside this
// process.
func extensions(b *testing.B, id string) *sdk.Extensions {
	b.Helper()
	cfg, err := config.Load(config.Options{Defaults: crawler.Defaults()})
	if err != nil {
		b.Fatal(err)
	}
	manifests, _, err := crawl.Plugins(cfg, plugins.Builtins(), hclog.NewNullLogger())
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range plugins.Builtins() {
		for _, m := range manifests {
			if m.ID != id || !bytes.Equal(m.Source, p.Manifest) {
				continue
			}
			settings, _, err := cfg.PluginSettings(m)
			if err != nil {
				b.Fatal(err)
			}
			ext, err := p.New(sdk.Env{Settings: settings, Logger: hclog.NewNullLogger()})
			if err != nil {
				b.Fatal(err)
			}
			return ext
		}
	}
	b.Fatalf("no built-in plugin %s", id)
	return nil
}

// plainRun is what a crawler in one process would do: an x/net/html tree, links and
// text out of it, and the same rules as function calls.
func plainRun(b *testing.B, all []*model.Content) (perPage time.Duration, links int64) {
	b.Helper()
	basic := extensions(b, "urlnormalizer-basic").URLNormalizer
	regex := extensions(b, "urlnormalizer-regex").URLNormalizer
	filter := extensions(b, "urlfilter-regex").URLFilter
	valid := extensions(b, "urlfilter-validator").URLFilter
	score := extensions(b, "scoring-opic").Scoring
	ctx := context.Background()
	start := cpu(b)
	for _, in := range all {
		doc, err := html.Parse(bytes.NewReader(in.Body))
		if err != nil {
			b.Fatal(err)
		}
		raw, text := extract(doc, in.URL)
		if len(text) == 0 {
			b.Fatalf("%s: no text", in.URL)
		}
		seen := map[string]bool{}
		d := scoring.DistributeInput{URL: in.URL, Fields: model.Fields{"opic_cash": model.Micro}, AllLinks: len(raw)}
		host := urlkey.Host(in.URL)
		for _, u := range raw {
			n, _ := basic.NormalizeURL(ctx, urlnormalizer.ScopeOutlink, u)
			n, _ = regex.NormalizeURL(ctx, urlnormalizer.ScopeOutlink, n.URL)
			if v, _ := filter.FilterURL(ctx, n.URL); !v.Accept {
				continue
			}
			if v, _ := valid.FilterURL(ctx, n.URL); !v.Accept || seen[n.URL] || n.URL == in.URL || len(d.Targets) == 100 {
				continue
			}
			seen[n.URL] = true
			d.Targets = append(d.Targets, scoring.Target{URL: n.URL, Internal: urlkey.Host(n.URL) == host})
		}
		links += int64(len(d.Targets))
		if _, err := score.Distribute(ctx, []scoring.DistributeInput{d}); err != nil {
			b.Fatal(err)
		}
	}
	return (cpu(b) - start) / time.Duration(len(all)), links
}

// extract walks the tree for links, resolved, and text, white space folded.
func extract(doc *html.Node, base string) (links []string, text string) {
	req := httptest.NewRequest("GET", base, nil)
	var sb strings.Builder
	var walk func(*html.Node, bool)
	walk = func(n *html.Node, visible bool) {
		switch n.Type {
		case html.TextNode:
			if visible {
				for _, w := range strings.Fields(n.Data) {
					sb.WriteString(w)
					sb.WriteByte(' ')
				}
			}
		case html.ElementNode:
			switch n.Data {
			case "script", "style", "template":
				visible = false
			case "a", "area", "frame", "iframe":
				for _, a := range n.Attr {
					if a.Key == "href" || a.Key == "src" {
						if u, err := req.URL.Parse(strings.TrimSpace(a.Val)); err == nil && u.Host != "" {
							links = append(links, u.String())
						}
					}
				}
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, visible)
		}
	}
	walk(doc, true)
	return links, sb.String()
}

// BenchmarkPageChain compares the processor time of a page's way through parser,
// normalizers, filters and scoring: over plugin processes, with the same plugins
// in this process, and the plain way. Starting and ending the plugins is measured apart
// (start-ms) and not part of a page's cost. The promise is chain/plain of at most 0.8
// for pages of 50 KB.
func BenchmarkPageChain(b *testing.B) {
	for _, size := range []testweb.PageSize{testweb.Size6KB, testweb.Size50KB} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			all := pages(b, 3000, size)
			for b.Loop() {
				startProcesses, _ := chainRun(b, all[:1], false)
				startLocal, _ := chainRun(b, all[:1], true)
				processes, n1 := chainRun(b, all, false)
				local, n2 := chainRun(b, all, true)
				plain, n3 := plainRun(b, all)
				processes = (processes - startProcesses) / time.Duration(len(all)-1)
				local = (local - startLocal) / time.Duration(len(all)-1)
				if n1 != n2 || n1 == 0 {
					b.Fatalf("%d links by processes, %d in process", n1, n2)
				}
				b.ReportMetric(float64(processes.Microseconds()), "processes-µs/page")
				b.ReportMetric(float64(startProcesses.Milliseconds()), "start-ms")
				b.ReportMetric(float64(local.Microseconds()), "local-µs/page")
				b.ReportMetric(float64(plain.Microseconds()), "plain-µs/page")
				b.ReportMetric(float64(processes)/float64(plain), "processes/plain")
				b.ReportMetric(float64(n1)/float64(len(all)), "links/page")
				b.ReportMetric(float64(n3)/float64(len(all)), "plain-links/page")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}
