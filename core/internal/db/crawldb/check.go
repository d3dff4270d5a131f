package crawldb

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// CheckReport is what Check found.
type CheckReport struct {
	Records  int64    `json:"records"`
	Problems []string `json:"problems,omitempty"` // the first maxProblems, each naming the key
	Total    int64    `json:"total"`              // problems in all
}

const maxProblems = 100

func (r *CheckReport) add(format string, args ...any) {
	r.Total++
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

// Check reads the whole CrawlDB and compares indexes and counters with the
// records (C1 to C5). It blocks Updates while it runs.
func (db *DB) Check(ctx context.Context) (CheckReport, error) {
	c := newChecker(db)
	err := db.s.Update(ctx, func(tx *store.Tx) error { return c.run(ctx) })
	if err != nil {
		return c.rep, fmt.Errorf("check CrawlDB: %w", err)
	}
	return c.rep, nil
}

type checker struct {
	db                  *DB
	rep                 CheckReport
	status, retry, host map[uint64]int64
	segs                map[string]int64
	fresh               map[string][freshIDs]int64
	hostName            string
	hosts               int64
	indexed, signed     int64
	leased              int64
	buf                 []byte
}

func newChecker(db *DB) *checker {
	return &checker{db: db, status: make(map[uint64]int64), retry: make(map[uint64]int64), host: make(map[uint64]int64), segs: make(map[string]int64), fresh: make(map[string][freshIDs]int64)}
}

// tally counts a record.
func (c *checker) tally(r *Record) {
	c.status[uint64(r.Datum.Status)]++
	c.retry[uint64(max(r.Datum.Retries, 0))]++ //nolint:gosec // not negative
	c.host[uint64(r.Datum.Status)]++
	if seg := r.Datum.Segment; seg != "" {
		c.segs[seg]++
	}
	addFresh(c.fresh, &r.Datum.History, 1)
}

func (c *checker) run(ctx context.Context) error {
	err := store.Each(ctx, c.db.s, []byte{store.PrefixRecord}, func(k, v []byte) error {
		r := new(Record)
		if err := decodeRecord(k, v, r); err != nil {
			c.rep.add("%v", err)
			return nil
		}
		return c.record(keyAfter(k, 1), r)
	})
	if err != nil {
		return err
	}
	if err := c.endHost(); err != nil {
		return err
	}
	for _, x := range []struct {
		what   string
		prefix []byte
		want   int64
	}{
		{"entries in the ready and wait indexes", []byte{store.PrefixReady, store.PrefixWait}, c.indexed},
		{"entries in the signature index", []byte{store.PrefixSignature}, c.signed},
		{"hosts with counts", []byte{store.PrefixHostCount}, c.hosts},
	} {
		if err := c.count(ctx, x.what, x.prefix, x.want); err != nil {
			return err
		}
	}
	if err := c.leases(ctx); err != nil {
		return err
	}
	if err := c.vector(store.Key(store.PrefixCounter, counterStatus), c.status); err != nil {
		return err
	}
	if err := c.segments(ctx); err != nil {
		return err
	}
	if err := c.freshness(ctx); err != nil {
		return err
	}
	return c.vector(store.Key(store.PrefixCounter, counterRetry), c.retry)
}

func (c *checker) record(key urlkey.Key, r *Record) error {
	c.rep.Records++
	if h := hostOf(key); h != c.hostName {
		if err := c.endHost(); err != nil {
			return err
		}
		c.hostName = strings.Clone(h)
	}
	c.tally(r)
	if c.db.leasedIn(key) != "" {
		c.leased++
	} else {
		c.indexed++
		k := c.db.indexKey(key, r)
		v, err := c.db.s.Get(k)
		if err != nil {
			return err
		}
		c.buf = appendHint(c.buf[:0], r)
		switch {
		case v == nil:
			c.rep.add("record %q: not in the index at %q", key, k[:min(len(k), readyHead)])
		case !bytes.Equal(v, c.buf):
			c.rep.add("record %q: its index entry differs from the record", key)
		}
	}
	if sig := memberSignature(r); sig != nil {
		c.signed++
		has, err := c.db.s.Has(signatureKey(store.PrefixSignature, sig, key))
		if err != nil {
			return err
		}
		if !has {
			c.rep.add("record %q: not in the signature index", key)
		}
	}
	return nil
}

func (c *checker) endHost() error {
	if len(c.host) == 0 {
		return nil
	}
	c.hosts++
	err := c.vector(store.Key(store.PrefixHostCount, c.hostName), c.host)
	clear(c.host)
	return err
}

// vector compares stored counts with want. Host counts hold more than statuses;
// only ids below 32 are compared.
func (c *checker) vector(k []byte, want map[uint64]int64) error {
	v, err := c.db.s.Get(k)
	if err != nil {
		return err
	}
	cs, err := store.DecodeCounts(k, v)
	if err != nil {
		c.rep.add("%v", err)
		return nil
	}
	got := make(map[uint64]int64)
	for _, x := range cs {
		got[x.ID] = x.N
	}
	for id, n := range want {
		if got[id] != n {
			c.rep.add("counter %q: %d of %d, counted %d", k, got[id], id, n)
		}
		delete(got, id)
	}
	for id, n := range got {
		if n != 0 && (k[0] != store.PrefixHostCount || id < 32) {
			c.rep.add("counter %q: %d of %d, counted none", k, n, id)
		}
	}
	return nil
}

// segments compares the counts of records by segment, if they are kept.
func (c *checker) segments(ctx context.Context) error {
	complete, err := c.db.s.Has(store.Key(store.PrefixMeta, metaSegRefs))
	if err != nil || !complete {
		return err
	}
	got, err := c.db.segmentCounters(ctx)
	for seg, n := range c.segs {
		if got[seg] != n {
			c.rep.add("records with content in segment %s: %d, counted %d", seg, got[seg], n)
		}
		delete(got, seg)
	}
	for seg, n := range got {
		if n != 0 {
			c.rep.add("records with content in segment %s: %d, counted none", seg, n)
		}
	}
	return err
}

func (c *checker) count(ctx context.Context, what string, prefixes []byte, want int64) error {
	var n int64
	for _, p := range prefixes {
		err := store.Each(ctx, c.db.s, []byte{p}, func(k, v []byte) error {
			if p == store.PrefixHostCount && !anyStatus(k, v) {
				return nil
			}
			n++
			return nil
		})
		if err != nil {
			return err
		}
	}
	if n != want {
		c.rep.add("%s: %d, want %d", what, n, want)
	}
	return nil
}

func anyStatus(k, v []byte) bool {
	cs, err := store.DecodeCounts(k, v)
	for _, x := range cs {
		if x.ID < 32 && x.N != 0 {
			return true
		}
	}
	return err != nil
}

func (c *checker) leases(ctx context.Context) error {
	var n int64
	err := store.Each(ctx, c.db.s, []byte{store.PrefixLease}, func(k, _ []byte) error {
		n++
		seg, key, ok := splitLease(k)
		if !ok || c.db.leasedIn(key) != seg {
			c.rep.add("lease %q: not known in memory", k)
			return nil
		}
		has, err := c.db.s.Has(recordKey(key))
		if err == nil && !has {
			c.rep.add("lease of %q in segment %s: no such record", key, seg)
		}
		return err
	})
	if err == nil && n != int64(len(c.db.leases)) {
		c.rep.add("leases: %d stored, %d in memory", n, len(c.db.leases))
	}
	return err
}

// Dump writes the records in key order, one a line, in a form meant for
// comparing two CrawlDBs: URL, status, retries, interval, score, signature and
// duplicate-of, tab-separated. What depends on the moment of a fetch is left out.
func (db *DB) Dump(ctx context.Context, w io.Writer) error {
	var b []byte
	err := db.Scan(ctx, "", func(k urlkey.Key, r *Record) error {
		url, err := urlkey.ToURL(k)
		if err != nil {
			return fmt.Errorf("record %q: %w", k, err)
		}
		d := &r.Datum
		b = fmt.Appendf(b[:0], "%s\t%s\t%d\t%s\t%d\t%x\t%s\n", url, d.Status, d.Retries, d.Interval, d.Score, d.Signature, d.DuplicateOf)
		_, err = w.Write(b)
		return err
	})
	if err != nil {
		return fmt.Errorf("dump CrawlDB: %w", err)
	}
	return nil
}
