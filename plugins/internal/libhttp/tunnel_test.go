package libhttp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
	"github.com/gonutch/crawler/sdk/testsite"
)

// say sends a request through c and returns what comes back.
func say(t *testing.T, c net.Conn, host string) string {
	t.Helper()
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTunnel(t *testing.T) {
	target := testsite.Start(t, testsite.Options{})
	target.Host("site.example").Page("/", "through the tunnel")
	port := uint16(target.Port())
	plain, secure := testsite.Start(t, testsite.Options{}), testsite.Start(t, testsite.Options{TLS: true})
	startProxy(plain, "site.example", target.Addr())
	startProxy(secure, "site.example", target.Addr())
	socks := testsite.StartProxy(t, testsite.ProxyOptions{Kind: "socks5", User: "me", Password: "pw", Target: target.Addr()})
	noCheck := func(c *Config) { c.HTTP.TLSCertificatesCheck = false }
	for name, change := range map[string][]func(*Config){
		"direct": {allow("site.example"), names(map[string]string{"site.example": "127.0.0.1"})},
		"http":   {allow(), names(nil), via("http", plain.Addr(), "me", "pw")},
		"https":  {allow(), names(nil), via("https", secure.Addr(), "me", "pw"), noCheck},
		"socks5": {allow(), names(nil), via("socks5", socks.Addr(), "me", "pw")},
	} {
		c, err := fetcher(t, change...).Tunnel(t.Context(), "site.example", port, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := say(t, c, "site.example"); !strings.Contains(got, "through the tunnel") {
			t.Errorf("%s: %q", name, got)
		}
	}
	for name, change := range map[string][]func(*Config){
		"http":   {allow(), names(nil), via("http", plain.Addr(), "me", "no")},
		"socks5": {allow(), names(nil), via("socks5", socks.Addr(), "me", "no")},
	} {
		if c, err := fetcher(t, change...).Tunnel(t.Context(), "site.example", port, nil); err == nil {
			_ = c.Close()
			t.Errorf("%s with a wrong password: no error", name)
		}
	}
	for _, host := range []string{"127.0.0.1", "in.example", "2130706433", "::1"} {
		f := fetcher(t, allow(), names(map[string]string{"in.example": "127.0.0.1"}))
		c, err := f.Tunnel(t.Context(), host, port, nil)
		if r := (*libaddr.Refused)(nil); !errors.As(err, &r) {
			t.Errorf("%s: %v, %v; want it refused", host, c, err)
		}
	}
	f := fetcher(t, allow(), names(map[string]string{"in.example": "127.0.0.1"}))
	c, err := f.Tunnel(t.Context(), "in.example", port, []string{fmt.Sprintf("in.example:%d", port)})
	if err != nil {
		t.Fatalf("allowed by the request: %v", err)
	}
	_ = c.Close()
}
