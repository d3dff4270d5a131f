package crawldb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// Criteria of Dedup's order, named as in Nutch's -compareOrder.
const (
	ByScore     = "score"         // the higher score wins
	ByFetchTime = "fetchTime"     // the later (next) fetch time wins; needs Options.DedupFetchTime
	ByURLLength = "urlLength"     // the shorter decoded URL wins
	ByHTTPS     = "httpsOverHttp" // https wins when the rest of the URL is the same
)

// DedupCriteria returns the criteria that an order may name.
func DedupCriteria() []string { return []string{ByScore, ByFetchTime, ByURLLength, ByHTTPS} }

// DedupOptions say which of several pages with one signature stays.
type DedupOptions struct {
	Order []string // criteria, first decides; nil is score, urlLength. The URL key decides in the end.
	// Group restricts duplicates to a host (urlkey.ByHost) or a registered
	// domain (urlkey.ByDomain); nil compares all pages.
	Group *urlkey.Mode
	// Progress, when set, is told now and then how many changed records were looked at.
	Progress func(records int64)
}

// DedupStats say what a Dedup did.
type DedupStats struct {
	Dirty      int // records looked at because they changed
	Groups     int // signatures with more than one page among them
	Duplicates int // records that became db_duplicate, or of another winner
	Lifted     int // records that are no duplicates any more
}

const (
	dedupPortion = 500 // dirty records per batch
	smallGroup   = 16  // up to so many pages a signature's group is judged as a whole
)

// signature keys: prefix, length, signature, URL key.
func signatureKey(prefix byte, sig []byte, key urlkey.Key) []byte {
	sig = sig[:min(len(sig), 255)]
	b := make([]byte, 0, 2+len(sig)+len(key))
	b = append(b, prefix, byte(len(sig)))
	b = append(b, sig...)
	return append(b, key...)
}

func splitSignature(k []byte) (sig []byte, key urlkey.Key, ok bool) {
	if len(k) < 2 || len(k) < 2+int(k[1]) {
		return nil, "", false
	}
	n := 2 + int(k[1])
	return k[2:n:n], urlkey.Key(k[n:]), true
}

// memberSignature returns the signature under which r takes part in dedup, or
// nil (C4).
func memberSignature(r *Record) []byte {
	if len(r.Datum.Signature) == 0 {
		return nil
	}
	switch r.Datum.Status {
	case model.StatusDBFetched, model.StatusDBNotModified, model.StatusDBDuplicate:
		return r.Datum.Signature
	case model.StatusDBUnfetched:
		if r.Datum.Segment != "" {
			return r.Datum.Signature
		}
	}
	return nil
}

// waits reports whether a member could not be fetched lately. It stands for its content all the
// same, so that its duplicates stay what they are; it does not become one itself before it is
// fetched again.
func waits(r *Record) bool { return r.Datum.Status == model.StatusDBUnfetched }

// flushSignature keeps the signature index in step and marks what Dedup has to
// look at.
func (tx *Tx) flushSignature(e *entry, rec *Record) {
	var was, is []byte
	if e.had {
		was = memberSignature(&e.old)
	}
	if rec != nil {
		is = memberSignature(rec)
	}
	moved := !bytes.Equal(was, is)
	if was != nil && moved {
		tx.Tx.Delete(signatureKey(store.PrefixSignature, was, e.key))
		tx.Tx.Set(signatureKey(store.PrefixDedupDirty, was, e.key), nil)
	}
	if is == nil {
		return
	}
	if moved {
		tx.Tx.Set(signatureKey(store.PrefixSignature, is, e.key), nil)
	}
	if tx.noDedup {
		return
	}
	if moved || was == nil || e.old.Datum.Score != rec.Datum.Score ||
		(e.old.Datum.Status == model.StatusDBDuplicate) != (rec.Datum.Status == model.StatusDBDuplicate) || waits(&e.old) != waits(rec) ||
		tx.db.o.DedupFetchTime && !e.old.Datum.FetchTime.Equal(rec.Datum.FetchTime) {
		tx.Tx.Set(signatureKey(store.PrefixDedupDirty, is, e.key), nil)
	}
}

// deduper is one Dedup.
type deduper struct {
	db    *DB
	o     DedupOptions
	stats DedupStats
}

