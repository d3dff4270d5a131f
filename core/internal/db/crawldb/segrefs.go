package crawldb

import (
	"context"
	"fmt"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

const (
	counterSegment = "crawldb.segment/"       // followed by a segment: records whose content it has
	metaSegRefs    = "crawldb.segment_counts" // there when these counters are complete
)

func segCounter(seg string) []byte { return store.Key(store.PrefixCounter, counterSegment+seg) }

// countSegment keeps the number of records whose content lies in each segment.
func (t *tally) countSegment(was, is string) {
	if was == is {
		return
	}
	if t.segs == nil {
		t.segs = make(map[string]int64)
	}
	t.segs[was]--
	t.segs[is]++
}

func (t *tally) flushSegments(tx *Tx) {
	for seg, n := range t.segs {
		if seg != "" && n != 0 {
			tx.Tx.Merge(segCounter(seg), store.AppendCounts(nil, store.Count{N: n}))
		}
	}
}

// SegmentRefs returns how many records have their content in each segment:
// what a reindex reads. Segments without such records are left out. A
// directory from before these counts were kept is counted once, which reads
// every record and blocks Updates meanwhile.
func (db *DB) SegmentRefs(ctx context.Context) (map[string]int64, error) {
	complete, err := db.s.Has(store.Key(store.PrefixMeta, metaSegRefs))
	if err == nil && !complete {
		err = db.s.Update(ctx, func(tx *store.Tx) error { return db.recountSegments(ctx, tx) })
	}
	if err != nil {
		return nil, fmt.Errorf("count the records of segments: %w", err)
	}
	out, err := db.segmentCounters(ctx)
	for seg, n := range out {
		if n == 0 {
			delete(out, seg)
		}
	}
	return out, err
}

func (db *DB) segmentCounters(ctx context.Context) (map[string]int64, error) {
	out := make(map[string]int64)
	err := store.Each(ctx, db.s, segCounter(""), func(k, v []byte) error {
		cs, err := store.DecodeCounts(k, v)
		for _, c := range cs {
			out[string(k[1+len(counterSegment):])] += c.N
		}
		return err
	})
	return out, err
}

// recountSegments replaces the counters by a recount. Writer lock held.
func (db *DB) recountSegments(ctx context.Context, tx *store.Tx) error {
	refs := make(map[string]int64)
	err := db.Scan(ctx, "", func(_ urlkey.Key, r *Record) error {
		refs[r.Datum.Segment]++
		return nil
	})
	if err != nil {
		return err
	}
	tx.DeleteRange(segCounter(""), store.After(segCounter("")))
	for seg, n := range refs {
		if seg != "" {
			tx.Set(segCounter(seg), store.AppendCounts(nil, store.Count{N: n}))
		}
	}
	tx.Set(store.Key(store.PrefixMeta, metaSegRefs), nil)
	return nil
}
