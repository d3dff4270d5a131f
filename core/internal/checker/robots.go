package checker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/robots"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/step/fetch"
	"github.com/gonutch/crawler/core/internal/step/inject"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
)

// maxOrigins bounds the robots.txt files that are remembered.
const maxOrigins = 10_000

// robotsCache remembers what origins allow. The zero value is ready for use.
type robotsCache struct {
	mu      sync.Mutex
	origins map[string]allowed
}

// allowed is what a robots.txt says to this crawler.
type allowed struct {
	rules    *robots.Rules
	deferred string // why the host can't be asked; "" when it can
	delay    time.Duration
}

// rules returns those for url, asking the host when it was not asked before;
// the caller has the host's turn.
func (k *Checker) rules(ctx context.Context, t *turn, url string, private []string) (allowed, error) {
	origin := urlkey.Origin(url)
	k.robots.mu.Lock()
	a, ok := k.robots.origins[origin]
	k.robots.mu.Unlock()
	if ok {
		return a, nil
	}
	if err := t.wait(ctx, k.fetch.Queue.Delay); err != nil {
		return allowed{}, err
	}
	answer, err := askRobots(ctx, k.crawl.Chains, &k.fetch.Robots, origin+"/robots.txt", private, func() { t.last = time.Now() })
	if err != nil {
		return allowed{}, err
	}
	e := robots.Update(nil, answer, time.Now(), k.fetch.Robots.Policy)
	a = allowed{rules: e.Rules(k.fetch.Robots.Agents)}
	a.delay = a.rules.CrawlDelay
	if _, deferred := e.Deferred(); deferred && k.fetch.Robots.Defer {
		a.deferred = e.Reason
	}
	k.robots.mu.Lock()
	defer k.robots.mu.Unlock()
	if k.robots.origins == nil || len(k.robots.origins) >= maxOrigins {
		k.robots.origins = map[string]allowed{}
	}
	k.robots.origins[origin] = a
	return a, nil
}

// Robots fetches the robots.txt at target, which the user named, over redirects, and returns
// what its answer means.
func Robots(ctx context.Context, c *crawl.Crawl, cfg *fetch.RobotsConfig, target string) (robots.Entry, error) {
	var private []string
	if hp := inject.Private(target); hp != "" {
		private = []string{hp}
	}
	answer, err := askRobots(ctx, c.Chains, cfg, target, private, func() {})
	if err != nil {
		return robots.Entry{}, err
	}
	return robots.Update(nil, answer, time.Now(), cfg.Policy), nil
}

// askRobots fetches target over redirects and calls asked after each request. Addresses in
// private may be reached only at target's own host and port.
func askRobots(ctx context.Context, c *chain.Chains, cfg *fetch.RobotsConfig, target string, private []string, asked func()) (robots.Answer, error) {
	first := urlkey.HostPort(target)
	for hops := 0; ; hops++ {
		resp, err := c.Fetch(ctx, &protocol.Request{URL: target, Kind: protocol.Robots, MaxBytes: cfg.ContentLimit, AllowPrivate: private})
		if err != nil {
			return robots.Answer{}, err
		}
		asked()
		moved := resp.Status.Code == model.ProtocolMoved || resp.Status.Code == model.ProtocolTempMoved
		next, follow := robots.Redirect(target, resp.Location, hops, cfg.Policy)
		if !moved || !follow {
			return robots.Answer{Status: resp.Status, Body: resp.Body, Truncated: resp.Truncated, RetryAfter: resp.RetryAfter}, nil
		}
		if urlkey.HostPort(next) != first {
			private = nil
		}
		target = next
	}
}

// denies returns the record of a fetch that must not be made, or nil.
func (a allowed) denies(url string, maxDelay time.Duration) *segment.Fetch {
	now := time.Now()
	because := func(code model.ProtocolCode, status model.Status, why string) *segment.Fetch {
		return &segment.Fetch{URL: url, Status: status, FetchTime: now, Protocol: model.ProtocolStatus{Code: code, Message: why}}
	}
	switch v := a.rules.Check(url); {
	case a.deferred != "":
		return because(model.ProtocolRetry, model.StatusFetchRetry, "robots.txt can't be had: "+a.deferred)
	case !v.Allowed:
		f := fetch.Denied(url, v, now)
		return &f
	case maxDelay >= 0 && a.delay > maxDelay:
		return because(model.ProtocolRobotsDenied, model.StatusFetchRetry,
			fmt.Sprintf("robots.txt asks for a delay of %s, which is more than fetcher.max_crawl_delay", a.delay))
	}
	return nil
}
