package protocolftp

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/testsite/ftpsite"
)

// BenchmarkFetch reads files and a listing, one after the other over one control
// connection as from one host, server in the same process.
func BenchmarkFetch(b *testing.B) {
	files := map[string]string{}
	for i := range 1000 {
		files[fmt.Sprintf("many/%03d.txt", i)] = "x"
	}
	for i := range 20 {
		files[fmt.Sprintf("f/%d.txt", i)] = strings.Repeat("text ", 1200)
	}
	for _, mode := range []ftpsite.Mode{ftpsite.Plain, ftpsite.Explicit} {
		s := ftpsite.Start(b, mode, files)
		for name, path := range map[string]string{"6k": "/f/%d.txt", "listing of 1000": "/many/"} {
			b.Run(string(mode)+"/"+strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
				f := fetcher(b, func(c *Config) {
					if mode == ftpsite.Explicit {
						c.Own.TLS = "always"
					}
				})
				var n atomic.Int64
				before := libtest.CPUTime()
				for b.Loop() {
					url := s.URL("ftp", path)
					if strings.Contains(path, "%d") {
						url = fmt.Sprintf(url, n.Add(1)%20)
					}
					if r, err := f.Fetch(b.Context(), &protocol.Request{URL: url}); err != nil || r.Status.Code != model.ProtocolSuccess || len(r.Body) < 6000 {
						b.Fatal(r, err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
				b.ReportMetric(float64((libtest.CPUTime()-before).Microseconds())/float64(b.N), "cpu-us/page")
			})
		}
	}
}

// FuzzListing: whatever a server lists, the page of it links to nothing but entries of that
// very folder.
func FuzzListing(f *testing.F) {
	for _, s := range []string{
		"-rw-r--r-- 1 u g 12 Jan  1 2020 a.txt\r\ndrwxr-xr-x 2 u g 0 Jan  1 10:00 sub\r\n", "type=file;size=1;modify=20200101000000; x\r\n", "01-02-20  03:04PM  <DIR>  windows\r\n",
		"lrwxrwxrwx 1 u g 1 Jan  1 2020 l -> /etc/passwd\r\n", "-rw-r--r-- 1 u g 1 Jan 1 2020 ../../x\r\n", "-rw-r--r-- 1 u g 1 Jan 1 2020 http://h/x\r\n", "total 0\r\n", "\x00\xff", "",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, list string, mlst bool) {
		replies := map[string]string{}
		if mlst {
			replies["FEAT"] = "211-Features\r\n MLST type*;size*;modify*;\r\n211 End"
		}
		u := script(t, replies, list)
		r := libtest.Fetch(t, fetcher(t), &protocol.Request{URL: u + "/d/", Timeout: 10 * time.Second, MaxBytes: 1 << 16})
		if r.Status.Code != model.ProtocolSuccess {
			return // what can't be read is a failure
		}
		for _, part := range strings.Split(string(r.Body), `href="`)[1:] {
			if target, _, _ := strings.Cut(part, `"`); !strings.HasPrefix(target, "./") || strings.Contains(target[2:], "/") && !strings.HasSuffix(target, "/") || strings.Contains(target, "..%2F") {
				t.Errorf("%q is listed as %q", list, target)
			}
		}
	})
}
