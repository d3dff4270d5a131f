package index

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Health remembers over the steps of a process which writers take nothing, so that a
// step does not wait again for what the one before gave up. A writer is asked again after
// a pause that doubles from Delay to MaxDelay. It is safe for concurrent use.
type Health struct {
	Delay, MaxDelay time.Duration
	Now             func() time.Time // nil is time.Now

	mu    sync.Mutex
	down  map[string]*outage
	since map[string]time.Time // of outages that an earlier process left; what is over is taken out
}

// outage is the time in which a writer takes nothing.
type outage struct {
	since time.Time // of the first failure
	next  time.Time // it is left alone before
	tries int
	why   error
}

// Down is a writer that takes nothing now.
type Down struct {
	Writer  string    `json:"writer"`
	Since   time.Time `json:"since"`    // of the first failure, in whatever process
	Next    time.Time `json:"next_try"` // while this process runs
	Error   string    `json:"error"`
	Waiting int64     `json:"waiting"` // documents and deletes that are kept for it
}

func (h *Health) now() time.Time {
	if h.Now != nil {
		return h.Now()
	}
	return time.Now()
}

// recall tells of an outage that an earlier process left: when it began, zero for none.
func (h *Health) recall(name string, since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if since.IsZero() || h.down[name] != nil {
		return
	}
	if h.since == nil {
		h.since = map[string]time.Time{}
	}
	h.since[name] = since
}

// began returns when the outage of a writer began, zero when it has none.
func (h *Health) began(name string) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o := h.down[name]; o != nil {
		return o.since
	}
	return h.since[name]
}

// failed notes that a writer took nothing, and returns its outage.
func (h *Health) failed(name string, why error) outage {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	o := h.down[name]
	if o == nil {
		o = &outage{since: now}
		if t, ok := h.since[name]; ok {
			o.since = t
		}
		if h.down == nil {
			h.down = map[string]*outage{}
		}
		h.down[name] = o
	}
	o.why, o.next = why, now.Add(min(h.Delay<<min(o.tries, 20), h.MaxDelay))
	o.tries++
	return *o
}

// works notes that a writer took something.
func (h *Health) works(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.down, name)
	delete(h.since, name)
}

// outage returns the outage of a writer, and whether its pause is over.
func (h *Health) outage(name string) (o outage, down, due bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.down[name]
	if p == nil {
		return outage{}, false, false
	}
	return *p, true, !h.now().Before(p.next)
}

// Due reports whether a writer is to be asked again.
func (h *Health) Due() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	for _, o := range h.down {
		if !now.Before(o.next) {
			return true
		}
	}
	return false
}

// Wake ends the pauses, and reports whether there were any.
func (h *Health) Wake() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.down {
		o.next = time.Time{}
	}
	return len(h.down) > 0
}

// list returns the writers that are down, by name; waiting is what each still has to be sent.
func (h *Health) list(waiting map[string]int64) []Down {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []Down
	for _, name := range slices.Sorted(maps.Keys(h.down)) {
		o := h.down[name]
		out = append(out, Down{Writer: name, Since: o.since, Next: o.next, Error: o.why.Error(), Waiting: waiting[name]})
	}
	return out
}

// prober is a writer that can be asked whether its index answers.
type prober interface {
	Probe(ctx context.Context) error
}

// wake finds out which writers are to be used in this step: those in the pause after a
// failure are left alone, and one whose pause is over is asked, which costs ProbeTimeout
// at most.
func (s *session) wake(ctx context.Context) {
	var wg sync.WaitGroup
	for _, o := range s.outs {
		name := o.target.Writer.Name()
		was, down, due := s.x.Health.outage(name)
		switch {
		case !down:
			continue
		case !due:
			o.setDown(was.why)
			continue
		}
		o.eager, o.trial = true, true
		p, ok := o.target.Writer.(prober)
		if !ok {
			continue // its first batch tells
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, s.x.cfg.ProbeTimeout)
			defer cancel()
			if err := s.call(ctx, o, p.Probe); err != nil {
				s.fail(o, err)
			}
		})
	}
	wg.Wait()
}
