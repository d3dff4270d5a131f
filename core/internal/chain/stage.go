package chain

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/core/internal/pluginhost"
	"github.com/gonutch/crawler/sdk/fault"
)

// batchFunc is a batch call of an extension point: as many answers as items,
// in their order; errs nil or as many.
type batchFunc[I, O any] func(ctx context.Context, in []I) (out []O, errs []error, err error)

// stage is one batch call of one plugin, with what becomes of it when the
// plugin fails.
type stage[I, O any] struct {
	m      *member
	what   string                                            // such as "urlfilter-regex: filter urls"
	local  batchFunc[I, O]                                   // for a plugin in this process
	remote func(cc grpc.ClientConnInterface) batchFunc[I, O] // for a plugin process
	size   func(*I) int                                      // bytes an item takes in a message
	limits limits
}

// limits are the bounds of one call and how failures are retried.
type limits struct {
	items, bytes int
	retries      int
	delay        time.Duration
	time         time.Duration // of one call; 0 means the host's limit
}

// run cuts in into calls and makes them one after the other. The answers are
// as many as the items; errs is nil when no item failed, else as long. A
// failed item's answer is the zero O.
func (s *stage[I, O]) run(ctx context.Context, in []I) ([]O, []error, error) {
	if cut := s.cut(in); cut == len(in) {
		return s.call(ctx, in)
	}
	a := answers[I, O]{out: make([]O, len(in))}
	for from := 0; from < len(in); {
		to := from + s.cut(in[from:])
		out, errs, err := s.call(ctx, in[from:to])
		if err != nil {
			return nil, nil, err
		}
		a.put(from, out, errs)
		from = to
	}
	return a.out, a.errs, nil
}

// cut returns how many of in fit into one call, at least one of any.
func (s *stage[I, O]) cut(in []I) int {
	bytes := 0
	for i := range in {
		bytes += s.size(&in[i])
		if i > 0 && (i >= s.limits.items || bytes > s.limits.bytes) {
			return i
		}
	}
	return len(in)
}

// answers collects the outcome of parts of a batch.
type answers[I, O any] struct {
	out  []O
	errs []error
}

func (a *answers[I, O]) put(at int, out []O, errs []error) {
	copy(a.out[at:], out)
	for i, err := range errs {
		if err != nil {
			a.fail(at+i, err)
		}
	}
}

func (a *answers[I, O]) fail(i int, err error) {
	if a.errs == nil {
		a.errs = make([]error, len(a.out))
	}
	a.errs[i] = err
}

// call makes one call for in and sees it through: what a dying plugin leaves
// is done in quarantine, what fails for a moment is tried again, and a batch
// that fails as a whole is halved until the items at fault stand alone. The
// error is not nil only when no call can succeed any more or ctx has ended.
func (s *stage[I, O]) call(ctx context.Context, in []I) ([]O, []error, error) {
	if len(in) == 0 {
		return nil, nil, nil
	}
	return s.seeThrough(ctx, in, s.limits.retries)
}

// seeThrough is call; retries is how often a transient failure of the whole
// call is tried again. The halves of a batch are not tried again: it was.
func (s *stage[I, O]) seeThrough(ctx context.Context, in []I, retries int) ([]O, []error, error) {
	out, errs, err := s.patiently(ctx, in, retries)
	if err == nil {
		out, errs, err = s.again(ctx, in, out, errs)
	}
	switch {
	case err == nil:
		s.count(len(in), errs)
		return out, errs, nil
	case ends(ctx, err):
		return nil, nil, err
	}
	a := answers[I, O]{out: make([]O, len(in))}
	switch {
	case pluginhost.IsLost(err):
		err = s.quarantine(ctx, in, &a)
	case len(in) == 1:
		a.fail(0, err)
		s.count(1, a.errs)
		err = nil
	default:
		err = s.halves(ctx, in, &a)
	}
	if err != nil {
		return nil, nil, err
	}
	return a.out, a.errs, nil
}

func (s *stage[I, O]) halves(ctx context.Context, in []I, a *answers[I, O]) error {
	half := len(in) / 2
	for _, r := range [][2]int{{0, half}, {half, len(in)}} {
		out, errs, err := s.seeThrough(ctx, in[r[0]:r[1]], 0)
		if err != nil {
			return err
		}
		a.put(r[0], out, errs)
	}
	return nil
}

