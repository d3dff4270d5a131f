package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
)

// firstStarts is how often the first start of a plugin is tried.
const firstStarts = 3

// Call is what a caller does with the connection to a plugin's process. Its
// context ends with the call's time limit; the connection is not kept.
type Call = func(context.Context, grpc.ClientConnInterface) error

// Plugin is one plugin of a Host. The handle stays the same when the process
// behind it is replaced. Its methods are safe for concurrent use.
type Plugin struct {
	id   string
	man  *manifest.Manifest
	host *Host
	slot chan struct{} // one for each call at a time
	jail jail

	mu      sync.Mutex
	running bool          // the supervisor has been started
	cur     *process      // nil while there is none
	err     error         // why there will be none any more
	changed chan struct{} // closed and replaced when cur or err change

	stats     counters
	completed atomic.Int64 // records, in whatever process
	poisoned  atomic.Int64 // poisonous records in a row
}

func newPlugin(h *Host, m *manifest.Manifest) *Plugin {
	p := &Plugin{id: m.ID, man: m, host: h, changed: make(chan struct{})}
	n, cells := h.opts.Concurrency, h.opts.QuarantineProcs
	for _, e := range m.Provides {
		if e.Point == manifest.Protocol {
			n = 1 << 10           // the fetcher's threads are the limit
			cells = max(cells, 8) // a fetch may take long through no fault of its own
		}
	}
	if m.Concurrency > 0 {
		n = m.Concurrency
	}
	p.slot = make(chan struct{}, n)
	p.jail.init(p, cells)
	return p
}

// ID returns the plugin's id.
func (p *Plugin) ID() string { return p.id }

// Manifest returns the plugin's manifest, which must not be changed.
func (p *Plugin) Manifest() *manifest.Manifest { return p.man }

func (p *Plugin) memoryLimit() int64 {
	if p.man.MemoryLimit != 0 {
		return p.man.MemoryLimit
	}
	return p.host.opts.MemoryLimit
}

// Do makes one call that carries n records, on the process as it is now. It
// waits for the process to be started or replaced, and for its turn when the
// plugin has as many calls as it takes. Options.CallTimeout limits the call
// itself. The error is
//   - call's own when the plugin lives,
//   - a LostError when the process died or was killed during the call,
//   - ctx's when that has ended,
//   - one that is ErrStopped or ErrClosed when no call will succeed any more.
func (p *Plugin) Do(ctx context.Context, n int, call Call) error {
	return p.DoWithin(ctx, 0, n, call)
}

// DoWithin is Do with its own time limit; 0 means Options.CallTimeout.
func (p *Plugin) DoWithin(ctx context.Context, limit time.Duration, n int, call Call) error {
	select {
	case p.slot <- struct{}{}:
		defer func() { <-p.slot }()
	case <-ctx.Done():
		return ctx.Err()
	}
	pr, err := p.current(ctx)
	if err != nil {
		return err
	}
	return p.invoke(ctx, pr, limit, n, call)
}

func (p *Plugin) invoke(ctx context.Context, pr *process, limit time.Duration, n int, call Call) error {
	if limit <= 0 {
		limit = p.host.opts.CallTimeout
	}
	start := time.Now()
	err := pr.invoke(ctx, limit, call)
	p.stats.call(time.Since(start), n, err)
	switch {
	case err == nil:
		p.done(n)
	case p.host.closed() && ctx.Err() == nil:
		return ErrClosed
	}
	return err
}

// done notes n completed records.
func (p *Plugin) done(n int) {
	if n > 0 {
		p.completed.Add(int64(n))
		p.poisoned.Store(0)
	}
}

// current returns the running process, starting the first one.
func (p *Plugin) current(ctx context.Context) (*process, error) {
	for {
		p.mu.Lock()
		cur, err, changed := p.cur, p.err, p.changed
		if err == nil && !p.running {
			if err = p.host.supervise(p); err == nil {
				p.running = true
			}
		}
		p.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case cur != nil && !cur.isGone():
			return cur, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (p *Plugin) set(cur *process, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cur = cur
	if p.err == nil {
		p.err = err
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

// fail ends the plugin for good. Who waits for its first start is told by the error.
func (p *Plugin) fail(err error, everRan bool) {
	if everRan {
		p.host.log.Error("plugin given up", "plugin", p.id, "error", err)
	} else {
		p.host.log.Debug("plugin given up", "plugin", p.id, "error", err)
	}
	p.set(nil, err)
}

// supervise keeps a process of the plugin running until ctx ends or there is
// no point in it any more.
func (p *Plugin) supervise(ctx context.Context) {
	starts, deaths, everRan := 0, 0, false
	for {
		begun := time.Now()
		pr, err := p.host.launch(ctx, p)
		if ctx.Err() != nil {
			if pr != nil {
				pr.stop(p.host.opts.StopTimeout)
			}
			p.set(nil, ErrClosed)
			return
		}
		if err != nil {
			starts++
			limit := firstStarts
			switch {
			case everRan:
				limit = p.host.opts.MaxCrashes
			case time.Since(begun) >= p.host.opts.StartTimeout:
				limit = 1 // somebody is waiting
			}
			k := fault.KindOf(err)
			if k == fault.Invalid || k == fault.Denied || k == fault.Permanent && !everRan || starts >= limit {
				p.fail(stopped(err, "%v", err), everRan)
				return
			}
			p.host.log.Warn("start failed", "plugin", p.id, "error", err)
			p.pause(ctx, starts)
			continue
		}
		starts, everRan = 0, true
		before := p.completed.Load()
		p.set(pr, nil)
		select {
		case <-pr.gone:
		case <-ctx.Done():
			pr.stop(p.host.opts.StopTimeout)
			p.set(nil, ErrClosed)
			return
		}
		lost := pr.lost()
		p.stats.died(pr, lost)
		p.host.log.Warn("plugin died", "plugin", p.id, "reason", lost.Reason, "error", lost.Detail)
		p.set(nil, nil)
		switch {
		case p.completed.Load() != before:
			deaths = 0
		case pr.called.Load() > 0:
			deaths++
		}
		if deaths >= p.host.opts.MaxCrashes {
			p.fail(stopped(lost, "plugin %s died %d times in a row without completing a record; the last time it %s: %s", p.id, deaths, lost.Reason, lost.Detail), everRan)
			return
		}
		p.pause(ctx, deaths)
	}
}

// pause waits before start number n in a row that led nowhere.
func (p *Plugin) pause(ctx context.Context, n int) {
	if n == 0 {
		return
	}
	d := min(p.host.opts.BackoffMin<<min(n-1, 20), p.host.opts.BackoffMax)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// stoppedError is ErrStopped with its cause.
type stoppedError struct {
	text  string
	cause error
}

func stopped(cause error, format string, args ...any) error {
	return &stoppedError{text: fmt.Sprintf(format, args...), cause: cause}
}

func (e *stoppedError) Error() string { return e.text }

func (e *stoppedError) Is(target error) bool { return target == ErrStopped }

// Unwrap gives the kind of the cause, a lost process excepted: nobody is to
// try again.
func (e *stoppedError) Unwrap() error {
	var lost *LostError
	if errors.As(e.cause, &lost) {
		return nil
	}
	return e.cause
}
