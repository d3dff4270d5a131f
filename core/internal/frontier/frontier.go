// Package frontier owns the order in which the URLs of a crawl are requested:
// one queue per host (or domain, or address), each with its politeness, on a heap of
// the times at which they may be asked next. It must not know protocols,
// robots rules, the store or any clock: time is an argument.
//
// Politeness of a queue: at most ThreadsPerQueue requests under way, and a
// request starts no earlier than the queue's delay after the end of every
// finished request and after the start of every other one. That holds for
// pages, redirects followed at once and robots.txt alike, as long as each
// request happens between Next and Done or PushBack of an item.
//
// Nothing is lost: an item is either returned by Next, or given back by
// Release, ReleaseAll, a purge or an Add that could not take it.
package frontier

import (
	"container/heap"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/gonutch/crawler/core/internal/urlkey"
)

// Never is the wait Next returns when items are queued, but only Add, Done,
// PushBack or Unhold can make one ready.
const Never = time.Duration(math.MaxInt64)

// Item is one URL to request. P is whatever the caller needs with it.
type Item[P any] struct {
	URL     string
	Key     urlkey.Key
	Queue   string // urlkey.QueueKey of the URL
	Bytes   int64  // expected size, for Counts only; 0 when unknown
	Pace    *Pace  // what holds for its host; nil is the configuration
	Payload P
}

// Pace is how a host is to be asked instead of as the configuration says. A queue that
// several hosts share goes by the longest delay and the fewest threads of those
// that have been queued.
type Pace struct {
	Delay    time.Duration
	HasDelay bool
	Threads  int // 0: the configuration's
}

// Config holds the settings; comments name the Nutch property. Durations of 0
// mean no delay, counts of 0 no limit.
type Config struct {
	Delay           time.Duration // fetcher.server.delay
	MinDelay        time.Duration // fetcher.server.min.delay: used instead with more than one thread per queue
	MinCrawlDelay   time.Duration // fetcher.min.crawl.delay: robots.txt can't ask for less
	ThreadsPerQueue int           // fetcher.threads.per.queue; at least 1
	// StartDelay makes the first request of every queue wait a full delay after
	// the start: an earlier process may have asked just now.
	StartDelay bool
	// A failure in a row of n adds BackoffDelay × 2^(n−1), at most MaxBackoff,
	// to the delay (fetcher.exceptions.per.queue.delay).
	BackoffDelay time.Duration
	MaxBackoff   time.Duration
	// MaxExceptions failures in a row purge the queue (fetcher.max.exceptions.per.queue)
	// and block it for BlockFor.
	MaxExceptions int
	BlockFor      time.Duration
	// ClearAfter is when what is known of an idle queue is forgotten, the time of its last request too
	// (fetcher.exceptions.per.queue.clear.after). A crawl delay above it is not kept across such a pause.
	ClearAfter time.Duration
	MaxItems   int // items held in memory
}

// DefaultConfig returns the crawler's defaults: one request at a time and a second apart.
func DefaultConfig() Config {
	return Config{
		Delay: time.Second, MinCrawlDelay: time.Second, ThreadsPerQueue: 1,
		BackoffDelay: time.Second, MaxBackoff: time.Hour, MaxExceptions: 5, BlockFor: 30 * time.Minute, ClearAfter: 30 * time.Minute,
	}
}

// Validate returns what is wrong with c, or nil.
func (c Config) Validate() error {
	if c.ThreadsPerQueue < 1 {
		return fmt.Errorf("threads per queue %d: must be at least 1", c.ThreadsPerQueue)
	}
	for _, d := range []time.Duration{c.Delay, c.MinDelay, c.MinCrawlDelay, c.BackoffDelay, c.MaxBackoff, c.BlockFor, c.ClearAfter} {
		if d < 0 {
			return fmt.Errorf("delay %v: must not be negative", d)
		}
	}
	if c.MaxExceptions < 0 || c.MaxItems < 0 {
		return fmt.Errorf("limits %d, %d: must not be negative", c.MaxExceptions, c.MaxItems)
	}
	return nil
}

// Result says how the request of an item ended, for politeness.
type Result uint8

// The results.
const (
	// Answered: a request was made and the host works; failures in a row are forgotten.
	Answered Result = iota
	// Failed: a request was made and failed for a reason that may pass (ProtocolException).
	Failed
	// NotAsked: no request was made (robots.txt forbids it); no delay starts.
	NotAsked
)

// Reason says why items were given back.
type Reason string

// The reasons the frontier itself has.
const (
	ReasonExceptions Reason = "exceptions" // purged after too many failures in a row
	ReasonBlocked    Reason = "blocked"    // added to a queue that was purged
	ReasonFull       Reason = "full"       // MaxItems reached
	ReasonReleased   Reason = "released"   // the caller asked
)

