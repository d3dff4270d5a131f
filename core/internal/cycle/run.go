package cycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/frontier"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/step/fetch"
	"github.com/gonutch/crawler/core/internal/step/index"
	"github.com/gonutch/crawler/core/internal/step/refilter"
	"github.com/gonutch/crawler/core/internal/step/update"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// Progress is the state of a run, for people who watch it.
type Progress struct {
	Round     int              `json:"round"`
	Segment   string           `json:"segment"`
	Step      string           `json:"step"`
	Queued    int              `json:"queued"`
	InFlight  int              `json:"in_flight"`
	Hosts     int              `json:"hosts"`
	HostsHeld int              `json:"hosts_held"`
	Busiest   []HostLoad       `json:"busiest,omitempty"`
	Indexing  int64            `json:"indexing,omitempty"` // pages that the index step under way has gone through
	Report    Report           `json:"report"`
	Plugins   map[string]int64 `json:"plugins,omitempty"`
}

// HostLoad is a host and how many of its URLs wait.
type HostLoad struct {
	Host   string `json:"host"`
	Queued int    `json:"queued"`
}

// Runner is one "crawler run".
type Runner struct {
	d        *deps
	sum      *Summary
	pipe     *pipeline
	eng      *fetch.Engine
	last     int // number of the newest round of the crawl
	made     int // rounds of this run, those it resumed included
	active   []*round
	lookAt   time.Time // no generate before, while nothing is active
	giveUpAt time.Time // end of cycle.wait; zero while there is work
	nextMaps time.Time // hosts are not looked through for sitemaps before, while a round is active
	stop     chan struct{}
	stopOnce sync.Once
	step     atomic.Pointer[string]
	current  atomic.Pointer[round]
	started  time.Time
	// OnRound is called after each round with its report so far.
	OnRound func(n int, r Report)
}

type round struct {
	n       int
	seg     string
	started time.Time
	looked  time.Time // a next round was last looked for
}

// NewRunner prepares a run.
func (c *Cycle) NewRunner() *Runner {
	r := &Runner{stop: make(chan struct{}), d: c.d, sum: c.d.newSummary()}
	c.d.stop = r.stop
	r.setStep("starting")
	return r
}

func (r *Runner) setStep(s string) { r.step.Store(&s) }

// Stop ends the run gently: requests under way are finished, everything is
// committed, and the same command goes on later.
// It may be called at any time, by any goroutine.
func (r *Runner) Stop() { r.stopOnce.Do(func() { close(r.stop) }) }

func (r *Runner) stopped() bool {
	select {
	case <-r.stop:
		return true
	default:
		return false
	}
}

// Progress returns the state of the run. Safe for concurrent use.
func (r *Runner) Progress() Progress {
	p := Progress{Step: *r.step.Load(), Report: r.sum.Report()}
	if cur := r.current.Load(); cur != nil {
		p.Round, p.Segment = cur.n, cur.seg
		p.queues(r.eng)
	}
	if p.Step == stepIndex {
		p.Indexing = r.d.indexing.Load()
	}
	return p
}

// stepIndex is the step in which Progress.Indexing grows.
const stepIndex = "index"

// queues tells what waits in the frontier.
func (p *Progress) queues(eng *fetch.Engine) {
	c := eng.Counts()
	p.Queued, p.InFlight, p.Hosts, p.HostsHeld = c.Queued, c.InFlight, c.Queues, c.Held
	for _, q := range eng.Busiest(3) {
		p.Busiest = append(p.Busiest, HostLoad{Host: q.Name, Queued: q.Queued})
	}
}

// fetching is what "crawler fetch" works with.
type fetching struct {
	seg string
	sum *Summary
	eng *fetch.Engine
}

// Progress returns how far Fetch is. Safe for concurrent use.
func (c *Cycle) Progress() Progress {
	p := Progress{Step: "fetch"}
	if f := c.d.fetching.Load(); f != nil {
		p.Segment, p.Report = f.seg, f.sum.Report()
		p.queues(f.eng)
	}
	return p
}

