package crawldb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// RepairReport is what Repair put right. Counts are of keys.
type RepairReport struct {
	Records    int64 `json:"records"`
	Signatures int64 `json:"signatures"` // entries of the signature index that were missing or wrong
	Counters   int64 `json:"counters"`   // counters that differed from a recount
	Leases     int64 `json:"leases"`     // of records that are not there
	// Unreadable are records that can't be decoded. They stay, and are passed over.
	Unreadable int64 `json:"unreadable"`
}

// Repair makes everything that is derived from the records anew: the ready and wait
// indexes, the signature index, and the counters (C1 to C5). Nothing else
// may use the CrawlDB meanwhile. Its memory does not grow with the CrawlDB; one that was cut
// short is repeated whole. told, when set, is told how many records were read.
func (db *DB) Repair(ctx context.Context, told func(records int64)) (RepairReport, error) {
	r := &repairer{db: db, checker: newChecker(db), told: told}
	for _, step := range []func(context.Context) error{r.records, r.hosts, r.signatures, r.leases, r.totals, r.flush, r.reindex} {
		if err := step(ctx); err != nil {
			return r.rep, fmt.Errorf("repair CrawlDB: %w", err)
		}
	}
	return r.rep, nil
}

func (r *repairer) reindex(ctx context.Context) error { return r.db.reindex(ctx, true) }

// repairer recounts like the checker and writes down what differs.
type repairer struct {
	*checker
	db      *DB
	rep     RepairReport
	pending []func(*store.Tx)
	told    func(int64)
}

const repairPortion = 10_000 // changes committed at once

func (r *repairer) change(ctx context.Context, f func(*store.Tx)) error {
	if r.pending = append(r.pending, f); len(r.pending) < repairPortion {
		return nil
	}
	return r.flush(ctx)
}

func (r *repairer) flush(ctx context.Context) error {
	changes := r.pending
	r.pending = nil
	return r.db.s.Update(ctx, func(tx *store.Tx) error {
		for _, f := range changes {
			f(tx)
		}
		return nil
	})
}

// records adds missing signatures, and counts.
func (r *repairer) records(ctx context.Context) error {
	err := store.Each(ctx, r.db.s, []byte{store.PrefixRecord}, func(k, v []byte) error {
		rec := new(Record)
		if decodeRecord(k, v, rec) != nil {
			r.rep.Unreadable++
			return nil //nolint:nilerr // counted as unreadable and left in place
		}
		if r.rep.Records++; r.told != nil && r.rep.Records%repairPortion == 0 {
			r.told(r.rep.Records)
		}
		key := keyAfter(k, 1)
		if h := hostOf(key); h != r.hostName {
			if err := r.endHostCount(ctx); err != nil {
				return err
			}
			r.hostName = strings.Clone(h)
		}
		r.tally(rec)
		sig := memberSignature(rec)
		if sig == nil {
			return nil
		}
		entry := signatureKey(store.PrefixSignature, sig, key)
		if has, err := r.db.s.Has(entry); err != nil || has {
			return err
		}
		r.rep.Signatures++
		return r.change(ctx, func(tx *store.Tx) {
			tx.Set(entry, nil)
			tx.Set(signatureKey(store.PrefixDedupDirty, sig, key), nil)
		})
	})
	if err != nil {
		return err
	}
	return r.endHostCount(ctx)
}

func (r *repairer) endHostCount(ctx context.Context) error {
	if len(r.host) == 0 {
		return nil
	}
	err := r.correct(ctx, store.Key(store.PrefixHostCount, r.hostName), r.host)
	clear(r.host)
	return err
}

