package libhttp

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/testsite"
)

// withSite adds a site block.
func withSite(name string, s SiteConfig) func(*Config) {
	return func(c *Config) {
		if c.Own.Sites == nil {
			c.Own.Sites = map[string]SiteConfig{}
		}
		if s.Hosts == nil {
			s.Hosts = []string{"127.0.0.1"}
		}
		c.Own.Sites[name] = s
	}
}

func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const secretPassword = "s3cr3t, \"quoted\""

// Each scheme: the first page costs the questions, the others none.
func TestHTTPAuthentication(t *testing.T) {
	for _, tc := range []struct {
		name     string
		login    testsite.Login
		serve    func(*testsite.Site, string, testsite.Login, string) *testsite.Site
		site     SiteConfig
		requests int // for three pages
	}{
		{"basic", testsite.Login{Realm: "a \"b\", c"}, (*testsite.Site).Basic, SiteConfig{}, 4},
		{"basic in the realm", testsite.Login{Realm: "Staff"}, (*testsite.Site).Basic, SiteConfig{Realm: "Staff"}, 4},
		{"digest", testsite.Login{Realm: "Staff", Algorithm: "MD5"}, (*testsite.Site).Digest, SiteConfig{}, 4},
		{"digest SHA-256", testsite.Login{Realm: "Staff", Algorithm: "SHA-256"}, (*testsite.Site).Digest, SiteConfig{Realm: "Staff"}, 4},
		{"digest, nonce for one use", testsite.Login{Realm: "Staff", Algorithm: "MD5", Uses: 1}, (*testsite.Site).Digest, SiteConfig{}, 6},
		{"ntlm", testsite.Login{}, (*testsite.Site).NTLM, SiteConfig{}, 6},
		{"ntlm with a domain", testsite.Login{Domain: "CORP"}, (*testsite.Site).NTLM, SiteConfig{Domain: "CORP"}, 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := testsite.Start(t, testsite.Options{})
			tc.login.User, tc.login.Password = "crawler", secretPassword
			tc.serve(s.Site(), "/in*", tc.login, "inside")
			tc.site.Username, tc.site.Password = "crawler", secretPassword
			f := fetcher(t, withSite("wiki", tc.site))
			for _, p := range []string{"/in/1?a=b", "/in/2", "/in/3"} {
				r := libtest.Get(t, f, s.Site().URL(p))
				if r.Status.Code != model.ProtocolSuccess || string(r.Body) != "inside" {
					t.Fatalf("%s: %v %q", p, r.Status, r.Body)
				}
				if strings.Contains(tc.name, "ntlm") {
					continue // an NTLM request that is logged in has no header to hide
				}
				if raw := string(r.RawRequest); !strings.Contains(raw, "Authorization: (hidden)\r\n") || strings.Contains(raw, "Basic ") || strings.Contains(raw, "response=") || !strings.HasSuffix(raw, "\r\n\r\n") {
					t.Errorf("request kept as %q", raw)
				}
			}
			if n := len(s.Requests()); n != tc.requests {
				t.Errorf("%d requests for three pages, want %d", n, tc.requests)
			}
			s.ResetLog()
			for _, kind := range []protocol.Kind{protocol.Robots, protocol.Sitemap} {
				r := libtest.Fetch(t, f, &protocol.Request{URL: s.Site().URL("/in/robots.txt"), Kind: kind})
				if r.Status.HTTP != 401 || s.Requests()[0].Header.Get("Authorization") != "" {
					t.Errorf("kind %d: %v with credentials", kind, r.Status)
				}
			}
		})
	}
}

// What is refused, and that a wrong password is not sent for ever.
func TestCredentialsRefused(t *testing.T) {
	for name, serve := range map[string]func(*testsite.Site, string, testsite.Login, string) *testsite.Site{
		"basic": (*testsite.Site).Basic, "digest": (*testsite.Site).Digest, "ntlm": (*testsite.Site).NTLM,
	} {
		s := testsite.Start(t, testsite.Options{})
		serve(s.Site(), "*", testsite.Login{User: "crawler", Password: "right", Realm: "Staff", Algorithm: "MD5"}, "inside")
		f := fetcher(t, withSite("wiki", SiteConfig{Username: "crawler", Password: "wrong"}))
		var last *protocol.Response
		for range 8 {
			last = libtest.Get(t, f, s.Site().URL("/x"))
			if last.Status.Code != model.ProtocolAccessDenied || last.Status.HTTP != 401 {
				t.Fatalf("%s: %v", name, last.Status)
			}
			if !strings.Contains(last.Status.Message, `site "wiki"`) || strings.Contains(last.Status.Message, "wrong") {
				t.Fatalf("%s: message %q", name, last.Status.Message)
			}
		}
		if !strings.Contains(last.Status.Message, "not sent any more") {
			t.Errorf("%s: message %q", name, last.Status.Message)
		}
		sent := 0
		for _, r := range s.Requests() {
			if v := r.Header.Get("Authorization"); v != "" && !strings.HasPrefix(v, "NTLM TlRMTVNTUAABAAAA") { // the first message has no password
				sent++
			}
		}
		if sent > maxRefused+1 {
			t.Errorf("%s: the password was sent %d times", name, sent)
		}
	}
}

