package crawldb

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// OrphanCheck is a URL to be looked at: it may have lost its last inlink.
type OrphanCheck struct {
	Key urlkey.Key
	at  uint64
}

const orphanHead = 1 + 8

// orphanKey returns o, due second, key.
func orphanKey(second uint64, key urlkey.Key) []byte {
	b := binary.BigEndian.AppendUint64([]byte{store.PrefixOrphan}, second)
	return append(b, key...)
}

func secondOf(t time.Time) uint64 { return uint64(max(t.Unix(), 0)) }

// CheckOrphan lets DueOrphans return key from at (whole seconds) on.
func (tx *Tx) CheckOrphan(key urlkey.Key, at time.Time) {
	tx.Tx.Set(orphanKey(secondOf(at), key), nil)
}

// OrphanChecked takes back what CheckOrphan asked for.
func (tx *Tx) OrphanChecked(c OrphanCheck) { tx.Tx.Delete(orphanKey(c.at, c.Key)) }

// DueOrphans returns up to limit of the URLs whose check is due at now, the
// longest due first.
func (db *DB) DueOrphans(ctx context.Context, now time.Time, limit int) (due []OrphanCheck, err error) {
	it, err := db.s.Iter([]byte{store.PrefixOrphan}, orphanKey(secondOf(now)+1, ""))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok && len(due) < limit; ok = it.Next() {
		if len(due)%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		due = append(due, OrphanCheck{Key: keyAfter(it.Key(), orphanHead), at: binary.BigEndian.Uint64(it.Key()[1:])})
	}
	return due, nil
}
