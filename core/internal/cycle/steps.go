package cycle

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/outlinks"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/step/index"
	"github.com/gonutch/crawler/core/internal/step/inject"
	"github.com/gonutch/crawler/core/internal/step/invert"
	"github.com/gonutch/crawler/core/internal/step/orphan"
	"github.com/gonutch/crawler/core/internal/step/prune"
	"github.com/gonutch/crawler/core/internal/step/refilter"
	"github.com/gonutch/crawler/core/internal/step/scoreupdate"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
)

// generate folds what is pending and makes a fetch list.
func (d *deps) generate(ctx context.Context, g GenerateConfig, round int, sum *Summary, busy func(string) bool) (crawldb.GenerateResult, string, error) {
	st, err := d.fold(ctx)
	if err != nil {
		return crawldb.GenerateResult{}, "", err
	}
	now := d.now()
	held, holdEnds, err := d.Hosts.Held(ctx, now)
	if err != nil {
		return crawldb.GenerateResult{}, "", err
	}
	seg, err := segment.NewID(d.Store, now)
	if err != nil {
		return crawldb.GenerateResult{}, "", err
	}
	// The same round of the same crawl scans from the same place.
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "round %d", round)
	failed, tell := d.exprFailures()
	defer tell()
	res, err := d.DB.Generate(ctx, crawldb.GenerateOptions{
		Segment: seg, Round: round, TopN: g.TopN, MaxCount: g.MaxCount, MinSort: g.MinScore, HasMinSort: g.HasMinScore,
		MaxInterval: g.MinInterval, Status: g.Status, Now: now.Add(g.AddDays), Created: now, Seed: h.Sum64(),
		Held:  func(q string) bool { return held(q) || busy != nil && busy(q) },
		Queue: d.queueRule(&g, failed), Match: g.match(failed), Signatures: g.Signatures,
	})
	if err != nil {
		return res, seg, err
	}
	if res.Rejected["held"] > 0 && (res.NextDue.IsZero() || !holdEnds.IsZero() && holdEnds.Before(res.NextDue)) {
		res.NextDue = holdEnds
	}
	sum.change(func(r *Report) {
		r.New += int64(st.New)
		r.Generated += int64(res.Selected)
		r.Rejected = res.Rejected
		r.NextDue = res.NextDue
	})
	return res, seg, nil
}

// setState notes how far a segment has come; a step that is run again takes
// nothing back.
func (d *deps) setState(ctx context.Context, seg string, s segment.State) error {
	return segment.Change(ctx, d.Store, seg, func(m *segment.Meta) {
		if m.State.Before(s) {
			m.State = s
		}
		m.Ended = d.now()
	})
}

// begin notes that a segment's fetch has begun.
func (d *deps) begin(ctx context.Context, seg string) error {
	return segment.Change(ctx, d.Store, seg, func(m *segment.Meta) {
		if m.Started.IsZero() {
			m.Started = d.now()
		}
	})
}

func (d *deps) invert(ctx context.Context, seg string) (invert.Report, error) {
	return invert.Run(ctx, invert.Deps{DB: d.DB, Links: d.outlinks(), Now: d.now(), Progress: func(n int64) { d.told(n, 0) }}, seg)
}

func (d *deps) outlinks() outlinks.Links {
	return outlinks.Links{Segs: d.Segs, DB: d.Links, MarkTargets: d.Chains.Needs().Inlinks, Orphans: d.Chains.JudgesOrphans()}
}

// orphans judges pages without inlinks whose time has come.
func (d *deps) orphans(ctx context.Context, sum *Summary) error {
	if !d.Chains.JudgesOrphans() {
		return nil
	}
	rep, err := orphan.Run(ctx, orphan.Deps{
		DB: d.DB, Links: d.outlinks(), Judge: d.Chains, Purge: d.cfg.PurgeOrphans, Log: d.Log.Named("orphan"), Told: d.failed,
	}, d.now())
	sum.change(func(r *Report) {
		for s, n := range rep.ByStatus {
			bump(&r.Orphaned, s.String(), n)
		}
	})
	return err
}

// prune removes old segments when the segments take more than they may.
func (d *deps) prune(ctx context.Context, sum *Summary) error {
	if d.cfg.DiskBudget <= 0 {
		return nil
	}
	rep, err := prune.Run(ctx, prune.Deps{DB: d.DB, Segs: d.Segs}, prune.Options{Budget: d.cfg.DiskBudget, Apply: true}, d.now())
	sum.change(func(r *Report) {
		r.Pruned += int64(rep.Removed)
		r.PrunedBytes += rep.Freed
		r.OverBudget = rep.Over
	})
	return err
}