// Credentials go to their hosts, ports and realms only.
func TestCredentialsStayHome(t *testing.T) {
	s := testsite.Start(t, testsite.Options{Addrs: []string{"127.0.0.1", "127.0.0.2"}})
	other := testsite.Start(t, testsite.Options{})
	login := testsite.Login{User: "crawler", Password: "pw", Realm: "Staff"}
	hosts := map[string]string{"wiki.example": "127.0.0.1", "a.intra.example": "127.0.0.1", "intra.example": "127.0.0.1", "evilintra.example": "127.0.0.1", "mirror.example": "127.0.0.1"}
	for h := range hosts {
		s.Host(h).Basic("/", login, "inside")
	}
	other.Host("wiki.example").Basic("/", login, "inside")
	for _, tc := range []struct {
		hosts []string
		realm string
		url   string
		in    bool
	}{
		{[]string{"wiki.example"}, "", s.Host("wiki.example").URL("/"), true},
		{[]string{"WIKI.example."}, "", s.Host("wiki.example").URL("/"), true},
		{[]string{"wiki.example"}, "Staff", s.Host("wiki.example").URL("/"), true},
		{[]string{"wiki.example"}, "Guests", s.Host("wiki.example").URL("/"), false},
		{[]string{"wiki.example"}, "", s.Host("mirror.example").URL("/"), false},
		{[]string{"wiki.example:1"}, "", s.Host("wiki.example").URL("/"), false},
		{[]string{"https://wiki.example"}, "", s.Host("wiki.example").URL("/"), false},
		{[]string{"wiki.example:1", "http://wiki.example"}, "", other.Host("wiki.example").URL("/"), true},
		{[]string{"*.intra.example"}, "", s.Host("a.intra.example").URL("/"), true},
		{[]string{"*.intra.example"}, "", s.Host("intra.example").URL("/"), false},
		{[]string{"*.intra.example"}, "", s.Host("evilintra.example").URL("/"), false},
	} {
		s.ResetLog()
		f := fetcher(t, names(hosts), withSite("wiki", SiteConfig{Hosts: tc.hosts, Realm: tc.realm, Username: "crawler", Password: "pw"}))
		r := libtest.Get(t, f, tc.url)
		if (r.Status.Code == model.ProtocolSuccess) != tc.in {
			t.Errorf("hosts %q, realm %q, %s: %v", tc.hosts, tc.realm, tc.url, r.Status)
		}
		if !tc.in {
			for _, q := range s.Requests() {
				if q.Header.Get("Authorization") != "" {
					t.Errorf("hosts %q, realm %q: the password went to %s", tc.hosts, tc.realm, tc.url)
				}
			}
		}
	}
}

// Two realms on one host, each with its own user.
func TestTwoRealms(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	s.Site().Basic("/a", testsite.Login{User: "ua", Password: "pa", Realm: "A"}, "in a")
	s.Site().Digest("/b", testsite.Login{User: "ub", Password: "pb", Realm: "B", Algorithm: "MD5"}, "in b")
	f := fetcher(t, withSite("a", SiteConfig{Realm: "A", Username: "ua", Password: "pa"}), withSite("b", SiteConfig{Realm: "B", Username: "ub", Password: "pb"}))
	for range 3 {
		for p, want := range map[string]string{"/a": "in a", "/b": "in b"} {
			if r := libtest.Get(t, f, s.Site().URL(p)); string(r.Body) != want {
				t.Errorf("%s: %v", p, r.Status)
			}
		}
	}
}

