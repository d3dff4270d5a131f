package protocolhttp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// Fetcher is the protocol. It is safe for concurrent use; Close releases its
// idle connections.
type Fetcher struct {
	cfg            Config
	dialer         libaddr.Dialer
	tls            *tls.Config
	alpn           []string
	proxy          *proxy
	transport      *http.Transport
	connectTimeout time.Duration
	maxHead        int
	header         http.Header // sent with every request; never changed
	decoders       decoders
	buffers        buffers

	mu       sync.Mutex
	policies map[string]*permission // parsed AllowPrivate lists
}

// NewFetcher checks cfg and builds a Fetcher. Errors are fault.Invalid.
func NewFetcher(cfg Config) (*Fetcher, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	policy, err := libaddr.ParsePolicy(cfg.HTTP.AllowPrivate)
	if err != nil {
		return nil, invalid("http.allow_private: %w", err)
	}
	f := &Fetcher{
		cfg: cfg, connectTimeout: cfg.HTTP.ConnectTimeout.D(), alpn: []string{"http/1.1"},
		policies: map[string]*permission{},
		// A head that net/http refuses has to get as far as net/http.
		maxHead: int(cfg.HTTP.MaxHeaderSize) + 4<<10,
		dialer: libaddr.Dialer{
			Policy: policy, Timeout: cfg.HTTP.ConnectTimeout.D(),
			Resolver: libaddr.NewResolver(libaddr.ResolverConfig{
				Lookup: cfg.Lookup, TTL: cfg.HTTP.DNSCacheTTL.D(), Timeout: cfg.HTTP.ConnectTimeout.D(),
			}),
		},
	}
	if cfg.HTTP.HTTP2 {
		f.alpn = []string{"h2", "http/1.1"}
	}
	if f.proxy, err = cfg.HTTP.proxy(); err != nil {
		return nil, err
	}
	if f.tls, err = cfg.tlsConfig(); err != nil {
		return nil, err
	}
	f.transport = f.newTransport(&f.cfg, f.tls.Clone())
	f.header = baseHeader(&f.cfg.HTTP)
	return f, nil
}

func baseHeader(c *HTTPConfig) http.Header {
	h := http.Header{"User-Agent": {c.UserAgent()}, "Accept-Encoding": {acceptEncoding}}
	for name, v := range map[string]string{"From": c.AgentEmail, "Accept": c.Accept, "Accept-Language": c.AcceptLanguage} {
		if v = strings.TrimSpace(v); v != "" {
			h[name] = []string{v}
		}
	}
	return h
}

// Close closes the connections that are kept open.
func (f *Fetcher) Close() error {
	f.transport.CloseIdleConnections()
	return nil
}

