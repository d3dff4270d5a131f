package cycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/hostdb"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/step/fetch"
	"github.com/gonutch/crawler/core/internal/step/sitemap"
	"github.com/gonutch/crawler/core/internal/step/update"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// depth says how far the pipeline takes a page.
type depth int

const (
	onlyFetch  depth = iota // crawler fetch
	onlyParse               // crawler parse
	onlyUpdate              // crawler updatedb
	whole                   // crawler run
)

// pipeline takes pages from fetch outcome to applied update: committers make
// outcomes durable, parse workers parse what was committed, appliers apply
// what was parsed, each in small groups while others are still being fetched.
// Channels are bounded: a slow stage holds the ones before it back.
type pipeline struct {
	c     *deps
	depth depth
	eng   *fetch.Engine // nil when nothing is fetched

	sitemaps *sitemap.Reader // nil when none are read
	outcomes chan *fetch.Outcome
	toParse  chan *work
	toApply  chan *work

	track *tracker
	sum   *Summary
}

// work is a page on its way from commit to update.
type work struct {
	page    update.Page
	content *model.Content
	hops    int
	// noContent says that the bytes of a page fetched earlier are not in the store.
	noContent bool
	drop      string // why the target of the redirect is not wanted, or ""
	free      func()
}

func (w *work) release() {
	w.content = nil
	if w.free != nil {
		w.free()
		w.free = nil
	}
}

func newPipeline(c *deps, d depth, sum *Summary) *pipeline {
	return &pipeline{
		c: c, depth: d, track: newTracker(), sum: sum,
		outcomes: make(chan *fetch.Outcome, 256), toParse: make(chan *work, 64), toApply: make(chan *work, 256),
	}
}

// sink is the engine's: it hands an outcome to the committers.
func (p *pipeline) sink(ctx context.Context, o *fetch.Outcome) error {
	if o.Item.Segment == sitemapSegment {
		return p.c.sitemapSink(ctx, p.sitemaps, o)
	}
	select {
	case p.outcomes <- o:
		return nil
	case <-ctx.Done():
		o.Free()
		return context.Cause(ctx)
	}
}

// run works until feed has returned and everything it fed is through. The
// first error stops all stages.
func (p *pipeline) run(ctx context.Context, feed func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	// The feed may send to toParse too (pages fetched by an earlier process).
	var committers, parsers, appliers sync.WaitGroup
	committers.Add(1)
	stage := func(n int, wg *sync.WaitGroup, f func(context.Context) error, last func()) {
		wg.Add(n)
		for range n {
			g.Go(func() error {
				defer wg.Done()
				return f(ctx)
			})
		}
		g.Go(func() error {
			wg.Wait()
			last()
			return nil
		})
	}
	stage(2, &committers, p.commit, func() { close(p.toParse) })
	stage(p.c.cfg.ParseWorkers, &parsers, p.parse, func() { close(p.toApply) })
	stage(1, &appliers, p.apply, func() {})
	g.Go(func() error {
		defer committers.Done()
		defer close(p.outcomes)
		return feed(ctx)
	})
	return g.Wait()
}