// Dedup looks at records whose signature, score or status changed since the
// last Dedup and sees to it that of all pages with one signature (in one group)
// exactly one, the winner, is no duplicate: the others become db_duplicate with
// DuplicateOf naming it. Its winner gone, a duplicate is lifted (db_fetched) or gets
// the new winner. With another order or group than the last time all pages are judged. Changed
// records are marked for the index. The result depends on
// the records only, not on the order in which they changed.
func (db *DB) Dedup(ctx context.Context, o DedupOptions) (DedupStats, error) {
	if o.Order == nil {
		o.Order = []string{ByScore, ByURLLength}
	}
	d := &deduper{db: db, o: o}
	for _, c := range o.Order {
		switch c {
		case ByScore, ByURLLength, ByHTTPS:
		case ByFetchTime:
			if !db.o.DedupFetchTime {
				return d.stats, errors.New("dedup: order names fetchTime, but the CrawlDB was opened without watching it")
			}
		default:
			return d.stats, fmt.Errorf("dedup: unknown criterion %q; want %s, %s, %s or %s", c, ByScore, ByFetchTime, ByURLLength, ByHTTPS)
		}
	}
	err := d.rules(ctx)
	if err == nil {
		err = d.run(ctx)
	}
	if err != nil {
		return d.stats, fmt.Errorf("dedup: %w", err)
	}
	return d.stats, nil
}

const metaDedup = "crawldb.dedup_rules" // order and group of the last Dedup

// rules has every page judged anew when order or group are others than the last time.
func (d *deduper) rules(ctx context.Context) error {
	now := []byte(strings.Join(d.o.Order, ","))
	if d.o.Group != nil {
		now = fmt.Appendf(now, " by %s", *d.o.Group)
	}
	key := store.Key(store.PrefixMeta, metaDedup)
	was, err := d.db.s.Get(key)
	if err != nil || bytes.Equal(was, now) {
		return err
	}
	if was != nil {
		if err := d.all(ctx); err != nil {
			return err
		}
	}
	return d.db.Update(ctx, func(tx *Tx) error {
		tx.Tx.Set(key, now)
		return nil
	})
}

