package frontier

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// model is what politeness asks of one queue, kept by rule and without any
// data structure of the frontier.
type model struct {
	waiting  int
	starts   map[string]time.Time // URL in flight -> when Next gave it
	asked    time.Time            // end of the last request
	delay    time.Duration        // robots.txt's
	failures int
	backoff  time.Time
	held     time.Time
}

// world runs random operations on a frontier and checks every answer against the models.
type world struct {
	t       *testing.T
	cfg     Config
	f       *Frontier[int]
	now     time.Time
	rnd     *rand.Rand
	queues  map[string]*model
	out     []Item[int]     // in flight
	pending map[string]bool // URLs that must still come back in some way
	made    int
	taken   int
}

func newWorld(t *testing.T, cfg Config, seed uint64) *world {
	return &world{
		t: t, cfg: cfg, f: New[int](cfg, t0), now: t0, rnd: rand.New(rand.NewPCG(seed, 1)),
		queues: map[string]*model{}, pending: map[string]bool{},
	}
}

func (w *world) queue(name string) *model {
	m := w.queues[name]
	if m == nil {
		m = &model{starts: map[string]time.Time{}}
		w.queues[name] = m
	}
	return m
}

func (w *world) delayOf(m *model) time.Duration {
	switch {
	case w.cfg.ThreadsPerQueue > 1:
		return w.cfg.MinDelay
	case m.delay > 0:
		return m.delay
	}
	return w.cfg.Delay
}

// earliest is the first moment at which politeness allows a request.
func (w *world) earliest(m *model) time.Time {
	at := latest(m.backoff, m.held)
	d := w.delayOf(m)
	if w.cfg.StartDelay {
		at = latest(at, t0.Add(d))
	}
	if !m.asked.IsZero() {
		at = latest(at, m.asked.Add(d))
	}
	for _, s := range m.starts {
		at = latest(at, s.Add(d))
	}
	return at
}

func (w *world) back(back []Released[int]) {
	for _, b := range back {
		if !w.pending[b.Item.URL] {
			w.t.Fatalf("%s given back (%s), but was not queued", b.Item.URL, b.Reason)
		}
		delete(w.pending, b.Item.URL)
		w.queue(b.Item.Queue).waiting--
	}
}

func (w *world) add(front bool) {
	name := fmt.Sprintf("h%d", w.rnd.IntN(6))
	m := w.queue(name)
	var items []Item[int]
	for range 1 + w.rnd.IntN(5) {
		w.made++
		it := item(name, fmt.Sprint(w.made))
		items = append(items, it)
		w.pending[it.URL] = true
		m.waiting++
	}
	if front {
		w.back(w.f.AddFront(w.now, items...))
	} else {
		w.back(w.f.Add(w.now, items...))
	}
}

func (w *world) next() {
	it, ok, wait := w.f.Next(w.now)
	if ok {
		m := w.queues[it.Queue]
		switch {
		case !w.pending[it.URL]:
			w.t.Fatalf("%s was not queued", it.URL)
		case len(m.starts) >= w.cfg.ThreadsPerQueue:
			w.t.Fatalf("%s: %d already in flight", it.URL, len(m.starts))
		case w.earliest(m).After(w.now):
			w.t.Fatalf("%s at %v: %v too early", it.URL, w.now.Sub(t0), w.earliest(m).Sub(w.now))
		}
		delete(w.pending, it.URL)
		m.waiting--
		m.starts[it.URL] = w.now
		w.out = append(w.out, it)
		w.taken++
		return
	}
	if w.cfg.ThreadsPerQueue > 1 {
		return // a slot given back without a request may be offered late
	}
	// Nothing may be kept waiting longer than politeness wants.
	want, any := Never, false
	for _, m := range w.queues {
		if m.waiting == 0 {
			continue
		}
		any = true
		if len(m.starts) < w.cfg.ThreadsPerQueue {
			want = min(want, w.earliest(m).Sub(w.now))
		}
	}
	if !any {
		want = 0
	}
	if wait != want {
		w.t.Fatalf("at %v: wait %v, the models say %v", w.now.Sub(t0), wait, want)
	}
}

