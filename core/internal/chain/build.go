package chain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/extension/publisher"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/extension/segmentmerge"
	"github.com/gonutch/crawler/sdk/extension/urlexemption"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// build resolves the order of every point and binds the members' calls.
func build(members map[string]*member, opts Options) (*Chains, error) {
	opts = opts.withDefaults()
	c := &Chains{opts: opts, log: opts.Logger, members: members, order: map[string][]*member{}}
	var errs []error
	for point := range opts.Order {
		if !slices.Contains(manifest.Points(), point) {
			errs = append(errs, fmt.Errorf("order of %q: there is no such extension point", point))
		}
	}
	for _, point := range manifest.Points() {
		errs = append(errs, checkOrder(members, point, point+".order", opts.Order[point])...)
		c.order[point] = c.only(point, ordered(members, point, opts.Order[point]))
	}
	errs = append(errs, c.buildURLs()...)
	errs = append(errs, c.buildProtocols()...)
	errs = append(errs, c.buildParsers()...)
	errs = append(errs, c.buildExchanges()...)
	if err := errors.Join(errs...); err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	c.buildScoring()
	c.buildIndexing()
	finger, err := c.fingerprint()
	if err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	c.finger = finger
	c.cache = newResultCache(opts.CacheBytes)
	c.publish = startPublishers(c.publisherStages(), opts.EventQueue, c.log)
	return c, nil
}

// limits returns the bounds of a call that carries items of them.
func (c *Chains) limits(items int) limits {
	return limits{items: items, bytes: c.opts.MaxBatchBytes, retries: c.opts.Retries, delay: c.opts.RetryDelay}
}

// bind makes a stage: from the implementation when the plugin is local, else
// over a connection.
func bind[I, O any](m *member, what string, l limits, size func(*I) int,
	local func() batchFunc[I, O], remote func(grpc.ClientConnInterface) batchFunc[I, O],
) *stage[I, O] {
	s := &stage[I, O]{m: m, what: m.id + ": " + what, size: size, limits: l, remote: remote}
	if m.local != nil {
		s.local = local()
	}
	return s
}

// collect puts a collector in front of run.
func collect[I, O any](c *Chains, l limits, size func(*I) int, run batchFunc[I, O]) *collector[I, O] {
	return &collector[I, O]{run: run, size: size, items: l.items, bytes: l.bytes, linger: c.opts.Linger}
}

func (c *Chains) buildURLs() []error {
	u := &urlChain{
		normalizers: map[string]func(urlnormalizer.Scope) *normalizeStage{},
		loops:       c.opts.NormalizerLoops, opts: c.opts,
		collectors: map[urlnormalizer.Scope]*collector[string, URLResult]{},
	}
	c.urls = u
	l := c.limits(c.opts.MaxBatchItems)
	for _, m := range c.order[manifest.URLNormalizer] {
		u.normalizers[m.id] = func(scope urlnormalizer.Scope) *normalizeStage { return bindNormalizer(m, scope, l) }
		if !m.man.Cache {
			u.cached = -1
		}
	}
	for _, m := range c.order[manifest.URLFilter] {
		u.filters = append(u.filters, bindURLFilter(m, l))
	}
	for u.cached >= 0 && u.cached < len(u.filters) && u.filters[u.cached].m.man.Cache {
		u.cached++
	}
	for _, m := range c.order[manifest.URLExemption] {
		u.exemptions = append(u.exemptions, bindExemption(m, l))
	}
	u.exempt = collect(c, l, sizePair, u.runExempt)
	return c.buildScopes(u)
}

// buildScopes resolves the order of normalizers for each scope.
func (c *Chains) buildScopes(u *urlChain) []error {
	var errs []error
	scoped := map[urlnormalizer.Scope][]*member{}
	for scope, first := range c.opts.NormalizerOrder {
		if _, ok := scopeNumber(scope); !ok {
			errs = append(errs, fmt.Errorf("order of normalizers for scope %q: there is no such scope", scope))
		}
		errs = append(errs, checkOrder(c.members, manifest.URLNormalizer, "urlnormalizer.order_"+string(scope), first)...)
		scoped[scope] = c.only(manifest.URLNormalizer, ordered(c.members, manifest.URLNormalizer, first))
	}
	u.order = func(s urlnormalizer.Scope) []*member {
		if order, ok := scoped[s]; ok {
			return order
		}
		return c.order[manifest.URLNormalizer]
	}
	return errs
}

