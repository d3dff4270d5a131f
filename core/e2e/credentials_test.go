package e2e

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/gonutch/crawler/sdk/testsite"
	"github.com/gonutch/crawler/sdk/testsite/ftpsite"
	"github.com/gonutch/crawler/sdk/testsite/s3site"
)

// closedPort is a port of 127.0.0.1 on which nothing listens.
func closedPort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// TestWrongCredentials crawls hosts for which every kind of login, the proxy and a client
// certificate are wrong. Each costs the pages behind it and no other, and record, explanation
// and report tell why.
func TestWrongCredentials(t *testing.T) {
	web := testsite.Start(t, testsite.Options{Addrs: []string{"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"}})
	login := testsite.Login{User: "crawler", Password: "right", Realm: "Staff", Algorithm: "SHA-256"}
	web.Site().Page("/", "<title>Open to all</title>marmalade")
	for host, serve := range map[string]func(*testsite.Site, string, testsite.Login, string) *testsite.Site{
		"127.0.0.2": (*testsite.Site).Basic, "127.0.0.3": (*testsite.Site).Digest, "127.0.0.4": (*testsite.Site).NTLM,
	} {
		serve(web.Host(host).Page("/open", "open"), "/in", login, "inside")
	}
	form := &testsite.FormLogin{Page: "/login", User: "crawler", Password: "right"}
	web.Host("127.0.0.5").Form(form).Protected("/in", form, "inside")
	behind := testsite.Start(t, testsite.Options{Addrs: []string{"127.0.0.6"}})
	behind.Site().Page("/", "behind the proxy")
	certified := testsite.Start(t, testsite.Options{Addrs: []string{"127.0.0.7"}, TLS: true, ClientCert: true})
	certified.Site().Page("/", "for partners")
	cert, key := testsite.Start(t, testsite.Options{TLS: true}).ClientPair(t) // of another authority
	files := ftpsite.Start(t, ftpsite.Plain, map[string]string{"a.txt": "file"})
	bucket := s3site.Start(t, map[string]string{"a.txt": "object"})
	bucket.Only("RIGHT")
	m := newMirror(t, "")
	m.args = append(m.args, "--config", writeFile(t, t.TempDir(), "logins.hcl", fmt.Sprintf(`
plugin { add = ["protocol-ftp", "protocol-s3"] }
plugin "urlfilter-regex" { rules = ["+."] }
fetcher { release_after = "0s" }
http {
  proxy_type           = "http"
  proxy_host           = "127.0.0.1"
  proxy_port           = %d
  proxy_exception_list = ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.7"]
}
plugin "protocol-http" {
  site "staff" {
    hosts    = ["127.0.0.2", "127.0.0.3", "127.0.0.4"]
    username = "crawler"
    password = "n0t-this"
  }
  site "shop" {
    hosts     = ["127.0.0.5"]
    username  = "crawler"
    password  = "n0t-this"
    login_url = %q
  }
  site "partner" {
    hosts           = ["127.0.0.7"]
    certificate     = %q
    certificate_key = %q
  }
}
plugin "protocol-ftp" {
  username    = %q
  password    = "n0t-this"
  login_hosts = ["127.0.0.1"]
}
plugin "protocol-s3" {
  endpoint   = %q
  region     = "us-east-1"
  access_key = "WRONG"
  secret_key = "n0t-this"
}
`, closedPort(t), web.Host("127.0.0.5").URL("/login"), cert, key, ftpsite.User, bucket.URL)))
	args := []string{"run", "--rounds", "2"}
	cases := []struct{ url, status, reason string }{
		{web.Site().URL("/"), "success", ""},
		{web.Host("127.0.0.2").URL("/open"), "success", ""},
		{web.Host("127.0.0.3").URL("/open"), "success", ""},
		{web.Host("127.0.0.4").URL("/open"), "success", ""},
		{web.Host("127.0.0.2").URL("/in"), "access_denied", `site "staff"`},
		{web.Host("127.0.0.3").URL("/in"), "access_denied", `site "staff"`},
		{web.Host("127.0.0.4").URL("/in"), "access_denied", `site "staff"`},
		{web.Host("127.0.0.5").URL("/in"), "exception", `site "shop"`},
		{behind.Site().URL("/"), "", "connection refused"},
		{certified.Site().URL("/"), "", "certificate"},
		{files.URL("ftp", "/a.txt"), "access_denied", "530"},
		{"s3://docs/a.txt", "access_denied", "InvalidAccessKeyId"},
	}
	for _, c := range cases {
		args = append(args, "--seeds", c.url)
	}
	report := m.crawler(args...)
	for _, told := range []string{"http_401 4", "http_403 1", "network 1", "robots_deferred 2", "fetch_success 4"} {
		if !strings.Contains(report, told) {
			t.Errorf("the report does not tell %q:\n%s", told, report)
		}
	}
	want := map[string]string{}
	for _, c := range cases {
		want[c.url] = c.status
		record, why := m.crawler("readdb", "--url", c.url), m.crawler("explain", c.url)
		if !strings.Contains(record, c.reason) {
			t.Errorf("the record of %s does not tell %q:\n%s", c.url, c.reason, record)
		}
		if !strings.Contains(why, c.reason) {
			t.Errorf("explain %s does not tell %q:\n%s", c.url, c.reason, why)
		}
		if strings.Contains(record+why+report, "n0t-this") {
			t.Errorf("a password is shown with %s", c.url)
		}
	}
	m.wants("with wrong credentials", want)
	if n := len(behind.Requests()) + len(certified.Requests()); n != 0 {
		t.Errorf("%d requests came through", n)
	}
	if out := m.crawler("search", "marmalade"); !strings.Contains(out, web.Site().URL("/")) {
		t.Errorf("search: %s", out)
	}
}