// all marks every page that has a signature, and forgets the winners.
func (d *deduper) all(ctx context.Context) error {
	at := []byte{store.PrefixSignature}
	for at != nil {
		err := d.db.Update(ctx, func(tx *Tx) (err error) {
			it, err := d.db.s.Iter(at, []byte{store.PrefixSignature + 1})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, it.Close()) }()
			at = nil
			tx.Tx.DeleteRange([]byte{store.PrefixWinner}, []byte{store.PrefixWinner + 1})
			n := 0
			for ok := it.First(); ok; ok = it.Next() {
				if n++; n > markPortion {
					at = bytes.Clone(it.Key())
					break
				}
				k := bytes.Clone(it.Key())
				k[0] = store.PrefixDedupDirty
				tx.Tx.Set(k, nil)
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// markPortion bounds the pages marked in one batch.
const markPortion = 20_000

func (d *deduper) run(ctx context.Context) error {
	at := []byte{store.PrefixDedupDirty}
	for at != nil {
		var big [][]byte
		err := d.db.Update(ctx, func(tx *Tx) error {
			tx.noDedup = true
			before := d.stats
			next, b, err := d.portion(tx, at)
			if err != nil {
				d.stats = before
				return err
			}
			at, big = next, b
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		for _, sig := range big {
			if err := d.big(ctx, sig); err != nil {
				return err
			}
		}
		if d.o.Progress != nil {
			d.o.Progress(int64(d.stats.Dirty))
		}
	}
	return nil
}

// portion works on dirty records from at on. It returns where to go on, and
// signatures that have too many pages for it.
func (d *deduper) portion(tx *Tx, at []byte) (next []byte, big [][]byte, err error) {
	it, err := d.db.s.Iter(at, []byte{store.PrefixDedupDirty + 1})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	all, err := d.db.s.Iter([]byte{store.PrefixSignature}, []byte{store.PrefixSignature + 1})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	var groups [][]urlkey.Key
	n := 0
	for ok := it.First(); ok; {
		if n >= dedupPortion {
			next = append([]byte(nil), it.Key()...)
			break
		}
		sig, _, valid := splitSignature(it.Key())
		if !valid {
			return nil, nil, store.Corrupt(it.Key(), errors.New("no signature"))
		}
		sig = bytes.Clone(sig)
		members := members(all, sig, smallGroup+1)
		if len(members) > smallGroup {
			big = append(big, sig)
			n += smallGroup
			ok = it.Seek(store.After(signatureKey(store.PrefixDedupDirty, sig, "")))
			continue
		}
		groups = append(groups, members)
		end := store.After(signatureKey(store.PrefixDedupDirty, sig, ""))
		for ; ok && bytes.Compare(it.Key(), end) < 0; ok = it.Next() {
			tx.Tx.Delete(it.Key())
			d.stats.Dirty++
			n++
		}
	}
	if err := tx.Load(slices.Concat(groups...)); err != nil {
		return nil, nil, err
	}
	for _, g := range groups {
		if err := d.small(tx, g); err != nil {
			return nil, nil, err
		}
	}
	return next, big, nil
}

// members returns up to limit keys with the signature; all iterates over the
// signature index.
func members(all *store.Iter, sig []byte, limit int) (keys []urlkey.Key) {
	prefix := signatureKey(store.PrefixSignature, sig, "")
	for ok := all.Seek(prefix); ok && len(keys) < limit && bytes.HasPrefix(all.Key(), prefix); ok = all.Next() {
		keys = append(keys, keyAfter(all.Key(), len(prefix)))
	}
	return keys
}

// candidate is a page that may win.
type candidate struct {
	key urlkey.Key
	rec *Record
	url string
	len int // of the decoded URL
}

func newCandidate(key urlkey.Key, rec *Record) (candidate, error) {
	u, err := urlkey.ToURL(key)
	if err != nil {
		return candidate{}, fmt.Errorf("record %q: %w", key, err)
	}
	c := candidate{key: key, rec: rec, url: u, len: len(u)}
	if strings.IndexByte(u, '%') >= 0 {
		if dec, err := url.PathUnescape(u); err == nil { // bad escapes count as they are
			c.len = len(dec)
		}
	}
	return c, nil
}

// beats reports whether a wins against b. It is a total order.
func (d *deduper) beats(a, b *candidate) bool {
	for _, c := range d.o.Order {
		switch c {
		case ByScore:
			if x, y := a.rec.Datum.Score, b.rec.Datum.Score; x != y {
				return x > y
			}
		case ByFetchTime:
			if x, y := a.rec.Datum.FetchTime, b.rec.Datum.FetchTime; !x.Equal(y) {
				return x.After(y)
			}
		case ByURLLength:
			if a.len != b.len {
				return a.len < b.len
			}
		case ByHTTPS:
			x, xs := strings.CutPrefix(a.url, "https://")
			y, ys := strings.CutPrefix(b.url, "https://")
			if xs != ys && strings.TrimPrefix(x, "http://") == strings.TrimPrefix(y, "http://") {
				return xs
			}
		}
	}
	return a.key < b.key
}

func (d *deduper) group(url string) string {
	if d.o.Group == nil {
		return ""
	}
	return urlkey.QueueKey(url, *d.o.Group, "")
}

// small judges all pages of a signature.
func (d *deduper) small(tx *Tx, members []urlkey.Key) error {
	if len(members) > 1 {
		d.stats.Groups++
	}
	cs := make([]candidate, 0, len(members))
	best := make(map[string]*candidate)
	for _, k := range members {
		rec, err := tx.Get(k)
		if err != nil {
			return err
		}
		if rec == nil {
			return store.Corrupt(recordKey(k), errors.New("in the signature index, but not there"))
		}
		c, err := newCandidate(k, rec)
		if err != nil {
			return err
		}
		cs = append(cs, c)
	}
	for i := range cs {
		g := d.group(cs[i].url)
		if b := best[g]; b == nil || d.beats(&cs[i], b) {
			best[g] = &cs[i]
		}
	}
	for i := range cs {
		d.settle(tx, &cs[i], best[d.group(cs[i].url)].url)
	}
	return nil
}

// settle gives c the status it must have when the page at winner wins.
func (d *deduper) settle(tx *Tx, c *candidate, winner string) {
	dt := &c.rec.Datum
	switch {
	case waits(c.rec):
		return
	case c.url == winner && dt.Status != model.StatusDBDuplicate && dt.DuplicateOf == "":
		return
	case c.url == winner:
		if dt.Status == model.StatusDBDuplicate {
			dt.Status = model.StatusDBFetched
			d.stats.Lifted++
		}
		dt.DuplicateOf = ""
	case dt.Status == model.StatusDBDuplicate && dt.DuplicateOf == winner:
		return
	default:
		dt.Status, dt.DuplicateOf = model.StatusDBDuplicate, winner
		d.stats.Duplicates++
	}
	tx.Put(c.key, c.rec)
	tx.IndexDirty(c.key)
}
