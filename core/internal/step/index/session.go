package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/model"
)

// session is what was sent since the last commit. What a writer has is noted only
// after it has committed; before anything is sent it is noted that the writer may
// have it, so that whatever is lost on the way is sent again.
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
	eager   bool   // it was down lately: the first failure is the last attempt
}

type sent struct {
	f  *fate
	m  *move
	op indexwriter.Op
}

// move is what is to become of a page's document in one writer.
type move struct {
	writer string
	kind   indexwriter.OpKind
	hash   []byte // of the document to be added
	end    end
	reason string // why it was refused or is put off
}

// end is how a move came out.
type end uint8

const (
	putOff  end = iota // to be sent in a later step
	done               // the writer has taken it; counts once it has committed
	refused            // for good
)

func newSession(ctx context.Context, x *Indexer) (*session, error) {
	s := &session{x: x, outs: map[string]*outbox{}}
	counts, err := x.DB.DocCounts(ctx)
	if err != nil {
		return nil, err
	}
	for i := range x.Targets {
		name := x.Targets[i].Writer.Name()
		s.outs[name] = &outbox{target: &x.Targets[i], eager: counts[name].Pending > 0}
	}
	return s, nil
}

// portion settles some fates: it notes that their documents are on the way, and
// puts the operations into the writers' outboxes.
func (s *session) portion(ctx context.Context, fates []*fate) error {
	for _, f := range fates {
		s.plan(f)
	}
	if err := s.announce(ctx, fates); err != nil {
		return err
	}
	for _, f := range fates {
		if err := s.add(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// plan compares what the writers have of a page with what they are to have.
func (s *session) plan(f *fate) {
	if f.doc == nil && !f.del {
		return
	}
	f.to = slices.DeleteFunc(f.to, func(w string) bool { return s.outs[w] == nil })
	names := slices.Clone(f.to)
	if f.state != nil {
		for _, w := range f.state.Writers {
			if !slices.Contains(names, w.Name) {
				names = append(names, w.Name)
			}
		}
	}
	for _, name := range names {
		w := f.state.Writer(name)
		if f.doc == nil || !slices.Contains(f.to, name) {
			if w.Held {
				f.moves = append(f.moves, &move{writer: name, kind: indexwriter.Delete})
			} else {
				f.drop = append(f.drop, name)
			}
			continue
		}
		h := s.outs[name].target.hash(f.doc)
		switch {
		case w.Has(h):
			f.same = true
			if w.Pending || w.Refused != nil {
				f.drop = append(f.drop, name)
			}
		case w.Refuses(h) && !w.Pending:
			f.same = true
		default:
			f.moves = append(f.moves, &move{writer: name, kind: indexwriter.Add, hash: h})
		}
	}
}

// announce notes, before anything is sent, that the writers may have it.
func (s *session) announce(ctx context.Context, fates []*fate) error {
	if !slices.ContainsFunc(fates, func(f *fate) bool { return len(f.moves) > 0 }) {
		return nil
	}
	return s.x.DB.Update(ctx, func(tx *crawldb.Tx) error {
		for _, f := range fates {
			st := f.state
			for _, m := range f.moves {
				w := st.Writer(m.writer)
				w.Pending = true
				if o := s.outs[m.writer]; o != nil && o.down == nil {
					w.Held, w.Hash = true, nil
				}
				st = st.With(w)
			}
			if st != f.state {
				if err := tx.SetDocState(f.key, st); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// add puts a fate's operations into the outboxes and sends what is enough for a
// batch.
func (s *session) add(ctx context.Context, f *fate) error {
	x := s.x
	for _, m := range f.moves {
		o := s.outs[m.writer]
		switch {
		case o == nil:
			m.reason = "the writer is not configured any more"
		case o.down != nil:
			m.reason = o.down.Error()
		default:
			op := indexwriter.Op{Kind: m.kind, Doc: model.Document{ID: f.id}}
			if m.kind == indexwriter.Add {
				op.Doc = o.target.Mapped(*f.doc)
			}
			s.put(o, f, m, op)
		}
	}
	f.made = f.doc != nil
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

func (s *session) put(o *outbox, f *fate, m *move, op indexwriter.Op) {
	o.sent = append(o.sent, sent{f: f, m: m, op: op})
	o.waiting++
	n := size(&op.Doc)
	o.size += n
	s.bytes += n
	s.ops++
}

// write sends what waits for a writer. A writer that can't be reached is left
// alone for the rest of the step; its operations stay pending.
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
				s.answered(o, &o.sent[from+i], r)
			}
			o.waiting, o.size, o.eager = 0, 0, false
			return nil
		}
		var lost *chain.LostWritesError
		if errors.As(err, &lost) {
			o.waiting = len(o.sent) // everything since the last commit
		}
		if !retryable(err) || attempt >= x.cfg.Retries || o.eager {
			return s.giveUp(ctx, o, err)
		}
		if err := s.again(ctx, o, attempt, err); err != nil {
			return err
		}
	}
}

// again waits before a writer is tried once more, and says so the first time.
func (s *session) again(ctx context.Context, o *outbox, attempt int, cause error) error {
	if attempt == 0 {
		longest := time.Duration(0)
		for n := range s.x.cfg.Retries {
			longest += pause(s.x.cfg.RetryDelay, n)
		}
		s.x.Log.Warn("index writer can't be reached; it is tried again (indexer.retries) before its documents stay pending",
			"writer", o.target.Writer.Name(), "for_at_most", longest, "error", cause)
	}
	return wait(ctx, s.x.cfg.RetryDelay, attempt)
}

func (s *session) answered(o *outbox, e *sent, r indexwriter.Result) {
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

func (s *session) giveUp(ctx context.Context, o *outbox, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	name := o.target.Writer.Name()
	o.down = err
	for _, e := range o.sent {
		if e.m.end == done || e.m.reason == "" {
			e.m.end, e.m.reason = putOff, err.Error()
		}
	}
	s.x.rep.Down = append(s.x.rep.Down, fmt.Sprintf("%s: %v", name, err))
	s.x.Log.Error("index writer takes nothing now; its documents stay pending", "writer", name, "error", err)
	return nil
}

// commit makes everything sent durable and notes what the writers have.
func (s *session) commit(ctx context.Context) error {
	for _, o := range s.outs {
		if err := s.write(ctx, o); err != nil {
			return err
		}
		if o.down == nil && len(o.sent) > 0 {
			if err := s.commitWriter(ctx, o); err != nil {
				return err
			}
		}
		o.sent, o.waiting, o.size = nil, 0, 0
	}
	settled := s.settled
	s.settled, s.ops, s.bytes = nil, 0, 0
	for chunk := range slices.Chunk(settled, 1000) {
		if err := s.note(ctx, chunk); err != nil {
			return err
		}
		for _, f := range chunk {
			s.count(f)
		}
	}
	return nil
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
		if err := s.again(ctx, o, attempt, err); err != nil {
			return err
		}
	}
}

// count reports what became of a fate.
func (s *session) count(f *fate) {
	rep := &s.x.rep
	added, deleted, other := false, false, false
	for _, m := range f.moves {
		switch {
		case m.end == refused:
			rep.Rejected[m.writer]++
			other = true
		case m.end == putOff:
			rep.Pending[m.writer]++
			other = true
		case m.kind == indexwriter.Delete:
			deleted = true
		default:
			added = true
		}
	}
	switch {
	case added:
		rep.Indexed++
	case deleted:
		rep.Deleted++
	case other:
	case f.skip != "":
		rep.Skipped[f.skip]++
	case f.same:
		rep.Unchanged++
	}
}

// note stores what the writers have now. A page that changed meanwhile keeps its
// mark.
func (s *session) note(ctx context.Context, fates []*fate) error {
	now := time.Now()
	return s.x.DB.Update(ctx, func(tx *crawldb.Tx) error {
		for _, f := range fates {
			if err := s.noteOne(tx, f, now); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *session) noteOne(tx *crawldb.Tx, f *fate, now time.Time) error {
	st, err := tx.DocState(f.key)
	if err != nil {
		return err
	}
	before := st
	for _, m := range f.moves {
		st = st.With(s.outcome(f, m, st.Writer(m.writer), now))
	}
	for _, name := range f.drop { // nothing is to be sent after all
		w := st.Writer(name)
		w.Pending, w.Why, w.Refused = false, "", nil
		st = st.With(w)
	}
	if f.skip != "" && f.moves == nil && !f.wait && st != nil {
		for _, w := range slices.Clone(st.Writers) {
			if w.Pending && s.outs[w.Name] != nil {
				w.Pending, w.Why = false, ""
				st = st.With(w)
			}
		}
	}
	if st != before {
		if err := tx.SetDocState(f.key, st); err != nil {
			return err
		}
		if f.newlyIn(segmentOf(f)) {
			segment.AddCounts(tx.Tx, segmentOf(f), segment.Counts{Indexed: 1})
		}
	}
	same, err := unchanged(tx, f)
	if err == nil && same {
		tx.ClearIndexDirty(f.key)
	}
	return err
}

// outcome is a writer's entry after a move.
func (s *session) outcome(f *fate, m *move, w crawldb.WriterState, now time.Time) crawldb.WriterState {
	old := f.state.Writer(m.writer)
	switch m.end {
	case putOff:
		w.Pending, w.Why, w.Refused = true, short(m.reason), nil
		return w
	case refused:
		// What it had before it still has.
		w = old
		w.Pending, w.Why = false, ""
		w.Refused = &crawldb.Refusal{At: now, Reason: short(m.reason), Hash: m.hash, Segment: segmentOf(f)}
		return w
	}
	if m.kind == indexwriter.Delete {
		return crawldb.WriterState{Name: m.writer}
	}
	return crawldb.WriterState{Name: m.writer, Held: true, Hash: m.hash, Segment: segmentOf(f)}
}

// newlyIn reports whether a document of the segment was added and no writer had one
// of it before.
func (f *fate) newlyIn(seg string) bool {
	if f.state != nil && slices.ContainsFunc(f.state.Writers, func(w crawldb.WriterState) bool { return w.Held && w.Segment == seg }) {
		return false
	}
	return slices.ContainsFunc(f.moves, func(m *move) bool { return m.end == done && m.kind == indexwriter.Add })
}

func segmentOf(f *fate) string {
	if f.rec == nil {
		return ""
	}
	return f.rec.Datum.Segment
}

// maxReason is how much of a writer's reason is kept.
const maxReason = 1000

func short(s string) string {
	if len(s) <= maxReason {
		return s
	}
	return s[:maxReason] + "…"
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
