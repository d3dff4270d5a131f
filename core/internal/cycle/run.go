package cycle

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/step/fetch"
	"github.com/gonutch/crawler/core/internal/step/update"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
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
	round    int
	active   []*round
	stopping atomic.Bool
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
	tail    time.Time // since when the next round has been generated
}

// NewRunner prepares a run.
func (c *Cycle) NewRunner() *Runner {
	r := &Runner{d: c.d, sum: c.d.newSummary()}
	r.setStep("starting")
	return r
}

func (r *Runner) setStep(s string) { r.step.Store(&s) }

// Stop ends the run gently: requests under way are finished, everything is
// committed, and the same command goes on later.
func (r *Runner) Stop() {
	r.stopping.Store(true)
	if e := r.eng; e != nil {
		e.Stop()
	}
}

// Progress returns the state of the run. Safe for concurrent use.
func (r *Runner) Progress() Progress {
	p := Progress{Step: *r.step.Load(), Report: r.sum.Report()}
	if cur := r.current.Load(); cur != nil {
		p.Round, p.Segment = cur.n, cur.seg
		c := r.eng.Counts()
		p.Queued, p.InFlight, p.Hosts, p.HostsHeld = c.Queued, c.InFlight, c.Queues, c.Held
		for _, q := range r.eng.Busiest(3) {
			p.Busiest = append(p.Busiest, HostLoad{Host: q.Name, Queued: q.Queued})
		}
	}
	return p
}

// Run crawls until the rounds are done, nothing is left to do, or Stop. Everything up to
// the last commit is kept whatever ends it.
func (r *Runner) Run(ctx context.Context) (Report, error) {
	r.started = r.d.now()
	r.pipe = newPipeline(r.d, whole, r.sum)
	eng, err := r.d.newEngine(ctx, r.pipe)
	if err != nil {
		return r.sum.Report(), err
	}
	r.eng, r.pipe.eng = eng, eng
	if r.stopping.Load() {
		eng.Stop()
	}
	if r.d.cfg.IndexEnabled {
		if err := r.d.openWriters(ctx); err != nil {
			return r.sum.Report(), err
		}
	}
	err = r.pipe.run(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		fetched := make(chan error, 1)
		go func() {
			err := eng.Run(ctx)
			if err != nil {
				cancel(err)
			}
			fetched <- err
		}()
		err := r.rounds(ctx)
		if errors.Is(err, errStopped) {
			eng.Stop()
			err = nil
		}
		if err != nil {
			cancel(err)
		}
		eng.Close()
		return errors.Join(<-fetched, err)
	})
	r.sum.change(func(rep *Report) {
		rep.Elapsed = r.d.now().Sub(r.started)
		if r.stopping.Load() && rep.Stopped == "" {
			rep.Stopped = "stopped; run the same command again to go on"
		}
	})
	return r.sum.Report(), err
}

