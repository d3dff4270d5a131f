package libhttp

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/testsite"
)

// BenchmarkFetch sets one Fetch beside the plainest net/http GET of the same
// page in the same run, server in the same process. Compare cpu-us/op.
func BenchmarkFetch(b *testing.B) {
	s := testsite.Start(b, testsite.Options{})
	s.Site().Page("/6k", string(text(6<<10))).Page("/50k", string(text(50<<10)))
	gz := encode(b, "gzip", text(50<<10))
	s.Site().Handle("/50k.gz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(gz)
	})
	f := fetcher(b)
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	b.Cleanup(tr.CloseIdleConnections)
	client := &http.Client{Transport: tr}
	plain := func(url string) (int, error) {
		resp, err := client.Get(url)
		if err != nil {
			return 0, err
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		return len(body), err
	}
	ours := func(url string) (int, error) {
		r, err := f.Fetch(b.Context(), &protocol.Request{URL: url})
		if err != nil {
			return 0, err
		}
		return len(r.Body), nil
	}
	for _, page := range []string{"/6k", "/50k", "/50k.gz"} {
		for name, get := range map[string]func(string) (int, error){"plain": plain, "fetch": ours} {
			b.Run(fmt.Sprintf("%s/%s", page[1:], name), func(b *testing.B) {
				b.ReportAllocs()
				var failed atomic.Value
				url := s.Site().URL(page)
				b.SetParallelism(4)
				before := libtest.CPUTime()
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if n, err := get(url); err != nil || n < 6<<10 {
							failed.Store(fmt.Sprint(n, err))
							return
						}
					}
				})
				b.ReportMetric(float64((libtest.CPUTime()-before).Microseconds())/float64(b.N), "cpu-us/op")
				if v := failed.Load(); v != nil {
					b.Fatal(v)
				}
			})
		}
		s.ResetLog()
	}
}
