package index

import (
	"context"
	"slices"
	"sync"
	"time"

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
	lanes   sync.WaitGroup
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

// newSession returns a session whose writers wait for work; close ends it.
func newSession(ctx context.Context, x *Indexer) (*session, error) {
	s := &session{x: x, outs: map[string]*outbox{}}
	counts, err := x.DB.DocCounts(ctx)
	if err != nil {
		return nil, err
	}
	for i := range x.Targets {
		name := x.Targets[i].Writer.Name()
		s.outs[name] = &outbox{target: &x.Targets[i], jobs: make(chan job, 1), eager: counts[name].Pending > 0}
	}
	s.wake(ctx)
	for _, o := range s.outs {
		s.lanes.Go(func() { s.serve(ctx, o) })
	}
	return s, nil
}

// close ends the writers' goroutines.
func (s *session) close() {
	for _, o := range s.outs {
		close(o.jobs)
	}
	s.lanes.Wait()
	for name, o := range s.outs {
		if o.trial { // it answers, and there was nothing to send
			s.x.Health.works(name)
		}
	}
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
			if w.Held || w.Pending && s.orphaned(f.state) {
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

// orphaned reports whether a writer that is not configured any more holds the document. It may
// have another name now: then a reindex deletes the document by that name.
func (s *session) orphaned(st *crawldb.DocState) bool {
	return slices.ContainsFunc(st.Writers, func(w crawldb.WriterState) bool { return w.Held && s.outs[w.Name] == nil })
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
				if o := s.outs[m.writer]; o != nil && o.isDown() == nil {
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

// add puts a fate's operations into the outboxes and hands over what is enough for a batch.
func (s *session) add(ctx context.Context, f *fate) error {
	x := s.x
	for _, m := range f.moves {
		o := s.outs[m.writer]
		if o == nil {
			m.reason = "the writer is not configured any more"
			continue
		}
		if down := o.isDown(); down != nil {
			m.reason = down.Error()
			continue
		}
		op := indexwriter.Op{Kind: m.kind, Doc: model.Document{ID: f.id}}
		if m.kind == indexwriter.Add {
			op.Doc = o.target.Mapped(*f.doc)
		}
		s.put(o, f, m, op)
		if len(o.fill) >= x.cfg.BatchSize || int64(o.size) >= x.cfg.BatchBytes {
			s.hand(o, nil)
		}
	}
	f.made = f.doc != nil
	f.doc, f.fetch, f.parsed = nil, nil, nil // thousands of pages wait for a commit
	s.settled = append(s.settled, f)
	if s.ops >= x.cfg.CommitSize || s.bytes >= 64<<20 || len(s.settled) >= 4*x.cfg.CommitSize {
		return s.commit(ctx)
	}
	return nil
}

func (s *session) put(o *outbox, f *fate, m *move, op indexwriter.Op) {
	o.fill = append(o.fill, sent{f: f, m: m, op: op})
	n := size(&op.Doc)
	o.size += n
	s.bytes += n
	s.ops++
}

// hand gives a writer the batch that is put together.
func (s *session) hand(o *outbox, done chan<- struct{}) {
	o.jobs <- job{batch: o.fill, done: done}
	o.fill, o.size = nil, 0
}

// commit makes everything sent durable and notes what the writers have.
func (s *session) commit(ctx context.Context) error {
	var dones []chan struct{}
	for _, o := range s.outs {
		done := make(chan struct{})
		dones = append(dones, done)
		s.hand(o, done)
	}
	for _, done := range dones {
		<-done
	}
	for _, o := range s.outs {
		if o.fatal != nil {
			return o.fatal
		}
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

// count reports what became of a fate.
func (s *session) count(f *fate) {
	rep := &s.x.rep
	added, changed, deleted, other := false, false, false, false
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
			old := f.state.Writer(m.writer)
			changed = changed || old.Segment != "" && (old.Hash != nil || old.Why != "")
		}
	}
	switch {
	case added:
		rep.Indexed++
		switch {
		case changed:
			rep.Changed++
		case !f.known():
			rep.New++
		default:
			rep.Again++
		}
	case deleted:
		rep.Deleted++
	case other:
	case f.skip != "":
		rep.Skipped[f.skip]++
	case f.same:
		rep.Unchanged++
	}
}

// known reports whether a writer had a document of the page before.
func (f *fate) known() bool {
	return f.state != nil && slices.ContainsFunc(f.state.Writers, func(w crawldb.WriterState) bool { return w.Segment != "" })
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
	if err == nil && same && !f.marked {
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
