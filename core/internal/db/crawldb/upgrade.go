package crawldb

import (
	"context"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// UpgradeSteps are what brings a CrawlDB of an older version to the present one. told, when set, is
// told how many records were looked at.
func UpgradeSteps(told func(records int64)) []store.Step {
	return []store.Step{{From: 1, Do: func(ctx context.Context, s *store.Store) error { return signUnfetched(ctx, s, told) }}}
}

// signUnfetched completes the signature index of version 2.
func signUnfetched(ctx context.Context, s *store.Store, told func(int64)) error {
	var keys [][]byte
	var n int64
	flush := func() error {
		defer func() { keys = keys[:0] }()
		return s.Update(ctx, func(tx *store.Tx) error {
			for _, k := range keys {
				tx.Set(k, nil)
			}
			return nil
		})
	}
	err := ScanStore(ctx, s, "", func(k urlkey.Key, r *Record) error {
		if n++; told != nil && n%markPortion == 0 {
			told(n)
		}
		if sig := memberSignature(r); sig != nil && waits(r) {
			keys = append(keys, signatureKey(store.PrefixSignature, sig, k), signatureKey(store.PrefixDedupDirty, sig, k))
		}
		if len(keys) < markPortion {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	return err
}
