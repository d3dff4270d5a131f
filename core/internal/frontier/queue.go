package frontier

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/gonutch/crawler/core/internal/urlkey"
)

// entry is an item without the name of its queue.
type entry[P any] struct {
	url     string
	key     urlkey.Key
	bytes   int64
	payload P
}

// queue is one host's. Its fields belong to the frontier's lock.
type queue[P any] struct {
	name  string
	front []entry[P] // taken first, last one first
	items []entry[P] // items[head:] wait in order
	head  int

	inFlight     int
	given        int           // items Next returned
	failures     int           // in a row
	delay        time.Duration // robots.txt's; 0: the configured one
	pace         Pace          // of the items that were queued
	next         time.Time     // no request before this
	asked        time.Time     // end of the last request; zero: none yet
	used         time.Time     // last time Next took an item
	backoffUntil time.Time
	blockedUntil time.Time
	heldUntil    time.Time
	heldFor      string

	in  *byTime[P] // heap it is in, or nil
	pos int
	at  time.Time
	seq uint64
}

func (q *queue[P]) len() int { return len(q.front) + len(q.items) - q.head }

func (q *queue[P]) put(it Item[P], front bool) {
	e := entry[P]{it.URL, it.Key, it.Bytes, it.Payload}
	if front {
		q.front = append(q.front, e)
		return
	}
	q.items = append(q.items, e)
}

func (q *queue[P]) take() Item[P] {
	var e, zero entry[P]
	if n := len(q.front); n > 0 {
		e, q.front[n-1] = q.front[n-1], zero
		q.front = q.front[:n-1]
	} else {
		e, q.items[q.head] = q.items[q.head], zero
		q.head++
		switch {
		case q.head == len(q.items):
			q.items, q.head = nil, 0
		case q.head >= 64 && q.head > len(q.items)/2:
			q.items, q.head = slices.Clone(q.items[q.head:]), 0
		}
	}
	return q.item(e)
}

func (q *queue[P]) item(e entry[P]) Item[P] {
	return Item[P]{URL: e.url, Key: e.key, Queue: q.name, Bytes: e.bytes, Payload: e.payload}
}

func (q *queue[P]) notBefore(t time.Time) { q.next = latest(q.next, t) }

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// queue returns the queue called name, made if need be.
func (f *Frontier[P]) queue(name string) *queue[P] {
	q := f.queues[name]
	if q == nil {
		q = &queue[P]{name: name}
		q.next = f.first(q)
		f.queues[name] = q
	}
	return q
}

// first returns when q may be asked, for all that is known of finished requests.
func (f *Frontier[P]) first(q *queue[P]) time.Time {
	t := f.start
	switch {
	case !q.asked.IsZero():
		t = q.asked.Add(f.delay(q))
	case f.cfg.StartDelay:
		t = f.start.Add(f.delay(q))
	}
	return latest(t, q.backoffUntil)
}

// threads returns how many requests of q may be under way.
func (f *Frontier[P]) threads(q *queue[P]) int {
	if q.pace.Threads > 0 {
		return q.pace.Threads
	}
	return f.cfg.ThreadsPerQueue
}

// delay returns the delay of q without back-off.
func (f *Frontier[P]) delay(q *queue[P]) time.Duration {
	many := f.threads(q) > 1
	switch {
	case q.delay > 0 && !many:
		return q.delay
	case q.pace.HasDelay:
		return q.pace.Delay
	case many:
		return f.cfg.MinDelay
	}
	return f.cfg.Delay
}

// setPace makes q go by p, too. What is known of finished requests counts with the
// new delay.
func (f *Frontier[P]) setPace(q *queue[P], p *Pace) {
	if p == nil {
		return
	}
	before := q.pace
	if p.HasDelay && (!q.pace.HasDelay || p.Delay > q.pace.Delay) {
		q.pace.Delay, q.pace.HasDelay = p.Delay, true
	}
	if p.Threads > 0 && (q.pace.Threads == 0 || p.Threads < q.pace.Threads) {
		q.pace.Threads = p.Threads
	}
	if q.pace == before {
		return
	}
	if q.delay > 0 && q.pace.HasDelay {
		q.delay = max(q.delay, q.pace.Delay)
	}
	if q.inFlight == 0 && q.given == 0 {
		q.next = f.first(q) // a shorter delay than the configured one counts from the start, too
	} else {
		q.notBefore(f.first(q))
	}
}

// backoff returns BackoffDelay × 2^(n−1), at most MaxBackoff.
func (f *Frontier[P]) backoff(n int) time.Duration {
	d := f.cfg.BackoffDelay
	for ; n > 1 && d < f.cfg.MaxBackoff; n-- {
		d *= 2
	}
	return min(d, f.cfg.MaxBackoff)
}

// drain takes all items out of q.
func (f *Frontier[P]) drain(q *queue[P], why Reason, now time.Time) []Released[P] {
	if q.len() == 0 {
		return nil
	}
	until := latest(latest(q.next, q.heldUntil), q.blockedUntil)
	if !until.After(now) {
		until = time.Time{}
	}
	back := make([]Released[P], 0, q.len())
	for q.len() > 0 {
		it := q.take()
		f.queued--
		f.bytes -= it.Bytes
		back = append(back, Released[P]{it, why, until})
	}
	return back
}

