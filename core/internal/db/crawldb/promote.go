package crawldb

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/gonutch/crawler/core/internal/store"
)

// Promote moves everything that is due at now into the ready index. Fold and
// Generate do it themselves; who is about to Put many records that are due at once
// (inject, an import) calls it before, and they are placed there directly.
func (db *DB) Promote(ctx context.Context, now time.Time) error { return db.promote(ctx, now) }

// promote moves what is due at now from the wait index to the ready index, in
// portions, and so raises the watermark.
func (db *DB) promote(ctx context.Context, now time.Time) error {
	end := endOfMinute(minuteOf(now))
	for {
		more := false
		err := db.s.UpdateNoSync(ctx, func(tx *store.Tx) error {
			more = false
			if string(db.mark) >= string(end) {
				return nil
			}
			return db.promoteSome(tx, end, &more)
		})
		if err != nil || !more {
			return err
		}
	}
}

func (db *DB) promoteSome(tx *store.Tx, end mark, more *bool) (err error) {
	lo := []byte{store.PrefixWait}
	hi := append([]byte{store.PrefixWait}, end...)
	it, err := db.s.Iter(lo, hi)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	n, next := 0, end
	var first, last, buf []byte
	for ok := it.First(); ok; ok = it.Next() {
		if n == db.size.promote {
			*more, next = true, append(mark(nil), last[1:]...)
			break
		}
		k := it.Key()
		d, _ := store.NewDecoder(it.Value(), hintVersion)
		p := peekHint(&d)
		if d.Err() != nil {
			return store.Corrupt(k, d.Err())
		}
		key := keyAfter(k, waitHead)
		buf = readyKey(buf[:0], bucketOf(p.sort), db.queues.of(key).hash, key)
		db.place(tx, buf, it.Value())
		if n == 0 {
			first = append(first, k...)
		}
		last = append(last[:0], k...)
		n++
	}
	if n > 0 {
		tx.DeleteRange(first, append(last, 0))
	}
	tx.Set(store.Key(store.PrefixMeta, metaMark), next)
	tx.OnCommit(func() { db.mark = next })
	return nil
}

// demote lowers the watermark to now when it is ahead, which it is after a
// Generate with --adddays or after the clock was set back. It reads the
// whole ready index.
func (db *DB) demote(ctx context.Context, now time.Time) error {
	ahead := false
	err := db.s.UpdateNoSync(ctx, func(*store.Tx) error {
		ahead = db.mark.minute() > minuteOf(now)+1
		return nil
	})
	if err != nil || !ahead {
		return err
	}
	end := endOfMinute(minuteOf(now))
	rebuild := store.Key(store.PrefixMeta, metaRebuild)
	err = db.s.Update(ctx, func(tx *store.Tx) error {
		tx.Set(rebuild, nil)
		tx.Set(store.Key(store.PrefixMeta, metaMark), end)
		tx.OnCommit(func() { db.mark = end })
		return nil
	})
	if err != nil {
		return err
	}
	at := []byte{store.PrefixReady}
	for at != nil {
		err := db.s.UpdateNoSync(ctx, func(tx *store.Tx) (err error) {
			at, err = db.demoteSome(tx, at)
			return err
		})
		if err != nil {
			return err
		}
	}
	return db.s.Update(ctx, func(tx *store.Tx) error {
		tx.Delete(rebuild)
		return nil
	})
}

// demoteSome moves a portion of entries that are ready no more, from
// at on. A record may have been stored again since the watermark fell; so
// where it belongs is asked of the record.
func (db *DB) demoteSome(tx *store.Tx, at []byte) (next []byte, err error) {
	it, err := db.s.Iter(at, []byte{store.PrefixReady + 1})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	n := 0
	for ok := it.First(); ok; ok = it.Next() {
		d, _ := store.NewDecoder(it.Value(), hintVersion)
		p := peekHint(&d)
		if d.Err() != nil {
			return nil, store.Corrupt(it.Key(), d.Err())
		}
		key := keyAfter(it.Key(), readyHead)
		if db.mark.ready(minuteOf(p.due), key) {
			continue
		}
		if n++; n > db.size.promote {
			return bytes.Clone(it.Key()), nil
		}
		tx.Delete(it.Key())
		rec, err := db.Get(key)
		if err != nil {
			return nil, err
		}
		if rec != nil && db.leasedIn(key) == "" {
			db.place(tx, db.indexKey(key, rec), appendHint(nil, rec))
		}
	}
	return nil, nil
}

// Reindex builds the ready and wait indexes anew from the records, for the
// present count mode. It holds the writer lock for each portion only; a
// rebuild cut short is done again by the next Open.
func (db *DB) Reindex(ctx context.Context) error { return db.reindex(ctx, false) }

// reindex is Reindex; with skip, records that can't be read are left out.
func (db *DB) reindex(ctx context.Context, skip bool) error {
	err := db.s.Update(ctx, func(tx *store.Tx) error {
		tx.Set(store.Key(store.PrefixMeta, metaRebuild), nil)
		for _, p := range []byte{store.PrefixReady, store.PrefixWait} {
			tx.DeleteRange([]byte{p}, []byte{p + 1})
		}
		return nil
	})
	if err != nil {
		return err
	}
	at := []byte{store.PrefixRecord}
	for at != nil {
		if err := db.reindexSome(ctx, &at, skip); err != nil {
			return err
		}
	}
	return db.s.Update(ctx, func(tx *store.Tx) error {
		tx.Set(store.Key(store.PrefixMeta, metaMode), []byte(db.o.CountMode.String()))
		tx.Delete(store.Key(store.PrefixMeta, metaRebuild))
		return nil
	})
}

func (db *DB) reindexSome(ctx context.Context, at *[]byte, skip bool) error {
	return db.s.UpdateNoSync(ctx, func(tx *store.Tx) (err error) {
		it, err := db.s.Iter(*at, []byte{store.PrefixRecord + 1})
		if err != nil {
			return err
		}
		defer func() {
			if e := it.Close(); err == nil {
				err = e
			}
		}()
		*at = nil
		var buf []byte
		n := 0
		for ok := it.First(); ok; ok = it.Next() {
			if n++; n > db.size.promote {
				*at = append([]byte(nil), it.Key()...)
				return nil
			}
			var r Record
			err := decodeRecord(it.Key(), it.Value(), &r)
			if err != nil && skip {
				continue
			}
			if err != nil {
				return err
			}
			key := keyAfter(it.Key(), 1)
			if db.leasedIn(key) != "" {
				continue
			}
			buf = appendHint(buf[:0], &r)
			db.place(tx, db.indexKey(key, &r), buf)
		}
		return ctx.Err()
	})
}
