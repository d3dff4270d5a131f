package chain

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/core/internal/pluginhost"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// poisonAttempts is how often a document may alone kill a writer's plugin
// before it is refused.
const poisonAttempts = 3

// WriterConfig is one configured instance of an index writer plugin.
type WriterConfig struct {
	Name   string
	Plugin string
	Params indexwriter.Params
}

// LostWritesError says that the plugin of a writer died with operations that
// were not committed. The instance is open again; the caller sends everything
// since its last Commit once more. Its kind is fault.Transient.
type LostWritesError struct {
	Writer string
	Ops    int // operations lost, those of the failing call included
	Cause  error
}

func (e *LostWritesError) Error() string {
	return fmt.Sprintf("writer %s: the plugin process was replaced; %d operations since the last commit are lost and must be sent again: %v", e.Writer, e.Ops, e.Cause)
}

// Unwrap gives the error its kind.
func (e *LostWritesError) Unwrap() error { return fault.New(fault.Transient, e.Cause) }

// InstanceError says why a configured index writer or exchange can't be opened. Its kind is that
// of what its plugin said.
type InstanceError struct {
	Block  string // as the configuration calls it: "index_writer" or "exchange"
	Name   string
	Plugin string
	Err    error // of the plugin
}

func (e *InstanceError) Error() string {
	return fmt.Sprintf("open %s %s: %v", e.Block, e.Name, named(e.Plugin, e.Err))
}

// Unwrap returns what the plugin said.
func (e *InstanceError) Unwrap() error { return e.Err }

// Writer is an opened instance of an index writer. Calls are made one at a
// time, in the order they come.
//
// A document in flight when the plugin died is suspect: when it is sent again
// it goes alone, between two commits, and is refused once it has killed or hung
// the plugin three times.
type Writer struct {
	conf WriterConfig
	c    *Chains
	m    *member

	mu          sync.Mutex
	uncommitted int            // operations since the last commit
	suspects    map[string]int // by document id: times it died alone
	closed      bool

	openMu sync.Mutex
	opened uint64 // generation the instance is open in; 0 means none
	lost   bool   // reopened while operations were uncommitted
	dirty  bool   // operations may be uncommitted in the opened generation
}

type writerTable struct {
	mu   sync.Mutex
	open []*Writer
}

// OpenWriters opens one instance for each configuration. An instance whose index
// can't be reached now (kind Transient) is opened by its first call that can;
// that is logged. When one of them can't be opened for another reason, none is left open; all
// errors are reported, those of plugins as InstanceError.
func (c *Chains) OpenWriters(ctx context.Context, configs []WriterConfig) ([]*Writer, error) {
	var opened []*Writer
	var errs []error
	names := map[string]bool{}
	for _, conf := range configs {
		m := c.members[conf.Plugin]
		switch {
		case m == nil || len(m.provides(manifest.IndexWriter)) == 0:
			errs = append(errs, fmt.Errorf("writer %s: %q is not an active index writer plugin", conf.Name, conf.Plugin))
			continue
		case names[conf.Name]:
			errs = append(errs, fmt.Errorf("writer %s is configured twice", conf.Name))
			continue
		}
		names[conf.Name] = true
		w := &Writer{conf: conf, c: c, m: m, suspects: map[string]int{}}
		err := w.Open(ctx)
		switch {
		case err != nil && fault.Is(err, fault.Transient) && !pluginhost.IsLost(err) && ctx.Err() == nil:
			c.log.Warn("the index can't be reached; what is to be written waits", "writer", conf.Name, "error", err)
		case err != nil:
			errs = append(errs, &InstanceError{"index_writer", conf.Name, conf.Plugin, err})
			continue
		}
		opened = append(opened, w)
	}
	if len(errs) > 0 {
		for _, w := range opened {
			errs = append(errs, w.Close(ctx))
		}
		return nil, errors.Join(errs...)
	}
	c.writers.mu.Lock()
	c.writers.open = append(c.writers.open, opened...)
	c.writers.mu.Unlock()
	return opened, nil
}

// ValidateWriter asks whether the parameters of a configured instance can be used, without
// opening it. A plugin that can't tell takes any.
func (c *Chains) ValidateWriter(ctx context.Context, conf WriterConfig) error {
	m := c.members[conf.Plugin]
	if m == nil || len(m.provides(manifest.IndexWriter)) == 0 {
		return fault.Errorf(fault.Invalid, "%q is not an active index writer plugin", conf.Plugin)
	}
	if m.proc == nil {
		if v, ok := m.local.IndexWriter.(indexwriter.Validator); ok {
			return v.Validate(ctx, conf.Name, conf.Params)
		}
		return nil
	}
	return m.proc.Do(ctx, 0, func(ctx context.Context, cc grpc.ClientConnInterface) error {
		return indexwriter.NewClient(cc).Validate(ctx, conf.Name, conf.Params)
	})
}

func (t *writerTable) close(ctx context.Context) error {
	t.mu.Lock()
	open := t.open
	t.open = nil
	t.mu.Unlock()
	var errs []error
	for _, w := range open {
		errs = append(errs, w.Close(ctx))
	}
	return errors.Join(errs...)
}

