package pluginhost

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gonutch/crawler/sdk/fault"
)

// idleCell is how long a quarantine process is kept for the next suspect.
const idleCell = 5 * time.Second

// poisonFactor times Options.MaxCrashes poisonous records in a row, with none
// completed between them, mean that it is the plugin and not the records.
const poisonFactor = 25

// jail holds the quarantine processes of a plugin.
type jail struct {
	p     *Plugin
	cells chan *cell
	all   []*cell
}

// cell is a place for one suspect record at a time.
type cell struct {
	mu    sync.Mutex              // held by who has the cell, and by who looks after idle ones
	pr    atomic.Pointer[process] // nil for none
	used  int                     // records it has had
	since time.Time               // of its last record
}

func (j *jail) init(p *Plugin, n int) {
	j.p = p
	j.cells = make(chan *cell, n)
	for range n {
		c := &cell{}
		j.all = append(j.all, c)
		j.cells <- c
	}
}

// PoisonError says that a record is poisonous: it alone killed or hung a fresh
// process again and again. Its kind is fault.Permanent.
type PoisonError struct {
	Plugin string
	Times  int
	Last   *LostError
}

func (e *PoisonError) Error() string {
	return fmt.Sprintf("poisonous: plugin %s %s %d times on this record: %s", e.Plugin, e.Last.Reason, e.Times, e.Last.Detail)
}

// Quarantine makes the call for a single record that was under way when a
// process died. It has a process of its own for it, beside the one that serves
// Do. The error is as Do's, but instead of a LostError there is a PoisonError
// after the record alone has ended Options.QuarantineAttempts fresh processes.
func (p *Plugin) Quarantine(ctx context.Context, limit time.Duration, call Call) error {
	var c *cell
	select {
	case c = <-p.jail.cells:
		defer func() { p.jail.cells <- c }()
	case <-ctx.Done():
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.stats.quarantined.Add(1)
	for deaths := 0; ; {
		pr, err := p.occupy(ctx, c)
		if err != nil {
			return err
		}
		fresh := c.used == 0
		c.used++
		err = p.invoke(ctx, pr, limit, 1, call)
		c.since = time.Now()
		if !IsLost(err) {
			if err != nil && ctx.Err() != nil { // it may still be busy with the record
				c.vacate(0)
			}
			return err
		}
		lost := pr.lost()
		p.stats.died(pr, lost)
		c.pr.Store(nil)
		if fresh {
			deaths++
		}
		if deaths >= p.host.opts.QuarantineAttempts {
			return p.poison(&PoisonError{Plugin: p.id, Times: deaths, Last: lost})
		}
	}
}

// occupy returns the living process of c, starting one if there is none.
func (p *Plugin) occupy(ctx context.Context, c *cell) (*process, error) {
	for attempt := 1; ; attempt++ {
		p.mu.Lock()
		err := p.err
		p.mu.Unlock()
		if err == nil && p.host.closed() {
			err = ErrClosed
		}
		if err != nil {
			return nil, err
		}
		if pr := c.pr.Load(); pr != nil && !pr.isGone() {
			return pr, nil
		}
		pr, err := p.host.launch(ctx, p)
		switch {
		case err == nil:
			c.used = 0
			c.pr.Store(pr)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case p.host.closed():
		case attempt >= p.host.opts.MaxCrashes:
			err = stopped(err, "quarantine: %v", err)
			p.fail(err, true)
			return nil, err
		default:
			p.host.log.Warn("start for quarantine failed", "plugin", p.id, "error", err)
			p.pause(ctx, attempt)
		}
	}
}

// poison notes a poisonous record; too many in a row end the plugin.
func (p *Plugin) poison(e *PoisonError) error {
	p.stats.poisonous.Add(1)
	n := p.poisoned.Add(1)
	p.host.log.Warn("poisonous record", "plugin", p.id, "reason", e.Last.Reason, "error", e.Last.Detail)
	if int(n) >= poisonFactor*p.host.opts.MaxCrashes {
		err := stopped(e.Last, "plugin %s: %d records in a row are poisonous and none was completed; on the last it %s: %s", p.id, n, e.Last.Reason, e.Last.Detail)
		p.fail(err, true)
		return err
	}
	return fault.New(fault.Permanent, e)
}

// vacate ends the cell's process, if any; called with mu held.
func (c *cell) vacate(limit time.Duration) {
	pr := c.pr.Swap(nil)
	switch {
	case pr == nil:
	case limit > 0:
		pr.stop(limit)
	default:
		pr.kill(Crashed, "not wanted any more")
		<-pr.gone
	}
}

// sweep ends quarantine processes that have been idle for a while.
func (j *jail) sweep(now time.Time) {
	for _, c := range j.all {
		if !c.mu.TryLock() {
			continue // at work
		}
		if now.Sub(c.since) > idleCell {
			c.vacate(j.p.host.opts.StopTimeout)
		}
		c.mu.Unlock()
	}
}

// close ends all quarantine processes, those at work by force. The host is
// closed already, so none is started any more.
func (j *jail) close(limit time.Duration) {
	var wg sync.WaitGroup
	for _, c := range j.all {
		wg.Go(func() {
			if !c.mu.TryLock() {
				if pr := c.pr.Load(); pr != nil {
					pr.kill(Crashed, "the host is closing")
				}
				c.mu.Lock()
			}
			defer c.mu.Unlock()
			c.vacate(limit)
		})
	}
	wg.Wait()
}
