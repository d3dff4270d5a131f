// Package fetch asks for the URLs of fetch lists: politely, in the frontier's
// order, by robots.txt. It owns the flow of a request from the fetch list to
// its outcome: robots.txt, byte budget, redirects followed at once, holds and
// releases. It must not know how an outcome is stored, parsed or applied; that is
// the sink's business.
//
// Invariants: every item that was added ends in exactly one call of the sink,
// except those that Stop leaves in the frontier: they stay leased and are
// added again by the next process. A request to a host happens only between
// Next and Done or PushBack of an item of its queue.
package fetch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/semaphore"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/frontier"
	"github.com/gonutch/crawler/core/internal/robots"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/extension/publisher"
	"github.com/gonutch/crawler/sdk/model"
)

// Fetcher performs exchanges; chain.Chains is one.
type Fetcher interface {
	Fetch(ctx context.Context, req *protocol.Request) (*protocol.Response, error)
	Publish(ev publisher.Event)
}

// Item is one URL of a fetch list.
type Item struct {
	Segment string
	Key     urlkey.Key
	URL     string
	Hint    crawldb.FetchHint
	Hops    int // redirects that led here in this round
	// Kind and MaxBytes are those of the request; the zero values stand for a page
	// and the protocol plugin's own limit.
	Kind     protocol.Kind
	MaxBytes int64
}

// Release says why a URL was given back without an outcome.
type Release string

// The reasons of releases, besides the frontier's.
const (
	ReleasedRobots     Release = "robots_deferred" // robots.txt can't be had now
	ReleasedCrawlDelay Release = "crawl_delay"     // robots.txt asks for a longer delay than allowed
	ReleasedHeld       Release = "host_held"       // the host is backing off
	ReleasedTime       Release = "time_limit"      // fetcher.timelimit
	ReleasedThroughput Release = "throughput"      // fetcher.throughput_threshold_pages
	ReleasedExceptions Release = "exceptions"      // too many failures of the host in a row
	ReleasedOverfull   Release = "frontier_full"   // no room in memory
)

// Outcome is what became of an item. When Released is set nothing was asked of the
// URL and only the item counts.
type Outcome struct {
	Item     Item
	Released Release
	// Cause is what went wrong before the release, when that is known.
	Cause string
	// HoldUntil is when the host can be asked again, when that is later than now: handing
	// the URL out before is of no use.
	HoldUntil time.Time

	Fetch    segment.Fetch
	Response *protocol.Response // nil when none came (robots denied)
	// RetryAfter is how long the server asked to be left alone.
	RetryAfter time.Duration
	// Follow says that Fetch.Location is to be fetched at once.
	Follow bool
	// Exceeded says that the target of a redirect is not to be followed, now or
	// later: the chain was too long (http.redirect_max_exceeded_skip).
	Exceeded bool
	// Extra is set for robots.txt files kept with the content: they belong to no
	// fetch list.
	Extra bool

	free func()
}

// Free gives the memory of the body back to the budget. The sink's owner calls it
// once when it is done with Response. Safe to call twice.
func (o *Outcome) Free() {
	if o.free != nil {
		o.free()
		o.free = nil
	}
}

// Sink takes outcomes. It may block: that holds the fetch back. An error ends the
// fetch.
type Sink func(ctx context.Context, o *Outcome) error

// Deps are what the engine works with.
type Deps struct {
	Fetcher Fetcher
	Robots  RobotsStore
	Sink    Sink
	Log     hclog.Logger
	Now     func() time.Time
	// Resolver serves fetcher.queue_mode = "byIP"; nil is the system's.
	Resolver Resolver
	// AllowPrivate lists host:port pairs outside the public net that seeds opened
	// for themselves.
	AllowPrivate map[string]bool
	// Delay returns the pause between two requests to a host when it is not the
	// configured one (generate.fetch_delay_expr); nil never does.
	Delay func(host string) (time.Duration, bool)
}

type job struct {
	item Item
	hop  *robotsTask // this item stands for a hop of a robots.txt redirect
}

// Engine fetches. Add, Counts and Stop are safe for concurrent use with Run.
type Engine struct {
	cfg       Config
	deps      Deps
	front     *frontier.Frontier[job]
	robots    *robotsCache
	addresses *addresses // nil unless queues go by address
	budget    *semaphore.Weighted
	reserv    int64 // bytes taken before a request

	stop   chan struct{} // closed by Stop
	once   sync.Once
	closed atomic.Bool
	wake   chan struct{}
	busy   atomic.Int64 // items that workers have in hand
	active sync.WaitGroup
	Stats  Stats
	born   time.Time // of the engine: the clock of the first request to each host
	limits limits
	pace   pace
	// longest is the greatest delay of a host's own, ns.
	longest atomic.Int64
}

