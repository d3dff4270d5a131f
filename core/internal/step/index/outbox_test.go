package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
)

// meeting is a writer whose first write ends when another writer's has begun.
type meeting struct {
	*writer
	once  sync.Once
	mine  chan struct{}
	other <-chan struct{}
	order []string
}

func (m *meeting) Write(ctx context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	m.once.Do(func() {
		close(m.mine)
		select {
		case <-m.other:
		case <-time.After(time.Minute):
		}
	})
	select {
	case <-m.other:
	default:
		return nil, errors.New("the other writer was not served meanwhile")
	}
	for _, op := range ops {
		m.order = append(m.order, op.Doc.ID)
	}
	return m.writer.Write(ctx, ops)
}

// TestSideBySide: writers are served at the same time, each in the order of the documents.
func TestSideBySide(t *testing.T) {
	x, y := &meeting{writer: newWriter("x"), mine: make(chan struct{})}, &meeting{writer: newWriter("y"), mine: make(chan struct{})}
	x.other, y.other = y.mine, x.mine
	b := newBench(t)
	b.targets = []Target{{Writer: x}, {Writer: y}}
	for n := range 40 {
		b.put(n, fmt.Sprint("text ", n))
	}
	rep := b.run()
	for _, m := range []*meeting{x, y} {
		if d := cmp.Diff(ids(0, 40), m.order); d != "" || rep.Indexed != 40 {
			t.Errorf("%s: %s\n%+v", m.name, d, rep)
		}
	}
}

// TestFull: a writer that takes no document any more is left alone at once; what it took before
// counts.
func TestFull(t *testing.T) {
	w, other := newWriter("w"), newWriter("other")
	b := newBench(t, w, other)
	w.later = map[string]bool{}
	for n := range 20 {
		b.put(n, fmt.Sprint("text ", n))
		w.later[url(n)] = n >= 6
	}
	b.cfg.CommitSize = 1000
	rep := b.run()
	if w.writes != 3 || !slices.Equal(w.ids(), ids(0, 6)) || rep.Waiting["w"] != 14 || len(rep.Down) != 1 || rep.Down[0].Waiting != 14 {
		t.Errorf("%d writes, %v, %+v", w.writes, w.ids(), rep)
	}
	if rep.New != 20 || len(other.docs) != 20 {
		t.Errorf("%+v, the other has %v", rep, other.ids())
	}
	clear(w.later)
	rep = b.run()
	if rep.Indexed != 14 || rep.Again != 14 || b.counts("w") != (crawldb.DocCounts{Held: 20}) || len(rep.Waiting) != 0 {
		t.Errorf("%+v, %+v", rep, b.counts("w"))
	}
}

// broken is a writer whose calls end with their context only, or at once without success.
type broken struct {
	*writer
	hangs bool
	begun chan struct{}
}

