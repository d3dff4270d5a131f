package checker

import (
	"context"
	"sync"
	"time"
)

// maxTurns bounds how many hosts are remembered; those whose time has come are
// forgotten first.
const maxTurns = 10_000

// turns lets requests to a host go one at a time and some time apart. The zero
// value is ready for use.
type turns struct {
	mu    sync.Mutex
	hosts map[string]*turn
}

// turn is one host's. Whoever is in the busy channel has it.
type turn struct {
	busy chan struct{}
	last time.Time // end of the last request; zero before the first
	next time.Time // when nobody needs to know it any more; guarded by turns.mu
	all  *turns
	in   int // who has it or waits for it; guarded by turns.mu
}

// take waits for the host's turn. The caller ends it with done.
func (ts *turns) take(ctx context.Context, host string) (*turn, error) {
	ts.mu.Lock()
	t := ts.hosts[host]
	if t == nil {
		if ts.hosts == nil {
			ts.hosts = map[string]*turn{}
		}
		if len(ts.hosts) >= maxTurns {
			ts.forget(time.Now())
		}
		t = &turn{busy: make(chan struct{}, 1), all: ts}
		ts.hosts[host] = t
	}
	t.in++
	ts.mu.Unlock()
	select {
	case t.busy <- struct{}{}:
		return t, nil
	case <-ctx.Done():
		ts.mu.Lock()
		t.in--
		ts.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

func (ts *turns) forget(now time.Time) {
	for host, t := range ts.hosts {
		if t.in == 0 && !now.Before(t.next) {
			delete(ts.hosts, host)
		}
	}
}

// wait returns delay after the host's last request.
func (t *turn) wait(ctx context.Context, delay time.Duration) error {
	if t.last.IsZero() {
		return nil
	}
	timer := time.NewTimer(time.Until(t.last.Add(delay)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// done gives the turn to the next one, who waits for delay.
func (t *turn) done(delay time.Duration) {
	t.last = time.Now()
	t.all.mu.Lock()
	t.in--
	t.next = t.last.Add(delay)
	t.all.mu.Unlock()
	<-t.busy
}
