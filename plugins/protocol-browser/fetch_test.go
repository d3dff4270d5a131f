package protocolbrowser

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
	"github.com/gonutch/crawler/sdk/testsite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fetcher returns a Fetcher that may reach the local sites; without a browser the test
// is skipped.
func fetcher(t testing.TB, change ...func(*Config)) *Fetcher {
	t.Helper()
	cfg := DefaultConfig()
	if _, err := FindBrowser(""); err != nil {
		t.Skip("no Chromium: apt-get install chromium")
	}
	cfg.HTTP.AgentName, cfg.HTTP.AgentURL = "testcrawler", "https://example.org/"
	cfg.HTTP.AllowPrivate = []string{"127.0.0.1"}
	// A page takes as long as the machine is busy; what a test waits for comes.
	cfg.HTTP.TimeLimit, cfg.HTTP.ConnectTimeout = setting.Duration(5*time.Minute), setting.Duration(time.Minute)
	cfg.Own.PageTimeout, cfg.Own.WaitTimeout = setting.Duration(4*time.Minute), setting.Duration(2*time.Minute)
	cfg.Own.Sandbox = os.Getuid() != 0
	cfg.DataDir = t.TempDir()
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

// patient takes a page for quiet only when a busy machine has had time for its scripts.
func patient(c *Config) { c.Own.IdleTime = setting.Duration(3 * time.Second) }

// TestShop: a page whose scripts bring everything, with steps that make it show all.
func TestShop(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	testsite.Shop(s.Site(), 25)
	f := fetcher(t, func(c *Config) { c.Own.Steps = []string{"on /$", "click_while .more"} }, patient)
	r := libtest.Get(t, f, s.Site().URL("/"))
	if r.Status.Code != model.ProtocolSuccess || strings.Count(string(r.Body), `href="/product/`) != 25 {
		t.Errorf("%v, body %s", r.Status, r.Body)
	}
	if r.Protocol != "http/1.1" || r.IP != "127.0.0.1" || r.ContentType != "text/html; charset=utf-8" || r.Headers.First(headerRequests) != "4" {
		t.Errorf("protocol %q, IP %q, type %q, headers %v", r.Protocol, r.IP, r.ContentType, r.Headers)
	}
	r = libtest.Get(t, f, s.Site().URL("/product/7"))
	if !strings.Contains(string(r.Body), "<title>Product 7</title>") || !strings.Contains(string(r.Body), "Price 7.99") {
		t.Errorf("%v, body %s", r.Status, r.Body)
	}
	for _, q := range s.Requests() {
		if ua := q.Header.Get("User-Agent"); ua != "testcrawler/1.0 (https://example.org/)" {
			t.Errorf("%s was asked for by %q", q.Path, ua)
		}
		if l := q.Header.Get("Accept-Language"); !strings.HasPrefix(l, "en-us,en-gb") && !strings.HasPrefix(l, "en-US,en-GB") {
			t.Errorf("%s was asked for in %q", q.Path, l)
		}
	}
}

func TestOutcomes(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	site := s.Site()
	site.Page("/ok", "<title>x</title><p>déjà")
	site.Redirect("/301", 301, "/ok").Redirect("/302", 302, "http://other.example/x?y#z").Status("/307", 307)
	site.Status("/404", 404).Status("/403", 403).Status("/500", 500).Status("/429", 429, "Retry-After", "7").Status("/204", 204)
	site.File("/pdf", "application/pdf", []byte("%PDF-1.4 \x00\xff"))
	site.File("/json", "application/json", []byte(`{"a":1}`))
	site.Handle("/download", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", "attachment; filename=x.html")
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<p>saved"))
	})
	site.File("/latin", "text/html; charset=ISO-8859-1", []byte("<p>d\xe9j\xe0"))
	site.Page("/script", `<script>location.href = "/elsewhere#frag"</script>`)
	site.Page("/refresh", `<meta http-equiv="refresh" content="0;url=/there"><p>x`)
	site.Page("/late", `<script>setTimeout(() => location.replace("http://other.example/"), 100)</script>`)
	site.Page("/post", `<form method="post" action="/posted"></form><p>stays<script>document.forms[0].submit()</script>`)
	site.Page("/dialog", `<script>alert(1); if (!confirm("?")) document.write("<p>declined")</script>`)
	site.Page("/popup", `<script>window.open("/opened"); document.write("<p>after")</script>`)
	site.Page("/liar", `<script>document.documentElement.__defineGetter__("outerHTML", () => "faked"); Document.prototype.querySelector = null</script><p>true`)
	site.Handle("/cookie", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if _, err := r.Cookie("seen"); err != nil {
			_, _ = w.Write([]byte(`<script>document.cookie = "seen=1"; location.reload()</script>`))
			return
		}
		_, _ = w.Write([]byte(`<p>let in`))
	})
	site.Page("/reloads", `<p>again<script>location.reload()</script>`)
	f, slow := fetcher(t), fetcher(t, patient)
	u := site.URL
	for _, tc := range []struct {
		path     string
		code     model.ProtocolCode
		http     int
		location string
		body     string // contained
	}{
		{"/ok", model.ProtocolSuccess, 200, "", "<p>déjà"},
		{"/301", model.ProtocolMoved, 301, u("/ok"), ""},
		{"/302", model.ProtocolTempMoved, 302, "http://other.example/x?y#z", ""},
		{"/307", model.ProtocolException, 307, "", ""},
		{"/404", model.ProtocolNotFound, 404, "", "status 404"},
		{"/403", model.ProtocolAccessDenied, 403, "", "status 403"},
		{"/500", model.ProtocolException, 500, "", "status 500"},
		{"/429", model.ProtocolException, 429, "", ""},
		{"/204", model.ProtocolException, 204, "", ""},
		{"/pdf", model.ProtocolSuccess, 200, "", "%PDF-1.4 \x00\xff"},
		{"/json", model.ProtocolSuccess, 200, "", `{"a":1}`},
		{"/download", model.ProtocolSuccess, 200, "", "<p>saved"},
		{"/latin", model.ProtocolSuccess, 200, "", "<p>déjà"},
		{"/script", model.ProtocolTempMoved, 200, u("/elsewhere#frag"), ""},
		{"/refresh", model.ProtocolTempMoved, 200, u("/there"), ""},
		{"/late", model.ProtocolTempMoved, 200, "http://other.example/", ""},
		{"/post", model.ProtocolSuccess, 200, "", "<p>stays"},
		{"/dialog", model.ProtocolSuccess, 200, "", "<p>declined"},
		{"/popup", model.ProtocolSuccess, 200, "", "<p>after"},
		{"/liar", model.ProtocolSuccess, 200, "", "<p>true"},
		{"/cookie", model.ProtocolSuccess, 200, "", "<p>let in"},
		{"/reloads", model.ProtocolSuccess, 200, "", "<p>again"},
	} {
		t.Run(tc.path[1:], func(t *testing.T) {
			t.Parallel()
			by := f
			switch tc.path {
			case "/script", "/refresh", "/late", "/cookie", "/reloads": // the page does something by itself
				by = slow
			}
			r := libtest.Get(t, by, u(tc.path))
			if r.Status.Code != tc.code || r.Status.HTTP != tc.http || r.Location != tc.location || !strings.Contains(string(r.Body), tc.body) {
				t.Errorf("%v, location %q, body %q, %s", r.Status, r.Location, r.Body, r.Headers.First(headerNotes))
			}
			if tc.path == "/429" && r.RetryAfter != 7*time.Second {
				t.Errorf("Retry-After %s", r.RetryAfter)
			}
			if tc.path == "/latin" && (r.ContentType != "text/html; charset=utf-8" || !strings.Contains(string(r.RawResponse), "\r\nX-Crawler-Content-Type: text/html; charset=ISO-8859-1\r\n")) {
				t.Errorf("%s, head %s", r.ContentType, r.RawResponse)
			}
		})
	}
	t.Cleanup(func() {
		for _, p := range []string{"/elsewhere", "/there", "/posted", "/opened"} {
			if n := site.Count(p); n != 0 {
				t.Errorf("%s was asked for %d times", p, n)
			}
		}
		if n := site.Count("/reloads"); n != 3 {
			t.Errorf("/reloads was asked for %d times", n)
		}
	})
}

// TestEndlessScript: what a page shows is taken although a script of it never ends.
func TestEndlessScript(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	s.Site().Page("/", `<p>here<script>for (;;) {}</script>`)
	f := fetcher(t, func(c *Config) { c.Own.WaitTimeout = setting.Duration(time.Second) })
	r := libtest.Get(t, f, s.Site().URL("/"))
	if r.Status.Code != model.ProtocolSuccess || !strings.Contains(string(r.Body), "<p>here") || !strings.Contains(r.Headers.First(headerNotes), "did not end") {
		t.Errorf("%v %q %v", r.Status, r.Body, r.Headers)
	}
}
