package protocols3

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/testsite/s3site"
)

// BenchmarkFetch reads objects and a listing, server in the same process.
func BenchmarkFetch(b *testing.B) {
	objects := map[string]string{}
	for i := range 1000 {
		objects[fmt.Sprintf("many/%03d.txt", i)] = "x"
	}
	for i := range 20 {
		objects[fmt.Sprintf("f/%d.txt", i)] = strings.Repeat("text ", 1200)
	}
	s := s3site.Start(b, objects)
	for name, path := range map[string]string{"6k": "s3://docs/f/%d.txt", "listing of 1000": "s3://docs/many/"} {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			f := fetcher(b, s.URL)
			var n atomic.Int64
			before := libtest.CPUTime()
			b.SetParallelism(4)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					url := path
					if strings.Contains(path, "%d") {
						url = fmt.Sprintf(path, n.Add(1)%20)
					}
					if r, err := f.Fetch(b.Context(), &protocol.Request{URL: url}); err != nil || r.Status.Code != model.ProtocolSuccess || len(r.Body) < 6000 {
						b.Errorf("%v %v", r, err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
			b.ReportMetric(float64((libtest.CPUTime()-before).Microseconds())/float64(b.N), "cpu-us/page")
			s.ResetLog()
		})
	}
}

// FuzzListing: whatever a service answers to the question for a listing, the page of it
// links to nothing but what is below the prefix, and it ends.
func FuzzListing(f *testing.F) {
	var answer atomic.Value
	answer.Store("")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		_, _ = w.Write([]byte(answer.Load().(string)))
	}))
	f.Cleanup(s.Close)
	const key = "<ListBucketResult><Contents><Key>d/%s</Key></Contents></ListBucketResult>"
	for _, text := range []string{
		fmt.Sprintf(key, "a.txt"), fmt.Sprintf(key, "../../x"), fmt.Sprintf(key, "//h/x"), fmt.Sprintf(key, "http://h/x"), fmt.Sprintf(key, "&#x22;&gt;"),
		"<ListBucketResult><CommonPrefixes><Prefix>d/sub/</Prefix></CommonPrefixes></ListBucketResult>", "<Error><Code>NoSuchBucket</Code></Error>",
		"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken></ListBucketResult>", "<", "",
	} {
		f.Add(text)
	}
	ft := fetcher(f, s.URL)
	f.Fuzz(func(t *testing.T, text string) {
		answer.Store(text)
		r := libtest.Fetch(t, ft, &protocol.Request{URL: "s3://docs/d/", Timeout: 10 * time.Second, MaxBytes: 1 << 16})
		if strings.Contains(r.Status.Message, "timeout") {
			t.Errorf("%q does not end: %v", text, r.Status)
		}
		for _, part := range strings.Split(string(r.Body), `href="`)[1:] {
			if target, _, _ := strings.Cut(part, `"`); !strings.HasPrefix(target, "./") {
				t.Errorf("%q is listed as %q", text, target)
			}
		}
	})
}