func bindNormalizer(m *member, scope urlnormalizer.Scope, l limits) *normalizeStage {
	with := func(b urlnormalizer.Batch) batchFunc[string, urlnormalizer.Result] {
		return func(ctx context.Context, in []string) ([]urlnormalizer.Result, []error, error) {
			return b.NormalizeURLs(ctx, scope, in)
		}
	}
	return bind(m, "normalize urls", l, sizeString,
		func() batchFunc[string, urlnormalizer.Result] {
			return with(urlnormalizer.Local(m.local.URLNormalizer))
		},
		func(cc grpc.ClientConnInterface) batchFunc[string, urlnormalizer.Result] {
			return with(urlnormalizer.NewClient(cc))
		})
}

func bindURLFilter(m *member, l limits) *filterStage {
	return bind(m, "filter urls", l, sizeString,
		func() batchFunc[string, urlfilter.Verdict] { return urlfilter.Local(m.local.URLFilter).FilterURLs },
		func(cc grpc.ClientConnInterface) batchFunc[string, urlfilter.Verdict] {
			return urlfilter.NewClient(cc).FilterURLs
		})
}

func sizePair(p *urlexemption.Pair) int { return 8 + len(p.From) + len(p.To) }

func bindExemption(m *member, l limits) *exemptStage {
	return bind(m, "exempt links", l, sizePair,
		func() batchFunc[urlexemption.Pair, bool] { return urlexemption.Local(m.local.URLExemption).ExemptLinks },
		func(cc grpc.ClientConnInterface) batchFunc[urlexemption.Pair, bool] {
			return urlexemption.NewClient(cc).ExemptLinks
		})
}

// buildProtocols gives each scheme its plugin: the first in order that names
// it.
func (c *Chains) buildProtocols() []error {
	c.protocols = map[string]*member{}
	var errs []error
	for _, m := range c.order[manifest.Protocol] {
		n := 0
		for _, p := range m.provides(manifest.Protocol) {
			n += len(p.Schemes)
			for _, scheme := range p.Schemes {
				if scheme = strings.ToLower(scheme); c.protocols[scheme] == nil {
					c.protocols[scheme] = m
				}
			}
		}
		if n == 0 {
			errs = append(errs, fmt.Errorf("plugin %s provides a protocol without a scheme", m.id))
		}
	}
	check := func(what, id string) {
		if m := c.members[id]; m == nil || len(m.provides(manifest.Protocol)) == 0 {
			errs = append(errs, fmt.Errorf("%s is to be fetched by %q, which is not an active protocol plugin", what, id))
		}
	}
	for key, id := range c.opts.ProtocolOf {
		check(key, id)
	}
	for _, r := range c.opts.ProtocolRules {
		check(r.URL.String(), r.ID)
	}
	return errs
}

func (c *Chains) buildParsers() []error {
	p := &parserChain{types: c.opts.ParserTypes}
	c.parsers = p
	var errs []error
	for mime, ids := range p.types {
		errs = append(errs, checkOrder(c.members, manifest.Parser, "parser.types "+mime, ids)...)
	}
	l := c.limits(c.opts.MaxBatchPages)
	for _, m := range c.order[manifest.Parser] {
		size := func(in *parseItem) int { return sizeContent(&(*in).Content) }
		pl := l
		pl.time = c.opts.ParseTimeout
		s := bind(m, "parse documents", pl, size,
			func() batchFunc[parseItem, parseOutput] { return parser.Local(m.local.Parser).ParseDocuments },
			func(cc grpc.ClientConnInterface) batchFunc[parseItem, parseOutput] {
				return parser.NewClient(cc).ParseDocuments
			})
		p.entries = append(p.entries, parserEntry{m: m, col: collect(c, l, size, s.run)})
	}
	for _, m := range c.order[manifest.ParseFilter] {
		size := func(in *parseFilterItem) int {
			n := sizeParse(&(*in).Parse)
			if (*in).Content != nil {
				n += sizeContent((*in).Content)
			}
			return n
		}
		s := bind(m, "filter parses", l, size,
			func() batchFunc[parseFilterItem, parseFilterPatch] {
				return parsefilter.Local(m.local.ParseFilter).FilterParses
			},
			func(cc grpc.ClientConnInterface) batchFunc[parseFilterItem, parseFilterPatch] {
				return parsefilter.NewClient(cc).FilterParses
			})
		facts, err := m.man.Facts(m.settings.Own)
		errs = append(errs, err)
		p.filters = append(p.filters, filterEntry{m: m, col: collect(c, l, size, s.run), facts: p.want(facts)})
	}
	return errs
}

// want adds facts to those the parsers are asked for and returns their places.
func (p *parserChain) want(facts []model.Fact) []int {
	var at []int
	for _, f := range facts {
		i := slices.Index(p.facts, f)
		if i < 0 {
			i = len(p.facts)
			p.facts = append(p.facts, f)
		}
		at = append(at, i)
	}
	return at
}

