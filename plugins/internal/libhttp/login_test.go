package libhttp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
	"github.com/gonutch/crawler/sdk/testsite"
)

func startLogin(t *testing.T) (*testsite.Server, *testsite.FormLogin) {
	t.Helper()
	s := testsite.Start(t, testsite.Options{})
	l := &testsite.FormLogin{Page: "/login", User: "crawler", Password: secretPassword}
	s.Site().Form(l).Protected("/in*", l, "<p>inside").Protected("/", l, "<p>home").Page("/out", "<p>outside")
	return s, l
}

func TestFormLogin(t *testing.T) {
	s, l := startLogin(t)
	f := fetcher(t, withSite("shop", SiteConfig{Username: "crawler", Password: secretPassword, LoginURL: s.Site().URL("/login")}))
	// Many at once log in once.
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			r, err := f.Fetch(t.Context(), &protocol.Request{URL: s.Site().URL(fmt.Sprintf("/in/%d", i))})
			if err != nil || string(r.Body) != "<p>inside" {
				t.Errorf("%v %v", r, err)
			}
		})
	}
	wg.Wait()
	if forms, logins := l.Counts(); forms != 1 || logins != 1 {
		t.Errorf("%d forms, %d logins; want one of each", forms, logins)
	}
	// Logged out is noticed; with login_again_after over, the page comes all the same.
	l.Expire()
	if r := libtest.Get(t, f, s.Site().URL("/in/x")); string(r.Body) != "<p>inside" {
		t.Errorf("after the end of the session: %v %q", r.Status, r.Body)
	}
	if forms, logins := l.Counts(); forms != 2 || logins != 2 {
		t.Errorf("%d forms, %d logins; want two of each", forms, logins)
	}
	r := libtest.Get(t, f, s.Site().URL("/in/x"))
	if raw := string(r.RawRequest); strings.Contains(raw, "session-") || !strings.Contains(raw, "Cookie: (hidden)\r\n") {
		t.Errorf("kept as %q", raw)
	}
	for _, kind := range []protocol.Kind{protocol.Robots, protocol.Sitemap} {
		if r := libtest.Fetch(t, f, &protocol.Request{URL: s.Site().URL("/in/x"), Kind: kind}); r.Status.HTTP != 302 {
			t.Errorf("kind %d: %v", kind, r.Status)
		}
	}
	for _, q := range s.Requests() {
		if q.Method == "POST" && (q.Header.Get("Referer") != s.Site().URL("/login") || q.Header.Get("Origin") != strings.TrimSuffix(s.Site().URL(""), "/")) {
			t.Errorf("the form came from %q, %q", q.Header.Get("Referer"), q.Header.Get("Origin"))
		}
	}
}

// The least time between two logins holds for sessions that end and for logins
// that fail; the reasons are in the record, the password is not.
func TestLoginAgainAfter(t *testing.T) {
	s, l := startLogin(t)
	f := fetcher(t, withSite("shop", SiteConfig{
		Username: "crawler", Password: secretPassword, LoginURL: s.Site().URL("/login"), LoginAgainAfter: setting.Duration(time.Hour),
	}))
	libtest.Get(t, f, s.Site().URL("/in/1"))
	l.Expire()
	for _, p := range []string{"/in/2", "/in/3"} {
		if r := libtest.Get(t, f, s.Site().URL(p)); r.Status.Code != model.ProtocolException || r.RetryAfter < 50*time.Minute || !strings.Contains(r.Status.Message, `logged out of site "shop"; the next login`) {
			t.Errorf("%s: %v", p, r.Status)
		}
	}
	bad := fetcher(t, withSite("shop", SiteConfig{
		Username: "crawler", Password: "hunter2", LoginURL: s.Site().URL("/login"), LoginAgainAfter: setting.Duration(time.Hour),
	}))
	s.ResetLog()
	for range 3 {
		r := libtest.Get(t, bad, s.Site().URL("/in/1"))
		if r.Status.Code != model.ProtocolException || !strings.Contains(r.Status.Message, `login at site "shop"`) || !strings.Contains(r.Status.Message, "shows the form again") || strings.Contains(r.Status.Message, "hunter2") {
			t.Errorf("%v", r.Status)
		}
	}
	if n := len(s.Requests()); n != 2 {
		t.Errorf("%d requests, want the form and one try", n)
	}
}

