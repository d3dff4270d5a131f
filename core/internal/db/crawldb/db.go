package crawldb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// Options configure a DB.
type Options struct {
	// CountMode says which URLs share a queue: generate.count_mode. A directory
	// used with another mode before gets its indexes rebuilt by Open, see
	// DB.Rebuilt.
	CountMode urlkey.Mode
	// Reducers of the score fields, from the manifests of the scoring plugins.
	// Fields that are not in it add.
	Reducers map[string]manifest.Reducer
	// NoAdditions turns db.update_additions_allowed off: targets that the
	// CrawlDB does not know are dropped by Fold, and counted.
	NoAdditions bool
	// DefaultInterval is the fetch interval of records made by Fold; 0 is 30 days.
	DefaultInterval time.Duration
	// DedupFetchTime must be set when Dedup's order names fetch_time, so that
	// a changed fetch time is seen.
	DedupFetchTime bool
}

// DB is the CrawlDB of an open store. Its methods are safe for concurrent use.
type DB struct {
	s *store.Store
	o Options

	// Changed under the store's writer lock only; mu lets readers look.
	mu      sync.RWMutex
	leases  map[[16]byte]uint32 // hash of a leased key → number of its segment
	segs    []string            // segment by number
	segNum  map[string]uint32
	perSeg  []int // leases by segment number
	mark    mark
	queues  queues
	gaps    gaps
	watches map[*watch]struct{} // folds that want to know what others change
	rebuilt bool

	size portions
}

// portions bound the batches of long work; small in tests.
type portions struct {
	promote  int // entries moved between ready and wait index, or placed anew
	generate int // URLs selected
	fold     int // records folded
	dedup    int // pages of a large group settled
}

const (
	metaMark    = "crawldb.mark"       // watermark
	metaMode    = "crawldb.count_mode" // queue mode the indexes were built with
	metaRebuild = "crawldb.rebuild"    // there while indexes are inconsistent
)

// Open loads the state of the CrawlDB in s: leases and watermark. It finishes what
// a killed process left half done: a fetch list that was not complete is released, an index
// that was being rebuilt is rebuilt.
func Open(ctx context.Context, s *store.Store, o Options) (*DB, error) {
	if o.DefaultInterval == 0 {
		o.DefaultInterval = 30 * 24 * time.Hour
	}
	db := &DB{
		s: s, o: o, leases: make(map[[16]byte]uint32), segNum: make(map[string]uint32),
		queues: queues{mode: o.CountMode, byHost: make(map[string]queueName)}, watches: make(map[*watch]struct{}),
		size: portions{promote: 10_000, generate: 50_000, fold: 1000, dedup: 2000},
	}
	if err := db.load(ctx); err != nil {
		return nil, fmt.Errorf("open CrawlDB: %w", err)
	}
	return db, nil
}

func (db *DB) load(ctx context.Context) error {
	m, err := db.s.Get(store.Key(store.PrefixMeta, metaMark))
	if err != nil {
		return err
	}
	db.mark = m
	err = store.Each(ctx, db.s, []byte{store.PrefixLease}, func(k, _ []byte) error {
		seg, key, ok := splitLease(k)
		if !ok {
			return store.Corrupt(k, errors.New("lease without segment"))
		}
		db.addLease(seg, key)
		return nil
	})
	if err != nil {
		return err
	}
	mode, err := db.s.Get(store.Key(store.PrefixMeta, metaMode))
	if err != nil {
		return err
	}
	half, err := db.s.Has(store.Key(store.PrefixMeta, metaRebuild))
	if err != nil {
		return err
	}
	switch {
	case mode == nil:
		err = db.Update(ctx, func(tx *Tx) error {
			tx.Tx.Set(store.Key(store.PrefixMeta, metaMode), []byte(db.o.CountMode.String()))
			tx.Tx.Set(store.Key(store.PrefixMeta, metaSegRefs), nil)
			return nil
		})
	case half || string(mode) != db.o.CountMode.String():
		db.rebuilt = true
		err = db.Reindex(ctx)
	}
	if err != nil {
		return err
	}
	return db.releaseUnfinished(ctx)
}

// Rebuilt reports whether Open had to rebuild the indexes.
func (db *DB) Rebuilt() bool { return db.rebuilt }

// DefaultInterval is Options.DefaultInterval.
func (db *DB) DefaultInterval() time.Duration { return db.o.DefaultInterval }

// Store returns the store the CrawlDB lives in.
func (db *DB) Store() *store.Store { return db.s }

// Update runs f as the only writer and commits its Tx durably and atomically.
// Errors of reading what is stored can also come up after f, when the indexes
// are brought up to date; nothing is changed then.
func (db *DB) Update(ctx context.Context, f func(*Tx) error) error {
	return db.s.Update(ctx, func(raw *store.Tx) error { return db.run(raw, f) })
}

// UpdateNoSync is Update without waiting for the disk; see store.UpdateNoSync.
func (db *DB) UpdateNoSync(ctx context.Context, f func(*Tx) error) error {
	return db.s.UpdateNoSync(ctx, func(raw *store.Tx) error { return db.run(raw, f) })
}

func (db *DB) run(raw *store.Tx, f func(*Tx) error) error {
	tx := newTx(db, raw)
	if err := f(tx); err != nil {
		return err
	}
	return tx.flush()
}