// Counts is the state of the frontier in numbers.
type Counts struct {
	Queued   int   // items waiting
	Bytes    int64 // their size hints
	InFlight int   // items given and not done
	Queues   int   // queues with items
	Ready    int   // of these, how many could give one now
	Held     int   // of these, how many are held
	Known    int   // queues in memory, empty ones too
}

// Counts returns the numbers at now. It looks at every queue.
func (f *Frontier[P]) Counts(now time.Time) Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := Counts{Queued: f.queued, Bytes: f.bytes, InFlight: f.inFlight, Known: len(f.queues)}
	for _, q := range f.queues {
		if q.len() == 0 {
			continue
		}
		c.Queues++
		if q.heldUntil.After(now) {
			c.Held++
		}
		if q.in == &f.waiting && !q.at.After(now) {
			c.Ready++
		}
	}
	return c
}

// Len returns how many items wait and how many are in flight, cheaply.
func (f *Frontier[P]) Len() (queued, inFlight int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.queued, f.inFlight
}

// QueueState describes one queue.
type QueueState struct {
	Name     string
	Queued   int
	InFlight int
	Given    int // items Next returned since the queue was made
	Failures int // in a row
	Delay    time.Duration
	Next     time.Time // no request before this
	Held     string    // reason of a hold in force, or ""
	Until    time.Time // end of that hold
}

// Busiest returns up to n queues with the most items waiting or in flight,
// most first.
func (f *Frontier[P]) Busiest(n int, now time.Time) []QueueState {
	f.mu.Lock()
	defer f.mu.Unlock()
	load := func(q *queue[P]) int { return q.len() + q.inFlight }
	least := func(a, b *queue[P]) int {
		return cmp.Or(cmp.Compare(load(b), load(a)), cmp.Compare(a.name, b.name))
	}
	var top []*queue[P]
	for _, q := range f.queues {
		if load(q) == 0 {
			continue
		}
		i, _ := slices.BinarySearchFunc(top, q, least)
		if i < n {
			top = slices.Insert(top, i, q)
			top = top[:min(len(top), n)]
		}
	}
	out := make([]QueueState, len(top))
	for i, q := range top {
		out[i] = f.state(q, now)
	}
	return out
}

// Held returns the queues with a hold in force, by name.
func (f *Frontier[P]) Held(now time.Time) []QueueState {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []QueueState
	for _, q := range f.queues {
		if q.heldUntil.After(now) {
			out = append(out, f.state(q, now))
		}
	}
	slices.SortFunc(out, func(a, b QueueState) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (f *Frontier[P]) state(q *queue[P], now time.Time) QueueState {
	s := QueueState{
		Name: q.name, Queued: q.len(), InFlight: q.inFlight, Given: q.given, Failures: q.failures, Delay: f.delay(q), Next: q.next,
	}
	if q.heldUntil.After(now) {
		s.Held, s.Until = q.heldFor, q.heldUntil
	}
	return s
}

// byTime is a heap of queues by time, then by who came first.
type byTime[P any] []*queue[P]

var _ heap.Interface = (*byTime[int])(nil)

func (h byTime[P]) Len() int { return len(h) }

func (h byTime[P]) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].seq < h[j].seq
}

func (h byTime[P]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i, j
}

func (h *byTime[P]) Push(x any) {
	q := x.(*queue[P])
	q.pos = len(*h)
	*h = append(*h, q)
}

func (h *byTime[P]) Pop() any {
	old := *h
	n := len(old) - 1
	q := old[n]
	old[n] = nil
	*h = old[:n]
	q.in = nil
	return q
}

// Reasons of Waits.
const (
	WaitReady   = "ready"       // could be asked now: a free thread or memory is lacking
	WaitDelay   = "delay"       // the pause between two requests to the queue
	WaitBusy    = "connections" // as many requests to the queue are under way as may be
	WaitBackoff = "backoff"     // the queue failed a short while ago
	WaitHeld    = "held"        // held back: Retry-After, robots.txt that can't be had, and so on
)

// Wait is how many items wait for a reason.
type Wait struct {
	Reason string
	Items  int
	Queues int
}

// Waits tells what the queued items wait for at now, most items first. It looks
// at every queue.
func (f *Frontier[P]) Waits(now time.Time) []Wait {
	f.mu.Lock()
	defer f.mu.Unlock()
	sum := map[string]*Wait{}
	for _, q := range f.queues {
		n := q.len()
		if n == 0 {
			continue
		}
		why := WaitReady
		switch {
		case q.heldUntil.After(now):
			why = WaitHeld
		case q.inFlight >= f.threads(q):
			why = WaitBusy
		case q.backoffUntil.After(now) && q.failures > 0:
			why = WaitBackoff
		case q.next.After(now):
			why = WaitDelay
		}
		if sum[why] == nil {
			sum[why] = &Wait{Reason: why}
		}
		sum[why].Items += n
		sum[why].Queues++
	}
	var out []Wait
	for _, w := range sum {
		out = append(out, *w)
	}
	slices.SortFunc(out, func(a, b Wait) int { return cmp.Or(b.Items-a.Items, cmp.Compare(a.Reason, b.Reason)) })
	return out
}
