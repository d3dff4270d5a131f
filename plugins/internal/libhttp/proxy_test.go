package libhttp

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/testsite"
)

func closing(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Connection", "close")
	_, _ = io.WriteString(w, "bye")
}

// via sends everything through the proxy at addr.
func via(kind, addr, user, password string, except ...string) func(*Config) {
	return func(c *Config) {
		host, port, _ := net.SplitHostPort(addr)
		c.HTTP.ProxyType, c.HTTP.ProxyHost = kind, host
		c.HTTP.ProxyPort, _ = strconv.Atoi(port)
		c.HTTP.ProxyUsername, c.HTTP.ProxyPassword = user, password
		c.HTTP.ProxyExceptionList = except
	}
}

func relay(a, b net.Conn) {
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(a, b); _ = a.Close() })
	_, _ = io.Copy(b, a)
	_ = b.Close()
	wg.Wait()
}

// startProxy makes s a proxy for host whose tunnels all end at target.
func startProxy(s *testsite.Server, host, target string) {
	site := s.Host(host)
	site.Handle("*", func(w http.ResponseWriter, r *http.Request) {
		if want := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:pw")); r.Header.Get("Proxy-Authorization") != want {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		if r.URL.Path == "/broken" {
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_, _ = io.WriteString(c, "HTTP/1.1 200: OK\r\nnonsense\r\n\r\nrepaired")
			}
			return
		}
		if r.Method != http.MethodConnect {
			_, _ = fmt.Fprintf(w, "proxied %s", r.RequestURI)
			return
		}
		up, err := net.Dial("tcp", target)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 Connected\r\n\r\n")
		relay(c, up)
	})
}

func TestHTTPProxy(t *testing.T) {
	for _, kind := range []string{"http", "https"} {
		for _, h2 := range []bool{false, true} {
			target := testsite.Start(t, testsite.Options{TLS: true, HTTP2: h2, Names: []string{"site.example"}})
			target.Host("site.example").Page("/s", "secret")
			proxy := testsite.Start(t, testsite.Options{TLS: kind == "https"})
			startProxy(proxy, "site.example", target.Addr())
			// No name resolves and nothing private is allowed: the proxy is exempt.
			base := []func(*Config){allow(), names(nil), func(c *Config) { c.HTTP.TLSCertificatesCheck = false }}
			f := fetcher(t, append(base, via(kind, proxy.Addr(), "me", "pw"))...)

			r := libtest.Get(t, f, "http://site.example/p?q")
			if string(r.Body) != "proxied http://site.example/p?q" || r.IP != "" {
				t.Errorf("%s: %v %q, IP %q", kind, r.Status, r.Body, r.IP)
			}
			if !strings.HasPrefix(string(r.RawRequest), "GET /p?q HTTP/1.1\r\nHost: site.example\r\n") || strings.Contains(string(r.RawRequest), "Authorization") {
				t.Errorf("%s: request kept as %q", kind, r.RawRequest)
			}
			r = libtest.Get(t, f, "http://site.example/broken")
			if string(r.Body) != "repaired" || string(r.RawResponse) != "HTTP/1.1 200: OK\r\nnonsense\r\n\r\n" {
				t.Errorf("%s: %v %q, head %q", kind, r.Status, r.Body, r.RawResponse)
			}
			r = libtest.Get(t, f, "https://site.example/s")
			if want := map[bool]string{true: "h2", false: "HTTP/1.1"}[h2]; string(r.Body) != "secret" || r.Protocol != want || r.IP != "" {
				t.Errorf("%s, tunnel: %v %q %s", kind, r.Status, r.Body, r.Protocol)
			}
			f = fetcher(t, append(base, via(kind, proxy.Addr(), "me", "wrong"))...)
			// It is not the host's answer, least of all about its robots.txt.
			for _, u := range []string{"http://site.example/p", "https://site.example/s"} {
				r := libtest.Get(t, f, u)
				if m := r.Status.Message; r.Status.HTTP != 0 || r.Status.Code != model.ProtocolException || !strings.Contains(m, "407 Proxy Authentication Required (http.proxy_username") || strings.Contains(m, "wrong") {
					t.Errorf("%s, wrong password, %s: %v", kind, u, r.Status)
				}
			}
		}
	}
}