// Released is an item that was given back without a request.
type Released[P any] struct {
	Item   Item[P]
	Reason Reason
	Until  time.Time // its queue gives nothing before; zero when it may give at once
}

// Frontier holds the queues. It is safe for concurrent use; every operation
// takes O(log queues), except those that list queues.
type Frontier[P any] struct {
	cfg     Config
	start   time.Time
	changed chan struct{}

	mu       sync.Mutex
	queues   map[string]*queue[P]
	waiting  byTime[P] // can give an item at its time
	idle     byTime[P] // empty; can be forgotten at its time
	seq      uint64
	queued   int
	bytes    int64
	inFlight int
}

// New returns an empty frontier that starts at start. It panics on a
// configuration that Validate refuses.
func New[P any](cfg Config, start time.Time) *Frontier[P] {
	if err := cfg.Validate(); err != nil {
		panic("frontier: " + err.Error())
	}
	return &Frontier[P]{cfg: cfg, start: start, changed: make(chan struct{}, 1), queues: map[string]*queue[P]{}}
}

// Changed returns a channel that receives after something happened that may
// have made an item ready earlier than the last wait said. It is for one waiter.
func (f *Frontier[P]) Changed() <-chan struct{} { return f.changed }

// Add queues items behind those of their queues and gives back what it can't take.
func (f *Frontier[P]) Add(now time.Time, items ...Item[P]) []Released[P] {
	return f.add(now, items, false)
}

// AddFront queues items before all others of their queues, the last one first. A redirect
// followed at once comes this way; it still waits for its host's turn.
func (f *Frontier[P]) AddFront(now time.Time, items ...Item[P]) []Released[P] {
	return f.add(now, items, true)
}

func (f *Frontier[P]) add(now time.Time, items []Item[P], front bool) (back []Released[P]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.signal()
	f.forget(now)
	for _, it := range items {
		if f.cfg.MaxItems > 0 && f.queued >= f.cfg.MaxItems {
			back = append(back, Released[P]{Item: it, Reason: ReasonFull})
			continue
		}
		q := f.queue(it.Queue)
		if q.blockedUntil.After(now) {
			back = append(back, Released[P]{it, ReasonBlocked, q.blockedUntil})
		} else {
			f.setPace(q, it.Pace)
			q.put(it, front)
			f.queued++
			f.bytes += it.Bytes
		}
		f.place(q, now)
	}
	return back
}

// Next takes the item whose queue has been ready for longest; the caller owes
// a Done or PushBack for it. Without one it returns false and how long nothing
// can become ready: 0 when nothing is queued, Never when it does not depend on
// time.
func (f *Frontier[P]) Next(now time.Time) (Item[P], bool, time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget(now)
	if len(f.waiting) == 0 {
		if f.queued == 0 {
			return Item[P]{}, false, 0
		}
		return Item[P]{}, false, Never
	}
	q := f.waiting[0]
	if wait := q.at.Sub(now); wait > 0 {
		return Item[P]{}, false, wait
	}
	it := q.take()
	f.queued--
	f.bytes -= it.Bytes
	f.inFlight++
	q.inFlight++
	q.given++
	q.used = now
	q.notBefore(now.Add(f.delay(q)))
	f.place(q, now)
	return it, true, 0
}

// Done ends the request of an item that Next returned: its slot is free and,
// unless NotAsked, the queue's delay starts at now. Failures in a row lengthen
// it; when there are too many the queue is purged and its items are returned.
func (f *Frontier[P]) Done(it Item[P], now time.Time, r Result) []Released[P] {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.signal()
	q := f.leave(it, now, r != NotAsked)
	var back []Released[P]
	switch r {
	case Answered:
		q.failures = 0
	case Failed:
		q.failures++
		q.backoffUntil = now.Add(f.delay(q) + f.backoff(q.failures))
		q.notBefore(q.backoffUntil)
		if f.cfg.MaxExceptions > 0 && q.failures >= f.cfg.MaxExceptions {
			q.failures = 0
			q.blockedUntil = now.Add(f.cfg.BlockFor)
			back = f.drain(q, ReasonExceptions, now)
		}
	case NotAsked:
	}
	f.place(q, now)
	return back
}

// PushBack returns an item that Next gave to the front of its queue and frees
// its slot. requested says that a request was made in its place (robots.txt),
// so that the delay starts at now. A blocked queue gives the item back.
func (f *Frontier[P]) PushBack(it Item[P], now time.Time, requested bool) []Released[P] {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.signal()
	q := f.leave(it, now, requested)
	if q.blockedUntil.After(now) {
		f.place(q, now)
		return []Released[P]{{it, ReasonBlocked, q.blockedUntil}}
	}
	q.put(it, true)
	f.queued++
	f.bytes += it.Bytes
	f.place(q, now)
	return nil
}

