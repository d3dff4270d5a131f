package libhttp

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
)

// exchangeKey finds an exchange in the contexts that net/http hands to the
// dial functions.
type exchangeKey struct{}

// exchange is what one Fetch and the dial functions share. All but conn and
// heads is set before the exchange starts and never changed: a dial may
// outlive it.
type exchange struct {
	host    string // canonical
	port    uint16
	allowed *libaddr.Policy // of the request
	proxied bool
	pool    string      // host in the URL that net/http gets, "" for the real one
	sites   []*site     // that hold for host and port
	tls     *tls.Config // for the server
	alpn    []string
	conn    net.Conn // that net/http chose; touched by Fetch's goroutine only
	heads   *heads   // of this exchange on conn, when that is a wireConn; likewise
}

// gotConn is called by net/http in the goroutine of RoundTrip, before the
// request is written, each time it chooses a connection.
func (x *exchange) gotConn(c net.Conn) {
	x.conn = c
	if w, ok := c.(*wireConn); ok {
		x.heads = &heads{}
		w.begin(x.heads)
	}
}

// newNTLMTransport has one connection for each host: NTLM is about connections.
func (f *Fetcher) newNTLMTransport() *http.Transport {
	t := f.newTransport(&f.cfg, f.tls.Clone())
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	t.Protocols, t.ForceAttemptHTTP2 = &protocols, false
	t.MaxConnsPerHost, t.MaxIdleConnsPerHost = 1, 1
	return t
}

func (f *Fetcher) newTransport(cfg *Config, t *tls.Config) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(cfg.HTTP.HTTP2)
	perHost := cfg.Own.IdleConnectionsPerHost
	if f.proxy != nil { // to net/http, all that goes through a proxy is one host
		perHost = cfg.Own.IdleConnections
	}
	return &http.Transport{
		DialContext:            f.dialPlain,
		DialTLSContext:         f.dialTLS,
		Proxy:                  f.proxyFor,
		OnProxyConnectResponse: f.connected,
		TLSClientConfig:        t, // under a proxy; else dialTLS has its own
		TLSHandshakeTimeout:    cfg.HTTP.ConnectTimeout.D(),
		ResponseHeaderTimeout:  cfg.HTTP.ReadTimeout.D(),
		MaxResponseHeaderBytes: int64(cfg.HTTP.MaxHeaderSize),
		MaxIdleConns:           cfg.Own.IdleConnections,
		MaxIdleConnsPerHost:    perHost,
		IdleConnTimeout:        cfg.Own.IdleTimeout.D(),
		DisableCompression:     true, // decoded here, with limits
		ForceAttemptHTTP2:      cfg.HTTP.HTTP2,
		Protocols:              &protocols,
	}
}

// connected is asked about the proxy's answer to req, which wants a tunnel.
func (f *Fetcher) connected(_ context.Context, _ *url.URL, req *http.Request, resp *http.Response) error {
	if err := tunnelled(req.Host, resp); err != nil {
		return fmt.Errorf("proxy %s: %w", f.proxy, err)
	}
	return nil
}

func (f *Fetcher) proxyFor(r *http.Request) (*url.URL, error) {
	if x, ok := r.Context().Value(exchangeKey{}).(*exchange); ok && x.proxied {
		return f.proxy.url, nil
	}
	return nil, nil
}

// dialPlain connects to the exchange's host, or to the proxy. The address
// that net/http passes is its name for the pool only.
func (f *Fetcher) dialPlain(ctx context.Context, _, _ string) (net.Conn, error) {
	x, err := exchangeOf(ctx)
	if err != nil {
		return nil, err
	}
	var c net.Conn
	if x.proxied {
		c, err = f.dialProxy(ctx)
	} else {
		c, err = f.dialer.Dial(ctx, x.host, x.port, x.allowed)
	}
	if err != nil {
		return nil, err
	}
	return newWireConn(c, f.maxHead), nil
}

// dialProxy connects to the proxy, whose address the user chose.
func (f *Fetcher) dialProxy(ctx context.Context) (net.Conn, error) {
	c, err := f.dialer.DialUnchecked(ctx, f.proxy.host, f.proxy.port)
	if err != nil {
		return nil, fmt.Errorf("proxy %s (http.proxy_host, http.proxy_port): %w", f.proxy, err)
	}
	return c, nil
}

func (f *Fetcher) dialTLS(ctx context.Context, _, _ string) (net.Conn, error) {
	x, err := exchangeOf(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.connectTimeout,
		fmt.Errorf("no connection within connect_timeout (%s): %w", f.connectTimeout, context.DeadlineExceeded))
	defer cancel()
	if x.proxied { // the way to an https proxy
		c, err := f.dialProxy(ctx)
		if err != nil {
			return nil, err
		}
		tc, err := handshake(ctx, f.tls, c, f.proxy.host, []string{"http/1.1"})
		if err != nil {
			return nil, err
		}
		return newWireConn(tc, f.maxHead), nil
	}
	c, err := f.dialer.Dial(ctx, x.host, x.port, x.allowed)
	if err != nil {
		return nil, err
	}
	tc, err := handshake(ctx, x.tls, c, x.host, x.alpn)
	if err != nil {
		return nil, err
	}
	if tc.ConnectionState().NegotiatedProtocol == "h2" {
		return tc, nil
	}
	return newWireConn(tc, f.maxHead), nil
}

func exchangeOf(ctx context.Context) (*exchange, error) {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, fmt.Errorf("connection without a request")
	}
	return x, nil
}

func handshake(ctx context.Context, cfg *tls.Config, c net.Conn, name string, alpn []string) (*tls.Conn, error) {
	cfg = cfg.Clone()
	cfg.ServerName, cfg.NextProtos = name, alpn
	tc := tls.Client(c, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("TLS with %s: %w", name, err)
	}
	return tc, nil
}