// Open opens the instance, if it is not open yet. A plugin that ends meanwhile is asked again
// once it has been replaced, until its host gives it up.
func (w *Writer) Open(ctx context.Context) error {
	for {
		err := w.do(ctx, 0, func(context.Context, indexwriter.Writer) error { return nil })
		if !pluginhost.IsLost(err) {
			return err
		}
	}
}

// Describe asks what the instance writes to, and what would go wrong with the
// sample documents. A plugin that can't say is described as nothing; one that ends
// meanwhile is asked again, as often as for a document.
func (w *Writer) Describe(ctx context.Context, sample []model.Document) (*indexwriter.Description, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for attempt := 1; ; attempt++ {
		d := &indexwriter.Description{}
		err := w.do(ctx, 0, func(ctx context.Context, b indexwriter.Writer) (err error) {
			if describer, ok := b.(indexwriter.Describer); ok {
				d, err = describer.Describe(ctx, w.conf.Name, sample)
			}
			return err
		})
		switch {
		case err == nil:
			return d, nil
		case !pluginhost.IsLost(err) || attempt >= poisonAttempts:
			return nil, fmt.Errorf("describe writer %s: %w", w.conf.Name, named(w.m.id, err))
		}
	}
}

// Probe asks whether the index answers, at the price of a small request. A plugin that
// can't say does, as far as its Open tells.
func (w *Writer) Probe(ctx context.Context) error {
	_, err := w.Describe(ctx, nil)
	return err
}

// Name returns the instance's name.
func (w *Writer) Name() string { return w.conf.Name }

// Plugin returns the id of the instance's plugin.
func (w *Writer) Plugin() string { return w.conf.Plugin }

// do calls the opened instance, opening it first in a process that has not
// seen it yet.
func (w *Writer) do(ctx context.Context, n int, call func(context.Context, indexwriter.Writer) error) error {
	w.m.calls.Add(1)
	if w.m.proc == nil {
		b := w.m.local.IndexWriter
		if err := w.ensureOpen(ctx, 1, b); err != nil {
			return err
		}
		return call(ctx, b)
	}
	return w.m.proc.Do(ctx, n, func(ctx context.Context, cc grpc.ClientConnInterface) error {
		b := indexwriter.NewClient(cc)
		if err := w.ensureOpen(ctx, generation(cc), b); err != nil {
			return err
		}
		return call(ctx, b)
	})
}

func (w *Writer) ensureOpen(ctx context.Context, gen uint64, b indexwriter.Writer) error {
	w.openMu.Lock()
	defer w.openMu.Unlock()
	if w.opened == gen {
		return nil
	}
	if err := b.Open(ctx, w.conf.Name, w.conf.Params); err != nil {
		return &openError{err}
	}
	w.lost = w.lost || w.dirty
	w.opened, w.dirty = gen, false
	return nil
}

// generation is that of the process in which the instance is open; 0 before the first.
func (w *Writer) generation() uint64 {
	w.openMu.Lock()
	defer w.openMu.Unlock()
	return w.opened
}

// openError is an error of the plugin's Open, which is about no document.
type openError struct{ error }

func (e *openError) Unwrap() error { return e.error }

// takeLost reports whether operations were lost since it was asked last.
func (w *Writer) takeLost() bool {
	w.openMu.Lock()
	defer w.openMu.Unlock()
	lost := w.lost
	w.lost = false
	return lost
}

func (w *Writer) setDirty(d bool) {
	w.openMu.Lock()
	w.dirty = d
	w.openMu.Unlock()
}

// Write performs ops in order and returns as many results. A LostWritesError
// means that everything since the last Commit has to be sent again; another
// error of kind Transient that only these ops have to be. Nothing is tried again
// here: the plugin knows what is worth it within a batch, the caller how long to wait.
func (w *Writer) Write(ctx context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]indexwriter.Result, 0, len(ops))
	for from := 0; from < len(ops); {
		to := from
		for to < len(ops) && !w.suspect(ops[to].Doc.ID) {
			to++
		}
		if to > from {
			res, err := w.batches(ctx, ops[from:to])
			if err != nil {
				return nil, err
			}
			out = append(out, res...)
		}
		if to < len(ops) {
			res, err := w.alone(ctx, ops[to])
			if err != nil {
				return nil, err
			}
			out = append(out, res)
			to++
		}
		from = to
	}
	return out, nil
}

func (w *Writer) suspect(id string) bool {
	_, ok := w.suspects[id]
	return ok
}

// batches sends ops in calls of bounded size.
func (w *Writer) batches(ctx context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	var out []indexwriter.Result
	for from := 0; from < len(ops); {
		to, bytes := from, 0
		for to < len(ops) && to-from < w.c.opts.WriteItems {
			if bytes += sizeOp(&ops[to]); to > from && bytes > w.c.opts.WriteBytes {
				break
			}
			to++
		}
		res, err := w.sendOrSplit(ctx, ops[from:to])
		if err != nil {
			return nil, err
		}
		out = append(out, res...)
		from = to
	}
	return out, nil
}