// batch collects from in until n items, or for wait after the first.
func batch[T any](ctx context.Context, in <-chan T, n int, wait time.Duration, full func(T) bool) ([]T, bool) {
	var out []T
	select {
	case v, ok := <-in:
		if !ok {
			return nil, false
		}
		out = append(out, v)
		if full(v) {
			return out, true
		}
	case <-ctx.Done():
		return nil, false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for len(out) < n {
		select {
		case v, ok := <-in:
			if !ok {
				return out, true
			}
			out = append(out, v)
			if full(v) {
				return out, true
			}
		case <-timer.C:
			return out, true
		case <-ctx.Done():
			return out, false
		}
	}
	return out, true
}

// commit makes outcomes durable and passes on what is to be parsed or applied.
func (p *pipeline) commit(ctx context.Context) error {
	var bytes int64
	full := func(o *fetch.Outcome) bool {
		if o.Response != nil {
			bytes += int64(len(o.Response.Body))
		}
		return bytes >= p.c.cfg.CommitBytes
	}
	for {
		bytes = 0
		list, ok := batch(ctx, p.outcomes, 256, p.c.cfg.CommitWait, full)
		if len(list) > 0 && ctx.Err() == nil {
			if err := p.commitBatch(ctx, list); err != nil {
				return err
			}
		}
		if !ok {
			for _, o := range list {
				if ctx.Err() != nil {
					o.Free()
				}
			}
			return context.Cause(ctx)
		}
	}
}

func (p *pipeline) commitBatch(ctx context.Context, list []*fetch.Outcome) error {
	bySeg := map[string][]*fetch.Outcome{}
	released := map[string][]*fetch.Outcome{}
	for _, o := range list {
		if o.Released != "" {
			released[o.Item.Segment] = append(released[o.Item.Segment], o)
		} else {
			bySeg[o.Item.Segment] = append(bySeg[o.Item.Segment], o)
		}
	}
	for seg, outs := range released {
		if err := p.releaseBatch(ctx, seg, outs); err != nil {
			return err
		}
	}
	for seg, outs := range bySeg {
		items := make([]segment.FetchItem, len(outs))
		for i, o := range outs {
			items[i] = segment.FetchItem{Fetch: o.Fetch, NoContent: true}
			if o.Response != nil { // the size is noted even when the bytes are not kept
				items[i].Response, items[i].Body, items[i].Attachments = o.Response.RawResponse, o.Response.Body, o.Response.Attachments
				if p.c.cfg.Fetch.StoreRequest {
					items[i].Request = o.Response.RawRequest
				}
				items[i].NoContent = !p.c.cfg.Fetch.StoreContent || o.Response.RawResponse == nil && len(o.Response.Body) == 0
			}
		}
		if err := p.c.Segs.CommitFetches(ctx, seg, items, hostCounts(outs)); err != nil {
			for _, o := range outs {
				o.Free()
			}
			return fmt.Errorf("commit fetched pages: %w", err)
		}
		for i, o := range outs {
			o.Fetch = items[i].Fetch
			p.c.logFetch(o)
			if o.Extra { // belongs to no fetch list
				o.Free()
				continue
			}
			if err := p.pass(ctx, o); err != nil {
				return err
			}
		}
	}
	p.c.log.flush()
	return nil
}

// hostCounts adds the requests to the hosts' totals.
func hostCounts(outs []*fetch.Outcome) func(*store.Tx) error {
	sums := map[string]*hostdb.Counts{}
	for _, o := range outs {
		if o.Response == nil {
			continue // robots.txt forbids it: nothing was asked
		}
		host := urlkey.Host(o.Item.URL)
		c := sums[host]
		if c == nil {
			c = new(hostdb.Counts)
			sums[host] = c
		}
		c.Requests++
		c.Bytes += int64(len(o.Response.Body))
		c.Millis += o.Response.Elapsed.Milliseconds()
		if o.Response.Status.HTTP == 0 && o.Fetch.Status == model.StatusFetchRetry {
			c.Failures++
		}
	}
	return func(tx *store.Tx) error {
		for host, c := range sums {
			hostdb.AddCounts(tx, host, *c)
		}
		return nil
	}
}

// releaseBatch gives URLs back unchanged. Those of a host that is held become due when
// the hold ends, so that the next fetch list does not carry them again.
func (p *pipeline) releaseBatch(ctx context.Context, seg string, outs []*fetch.Outcome) error {
	err := p.c.DB.Update(ctx, func(tx *crawldb.Tx) error {
		n := 0
		for _, o := range outs {
			if !tx.Lease(seg, o.Item.Key) {
				continue
			}
			n++
			if !o.HoldUntil.IsZero() {
				rec, err := tx.Get(o.Item.Key)
				if err != nil {
					return err
				}
				if rec != nil && rec.Datum.FetchTime.Before(o.HoldUntil) {
					rec.Datum.FetchTime = o.HoldUntil
					tx.Put(o.Item.Key, rec)
				}
			}
			tx.Unlease(seg, o.Item.Key)
		}
		segment.AddCounts(tx.Tx, seg, segment.Counts{Released: int64(n)})
		return nil
	})
	if err != nil {
		return fmt.Errorf("release URLs: %w", err)
	}
	for _, o := range outs {
		p.sum.released(o.Released, o.Item.URL, o.Cause)
		p.track.done(seg)
		o.Free()
	}
	return nil
}

// pass sends a committed outcome on.
func (p *pipeline) pass(ctx context.Context, o *fetch.Outcome) error {
	p.sum.fetched(&o.Fetch)
	w := &work{hops: o.Item.Hops, free: o.Free, page: update.Page{
		Segment: o.Item.Segment, Key: o.Item.Key, URL: o.Item.URL, Hint: o.Item.Hint, Fetch: &o.Fetch,
		Follow: o.Follow, StoreParse: true,
	}}
	if o.Exceeded {
		w.drop = "exceeded"
	}
	if o.Fetch.Status == model.StatusFetchSuccess {
		w.content = o.Fetch.Content(o.Response.Body)
	} else {
		w.release()
	}
	if p.depth == onlyFetch {
		return p.fetched(ctx, w)
	}
	o.Response = nil // w.page.Fetch keeps o alive until it is applied; its body is not to be
	return send(ctx, p.toParse, w)
}

// fetched is the end of "crawler fetch".
func (p *pipeline) fetched(ctx context.Context, w *work) error {
	w.release()
	if w.page.Follow {
		if err := p.parseOne(ctx, w); err != nil {
			return err
		}
		if w.page.Target != "" {
			leased, err := p.c.Applier.Follow(ctx, w.page, p.c.now())
			if err == nil && leased {
				err = p.follow(ctx, w)
			}
			if err != nil {
				return err
			}
		}
	}
	p.track.done(w.page.Segment)
	return nil
}

func send[T any](ctx context.Context, ch chan<- T, v T) error {
	select {
	case ch <- v:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// parse parses pages and judges the targets of redirects.
func (p *pipeline) parse(ctx context.Context) error {
	for {
		select {
		case w, ok := <-p.toParse:
			if !ok {
				return nil
			}
			err := p.parseOne(ctx, w)
			w.release()
			if err != nil {
				return err
			}
			if err := send(ctx, p.toApply, w); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (p *pipeline) parseOne(ctx context.Context, w *work) error {
	if w.content != nil {
		parsed, err := p.c.Parser.Parse(ctx, w.content)
		if err != nil {
			return fmt.Errorf("parse %s: %w", w.page.URL, err)
		}
		w.page.Parsed = parsed
		p.sum.parsed(parsed)
		p.c.report(w)
		if parsed.Status.Minor == model.ParseSuccessRedirect && len(parsed.Status.Args) > 0 {
			return p.refresh(ctx, w, parsed)
		}
		return nil
	}
	switch w.page.Fetch.Status {
	case model.StatusFetchRedirPerm, model.StatusFetchRedirTemp:
		if w.page.Fetch.Location == "" {
			return nil
		}
		if w.drop != "" {
			p.sum.dropped("redirect_" + w.drop)
			return nil
		}
		target, dropped, err := p.c.Parser.Redirect(ctx, w.page.URL, w.page.Fetch.Location)
		if err != nil {
			return fmt.Errorf("redirect of %s: %w", w.page.URL, err)
		}
		w.page.Target = target
		if dropped != "" {
			p.sum.dropped("redirect_" + dropped)
		}
	}
	return nil
}

// refresh adds the target of a meta refresh to the page's links, and says that it is
// fetched at once as far as redirects are (http.redirect_max). The page itself stays
// what it is, as in Nutch.
func (p *pipeline) refresh(ctx context.Context, w *work, parsed *segment.Parsed) error {
	target, dropped, err := p.c.Parser.Redirect(ctx, w.page.URL, parsed.Status.Args[0])
	if err != nil {
		return fmt.Errorf("meta refresh of %s: %w", w.page.URL, err)
	}
	if dropped != "" {
		p.sum.dropped("refresh_" + dropped)
		return nil
	}
	rules := &p.c.cfg.Fetch
	if rules.RedirectMax > 0 && rules.RedirectSkip && w.hops >= rules.RedirectMax {
		p.sum.dropped("refresh_exceeded")
		return nil
	}
	w.page.Follow = w.hops < rules.RedirectMax
	for i := range parsed.Outlinks {
		if parsed.Outlinks[i].URL == target {
			parsed.Outlinks[i].Tag = update.TagRefresh
			return nil
		}
	}
	parsed.Outlinks = append(parsed.Outlinks, segment.Link{URL: target, Tag: update.TagRefresh})
	return nil
}

// apply applies pages in groups.
func (p *pipeline) apply(ctx context.Context) error {
	links := 0
	full := func(w *work) bool {
		if w.page.Parsed != nil {
			links += len(w.page.Parsed.Outlinks)
		}
		return links >= 20_000
	}
	for {
		links = 0
		list, ok := batch(ctx, p.toApply, 256, p.c.cfg.CommitWait, full)
		if len(list) > 0 && ctx.Err() == nil {
			if err := p.applyBatch(ctx, list); err != nil {
				return err
			}
		}
		if !ok {
			return context.Cause(ctx)
		}
	}
}

func (p *pipeline) applyBatch(ctx context.Context, list []*work) error {
	if p.depth == onlyParse {
		return p.storeParses(ctx, list)
	}
	pages := make([]update.Page, len(list))
	for i, w := range list {
		pages[i] = w.page
	}
	res, err := p.c.Applier.Apply(ctx, pages, p.c.now())
	if err != nil {
		return fmt.Errorf("apply pages: %w", err)
	}
	p.sum.applied(res)
	for _, w := range list {
		if key := urlkey.FromURL(w.page.FollowTarget()); w.page.Follow && res.Leased[key] {
			delete(res.Leased, key) // two pages may lead there
			if err := p.follow(ctx, w); err != nil {
				return err
			}
		}
		p.track.done(w.page.Segment)
	}
	return nil
}

// storeParses is the end of "crawler parse".
func (p *pipeline) storeParses(ctx context.Context, list []*work) error {
	err := p.c.DB.Update(ctx, func(tx *crawldb.Tx) error {
		for _, w := range list {
			if w.page.Parsed != nil {
				segment.PutParse(tx.Tx, w.page.Segment, w.page.Key, w.page.Parsed, w.page.Fetch)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store parses: %w", err)
	}
	for _, w := range list {
		p.track.done(w.page.Segment)
	}
	return nil
}

// follow queues the target of a redirect that is to be fetched at once.
func (p *pipeline) follow(ctx context.Context, w *work) error {
	target := w.page.FollowTarget()
	key := urlkey.FromURL(target)
	hint, _, err := p.c.DB.Hint(w.page.Segment, key)
	if err != nil {
		return err
	}
	p.track.add(w.page.Segment, 1)
	back := p.eng.AddFront(fetch.Item{
		Segment: w.page.Segment, Key: key, URL: target, Hint: hint, Hops: w.hops + 1,
	})
	if back == nil {
		return nil
	}
	// Not by the sink: this stage must not wait for those before it.
	return p.releaseBatch(ctx, w.page.Segment, []*fetch.Outcome{back})
}

// tracker counts the pages of each segment that are not through yet.
type tracker struct {
	mu      sync.Mutex
	open    map[string]int
	changed chan struct{}
}

func newTracker() *tracker {
	return &tracker{open: map[string]int{}, changed: make(chan struct{}, 1)}
}

func (t *tracker) add(seg string, n int) {
	t.mu.Lock()
	t.open[seg] += n
	t.mu.Unlock()
}

func (t *tracker) done(seg string) {
	t.mu.Lock()
	t.open[seg]--
	zero := t.open[seg] == 0
	t.mu.Unlock()
	if zero {
		select {
		case t.changed <- struct{}{}:
		default:
		}
	}
}

// forget drops the count of a segment that is through.
func (t *tracker) forget(seg string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, seg)
}

func (t *tracker) left(seg string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[seg]
}

// errStopped says that the run was told to stop; everything is committed.
var errStopped = errors.New("stopped")
