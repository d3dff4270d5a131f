package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/model"
)

// session is what was sent since the last commit. Pages are unmarked only after
// every writer has committed, so that whatever is lost is sent again.
type session struct {
	x       *Indexer
	settled []*fate // fates whose operations, if any, are in outs
	outs    map[string]*outbox
	ops     int
	bytes   int
}

// outbox is what one writer gets.
type outbox struct {
	target  *Target
	sent    []sent // since the last commit
	waiting int    // of sent, how many at the end are not written yet
	size    int    // bytes of those waiting
	down    error  // the writer takes nothing now
}

type sent struct {
	f       *fate
	op      indexwriter.Op
	refused bool // by the writer, when it was sent last
}

func newSession(x *Indexer) *session {
	s := &session{x: x, outs: map[string]*outbox{}}
	for i := range x.Targets {
		s.outs[x.Targets[i].Writer.Name()] = &outbox{target: &x.Targets[i]}
	}
	return s
}

// add settles one fate.
func (s *session) add(ctx context.Context, f *fate) error {
	x := s.x
	held := f.state != nil
	switch {
	case f.del && held:
		for _, w := range f.state.Writers {
			s.put(w, f, indexwriter.Op{Kind: indexwriter.Delete, Doc: model.Document{ID: f.url}})
		}
	case f.del:
	case f.doc != nil && held && bytes.Equal(f.state.Hash, f.hash) && slices.Equal(f.state.Writers, sorted(f.to)):
		f.same = true
	case f.doc != nil:
		for _, w := range f.to {
			s.put(w, f, indexwriter.Op{Kind: indexwriter.Add, Doc: *f.doc})
		}
		if held { // it no longer goes to writers that have it
			for _, w := range f.state.Writers {
				if !slices.Contains(f.to, w) {
					s.put(w, f, indexwriter.Op{Kind: indexwriter.Delete, Doc: model.Document{ID: f.url}})
				}
			}
		}
	}
	f.doc, f.fetch, f.parsed = nil, nil, nil // thousands of pages wait for a commit
	s.settled = append(s.settled, f)
	for _, o := range s.outs {
		if o.waiting >= x.cfg.BatchSize || int64(o.size) >= x.cfg.BatchBytes {
			if err := s.write(ctx, o); err != nil {
				return err
			}
		}
	}
	if s.ops >= x.cfg.CommitSize || s.bytes >= 64<<20 || len(s.settled) >= 4*x.cfg.CommitSize {
		return s.commit(ctx)
	}
	return nil
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

func (s *session) put(writer string, f *fate, op indexwriter.Op) {
	o := s.outs[writer]
	if o == nil {
		return // a writer that is not configured any more
	}
	if op.Kind == indexwriter.Add {
		op.Doc = o.target.mapped(op.Doc)
	}
	o.sent = append(o.sent, sent{f: f, op: op})
	o.waiting++
	n := size(&op.Doc)
	o.size += n
	s.bytes += n
	s.ops++
}

func size(d *model.Document) int {
	n := 64 + len(d.ID)
	for k, v := range d.Fields {
		n += len(k)
		for _, x := range v {
			n += len(x)
		}
	}
	return n
}

// mapped applies copy, rename and remove, in this order (nutch.md 6.14).
func (t *Target) mapped(d model.Document) model.Document {
	if len(t.Copy)+len(t.Rename)+len(t.Remove) == 0 {
		return d
	}
	fields := maps.Clone(d.Fields)
	for _, from := range slices.Sorted(maps.Keys(t.Copy)) {
		if v, ok := d.Fields[from]; ok {
			for _, to := range t.Copy[from] {
				fields[to] = append(slices.Clip(fields[to]), v...)
			}
		}
	}
	renamed := map[string][]string{}
	for _, from := range slices.Sorted(maps.Keys(t.Rename)) {
		to := t.Rename[from]
		if v, ok := fields[from]; ok {
			renamed[to] = append(renamed[to], v...)
			delete(fields, from)
		}
	}
	maps.Copy(fields, renamed)
	for _, k := range t.Remove {
		delete(fields, k)
	}
	d.Fields = fields
	return d
}

// write sends what waits for a writer. Documents that the index refuses are
// counted and dropped; a writer that can't be reached is left alone for the
// rest of the step.
func (s *session) write(ctx context.Context, o *outbox) error {
	if o.down != nil || o.waiting == 0 {
		return nil //nolint:nilerr // told when it went down; its documents stay pending
	}
	x := s.x
	for attempt := 0; ; attempt++ {
		from := len(o.sent) - o.waiting
		ops := make([]indexwriter.Op, o.waiting)
		for i := range ops {
			ops[i] = o.sent[from+i].op
		}
		results, err := o.target.Writer.Write(ctx, ops)
		if err == nil {
			for i, r := range results {
				o.sent[from+i].refused = r.Rejected != ""
				if r.Rejected != "" {
					x.Log.Warn("index refused a document", "writer", o.target.Writer.Name(), "url", ops[i].Doc.ID, "reason", r.Rejected)
				}
			}
			o.waiting, o.size = 0, 0
			return nil
		}
		var lost *chain.LostWritesError
		if errors.As(err, &lost) {
			o.waiting = len(o.sent) // everything since the last commit
		}
		if !retryable(err) || attempt >= x.cfg.Retries {
			return s.giveUp(ctx, o, err)
		}
		if err := wait(ctx, x.cfg.RetryDelay, attempt); err != nil {
			return err
		}
	}
}

func (s *session) giveUp(ctx context.Context, o *outbox, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	name := o.target.Writer.Name()
	o.down = fmt.Errorf("writer %s: %w", name, err)
	s.x.Log.Error("index writer takes nothing now; its documents stay pending", "writer", name, "error", err)
	return nil
}

// commit makes everything sent durable and unmarks its pages. Pages with an
// operation that a writer did not take stay marked.
func (s *session) commit(ctx context.Context) error {
	pending := map[*fate]bool{}
	for _, o := range s.outs {
		if err := s.write(ctx, o); err != nil {
			return err
		}
		if o.down == nil && len(o.sent) > 0 {
			if err := s.commitWriter(ctx, o); err != nil {
				return err
			}
		}
		if o.down != nil {
			for _, e := range o.sent {
				pending[e.f] = true
			}
			s.x.rep.Pending[o.target.Writer.Name()] += int64(len(o.sent))
		} else {
			for _, e := range o.sent {
				if e.refused {
					s.x.rep.Rejected[o.target.Writer.Name()]++
				}
			}
		}
		o.sent, o.waiting, o.size = nil, 0, 0
	}
	settled := s.settled
	s.settled, s.ops, s.bytes = nil, 0, 0
	for chunk := range slices.Chunk(settled, 1000) {
		if err := s.unmark(ctx, chunk, pending); err != nil {
			return err
		}
		s.count(chunk, pending)
	}
	return nil
}

// count reports what became of fates; pending ones come again.
func (s *session) count(fates []*fate, pending map[*fate]bool) {
	rep := &s.x.rep
	for _, f := range fates {
		switch {
		case pending[f]:
		case f.del && f.state != nil:
			rep.Deleted++
		case f.same:
			rep.Unchanged++
		case f.skip != "":
			rep.Skipped[f.skip]++
		case f.made:
			rep.Indexed++
		}
	}
}

func (s *session) commitWriter(ctx context.Context, o *outbox) error {
	for attempt := 0; ; attempt++ {
		err := o.target.Writer.Commit(ctx)
		if err == nil {
			return nil
		}
		if !retryable(err) || attempt >= s.x.cfg.Retries {
			return s.giveUp(ctx, o, err)
		}
		var lost *chain.LostWritesError
		if errors.As(err, &lost) {
			o.waiting = len(o.sent)
			if err := s.write(ctx, o); err != nil || o.down != nil {
				return err
			}
			continue
		}
		if err := wait(ctx, s.x.cfg.RetryDelay, attempt); err != nil {
			return err
		}
	}
}

// unmark notes what the index holds now. A page that changed meanwhile keeps
// its mark.
func (s *session) unmark(ctx context.Context, fates []*fate, pending map[*fate]bool) error {
	return s.x.DB.Update(ctx, func(tx *crawldb.Tx) error {
		for _, f := range fates {
			if pending[f] {
				continue
			}
			switch {
			case f.del:
				tx.SetDocState(f.key, nil)
			case f.made:
				if f.state == nil || f.state.Segment != f.rec.Datum.Segment {
					segment.AddCounts(tx.Tx, f.rec.Datum.Segment, segment.Counts{Indexed: 1})
				}
				tx.SetDocState(f.key, &crawldb.DocState{Hash: f.hash, Segment: f.rec.Datum.Segment, Writers: sorted(f.to)})
			}
			same, err := unchanged(tx, f)
			if err != nil {
				return err
			}
			if same {
				tx.ClearIndexDirty(f.key)
			}
		}
		return nil
	})
}

func unchanged(tx *crawldb.Tx, f *fate) (bool, error) {
	rec, err := tx.Get(f.key)
	if err != nil {
		return false, err
	}
	if rec == nil || f.rec == nil {
		return rec == nil && f.rec == nil, nil
	}
	a, b := &rec.Datum, &f.rec.Datum
	return a.Status == b.Status && a.Segment == b.Segment && a.PrevFetchTime.Equal(b.PrevFetchTime) && a.DuplicateOf == b.DuplicateOf, nil
}
