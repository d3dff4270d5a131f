package protocolbrowser

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
	"github.com/gonutch/crawler/sdk/testsite"
)

// spent is the processor time of this process and of the browser's so far, those that have
// ended included.
func spent(b *testing.B, f *Fetcher) time.Duration {
	b.Helper()
	pids := append(processes(b, f, ""), os.Getpid())
	var ticks int64
	for _, pid := range pids {
		raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(raw), ") ")
		fields := strings.Fields(rest)
		last := 13 // utime, stime and those of children that were waited for (proc(5))
		if pid == os.Getpid() {
			last = 11
		}
		for i := 11; i <= last+1 && i < len(fields); i++ {
			n, _ := strconv.ParseInt(fields[i], 10, 64)
			ticks += n
		}
	}
	return time.Duration(ticks) * time.Second / 100
}

// BenchmarkShow shows a page of a shop whose products a script brings, four at a time.
// Compare cpu-ms/page, which has the server's, too.
func BenchmarkShow(b *testing.B) {
	s := testsite.Start(b, testsite.Options{})
	testsite.Shop(s.Site(), 25)
	for name, wait := range map[string][]string{"load and idle": {"load", "idle"}, "selector": {"selector h1"}} {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			f := fetcher(b, func(c *Config) { c.Own.Wait, c.Own.IdleTime = wait, setting.Duration(500*time.Millisecond) })
			libtest.Get(b, f, s.Site().URL("/product/1")) // starts the browser
			var n atomic.Int64
			before := spent(b, f)
			b.SetParallelism(2)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					url := s.Site().URL(fmt.Sprintf("/product/%d", 1+n.Add(1)%25))
					r, err := f.Fetch(b.Context(), &protocol.Request{URL: url})
					if err != nil || r.Status.Code != model.ProtocolSuccess || !strings.Contains(string(r.Body), "<h1>Product") {
						b.Errorf("%v %v", r, err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
			b.ReportMetric(float64((spent(b, f)-before).Milliseconds())/float64(b.N), "cpu-ms/page")
		})
	}
}
