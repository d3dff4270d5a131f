package crawldb

import (
	"context"
	"errors"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// EachKey calls f for every known key greater than after, in order, until f
// fails. It sees the keys as of the call; f may change records.
func (db *DB) EachKey(ctx context.Context, after urlkey.Key, f func(urlkey.Key) error) error {
	return db.eachKey(ctx, store.PrefixRecord, after, f)
}

// EachPending is EachKey for the keys that have effects which are not folded yet,
// known or not.
func (db *DB) EachPending(ctx context.Context, after urlkey.Key, f func(urlkey.Key) error) error {
	return db.eachKey(ctx, store.PrefixEffect, after, f)
}

func (db *DB) eachKey(ctx context.Context, prefix byte, after urlkey.Key, f func(urlkey.Key) error) (err error) {
	from := store.Key(prefix, after)
	if after != "" {
		from = append(from, 0)
	}
	it, err := db.s.Iter(from, []byte{prefix + 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	n := 0
	for ok := it.First(); ok; ok = it.Next() {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f(keyAfter(it.Key(), 1)); err != nil {
			return err
		}
	}
	return nil
}

// Leasing returns the segment that key is leased in, or "".
func (db *DB) Leasing(key urlkey.Key) string {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return db.leasedIn(key)
}