func TestLoggedOutRules(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	l := &testsite.FormLogin{Page: "/login", User: "u", Password: "p"}
	s.Site().Form(l).Protected("/", l, "home")
	for name, rule := range map[string]SiteConfig{
		"status": {LoggedOutStatus: []string{"403"}}, "target": {LoggedOutURL: `/sign-?in\b`}, "text": {LoggedOutText: "(?i)please log in"},
		"401 by default": {}, "the login page": {},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			s.Site().Handle("/page", func(w http.ResponseWriter, r *http.Request) {
				if asked++; asked != 1 {
					_, _ = io.WriteString(w, "inside")
					return
				}
				switch name {
				case "status":
					w.WriteHeader(403)
				case "target":
					http.Redirect(w, r, "/signin?x", http.StatusFound)
				case "text":
					_, _ = io.WriteString(w, "<p>Please log in")
				case "401 by default":
					w.WriteHeader(401)
				default:
					http.Redirect(w, r, "/login?from=page", http.StatusSeeOther)
				}
			})
			rule.Username, rule.Password, rule.LoginURL = "u", "p", s.Site().URL("/login")
			if r := libtest.Get(t, fetcher(t, withSite("x", rule)), s.Site().URL("/page")); string(r.Body) != "inside" || asked != 2 {
				t.Errorf("%v %q after %d requests", r.Status, r.Body, asked)
			}
			s.Site().Status("/page", 401)
			if r := libtest.Get(t, fetcher(t, withSite("x", SiteConfig{Username: "u", Password: "p", LoginURL: s.Site().URL("/login")})), s.Site().URL("/page")); r.Status.Code != model.ProtocolAccessDenied || !strings.Contains(r.Status.Message, "logged out again") {
				t.Errorf("a page that no login opens: %v", r.Status)
			}
		})
	}
}

// Where a form may not send, and other ways for a login to fail.
func TestLoginRefused(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	evil := testsite.Start(t, testsite.Options{Addrs: []string{"127.0.0.2"}})
	evil.Site().Page("/take", "thanks")
	const form = `<form method=post action=%q><input name=u><input type=password name=p></form>`
	page := func(p, action string) string {
		s.Site().Page(p, fmt.Sprintf(form, action))
		return s.Site().URL(p)
	}
	s.Site().Redirect("/moved", 307, evil.Site().URL("/take")).Redirect("/loop", 302, "/loop").Redirect("/ftp", 302, "ftp://x/").
		Redirect("/inner", 302, "http://169.254.169.254/").Page("/noform", "<form><input name=q></form>").Status("/500", 500).
		Page("/nouser", `<form id=f><input type=password name=p></form>`).Page("/welcome", "hello")
	for _, tc := range []struct{ url, form, success, want string }{
		{page("/a", evil.Site().URL("/take")), "", "", "sends to 127.0.0.2"},
		{page("/b", "/moved"), "", "", "wants the form to be sent to"},
		{page("/c", "/500"), "", "", "answered 500 to the form"},
		{page("/d", "/d"), "", "", "shows the form again"},
		{page("/e", "/welcome"), "", "logout", "login_success"},
		{page("/f", "http://[::1"), "", "", "action"},
		{page("/g", "/loop"), "", "", "redirects"},
		{s.Site().URL("/noform"), "", "", "no form with a password field"},
		{s.Site().URL("/noform"), "login", "", `no form whose id or name is "login"`},
		{s.Site().URL("/nouser"), "", "", "no text field before a password field"},
		{s.Site().URL("/none"), "", "", "answered 404"},
		{s.Site().URL("/ftp"), "", "", "can't be followed"},
		{s.Site().URL("/inner"), "", "", "169.254.169.254"},
	} {
		var log bytes.Buffer
		f := fetcher(t, withSite("x", SiteConfig{Username: "u", Password: "hunter2", LoginURL: tc.url, LoginForm: tc.form, LoginSuccess: tc.success, LoginAgainAfter: setting.Duration(time.Hour)}), func(c *Config) {
			c.Logger = hclog.New(&hclog.LoggerOptions{Output: &log})
		})
		r := libtest.Get(t, f, s.Site().URL("/welcome"))
		libtest.Get(t, f, s.Site().URL("/welcome")) // waits for the next login
		if text := log.String(); strings.Count(text, "login refused") != 1 || !strings.Contains(text, "site=x") || strings.Contains(text, "hunter2") {
			t.Errorf("%s: log %q", tc.url, text)
		}
		if r.Status.Code == model.ProtocolSuccess || !strings.Contains(r.Status.Message, tc.want) || strings.Contains(r.Status.Message, "hunter2") {
			t.Errorf("%s: %v, want %q", tc.url, r.Status, tc.want)
		}
	}
	if n := len(evil.Requests()); n != 0 {
		t.Errorf("the other host got %d requests", n)
	}
	// A host that is named may have it.
	f := fetcher(t, withSite("x", SiteConfig{Hosts: []string{"127.0.0.1", "127.0.0.2"}, Username: "u", Password: "pw", LoginURL: page("/a", evil.Site().URL("/take"))}))
	if r := libtest.Get(t, f, s.Site().URL("/welcome")); r.Status.Code != model.ProtocolSuccess || evil.Site().Count("/take") != 1 {
		t.Errorf("%v", r.Status)
	}
	secure := testsite.Start(t, testsite.Options{TLS: true})
	secure.Site().Page("/login", fmt.Sprintf(form, s.Site().URL("/welcome")))
	f = fetcher(t, func(c *Config) { c.HTTP.TLSCertificatesCheck = false }, withSite("x", SiteConfig{Username: "u", Password: "pw", LoginURL: secure.Site().URL("/login")}))
	if r := libtest.Get(t, f, s.Site().URL("/welcome")); !strings.Contains(r.Status.Message, "without TLS") {
		t.Errorf("from https to http: %v", r.Status)
	}
}

