package chain

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/gonutch/crawler/sdk/extension/urlexemption"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
)

// URLResult is what the normalizers and filters made of one URL. Plugin and
// Reason say who dropped it and why. Err is set when a plugin could not judge
// the URL; then neither URL nor Dropped means anything.
type URLResult struct {
	URL     string
	Dropped bool
	Plugin  string
	Reason  string
	Err     error
}

// scopeNumber numbers the scopes for the cache; others are served without it.
func scopeNumber(s urlnormalizer.Scope) (uint8, bool) {
	switch s {
	case urlnormalizer.ScopeDefault:
		return 0, true
	case urlnormalizer.ScopeInject:
		return 1, true
	case urlnormalizer.ScopeOutlink:
		return 2, true
	case urlnormalizer.ScopeFetcher:
		return 3, true
	case urlnormalizer.ScopeCrawlDB:
		return 4, true
	case urlnormalizer.ScopeLinkDB:
		return 5, true
	case urlnormalizer.ScopeGenerateHostCount:
		return 6, true
	case urlnormalizer.ScopePartition:
		return 7, true
	case urlnormalizer.ScopeIndexer:
		return 8, true
	}
	return 0, false
}

type (
	normalizeStage = stage[string, urlnormalizer.Result]
	filterStage    = stage[string, urlfilter.Verdict]
	exemptStage    = stage[urlexemption.Pair, bool]
)

// urlChain runs normalizers and filters over batches of URLs.
type urlChain struct {
	normalizers map[string]func(urlnormalizer.Scope) *normalizeStage // by plugin
	order       func(urlnormalizer.Scope) []*member
	filters     []*filterStage
	exemptions  []*exemptStage
	loops       int
	// cached is how many filters, after the normalizers, may be remembered; -1
	// when a normalizer may not.
	cached int
	opts   Options

	mu         sync.Mutex
	collectors map[urlnormalizer.Scope]*collector[string, URLResult]
	exempt     *collector[urlexemption.Pair, bool]
}

// NormalizeFilter brings URLs into their normal form and judges them: the
// normalizers of the scope in order, as often as Options.NormalizerLoops says,
// then the filters, of which the first rejection counts. The results are as
// many as the URLs, in their order. Calls of many goroutines share batches;
// answers come from the result cache where the plugins allow it.
func (c *Chains) NormalizeFilter(ctx context.Context, scope urlnormalizer.Scope, urls []string) ([]URLResult, error) {
	out := make([]URLResult, len(urls))
	missing := c.lookup(scope, urls, out)
	if len(missing) == 0 {
		return out, nil
	}
	ask := make([]string, len(missing))
	for k, i := range missing {
		ask[k] = urls[i]
	}
	res, _, err := c.urls.collector(scope, c.runURLs).do(ctx, ask)
	if err != nil {
		return nil, fmt.Errorf("normalize and filter urls: %w", err)
	}
	for k, i := range missing {
		out[i] = res[k]
	}
	return out, nil
}

// lookup fills out from the cache and returns the positions that are not there.
func (c *Chains) lookup(scope urlnormalizer.Scope, urls []string, out []URLResult) []int {
	n, known := scopeNumber(scope)
	var missing []int
	if c.cache == nil || !known || c.urls.cached < len(c.urls.filters) {
		// With filters that may not be remembered the cache is asked within runURLs.
		missing = make([]int, len(urls))
		for i := range urls {
			missing[i] = i
		}
		return missing
	}
	hits := 0
	for i, u := range urls {
		if v, ok := c.cache.get(n, u); ok {
			out[i] = URLResult{URL: v.url, Dropped: v.dropped, Plugin: v.plugin, Reason: v.reason}
			hits++
			continue
		}
		if missing == nil {
			missing = make([]int, 0, len(urls)-i)
		}
		missing = append(missing, i)
	}
	c.cache.hits.Add(int64(hits))
	c.cache.misses.Add(int64(len(missing)))
	return missing
}

func (u *urlChain) collector(scope urlnormalizer.Scope, run func(context.Context, urlnormalizer.Scope, []string) ([]URLResult, error)) *collector[string, URLResult] {
	u.mu.Lock()
	defer u.mu.Unlock()
	col := u.collectors[scope]
	if col == nil {
		col = &collector[string, URLResult]{
			run: func(ctx context.Context, in []string) ([]URLResult, []error, error) {
				out, err := run(ctx, scope, in)
				return out, nil, err
			},
			size: sizeString, items: u.opts.MaxBatchItems, bytes: u.opts.MaxBatchBytes, linger: u.opts.Linger,
		}
		u.collectors[scope] = col
	}
	return col
}

func sizeString(s *string) int { return len(*s) + 4 }

