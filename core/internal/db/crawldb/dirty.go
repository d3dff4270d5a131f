package crawldb

import (
	"context"
	"errors"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// DirtyForIndex calls f for every key marked by IndexDirty, in key order, until
// f fails. It sees the marks as of the call.
func (db *DB) DirtyForIndex(ctx context.Context, f func(urlkey.Key) error) error {
	return store.Each(ctx, db.s, []byte{store.PrefixIndexDirty}, func(k, _ []byte) error { return f(keyAfter(k, 1)) })
}

// HasIndexDirty reports whether any key is marked by IndexDirty.
func (db *DB) HasIndexDirty() (has bool, err error) {
	it, err := db.s.Iter([]byte{store.PrefixIndexDirty}, []byte{store.PrefixIndexDirty + 1})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	return it.First(), nil
}

// ClearIndexDirty removes the mark set by IndexDirty.
func (tx *Tx) ClearIndexDirty(key urlkey.Key) { tx.Tx.Delete(store.Key(store.PrefixIndexDirty, key)) }
