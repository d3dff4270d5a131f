package refilter

import (
	"context"
	"errors"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

const (
	metaRules    = "refilter.rules"    // fingerprint of the rules that the CrawlDB was filtered by
	metaProgress = "refilter.progress" // of a refilter that has not come to its end
)

// Changed reports whether the rules with the given fingerprint differ from those
// that all of the CrawlDB was filtered by. An empty CrawlDB, and one of which that
// is not known, take the rules as theirs.
func Changed(ctx context.Context, db *crawldb.DB, rules string) (bool, error) {
	known, err := db.Store().Get(store.Key(store.PrefixMeta, metaRules))
	if err != nil || string(known) == rules {
		return false, err
	}
	if known != nil {
		empty, err := empty(ctx, db)
		if err != nil || !empty {
			return !empty, err
		}
	}
	return false, db.Update(ctx, func(tx *crawldb.Tx) error {
		setRules(tx, rules)
		return nil
	})
}

// errFound ends a walk early.
var errFound = errors.New("found")

func empty(ctx context.Context, db *crawldb.DB) (bool, error) {
	found := func(urlkey.Key) error { return errFound }
	err := db.EachKey(ctx, "", found)
	if err == nil {
		err = db.EachPending(ctx, "", found)
	}
	if errors.Is(err, errFound) {
		return false, nil
	}
	return err == nil, err
}

func setRules(tx *crawldb.Tx, rules string) {
	tx.Tx.Set(store.Key(store.PrefixMeta, metaRules), []byte(rules))
}
