package libhttp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
	"github.com/gonutch/crawler/sdk/extension/protocol"
)

// call is a request on its way: sent once, or again with credentials. It is
// used by one goroutine.
type call struct {
	x      *exchange // of the last time it was sent
	u      *url.URL  // with the host in canonical form
	method string
	body   []byte
	header http.Header // shared; never changed
	page   bool        // may carry cookies and credentials
	keep   bool        // belongs to a login: cookies are kept whatever the host
	// recordCookie is the Cookie of the record's metadata.
	recordCookie string
	allowPrivate []string // of the request
	conditional  bool

	authorization string // of the next time it is sent
	ntlm          bool   // over the NTLM connection
	message       string // why credentials were of no use
	sent          *http.Request
}

// newCall prepares the request that req asks for.
func (f *Fetcher) newCall(x *exchange, u *url.URL, req *protocol.Request) *call {
	c := &call{x: x, u: canonicalURL(u, x), method: http.MethodGet, page: req.Kind == protocol.Page, allowPrivate: req.AllowPrivate}
	c.header, c.conditional = f.requestHeader(x, req)
	if c.page && f.cfg.HTTP.Cookies {
		c.recordCookie = req.Metadata.First("Cookie")
	}
	return c
}

// canonicalURL is u with the host as it is sent and compared.
func canonicalURL(u *url.URL, x *exchange) *url.URL {
	out := *u
	out.User, out.Host = nil, x.host
	if strings.IndexByte(x.host, ':') >= 0 {
		out.Host = "[" + x.host + "]"
	}
	if x.port != 80 && u.Scheme == "http" || x.port != 443 && u.Scheme == "https" {
		out.Host += ":" + strconv.Itoa(int(x.port))
	}
	return &out
}

func (c *call) hostPort() string { return net.JoinHostPort(c.x.host, strconv.Itoa(int(c.x.port))) }

// login returns the form login that c needs, or nil.
func (c *call) login() *login {
	if !c.page {
		return nil
	}
	for _, s := range c.x.sites {
		if s.login != nil {
			return s.login
		}
	}
	return nil
}

// newExchange judges what can be judged before a connection: the host's form,
// and, where a proxy connects in our place, addresses given as such.
func (f *Fetcher) newExchange(u *url.URL, req *protocol.Request) (*exchange, error) {
	host, addr, err := libaddr.CanonicalHost(u.Hostname())
	if err != nil {
		return nil, err
	}
	port := uint64(80)
	if u.Scheme == "https" {
		port = 443
	}
	if p := u.Port(); p != "" {
		if port, err = strconv.ParseUint(p, 10, 16); err != nil || port == 0 {
			return nil, fmt.Errorf("port %q", p)
		}
	}
	x := &exchange{host: host, port: uint16(port), proxied: f.proxy.applies(host)}
	perm, err := f.permission(req.AllowPrivate)
	if err != nil {
		return nil, err
	}
	if perm != nil {
		x.allowed = perm.policy
	}
	x.sites = f.sitesOf(u.Scheme, x.host, x.port)
	if !x.proxied {
		if perm != nil {
			x.pool = perm.poolHost(host, u.Port())
		}
		return x, nil
	}
	if libaddr.IsLocalhost(host) {
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	if addr.IsValid() {
		return x, f.dialer.Check(host, netip.AddrPortFrom(addr, x.port), x.allowed)
	}
	return x, nil
}

// requestHeader returns the header to send and whether it has a condition.
func (f *Fetcher) requestHeader(x *exchange, req *protocol.Request) (http.Header, bool) {
	since := f.cfg.HTTP.EnableIfModifiedSince && isHeaderValue(req.LastModified)
	etag := f.cfg.HTTP.EnableETag && isHeaderValue(req.ETag)
	h := f.headerOf(x, req.Kind)
	if !since && !etag && len(req.Headers) == 0 {
		return h, false
	}
	h = h.Clone()
	for name, v := range req.Headers {
		h[textproto.CanonicalMIMEHeaderKey(name)] = v
	}
	if since {
		h["If-Modified-Since"] = []string{req.LastModified}
	}
	if etag {
		h["If-None-Match"] = []string{req.ETag}
	}
	return h, since || etag
}

// headerOf returns what goes with every request to x: with the User-Agent
// whose turn it is, and the headers of x's sites over the general ones.
func (f *Fetcher) headerOf(x *exchange, kind protocol.Kind) http.Header {
	h := f.header
	if n := len(f.agents); n > 0 && kind == protocol.Page {
		h = h.Clone()
		h["User-Agent"] = []string{f.agents[f.nextAgent.Add(1)%uint64(n)]}
	}
	for _, s := range x.sites {
		if s.header == nil {
			continue
		}
		h = h.Clone()
		for name, v := range s.header {
			h[name] = v
		}
	}
	return h
}

// isHeaderValue reports whether v is something that can be sent; what a
// server once sent as an ETag may not be.
func isHeaderValue(v string) bool {
	for i := range len(v) {
		if v[i] < ' ' && v[i] != '\t' || v[i] == 0x7f {
			return false
		}
	}
	return v != ""
}

// send sends c as it is now and returns the answer's head. Cookies are added
// and taken, if c may have any.
func (f *Fetcher) send(ctx context.Context, c *call) (*http.Response, error) {
	x := *c.x // a dial of the last time may still be looking at its own
	x.conn, x.heads = nil, nil
	transport := f.transport
	x.tls, x.alpn = f.tls, f.alpn
	for _, s := range x.sites {
		if s.tls != nil {
			x.tls, transport = s.tls, s.transport
			break
		}
	}
	if c.ntlm {
		transport, x.alpn = f.ntlmTransport, []string{"http/1.1"}
	}
	c.x = &x
	header := c.header
	if cookie := f.cookieOf(c); cookie != "" || c.authorization != "" {
		header = header.Clone()
		if cookie != "" {
			header["Cookie"] = []string{cookie}
		}
		if c.authorization != "" {
			header["Authorization"] = []string{c.authorization}
		}
	}
	u := *c.u
	if x.pool != "" {
		u.Host = x.pool
	}
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { x.gotConn(i.Conn) }}
	ctx = httptrace.WithClientTrace(context.WithValue(ctx, exchangeKey{}, &x), trace)
	c.sent = (&http.Request{
		Method: c.method, URL: &u, Host: c.u.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if c.body != nil {
		c.sent.Body, c.sent.ContentLength = io.NopCloser(bytes.NewReader(c.body)), int64(len(c.body))
		c.sent.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.body)), nil }
	}
	resp, err := transport.RoundTrip(c.sent)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusProxyAuthRequired && x.proxied && c.u.Scheme == "http" && f.proxy.url.Scheme != "socks5" {
		_ = resp.Body.Close() // the proxy's answer, which tells nothing of page, host or robots.txt
		return nil, fmt.Errorf("proxy %s: %s%s", f.proxy, resp.Status, proxyLogin)
	}
	f.takeCookies(c, resp)
	return resp, nil
}
