package libhttp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
	"github.com/gonutch/crawler/sdk/testsite"
)

func TestCalledOff(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	arrived := make(chan struct{}, 2)
	s.Site().Handle("/head", func(_ http.ResponseWriter, r *http.Request) { arrived <- struct{}{}; <-r.Context().Done() })
	s.Site().Handle("/body", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "start")
		_ = http.NewResponseController(w).Flush()
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	f := fetcher(t)
	for _, p := range []string{"/head", "/body"} {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { <-arrived; cancel() })
		if _, err := f.Fetch(ctx, &protocol.Request{URL: s.Site().URL(p)}); !fault.Is(err, fault.Transient) {
			t.Errorf("%s: error %v, want Transient", p, err)
		}
		wg.Wait()
	}
}

func TestTimeouts(t *testing.T) {
	servers := []*testsite.Server{testsite.Start(t, testsite.Options{}), testsite.Start(t, testsite.Options{TLS: true, HTTP2: true})}
	hang := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, s := range servers {
		s.Site().Handle("/never", hang)
		s.Site().Handle("/stops", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "part")
			_ = http.NewResponseController(w).Flush()
			hang(w, r)
		})
		s.Site().Handle("/drip", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, ".")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-time.After(5 * time.Millisecond):
				case <-r.Context().Done():
				}
			}
		})
	}
	ms := func(n int) setting.Duration { return setting.Duration(time.Duration(n) * time.Millisecond) }
	for _, tc := range []struct {
		path        string
		total, read setting.Duration
		perRequest  time.Duration
		code        model.ProtocolCode
		truncated   string
		message     string
	}{
		{"/never", ms(100), ms(60000), 0, model.ProtocolException, "", "within the time limit (100ms)"},
		{"/never", ms(60000), ms(100), 0, model.ProtocolException, "", "within read_timeout (100ms)"},
		{"/never", ms(60000), ms(60000), 100 * time.Millisecond, model.ProtocolException, "", "within the time limit (100ms)"},
		{"/stops", ms(500), ms(60000), 0, model.ProtocolSuccess, "time", "time is over"},
		{"/stops", ms(60000), ms(500), 0, model.ProtocolSuccess, "time", "time is over"},
		{"/drip", ms(900), ms(600), 0, model.ProtocolSuccess, "time", "time is over"},
	} {
		for _, s := range servers {
			t.Run(fmt.Sprint(tc.path, tc.total, tc.read, s.Site().URL("")), func(t *testing.T) {
				t.Parallel()
				f := fetcher(t, func(c *Config) {
					c.HTTP.TimeLimit, c.HTTP.ReadTimeout, c.HTTP.TLSCertificatesCheck = tc.total, tc.read, false
				})
				r := libtest.Fetch(t, f, &protocol.Request{URL: s.Site().URL(tc.path), Timeout: tc.perRequest})
				if r.Status.Code != tc.code || r.Truncated != tc.truncated || !strings.Contains(r.Status.Message, tc.message) {
					t.Errorf("%v, truncated %q", r.Status, r.Truncated)
				}
				if tc.path == "/stops" && string(r.Body) != "part" || tc.path == "/drip" && len(r.Body) < 2 {
					t.Errorf("body %q", r.Body)
				}
				if tc.path == "/drip" && r.Elapsed < 890*time.Millisecond {
					t.Errorf("ended after %s although data kept coming", r.Elapsed)
				}
			})
		}
	}
}
