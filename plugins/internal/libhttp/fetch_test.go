package libhttp

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/testsite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fetcher returns a Fetcher that may reach loopback addresses.
func fetcher(t testing.TB, change ...func(*Config)) *Fetcher {
	t.Helper()
	cfg := DefaultConfig()
	cfg.HTTP.AgentName, cfg.HTTP.AgentURL = "testbot", "https://bot.example/"
	cfg.HTTP.AllowPrivate = []string{"127.0.0.0/8", "::1"}
	for _, c := range change {
		c(&cfg)
	}
	f, err := NewFetcher(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestSuccess(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	s.Site().Page("/a?b=c%20d", "<p>hello")
	f := fetcher(t, func(c *Config) {
		c.HTTP.AgentVersion, c.HTTP.AgentDescription, c.HTTP.AgentEmail = "2.0", "a test", "bot@example.org"
	})
	r := libtest.Get(t, f, s.Site().URL("/a?b=c%20d"))
	if r.Status != (model.ProtocolStatus{Code: model.ProtocolSuccess, HTTP: 200}) || string(r.Body) != "<p>hello" {
		t.Errorf("status %v, body %q", r.Status, r.Body)
	}
	if r.ContentType != "text/html; charset=utf-8" || r.Truncated != "" || r.IP != "127.0.0.1" || r.Protocol != "HTTP/1.1" ||
		r.FetchTime.IsZero() || r.Elapsed <= 0 || r.Headers.First("Content-Length") != "8" || r.Location != "" {
		t.Errorf("response %+v", r)
	}
	want := "GET /a?b=c%20d HTTP/1.1\r\nHost: " + s.Addr() + "\r\nUser-Agent: testbot/2.0 (a test; https://bot.example/; bot@example.org)\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n" +
		"Accept-Language: en-us,en-gb,en;q=0.7,*;q=0.3\r\nFrom: bot@example.org\r\n\r\n"
	if diff := cmp.Diff(want, string(r.RawRequest)); diff != "" {
		t.Errorf("request as sent (-want +got):\n%s", diff)
	}
	head := string(r.RawResponse)
	if !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(head, "\r\n\r\n") || strings.Contains(head, "hello") {
		t.Errorf("response head as received: %q", head)
	}
}

// The table of README.md, row by row.
func TestStatusTable(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	f := fetcher(t)
	want := map[int]model.ProtocolCode{
		200: model.ProtocolSuccess, 203: model.ProtocolSuccess,
		201: model.ProtocolException, 202: model.ProtocolException, 204: model.ProtocolException, 205: model.ProtocolException, 206: model.ProtocolException,
		300: model.ProtocolMoved, 301: model.ProtocolMoved, 305: model.ProtocolMoved, 306: model.ProtocolMoved, 308: model.ProtocolMoved, 399: model.ProtocolMoved,
		302: model.ProtocolTempMoved, 303: model.ProtocolTempMoved, 307: model.ProtocolTempMoved,
		304: model.ProtocolException, // not asked for
		401: model.ProtocolAccessDenied, 403: model.ProtocolAccessDenied, 404: model.ProtocolNotFound,
		400: model.ProtocolGone, 402: model.ProtocolGone, 405: model.ProtocolGone, 406: model.ProtocolGone, 409: model.ProtocolGone, 410: model.ProtocolGone,
		414: model.ProtocolGone, 418: model.ProtocolGone, 451: model.ProtocolGone, 499: model.ProtocolGone,
		407: model.ProtocolException, 408: model.ProtocolException, 421: model.ProtocolException, 425: model.ProtocolException, 429: model.ProtocolException,
		500: model.ProtocolException, 501: model.ProtocolException, 502: model.ProtocolException, 503: model.ProtocolException, 504: model.ProtocolException, 599: model.ProtocolException,
		600: model.ProtocolException, 999: model.ProtocolException,
	}
	for code, want := range want {
		route := fmt.Sprintf("/%d", code)
		s.Site().Status(route, code, "Location", "../there?x=1")
		r := libtest.Get(t, f, s.Site().URL(route))
		if r.Status.Code != want || r.Status.HTTP != code {
			t.Errorf("%d: %v, HTTP %d; want %s", code, r.Status, r.Status.HTTP, want)
		}
		moved := want == model.ProtocolMoved || want == model.ProtocolTempMoved
		if target := s.Site().URL("/there?x=1"); moved && (r.Location != target || r.Status.Message != target) || !moved && r.Location != "" {
			t.Errorf("%d: Location %q, message %q", code, r.Location, r.Status.Message)
		}
		if code >= 400 && string(r.Body) != fmt.Sprintf("status %d\n", code) {
			t.Errorf("%d: body %q", code, r.Body)
		}
	}
}

func TestRedirectTargets(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	f := fetcher(t, func(c *Config) { c.HTTP.AllowPrivate = nil })
	for location, want := range map[string]string{
		"http://other.example/x":   "http://other.example/x",
		"//other.example/y":        "http://other.example/y",
		"/abs":                     s.Site().URL("/abs"),
		"rel?q":                    s.Site().URL("/d/rel?q"),
		"?q=a b":                   s.Site().URL("/d/page?q=a%20b"),
		"/sp ace":                  s.Site().URL("/sp%20ace"),
		"/100%":                    s.Site().URL("/100%25"),
		"/caf\xc3\xa9":             s.Site().URL("/caf%C3%A9"),
		"/x#frag":                  s.Site().URL("/x#frag"),
		"mailto:a@example.org":     "mailto:a@example.org",
		"file:///etc/passwd":       "file:///etc/passwd", // the core refuses it
		"":                         "",
		"http://":                  "",
		"http://[::1":              "",
		"http://exa mple.org:port": "",
	} {
		s.Site().Redirect("/d/page", 301, location)
		// AllowPrivate makes the pool's host name differ; it must not show.
		r := libtest.Fetch(t, f, &protocol.Request{URL: s.Site().URL("/d/page"), AllowPrivate: []string{s.Addr()}})
		code := model.ProtocolMoved
		if want == "" {
			code = model.ProtocolException
		}
		if r.Location != want || r.Status.Code != code {
			t.Errorf("Location %q: %q %v, want %q", location, r.Location, r.Status, want)
		}
	}
}

func TestOddURLs(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	f := fetcher(t)
	for url, want := range map[string]string{
		"/a b":           "/a%20b",
		"/a?b c\xe9":     "/a?b%20c%E9",
		"/100%":          "/100%25",
		"/%zz/%41":       "/%25zz/%41",
		"/a#frag":        "/a",
		"":               "/",
		"?q":             "/?q",
		"/a//b/../c":     "/a//b/../c",
		"/[x]|{y}^`":     "",
		"/\x01\x02":      "/%01%02",
		"/a?x=1\r\nX: y": "/a?x=1%0D%0AX:%20y",
	} {
		s.ResetLog()
		r := libtest.Get(t, f, "http://user:secret@"+s.Addr()+url)
		reqs := s.Requests()
		if len(reqs) != 1 || reqs[0].Header.Get("Authorization") != "" || reqs[0].Header.Get("X") != "" {
			t.Errorf("%q: %v, requests %+v", url, r.Status, reqs)
			continue
		}
		if want != "" && reqs[0].Path != want {
			t.Errorf("%q: asked for %q, want %q", url, reqs[0].Path, want)
		}
	}
	for url, want := range map[string]model.ProtocolCode{
		"ftp://127.0.0.1/":        model.ProtocolNotFoundProto,
		"file:///etc/passwd":      model.ProtocolGone,
		"http:///path":            model.ProtocolGone,
		"http://127.0.0.1:0/":     model.ProtocolGone,
		"http://127.0.0.1:65536/": model.ProtocolGone,
		"http://a..b/":            model.ProtocolGone,
		"http://1.2.3.4.5/":       model.ProtocolGone,
		"/relative":               model.ProtocolGone,
		"":                        model.ProtocolGone,
		"http://127.0.0.1:1/":     model.ProtocolException, // nothing listens
	} {
		if r := libtest.Get(t, f, url); r.Status.Code != want || r.Status.Message == "" {
			t.Errorf("%q: %v, want %s with a message", url, r.Status, want)
		}
	}
	long := s.Site().URL("/" + strings.Repeat("x", 300<<10))
	if r := libtest.Get(t, f, long); r.Status.HTTP == 200 {
		t.Errorf("long URL: %v", r.Status)
	}
}

func TestConditional(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	stamp := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	modified := stamp.Format(http.TimeFormat)
	s.Site().Versioned("/v", "new", `"tag"`, stamp)
	url := s.Site().URL("/v")
	for _, tc := range []struct {
		name   string
		req    protocol.Request
		change func(*Config)
		want   model.ProtocolCode
	}{
		{"none", protocol.Request{}, nil, model.ProtocolSuccess},
		{"etag", protocol.Request{ETag: `"tag"`}, nil, model.ProtocolNotModified},
		{"other etag", protocol.Request{ETag: `"old"`, LastModified: modified}, nil, model.ProtocolSuccess},
		{"modified", protocol.Request{LastModified: modified}, nil, model.ProtocolNotModified},
		{"modified off", protocol.Request{LastModified: modified}, func(c *Config) { c.HTTP.EnableIfModifiedSince = false }, model.ProtocolSuccess},
		{"etag off", protocol.Request{ETag: `"tag"`}, func(c *Config) { c.HTTP.EnableETag = false }, model.ProtocolSuccess},
		{"etag that can't be sent", protocol.Request{ETag: "\"tag\"\r\nX: y"}, nil, model.ProtocolSuccess},
	} {
		f := fetcher(t)
		if tc.change != nil {
			f = fetcher(t, tc.change)
		}
		tc.req.URL = url
		r := libtest.Fetch(t, f, &tc.req)
		if r.Status.Code != tc.want {
			t.Errorf("%s: %v, want %s", tc.name, r.Status, tc.want)
		}
		if tc.want == model.ProtocolNotModified && (len(r.Body) != 0 || r.Headers.First("Etag") != `"tag"`) {
			t.Errorf("%s: body %q, headers %v", tc.name, r.Body, r.Headers)
		}
	}
}

// TestRequestHeaders wants the headers of a request over the plugin's own, and in that
// request only.
func TestRequestHeaders(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	f := fetcher(t)
	for _, tc := range []struct {
		headers model.Metadata
		want    []string
		not     string
	}{
		{model.Metadata{"X-Key": {"k1"}, "Accept-Language": {"eo"}}, []string{"X-Key: k1\r\n", "Accept-Language: eo\r\n"}, "en-us"},
		{nil, []string{"Accept-Language: en-us"}, "X-Key"},
	} {
		r := libtest.Fetch(t, f, &protocol.Request{URL: s.Site().URL("/h"), ETag: `"x"`, Headers: tc.headers})
		sent := string(r.RawRequest)
		for _, want := range tc.want {
			if !strings.Contains(sent, want) {
				t.Errorf("%q is not in %s", want, sent)
			}
		}
		if strings.Contains(sent, tc.not) {
			t.Errorf("%q is in %s", tc.not, sent)
		}
	}
}

func TestCookies(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	s.Site().Handle("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "server=1")
		_, _ = io.WriteString(w, r.Header.Get("Cookie"))
	})
	for _, tc := range []struct {
		on   bool
		kind protocol.Kind
		want string
	}{{false, protocol.Page, ""}, {true, protocol.Page, "mine=1"}, {true, protocol.Robots, ""}, {true, protocol.Sitemap, ""}} {
		f := fetcher(t, func(c *Config) { c.HTTP.Cookies = tc.on })
		for range 2 { // the second time the server has set one
			r := libtest.Fetch(t, f, &protocol.Request{URL: s.Site().URL("/"), Kind: tc.kind, Metadata: model.Metadata{"Cookie": {"mine=1"}}})
			if string(r.Body) != tc.want {
				t.Errorf("cookies %t, kind %d: sent %q, want %q", tc.on, tc.kind, r.Body, tc.want)
			}
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	stamp := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, tc := range []struct {
		value, date string
		want        time.Duration
	}{
		{"", "", 0},
		{"120", "", 2 * time.Minute},
		{" 120 ", "", 2 * time.Minute},
		{"0", "", 0},
		{"-5", "", 0},
		{"1.5", "", 1500 * time.Millisecond},
		{"NaN", "", 0},
		{"soon", "", 0},
		{"99999999999999999999", "", maxRetryAfter},
		{stamp(time.Hour), "", time.Hour},
		{stamp(-time.Hour), "", 0},
		{stamp(1e6 * time.Hour), "", maxRetryAfter},
		{stamp(time.Hour), stamp(50 * time.Minute), 10 * time.Minute},
		{stamp(time.Hour), "not a date", time.Hour},
	} {
		if got := RetryAfter(tc.value, tc.date, now); got != tc.want {
			t.Errorf("RetryAfter(%q, %q) = %s, want %s", tc.value, tc.date, got, tc.want)
		}
	}
	s := testsite.Start(t, testsite.Options{})
	f := fetcher(t)
	for _, code := range []int{429, 503} {
		s.Site().Status("/busy", code, "Retry-After", "7")
		if r := libtest.Get(t, f, s.Site().URL("/busy")); r.RetryAfter != 7*time.Second {
			t.Errorf("%d: RetryAfter %s", code, r.RetryAfter)
		}
	}
	s.Site().Status("/gone", 410, "Retry-After", "x")
	if r := libtest.Get(t, f, s.Site().URL("/gone")); r.RetryAfter != 0 {
		t.Errorf("410: RetryAfter %s", r.RetryAfter)
	}
}

func TestKeepAlive(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	s.Site().Page("/p", "page").Status("/404", 404).Redirect("/r", 302, "/p")
	s.Site().Versioned("/v", "x", `"t"`, time.Now())
	f := fetcher(t)
	for range 5 {
		for _, p := range []string{"/p", "/404", "/r"} {
			libtest.Get(t, f, s.Site().URL(p))
		}
		libtest.Fetch(t, f, &protocol.Request{URL: s.Site().URL("/v"), ETag: `"t"`})
	}
	if total, _ := s.Connections("127.0.0.1"); total != 1 {
		t.Errorf("%d connections for 20 requests in a row, want 1", total)
	}
}

// The heads kept are those of this exchange, though the connection may serve
// the next one before Fetch has returned.
func TestHeadsBelongToExchange(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	s.Site().Handle("*", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Path", r.URL.Path)
		if r.URL.Query().Has("empty") {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, r.URL.Path)
	})
	f := fetcher(t)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 50 {
				path := fmt.Sprintf("/%d-%d", i, j)
				url := s.Site().URL(path)
				if j%2 == 0 {
					url += "?empty"
				}
				r, err := f.Fetch(t.Context(), &protocol.Request{URL: url, ETag: `"x"`})
				if err != nil {
					t.Error(err)
					return
				}
				if !strings.HasPrefix(string(r.RawRequest), "GET "+path) || !strings.Contains(string(r.RawResponse), "X-Path: "+path+"\r\n") ||
					!strings.HasSuffix(string(r.RawResponse), "\r\n\r\n") {
					t.Errorf("%s: heads %q %q", url, r.RawRequest, r.RawResponse)
					return
				}
			}
		})
	}
	wg.Wait()
}
