package testsite_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/gonutch/crawler/sdk/testsite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client follows no redirects and keeps no connections.
func client(t *testing.T, tc *tls.Config) *http.Client {
	tr := &http.Transport{TLSClientConfig: tc, ForceAttemptHTTP2: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func get(t *testing.T, c *http.Client, url string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if h := req.Header.Get("Host"); h != "" {
		req.Host = h
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return resp, string(body)
}

func TestSites(t *testing.T) {
	s := testsite.Start(t, testsite.Options{Addrs: []string{"127.0.0.1", "127.0.0.2"}})
	one, two, named := s.Site(), s.Host("127.0.0.2"), s.Host("Docs.Example")
	one.Page("/", "first").Page("/?q=1", "query").Redirect("/old", 301, "/new").Status("/busy", 503, "Retry-After", "3")
	one.Robots("User-agent: *\n").Dir("/docs/", fstest.MapFS{"a/x.txt": {Data: []byte("file x")}})
	stamp := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	one.Versioned("/v", "body", `"tag"`, stamp)
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
	}
	one.Sequence("/seq", text("one"), text("two"))
	two.Page("/", "second")
	named.Page("/", "third")
	c := client(t, nil)
	for _, tc := range []struct {
		url    string
		header []string
		status int
		want   string
	}{
		{one.URL("/"), nil, 200, "first"},
		{one.URL("/?q=1"), nil, 200, "query"},
		{one.URL("/?q=2"), nil, 200, "first"},
		{one.URL("/old"), nil, 301, ""},
		{one.URL("/busy"), nil, 503, "status 503"},
		{one.URL("/none"), nil, 404, "not found"},
		{one.URL("/robots.txt"), nil, 200, "User-agent"},
		{one.URL("/docs/a/x.txt"), nil, 200, "file x"},
		{one.URL("/docs/a/y.txt"), nil, 404, ""},
		{one.URL("/v"), nil, 200, "body"},
		{one.URL("/v"), []string{"If-None-Match", `"tag"`}, 304, ""},
		{one.URL("/v"), []string{"If-None-Match", `"old"`}, 200, "body"},
		{one.URL("/v"), []string{"If-Modified-Since", "Thu, 02 Jan 2020 03:04:05 GMT"}, 304, ""},
		{one.URL("/seq"), nil, 200, "one"},
		{one.URL("/seq"), nil, 200, "two"},
		{one.URL("/seq"), nil, 200, "two"},
		{two.URL("/"), nil, 200, "second"},
		{one.URL("/"), []string{"Host", "docs.example"}, 200, "third"},
		{one.URL("/"), []string{"Host", "else.example"}, 421, "no such site"},
	} {
		resp, body := get(t, c, tc.url, tc.header...)
		if resp.StatusCode != tc.status || !strings.HasPrefix(body, tc.want) {
			t.Errorf("%s %q: %d %q, want %d %q", tc.url, tc.header, resp.StatusCode, body, tc.status, tc.want)
		}
	}
	if n := one.Count("/seq"); n != 3 {
		t.Errorf("/seq counted %d times, want 3", n)
	}
	if reqs := two.Requests(); len(reqs) != 1 || reqs[0].Local != "127.0.0.2" || reqs[0].Path != "/" {
		t.Errorf("requests of the second site: %+v", reqs)
	}
	if _, ok := two.MinGap(); ok {
		t.Error("one request has a gap")
	}
	if gap, ok := one.MinGap(); !ok || gap <= 0 {
		t.Errorf("gap %v %t", gap, ok)
	}
	if total, peak := s.Connections("127.0.0.2"); peak != 1 || total < 2 {
		t.Errorf("connections %d, at most %d on 127.0.0.2", total, peak)
	}
	s.ResetLog()
	if len(s.Requests()) != 0 {
		t.Error("log not reset")
	}
}

func TestTLS(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		s := testsite.Start(t, testsite.Options{TLS: true, HTTP2: h2})
		s.Site().Page("/", "secret")
		resp, body := get(t, client(t, &tls.Config{RootCAs: s.RootCAs(), MinVersion: tls.VersionTLS12}), s.Site().URL("/"))
		if body != "secret" || (resp.ProtoMajor == 2) != h2 {
			t.Errorf("http2 %t: %s %q", h2, resp.Proto, body)
		}
		if pem, err := os.ReadFile(s.CAFile(t)); err != nil || !strings.HasPrefix(string(pem), "-----BEGIN CERTIFICATE") {
			t.Errorf("certificate file: %v %q", err, pem)
		}
	}
}

func TestRaw(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	s.Site().RawText("/raw", "HTTP/1.1 299 Odd\r\nContent-Length: 2\r\n\r\nhi")
	if resp, body := get(t, client(t, nil), s.Site().URL("/raw")); resp.Status != "299 Odd" || body != "hi" {
		t.Errorf("%s %q", resp.Status, body)
	}
	// A handler that never ends by itself is ended and waited for by Close.
	hung := make(chan struct{})
	s.Site().Raw("/hang", func(c net.Conn) { close(hung); _, _ = io.Copy(io.Discard, c) })
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_, _ = io.WriteString(c, "GET /hang HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	<-hung

	r := testsite.StartRaw(t, func(c net.Conn) { _, _ = io.WriteString(c, "no protocol at all") })
	rc, err := net.Dial("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(rc)
	_ = rc.Close()
	if err != nil || string(got) != "no protocol at all" || r.Connections() != 1 {
		t.Errorf("%q %v, %d connections", got, err, r.Connections())
	}
}

func TestNewRefusesPublicAddress(t *testing.T) {
	for _, a := range []string{"0.0.0.0", "example.org"} {
		if s, err := testsite.New(testsite.Options{Addrs: []string{a}}); err == nil {
			s.Close()
			t.Errorf("listens on %s", a)
		}
	}
}