// correct makes a vector of counts what was counted. Of a host's only the
// statuses are the CrawlDB's.
func (r *repairer) correct(ctx context.Context, k []byte, want map[uint64]int64) error {
	v, err := r.db.s.Get(k)
	if err != nil {
		return err
	}
	cs, err := store.DecodeCounts(k, v)
	if err != nil {
		return err
	}
	delta := make(map[uint64]int64, len(want))
	for id, n := range want {
		delta[id] = n
	}
	for _, c := range cs {
		if k[0] != store.PrefixHostCount || c.ID < 32 {
			delta[c.ID] -= c.N
		}
	}
	var diff []store.Count
	for _, id := range slices.Sorted(maps.Keys(delta)) {
		if delta[id] != 0 {
			diff = append(diff, store.Count{ID: id, N: delta[id]})
		}
	}
	if len(diff) == 0 {
		return nil
	}
	r.rep.Counters++
	return r.change(ctx, func(tx *store.Tx) { tx.Merge(k, store.AppendCounts(nil, diff...)) })
}

// hosts takes the counts of hosts back that have no record.
func (r *repairer) hosts(ctx context.Context) (err error) {
	recs, err := r.db.records()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, recs.Close()) }()
	return store.Each(ctx, r.db.s, []byte{store.PrefixHostCount}, func(k, v []byte) error {
		host := string(k[1:])
		first := recordKey("!")
		if host != "!" {
			first = store.Key(store.PrefixRecord, host+":")
		}
		if !anyStatus(k, v) || recs.Seek(first) && bytes.HasPrefix(recs.Key(), first) {
			return nil
		}
		return r.correct(ctx, bytes.Clone(k), nil)
	})
}

// signatures removes entries that no record stands behind.
func (r *repairer) signatures(ctx context.Context) error {
	return store.Each(ctx, r.db.s, []byte{store.PrefixSignature}, func(k, _ []byte) error {
		sig, key, ok := splitSignature(k)
		if ok {
			rec, err := r.db.Get(key)
			if errors.Is(err, store.ErrCorrupt) {
				return nil // counted as unreadable
			}
			if err != nil {
				return err
			}
			ok = rec != nil && bytes.Equal(memberSignature(rec), sig)
		}
		if ok {
			return nil
		}
		r.rep.Signatures++
		k = bytes.Clone(k)
		return r.change(ctx, func(tx *store.Tx) { tx.Delete(k) })
	})
}

// leases ends those of records that are not there.
func (r *repairer) leases(ctx context.Context) error {
	return store.Each(ctx, r.db.s, []byte{store.PrefixLease}, func(k, _ []byte) error {
		_, key, ok := splitLease(k)
		if ok {
			has, err := r.db.Has(key)
			if err != nil || has {
				return err
			}
		}
		r.rep.Leases++
		k = bytes.Clone(k)
		return r.change(ctx, func(tx *store.Tx) {
			tx.Delete(k)
			tx.OnCommit(func() {
				r.db.mu.Lock()
				defer r.db.mu.Unlock()
				r.db.dropLease(urlkey.Hash128(key))
			})
		})
	})
}

func (r *repairer) totals(ctx context.Context) error {
	err := r.correct(ctx, store.Key(store.PrefixCounter, counterStatus), r.status)
	if err == nil {
		err = r.correct(ctx, store.Key(store.PrefixCounter, counterRetry), r.retry)
	}
	if err != nil {
		return err
	}
	got, err := r.db.segmentCounters(ctx)
	if err != nil {
		return err
	}
	for seg := range got {
		if _, ok := r.segs[seg]; !ok {
			r.segs[seg] = 0
		}
	}
	for seg, n := range r.segs {
		if err := r.correct(ctx, segCounter(seg), map[uint64]int64{0: n}); err != nil {
			return err
		}
	}
	fresh, err := r.freshWant(ctx)
	if err != nil {
		return err
	}
	for target, counts := range fresh {
		if err := r.correct(ctx, freshCounter(target), counts); err != nil {
			return err
		}
	}
	return r.change(ctx, func(tx *store.Tx) { tx.Set(store.Key(store.PrefixMeta, metaSegRefs), nil) })
}
