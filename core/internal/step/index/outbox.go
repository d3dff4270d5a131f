package index

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
)

// outbox is what one writer gets. The session fills it; a goroutine of its own writes, so
// that a slow writer holds up no other until a commit, for which all of them wait. At most
// one batch is being written and one waits.
type outbox struct {
	target *Target
	jobs   chan job

	// Of the session.
	fill []sent // the batch that is being put together
	size int    // its bytes

	// Of the writing goroutine, and between commits of the session.
	sent    []sent // since the last commit
	waiting int    // of sent, how many at the end are not written yet
	eager   bool   // it was down lately: the first failure is the last attempt
	trial   bool   // its pause is over: whether it works is to be seen
	full    bool   // down, but what it took before is to be committed
	fatal   error  // the step can't go on
	// A plugin that ended says nothing about the index it writes to: what it was sent is sent
	// again as soon as it has been replaced.
	taken  int // the most of sent that it ever answered
	losses int // times it ended since taken grew

	mu   sync.Mutex
	down error // the writer takes nothing now
}

// job is a batch to be written, and whether to commit then; done is closed when that is over.
type job struct {
	batch []sent
	done  chan<- struct{}
}

type sent struct {
	f  *fate
	m  *move
	op indexwriter.Op
}

func (o *outbox) isDown() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.down
}

func (o *outbox) setDown(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down = err
}

// serve writes what comes until jobs is closed.
func (s *session) serve(ctx context.Context, o *outbox) {
	for j := range o.jobs {
		o.sent = append(o.sent, j.batch...)
		o.waiting += len(j.batch)
		if o.fatal == nil {
			o.fatal = s.write(ctx, o)
		}
		if j.done == nil {
			continue
		}
		if o.fatal == nil && len(o.sent) > 0 && (o.isDown() == nil || o.full) {
			o.fatal = s.commitWriter(ctx, o)
		}
		o.sent, o.waiting, o.full = nil, 0, false
		o.taken, o.losses = 0, 0
		close(j.done)
	}
}

// errStopping says that a writer was not waited for because the command is to end.
var errStopping = errors.New("the command was stopped before the writer answered")

// stopGrace is how long a call of a writer that works may take after the command was told to stop.
const stopGrace = 2 * time.Second

func (s *session) stopping() bool {
	select {
	case <-s.x.Stop:
		return true
	default:
		return false
	}
}

// call makes one call of a writer. When the command is told to stop, it ends at once if the
// writer is in trouble, else after a moment.
func (s *session) call(ctx context.Context, o *outbox, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	var wg sync.WaitGroup
	grace := stopGrace
	if o.eager {
		grace = 0
	}
	wg.Go(func() {
		select {
		case <-s.x.Stop:
		case <-over:
			return
		}
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-t.C:
			cancel(errStopping)
		case <-over:
		}
	})
	err := f(ctx)
	close(over)
	wg.Wait()
	if err != nil && errors.Is(context.Cause(ctx), errStopping) {
		err = errStopping
	}
	cancel(nil)
	return err
}

// write sends what waits for a writer. A writer that can't be reached is left alone for the
// rest of the step; its operations stay pending.
func (s *session) write(ctx context.Context, o *outbox) error {
	if down := o.isDown(); down != nil {
		for _, e := range o.sent[len(o.sent)-o.waiting:] {
			e.m.end, e.m.reason = putOff, down.Error()
		}
		o.waiting = 0
		return nil
	}
	attempts := s.newTries()
	for o.waiting > 0 {
		from := len(o.sent) - o.waiting
		ops := make([]indexwriter.Op, o.waiting)
		for i := range ops {
			ops[i] = o.sent[from+i].op
		}
		var results []indexwriter.Result
		err := s.call(ctx, o, func(ctx context.Context) (err error) {
			results, err = o.target.Writer.Write(ctx, ops)
			return err
		})
		if err == nil {
			s.answered(o, results)
			return nil
		}
		if isLost(err) {
			o.waiting = len(o.sent) // everything since the last commit
			if !s.outlives(o) {
				return s.giveUp(ctx, o, err)
			}
			continue
		}
		if !retryable(err) || o.eager || !s.again(ctx, o, &attempts, err) {
			return s.giveUp(ctx, o, err)
		}
	}
	return nil
}

// isLost reports whether the plugin of a writer ended and was replaced.
func isLost(err error) bool {
	var lost *chain.LostWritesError
	return errors.As(err, &lost)
}

// outlives counts an end of the writer's plugin, and reports whether what it lost is sent again:
// not when it ends again and again and gets no further.
func (s *session) outlives(o *outbox) bool {
	o.losses++
	return o.losses <= s.x.cfg.Restarts && !s.stopping()
}