// Addresses given as such are checked although the proxy would connect.
func TestProxyAndAddresses(t *testing.T) {
	proxy := testsite.Start(t, testsite.Options{})
	for _, h := range []string{"10.0.0.1", "127.0.0.1", "localhost"} {
		startProxy(proxy, h, "")
	}
	f := fetcher(t, allow("10.0.0.1:80"), names(nil), via("http", proxy.Addr(), "me", "pw"))
	for url, want := range map[string]model.ProtocolCode{
		"http://10.0.0.1/":        model.ProtocolSuccess,
		"http://10.0.0.1:81/":     model.ProtocolAccessDenied,
		"http://127.0.0.1/":       model.ProtocolAccessDenied,
		"http://2130706433/":      model.ProtocolAccessDenied,
		"http://localhost/":       model.ProtocolAccessDenied,
		"http://x.localhost/":     model.ProtocolAccessDenied,
		"https://169.254.169.254": model.ProtocolAccessDenied,
	} {
		if r := libtest.Get(t, f, url); r.Status.Code != want {
			t.Errorf("%s: %v, want %s", url, r.Status, want)
		}
	}
}

func TestProxyExceptions(t *testing.T) {
	p, err := (&HTTPConfig{ProxyHost: "p", ProxyExceptionList: []string{"Exact.example", "*.suffix.example", "prefix.*", "*mid*"}}).proxy()
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"exact.example": false, "an.exact.example": true, "a.suffix.example": false, "suffix.example": true,
		"prefix.org": false, "a.prefix.org": true, "xmidy": false, "other": true,
	} {
		if p.applies(host) != want {
			t.Errorf("%s goes through the proxy: %t, want %t", host, !want, want)
		}
	}
	s := testsite.Start(t, testsite.Options{})
	s.Site().Page("/", "direct")
	f := fetcher(t, via("http", "127.0.0.1:1", "", "", "127.0.0.*"))
	if r := libtest.Get(t, f, s.Site().URL("/")); string(r.Body) != "direct" || r.IP != "127.0.0.1" {
		t.Errorf("%v %q", r.Status, r.Body)
	}
}

// Every kind of proxy, with a password and without, to http and to https.
func TestProxyKinds(t *testing.T) {
	for _, kind := range []string{"http", "https", "socks5"} {
		for _, user := range []string{"", "me"} {
			plain, secure := testsite.Start(t, testsite.Options{}), testsite.Start(t, testsite.Options{TLS: true, Names: []string{"site.example"}})
			for _, s := range []*testsite.Server{plain, secure} {
				s.Host("site.example").Page("/p", "page")
			}
			for scheme, target := range map[string]*testsite.Server{"http": plain, "https": secure} {
				proxy := testsite.StartProxy(t, testsite.ProxyOptions{Kind: kind, User: user, Password: "pw", Target: target.Addr()})
				base := []func(*Config){allow(), names(nil), func(c *Config) { c.HTTP.TLSCertificatesCheck = false }}
				f := fetcher(t, append(base, via(kind, proxy.Addr(), user, "pw"))...)
				if r := libtest.Get(t, f, scheme+"://site.example/p"); string(r.Body) != "page" || r.IP != "" {
					t.Errorf("%s proxy, user %q, %s: %v %q", kind, user, scheme, r.Status, r.Body)
				}
				if asked := proxy.Asked(); len(asked) != 1 || !strings.Contains(asked[0], "site.example") {
					t.Errorf("%s proxy, user %q, %s: asked for %q", kind, user, scheme, asked)
				}
				if user == "" {
					continue
				}
				f = fetcher(t, append(base, via(kind, proxy.Addr(), user, "no"))...)
				if r := libtest.Get(t, f, scheme+"://site.example/p"); r.Status.Code != model.ProtocolException || len(proxy.Asked()) != 1 {
					t.Errorf("%s proxy, wrong password, %s: %v", kind, scheme, r.Status)
				}
			}
		}
	}
}
