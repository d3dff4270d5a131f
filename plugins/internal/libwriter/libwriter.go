// Package libwriter is what index writers share: the table of opened instances,
// operations as JSON, and files that appear
// whole or not at all. It owns no format and no server.
package libwriter

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// Instance is one opened index. Its calls come one at a time.
type Instance interface {
	Write(ctx context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error)
	Commit(ctx context.Context) error
	// Describe adds to d what it knows.
	Describe(ctx context.Context, sample []model.Document, d *indexwriter.Description) error
	Close(ctx context.Context) error
}

// Table is an indexwriter.Writer over instances. It is safe for concurrent use.
type Table struct {
	// Check reads the parameters of the instance called name, and says what of them can't be
	// used without reaching for the index. What it returns opens the instance.
	Check func(name string, params indexwriter.Params) (open func(context.Context) (Instance, error), err error)

	mu   sync.Mutex
	open map[string]*slot
}

type slot struct {
	mu sync.Mutex
	in Instance
}

// Open implements indexwriter.Writer; again replaces the instance.
func (t *Table) Open(ctx context.Context, name string, params indexwriter.Params) error {
	if err := t.Close(ctx, name); err != nil {
		return err
	}
	open, err := t.Check(name, params)
	if err != nil {
		return err
	}
	in, err := open(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[string]*slot{}
	}
	t.open[name] = &slot{in: in}
	return nil
}

// Validate implements indexwriter.Validator.
func (t *Table) Validate(_ context.Context, name string, params indexwriter.Params) error {
	_, err := t.Check(name, params)
	return err
}

// Get returns the opened instance called name, for calls that may come while it writes.
func (t *Table) Get(name string) (Instance, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.open[name]; s != nil {
		return s.in, nil
	}
	return nil, fault.Errorf(fault.Permanent, "writer %q is not open", name)
}

func (t *Table) with(ctx context.Context, name string, f func(Instance) error) error {
	t.mu.Lock()
	s := t.open[name]
	t.mu.Unlock()
	if s == nil {
		return fault.Errorf(fault.Permanent, "writer %q is not open", name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return f(s.in)
}

// Write implements indexwriter.Writer.
func (t *Table) Write(ctx context.Context, name string, ops []indexwriter.Op) (out []indexwriter.Result, err error) {
	err = t.with(ctx, name, func(in Instance) (err error) {
		out, err = in.Write(ctx, ops)
		return err
	})
	return out, err
}

// Commit implements indexwriter.Writer.
func (t *Table) Commit(ctx context.Context, name string) error {
	return t.with(ctx, name, func(in Instance) error { return in.Commit(ctx) })
}

// Describe implements indexwriter.Describer.
func (t *Table) Describe(ctx context.Context, name string, sample []model.Document) (*indexwriter.Description, error) {
	d := &indexwriter.Description{}
	err := t.with(ctx, name, func(in Instance) error { return in.Describe(ctx, sample, d) })
	return d, err
}

// Close implements indexwriter.Writer.
func (t *Table) Close(ctx context.Context, name string) error {
	t.mu.Lock()
	s := t.open[name]
	delete(t.open, name)
	t.mu.Unlock()
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in.Close(ctx)
}

// Shutdown closes all instances.
func (t *Table) Shutdown() error {
	t.mu.Lock()
	names := slices.Sorted(maps.Keys(t.open))
	t.mu.Unlock()
	var errs []error
	for _, n := range names {
		errs = append(errs, t.Close(context.Background(), n))
	}
	return errors.Join(errs...)
}

var (
	_ indexwriter.Writer    = (*Table)(nil)
	_ indexwriter.Describer = (*Table)(nil)
	_ indexwriter.Validator = (*Table)(nil)
)

// Record is an operation as the writers of JSON have it: one form for all of
// them, in which fields are always lists.
type Record struct {
	Op     string              `json:"op"` // add or delete
	ID     string              `json:"id"`
	Boost  float64             `json:"boost,omitempty"`
	Fields map[string][]string `json:"fields,omitempty"`
}

// RecordOf returns op as a record, which shares the document's fields.
func RecordOf(op *indexwriter.Op) Record {
	if op.Kind == indexwriter.Delete {
		return Record{Op: "delete", ID: op.Doc.ID}
	}
	return Record{Op: "add", ID: op.Doc.ID, Boost: op.Doc.Boost, Fields: op.Doc.Fields}
}

// JSON returns op as one line of JSON without its end.
func JSON(op *indexwriter.Op) ([]byte, error) { return json.Marshal(RecordOf(op)) }