// runURLs does one batch: what may be remembered first, then the rest.
func (c *Chains) runURLs(ctx context.Context, scope urlnormalizer.Scope, urls []string) ([]URLResult, error) {
	w := newURLWork(urls)
	u := c.urls
	n, known := scopeNumber(scope)
	remember := c.cache != nil && known && u.cached >= 0
	split := max(u.cached, 0)
	partly := remember && split < len(u.filters)
	if partly {
		for i := range w.res {
			if v, ok := c.cache.get(n, w.in[i]); ok {
				w.res[i] = URLResult{URL: v.url, Dropped: v.dropped, Plugin: v.plugin, Reason: v.reason}
				w.known[i] = true
			}
		}
		hits := w.countKnown()
		c.cache.hits.Add(int64(hits))
		c.cache.misses.Add(int64(len(w.in) - hits))
	}
	if err := u.normalize(ctx, scope, u.order(scope), u.loops, w); err != nil {
		return nil, err
	}
	if err := u.filter(ctx, u.filters[:split], w); err != nil {
		return nil, err
	}
	if remember {
		for i, r := range w.res {
			if r.Err == nil && !w.known[i] {
				c.cache.put(n, w.in[i], cacheValue{url: r.URL, dropped: r.Dropped, plugin: r.Plugin, reason: r.Reason})
			}
		}
	}
	clear(w.known)
	if err := u.filter(ctx, u.filters[split:], w); err != nil {
		return nil, err
	}
	return w.results(), nil
}

// urlWork is a batch of different URLs on its way through the chain.
type urlWork struct {
	in    []string
	res   []URLResult
	known []bool // from the cache, not to be worked on
	at    []int  // for each URL asked for, its place in in
}

func newURLWork(urls []string) *urlWork {
	w := &urlWork{at: make([]int, len(urls))}
	place := make(map[string]int, len(urls))
	for i, u := range urls {
		p, ok := place[u]
		if !ok {
			p = len(w.in)
			place[u] = p
			w.in = append(w.in, u)
			w.res = append(w.res, URLResult{URL: u})
		}
		w.at[i] = p
	}
	w.known = make([]bool, len(w.in))
	return w
}

func (w *urlWork) countKnown() int {
	n := 0
	for _, k := range w.known {
		if k {
			n++
		}
	}
	return n
}

func (w *urlWork) results() []URLResult {
	out := make([]URLResult, len(w.at))
	for i, p := range w.at {
		out[i] = w.res[p]
	}
	return out
}

// alive returns the places and present forms of the URLs that go on and for
// which pick, if any, holds.
func (w *urlWork) alive(pick []bool) (where []int, urls []string) {
	for i, r := range w.res {
		if r.Err == nil && !r.Dropped && !w.known[i] && (pick == nil || pick[i]) {
			where, urls = append(where, i), append(urls, r.URL)
		}
	}
	return where, urls
}

func (u *urlChain) normalize(ctx context.Context, scope urlnormalizer.Scope, order []*member, loops int, w *urlWork) error {
	var pick []bool
	for loop := 0; loop < loops; loop++ {
		changed := make([]bool, len(w.in))
		for _, m := range order {
			if err := u.normalizeBy(ctx, scope, m, w, pick, changed); err != nil {
				return err
			}
		}
		pick = changed
	}
	return nil
}

// normalizeBy has one normalizer work on the URLs that are alive and picked, and
// notes which it changed.
func (u *urlChain) normalizeBy(ctx context.Context, scope urlnormalizer.Scope, m *member, w *urlWork, pick, changed []bool) error {
	where, urls := w.alive(pick)
	out, errs, err := u.normalizers[m.id](scope).run(ctx, urls)
	if err != nil {
		return err
	}
	for k, i := range where {
		r := &w.res[i]
		switch {
		case errs != nil && errs[k] != nil:
			*r = URLResult{URL: urls[k], Plugin: m.id, Err: named(m.id, errs[k])}
		case out[k].URL == "":
			*r = URLResult{Dropped: true, Plugin: m.id, Reason: out[k].Reason}
			m.drops.Add(1)
		case out[k].URL != urls[k]:
			r.URL = strings.Clone(out[k].URL) // not a part of the whole message
			changed[i] = true
		}
	}
	return nil
}

func (u *urlChain) filter(ctx context.Context, filters []*filterStage, w *urlWork) error {
	for _, f := range filters {
		if _, _, err := u.filterBy(ctx, f, w); err != nil {
			return err
		}
	}
	return nil
}

// filterBy has one filter judge the URLs that are alive; it returns their places
// and the verdicts.
func (u *urlChain) filterBy(ctx context.Context, f *filterStage, w *urlWork) ([]int, []urlfilter.Verdict, error) {
	where, urls := w.alive(nil)
	out, errs, err := f.run(ctx, urls)
	if err != nil {
		return nil, nil, err
	}
	for k, i := range where {
		r := &w.res[i]
		switch {
		case errs != nil && errs[k] != nil:
			*r = URLResult{URL: urls[k], Plugin: f.m.id, Err: named(f.m.id, errs[k])}
		case !out[k].Accept:
			r.Dropped, r.Plugin, r.Reason = true, f.m.id, out[k].Reason
			f.m.drops.Add(1)
		}
	}
	return where, out, nil
}

// Normalize runs the normalizers alone, without the result cache.
func (c *Chains) Normalize(ctx context.Context, scope urlnormalizer.Scope, urls []string) ([]URLResult, error) {
	w := newURLWork(urls)
	if err := c.urls.normalize(ctx, scope, c.urls.order(scope), c.urls.loops, w); err != nil {
		return nil, fmt.Errorf("normalize urls: %w", err)
	}
	return w.results(), nil
}

// Filter runs the filters alone, without the result cache.
func (c *Chains) Filter(ctx context.Context, urls []string) ([]URLResult, error) {
	w := newURLWork(urls)
	if err := c.urls.filter(ctx, c.urls.filters, w); err != nil {
		return nil, fmt.Errorf("filter urls: %w", err)
	}
	return w.results(), nil
}