// New returns an engine that starts now.
func New(cfg Config, deps Deps) *Engine {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	now := deps.Now()
	// All reservations together leave half of the budget: whoever needs more for a large
	// body waits for that half, which no waiting worker holds.
	reserve := int64(256 << 10)
	if most := cfg.MaxBytesInFlight / int64(2*cfg.Threads); reserve > most {
		reserve = max(most, 1)
	}
	e := &Engine{
		cfg: cfg, deps: deps, front: frontier.New[job](cfg.Queue, now), robots: newRobotsCache(deps.Robots, cfg.Robots),
		budget: semaphore.NewWeighted(cfg.MaxBytesInFlight), reserv: reserve,
		stop: make(chan struct{}), wake: make(chan struct{}, 1), born: now,
	}
	if cfg.QueueMode == urlkey.ByIP {
		e.addresses = newAddresses(deps.Resolver)
	}
	e.StartRound()
	return e
}

// Add queues items; those that can't be queued go to the sink as released.
func (e *Engine) Add(ctx context.Context, items ...Item) error {
	now := e.deps.Now()
	if e.addresses != nil {
		urls := make([]string, len(items))
		for i := range items {
			urls[i] = items[i].URL
		}
		e.addresses.resolve(ctx, now, urls)
	}
	batch := make([]frontier.Item[job], len(items))
	for i, it := range items {
		batch[i] = e.frontItem(it.URL, it.Key, job{item: it})
	}
	return e.release(ctx, e.front.Add(now, batch...))
}

// AddFront queues an item before all others of its host: the target of a
// redirect that is followed at once. When its host takes none it returns the
// release instead of calling the sink, so that a stage behind the sink can use it.
func (e *Engine) AddFront(it Item) *Outcome {
	for _, r := range e.front.AddFront(e.deps.Now(), e.frontItem(it.URL, it.Key, job{item: it})) {
		return e.released(r)
	}
	return nil
}

func (e *Engine) frontItem(url string, key urlkey.Key, j job) frontier.Item[job] {
	return frontier.Item[job]{URL: url, Key: key, Queue: e.queueOf(url), Pace: e.hostPace(url), Payload: j}
}

// queueOf names the queue of a URL. By address it goes by what Add has looked up;
// a redirect to a host that was not looked up waits in the host's own queue.
func (e *Engine) queueOf(url string) string {
	ip := ""
	if e.addresses != nil {
		ip = e.addresses.of(url)
	}
	return urlkey.QueueKey(url, e.cfg.QueueMode, ip)
}

