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

// ClearIndexDirty removes the mark set by IndexDirty.
func (tx *Tx) ClearIndexDirty(key urlkey.Key) { tx.Tx.Delete(store.Key(store.PrefixIndexDirty, key)) }