// Waits tells what the URLs of the fetch lists that are worked on wait for, and
// how many requests may be under way at once. Between rounds there is nothing to
// tell. Safe for concurrent use.
func (r *Runner) Waits() (waits []frontier.Wait, threads int) {
	if r.current.Load() == nil {
		return nil, 0
	}
	return r.eng.Waits(), r.eng.Threads()
}

// Run crawls until the rounds are done, nothing is left to do, or Stop. Everything up to
// the last commit is kept whatever ends it.
func (r *Runner) Run(ctx context.Context) (Report, error) {
	r.started = r.d.now()
	if r.d.Chains.JudgesOrphans() && r.d.Config.Bool("linkdb.ignore_internal_links") {
		r.d.Log.Warn("pages without inlinks are judged, but links within a host do not count", "setting", "linkdb.ignore_internal_links")
	}
	changed, err := refilter.Changed(ctx, r.d.DB, r.d.Chains.Fingerprint())
	if err != nil {
		return r.sum.Report(), err
	}
	if changed {
		r.d.Log.Warn("normalizers, filters or their rules changed since all of the CrawlDB was filtered; \"crawler db refilter\" shows what they change there")
	}
	r.pipe = newPipeline(r.d, whole, r.sum)
	eng, err := r.d.newEngine(ctx, r.pipe)
	if err != nil {
		return r.sum.Report(), err
	}
	r.eng, r.pipe.eng = eng, eng
	if r.d.cfg.Sitemap.FromHosts != "never" {
		r.pipe.sitemaps = r.d.sitemapReader(eng)
	}
	if r.d.indexes() {
		if err := r.d.openWriters(ctx); err != nil {
			return r.sum.Report(), err
		}
	} else if r.d.cfg.IndexEnabled {
		r.d.Log.Warn("nothing will be indexed; pages stay marked for it", "reason", index.ErrNoWriter)
	}
	err = r.pipe.run(ctx, r.feed)
	r.sum.change(func(rep *Report) {
		rep.Elapsed = r.d.now().Sub(r.started)
		if r.stopped() && rep.Stopped == "" {
			rep.Stopped = "stopped; run the same command again to go on"
		}
	})
	if err == nil {
		var fresh []update.TargetReport
		fresh, err = r.d.cfg.Update.Freshness(ctx, r.d.DB)
		r.sum.change(func(out *Report) { out.Freshness = fresh })
	}
	return r.sum.Report(), err
}

// feed runs the engine and the rounds until the rounds are done.
func (r *Runner) feed(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	fetched, watched := make(chan error, 1), make(chan struct{})
	go func() {
		err := r.eng.Run(ctx)
		if err != nil {
			cancel(err)
		}
		fetched <- err
	}()
	go func() {
		defer close(watched)
		select {
		case <-r.stop:
			r.eng.Stop()
		case <-ctx.Done():
		}
	}()
	err := r.rounds(ctx)
	if errors.Is(err, errStopped) {
		r.eng.Stop()
		err = r.dueAfter(ctx)
	}
	if err != nil {
		cancel(err)
	}
	r.eng.Close()
	ferr := <-fetched
	cancel(nil)
	<-watched
	if err == nil {
		err = ferr
	}
	return err
}