// release hands frontier give-backs to the sink.
func (e *Engine) release(ctx context.Context, back []frontier.Released[job]) error {
	for _, r := range back {
		var err error
		switch t := r.Item.Payload.hop; {
		case t == nil:
			err = e.deps.Sink(ctx, e.released(r))
		case r.Reason == frontier.ReasonExceptions || r.Reason == frontier.ReasonBlocked:
			// The host that a robots.txt redirects to does not answer: the robots.txt
			// is unreachable.
			err = e.finishRobots(ctx, t, nil)
		default:
			err = e.abandonRobots(ctx, t, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// released makes the outcome of an item that the frontier gave back.
func (e *Engine) released(r frontier.Released[job]) *Outcome {
	o := &Outcome{Item: r.Item.Payload.item, Released: ReleasedHeld, HoldUntil: r.Until}
	switch r.Reason {
	case frontier.ReasonExceptions, frontier.ReasonBlocked:
		o.Released = ReleasedExceptions
	case frontier.ReasonFull:
		o.Released = ReleasedOverfull
	case frontier.ReasonReleased:
		if why := e.limits.reason(); why != "" {
			o.Released = why
		}
	}
	e.Stats.Released(o.Released)
	return o
}

func (e *Engine) giveBack(ctx context.Context, it Item, why Release, cause string, until time.Time) error {
	e.Stats.Released(why)
	return e.deps.Sink(ctx, &Outcome{Item: it, Released: why, Cause: cause, HoldUntil: until})
}

// Stop lets requests under way finish and starts no more.
func (e *Engine) Stop() {
	e.once.Do(func() { close(e.stop) })
}

// Close says that no more items will come: Run returns when all are done.
func (e *Engine) Close() {
	e.closed.Store(true)
	e.poke()
}

func (e *Engine) poke() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Drop releases everything that can't be asked before a time (zero: everything).
func (e *Engine) Drop(ctx context.Context, before time.Time) error {
	return e.release(ctx, e.front.ReleaseAll(before, e.deps.Now()))
}

// DropSegment releases everything of a segment that is still queued.
func (e *Engine) DropSegment(ctx context.Context, seg string) error {
	return e.release(ctx, e.front.ReleaseIf(e.deps.Now(), func(j job) bool { return j.hop == nil && j.item.Segment == seg }))
}

// Run fetches until Close and the last item, Stop, an error of the sink or of
// the plugins, or the end of ctx. It waits for all requests under way.
func (e *Engine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan frontier.Item[job])
	for range e.cfg.Threads {
		e.active.Add(1)
		go func() {
			defer e.active.Done()
			for it := range work {
				if err := e.handle(ctx, it); err != nil {
					cancel(err)
				}
				e.busy.Add(-1)
				e.poke()
			}
		}()
	}
	err := e.dispatch(ctx, work)
	close(work)
	e.active.Wait()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// dispatch hands items to the workers in the frontier's order.
func (e *Engine) dispatch(ctx context.Context, work chan<- frontier.Item[job]) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-e.stop:
			return nil
		default:
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := e.checkLimits(ctx); err != nil {
			return err
		}
		if queued, _ := e.front.Len(); queued > 0 {
			if pause := e.pace.pause(e.deps.Now()); pause > 0 {
				e.rest(ctx, timer, pause)
				continue
			}
		}
		it, ok, wait := e.front.Next(e.deps.Now())
		if ok {
			e.busy.Add(1)
			select {
			case work <- it:
				continue
			case <-e.stop:
			case <-ctx.Done():
			}
			e.busy.Add(-1)
			e.front.PushBack(it, e.deps.Now(), false) // stays leased
			continue
		}
		if e.busy.Load() == 0 {
			queued, _ := e.front.Len()
			if queued == 0 && e.closed.Load() && !e.robots.busy() {
				return nil
			}
			if e.stalled(wait) {
				if err := e.Drop(ctx, e.deps.Now().Add(e.patience())); err != nil {
					return err
				}
				continue
			}
		}
		if wait <= 0 || wait > time.Second {
			wait = time.Second
		}
		e.rest(ctx, timer, wait)
	}
}

// rest waits until something may have changed.
func (e *Engine) rest(ctx context.Context, timer *time.Timer, most time.Duration) {
	timer.Reset(most)
	select {
	case <-timer.C:
	case <-e.front.Changed():
	case <-e.wake:
	case <-e.stop:
	case <-ctx.Done():
	}
}

// stalled reports whether only hosts are left that can't be asked for longer
// than a round waits for them.
func (e *Engine) stalled(wait time.Duration) bool {
	return e.cfg.ReleaseAfter >= 0 && wait != frontier.Never && wait > e.patience()
}

// patience is how long a round waits for a host. A delay between two requests that is
// configured, for all hosts or some, is never too long.
func (e *Engine) patience() time.Duration {
	return max(e.cfg.ReleaseAfter, e.cfg.Queue.Delay, time.Duration(e.longest.Load()))
}

// handle takes one item from the frontier to its outcome, or back.
func (e *Engine) handle(ctx context.Context, it frontier.Item[job]) error {
	if it.Payload.hop != nil {
		return e.robotsHop(ctx, it)
	}
	if !robots.Governs(it.URL) {
		return e.page(ctx, it)
	}
	ok, err := e.admit(ctx, it)
	if err != nil || !ok {
		return err
	}
	return e.page(ctx, it)
}

// deny ends an item that robots.txt forbids.
func (e *Engine) deny(ctx context.Context, it frontier.Item[job], v robots.Verdict) error {
	now := e.deps.Now()
	if err := e.release(ctx, e.front.Done(it, now, frontier.NotAsked)); err != nil {
		return err
	}
	e.Stats.Denied.Add(1)
	return e.deps.Sink(ctx, &Outcome{Item: it.Payload.item, Fetch: Denied(it.URL, v, now)})
}

// Denied is the record of a URL that robots.txt forbids.
func Denied(url string, v robots.Verdict, now time.Time) segment.Fetch {
	return segment.Fetch{
		URL: url, Status: model.StatusFetchGone, FetchTime: now,
		Protocol: model.ProtocolStatus{Code: model.ProtocolRobotsDenied, Message: ruleText(v)},
	}
}
