package crawldb

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

func leaseKey(seg string, key urlkey.Key) []byte { return store.Key2(store.PrefixLease, seg, key) }

func splitLease(k []byte) (seg string, key urlkey.Key, ok bool) {
	i := bytes.IndexByte(k, 0)
	if i < 1 {
		return "", "", false
	}
	return string(k[1:i]), urlkey.Key(k[i+1:]), true
}

func minuteOfWait(k []byte) uint32 { return binary.BigEndian.Uint32(k[1:waitHead]) }

func (db *DB) addLease(seg string, key urlkey.Key) {
	n, ok := db.segNum[seg]
	if !ok {
		n = uint32(len(db.segs)) //nolint:gosec // few segments
		db.segs = append(db.segs, seg)
		db.perSeg = append(db.perSeg, 0)
		db.segNum[seg] = n
	}
	db.leases[urlkey.Hash128(key)] = n
	db.perSeg[n]++
}

func (db *DB) dropLease(h [16]byte) {
	if n, ok := db.leases[h]; ok {
		delete(db.leases, h)
		db.perSeg[n]--
	}
}

// leasedIn returns the segment that key is leased in, or "". Writer lock held.
func (db *DB) leasedIn(key urlkey.Key) string {
	if len(db.leases) == 0 {
		return ""
	}
	n, ok := db.leases[urlkey.Hash128(key)]
	if !ok {
		return ""
	}
	return db.segs[n]
}

// IsLeased reports whether key is leased in seg.
func (db *DB) IsLeased(seg string, key urlkey.Key) bool {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return seg != "" && db.leasedIn(key) == seg
}

// LeasedCount returns how many URLs are leased in seg.
func (db *DB) LeasedCount(seg string) int {
	db.mu.RLock()
	defer db.mu.RUnlock()
	if n, ok := db.segNum[seg]; ok {
		return db.perSeg[n]
	}
	return 0
}

// LeasedSegments returns the segments with leased URLs, oldest first.
func (db *DB) LeasedSegments() []string {
	db.mu.RLock()
	defer db.mu.RUnlock()
	var out []string
	for n, seg := range db.segs {
		if db.perSeg[n] > 0 {
			out = append(out, seg)
		}
	}
	slices.Sort(out)
	return out
}

// Leased calls f for every URL leased in seg, in key order, until f fails.
func (db *DB) Leased(ctx context.Context, seg string, f func(urlkey.Key) error) error {
	prefix := leaseKey(seg, "")
	return store.Each(ctx, db.s, prefix, func(k, _ []byte) error { return f(keyAfter(k, len(prefix))) })
}

// releasePortion bounds one batch of Release.
const releasePortion = 2000

// Release takes URLs back out of a fetch list, unchanged: their leases end and
// they wait for the next generate. Keys that are not leased in seg are passed
// over. It returns how many were released.
func (db *DB) Release(ctx context.Context, seg string, keys []urlkey.Key) (int, error) {
	keys = slices.Sorted(slices.Values(keys))
	n := 0
	for portion := range slices.Chunk(keys, releasePortion) {
		var done int
		err := db.Update(ctx, func(tx *Tx) error {
			done = 0
			for _, k := range portion {
				if !tx.Lease(seg, k) {
					continue
				}
				tx.Unlease(seg, k)
				done++
			}
			segment.AddCounts(tx.Tx, seg, segment.Counts{Released: int64(done)})
			return nil
		})
		if err != nil {
			return n, err
		}
		n += done
	}
	return n, nil
}

// ReleaseAll releases everything that is still leased in seg.
func (db *DB) ReleaseAll(ctx context.Context, seg string) (int, error) {
	var keys []urlkey.Key
	err := db.Leased(ctx, seg, func(k urlkey.Key) error {
		keys = append(keys, k)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return db.Release(ctx, seg, keys)
}

// releaseUnfinished undoes fetch lists whose generate was cut short.
func (db *DB) releaseUnfinished(ctx context.Context) error {
	metas, err := segment.List(ctx, db.s)
	if err != nil {
		return err
	}
	for _, m := range metas {
		if m.State != segment.StateGenerating {
			continue
		}
		if err := db.Discard(ctx, m.ID); err != nil {
			return err
		}
	}
	return nil
}

// Discard releases everything that is leased in seg and forgets the segment's records.
func (db *DB) Discard(ctx context.Context, seg string) error {
	if _, err := db.ReleaseAll(ctx, seg); err != nil {
		return err
	}
	return segment.Forget(ctx, db.s, seg)
}