// rounds generates and completes rounds until there is no more to do.
func (r *Runner) rounds(ctx context.Context) error {
	if err := r.resume(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var waitUntil time.Time
	for {
		if r.stopping.Load() {
			return errStopped
		}
		if err := r.d.Store.Err(); err != nil {
			return fmt.Errorf("store failed: %w", err)
		}
		progressed := false
		for len(r.active) > 0 && r.pipe.track.left(r.active[0].seg) == 0 {
			if err := r.complete(ctx, r.active[0]); err != nil {
				return err
			}
			r.active = r.active[1:]
			progressed = true
		}
		if r.wantsNext() {
			n, due, err := r.generate(ctx)
			if err != nil {
				return err
			}
			if n > 0 {
				continue
			}
			if len(r.active) == 0 {
				done, err := r.idle(due, &waitUntil)
				if err != nil || done {
					return err
				}
			}
		}
		r.checkTail(ctx)
		if len(r.active) == 0 && r.finished() {
			return nil
		}
		if progressed {
			continue
		}
		select {
		case <-r.pipe.track.changed:
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// finished reports whether the wanted rounds are done.
func (r *Runner) finished() bool {
	if r.d.cfg.Rounds >= 0 && r.round >= r.d.cfg.Rounds {
		return true
	}
	if r.d.stopAsked() {
		r.sum.change(func(rep *Report) { rep.Stopped = "a file " + stopFile + " is there" })
		return true
	}
	return false
}

// wantsNext reports whether another round is to be generated now.
func (r *Runner) wantsNext() bool {
	if r.finished() {
		return false
	}
	switch {
	case len(r.active) == 0:
		return true
	case !r.d.cfg.Overlap || len(r.active) > 1:
		return false
	}
	c := r.eng.Counts()
	return c.Queues-c.Held < 2*r.d.cfg.Fetch.Threads && r.d.now().Sub(r.active[0].started) > time.Second && r.worthOverlap()
}

// worthOverlap keeps an overlapping round from being generated over and over
// while nothing is due: one look a second is enough.
func (r *Runner) worthOverlap() bool {
	a := r.active[0]
	if r.d.now().Sub(a.tail) < time.Second {
		return false
	}
	a.tail = r.d.now()
	return true
}

// checkTail releases what is left of a round that has been done but for slow
// hosts for too long, so that its pages get indexed.
func (r *Runner) checkTail(ctx context.Context) {
	if len(r.active) < 2 || r.d.cfg.Tail < 0 {
		return
	}
	first := r.active[0]
	if r.d.now().Sub(r.active[1].started) < r.d.cfg.Tail {
		return
	}
	if err := r.eng.DropSegment(ctx, first.seg); err != nil {
		r.d.Log.Warn("release the tail of a round", "segment", first.seg, "error", err)
	}
}

// idle decides what to do when nothing can be generated.
func (r *Runner) idle(due time.Time, waitUntil *time.Time) (done bool, err error) {
	r.sum.change(func(rep *Report) { rep.NextDue = due })
	r.setStep("waiting")
	w := r.d.cfg.Wait
	if w == 0 || due.IsZero() {
		return true, nil
	}
	now := r.d.now()
	if waitUntil.IsZero() {
		*waitUntil = now.Add(w)
	}
	if w > 0 && due.After(*waitUntil) {
		return true, nil
	}
	return false, nil
}

// generate makes the next fetch list and queues it.
func (r *Runner) generate(ctx context.Context) (int, time.Time, error) {
	r.setStep("generate")
	res, seg, err := r.d.generate(ctx, r.d.cfg.Generate, r.round+1, r.sum, r.busy())
	if err != nil || res.Selected == 0 {
		return 0, res.NextDue, err
	}
	r.round++
	rd := &round{n: r.round, seg: seg, started: r.d.now()}
	r.active = append(r.active, rd)
	r.current.Store(rd)
	r.setStep("fetch")
	r.eng.StartRound()
	r.sum.change(func(rep *Report) { rep.Rounds = r.round })
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
	if d.cfg.DedupEnabled {
		r.setStep("dedup")
		if err := d.dedup(ctx, r.sum); err != nil {
			return err
		}
	}
	if d.cfg.IndexEnabled {
		r.setStep("index")
		if err := d.index(ctx, r.sum); err != nil {
			return err
		}
		if err := d.setState(ctx, rd.seg, segment.StateIndexed); err != nil {
			return err
		}
	}
	if r.OnRound != nil {
		r.OnRound(rd.n, r.sum.Report())
	}
	r.setStep("fetch")
	return nil
}

// resume takes up segments that an earlier process left: their URLs are queued,
// parsed or applied, according to how far they got. Segments whose updates are
// complete but whose later steps were cut short get these.
func (r *Runner) resume(ctx context.Context) error {
	metas, err := segment.List(ctx, r.d.Store)
	if err != nil {
		return err
	}
	for _, m := range metas {
		r.round = max(r.round, 0)
		leased := r.d.DB.LeasedCount(m.ID)
		if leased == 0 && (m.State == segment.StateIndexed || m.State == segment.StateUpdated) {
			continue
		}
		rd := &round{n: m.Round, seg: m.ID, started: r.d.now()}
		r.active = append(r.active, rd)
		r.current.Store(rd)
		r.setStep("resume")
		if leased > 0 {
			r.d.Log.Info("going on with a segment of an earlier run", "segment", m.ID, "urls", leased)
		}
		if err := r.resumeSegment(ctx, m.ID); err != nil {
			return fmt.Errorf("resume segment %s: %w", m.ID, err)
		}
	}
	return nil
}

func (r *Runner) resumeSegment(ctx context.Context, seg string) error {
	var keys []urlkey.Key
	if err := r.d.DB.Leased(ctx, seg, func(k urlkey.Key) error {
		keys = append(keys, k)
		return nil
	}); err != nil {
		return err
	}
	r.pipe.track.add(seg, len(keys))
	for _, k := range keys {
		w, fetched, err := r.d.pending(seg, k)
		if err != nil {
			return err
		}
		if !fetched {
			it, err := item(seg, k, w.page.Hint)
			if err == nil {
				err = r.eng.Add(ctx, it)
			}
			if err != nil {
				return err
			}
			continue
		}
		if err := send(ctx, r.pipe.toParse, w); err != nil {
			return err
		}
	}
	return nil
}

// pending returns the work left for a leased URL of a segment, and whether it was
// fetched already.
func (d *deps) pending(seg string, k urlkey.Key) (*work, bool, error) {
	url, err := urlkey.ToURL(k)
	if err != nil {
		return nil, false, err
	}
	hint, _, err := d.DB.Hint(seg, k)
	if err != nil {
		return nil, false, err
	}
	w := &work{page: update.Page{Segment: seg, Key: k, URL: url, Hint: hint}}
	f, err := d.Segs.GetFetch(seg, k)
	if err != nil || f == nil {
		return w, false, err
	}
	w.page.Fetch = f
	if f.Status != model.StatusFetchSuccess {
		return w, true, nil
	}
	parsed, err := d.Segs.GetParse(seg, k, segment.Want{Text: true, Outlinks: true})
	if err != nil {
		return nil, false, err
	}
	if parsed != nil {
		w.page.Parsed = parsed
		return w, true, nil
	}
	c, err := d.Segs.Content(seg, f)
	if errors.Is(err, segment.ErrNoContent) {
		c, err = content(f, nil), nil
	}
	if err != nil {
		return nil, false, err
	}
	w.content, w.page.StoreParse = c, true
	return w, true, nil
}