func (d *deps) dedup(ctx context.Context, sum *Summary) error {
	st, err := d.DB.Dedup(ctx, crawldb.DedupOptions{Order: d.cfg.DedupOrder, Group: d.cfg.DedupGroup, Progress: func(n int64) { d.told(n, 0) }})
	if err != nil {
		return err
	}
	sum.change(func(r *Report) {
		r.Duplicates += int64(st.Duplicates)
		r.Lifted += int64(st.Lifted)
	})
	return nil
}

func (d *deps) index(ctx context.Context, sum *Summary) error {
	if err := d.openWriters(ctx); err != nil {
		return err
	}
	rep, err := d.indexer().Run(ctx)
	sum.indexed(rep)
	if err != nil || rep.Stopped {
		return err
	}
	metas, err := segment.List(ctx, d.Store)
	if err != nil {
		return err
	}
	for _, m := range metas {
		if m.State == segment.StateInverted {
			if err := d.setState(ctx, m.ID, segment.StateIndexed); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *deps) indexer() *index.Indexer {
	d.indexing.Store(0)
	return index.New(d.cfg.Index, index.Deps{
		DB: d.DB, Segs: d.Segs, Links: d.Links, Plugins: d.Chains, Targets: d.targets, URLs: d.indexURLs(), Routed: d.Chains.Routed(), Log: d.Log.Named("index"), Failed: d.failed,
		Health: d.health, Stop: d.stop, Progress: func(n int64) {
			d.indexing.Store(n)
			d.told(n, 0)
		},
	})
}

// indexURLs runs what section indexer says over the URLs of documents; nil is nothing.
func (d *deps) indexURLs() func(context.Context, []string) ([]chain.URLResult, error) {
	const scope = urlnormalizer.ScopeIndexer
	switch x := d.cfg.Index; {
	case x.Normalize && x.Filter:
		return func(ctx context.Context, urls []string) ([]chain.URLResult, error) {
			return d.Chains.NormalizeFilter(ctx, scope, urls)
		}
	case x.Normalize:
		return func(ctx context.Context, urls []string) ([]chain.URLResult, error) {
			return d.Chains.Normalize(ctx, scope, urls)
		}
	case x.Filter:
		return d.Chains.Filter
	}
	return nil
}

func (s *Summary) indexed(rep index.Report) {
	s.change(func(r *Report) {
		r.Indexed += rep.Indexed
		r.IndexedNew += rep.New
		r.IndexedChanged += rep.Changed
		r.IndexedAgain += rep.Again
		r.Deleted += rep.Deleted
		r.Unchanged += rep.Unchanged
		for k, n := range rep.Skipped {
			bump(&r.Skipped, k, n)
		}
		for k, n := range rep.Rejected {
			bump(&r.Refused, k, n)
		}
		r.Waiting, r.Down, r.Incomplete = rep.Waiting, rep.Down, rep.Late // as of the last step
		if rep.Stopped && r.Stopped == "" {
			r.Stopped = goesOn
		}
	})
}

// nextRound numbers the next segment's round.
func (d *deps) nextRound(ctx context.Context) (int, error) {
	metas, err := segment.List(ctx, d.Store)
	round := 1
	for _, m := range metas {
		round = max(round, m.Round+1)
	}
	return round, err
}

// Generate is "crawler generate": it returns the new segment, or "" when
// nothing was selected.
func (c *Cycle) Generate(ctx context.Context) (string, Report, error) {
	sum := c.d.newSummary()
	round, err := c.d.nextRound(ctx)
	if err != nil {
		return "", Report{}, err
	}
	res, seg, err := c.d.generate(ctx, c.d.cfg.Generate, round, sum, nil)
	if res.Selected == 0 {
		seg = ""
	}
	return seg, sum.Report(), err
}

// Fetch is "crawler fetch": it fetches what is left of a segment.
func (c *Cycle) Fetch(ctx context.Context, seg string, stop <-chan struct{}) (Report, error) {
	d, sum := c.d, c.d.newSummary()
	p := newPipeline(d, onlyFetch, sum)
	eng, err := d.newEngine(ctx, p)
	if err != nil {
		return sum.Report(), err
	}
	p.eng = eng
	d.fetching.Store(&fetching{seg, sum, eng})
	start, stopped := d.now(), false
	if err := d.begin(ctx, seg); err != nil {
		return sum.Report(), err
	}
	err = p.run(ctx, func(ctx context.Context) error {
		err := d.DB.Leased(ctx, seg, func(k urlkey.Key) error {
			w, fetched, err := d.pending(seg, k)
			if err != nil || fetched {
				return err
			}
			it, err := item(seg, k, w.page.Hint)
			if err != nil {
				return err
			}
			p.track.add(seg, 1)
			return eng.Add(ctx, it)
		})
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() { stopped = p.closeWhenThrough(ctx, seg, stop) })
		err = eng.Run(ctx)
		cancel()
		wg.Wait()
		return err
	})
	if err == nil && p.track.left(seg) == 0 {
		err = d.setState(ctx, seg, segment.StateFetched)
	}
	sum.change(func(r *Report) {
		r.Elapsed = d.now().Sub(start)
		if stopped {
			r.Stopped = goesOn
		}
	})
	return sum.Report(), err
}

// goesOn is what a step reports that was told to stop.
const goesOn = "stopped; the same command goes on with what is left"

// closeWhenThrough ends the engine's work when every URL of the segment is through,
// redirects that are followed included, or by stop, which it reports.
func (p *pipeline) closeWhenThrough(ctx context.Context, seg string, stop <-chan struct{}) (stopped bool) {
	for p.track.left(seg) > 0 {
		select {
		case <-p.track.changed:
		case <-stop:
			p.eng.Stop()
			return true
		case <-ctx.Done():
			return false
		}
	}
	p.eng.Close()
	return false
}

// Parse is "crawler parse": it parses the fetched pages of a segment.
func (c *Cycle) Parse(ctx context.Context, seg string) (Report, error) {
	return c.over(ctx, seg, onlyParse, segment.StateParsed)
}

// Update is "crawler updatedb": it applies a segment's pages. Pages that are not parsed
// yet are parsed on the way.
func (c *Cycle) Update(ctx context.Context, seg string) (Report, error) {
	rep, err := c.over(ctx, seg, onlyUpdate, segment.StateUpdated)
	if err != nil {
		return rep, err
	}
	st, err := c.d.fold(ctx)
	rep.New += int64(st.New)
	if err == nil {
		rep.Freshness, err = c.d.cfg.Update.Freshness(ctx, c.d.DB)
	}
	return rep, err
}

// over takes the fetched pages of a segment through later stages.
func (c *Cycle) over(ctx context.Context, seg string, to depth, state segment.State) (Report, error) {
	d, sum := c.d, c.d.newSummary()
	p := newPipeline(d, to, sum)
	start := d.now()
	lost := 0
	err := p.run(ctx, func(ctx context.Context) error {
		var keys []urlkey.Key
		err := d.DB.Leased(ctx, seg, func(k urlkey.Key) error {
			keys = append(keys, k)
			return nil
		})
		if err != nil {
			return err
		}
		for i, k := range keys {
			d.told(int64(i)+1, int64(len(keys)))
			w, fetched, err := d.pending(seg, k)
			if err != nil {
				return err
			}
			if !fetched || to == onlyParse && w.content == nil {
				continue
			}
			if w.lost() {
				lost++
				continue
			}
			p.track.add(seg, 1)
			if err := send(ctx, p.toParse, w); err != nil {
				return err
			}
		}
		return nil
	})
	if lost > 0 {
		d.Log.Warn("content was not stored, so pages can't be parsed; crawler run fetches them again", "segment", seg, "count", lost)
	} else if err == nil {
		err = d.setState(ctx, seg, state)
	}
	sum.change(func(r *Report) { r.Elapsed = d.now().Sub(start) })
	return sum.Report(), err
}

// Invert is "crawler invertlinks".
func (c *Cycle) Invert(ctx context.Context, seg string) (invert.Report, error) {
	rep, err := c.d.invert(ctx, seg)
	if err == nil && c.d.DB.LeasedCount(seg) == 0 {
		err = c.d.setState(ctx, seg, segment.StateInverted)
	}
	if err != nil {
		return rep, err
	}
	sum := c.d.newSummary()
	err = c.d.orphans(ctx, sum)
	rep.Orphaned = sum.Report().Orphaned
	return rep, err
}

// Dedup is "crawler dedup".
func (c *Cycle) Dedup(ctx context.Context) (Report, error) {
	sum := c.d.newSummary()
	err := c.d.dedup(ctx, sum)
	return sum.Report(), err
}

// Index is "crawler index": it sends what changed to the writers.
func (c *Cycle) Index(ctx context.Context) (Report, error) {
	sum := c.d.newSummary()
	start := time.Now()
	c.d.health.Wake()
	err := c.d.index(ctx, sum)
	sum.change(func(r *Report) { r.Elapsed = time.Since(start) })
	return sum.Report(), err
}

// Segments lists the segments, oldest first.
func (c *Cycle) Segments(ctx context.Context) ([]segment.Meta, error) {
	return segment.List(ctx, c.d.Store)
}

// SetAddDays lets generate take URLs that become due within so many days.
func (c *Cycle) SetAddDays(days float64) {
	c.d.cfg.Generate.AddDays = time.Duration(days * float64(24*time.Hour))
}

// Refilter is "crawler db refilter".
func (c *Cycle) Refilter(ctx context.Context, o refilter.Options) (refilter.Report, error) {
	c.d.newSummary()
	o.Now = c.d.now()
	if o.Apply {
		if _, err := c.d.fold(ctx); err != nil {
			return refilter.Report{}, err
		}
	}
	return refilter.Run(ctx, refilter.Deps{DB: c.d.DB, Links: c.d.outlinks(), Plugins: c.d.Chains}, o)
}

// UpdateScores is "crawler scoreupdater": next has the scores, in key order.
func (c *Cycle) UpdateScores(ctx context.Context, next func() (urlkey.Key, float64, bool, error), o scoreupdate.Options) (scoreupdate.Report, error) {
	if _, err := c.d.fold(ctx); err != nil {
		return scoreupdate.Report{}, err
	}
	return scoreupdate.Run(ctx, scoreupdate.Deps{DB: c.d.DB, Scorer: c.d.Chains, Next: next}, o)
}

// Rescore is "crawler db rescore": it lets the scoring filters decide score and sort value of
// every record anew, after a change of them or their settings. It returns how many records were
// asked about. One that is cut short is done by the next generate.
func (c *Cycle) Rescore(ctx context.Context, told func(int64)) (int64, error) {
	c.d.newSummary()
	var n int64
	var keys []urlkey.Key
	flush := func() error {
		defer func() { keys = keys[:0] }()
		n += int64(len(keys))
		if told != nil {
			told(n)
		}
		return c.d.DB.Update(ctx, func(tx *crawldb.Tx) error {
			for _, k := range keys {
				tx.Rescore(k)
			}
			return nil
		})
	}
	err := c.d.DB.EachKey(ctx, "", func(k urlkey.Key) error {
		if keys = append(keys, k); len(keys) < 10_000 {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		_, err = c.d.fold(ctx)
	}
	if err != nil {
		return n, fmt.Errorf("rescore: %w", err)
	}
	return n, nil
}

// SetRounds bounds the rounds of a run; negative is no bound.
func (c *Cycle) SetRounds(n int) { c.d.cfg.Rounds = n }

// Inject is InjectList with seeds in memory.
func (c *Cycle) Inject(ctx context.Context, seeds []inject.Seed, mode transition.InjectMode, skipInvalid bool) (inject.Report, error) {
	return c.InjectList(ctx, inject.Seeds(seeds), inject.Options{Mode: mode, SkipInvalid: skipInvalid})
}

// InjectList is "crawler inject". Rules and time of o are set here.
func (c *Cycle) InjectList(ctx context.Context, list inject.List, o inject.Options) (inject.Report, error) {
	if _, err := refilter.Changed(ctx, c.d.DB, c.d.Chains.Fingerprint()); err != nil {
		return inject.Report{}, err
	}
	o.Rules, o.Now = c.d.cfg.Update.Rules, c.d.now()
	return inject.Run(ctx, c.d.DB, c.d.Chains, list, o)
}

// FreeGenerate is "crawler freegen": it makes a segment whose fetch list is the list, due or
// not. URLs that are not known get records. It returns the segment, or "" when nothing is in its
// fetch list.
func (c *Cycle) FreeGenerate(ctx context.Context, list inject.List, o inject.Options) (seg string, rep inject.Report, err error) {
	d := c.d
	round, err := d.nextRound(ctx)
	if err != nil {
		return "", rep, err
	}
	now := d.now()
	if seg, err = segment.NewID(d.Store, now); err != nil {
		return "", rep, err
	}
	state := func(s segment.State) error {
		return d.DB.Update(ctx, func(tx *crawldb.Tx) error {
			segment.PutMeta(tx.Tx, segment.Meta{ID: seg, Round: round, State: s, Created: now})
			return nil
		})
	}
	if err := state(segment.StateGenerating); err != nil { // undone when it is cut short
		return "", rep, err
	}
	o.Segment = seg
	if rep, err = c.InjectList(ctx, list, o); err != nil || rep.Listed == 0 {
		return "", rep, errors.Join(err, d.DB.Discard(context.WithoutCancel(ctx), seg))
	}
	return seg, rep, state(segment.StateGenerated)
}