// quarantine does the items one by one in a process apart.
func (s *stage[I, O]) quarantine(ctx context.Context, in []I, a *answers[I, O]) error {
	for i := range in {
		var out []O
		var errs []error
		one := in[i : i+1]
		err := s.m.proc.Quarantine(ctx, s.limits.time, func(ctx context.Context, cc grpc.ClientConnInterface) (err error) {
			out, errs, err = checked(ctx, s.what, one, s.remote(cc))
			return err
		})
		switch {
		case err == nil:
			a.put(i, out, errs)
		case ends(ctx, err):
			return err
		default:
			a.fail(i, err)
		}
	}
	s.count(len(in), a.errs)
	return nil
}

// patiently makes one call, again after a transient failure of all of it.
func (s *stage[I, O]) patiently(ctx context.Context, in []I, retries int) ([]O, []error, error) {
	for attempt := 0; ; attempt++ {
		out, errs, err := s.once(ctx, in)
		if err == nil || attempt >= retries || !fault.Is(err, fault.Transient) || ends(ctx, err) {
			return out, errs, err
		}
		if err := s.pause(ctx, attempt); err != nil {
			return nil, nil, err
		}
	}
}

// again retries the items of an answered batch that failed for a moment.
func (s *stage[I, O]) again(ctx context.Context, in []I, out []O, errs []error) ([]O, []error, error) {
	for attempt := 0; attempt < s.limits.retries; attempt++ {
		var where []int
		var left []I
		for i, err := range errs {
			if fault.Is(err, fault.Transient) {
				where, left = append(where, i), append(left, in[i])
			}
		}
		if len(left) == 0 {
			return out, errs, nil
		}
		if err := s.pause(ctx, attempt); err != nil {
			return nil, nil, err
		}
		o, e, err := s.once(ctx, left)
		if pluginhost.IsLost(err) || ends(ctx, err) {
			return nil, nil, err
		}
		if err != nil {
			continue
		}
		for k, i := range where {
			out[i], errs[i] = o[k], nil
			if e != nil {
				errs[i] = e[k]
			}
		}
	}
	return out, errs, nil
}

func (s *stage[I, O]) pause(ctx context.Context, attempt int) error {
	return pause(ctx, s.m, s.limits.delay, attempt)
}

// pause waits before a retry: delay doubled for each attempt, half of it to
// one and a half times as long.
func pause(ctx context.Context, m *member, delay time.Duration, attempt int) error {
	m.retries.Add(1)
	d := max(delay, time.Millisecond) << min(attempt, 16)
	t := time.NewTimer(d/2 + rand.N(d))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *stage[I, O]) once(ctx context.Context, in []I) (out []O, errs []error, err error) {
	s.m.calls.Add(1)
	if s.m.proc == nil {
		return checked(ctx, s.what, in, s.local)
	}
	err = s.m.proc.DoWithin(ctx, s.limits.time, len(in), func(ctx context.Context, cc grpc.ClientConnInterface) (err error) {
		out, errs, err = checked(ctx, s.what, in, s.remote(cc))
		return err
	})
	return out, errs, err
}

// checked makes the call and refuses an answer of the wrong length, whoever
// made it.
func checked[I, O any](ctx context.Context, what string, in []I, call batchFunc[I, O]) ([]O, []error, error) {
	out, errs, err := call(ctx, in)
	switch {
	case err != nil:
		return nil, nil, err
	case len(out) != len(in):
		return nil, nil, fault.Errorf(fault.Invalid, "%s: %d answers for %d items", what, len(out), len(in))
	case errs != nil && len(errs) != len(in):
		return nil, nil, fault.Errorf(fault.Invalid, "%s: %d errors for %d items", what, len(errs), len(in))
	}
	return out, errs, nil
}

func (s *stage[I, O]) count(n int, errs []error) {
	s.m.records.Add(int64(n))
	for _, err := range errs {
		if err != nil {
			s.m.errors.Add(1)
		}
	}
}

// ends reports whether err ends a call of the chains rather than an item.
func ends(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, pluginhost.ErrStopped) || errors.Is(err, pluginhost.ErrClosed))
}

// named wraps an item's error with the plugin it comes from.
func named(id string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("plugin %s: %w", id, err)
}
