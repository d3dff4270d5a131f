package libhttp

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/testsite"
)

func TestHTTP2(t *testing.T) {
	s := testsite.Start(t, testsite.Options{TLS: true, HTTP2: true})
	s.Site().Page("/p?q", "over h2").Redirect("/r", 301, "/p")
	ca := s.CAFile(t)
	for _, on := range []bool{true, false} {
		f := fetcher(t, func(c *Config) {
			c.HTTP.HTTP2, c.Own.CAFile, c.HTTP.AllowPrivate = on, ca, nil
		})
		for range 3 {
			r := libtest.Fetch(t, f, &protocol.Request{URL: s.Site().URL("/p?q"), AllowPrivate: []string{s.Addr()}})
			want := "HTTP/1.1"
			if on {
				want = "h2"
			}
			if string(r.Body) != "over h2" || r.Protocol != want || r.IP != "127.0.0.1" {
				t.Fatalf("http2 %t: %v %q %s %s", on, r.Status, r.Body, r.Protocol, r.IP)
			}
			if !strings.HasPrefix(string(r.RawRequest), "GET /p?q HTTP/1.1\r\nHost: "+s.Addr()+"\r\n") ||
				!strings.HasPrefix(string(r.RawResponse), "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(string(r.RawResponse), "\r\n\r\n") {
				t.Errorf("http2 %t: heads %q %q", on, r.RawRequest, r.RawResponse)
			}
		}
		r := libtest.Fetch(t, f, &protocol.Request{URL: s.Site().URL("/r"), AllowPrivate: []string{s.Addr()}})
		if r.Location != s.Site().URL("/p") {
			t.Errorf("http2 %t: Location %q", on, r.Location)
		}
	}
	reqs := s.Requests()
	if reqs[0].Proto != "HTTP/2.0" || reqs[len(reqs)-1].Proto != "HTTP/1.1" || reqs[0].Host != "127.0.0.1" {
		t.Errorf("the server saw %s of %s first and %s last", reqs[0].Proto, reqs[0].Host, reqs[len(reqs)-1].Proto)
	}
	if total, _ := s.Connections("127.0.0.1"); total != 2 {
		t.Errorf("%d connections, want one for each protocol", total)
	}
}

// What can go wrong within HTTP/2, whose connection outlives it.
func TestHTTP2Trouble(t *testing.T) {
	s := testsite.Start(t, testsite.Options{TLS: true, HTTP2: true})
	s.Site().Handle("/abort", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	s.Site().Handle("/cut", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "part")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	s.Site().Handle("/head", func(w http.ResponseWriter, _ *http.Request) {
		for i := range 2000 {
			w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("v", 40))
		}
	})
	s.Site().File("/long", "text/plain", text(1<<20)).Page("/ok", "fine")
	f := fetcher(t, func(c *Config) { c.HTTP.TLSCertificatesCheck, c.HTTP.ContentLimit = false, 1000 })
	for _, tc := range []struct {
		path      string
		code      model.ProtocolCode
		length    int
		truncated string
	}{
		{"/abort", model.ProtocolException, 0, ""},
		{"/cut", model.ProtocolSuccess, 4, "disconnect"},
		{"/head", model.ProtocolException, 0, ""},
		{"/long", model.ProtocolSuccess, 1000, "length"},
	} {
		for range 2 {
			r := libtest.Get(t, f, s.Site().URL(tc.path))
			if r.Status.Code != tc.code || len(r.Body) != tc.length || r.Truncated != tc.truncated {
				t.Errorf("%s: %v, %d bytes, truncated %q", tc.path, r.Status, len(r.Body), r.Truncated)
			}
			if r := libtest.Get(t, f, s.Site().URL("/ok")); r.Protocol != "h2" || string(r.Body) != "fine" {
				t.Errorf("after %s: %v", tc.path, r.Status)
			}
		}
	}
}

func TestTLS(t *testing.T) {
	s := testsite.Start(t, testsite.Options{TLS: true})
	s.Site().Page("/", "x")
	if r := libtest.Get(t, fetcher(t), s.Site().URL("/")); r.Status.Code != model.ProtocolException || !strings.Contains(r.Status.Message, "tls_certificates_check") {
		t.Errorf("unknown authority: %v", r.Status)
	}
	f := fetcher(t, func(c *Config) { c.HTTP.TLSCertificatesCheck = false })
	if r := libtest.Get(t, f, s.Site().URL("/")); r.Status.Code != model.ProtocolSuccess {
		t.Errorf("check off: %v", r.Status)
	}
	plain := testsite.Start(t, testsite.Options{})
	if r := libtest.Get(t, fetcher(t), strings.Replace(plain.Site().URL("/"), "http:", "https:", 1)); r.Status.Code != model.ProtocolException {
		t.Errorf("TLS to a server without: %v", r.Status)
	}
	if r := libtest.Get(t, fetcher(t), strings.Replace(s.Site().URL("/"), "https:", "http:", 1)); r.Status.Code != model.ProtocolGone || r.Status.HTTP != 400 {
		t.Errorf("no TLS to a server with: %v", r.Status) // as Go's server answers
	}
}
