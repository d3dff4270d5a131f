package chain

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gonutch/crawler/core/internal/pluginhost"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
)

// BenchmarkNormalizeFilter measures pages of 50 links through two normalizers
// and two filters, in this process and in four others, remembered or not, for
// one URL. Calls come from 32 goroutines at once. cpu-ns/op is the processor time
// of all processes together, which a busy machine changes little.
func BenchmarkNormalizeFilter(b *testing.B) {
	build := map[string]func(b *testing.B, opts Options) (*Chains, *pluginhost.Host){
		"inprocess": func(b *testing.B, opts Options) (*Chains, *pluginhost.Host) {
			return inProcess(b, opts, everyURLPlugin...), nil
		},
		"processes": func(b *testing.B, opts Options) (*Chains, *pluginhost.Host) {
			return outOfProcess(b, opts, pluginhost.Options{}, nil, everyURLPlugin...)
		},
	}
	for _, where := range []string{"inprocess", "processes"} {
		b.Run(where+"/cached", func(b *testing.B) {
			c, host := build[where](b, Options{})
			pages := linkPages(1, 50, 0)
			benchPages(b, c, host, func(int64) []string { return pages[0] })
		})
		b.Run(where+"/uncached", func(b *testing.B) {
			c, host := build[where](b, Options{CacheBytes: -1})
			pages := linkPages(200, 50, 0)
			benchPages(b, c, host, func(i int64) []string { return pages[int(i)%len(pages)] })
		})
	}
}

func linkPages(pages, links, from int) [][]string {
	out := make([][]string, pages)
	for p := range out {
		for l := range links {
			out[p] = append(out[p], fmt.Sprintf("http://www.example%d.org/some/path/of/usual/length/page-%d.html", p%17, from+p*links+l))
		}
	}
	return out
}

func benchPages(b *testing.B, c *Chains, host *pluginhost.Host, page func(i int64) []string) {
	ctx := context.Background()
	if _, err := c.NormalizeFilter(ctx, urlnormalizer.ScopeOutlink, page(0)); err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	b.SetParallelism(32 / runtime.GOMAXPROCS(0))
	b.ReportAllocs()
	before := cpu(host)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		var urls []string
		for pb.Next() { // one URL for each; a page is asked for with its last
			if len(urls) == 0 {
				urls = page(next.Add(1))
				if _, err := c.NormalizeFilter(ctx, urlnormalizer.ScopeOutlink, urls); err != nil {
					b.Error(err)
					return
				}
			}
			urls = urls[:len(urls)-1]
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(cpu(host)-before)/float64(b.N), "cpu-ns/op")
}

// cpu returns the processor time of this process and the plugins.
func cpu(host *pluginhost.Host) time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	sum := time.Duration(r.Utime.Nano() + r.Stime.Nano())
	if host != nil {
		for _, s := range host.Stats() {
			sum += s.CPU
		}
	}
	return sum
}