// Many at once over NTLM's one connection.
func TestNTLMTogether(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	s.Site().NTLM("/in*", testsite.Login{User: "crawler", Password: "pw"}, strings.Repeat("inside", 1000))
	s.Site().Page("/out", "outside")
	f := fetcher(t, withSite("win", SiteConfig{Username: "crawler", Password: "pw"}))
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			for range 5 {
				if r, err := f.Fetch(t.Context(), &protocol.Request{URL: s.Site().URL("/in/x")}); err != nil || r.Status.Code != model.ProtocolSuccess {
					t.Errorf("%v %v", r.Status, err)
					return
				}
				// Without credentials no logged-in connection is used.
				if r, err := f.Fetch(t.Context(), &protocol.Request{URL: s.Site().URL("/in/x"), Kind: protocol.Robots}); err != nil || r.Status.HTTP != 401 {
					t.Errorf("robots: %v %v", r.Status, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestChallenges(t *testing.T) {
	type short struct{ Scheme, Token, Realm, Text string }
	for _, tc := range []struct {
		values []string
		want   []short
	}{
		{nil, nil},
		{[]string{"Basic"}, []short{{"basic", "Basic", "", "Basic"}}},
		{[]string{`Basic realm="a, b=c"`}, []short{{"basic", "Basic", "a, b=c", `Basic realm="a, b=c"`}}},
		{[]string{"Negotiate, NTLM", `basic Realm=x`}, []short{
			{"ntlm", "NTLM", "", "NTLM"}, {"ntlm", "Negotiate", "", "Negotiate"}, {"basic", "basic", "x", "basic Realm=x"},
		}},
		{[]string{`Digest realm="r", nonce="n", qop="auth,auth-int", Basic realm="s"`}, []short{
			{"digest", "Digest", "r", `Digest realm="r", nonce="n", qop="auth,auth-int"`}, {"basic", "Basic", "s", `Basic realm="s"`},
		}},
		{[]string{`,realm="x", "`, `=`}, nil},
	} {
		var got []short
		for _, c := range challengesOf(tc.values) {
			got = append(got, short{c.scheme, c.token, c.realm, c.text})
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", tc.values, d)
		}
	}
}

func FuzzChallenges(f *testing.F) {
	f.Add(`Digest realm="r", nonce="n", Basic realm="s"`)
	f.Add(`Negotiate, NTLM TlRM==`)
	f.Add("a b,c=\"\\")
	f.Fuzz(func(t *testing.T, v string) {
		for _, c := range challengesOf([]string{v, v}) {
			if c.scheme == "" || len(c.text) > 2*len(v)+8 {
				t.Errorf("%q: %+v", v, c)
			}
		}
	})
}

// Nutch's file: scopes, a default for the hosts that have none, a form.
func TestAuthFile(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	hosts := map[string]string{"wiki.example": "127.0.0.1", "other.example": "127.0.0.1"}
	s.Host("wiki.example").Basic("/", testsite.Login{User: "w", Password: "pw", Realm: "R"}, "inside")
	s.Host("other.example").Digest("/", testsite.Login{User: "d", Password: "pd", Realm: "any", Algorithm: "MD5"}, "inside")
	login := &testsite.FormLogin{Page: "/login", User: "fu", Password: "fp"}
	s.Site().Form(login).Protected("/in", login, "inside")
	file := writeFile(t, "httpclient-auth.xml", `<?xml version="1.0"?>
<auth-configuration>
  <credentials username="w" password="pw"><authscope host="wiki.example" realm="R" scheme="BASIC"/></credentials>
  <credentials username="d" password="pd"><default/></credentials>
  <credentials authMethod="formAuth" loginUrl="`+s.Site().URL("/login")+`" loginFormId="login" loginRedirect="true">
    <loginPostData><field name="user" value="fu"/><field name="secret" value="fp"/></loginPostData>
    <additionalPostHeaders><field name="X-Mine" value="y"/></additionalPostHeaders>
    <removedFormFields><field name="nothing"/></removedFormFields>
    <loginCookie><policy>BROWSER_COMPATIBILITY</policy></loginCookie>
  </credentials>
</auth-configuration>`)
	f := fetcher(t, names(hosts), func(c *Config) { c.HTTP.AuthFile = file })
	for _, u := range []string{s.Host("wiki.example").URL("/"), s.Host("other.example").URL("/"), s.Site().URL("/in")} {
		if r := libtest.Get(t, f, u); string(r.Body) != "inside" {
			t.Errorf("%s: %v", u, r.Status)
		}
	}
	if got := s.Site().Requests()[0].Header.Get("X-Mine"); got != "y" {
		t.Errorf("login header %q", got)
	}
	for text, want := range map[string]string{
		"<x/>": "auth-configuration", "": "EOF",
		"<auth-configuration><credentials username='a'/></auth-configuration>":                                                        "credentials 1: neither authscope nor default",
		"<auth-configuration><credentials><default/></credentials></auth-configuration>":                                              "username is missing",
		"<auth-configuration><credentials authMethod='formAuth'/></auth-configuration>":                                               "needs loginUrl and loginFormId",
		"<auth-configuration><credentials username='a'><authscope host='h' scheme='kerberos'/></credentials></auth-configuration>":    "want ntlm, digest or basic",
		"<auth-configuration><credentials username='a'><authscope host='h' port='x'/></credentials></auth-configuration>":             "port",
		"<auth-configuration><credentials username='a' password='hunter2'><authscope host='a b'/></credentials></auth-configuration>": "credentials 1",
	} {
		cfg := DefaultConfig()
		cfg.HTTP.AgentName, cfg.HTTP.AgentURL, cfg.HTTP.AuthFile = "b", "https://b.example/", writeFile(t, "a.xml", text)
		if _, err := NewFetcher(cfg); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestBadSites(t *testing.T) {
	for want, s := range map[string]SiteConfig{
		"hosts: which are they":       {Hosts: []string{}, Username: "u"},
		`hosts: "*"`:                  {Hosts: []string{"*"}, Username: "u"},
		`"ftp://x"`:                   {Hosts: []string{"ftp://x"}, Username: "u"},
		`port "0"`:                    {Hosts: []string{"x:0"}, Username: "u"},
		`is no host`:                  {Hosts: []string{"a/b"}, Username: "u"},
		"it says nothing":             {},
		"there is no username":        {Password: "hunter2"},
		`"kerberos"`:                  {Username: "u", Schemes: []string{"kerberos"}},
		"can't be set":                {Headers: map[string]string{"host": "x"}},
		"no name of a header":         {Headers: map[string]string{"a b": "x"}},
		"hidden value of X":           {Headers: map[string]string{"X": "hunter2\n"}},
		"certificate: open":           {Certificate: "/nonexistent"},
		"there is no certificate":     {CertificateKey: "/nonexistent"},
		"of no use without login_url": {LoginForm: "x", Username: "u"},
		"is no http or https URL":     {LoginURL: "ftp://x/", Username: "u"},
		"needs username and password": {LoginURL: "http://x/"},
		"logged_out_status":           {LoginURL: "http://x/", Username: "u", LoggedOutStatus: []string{"200"}},
		"login_success: error":        {LoginURL: "http://x/", Username: "u", LoginSuccess: "("},
	} {
		cfg := DefaultConfig()
		cfg.HTTP.AgentName, cfg.HTTP.AgentURL = "b", "https://b.example/"
		withSite("wiki", s)(&cfg)
		if _, err := NewFetcher(cfg); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `site "wiki"`) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}

// Headers of a site go to its hosts, with every kind of request, and are not kept.
func TestSiteHeaders(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	s.Site().Page("/", "x")
	s.Host("localhost").Page("/", "x")
	f := fetcher(t, names(map[string]string{"localhost": "127.0.0.1"}),
		withSite("api", SiteConfig{Headers: map[string]string{"x-key": "k3y", "accept-language": "de"}}))
	r := libtest.Get(t, f, s.Site().URL("/"))
	libtest.Fetch(t, f, &protocol.Request{URL: s.Site().URL("/"), Kind: protocol.Robots})
	libtest.Get(t, f, s.Host("localhost").URL("/"))
	var keys, languages []string
	for _, q := range s.Requests() {
		keys, languages = append(keys, q.Header.Get("X-Key")), append(languages, q.Header.Get("Accept-Language"))
	}
	if d := cmp.Diff([]string{"k3y", "k3y", ""}, keys); d != "" || languages[0] != "de" || languages[2] == "de" {
		t.Errorf("X-Key %q, Accept-Language %q", keys, languages)
	}
	if raw := string(r.RawRequest); strings.Contains(raw, "k3y") || !strings.Contains(raw, "X-Key: (hidden)\r\n") {
		t.Errorf("kept as %q", raw)
	}
}

func TestRotatingAgents(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	s.Site().Page("/", "x")
	file := writeFile(t, "agents.txt", "# comment\nfirst/1.0 (+https://a.example)\n\nsecond/2.0\n")
	f := fetcher(t, func(c *Config) { c.HTTP.AgentRotate, c.HTTP.AgentRotateFile = true, file })
	for range 4 {
		libtest.Get(t, f, s.Site().URL("/"))
	}
	libtest.Fetch(t, f, &protocol.Request{URL: s.Site().URL("/"), Kind: protocol.Robots})
	count := map[string]int{}
	for _, q := range s.Requests() {
		count[q.Header.Get("User-Agent")]++
	}
	if d := cmp.Diff(map[string]int{"first/1.0 (+https://a.example)": 2, "second/2.0": 2, "testbot/1.0 (https://bot.example/)": 1}, count); d != "" {
		t.Error(d)
	}
	for text, want := range map[string]string{"": "holds no User-Agent", "# only\n": "holds no", "good\nb\x01d\n": ":2:", "caf\u00e9\n": ":1:"} {
		cfg := HTTPConfig{AgentRotate: true, AgentRotateFile: writeFile(t, "a.txt", text)}
		if _, err := cfg.agents(); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := (&HTTPConfig{AgentRotate: true}).agents(); !fault.Is(err, fault.Invalid) {
		t.Errorf("no file: %v", err)
	}
}