func (c *Chains) buildExchanges() []error {
	var errs []error
	for _, conf := range c.opts.Exchanges {
		m := c.members[conf.Plugin]
		if m == nil || len(m.provides(manifest.Exchange)) == 0 {
			errs = append(errs, fmt.Errorf("exchange %s: %q is not an active exchange plugin", conf.Name, conf.Plugin))
			continue
		}
		c.exchanges = append(c.exchanges, newExchange(m, conf, c.limits(c.opts.MaxBatchPages)))
	}
	return errs
}

func (c *Chains) buildIndexing() {
	l := c.limits(c.opts.MaxBatchPages)
	for _, m := range c.order[manifest.IndexingFilter] {
		s := bind(m, "filter documents", l, sizeIndexInput,
			func() batchFunc[*indexingfilter.Input, *indexingfilter.Patch] {
				return indexingfilter.Local(m.local.IndexingFilter).FilterDocuments
			},
			func(cc grpc.ClientConnInterface) batchFunc[*indexingfilter.Input, *indexingfilter.Patch] {
				return indexingfilter.NewClient(cc).FilterDocuments
			})
		c.indexing = append(c.indexing, indexEntry{m: m, col: collect(c, l, sizeIndexInput, s.run)})
	}
	size := func(r **segmentmerge.Record) int {
		n := 64 + len((*r).URL) + sizeMeta((*r).Metadata)
		if (*r).Parse != nil {
			n += sizeParse((*r).Parse)
		}
		return n
	}
	for _, m := range c.order[manifest.SegmentMerge] {
		c.merge = append(c.merge, bind(m, "keep records", l, size,
			func() batchFunc[*segmentmerge.Record, bool] {
				return segmentmerge.Local(m.local.SegmentMerge).KeepRecords
			},
			func(cc grpc.ClientConnInterface) batchFunc[*segmentmerge.Record, bool] {
				return segmentmerge.NewClient(cc).KeepRecords
			}))
	}
}

func (c *Chains) publisherStages() []*stage[publisher.Event, struct{}] {
	var out []*stage[publisher.Event, struct{}]
	with := func(p publisher.Publisher) batchFunc[publisher.Event, struct{}] {
		return func(ctx context.Context, in []publisher.Event) ([]struct{}, []error, error) {
			return make([]struct{}, len(in)), nil, p.Publish(ctx, in)
		}
	}
	for _, m := range c.order[manifest.Publisher] {
		out = append(out, bind(m, "publish", c.limits(100),
			func(e *publisher.Event) int { return 32 + len(e.URL) + sizeMeta(e.Data) },
			func() batchFunc[publisher.Event, struct{}] { return with(m.local.Publisher) },
			func(cc grpc.ClientConnInterface) batchFunc[publisher.Event, struct{}] {
				return with(publisher.NewClient(cc))
			}))
	}
	return out
}

func (c *Chains) buildScoring() {
	s := &scoringChain{}
	c.scoring = s
	many, pages := c.limits(c.opts.MaxBatchItems), c.limits(c.opts.MaxBatchPages)
	for _, m := range c.order[manifest.Scoring] {
		f := bindScoring(m, many, pages)
		s.filters = append(s.filters, f)
		if m.man.Needs.Orphans {
			s.judges = append(s.judges, f)
		}
	}
	s.injected = collect(c, many, sizeInject, s.runInjected)
	s.distribute = collect(c, pages, sizeDistribute, s.runDistribute)
	s.score = collect(c, many, sizeScore, s.runScore)
	s.orphaned = collect(c, many, sizeOrphan, s.runOrphaned)
	s.boost = collect(c, many, sizeIndexScore, s.runBoost)
}

func sizeInject(in *scoring.InjectInput) int { return 24 + len(in.URL) + sizeMeta(in.Metadata) }

func sizeDistribute(in *scoring.DistributeInput) int {
	n := 64 + len(in.URL) + 24*len(in.Fields) + sizeMeta(in.Metadata) + sizeMeta(in.ParseMeta) + len(in.Text)
	for i := range in.Targets {
		t := &in.Targets[i]
		n += 12 + len(t.URL) + len(t.Anchor) + sizeMeta(t.Metadata)
	}
	return n
}

func sizeScore(in *scoring.ScoreInput) int {
	return 32 + len(in.URL) + 24*len(in.Fields) + sizeMeta(in.Metadata)
}

func sizeOrphan(in *scoring.OrphanInput) int {
	return 32 + len(in.URL) + 24*len(in.Fields) + sizeMeta(in.Metadata)
}

func sizeIndexScore(in *scoring.IndexInput) int {
	return 32 + len(in.URL) + 24*len(in.Fields) + sizeMeta(in.ParseMeta)
}
