package protocolbrowser

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
	"github.com/gonutch/crawler/plugins/internal/libdomain"
	"github.com/gonutch/crawler/plugins/internal/libhttp"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// Fetcher is the protocol. It is safe for concurrent use; Close ends the browser.
type Fetcher struct {
	cfg   Config
	plan  *plan
	http  *libhttp.Fetcher // for what needs no browser, and for all connections
	pool  *pool
	slots chan struct{}
}

// NewFetcher checks cfg and builds a Fetcher; the browser is started by the first page.
// Errors are fault.Invalid.
func NewFetcher(cfg Config) (*Fetcher, error) {
	p, err := cfg.check()
	if err != nil {
		return nil, err
	}
	hc := libhttp.DefaultConfig()
	hc.HTTP, hc.Lookup = cfg.HTTP, cfg.Lookup
	h, err := libhttp.NewFetcher(hc)
	if err != nil {
		return nil, err
	}
	f := &Fetcher{cfg: cfg, plan: p, http: h, slots: make(chan struct{}, cfg.Own.Pages)}
	if f.pool, err = newPool(&f.cfg, p); err != nil {
		return nil, err
	}
	return f, nil
}

// Close ends the browser and waits until its processes are gone.
func (f *Fetcher) Close() error {
	f.pool.close()
	return f.http.Close()
}

func failed(out *protocol.Response, code model.ProtocolCode, format string, args ...any) {
	out.Status = model.ProtocolStatus{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Fetch shows one page; see protocol.Protocol. robots.txt files and sitemaps need no
// browser and are fetched as protocol-http does.
func (f *Fetcher) Fetch(ctx context.Context, req *protocol.Request) (*protocol.Response, error) {
	if req.Kind != protocol.Page {
		return f.http.Fetch(ctx, req)
	}
	start := time.Now()
	out := &protocol.Response{URL: req.URL, FetchTime: start}
	err := f.fetch(ctx, req, out)
	if err != nil && ctx.Err() != nil {
		return nil, fault.Errorf(fault.Transient, "fetch %s: called off: %w", req.URL, context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	out.Elapsed = time.Since(out.FetchTime)
	return out, nil
}

func (f *Fetcher) fetch(ctx context.Context, req *protocol.Request, out *protocol.Response) error {
	u, err := libhttp.ParseURL(req.URL)
	if err != nil {
		failed(out, model.ProtocolGone, "not a URL that can be asked for: %v", err)
		return nil
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		failed(out, model.ProtocolNotFoundProto, "scheme %q: only http and https are served", u.Scheme)
		return nil
	}
	host, _, err := libaddr.CanonicalHost(u.Hostname())
	if err != nil {
		failed(out, model.ProtocolGone, "not a URL that can be asked for: %v", err)
		return nil
	}
	limit := f.cfg.HTTP.TimeLimit.D()
	if req.Timeout > 0 {
		limit = req.Timeout
	}
	end := time.Now().Add(limit)
	if ok, err := f.slot(ctx, max(limit-f.cfg.Own.PageTimeout.D(), limit/2)); !ok {
		if err == nil {
			failed(out, model.ProtocolException, "all pages of the browser were busy (pages = %d)", f.cfg.Own.Pages)
		}
		return err
	}
	defer func() { <-f.slots }()
	out.FetchTime = time.Now()
	g, err := openGate(f.gateRules(host, req.AllowPrivate))
	if err != nil {
		return fault.New(fault.Transient, err)
	}
	defer g.close()
	c, err := f.pool.acquire()
	if err != nil {
		return err
	}
	defer f.pool.release(c)
	v := &visit{
		f: f, req: req, out: out, u: u, g: g, deadline: minTime(end, out.FetchTime.Add(f.cfg.Own.PageTimeout.D())),
		events: make(chan struct{}, 1), changed: make(chan struct{}), hosts: map[string]int{}, refused: map[string]int{},
		inflight: map[string]bool{},
	}
	return v.run(ctx, c)
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// slot waits for a free page, for so long; false with a nil error when none came.
func (f *Fetcher) slot(ctx context.Context, limit time.Duration) (bool, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case f.slots <- struct{}{}:
		return true, nil
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// gateRules are those of a page of the canonical host.
func (f *Fetcher) gateRules(host string, allowPrivate []string) gateRules {
	return gateRules{
		dial: func(ctx context.Context, h string, port uint16) (net.Conn, error) {
			return f.http.Tunnel(ctx, h, port, allowPrivate)
		},
		host:     func(h string) error { return f.mayLoad(host, h) },
		maxConns: 2*f.cfg.Own.MaxRequests + 20, maxBytes: int64(f.cfg.Own.MaxPageBytes),
		timeout: f.cfg.HTTP.ConnectTimeout.D() + time.Second,
	}
}

// mayLoad decides by the setting subrequests whether a page of host may load from other.
// Both are canonical.
func (f *Fetcher) mayLoad(host, other string) error {
	switch {
	case host == other || f.cfg.Own.SubRequests == "all":
		return nil
	case f.cfg.Own.SubRequests == "domain" && registered(host) == registered(other):
		return nil
	}
	return errGate(fmt.Sprintf("%s is another %s (subrequests = %q)", other, f.cfg.Own.SubRequests, f.cfg.Own.SubRequests))
}

func registered(host string) string {
	if domain, _ := libdomain.Split(host); domain != "" {
		return domain
	}
	return host
}

// hostPort is where requests for u connect to.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	host, _, err := libaddr.CanonicalHost(u.Hostname())
	if err != nil {
		host = strings.ToLower(u.Hostname())
	}
	return net.JoinHostPort(host, port)
}

var _ protocol.Protocol = (*Fetcher)(nil)