// leave frees the slot of it. When no request was made the delay that Next
// started is taken back, as far as no other request started one.
func (f *Frontier[P]) leave(it Item[P], now time.Time, requested bool) *queue[P] {
	q := f.queues[it.Queue]
	if q == nil || q.inFlight == 0 {
		panic(fmt.Sprintf("frontier: %s of queue %q is not in flight", it.URL, it.Queue))
	}
	q.inFlight--
	f.inFlight--
	if requested {
		q.asked = latest(q.asked, now)
		q.notBefore(now.Add(f.delay(q)))
	} else if q.inFlight == 0 {
		q.next = f.first(q)
	}
	return q
}

// SetDelay sets the delay that robots.txt asks of a queue: never below
// MinCrawlDelay, and in force from the end of the last request on. With more than one
// thread per queue it is ignored, as in Nutch. 0 returns to the configured delay.
func (f *Frontier[P]) SetDelay(name string, d time.Duration, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queue(name)
	if f.threads(q) > 1 {
		f.place(q, now)
		return
	}
	if d > 0 {
		least := f.cfg.MinCrawlDelay
		if q.pace.HasDelay {
			least = q.pace.Delay
		}
		d = max(d, least)
	}
	d = max(d, 0)
	if q.delay != d {
		q.delay = d
		q.notBefore(f.first(q))
	}
	f.place(q, now)
}

// Hold keeps a queue from giving items until a time; a hold that lasts longer
// stays. The items wait or can be taken with Release. Requests under way go on.
func (f *Frontier[P]) Hold(name string, until time.Time, reason string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queue(name)
	if until.After(q.heldUntil) {
		q.heldUntil, q.heldFor = until, reason
	}
	f.place(q, now)
}

// Unhold ends a hold.
func (f *Frontier[P]) Unhold(name string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.signal()
	q := f.queue(name)
	q.heldUntil, q.heldFor = time.Time{}, ""
	f.place(q, now)
}

// Release takes all items out of a queue; its delay, hold and failures stay.
func (f *Frontier[P]) Release(name string, now time.Time) []Released[P] {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.signal()
	q := f.queues[name]
	if q == nil {
		return nil
	}
	back := f.drain(q, ReasonReleased, now)
	f.place(q, now)
	return back
}

// ReleaseAll takes all items out of the queues that can't give one before a time: those held
// or slow at the end of a round. A zero time takes everything. The items of a queue come in order,
// the queues do not.
func (f *Frontier[P]) ReleaseAll(before, now time.Time) []Released[P] {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.signal()
	var back []Released[P]
	for _, q := range f.queues {
		if before.IsZero() || !latest(q.next, q.heldUntil).Before(before) {
			back = append(back, f.drain(q, ReasonReleased, now)...)
			f.place(q, now)
		}
	}
	return back
}

// ReleaseIf takes out the items whose payload the caller wants back.
func (f *Frontier[P]) ReleaseIf(now time.Time, want func(P) bool) []Released[P] {
	f.mu.Lock()
	defer f.mu.Unlock()
	var back []Released[P]
	for _, q := range f.queues {
		if q.len() == 0 {
			continue
		}
		all := f.drain(q, ReasonReleased, now)
		for _, r := range all {
			if want(r.Item.Payload) {
				back = append(back, r)
				continue
			}
			q.put(r.Item, false)
			f.queued++
			f.bytes += r.Item.Bytes
		}
		f.place(q, now)
	}
	return back
}

// signal tells the waiter, if it is not told yet.
func (f *Frontier[P]) signal() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// place moves q to where it belongs: the heap of queues that can give an item,
// that of queues to forget, or none (all slots taken).
func (f *Frontier[P]) place(q *queue[P], now time.Time) {
	var to *byTime[P]
	at := q.at
	switch {
	case q.len() > 0 && q.inFlight < f.threads(q):
		to, at = &f.waiting, latest(latest(q.next, q.heldUntil), q.used)
	case q.len() == 0 && q.inFlight == 0:
		to, at = &f.idle, latest(latest(q.next, q.heldUntil), q.blockedUntil)
		if q.failures > 0 || q.delay > 0 || !q.asked.IsZero() {
			at = latest(at, latest(q.used, now).Add(f.cfg.ClearAfter))
		}
	}
	if q.in == to && (to == nil || q.at.Equal(at)) {
		return
	}
	if q.in != nil {
		heap.Remove(q.in, q.pos)
	}
	q.in, q.at = to, at
	if to != nil {
		f.seq++
		q.seq = f.seq
		heap.Push(to, q)
	}
}

// forget drops idle queues of which nothing needs to be known any more, a few
// per call, so that no call pays for all.
func (f *Frontier[P]) forget(now time.Time) {
	for n := 0; n < 4 && len(f.idle) > 0 && !f.idle[0].at.After(now); n++ {
		q := heap.Pop(&f.idle).(*queue[P])
		delete(f.queues, q.name)
	}
}