// rounds generates and completes rounds until there is no more to do.
func (r *Runner) rounds(ctx context.Context) error {
	if err := r.resume(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if r.stopped() {
			return errStopped
		}
		if err := r.d.Store.Err(); err != nil {
			return fmt.Errorf("store failed: %w", err)
		}
		more, err := r.turn(ctx)
		if err != nil {
			return err
		}
		if len(r.active) == 0 && (!more || r.finished()) {
			if more {
				if err := r.dueAfter(ctx); err != nil {
					return err
				}
			}
			return r.lastCall(ctx)
		}
		if err := r.catchUp(ctx); err != nil {
			return err
		}
		select {
		case <-r.pipe.track.changed:
		case <-tick.C:
		case <-r.stop:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// turn completes rounds that are through and generates the next one when it is
// time. It reports false when nothing is left to do.
func (r *Runner) turn(ctx context.Context) (more bool, err error) {
	for len(r.active) > 0 && r.pipe.track.left(r.active[0].seg) == 0 {
		if err := r.complete(ctx, r.active[0]); err != nil {
			return false, err
		}
		r.pipe.track.forget(r.active[0].seg)
		r.active = r.active[1:]
		if r.stopped() {
			return true, nil
		}
	}
	more = true
	if r.wantsNext() {
		n, due, err := r.generate(ctx)
		if err != nil {
			return false, err
		}
		if n == 0 && len(r.active) == 0 {
			more = r.idle(due)
		}
	}
	return more, r.checkTail(ctx)
}

// finished reports whether the wanted rounds are done.
func (r *Runner) finished() bool {
	if r.d.cfg.Rounds >= 0 && r.made >= r.d.cfg.Rounds {
		return true
	}
	if r.d.stopAsked() {
		r.sum.change(func(rep *Report) { rep.Stopped = "a file " + stopFile + " is there" })
		return true
	}
	return false
}

// dueLooks is how many URLs that are due are looked at for one whose host is not held.
const dueLooks = 1000

// dueAfter corrects when the next URL is due, when the run ends with more to do: the last
// fetch list was made before its pages brought new URLs, or is not done.
func (r *Runner) dueAfter(ctx context.Context) error {
	now := r.d.now()
	held, _, err := r.d.Hosts.Held(ctx, now)
	if err != nil {
		return err
	}
	d, err := r.d.DB.Due(now, dueLooks, held)
	if err == nil && (d.Records > d.Held || len(r.active) > 0) {
		r.sum.change(func(rep *Report) { rep.NextDue = now })
	}
	return err
}

// wantsNext reports whether another round is to be generated now.
func (r *Runner) wantsNext() bool {
	if r.finished() {
		return false
	}
	now := r.d.now()
	switch {
	case len(r.active) == 0:
		return !now.Before(r.lookAt)
	case !r.d.cfg.Overlap || len(r.active) > 1:
		return false
	}
	first := r.active[0]
	if now.Sub(first.started) <= time.Second || now.Sub(first.looked) < time.Second {
		return false // one look a second is enough
	}
	c := r.eng.Counts()
	if c.Queues-c.Held >= 2*r.d.cfg.Fetch.Threads {
		return false
	}
	first.looked = now
	return true
}

// checkTail releases what is left of a round that has been done but for slow
// hosts for too long, so that its pages get indexed.
func (r *Runner) checkTail(ctx context.Context) error {
	if len(r.active) < 2 || r.d.cfg.Tail < 0 || r.d.now().Sub(r.active[1].started) < r.d.cfg.Tail {
		return nil
	}
	return r.eng.DropSegment(ctx, r.active[0].seg)
}

// idle reports whether to wait when nothing can be generated before due.
func (r *Runner) idle(due time.Time) (wait bool) {
	r.sum.change(func(rep *Report) { rep.NextDue = due })
	r.setStep("waiting")
	w := r.d.cfg.Wait
	if w == 0 || due.IsZero() {
		return false
	}
	now := r.d.now()
	if r.giveUpAt.IsZero() {
		r.giveUpAt = now.Add(w)
	}
	r.lookAt = later(due, now.Add(time.Second))
	return w < 0 || !due.After(r.giveUpAt)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// generate makes the next fetch list and queues it.
func (r *Runner) generate(ctx context.Context) (int, time.Time, error) {
	if err := r.sitemaps(ctx); err != nil {
		return 0, time.Time{}, err
	}
	r.setStep("generate")
	res, seg, err := r.d.generate(ctx, r.d.cfg.Generate, r.last+1, r.sum, r.busy())
	if err != nil || res.Selected == 0 {
		return 0, res.NextDue, err
	}
	r.last++
	r.made++
	r.giveUpAt = time.Time{}
	rd := &round{n: r.last, seg: seg, started: r.d.now()}
	r.active = append(r.active, rd)
	r.current.Store(rd)
	r.setStep("fetch")
	r.eng.StartRound()
	r.sum.change(func(rep *Report) { rep.Rounds = r.made })
	if err := r.d.begin(ctx, seg); err != nil {
		return 0, res.NextDue, err
	}
	return res.Selected, res.NextDue, r.queue(ctx, seg, res.Selected)
}

// busy tells which hosts have enough URLs queued from the round before.
func (r *Runner) busy() func(string) bool {
	if len(r.active) == 0 {
		return nil
	}
	load := map[string]bool{}
	for _, q := range r.eng.Busiest(1 << 20) {
		if q.Queued > 0 {
			load[q.Name] = true
		}
	}
	return func(queue string) bool { return load[queue] }
}

// queue feeds a new fetch list to the engine.
func (r *Runner) queue(ctx context.Context, seg string, n int) error {
	r.pipe.track.add(seg, n)
	var items []fetch.Item
	err := r.d.DB.Generated(ctx, seg, func(k urlkey.Key, h crawldb.FetchHint) error {
		it, err := item(seg, k, h)
		if err != nil {
			return err
		}
		items = append(items, it)
		if len(items) == 4096 {
			err = r.eng.Add(ctx, items...)
			items = items[:0]
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.eng.Add(ctx, items...)
}

func item(seg string, k urlkey.Key, h crawldb.FetchHint) (fetch.Item, error) {
	url, err := urlkey.ToURL(k)
	return fetch.Item{Segment: seg, Key: k, URL: url, Hint: h}, err
}

// catchUp sends index writers that were down what they lack, once it is time to ask them.
func (r *Runner) catchUp(ctx context.Context) error {
	if !r.d.indexes() || !r.d.health.Due() {
		return nil
	}
	was := *r.step.Load()
	r.setStep(stepIndex)
	defer r.setStep(was)
	rep, err := r.d.indexer().Pending(ctx)
	r.sum.indexed(rep)
	return err
}

// lastCall asks the writers that are down once more before the run ends.
func (r *Runner) lastCall(ctx context.Context) error {
	if r.d.indexes() {
		r.d.health.Wake()
	}
	return r.catchUp(ctx)
}

// complete runs the steps after a round's updates.
func (r *Runner) complete(ctx context.Context, rd *round) error {
	d := r.d
	r.setStep("score")
	st, err := d.fold(ctx)
	if err != nil {
		return err
	}
	r.sum.change(func(rep *Report) { rep.New += int64(st.New) })
	if err := d.setState(ctx, rd.seg, segment.StateUpdated); err != nil {
		return err
	}
	if err := d.Segs.CloseSegment(rd.seg); err != nil {
		return err
	}
	r.setStep("invert")
	if _, err := d.invert(ctx, rd.seg); err != nil {
		return err
	}
	if err := d.setState(ctx, rd.seg, segment.StateInverted); err != nil {
		return err
	}
	if err := d.orphans(ctx, r.sum); err != nil {
		return err
	}
	if err := r.publish(ctx); err != nil {
		return err
	}
	if r.d.cfg.DiskBudget > 0 {
		r.setStep("prune")
		if err := d.prune(ctx, r.sum); err != nil {
			return err
		}
	}
	if r.OnRound != nil {
		r.OnRound(rd.n, r.sum.Report())
	}
	r.setStep("fetch")
	return nil
}

// publish finds duplicates and indexes what changed since the last time.
func (r *Runner) publish(ctx context.Context) error {
	d := r.d
	if d.cfg.DedupEnabled {
		r.setStep("dedup")
		if err := d.dedup(ctx, r.sum); err != nil {
			return err
		}
	}
	if d.indexes() {
		r.setStep(stepIndex)
		if err := d.index(ctx, r.sum); err != nil {
			return err
		}
	}
	return nil
}