func TestForms(t *testing.T) {
	const doc = `<base href="/b/"><form id=one><input name=q></form>
<form name=two method=POST action="x?y"><input type=hidden name=h value="a&b"><input name=u value=old><input name=off disabled>
<input type=password name=p><input type=text name=later><input type=radio name=r value=1><input type=radio name=r value=2 checked><input type=checkbox name=c checked>
<input type=file name=f><input type=image name=i><input type=submit name=s1 value=1><input type=submit name=s2 value=2><button type=button name=b>
<select name=l><option>A<option value=v>B</select><select name=m multiple><option>A</select><textarea name=t>x
y</textarea></form><input form=three name=outside value=o><form id=three><input type=password name=pp></form>`
	names := func(f *form) (out []string) {
		for _, x := range f.fields {
			out = append(out, x.name+"="+x.value)
		}
		return out
	}
	f, base, err := findForm([]byte(doc), "")
	if err != nil || f == nil {
		t.Fatal(f, err)
	}
	if d := cmp.Diff([]string{"h=a&b", "u=old", "p=", "later=", "r=2", "c=on", "s1=1", "l=A", "t=x\ny"}, names(f)); d != "" || base != "/b/" || f.action != "x?y" || f.method != "post" || f.user != "u" || f.password != "p" {
		t.Errorf("%+v, base %q\n%s", f, base, d)
	}
	f.set("u", "new & old")
	f.set("extra", "1")
	if got := f.encode([]string{"later", "r", "c", "s1", "l", "t", "p"}); got != "h=a%26b&u=new+%26+old&extra=1" {
		t.Errorf("encoded %q", got)
	}
	if f, _, _ := findForm([]byte(doc), "three"); f == nil || len(f.fields) != 2 {
		t.Errorf("form three: %+v", f)
	}
	if f, _, _ := findForm([]byte(doc), "one"); f == nil || f.password != "" || f.method != "" {
		t.Errorf("form one: %+v", f)
	}
	if f, _, _ := findForm([]byte(doc), "none"); f != nil {
		t.Errorf("form none: %+v", f)
	}
}

func FuzzForm(f *testing.F) {
	f.Add([]byte(`<form id=a><input type=password name=p><select name=s><option>x</select>`), "a")
	f.Add([]byte(`<form><form><input form=x name=y></form>`), "")
	f.Fuzz(func(t *testing.T, page []byte, id string) {
		if got, _, err := findForm(page, id); err == nil && got != nil {
			got.set("p", "x")
			_ = got.encode(nil)
		}
	})
}