func (b *broken) Write(ctx context.Context, _ []indexwriter.Op) ([]indexwriter.Result, error) {
	close(b.begun)
	if !b.hangs {
		return nil, down()
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestStop: a stop ends retries and calls that hang, and commits what the other writer got.
func TestStop(t *testing.T) {
	for name, hangs := range map[string]bool{"it is tried again": false, "a call hangs": true} {
		t.Run(name, func(t *testing.T) {
			other, begun, stop := newWriter("other"), make(chan struct{}), make(chan struct{})
			b := newBench(t, other)
			b.targets = append(b.targets, Target{Writer: &broken{newWriter("w"), hangs, begun}})
			b.cfg.Retries, b.cfg.RetryDelay = 100, time.Hour
			for n := range 3 {
				b.put(n, fmt.Sprint("text ", n))
			}
			x := b.indexer()
			x.Stop = stop
			go func() {
				<-begun
				close(stop)
			}()
			rep, err := x.Run(t.Context())
			if err != nil || rep.Waiting["w"] != 3 || rep.New != 3 || len(other.docs) != 3 || b.marked() != 0 {
				t.Errorf("%+v %v, %v, %d marked", rep, err, other.ids(), b.marked())
			}
		})
	}
	// What is not looked at yet keeps its marks.
	w, stop := newWriter("w"), make(chan struct{})
	close(stop)
	b := newBench(t, w)
	b.put(1, "text")
	x := b.indexer()
	x.Stop = stop
	if rep, err := x.Run(t.Context()); err != nil || !rep.Stopped || b.marked() != 1 || w.writes != 0 {
		t.Errorf("%+v %v, %d marked, %d writes", rep, err, b.marked(), w.writes)
	}
}

// asked is a writer that can be asked whether it works.
type asked struct {
	*writer
	err    error
	probes int
}

func (a *asked) Probe(context.Context) error {
	a.probes++
	return a.err
}

// TestHealth: a writer that is down is left alone for pauses that double, and asked then.
func TestHealth(t *testing.T) {
	w := &asked{writer: newWriter("w"), err: down()}
	w.errs = slices.Repeat([]error{down()}, 3)
	b := newBench(t)
	b.targets = []Target{{Writer: w}}
	b.cfg.DownDelay, b.cfg.DownDelayMax, b.cfg.ProbeTimeout = 30*time.Second, 100*time.Second, time.Minute
	now := time.Unix(1000, 0)
	h := b.cfg.NewHealth()
	h.Now = func() time.Time { return now }
	step := func(n int) Report {
		t.Helper()
		b.put(n, "x")
		x := b.indexer()
		x.Health = h
		rep, err := x.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	step(0)
	if w.writes != 3 || w.probes != 0 { // a first attempt and two retries
		t.Fatalf("%d writes, %d probes", w.writes, w.probes)
	}
	for i, c := range []struct {
		wait   time.Duration
		probes int
		next   time.Duration // from now on
	}{
		{29 * time.Second, 0, time.Second},
		{time.Second, 1, time.Minute},
		{59 * time.Second, 1, time.Second},
		{time.Second, 2, 100 * time.Second},
		{100 * time.Second, 3, 100 * time.Second},
	} {
		now = now.Add(c.wait)
		due := h.Due()
		rep := step(i + 1)
		if w.probes != c.probes || w.writes != 3 || len(rep.Down) != 1 || rep.Down[0].Since != time.Unix(1000, 0) || rep.Down[0].Next != now.Add(c.next) || rep.Down[0].Waiting != int64(i+2) || due != (c.next > time.Second) {
			t.Errorf("%d: %d probes, %d writes, %+v", i, w.probes, w.writes, rep)
		}
	}
	w.err = nil
	now = now.Add(100 * time.Second)
	if rep := step(6); len(rep.Down) != 0 || len(w.docs) != 7 || h.Due() || h.Wake() {
		t.Errorf("%+v, %v", rep, w.ids())
	}
}

// TestOutageOverProcesses: since when a writer takes nothing is known to the next process, until
// it took something.
func TestOutageOverProcesses(t *testing.T) {
	w := newWriter("w")
	b := newBench(t, w)
	process := func(now int64, works bool) []Down {
		t.Helper()
		b.put(int(now), fmt.Sprint(now))
		if w.errs = nil; !works {
			w.errs = slices.Repeat([]error{down()}, 100)
		}
		x := b.indexer()
		x.Health = b.cfg.NewHealth()
		x.Health.Now = func() time.Time { return time.Unix(now, 0) }
		rep, err := x.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		info, err := b.db.WriterInfo("w")
		if err != nil || info.Down.IsZero() != works {
			t.Errorf("at %d: stored since %v, %v", now, info.Down, err)
		}
		return rep.Down
	}
	for _, c := range []struct {
		now, since int64
		works      bool
	}{{1000, 1000, false}, {2000, 1000, false}, {3000, 1000, false}, {4000, 0, true}, {5000, 5000, false}, {6000, 0, true}} {
		down := process(c.now, c.works)
		if c.works && len(down) > 0 || !c.works && (len(down) != 1 || !down[0].Since.Equal(time.Unix(c.since, 0))) {
			t.Errorf("at %d: %+v, want an outage since %d", c.now, down, c.since)
		}
	}
}

// TestPluginEnds: what a plugin that ended was sent is sent again at once, also while the writer has
// a backlog and however often, as long as it gets further; one that does not is left alone.
func TestPluginEnds(t *testing.T) {
	lost := func(n int) []error { return slices.Repeat([]error{lostWrites()}, n) }
	more := slices.Concat[[]error]
	for name, c := range map[string]struct {
		errs, commits []error
		pending       bool
	}{
		"in a write":              {errs: lost(1)},
		"again and again":         {errs: lost(3)},
		"in each of three writes": {errs: more(lost(3), []error{nil}, lost(3), []error{nil}, lost(3))},
		"at commit":               {commits: lost(3)},
		"in a write and a commit": {errs: more([]error{nil, nil}, lost(2)), commits: lost(1)},
		"in every write":          {errs: lost(4), pending: true},
		"in every commit":         {commits: lost(4), pending: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWriter("w")
			w.errs = slices.Repeat([]error{down()}, 3)
			b := newBench(t, w)
			b.cfg.Restarts = 3
			for n := range 20 {
				b.put(n, fmt.Sprint("text ", n))
			}
			if rep := b.run(); len(rep.Down) != 1 || rep.Waiting["w"] != 20 {
				t.Fatalf("%+v", rep)
			}
			w.errs, w.commits = c.errs, c.commits
			rep := b.run()
			if c.pending {
				if len(rep.Down) != 1 || rep.Waiting["w"] != 20 || b.counts("w").Held != 0 {
					t.Errorf("%+v, %+v", rep, b.counts("w"))
				}
				w.errs, w.commits = nil, nil
				rep = b.run()
			}
			if d := cmp.Diff(ids(0, 20), w.ids()); d != "" || len(rep.Down)+len(rep.Waiting) != 0 || rep.Indexed != 20 {
				t.Errorf("%s\n%+v", d, rep)
			}
		})
	}
}