func (w *world) finish(i int) {
	it := w.out[i]
	w.out = slices.Delete(w.out, i, i+1)
	m := w.queues[it.Queue]
	delete(m.starts, it.URL)
	switch w.rnd.IntN(6) {
	case 0:
		w.back(w.f.Done(it, w.now, NotAsked))
	case 1:
		asked := w.rnd.IntN(2) == 0
		if asked {
			m.asked = w.now
		}
		w.pending[it.URL] = true
		m.waiting++
		w.back(w.f.PushBack(it, w.now, asked))
	case 2:
		m.asked = w.now
		m.failures++
		m.backoff = w.now.Add(w.delayOf(m) + min(w.cfg.MaxBackoff, w.cfg.BackoffDelay<<(m.failures-1)))
		if m.failures == w.cfg.MaxExceptions {
			m.failures = 0
		}
		w.back(w.f.Done(it, w.now, Failed))
	default:
		m.asked, m.failures = w.now, 0
		w.back(w.f.Done(it, w.now, Answered))
	}
}

func (w *world) op(kind int) {
	name := fmt.Sprintf("h%d", w.rnd.IntN(6))
	switch kind % 12 {
	case 0:
		w.add(false)
	case 1:
		w.add(true)
	case 2, 3, 4:
		w.next()
	case 5, 6:
		if len(w.out) > 0 {
			w.finish(w.rnd.IntN(len(w.out)))
		}
	case 7, 8:
		w.now = w.now.Add(time.Duration(w.rnd.IntN(1500)) * time.Millisecond)
	case 9:
		until := w.now.Add(time.Duration(w.rnd.IntN(5)) * time.Second)
		w.queue(name).held = latest(w.queue(name).held, until)
		w.f.Hold(name, until, "test", w.now)
	case 10:
		m := w.queue(name)
		d := time.Duration(w.rnd.IntN(4)) * time.Second
		if d > 0 {
			d = max(d, w.cfg.MinCrawlDelay)
		}
		if d < m.delay { // a shorter delay may count from the next request on only
			return
		}
		m.delay = d
		w.f.SetDelay(name, d, w.now)
	case 11:
		if w.rnd.IntN(4) == 0 {
			w.back(w.f.Release(name, w.now))
		}
	}
	waiting, flying := w.f.Len()
	if waiting != len(w.pending) || flying != len(w.out) {
		w.t.Fatalf("frontier has %d + %d, want %d + %d", waiting, flying, len(w.pending), len(w.out))
	}
}

// drain serves everything that is left and checks that all of it comes.
func (w *world) drain() {
	for steps := 0; len(w.pending)+len(w.out) > 0; steps++ {
		if steps > 100_000 {
			w.t.Fatalf("%d items never come", len(w.pending))
		}
		for len(w.out) > 0 {
			it := w.out[0]
			w.out = w.out[1:]
			m := w.queues[it.Queue]
			delete(m.starts, it.URL)
			m.asked, m.failures = w.now, 0
			w.back(w.f.Done(it, w.now, Answered))
		}
		it, ok, wait := w.f.Next(w.now)
		switch {
		case ok:
			delete(w.pending, it.URL)
			m := w.queues[it.Queue]
			m.waiting--
			m.starts[it.URL] = w.now
			w.out = append(w.out, it)
		case len(w.pending) == 0:
		case wait == Never || wait <= 0:
			w.t.Fatalf("stuck with %d items: wait %v", len(w.pending), wait)
		default:
			w.now = w.now.Add(wait)
		}
	}
	if c := w.f.Counts(w.now); c.Queued != 0 || c.InFlight != 0 || c.Queues != 0 || c.Bytes != 0 {
		w.t.Fatalf("empty frontier counts %+v", c)
	}
}