func TestCookieFileAndJar(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	hosts := map[string]string{"a.example": "127.0.0.1", "www.b.example": "127.0.0.1", "c.co.uk": "127.0.0.1", "d.co.uk": "127.0.0.1"}
	for h := range hosts {
		s.Host(h).Handle("*", func(w http.ResponseWriter, r *http.Request) {
			domain := "b.example"
			if strings.HasSuffix(h, ".uk") {
				domain = "co.uk"
			}
			http.SetCookie(w, &http.Cookie{Name: "own", Value: h})
			http.SetCookie(w, &http.Cookie{Name: "wide", Value: h, Domain: domain, Path: "/"})
			http.SetCookie(w, &http.Cookie{Name: "secure", Value: "1", Secure: true})
			http.SetCookie(w, &http.Cookie{Name: "deep", Value: "1", Path: "/deep"})
			_, _ = io.WriteString(w, r.Header.Get("Cookie"))
		})
	}
	file := writeFile(t, "cookies.txt", "# comment\n\na.example\tsid=1; b=#2\n*.b.example\tw=1\n")
	ask := func(f *Fetcher, host, path string) string {
		r := libtest.Fetch(t, f, &protocol.Request{URL: s.Host(host).URL(path), Metadata: model.Metadata{"Cookie": {"rec=1"}}})
		return string(r.Body)
	}
	f := fetcher(t, names(hosts), func(c *Config) { c.HTTP.CookieFile = file })
	for range 2 {
		for host, want := range map[string]string{"a.example": "rec=1; sid=1; b=#2", "www.b.example": "rec=1; w=1", "c.co.uk": "rec=1"} {
			if got := ask(f, host, "/"); got != want {
				t.Errorf("%s: sent %q, want %q", host, got, want)
			}
		}
	}
	f = fetcher(t, names(hosts), func(c *Config) { c.HTTP.CookieFile, c.HTTP.Cookies, c.HTTP.CookieJar = file, false, true })
	for _, step := range []struct{ host, path, want string }{
		{"a.example", "/", ""},
		{"a.example", "/", "own=a.example"}, // b.example's is not for it to set
		{"www.b.example", "/x", ""},
		{"www.b.example", "/deep/x", "deep=1; own=www.b.example; wide=www.b.example"},
		{"c.co.uk", "/", ""},
		{"d.co.uk", "/", ""}, // nothing for all of co.uk
	} {
		if got := ask(f, step.host, step.path); got != step.want {
			t.Errorf("%s%s: sent %q, want %q", step.host, step.path, got, step.want)
		}
	}
	if r := libtest.Fetch(t, f, &protocol.Request{URL: s.Host("a.example").URL("/"), Kind: protocol.Robots}); len(r.Body) != 0 {
		t.Errorf("robots.txt asked for with %q", r.Body)
	}
	for text, want := range map[string]string{"a.example sid=1\n": ":1:", "\na.example\t\n": ":2:", "a b\tx=1\n": ":1:", "a.example\tx=\x01\n": ":1:"} {
		if _, err := readCookieFile(writeFile(t, "c.txt", text)); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A site that sets cookies without end loses them; many sites push out old ones.
func TestCookiesBounded(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	s.Site().Handle("/set", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: r.URL.RawQuery, Value: "1"})
		http.SetCookie(w, &http.Cookie{Name: "huge", Value: strings.Repeat("x", 5000)})
	})
	f := fetcher(t, func(c *Config) { c.HTTP.CookieJar = true })
	for i := range 3 * maxCookies {
		libtest.Get(t, f, s.Site().URL(fmt.Sprintf("/set?n%d", i)))
		q := s.Requests()[len(s.Requests())-1]
		if n := len(strings.Split(q.Header.Get("Cookie"), ";")); n > maxCookies || strings.Contains(q.Header.Get("Cookie"), "huge") {
			t.Fatalf("%d cookies sent", n)
		}
		s.ResetLog()
	}
	var c cookies
	for i := range maxCookieSites + 10 {
		u, err := ParseURL(fmt.Sprintf("http://h%d.example/", i))
		if err != nil {
			t.Fatal(err)
		}
		c.site(u, true)
	}
	if len(c.sites) != maxCookieSites || c.lru.Len() != maxCookieSites {
		t.Errorf("cookies of %d sites kept", len(c.sites))
	}
}

func TestClientCertificate(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		s := testsite.Start(t, testsite.Options{TLS: true, HTTP2: h2, ClientCert: true})
		s.Site().Page("/", "inside")
		cert, key := s.ClientPair(t)
		ca := func(c *Config) { c.Own.CAFile = s.CAFile(t) }
		if r := libtest.Get(t, fetcher(t, ca), s.Site().URL("/")); r.Status.Code != model.ProtocolException {
			t.Errorf("without: %v", r.Status)
		}
		f := fetcher(t, ca, withSite("x", SiteConfig{Certificate: cert, CertificateKey: key}))
		for _, kind := range []protocol.Kind{protocol.Robots, protocol.Page} {
			if r := libtest.Fetch(t, f, &protocol.Request{URL: s.Site().URL("/"), Kind: kind}); string(r.Body) != "inside" || h2 != (r.Protocol == "h2") {
				t.Errorf("kind %d: %v over %s", kind, r.Status, r.Protocol)
			}
		}
		f = fetcher(t, ca, withSite("x", SiteConfig{Hosts: []string{"other.example"}, Certificate: cert, CertificateKey: key}))
		if r := libtest.Get(t, f, s.Site().URL("/")); r.Status.Code != model.ProtocolException {
			t.Errorf("the certificate went to another host: %v", r.Status)
		}
	}
}
