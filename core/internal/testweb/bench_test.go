package testweb

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
)

// BenchmarkAnswer is the cost of making a page, without HTTP.
func BenchmarkAnswer(b *testing.B) {
	for _, size := range []PageSize{Size6KB, Size50KB, SizeRealistic} {
		for name, shares := range map[string]Shares{"plain": Plain(), "standard": Standard()} {
			b.Run(fmt.Sprintf("%s/%s", size, name), func(b *testing.B) {
				w := newWeb(b, func(c *Config) { c.Hosts, c.Pages, c.PageSize, c.Shares = 1000, 100_000, size, shares })
				var a answer
				bytes, i := 0, 0
				for b.Loop() {
					r := ref{kind: kindPage, host: int32(i % 1000)}
					r.a = int32(i*7) % w.hosts[r.host].size
					w.answer(&a, r, 1, ask{gzip: true})
					bytes += len(a.body)
					i++
				}
				b.SetBytes(int64(bytes / i))
			})
		}
	}
}

// BenchmarkServe is pages over HTTP to a plain client on the same machine, whose cost is
// included; pages/s is what both together make.
func BenchmarkServe(b *testing.B) {
	w := newWeb(b, func(c *Config) { c.Hosts, c.Pages, c.Shares = 1000, 100_000, Plain() })
	c := serve(b, w)
	c.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for n := 0; pb.Next(); n++ {
			resp, err := c.Get(w.PageURL(n * 31 % 100_000))
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}

// BenchmarkHandler is one request over HTTP, written by hand over one connection: nearly only the server's cost.
func BenchmarkHandler(b *testing.B) {
	w := newWeb(b, func(c *Config) { c.Hosts, c.Pages, c.Shares = 1000, 100_000, Plain() })
	c := serve(b, w)
	proxy, err := c.Transport.(*http.Transport).Proxy(nil)
	if err != nil {
		b.Fatal(err)
	}
	conn, err := net.Dial("tcp", proxy.Host)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	buf := make([]byte, 64<<10)
	for n := 0; b.Loop(); n++ {
		r := ref{kind: kindPage, host: int32(n % 1000), a: 2}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: host%d.test\r\n\r\n", w.url(r), r.host)
		for got := 0; got < 6<<10; { // headers come on top, and are shorter than a page
			k, err := conn.Read(buf)
			if err != nil {
				b.Fatal(err)
			}
			got += k
			if buf[k-1] == '\n' && got > 6<<10 {
				break
			}
		}
	}
}

// BenchmarkTruth works out the truth of 100,000 pages.
func BenchmarkTruth(b *testing.B) {
	w := newWeb(b, func(c *Config) { c.Hosts, c.Pages = 1000, 100_000 })
	for b.Loop() {
		w.Truth(Options{})
	}
}

// BenchmarkNew makes a web of 2 million pages.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		newWeb(b, func(c *Config) { c.Hosts, c.Pages = 20_000, 2_000_000 })
	}
}