// Fetch performs one exchange; see protocol.Protocol.
func (f *Fetcher) Fetch(ctx context.Context, req *protocol.Request) (*protocol.Response, error) {
	start := time.Now()
	out := &protocol.Response{URL: req.URL, FetchTime: start}
	err := f.fetch(ctx, req, out)
	out.Elapsed = time.Since(start)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func failed(out *protocol.Response, code model.ProtocolCode, format string, args ...any) error {
	out.Status = model.ProtocolStatus{Code: code, Message: fmt.Sprintf(format, args...)}
	return nil
}

func (f *Fetcher) fetch(parent context.Context, req *protocol.Request, out *protocol.Response) error {
	u, err := ParseURL(req.URL)
	if err != nil {
		return failed(out, model.ProtocolGone, "not a URL that can be asked for: %v", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return failed(out, model.ProtocolNotFoundProto, "scheme %q: only http and https are served", u.Scheme)
	}
	x, err := f.newExchange(u, req)
	if err != nil {
		if r := (*libaddr.Refused)(nil); errors.As(err, &r) {
			return failed(out, model.ProtocolAccessDenied, "%v", r)
		}
		if fault.Is(err, fault.Invalid) {
			return err
		}
		return failed(out, model.ProtocolGone, "not a URL that can be asked for: %v", err)
	}
	total := f.cfg.HTTP.TimeLimit.D()
	if req.Timeout > 0 {
		total = req.Timeout
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	clock := newClock(out.FetchTime, total, f.cfg.HTTP.ReadTimeout.D(), cancel)
	defer clock.stop()

	header, conditional := f.requestHeader(req)
	hr := f.request(ctx, x, u, header)
	resp, err := f.transport.RoundTrip(hr) //nolint:bodyclose // readBody closes it
	if err != nil {
		return f.noAnswer(parent, clock, total, err, out)
	}
	if err := f.readBody(parent, req, resp, clock, out); err != nil {
		return err
	}
	f.describe(hr, u, x, resp, conditional, out)
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
	if !x.proxied {
		if perm != nil {
			u.Host = perm.poolHost(host, u.Port())
		}
		return x, nil
	}
	if libaddr.IsLocalhost(host) {
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	if addr.IsValid() {
		return x, libaddr.Check(host, netip.AddrPortFrom(addr, x.port), f.dialer.Policy, x.allowed)
	}
	return x, nil
}

// permission is a parsed AllowPrivate list.
type permission struct {
	policy *libaddr.Policy
	key    string // one for each list
}

// poolHost is the name of host in the pool of connections for requests with
// this permission, so that no request without it gets such a connection. It is
// never looked up.
func (p *permission) poolHost(host, port string) string {
	name := p.key + "." + strings.ReplaceAll(host, ":", "-")
	if port != "" {
		name += ":" + port
	}
	return name
}

// maxPermissions bounds the parsed lists kept; one crawl has a few.
const maxPermissions = 1024

// permission returns nil for an empty list.
func (f *Fetcher) permission(list []string) (*permission, error) {
	if len(list) == 0 {
		return nil, nil
	}
	joined := list[0]
	if len(list) > 1 {
		joined = strings.Join(list, "\n")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if p, ok := f.policies[joined]; ok {
		return p, nil
	}
	policy, err := libaddr.ParsePolicy(list)
	if err != nil {
		return nil, fmt.Errorf("request's AllowPrivate: %w", err)
	}
	if len(f.policies) >= maxPermissions {
		clear(f.policies)
	}
	p := &permission{policy: policy, key: "allow-" + strconv.FormatUint(xxhash.Sum64String(joined), 16)}
	f.policies[joined] = p
	return p, nil
}

// requestHeader returns the header to send and whether it has a condition.
func (f *Fetcher) requestHeader(req *protocol.Request) (http.Header, bool) {
	since := f.cfg.HTTP.EnableIfModifiedSince && isHeaderValue(req.LastModified)
	etag := f.cfg.HTTP.EnableETag && isHeaderValue(req.ETag)
	cookie := ""
	if f.cfg.HTTP.Cookies && req.Kind == protocol.Page {
		cookie = req.Metadata.First("Cookie")
	}
	if !since && !etag && !isHeaderValue(cookie) {
		return f.header, false
	}
	h := f.header.Clone()
	if since {
		h["If-Modified-Since"] = []string{req.LastModified}
	}
	if etag {
		h["If-None-Match"] = []string{req.ETag}
	}
	if isHeaderValue(cookie) {
		h["Cookie"] = []string{cookie}
	}
	return h, since || etag
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

func (f *Fetcher) request(ctx context.Context, x *exchange, u *url.URL, header http.Header) *http.Request {
	host := x.host
	if strings.IndexByte(host, ':') >= 0 {
		host = "[" + host + "]"
	}
	if x.port != 80 && u.Scheme == "http" || x.port != 443 && u.Scheme == "https" {
		host += ":" + strconv.Itoa(int(x.port))
	}
	if x.proxied {
		u.Host = host
	}
	u.User = nil
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { x.gotConn(i.Conn) }}
	ctx = httptrace.WithClientTrace(context.WithValue(ctx, exchangeKey{}, x), trace)
	return (&http.Request{
		Method: http.MethodGet, URL: u, Host: host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
}

// noAnswer describes a failure before there was a response head.
func (f *Fetcher) noAnswer(parent context.Context, clock *clock, total time.Duration, err error, out *protocol.Response) error {
	if r := (*libaddr.Refused)(nil); errors.As(err, &r) {
		return failed(out, model.ProtocolAccessDenied, "%v", r)
	}
	if errors.Is(parent.Err(), context.Canceled) {
		return fault.Errorf(fault.Transient, "fetch %s: called off: %w", out.URL, context.Cause(parent))
	}
	var netErr net.Error
	switch {
	case clock.fired.Load():
		return failed(out, model.ProtocolException, "no answer within the time limit (%s)", total)
	case parent.Err() != nil:
		return failed(out, model.ProtocolException, "no answer within the caller's deadline")
	case errors.As(err, &netErr) && netErr.Timeout() && strings.Contains(err.Error(), "awaiting response headers"):
		return failed(out, model.ProtocolException, "no answer within read_timeout (%s)", f.cfg.HTTP.ReadTimeout)
	}
	message := err.Error()
	if certErr := (*tls.CertificateVerificationError)(nil); errors.As(err, &certErr) {
		message += " (http.tls_certificates_check)"
	}
	return failed(out, model.ProtocolException, "%s", message)
}

// readBody fills Body, Truncated and Status.Message from the response.
func (f *Fetcher) readBody(parent context.Context, req *protocol.Request, resp *http.Response, clock *clock, out *protocol.Response) error {
	defer func() { _ = resp.Body.Close() }()
	limit := int64(f.cfg.HTTP.ContentLimit)
	if req.MaxBytes != 0 {
		limit = req.MaxBytes
	}
	if limit < 0 {
		limit = math.MaxInt64 - encodedSlack - 1
	}
	clock.progress()
	wire := &wireReader{r: resp.Body, max: limit + encodedSlack, clock: clock}
	var (
		body  io.Reader = wire
		hint            = resp.ContentLength
		ratio           = 0
		err   error
	)
	if enc := resp.Header["Content-Encoding"]; len(enc) > 0 && resp.ContentLength != 0 {
		var d *decoding
		d, err = f.decoders.start(wire, enc)
		defer d.release()
		if body = d; len(d.undo) > 0 {
			hint, ratio = -1, f.cfg.Own.CompressionRatio
		}
	}
	if err == nil {
		out.Body, err = f.buffers.readAll(body, limit, hint, ratio, wire)
	}
	if err != nil && errors.Is(parent.Err(), context.Canceled) {
		return fault.Errorf(fault.Transient, "fetch %s: called off: %w", out.URL, context.Cause(parent))
	}
	timedOut := clock.fired.Load() || parent.Err() != nil
	out.Truncated, out.Status.Message = truncation(err, wire, timedOut)
	return nil
}

// describe fills everything of out but the body.
func (f *Fetcher) describe(hr *http.Request, u *url.URL, x *exchange, resp *http.Response, conditional bool, out *protocol.Response) {
	out.Headers = model.Metadata(resp.Header)
	out.ContentType = resp.Header.Get("Content-Type")
	out.Protocol = resp.Proto
	if resp.ProtoMajor == 2 {
		out.Protocol = "h2"
	}
	if w, exact := x.conn.(*wireConn); exact {
		out.IP = w.peer
		out.RawRequest, out.RawResponse = w.take(x.heads)
	} else {
		out.IP = peerOf(x.conn)
		out.RawRequest, out.RawResponse = textRequest(hr, u), textResponse(resp)
	}
	if x.proxied { // what the proxy got may have a password and is not what the server got
		out.IP, out.RawRequest = "", textRequest(hr, u)
	}
	st := &out.Status
	st.HTTP = resp.StatusCode
	st.Code = CodeOf(resp.StatusCode, conditional)
	switch st.Code {
	case model.ProtocolSuccess, model.ProtocolNotModified:
	case model.ProtocolMoved, model.ProtocolTempMoved:
		base := *u
		base.Host = hr.Host
		if out.Location = Resolve(&base, resp.Header.Get("Location")); out.Location == "" {
			*st = model.ProtocolStatus{Code: model.ProtocolException, HTTP: st.HTTP, Message: resp.Status + " without a usable Location"}
			break
		}
		st.Message = out.Location
	default:
		st.Message = strings.TrimSpace(resp.Status)
		out.RetryAfter = RetryAfter(resp.Header.Get("Retry-After"), resp.Header.Get("Date"), time.Now())
	}
}

var _ protocol.Protocol = (*Fetcher)(nil)
