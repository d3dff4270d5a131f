package crawldb

import (
	"slices"

	"github.com/gonutch/crawler/core/internal/store"
)

// Names of the counters kept by flush; both are vectors.
const (
	counterStatus = "crawldb.status" // by status code
	counterRetry  = "crawldb.retry"  // by number of retries
)

// tally collects counter changes of one flush. Entries come in key order, so
// the records of a host follow each other.
type tally struct {
	status, host [256]int64
	retry        map[int]int64
	hostName     string
	segs         map[string]int64 // changes of the records whose content a segment has
	fresh        map[string][freshIDs]int64
}

func (t *tally) add(tx *Tx, host string, r *Record, n int64) {
	if host != t.hostName {
		t.flushHost(tx)
		t.hostName = host
	}
	t.status[r.Datum.Status] += n
	t.host[r.Datum.Status] += n
	t.retry[r.Datum.Retries] += n
	t.countFresh(&r.Datum.History, n)
}

func vector(a *[256]int64) []store.Count {
	var cs []store.Count
	for i, n := range a {
		if n != 0 {
			cs = append(cs, store.Count{ID: uint64(i), N: n}) //nolint:gosec // 0 to 255
		}
	}
	return cs
}

func (t *tally) flushHost(tx *Tx) {
	if cs := vector(&t.host); len(cs) > 0 {
		tx.Tx.Merge(store.Key(store.PrefixHostCount, t.hostName), store.AppendCounts(nil, cs...))
		t.host = [256]int64{}
	}
}

func (t *tally) flush(tx *Tx) {
	t.flushHost(tx)
	t.flushSegments(tx)
	t.flushFresh(tx)
	if cs := vector(&t.status); len(cs) > 0 {
		tx.Tx.Merge(store.Key(store.PrefixCounter, counterStatus), store.AppendCounts(nil, cs...))
	}
	var cs []store.Count
	for r, n := range t.retry {
		if n != 0 {
			cs = append(cs, store.Count{ID: uint64(max(r, 0)), N: n}) //nolint:gosec // not negative
		}
	}
	if len(cs) > 0 {
		slices.SortFunc(cs, func(a, b store.Count) int { return int(a.ID) - int(b.ID) }) //nolint:gosec // small
		tx.Tx.Merge(store.Key(store.PrefixCounter, counterRetry), store.AppendCounts(nil, cs...))
	}
}