// tries are the attempts of one call.
type tries struct {
	n   int
	end time.Time // no other is made after
}

// newTries counts attempts from now on. A call that does not fail but takes its whole time is not
// made as often as one that fails at once: all that they may take beyond the pauses is a minute.
func (s *session) newTries() tries {
	return tries{end: time.Now().Add(s.x.cfg.patience() + time.Minute)}
}

// patience is the sum of the pauses between attempts.
func (c *Config) patience() time.Duration {
	sum := time.Duration(0)
	for n := range min(c.Retries, 1000) {
		sum += pause(c.RetryDelay, n)
	}
	return sum
}

// again waits before a writer is tried once more, and says so the first time. It reports false
// when it was tried enough, or the command ends before.
func (s *session) again(ctx context.Context, o *outbox, t *tries, cause error) bool {
	if t.n >= s.x.cfg.Retries || time.Now().After(t.end) {
		return false
	}
	if t.n == 0 {
		s.x.Log.Warn("index writer can't be reached; it is tried again (indexer.retries) before its documents stay pending",
			"writer", o.target.Writer.Name(), "for_about", s.x.cfg.patience(), "error", cause)
	}
	timer := time.NewTimer(pause(s.x.cfg.RetryDelay, t.n))
	defer timer.Stop()
	t.n++
	select {
	case <-timer.C:
		return true
	case <-s.x.Stop:
	case <-ctx.Done():
	}
	return false
}

// answered notes the results of what waited. A writer that put all of several documents off
// is full or in trouble: it is asked again later.
func (s *session) answered(o *outbox, results []indexwriter.Result) {
	from := len(o.sent) - o.waiting
	later := 0
	for i, r := range results {
		if s.result(o, &o.sent[from+i], r); r.Rejected != "" && r.Later {
			later++
		}
	}
	o.waiting = 0
	if n := len(o.sent); n > o.taken {
		o.taken, o.losses = n, 0
	}
	if later > 1 && later == len(results) {
		o.full = true
		s.fail(o, fmt.Errorf("takes no document now: %s", results[0].Rejected))
		return
	}
	o.eager, o.trial = false, false
	s.x.Health.works(o.target.Writer.Name())
}

func (s *session) result(o *outbox, e *sent, r indexwriter.Result) {
	switch {
	case r.Rejected == "":
		e.m.end, e.m.reason = done, ""
		return
	case r.Later:
		e.m.end = putOff
	default:
		e.m.end = refused
	}
	e.m.reason = r.Rejected
	s.x.Log.Debug("index refused a document", "writer", o.target.Writer.Name(), "url", e.op.Doc.ID, "reason", r.Rejected, "later", r.Later)
}

// giveUp puts off everything since the last commit.
func (s *session) giveUp(ctx context.Context, o *outbox, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, e := range o.sent {
		if e.m.end == done || e.m.reason == "" {
			e.m.end, e.m.reason = putOff, err.Error()
		}
	}
	o.waiting = 0
	s.fail(o, err)
	return nil
}

// fail leaves a writer alone for the rest of the step and some time after it.
func (s *session) fail(o *outbox, err error) {
	name := o.target.Writer.Name()
	o.trial = false
	o.setDown(err)
	was := s.x.Health.failed(name, err)
	if was.tries == 1 {
		s.x.Log.Error("index writer takes nothing now; its documents stay pending", "writer", name, "next_try", was.next.Format(time.TimeOnly), "error", err)
		return
	}
	s.x.Log.Warn("index writer still takes nothing", "writer", name, "since", was.since.Format(time.TimeOnly), "next_try", was.next.Format(time.TimeOnly), "error", err)
}

func (s *session) commitWriter(ctx context.Context, o *outbox) error {
	attempts := s.newTries()
	for {
		err := s.call(ctx, o, o.target.Writer.Commit)
		switch {
		case err == nil:
			return nil
		case o.full:
			return s.giveUp(ctx, o, err)
		case isLost(err):
			if !s.outlives(o) {
				return s.giveUp(ctx, o, err)
			}
			o.waiting = len(o.sent)
			if err := s.write(ctx, o); err != nil || o.isDown() != nil {
				return err
			}
		case !retryable(err) || !s.again(ctx, o, &attempts, err):
			return s.giveUp(ctx, o, err)
		}
	}
}

// retryable reports whether sending again may help.
func retryable(err error) bool { return fault.Is(err, fault.Transient) }

// pause returns the wait after failed attempt n, counted from 0: doubling, up to 64 times the first.
func pause(first time.Duration, n int) time.Duration { return first << min(n, 6) }
