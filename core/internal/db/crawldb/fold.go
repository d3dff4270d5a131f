package crawldb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
)

// Score is the scoring chain's Score: one output per input. It must be safe to call
// again with the same record, and is called by one goroutine at a time or two.
type Score func(context.Context, []scoring.ScoreInput) ([]scoring.ScoreOutput, error)

// FoldStats say what a Fold did.
type FoldStats struct {
	Folded  int // records with effects
	New     int // of them made by this fold
	Changed int // of them known before, with another score, sort value or field now
	Dropped int // unknown targets not added, see Options.NoAdditions
	Redone  int // folded again because another Update changed them meanwhile
}

func (s *FoldStats) add(t FoldStats) {
	s.Folded += t.Folded
	s.New += t.New
	s.Changed += t.Changed
	s.Dropped += t.Dropped
	s.Redone += t.Redone
}

// watch collects the keys that Updates touch while a portion is worked on
// outside of the writer lock.
type watch struct {
	touched  map[urlkey.Key]struct{}
	overflow bool // too many: count every key as touched
}

const maxWatched = 1 << 16

func (w *watch) hit(k urlkey.Key) bool {
	_, ok := w.touched[k]
	return ok || w.overflow
}

// notify tells running folds what this Tx changes. Writer lock held.
func (tx *Tx) notify() {
	tx.db.mu.Lock()
	defer tx.db.mu.Unlock()
	for w := range tx.db.watches {
		if w.overflow {
			continue
		}
		for _, e := range tx.order {
			if e.changed {
				w.touched[e.key] = struct{}{}
			}
		}
		for k := range tx.effects {
			w.touched[k] = struct{}{}
		}
		if len(w.touched) > maxWatched {
			w.overflow, w.touched = true, nil
		}
	}
}

func (db *DB) unwatch(w *watch) {
	db.mu.Lock()
	delete(db.watches, w)
	db.mu.Unlock()
}

// folded is one record on its way through a fold.
type folded struct {
	key     urlkey.Key
	operand store.Operand
	old     *Record // nil when unknown
	rec     *Record
}

// portion is a run of dirty records in key order.
type portion struct {
	items []folded
	w     *watch
	next  []byte // where the following portion starts; nil after the last
}

