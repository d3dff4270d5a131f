// Package query is what other commands ask about a crawl: statistics, one URL's
// record, segments, a search, the plugins, the state of the run. Each verb is
// one function over an open crawl with a typed question and answer; a
// command calls it directly when it has opened the crawl itself, or through
// the control socket of the process that has.
//
// It owns the questions and the form of the answers. It must not know how they
// are printed or how they travel. Verbs only read, except Stop, Prune and Backup; they are
// safe for concurrent use and beside a running crawl.
package query

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/gonutch/crawler/core/internal/control"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/frontier"
	"github.com/gonutch/crawler/sdk/fault"
)

// Running is the work of the process that has the crawl open, as far as others
// may see it and end it. cycle.Runner is one.
type Running interface {
	Progress() cycle.Progress
	Waits() ([]frontier.Wait, int)
	Stop()
}

// Source is what verbs read from.
type Source struct {
	Crawl *crawl.Crawl
	// Running is nil when the process does nothing but answer.
	Running Running
	// OpensIndex lets Search open index writers. It must be false in a process
	// that opens them to write.
	OpensIndex bool
	Now        func() time.Time // nil is the clock

	pruning, backing sync.Mutex // one at a time

	mu     sync.Mutex
	opened map[string]bool // writers that Search opened
}

func (s *Source) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// Verb is one question and how it is answered.
type Verb[Q, A any] struct {
	Name string
	do   func(context.Context, *Source, Q) (A, error)
}

// Target answers verbs: an open crawl or, when Client is set, the process that
// has it open.
type Target struct {
	Source *Source
	Client *control.Client
}

// Ask asks t.
func Ask[Q, A any](ctx context.Context, t Target, v Verb[Q, A], q Q) (A, error) {
	if t.Client == nil {
		return v.do(ctx, t.Source, q)
	}
	var a A
	raw, err := json.Marshal(q)
	if err != nil {
		return a, fmt.Errorf("encode question: %w", err)
	}
	raw, err = t.Client.Call(ctx, v.Name, raw)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, fmt.Errorf("the running process (version %s) answers %s in another form: %w", t.Client.Hello().Version, v.Name, err)
	}
	return a, nil
}

// Verbs is the table of all verbs over an open crawl, for control.Serve. r may
// be nil. opensIndex is Source.OpensIndex.
func Verbs(c *crawl.Crawl, r Running, opensIndex bool) control.Table {
	s := &Source{Crawl: c, Running: r, OpensIndex: opensIndex}
	t := control.Table{Verbs: map[string]control.Handler{}, Streams: map[string]control.Stream{}}
	add(t, s, Stats())
	add(t, s, URL())
	add(t, s, Explain())
	add(t, s, Idle())
	addList(t, s, Records())
	addList(t, s, Top())
	addList(t, s, AllInlinks())
	addList(t, s, AllPageLinks())
	addList(t, s, Hosts())
	addList(t, s, Totals())
	addList(t, s, Captures())
	addList(t, s, Dump())
	add(t, s, Segments())
	add(t, s, Page())
	add(t, s, Prune())
	add(t, s, Search())
	add(t, s, RejectedDocs())
	add(t, s, Plugins())
	add(t, s, Status())
	add(t, s, Stop())
	t.Streams[watchName] = s.watch
	t.Streams[backupName] = s.streamBackup
	return t
}

func add[Q, A any](t control.Table, s *Source, v Verb[Q, A]) {
	t.Verbs[v.Name] = func(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
		var q Q
		if err := decode(v.Name, raw, &q); err != nil {
			return nil, err
		}
		a, err := v.do(ctx, s, q)
		if err != nil {
			return nil, err
		}
		return json.Marshal(a)
	}
}

// decode reads a question; a field that is not known here comes from another
// version and must not be passed over.
func decode[Q any](name string, raw json.RawMessage, q *Q) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(q); err != nil {
		return fault.Errorf(fault.Invalid, "question %s: %w", name, err)
	}
	return nil
}