// Get returns the stored record of key, or nil when it is unknown.
func (db *DB) Get(key urlkey.Key) (*Record, error) { return get(db.s, key) }

// Has reports whether key is known.
func (db *DB) Has(key urlkey.Key) (bool, error) { return db.s.Has(recordKey(key)) }

func get(r store.Reader, key urlkey.Key) (*Record, error) {
	k := recordKey(key)
	v, err := r.Get(k)
	if err != nil || v == nil {
		return nil, err
	}
	rec := new(Record)
	if err := decodeRecord(k, v, rec); err != nil {
		return nil, err
	}
	return rec, nil
}

// Scan calls f for every record whose key starts with prefix, in key order,
// until f fails. f owns the record. It sees the CrawlDB as of the call.
func (db *DB) Scan(ctx context.Context, prefix urlkey.Key, f func(urlkey.Key, *Record) error) error {
	return ScanStore(ctx, db.s, prefix, f)
}

// ScanStore is Scan of the CrawlDB in r, which need not be open as one.
func ScanStore(ctx context.Context, r store.Reader, prefix urlkey.Key, f func(urlkey.Key, *Record) error) error {
	return store.Each(ctx, r, recordKey(prefix), func(k, v []byte) error {
		rec := new(Record)
		if err := decodeRecord(k, v, rec); err != nil {
			return err
		}
		return f(keyAfter(k, 1), rec)
	})
}

// PendingEffects returns the effects on key that are not folded yet.
func (db *DB) PendingEffects(key urlkey.Key) (store.Operand, bool, error) {
	k := store.Key(store.PrefixEffect, key)
	v, err := db.s.Get(k)
	if err != nil || v == nil {
		return store.Operand{}, false, err
	}
	o, err := store.DecodeOperand(k, v)
	return o, true, err
}

// ScanEffects calls f with the effects that are not folded yet in the CrawlDB in r, in key
// order, until f fails.
func ScanEffects(ctx context.Context, r store.Reader, f func(urlkey.Key, store.Operand) error) error {
	return store.Each(ctx, r, []byte{store.PrefixEffect}, func(k, v []byte) error {
		o, err := store.DecodeOperand(k, v)
		if err != nil {
			return err
		}
		return f(keyAfter(k, 1), o)
	})
}

// Generated calls f for every URL of the segment's fetch list, in key order.
func (db *DB) Generated(ctx context.Context, seg string, f func(urlkey.Key, FetchHint) error) error {
	prefix := segment.PartPrefix(seg, segment.PartGenerate)
	return store.Each(ctx, db.s, prefix, func(k, v []byte) error {
		var h FetchHint
		if err := decodeHint(k, v, &h); err != nil {
			return err
		}
		return f(keyAfter(k, len(prefix)), h)
	})
}

// Hint returns what the segment's fetch list holds of key; false when it is
// not in the list.
func (db *DB) Hint(seg string, key urlkey.Key) (FetchHint, bool, error) {
	k := segment.PartKey(seg, segment.PartGenerate, key)
	v, err := db.s.Get(k)
	if err != nil || v == nil {
		return FetchHint{}, false, err
	}
	var h FetchHint
	err = decodeHint(k, v, &h)
	return h, true, err
}

// Stats are the CrawlDB's totals, read from counters.
type Stats struct {
	Total    int64
	ByStatus map[model.Status]int64
	ByRetry  map[int]int64 // records by number of retries
	Leased   int64         // handed out in fetch lists
}

// Stats returns the totals.
func (db *DB) Stats(ctx context.Context) (Stats, error) {
	s := Stats{ByStatus: make(map[model.Status]int64), ByRetry: make(map[int]int64)}
	err := store.Each(ctx, db.s, []byte{store.PrefixCounter}, func(k, v []byte) error {
		cs, err := store.DecodeCounts(k, v)
		if err != nil {
			return err
		}
		for _, c := range cs {
			switch string(k[1:]) {
			case counterStatus:
				s.ByStatus[model.Status(c.ID)] += c.N //nolint:gosec // written from a Status
				s.Total += c.N
			case counterRetry:
				s.ByRetry[int(c.ID)] += c.N //nolint:gosec // written from an int
			}
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	for k, n := range s.ByStatus {
		if n == 0 {
			delete(s.ByStatus, k)
		}
	}
	for k, n := range s.ByRetry {
		if n == 0 {
			delete(s.ByRetry, k)
		}
	}
	db.mu.RLock()
	s.Leased = int64(len(db.leases))
	db.mu.RUnlock()
	return s, nil
}

// nextDue returns when the earliest waiting record is due.
func (db *DB) nextDue() (due time.Time, err error) {
	it, err := db.s.Iter([]byte{store.PrefixWait}, []byte{store.PrefixWait + 1})
	if err != nil {
		return due, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if it.First() {
		minute := minuteOfWait(it.Key())
		for ok := true; ok && minuteOfWait(it.Key()) == minute; ok = it.Next() {
			d, _ := store.NewDecoder(it.Value(), hintVersion)
			p := peekHint(&d)
			if d.Err() != nil {
				return due, store.Corrupt(it.Key(), d.Err())
			}
			if due.IsZero() || p.due.Before(due) {
				due = p.due
			}
		}
	}
	return due, nil
}