// Fold applies all effects that are in the store now: it reduces them into the
// fields of their records, makes records for unknown targets (db_unfetched, due at
// now), lets score decide score and sort value, and places the records anew. It
// works through the dirty set in key order and portions; a portion commits whole. A
// fold that is cut short goes on with the next call. Other Updates may run
// beside it; what they add behind the fold waits for the next one.
func (db *DB) Fold(ctx context.Context, now time.Time, score Score) (FoldStats, error) {
	var st FoldStats
	if err := db.promote(ctx, now); err != nil {
		return st, fmt.Errorf("fold: %w", err)
	}
	g, gctx := errgroup.WithContext(ctx)
	ready := make(chan *portion, 1)
	g.Go(func() error {
		defer close(ready)
		at := []byte{store.PrefixEffect}
		for at != nil {
			p, err := db.readPortion(gctx, at, now, score)
			if err != nil {
				return err
			}
			select {
			case ready <- p:
			case <-gctx.Done():
				db.unwatch(p.w)
				return gctx.Err()
			}
			at = p.next
		}
		return nil
	})
	g.Go(func() error {
		for p := range ready {
			t, err := db.commitPortion(gctx, p, now, score)
			db.unwatch(p.w)
			if err != nil {
				for p := range ready {
					db.unwatch(p.w)
				}
				return err
			}
			st.add(t)
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return st, fmt.Errorf("fold: %w", err)
	}
	return st, db.sync(ctx)
}

// sync makes everything committed so far durable.
func (db *DB) sync(ctx context.Context) error { return db.s.Sync(ctx) }

// readPortion reads and scores the dirty records from key at on.
func (db *DB) readPortion(ctx context.Context, at []byte, now time.Time, score Score) (*portion, error) {
	p := &portion{w: &watch{touched: make(map[urlkey.Key]struct{})}}
	var it *store.Iter
	// Watching starts and the iterator is made between two Updates.
	err := db.s.Update(ctx, func(*store.Tx) (err error) {
		it, err = db.s.Iter(at, []byte{store.PrefixEffect + 1})
		if err == nil {
			db.mu.Lock()
			db.watches[p.w] = struct{}{}
			db.mu.Unlock()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	recs, err := db.records() // newer than the watch, so no change is missed
	if err == nil {
		err = errors.Join(db.fillPortion(p, it, recs), recs.Close())
	}
	if err = errors.Join(err, it.Close()); err == nil {
		err = db.rate(ctx, p.items, now, score)
	}
	if err != nil {
		db.unwatch(p.w)
		return nil, err
	}
	return p, nil
}

// fillPortion reads effects from it and their records from recs: both come in key
// order, and moving an iterator on is cheaper than looking up each key.
func (db *DB) fillPortion(p *portion, it, recs *store.Iter) error {
	p.items = make([]folded, 0, db.size.fold)
	olds := make([]Record, db.size.fold)
	for ok := it.First(); ok; ok = it.Next() {
		if len(p.items) == db.size.fold {
			p.next = append([]byte(nil), it.Key()...)
			return nil
		}
		f := folded{key: keyAfter(it.Key(), 1)}
		var err error
		if f.operand, err = store.DecodeOperand(it.Key(), it.Value()); err != nil {
			return err
		}
		old := &olds[len(p.items)]
		if k := recordKey(f.key); at(recs, k) {
			if err := decodeRecord(k, recs.Value(), old); err != nil {
				return err
			}
			f.old = old
		}
		p.items = append(p.items, f)
	}
	return nil
}

// rate computes the new records of items.
func (db *DB) rate(ctx context.Context, items []folded, now time.Time, score Score) error {
	in := make([]scoring.ScoreInput, 0, len(items))
	recs := make([]Record, len(items))
	for i := range items {
		f := &items[i]
		if f.old == nil && db.o.NoAdditions {
			continue
		}
		f.rec = &recs[i]
		db.reduce(f, now)
		url, err := urlkey.ToURL(f.key)
		if err != nil {
			return fmt.Errorf("record %q: %w", f.key, err)
		}
		d := &f.rec.Datum
		in = append(in, scoring.ScoreInput{
			URL: url, Status: d.Status, Fields: d.Fields, Metadata: d.Metadata, Score: d.Score, Sort: model.Micro,
		})
	}
	if len(in) == 0 {
		return nil
	}
	out, err := score(ctx, in)
	if err != nil {
		return fmt.Errorf("score %d records: %w", len(in), err)
	}
	if len(out) != len(in) {
		return fmt.Errorf("score: %d answers for %d records", len(out), len(in))
	}
	n := 0
	for i := range items {
		f := &items[i]
		if f.rec == nil {
			continue
		}
		o := &out[n]
		n++
		f.rec.Datum.Score, f.rec.Sort = o.Score, o.Sort
		for k, v := range o.Set {
			setField(f.rec, k, v)
		}
	}
	return nil
}

func setField(r *Record, name string, v int64) {
	if r.Datum.Fields == nil {
		r.Datum.Fields = make(model.Fields, 2)
	}
	r.Datum.Fields[name] = v
}

// reduce sets f.rec to the record with the effects applied.
func (db *DB) reduce(f *folded, now time.Time) {
	if f.old != nil {
		*f.rec = *f.old
		if old := f.old.Datum.Fields; old != nil { // old stays as it is, for comparison
			fields := make(model.Fields, len(old)+1)
			for k, v := range old {
				fields[k] = v
			}
			f.rec.Datum.Fields = fields
		}
	} else {
		*f.rec = Record{Datum: model.CrawlDatum{
			Status: model.StatusDBUnfetched, FetchTime: now, Interval: db.o.DefaultInterval, Metadata: f.operand.Metadata,
		}}
	}
	for i := range f.operand.Fields {
		e := &f.operand.Fields[i]
		present, has := f.rec.Datum.Fields[e.Name]
		setField(f.rec, e.Name, e.Reduce(present, has))
	}
}

func (db *DB) commitPortion(ctx context.Context, p *portion, now time.Time, score Score) (FoldStats, error) {
	var st FoldStats
	if len(p.items) == 0 {
		return st, nil
	}
	err := db.UpdateNoSync(ctx, func(tx *Tx) error {
		st = FoldStats{}
		db.unwatch(p.w) // our own changes are not news
		var again []folded
		for i := range p.items {
			f := &p.items[i]
			if p.w.hit(f.key) {
				again = append(again, folded{key: f.key})
				continue
			}
			tx.fold(f, &st)
		}
		if err := db.foldAgain(ctx, tx, again, now, score, &st); err != nil {
			return err
		}
		db.deleteEffects(tx, p)
		return nil
	})
	return st, err
}

// deleteEffects removes the portion's effects: as a range when nobody added
// effects meanwhile, which spares readers a thousand tombstones.
func (db *DB) deleteEffects(tx *Tx, p *portion) {
	first, last := p.items[0].key, p.items[len(p.items)-1].key
	alone := !p.w.overflow
	for k := range p.w.touched {
		alone = alone && (k < first || k > last)
	}
	if alone {
		tx.DeleteRange(store.Key(store.PrefixEffect, first), store.Key(store.PrefixEffect, last+"\x00"))
		return
	}
	for i := range p.items {
		tx.Tx.Delete(store.Key(store.PrefixEffect, p.items[i].key))
	}
}

// fold stores one folded record.
func (tx *Tx) fold(f *folded, st *FoldStats) {
	st.Folded++
	switch {
	case f.rec == nil:
		st.Dropped++
		return
	case f.old == nil:
		st.New++
	case f.old.Datum.Score != f.rec.Datum.Score || f.old.Sort != f.rec.Sort || !equalFields(f.old.Datum.Fields, f.rec.Datum.Fields):
		st.Changed++
	default:
		return // nothing to store
	}
	tx.preload(f.key, f.old)
	tx.Put(f.key, f.rec)
}

func equalFields(a, b model.Fields) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

// foldAgain folds records that other Updates touched, now under the writer
// lock, so that a busy record can't put off its fold for ever.
func (db *DB) foldAgain(ctx context.Context, tx *Tx, items []folded, now time.Time, score Score, st *FoldStats) error {
	kept := items[:0]
	for _, f := range items {
		k := store.Key(store.PrefixEffect, f.key)
		v, err := db.s.Get(k)
		if err != nil {
			return err
		}
		if v == nil {
			continue // folded or deleted by someone else
		}
		if f.operand, err = store.DecodeOperand(k, v); err != nil {
			return err
		}
		if f.old, err = db.Get(f.key); err != nil {
			return err
		}
		kept = append(kept, f)
	}
	if err := db.rate(ctx, kept, now, score); err != nil {
		return err
	}
	for i := range kept {
		st.Redone++
		tx.fold(&kept[i], st)
	}
	return nil
}
