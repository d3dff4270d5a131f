package crawldb

import (
	"context"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// DirtyForIndex calls f for every key marked by IndexDirty, in key order, until
// f fails. It sees the marks as of the call.
func (db *DB) DirtyForIndex(ctx context.Context, f func(urlkey.Key) error) error {
	return store.Each(ctx, db.s, []byte{store.PrefixIndexDirty}, func(k, _ []byte) error { return f(keyAfter(k, 1)) })
}

// DocState returns what the index holds of key, or nil.
func (db *DB) DocState(key urlkey.Key) (*DocState, error) {
	k := store.Key(store.PrefixDocState, key)
	v, err := db.s.Get(k)
	if err != nil || v == nil {
		return nil, err
	}
	return decodeDocState(k, v)
}

// EachDocState calls f with everything the index holds, in key order, until f
// fails.
func (db *DB) EachDocState(ctx context.Context, f func(urlkey.Key, *DocState) error) error {
	return store.Each(ctx, db.s, []byte{store.PrefixDocState}, func(k, v []byte) error {
		s, err := decodeDocState(k, v)
		if err != nil {
			return err
		}
		return f(keyAfter(k, 1), s)
	})
}

// Reindex builds the ready and wait indexes anew from the records, for the
// present count mode. It holds the writer lock for each portion only; a
// rebuild cut short is done again by the next Open.
func (db *DB) Reindex(ctx context.Context) error {
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
		if err := db.reindexSome(ctx, &at); err != nil {
			return err
		}
	}
	return db.s.Update(ctx, func(tx *store.Tx) error {
		tx.Set(store.Key(store.PrefixMeta, metaMode), []byte(db.o.CountMode.String()))
		tx.Delete(store.Key(store.PrefixMeta, metaRebuild))
		return nil
	})
}

func (db *DB) reindexSome(ctx context.Context, at *[]byte) error {
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
			if err := decodeRecord(it.Key(), it.Value(), &r); err != nil {
				return err
			}
			key := keyAfter(it.Key(), 1)
			if db.leasedIn(key) != "" {
				continue
			}
			buf = appendHint(buf[:0], &r)
			tx.Set(db.indexKey(nil, key, &r), buf)
		}
		return ctx.Err()
	})
}