func configs() []Config {
	one := DefaultConfig()
	one.MaxExceptions, one.MaxBackoff, one.BlockFor, one.ClearAfter = 3, 10*time.Second, 20*time.Second, 5*time.Minute
	started := one
	started.StartDelay, started.MaxExceptions = true, 0
	started.MaxBackoff = 3 * time.Second
	many := one
	many.ThreadsPerQueue, many.MinDelay = 3, 200*time.Millisecond
	eager := many
	eager.MinDelay, eager.BackoffDelay = 0, 0
	return []Config{one, started, many, eager}
}

func TestRandomOperations(t *testing.T) {
	for i, cfg := range configs() {
		for seed := range uint64(60) {
			w := newWorld(t, cfg, seed*4+uint64(i))
			for range 600 {
				w.op(w.rnd.IntN(12))
			}
			w.drain()
			if w.taken < 20 {
				t.Errorf("config %d seed %d: only %d items taken, nothing was tested", i, seed, w.taken)
			}
		}
	}
}

func FuzzOperations(f *testing.F) {
	f.Add([]byte{0, 0, 2, 5, 7, 2, 9, 3, 5, 10, 2, 8, 4}, uint64(1))
	f.Add([]byte{0, 2, 2, 2, 6, 6, 7, 1, 2, 11, 0, 2}, uint64(2))
	f.Fuzz(func(t *testing.T, ops []byte, seed uint64) {
		w := newWorld(t, configs()[seed%4], seed)
		for _, op := range ops[:min(len(ops), 2000)] {
			w.op(int(op))
		}
		w.drain()
	})
}

// A crawl with few workers: every host that is ready is served before any that became ready later.
func TestNoStarvation(t *testing.T) {
	cfg := DefaultConfig()
	f := New[int](cfg, t0)
	rnd := rand.New(rand.NewPCG(7, 7))
	const hosts, workers = 300, 8
	ready, left := map[string]time.Time{}, map[string]int{}
	total := 0
	for h := range hosts {
		name := fmt.Sprintf("h%d", h)
		n := 1 + rnd.IntN(20)
		if h == 0 {
			n = 2000 // one host has most of the pages and must not slow the others
		}
		for i := range n {
			f.Add(t0, item(name, fmt.Sprint(i)))
		}
		ready[name], left[name] = t0, n
		total += n
	}
	type running struct {
		it  Item[int]
		end time.Time
	}
	var busy []running
	now := t0
	for done := 0; done < total; {
		it, ok, wait := Item[int]{}, false, Never
		if len(busy) < workers {
			it, ok, wait = f.Next(now)
		}
		if ok {
			for name, at := range ready {
				if left[name] > 0 && at.Before(ready[it.Queue]) {
					t.Fatalf("%s (ready %v) served before %s (ready %v)", it.Queue, ready[it.Queue].Sub(t0), name, at.Sub(t0))
				}
			}
			delete(ready, it.Queue)
			left[it.Queue]--
			busy = append(busy, running{it, now.Add(time.Duration(20+rnd.IntN(400)) * time.Millisecond)})
			continue
		}
		slices.SortFunc(busy, func(a, b running) int { return a.end.Compare(b.end) })
		if len(busy) > 0 && (wait == 0 || wait == Never || !busy[0].end.After(now.Add(wait))) {
			r := busy[0]
			busy = busy[1:]
			now = r.end
			f.Done(r.it, now, Answered)
			ready[r.it.Queue] = now.Add(cfg.Delay)
			done++
			continue
		}
		now = now.Add(wait)
	}
}

// One million items on 100,000 hosts.
func BenchmarkMillion(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		f := New[int](DefaultConfig(), t0)
		now := t0
		names := make([]string, 100_000)
		for i := range names {
			names[i] = fmt.Sprintf("host%d.example", i)
		}
		for i := range 1_000_000 {
			f.Add(now, Item[int]{URL: "http://h/", Queue: names[i%len(names)]})
		}
		for range 1_000_000 {
			it, ok, wait := f.Next(now)
			for !ok {
				now = now.Add(wait)
				it, ok, wait = f.Next(now)
			}
			f.Done(it, now, Answered)
		}
	}
}
