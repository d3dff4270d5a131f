package crawldb

import (
	"context"
	"errors"
	"time"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/sdk/model"
)

// counterFresh, followed by the name of a freshness target, has the sums over the
// records that belong to it.
const counterFresh = "crawldb.freshness/"

// Ids of counts in that vector.
const (
	freshPages    = iota // records
	freshDemand          // visits that they want, in a million days
	freshMeasured        // records whose age is known
	freshAge             // the sum of these ages, ms
	freshIDs
)

func freshCounter(target string) []byte { return store.Key(store.PrefixCounter, counterFresh+target) }

// freshCounts are what a record with history h adds to its target.
func freshCounts(h *model.ChangeHistory) (n [freshIDs]int64) {
	n[freshPages] = 1
	if h.Wanted > 0 {
		n[freshDemand] = int64(model.Micro * (24 * float64(time.Hour) / float64(h.Wanted)))
	}
	if h.Checks > 0 {
		n[freshMeasured], n[freshAge] = 1, h.Age.Milliseconds()
	}
	return n
}

// addFresh adds sign times what a record with history h counts.
func addFresh(sums map[string][freshIDs]int64, h *model.ChangeHistory, sign int64) {
	if h.Target == "" {
		return
	}
	sum := sums[h.Target]
	for id, n := range freshCounts(h) {
		sum[id] += sign * n
	}
	sums[h.Target] = sum
}

// countFresh keeps the sums in step with a record.
func (t *tally) countFresh(h *model.ChangeHistory, sign int64) {
	if t.fresh == nil && h.Target != "" {
		t.fresh = make(map[string][freshIDs]int64)
	}
	addFresh(t.fresh, h, sign)
}

func (t *tally) flushFresh(tx *Tx) {
	for target, sum := range t.fresh {
		if cs := freshVector(sum); len(cs) > 0 {
			tx.Tx.Merge(freshCounter(target), store.AppendCounts(nil, cs...))
		}
	}
}

func freshVector(sum [freshIDs]int64) (cs []store.Count) {
	for id, n := range sum {
		if n != 0 {
			cs = append(cs, store.Count{ID: uint64(id), N: n}) //nolint:gosec // below freshIDs
		}
	}
	return cs
}

// Freshness are the sums over the records that belong to a freshness target.
type Freshness struct {
	Pages    int64         // that were fetched
	PerDay   float64       // visits a day that keep them as fresh as wanted
	Measured int64         // pages that were visited twice or more
	Age      time.Duration // the mean over these of the expected age of the copy between the last two visits
}

func freshness(cs []store.Count) (f Freshness) {
	var age int64
	for _, c := range cs {
		switch c.ID {
		case freshPages:
			f.Pages = c.N
		case freshDemand:
			f.PerDay = float64(c.N) / model.Micro
		case freshMeasured:
			f.Measured = c.N
		case freshAge:
			age = c.N
		}
	}
	if f.Measured > 0 {
		f.Age = time.Duration(age/f.Measured) * time.Millisecond
	}
	return f
}

// Freshness returns the sums of a target, as committed.
func (db *DB) Freshness(target string) (Freshness, error) {
	k := freshCounter(target)
	v, err := db.s.Get(k)
	if err != nil || v == nil {
		return Freshness{}, err
	}
	cs, err := store.DecodeCounts(k, v)
	return freshness(cs), err
}

// AllFreshness returns the sums of all targets that have pages.
func (db *DB) AllFreshness(ctx context.Context) (map[string]Freshness, error) {
	out := make(map[string]Freshness)
	err := store.Each(ctx, db.s, freshCounter(""), func(k, v []byte) error {
		cs, err := store.DecodeCounts(k, v)
		if f := freshness(cs); f.Pages > 0 {
			out[string(k[1+len(counterFresh):])] = f
		}
		return err
	})
	return out, err
}

// freshWant returns the vectors that a recount demands, with an empty one for each
// target that has a stored vector and no record.
func (c *checker) freshWant(ctx context.Context) (map[string]map[uint64]int64, error) {
	want := make(map[string]map[uint64]int64)
	err := store.Each(ctx, c.db.s, freshCounter(""), func(k, _ []byte) error {
		want[string(k[1+len(counterFresh):])] = map[uint64]int64{}
		return nil
	})
	for target, sum := range c.fresh {
		want[target] = map[uint64]int64{}
		for _, x := range freshVector(sum) {
			want[target][x.ID] = x.N
		}
	}
	return want, err
}

// freshness compares the sums of the targets.
func (c *checker) freshness(ctx context.Context) error {
	want, err := c.freshWant(ctx)
	for target, counts := range want {
		err = errors.Join(err, c.vector(freshCounter(target), counts))
	}
	return err
}
