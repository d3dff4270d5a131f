// Package libhttp fetches over HTTP: one HTTP/1.1 or HTTP/2 exchange per
// call, over checked addresses. It owns connections, proxies, logins, cookies,
// content encodings, the mapping of answers to protocol statuses, and the
// tolerance for servers that break the rules. It must not know plugins,
// robots rules, politeness, redirect following or the CrawlDB.
//
// Invariants:
//  1. Every connection goes to an address that libaddr checked for this very
//     request's permission; a pooled connection is only reused by requests with
//     the same permission.
//  2. A body that could not be read whole is a success with a reason in
//     Truncated, never an error.
//  3. Memory follows the bytes that came, not what a header promises.
package libhttp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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
	ntlmTransport  *http.Transport
	connectTimeout time.Duration
	maxHead        int
	header         http.Header // sent with every request; never changed
	agents         []string    // User-Agents that take turns; none: that of header
	nextAgent      atomic.Uint64
	sites          []*site
	servers        servers
	cookies        cookies
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
	filter, err := libaddr.ParseFilter(cfg.HTTP.IPInclude, cfg.HTTP.IPExclude)
	if err != nil {
		return nil, invalid("http.filter_ipaddress_include, http.filter_ipaddress_exclude: %w", err)
	}
	f := &Fetcher{
		cfg: cfg, connectTimeout: cfg.HTTP.ConnectTimeout.D(), alpn: []string{"http/1.1"},
		policies: map[string]*permission{},
		// A head that net/http refuses has to get as far as net/http.
		maxHead: int(cfg.HTTP.MaxHeaderSize) + 4<<10,
		dialer: libaddr.Dialer{
			Policy: policy, Filter: filter, Timeout: cfg.HTTP.ConnectTimeout.D(),
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
	f.ntlmTransport = f.newNTLMTransport()
	f.header = baseHeader(&f.cfg.HTTP)
	if f.agents, err = cfg.HTTP.agents(); err != nil {
		return nil, err
	}
	if f.cookies.file, err = readCookieFile(cfg.HTTP.CookieFile); err != nil {
		return nil, err
	}
	f.cookies.all = cfg.HTTP.CookieJar
	sites, err := newSites(&f.cfg)
	if err != nil {
		return nil, err
	}
	f.useSites(sites)
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
	f.ntlmTransport.CloseIdleConnections()
	for _, s := range f.sites {
		if s.transport != nil {
			s.transport.CloseIdleConnections()
		}
	}
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

	c := f.newCall(x, u, req)
	resp, err := f.perform(parent, ctx, c, req, clock, out) //nolint:bodyclose // readBody closed it
	if resp == nil || err != nil {
		return err
	}
	f.describe(c, resp, out)
	return nil
}

// perform sends c, after a login where one is needed, and fills the body. It
// returns nil when out tells why there is no answer.
func (f *Fetcher) perform(parent, ctx context.Context, c *call, req *protocol.Request, clock *clock, out *protocol.Response) (*http.Response, error) {
	l := c.login()
	for again := false; ; again = true {
		born, err := f.ensureLogin(ctx, l, c)
		if err != nil {
			return nil, f.noAnswer(parent, clock, err, out)
		}
		resp, err := f.authenticated(ctx, c)
		if err != nil {
			return nil, f.noAnswer(parent, clock, err, out)
		}
		if err := f.readBody(parent, req, resp, clock, out); err != nil {
			return nil, err
		}
		if l == nil || !l.loggedOut(c, resp, out.Body) {
			return resp, nil
		}
		if again {
			return nil, failed(out, model.ProtocolAccessDenied, "logged out again right after the login of site %q", l.site.name)
		}
		if wait := l.expire(born); wait > 0 {
			return nil, f.noAnswer(parent, clock, l.loggedOutPause(wait), out)
		}
		out.Body, out.Truncated = nil, ""
		clock.rest()
	}
}

// noAnswer describes a failure before there was a response head.
func (f *Fetcher) noAnswer(parent context.Context, clock *clock, err error, out *protocol.Response) error {
	if r := (*libaddr.Refused)(nil); errors.As(err, &r) {
		return failed(out, model.ProtocolAccessDenied, "%v", r)
	}
	if errors.Is(parent.Err(), context.Canceled) {
		return fault.Errorf(fault.Transient, "fetch %s: called off: %w", out.URL, context.Cause(parent))
	}
	if p := (*loginPause)(nil); errors.As(err, &p) {
		out.RetryAfter = p.wait
		return failed(out, model.ProtocolException, "%v", err)
	}
	var netErr net.Error
	switch {
	case clock.fired.Load():
		return failed(out, model.ProtocolException, "no answer within the time limit (%s)", clock.end.Sub(clock.start))
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
func (f *Fetcher) describe(c *call, resp *http.Response, out *protocol.Response) {
	x := c.x
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
		out.RawRequest, out.RawResponse = textRequest(c.sent), textResponse(resp)
	}
	if x.proxied { // what the proxy got may have a password and is not what the server got
		out.IP, out.RawRequest = "", textRequest(c.sent)
	}
	f.hideSecrets(c, out)
	st := &out.Status
	st.HTTP = resp.StatusCode
	st.Code = CodeOf(resp.StatusCode, c.conditional)
	switch st.Code {
	case model.ProtocolSuccess, model.ProtocolNotModified:
	case model.ProtocolMoved, model.ProtocolTempMoved:
		if out.Location = Resolve(c.u, resp.Header.Get("Location")); out.Location == "" {
			*st = model.ProtocolStatus{Code: model.ProtocolException, HTTP: st.HTTP, Message: resp.Status + " without a usable Location"}
			break
		}
		st.Message = out.Location
	default:
		st.Message = strings.TrimSpace(resp.Status)
		if c.message != "" {
			st.Message = c.message
		}
		out.RetryAfter = RetryAfter(resp.Header.Get("Retry-After"), resp.Header.Get("Date"), time.Now())
	}
}

var _ protocol.Protocol = (*Fetcher)(nil)
