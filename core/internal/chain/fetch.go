package chain

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/core/internal/pluginhost"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// Schemes returns the URL schemes that can be fetched, sorted.
func (c *Chains) Schemes() []string { return slices.Sorted(maps.Keys(c.protocols)) }

// Fetch performs one exchange with the protocol plugin of the URL's scheme. A
// scheme that no plugin serves, and a plugin that fails on this one request,
// are responses with a status; the error is not nil only when no fetch can
// succeed any more or ctx has ended. The caller takes care of politeness and of
// how many bodies are in memory.
func (c *Chains) Fetch(ctx context.Context, req *protocol.Request) (*protocol.Response, error) {
	scheme, _, ok := strings.Cut(req.URL, ":")
	m := c.protocolOf(req.URL, strings.ToLower(scheme))
	if !ok {
		return failedFetch(req.URL, model.ProtocolNotFoundProto, fmt.Sprintf("%q is no URL: it begins with no scheme, such as https://", req.URL)), nil
	}
	if m == nil {
		return failedFetch(req.URL, model.ProtocolNotFoundProto, "no protocol plugin for scheme "+fmt.Sprintf("%q", scheme)), nil
	}
	resp, err := c.fetch(ctx, m, req)
	m.records.Add(1)
	switch {
	case err == nil:
		return resp, nil
	case ends(ctx, err):
		return nil, fmt.Errorf("fetch %s: %w", req.URL, err)
	}
	m.errors.Add(1)
	code := model.ProtocolFailed
	if k := fault.KindOf(err); k == fault.Transient || k == fault.Shutdown {
		code = model.ProtocolException
	}
	return failedFetch(req.URL, code, named(m.id, err).Error()), nil
}

// protocolOf returns the plugin for a URL: that of the first rule that matches, the one
// named for its host, for its registered domain, for its scheme, the first that serves the scheme; nil when there is none.
func (c *Chains) protocolOf(url, scheme string) *member {
	for _, r := range c.opts.ProtocolRules {
		if r.URL.MatchString(url) {
			return c.members[r.ID]
		}
	}
	if len(c.opts.ProtocolOf) > 0 {
		host := urlkey.Host(url)
		for _, key := range []string{host, urlkey.DomainOf(host), scheme} {
			if id, ok := c.opts.ProtocolOf[key]; ok && key != "" {
				return c.members[id]
			}
		}
	}
	return c.protocols[scheme]
}

// fetch does not retry what the plugin reports: when to ask a server again is
// the fetcher's business. A request under way when the process died goes to
// the new one; only when that dies as well is it done in quarantine.
func (c *Chains) fetch(ctx context.Context, m *member, req *protocol.Request) (*protocol.Response, error) {
	if m.proc == nil {
		m.calls.Add(1)
		return m.local.Protocol.Fetch(ctx, req)
	}
	var resp *protocol.Response
	call := func(ctx context.Context, cc grpc.ClientConnInterface) (err error) {
		m.calls.Add(1)
		resp, err = m.fetcher(cc).Fetch(ctx, req)
		return err
	}
	limit := c.opts.FetchTimeout
	if req.Timeout > 0 {
		limit = req.Timeout
	}
	if limit > 0 {
		limit += c.opts.FetchGrace
	}
	var err error
	for range 2 {
		if err = m.proc.DoWithin(ctx, limit, 1, call); !pluginhost.IsLost(err) {
			return resp, err
		}
		m.retries.Add(1)
	}
	err = m.proc.Quarantine(ctx, limit, call)
	return resp, err
}

// fetcher returns the client of the process that cc leads to, the same for all
// requests: those under way at the same time share a call.
func (m *member) fetcher(cc grpc.ClientConnInterface) *protocol.Client {
	g := generation(cc)
	f := m.fetchers.Load()
	for f == nil || f.generation != g {
		fresh := &fetcher{generation: g, client: protocol.NewClient(cc)}
		if m.fetchers.CompareAndSwap(f, fresh) {
			return fresh.client
		}
		f = m.fetchers.Load()
	}
	return f.client
}

// fetcher is the client of one process.
type fetcher struct {
	generation uint64
	client     *protocol.Client
}

func failedFetch(url string, code model.ProtocolCode, msg string) *protocol.Response {
	return &protocol.Response{
		URL:       url,
		Status:    model.ProtocolStatus{Code: code, Message: msg},
		FetchTime: time.Now(),
	}
}
