package libhttp

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	netproxy "golang.org/x/net/proxy"

	"github.com/gonutch/crawler/sdk/extension/protocol"
)

// Tunnel connects to host and port with the checks of a fetch: no address that
// neither http.allow_private nor allowPrivate opens, and through the configured
// proxy where it applies. It is for clients that speak HTTP by themselves, such as
// a browser. Addresses that are refused are a *libaddr.Refused. The caller closes the
// connection.
func (f *Fetcher) Tunnel(ctx context.Context, host string, port uint16, allowPrivate []string) (net.Conn, error) {
	hostport := net.JoinHostPort(host, strconv.Itoa(int(port)))
	x, err := f.newExchange(&url.URL{Scheme: "http", Host: hostport}, &protocol.Request{AllowPrivate: allowPrivate})
	if err != nil {
		return nil, err
	}
	if !x.proxied {
		return f.dialer.Dial(ctx, x.host, port, x.allowed)
	}
	if f.proxy.url.Scheme == "socks5" {
		return f.tunnelSOCKS(ctx, hostport)
	}
	c, err := f.dialProxy(ctx)
	if err != nil {
		return nil, err
	}
	if f.proxy.url.Scheme == "https" {
		if c, err = handshake(ctx, f.tls, c, f.proxy.host, []string{"http/1.1"}); err != nil {
			return nil, err
		}
	}
	if err := f.connect(ctx, c, hostport); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("proxy %s: %w", f.proxy, err)
	}
	return c, nil
}

// connect asks an HTTP proxy at c for a tunnel (RFC 9110 section 9.3.6).
func (f *Fetcher) connect(ctx context.Context, c net.Conn, hostport string) error {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := c.SetDeadline(time.Now().Add(f.connectTimeout)); err != nil {
		return err
	}
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: hostport}, Host: hostport, Header: http.Header{}}
	if u := f.proxy.url.User; u != nil {
		password, _ := u.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	if err := req.Write(c); err != nil {
		return err
	}
	r := bufio.NewReaderSize(onlyHead{c}, 1)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if err := tunnelled(hostport, resp); err != nil {
		return err
	}
	return c.SetDeadline(time.Time{})
}

// tunnelled is the error of a proxy's answer when it is asked for a tunnel to hostport.
func tunnelled(hostport string, resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusProxyAuthRequired:
		return fmt.Errorf("no tunnel to %s: %s%s", hostport, resp.Status, proxyLogin)
	}
	return fmt.Errorf("no tunnel to %s: %s", hostport, resp.Status)
}

// proxyLogin says behind an answer 407 what to look at.
const proxyLogin = " (http.proxy_username, http.proxy_password)"

// onlyHead reads a byte at a time, so that nothing behind a head is taken.
type onlyHead struct{ c net.Conn }

func (o onlyHead) Read(p []byte) (int, error) { return o.c.Read(p[:1]) }

func (f *Fetcher) tunnelSOCKS(ctx context.Context, hostport string) (net.Conn, error) {
	var auth *netproxy.Auth
	if u := f.proxy.url.User; u != nil {
		password, _ := u.Password()
		auth = &netproxy.Auth{User: u.Username(), Password: password}
	}
	d, err := netproxy.SOCKS5("tcp", f.proxy.url.Host, auth, toProxy{f})
	if err != nil {
		return nil, err
	}
	return d.(netproxy.ContextDialer).DialContext(ctx, "tcp", hostport)
}

// toProxy dials the proxy, whatever address is asked for.
type toProxy struct{ f *Fetcher }

// Dial implements proxy.Dialer.
func (t toProxy) Dial(_, _ string) (net.Conn, error) {
	return t.DialContext(context.Background(), "", "")
}

// DialContext implements proxy.ContextDialer.
func (t toProxy) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return t.f.dialProxy(ctx)
}