// sendOrSplit sends ops. A batch that can't be taken as it is (kind Invalid, such
// as a message that is too large) is halved until the operation at fault stands
// alone, which is refused.
func (w *Writer) sendOrSplit(ctx context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	res, err := w.send(ctx, ops)
	var lost *LostWritesError
	var unopened *openError
	switch {
	case err == nil || !fault.Is(err, fault.Invalid) || errors.As(err, &lost) || errors.As(err, &unopened) || ends(ctx, err):
		return res, err
	case len(ops) == 1:
		return []indexwriter.Result{{Rejected: err.Error()}}, nil
	}
	res, err = w.sendOrSplit(ctx, ops[:len(ops)/2])
	if err != nil {
		return nil, err
	}
	rest, err := w.sendOrSplit(ctx, ops[len(ops)/2:])
	if err != nil {
		return nil, err
	}
	return append(res, rest...), nil
}

// send makes one call of Write.
func (w *Writer) send(ctx context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	var out []indexwriter.Result
	err := w.do(ctx, len(ops), func(ctx context.Context, b indexwriter.Writer) (err error) {
		if w.takeLost() {
			return &LostWritesError{Writer: w.conf.Name, Ops: w.uncommitted, Cause: errors.New("it died between two calls")}
		}
		w.setDirty(true)
		out, err = b.Write(ctx, w.conf.Name, ops)
		if err == nil && len(out) != len(ops) {
			err = fault.Errorf(fault.Permanent, "%d results for %d operations", len(out), len(ops))
		}
		return err
	})
	var lost *LostWritesError
	switch {
	case err == nil:
		w.uncommitted += len(ops)
		w.m.records.Add(int64(len(ops)))
		return out, nil
	case errors.As(err, &lost):
		w.uncommitted = 0
		return nil, lost
	case pluginhost.IsLost(err):
		for i := range ops {
			if !w.suspect(ops[i].Doc.ID) {
				w.suspects[ops[i].Doc.ID] = 0
			}
		}
		return nil, w.gone(len(ops), err)
	}
	w.m.errors.Add(1)
	return nil, fmt.Errorf("writer %s: write %d operations: %w", w.conf.Name, len(ops), named(w.m.id, err))
}

// gone accounts for a process that died during a call with n operations.
func (w *Writer) gone(n int, cause error) error {
	lost := &LostWritesError{Writer: w.conf.Name, Ops: w.uncommitted + n, Cause: cause}
	w.uncommitted = 0
	w.setDirty(false)
	w.takeLost()
	w.m.errors.Add(1)
	return lost
}

// alone sends a suspect operation by itself, with nothing uncommitted before.
func (w *Writer) alone(ctx context.Context, op indexwriter.Op) (indexwriter.Result, error) {
	if err := w.commit(ctx); err != nil {
		return indexwriter.Result{}, err
	}
	id := op.Doc.ID
	for {
		res, err := w.send(ctx, []indexwriter.Op{op})
		if err == nil {
			err = w.commit(ctx)
		}
		if err == nil {
			delete(w.suspects, id)
			return res[0], nil
		}
		var lost *LostWritesError
		if !errors.As(err, &lost) || ends(ctx, err) {
			return indexwriter.Result{}, err
		}
		if w.suspects[id]++; w.suspects[id] >= poisonAttempts {
			delete(w.suspects, id)
			w.m.errors.Add(1)
			return indexwriter.Result{Rejected: fmt.Sprintf("poisonous: %d times the end of plugin %s: %v", poisonAttempts, w.m.id, lost.Cause)}, nil
		}
	}
}

// Commit makes everything written so far durable and visible. A
// LostWritesError means that what was written since the last Commit is gone.
func (w *Writer) Commit(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.commit(ctx)
}

func (w *Writer) commit(ctx context.Context) error {
	err := w.do(ctx, 0, func(ctx context.Context, b indexwriter.Writer) error {
		if w.takeLost() {
			return &LostWritesError{Writer: w.conf.Name, Ops: w.uncommitted, Cause: errors.New("it died between two calls")}
		}
		return b.Commit(ctx, w.conf.Name)
	})
	var lost *LostWritesError
	switch {
	case err == nil:
		w.uncommitted = 0
		w.setDirty(false)
		return nil
	case errors.As(err, &lost):
		w.uncommitted = 0
		return lost
	case pluginhost.IsLost(err):
		return w.gone(0, err)
	}
	w.m.errors.Add(1)
	return fmt.Errorf("writer %s: commit: %w", w.conf.Name, named(w.m.id, err))
}

// Close releases the instance without a commit. It is safe to call twice.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	if w.generation() == 0 {
		return nil
	}
	err := w.do(ctx, 0, func(ctx context.Context, b indexwriter.Writer) error { return b.Close(ctx, w.conf.Name) })
	if err != nil && !pluginhost.IsLost(err) { // with its process the instance is gone, too
		return fmt.Errorf("close writer %s: %w", w.conf.Name, named(w.m.id, err))
	}
	return nil
}

func sizeOp(op *indexwriter.Op) int { return 32 + len(op.Doc.ID) + sizeMeta(op.Doc.Fields) }
