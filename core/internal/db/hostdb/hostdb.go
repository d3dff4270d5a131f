// Package hostdb is the HostDB: what is known of every host, and which queues are
// held back.
//
// It owns host records (robots.txt copies, failures, the last request, look-ups of
// addresses, figures), counts per host, holds, and what expressions about hosts may name. The counts of URLs per status are written by package crawldb
// in the batches that change them; this package reads them. It must not know
// robots rules, queues' timing or how a hold comes about.
package hostdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// Robots is a stored robots.txt of one origin.
type Robots struct {
	Origin  string // scheme://host[:port], as urlkey.Origin
	Status  int    // HTTP status of the answer it stands for; 0 when there was none
	Body    []byte // as received, capped by the fetcher
	Fetched time.Time
	Expires time.Time
	Error   string // why the last attempt failed, "" when it did not
}

// Record is what the HostDB holds of a host.
type Record struct {
	Robots      []Robots // by origin, in ascending order
	Failures    int      // requests in a row that failed
	HoldUntil   time.Time
	HoldReason  string
	LastRequest time.Time
	Delay       time.Duration // crawl delay asked for by robots.txt, 0 when none
	Metadata    model.Metadata
	DNSFailures int       // checks in a row that found no address
	Checked     time.Time // the last of these checks; zero when there was none
	Score       int64     // given by the user or the link graph, micro-units
	Homepage    string    // URL of the host's first page, "" when it was not fetched
	Passed      *Passed   // nil when all URLs count
}

// Passed are the URLs of a host that passed normalizers and filters when
// updatehostdb was told to use them. They stand for Counts.URLs then.
type Passed struct {
	At   time.Time // when that updatehostdb began
	URLs map[model.Status]int64
}

// RobotsOf returns the robots.txt of origin, or nil.
func (r *Record) RobotsOf(origin string) *Robots {
	for i := range r.Robots {
		if r.Robots[i].Origin == origin {
			return &r.Robots[i]
		}
	}
	return nil
}

// SetRobots stores x in r, replacing what r has of its origin.
func (r *Record) SetRobots(x Robots) {
	for i := range r.Robots {
		if r.Robots[i].Origin == x.Origin {
			r.Robots[i] = x
			return
		}
		if r.Robots[i].Origin > x.Origin {
			r.Robots = append(r.Robots[:i], append([]Robots{x}, r.Robots[i:]...)...)
			return
		}
	}
	r.Robots = append(r.Robots, x)
}

// DB is the HostDB of an open store. Its methods are safe for concurrent use.
type DB struct{ s *store.Store }

// Open returns the HostDB of s.
func Open(s *store.Store) *DB { return &DB{s} }

const (
	recordVersion = 3 // 1 has nothing behind Metadata, 2 nothing behind Homepage
	holdVersion   = 1
)

// Update runs f as the only writer and commits durably; see store.Update.
func (db *DB) Update(ctx context.Context, f func(*store.Tx) error) error { return db.s.Update(ctx, f) }

// reversed is the form of a host in keys, so that a domain is a range.
func reversed(host string) string { return strings.TrimSuffix(string(urlkey.HostRange(host).Lo), ":") }

func hostKey(host string) []byte { return store.Key(store.PrefixHost, reversed(host)) }

// Get returns the record of host (lower case, as urlkey.Host), or nil.
func (db *DB) Get(host string) (*Record, error) {
	k := hostKey(host)
	v, err := db.s.Get(k)
	if err != nil || v == nil {
		return nil, err
	}
	return decode(k, v)
}

// GetTx is Get as tx would leave it.
func GetTx(tx *store.Tx, host string) (*Record, error) {
	k := hostKey(host)
	v, err := tx.Get(k)
	if err != nil || v == nil {
		return nil, err
	}
	return decode(k, v)
}

// Put stores r under host when tx commits.
func Put(tx *store.Tx, host string, r *Record) {
	b := []byte{recordVersion}
	b = store.AppendInt(b, int64(r.Failures))
	b = store.AppendTime(b, r.HoldUntil)
	b = store.AppendText(b, r.HoldReason)
	b = store.AppendTime(b, r.LastRequest)
	b = store.AppendInt(b, int64(r.Delay))
	b = store.AppendUint(b, uint64(len(r.Robots)))
	for i := range r.Robots {
		x := &r.Robots[i]
		b = store.AppendText(b, x.Origin)
		b = store.AppendInt(b, int64(x.Status))
		b = store.AppendText(b, x.Body)
		b = store.AppendTime(b, x.Fetched)
		b = store.AppendTime(b, x.Expires)
		b = store.AppendText(b, x.Error)
	}
	b = store.AppendMetadata(b, r.Metadata)
	b = store.AppendInt(b, int64(r.DNSFailures))
	b = store.AppendTime(b, r.Checked)
	b = store.AppendInt(b, r.Score)
	b = store.AppendText(b, r.Homepage)
	b = appendPassed(b, r.Passed)
	tx.Set(hostKey(host), b)
}

func decode(k, v []byte) (*Record, error) {
	d, version := store.NewDecoder(v, recordVersion)
	r := &Record{Failures: int(d.Int()), HoldUntil: d.Time(), HoldReason: d.Text(), LastRequest: d.Time(), Delay: time.Duration(d.Int())}
	for range d.Count(6) {
		r.Robots = append(r.Robots, Robots{
			Origin: d.Text(), Status: int(d.Int()), Body: d.Blob(), Fetched: d.Time(), Expires: d.Time(), Error: d.Text(),
		})
	}
	r.Metadata = d.Metadata()
	if version > 1 {
		r.DNSFailures, r.Checked, r.Score, r.Homepage = int(d.Int()), d.Time(), d.Int(), d.Text()
	}
	if version > 2 { //nolint:mnd // see recordVersion
		r.Passed = decodePassed(&d)
	}
	return r, d.Finish(k)
}

func appendPassed(b []byte, p *Passed) []byte {
	if p == nil {
		return store.AppendUint(b, 0)
	}
	b = store.AppendUint(b, uint64(len(p.URLs))+1)
	b = store.AppendTime(b, p.At)
	for _, st := range slices.Sorted(maps.Keys(p.URLs)) {
		b = store.AppendUint(b, uint64(st))
		b = store.AppendInt(b, p.URLs[st])
	}
	return b
}

func decodePassed(d *store.Decoder) *Passed {
	n := d.Count(1)
	if n == 0 {
		return nil
	}
	p := &Passed{At: d.Time(), URLs: make(map[model.Status]int64, n-1)}
	for range n - 1 {
		st := model.Status(d.Uint()) //nolint:gosec // an unknown one is shown as such
		p.URLs[st] = d.Int()
	}
	return p
}

// Counted returns c with the URLs that count: r, which may be nil, may say that
// only those do that passed filters.
func (r *Record) Counted(c Counts) Counts {
	if r != nil && r.Passed != nil {
		c.URLs = r.Passed.URLs
	}
	return c
}

// Counts are a host's totals.
type Counts struct {
	URLs     map[model.Status]int64 // URLs of the CrawlDB by status
	Requests int64                  // to the host, robots.txt included
	Failures int64                  // of them without an answer
	Bytes    int64                  // of content
	Millis   int64                  // spent waiting for answers, ms
}

// Ids of counts in the merged vector; below them are status codes.
const (
	idRequests = 64 + iota
	idFailures
	idBytes
	idMillis
)

// AddCounts adds c's totals to those of host when tx commits. URLs is ignored:
// package crawldb keeps it.
func AddCounts(tx *store.Tx, host string, c Counts) {
	var cs []store.Count
	for i, n := range [...]int64{c.Requests, c.Failures, c.Bytes, c.Millis} {
		if n != 0 {
			cs = append(cs, store.Count{ID: uint64(idRequests + i), N: n})
		}
	}
	if len(cs) > 0 {
		tx.Merge(store.Key(store.PrefixHostCount, reversed(host)), store.AppendCounts(nil, cs...))
	}
}

// Counts returns the totals of host.
func (db *DB) Counts(host string) (Counts, error) {
	k := store.Key(store.PrefixHostCount, reversed(host))
	v, err := db.s.Get(k)
	if err != nil {
		return Counts{}, err
	}
	return decodeCounts(k, v)
}

func decodeCounts(k, v []byte) (Counts, error) {
	c := Counts{URLs: make(map[model.Status]int64)}
	cs, err := store.DecodeCounts(k, v)
	for _, x := range cs {
		switch {
		case x.ID < idRequests && x.N != 0:
			c.URLs[model.Status(x.ID)] = x.N //nolint:gosec // below 64
		case x.ID == idRequests:
			c.Requests = x.N
		case x.ID == idFailures:
			c.Failures = x.N
		case x.ID == idBytes:
			c.Bytes = x.N
		case x.ID == idMillis:
			c.Millis = x.N
		}
	}
	return c, err
}

// Each calls f for every host that has counts or a record, in the order of
// reversed names, until f fails. rec is nil when the host has no record.
func (db *DB) Each(ctx context.Context, f func(host string, c Counts, rec *Record) error) (err error) {
	snap, err := db.s.Snapshot()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	recs, err := snap.Iter([]byte{store.PrefixHost}, []byte{store.PrefixHost + 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, recs.Close()) }()
	ok := recs.First()
	before := func(name string) error { // hosts with a record only
		for ; ok && string(recs.Key()[1:]) < name; ok = recs.Next() {
			rec, err := decode(recs.Key(), recs.Value())
			if err != nil {
				return err
			}
			if err := f(hostName(string(recs.Key()[1:])), Counts{}, rec); err != nil {
				return err
			}
		}
		return nil
	}
	err = store.Each(ctx, snap, []byte{store.PrefixHostCount}, func(k, v []byte) error {
		name := string(k[1:])
		if err := before(name); err != nil {
			return err
		}
		c, err := decodeCounts(k, v)
		if err != nil {
			return err
		}
		var rec *Record
		if ok && string(recs.Key()[1:]) == name {
			if rec, err = decode(recs.Key(), recs.Value()); err != nil {
				return err
			}
			ok = recs.Next()
		}
		return f(hostName(name), c, rec)
	})
	if err != nil {
		return err
	}
	return before("\xff")
}

// hostName undoes reversed.
func hostName(rev string) string { return urlkey.Key(rev + ":http/").Host() }

// Hold is a queue that must not be asked for pages until a time.
type Hold struct {
	Queue  string // as urlkey.QueueKey
	Until  time.Time
	Reason string
}

// PutHold holds a queue back when tx commits; a later one replaces it.
func PutHold(tx *store.Tx, h Hold) {
	b := store.AppendTime([]byte{holdVersion}, h.Until)
	tx.Set(store.Key(store.PrefixHold, h.Queue), store.AppendText(b, h.Reason))
}

// DropHold lets a queue go when tx commits.
func DropHold(tx *store.Tx, queue string) { tx.Delete(store.Key(store.PrefixHold, queue)) }

// Holds returns all holds, also those that ended, in the order of queues.
func (db *DB) Holds(ctx context.Context) ([]Hold, error) {
	var hs []Hold
	err := store.Each(ctx, db.s, []byte{store.PrefixHold}, func(k, v []byte) error {
		d, _ := store.NewDecoder(v, holdVersion)
		hs = append(hs, Hold{Queue: string(k[1:]), Until: d.Time(), Reason: d.Text()})
		return d.Finish(k)
	})
	if err != nil {
		return nil, fmt.Errorf("read holds: %w", err)
	}
	return hs, nil
}

// Held returns a function that says whether a queue is held at now, for
// crawldb's GenerateOptions. Holds that ended are removed. It also returns when the
// first of the others ends; zero when there is none.
func (db *DB) Held(ctx context.Context, now time.Time) (func(queue string) bool, time.Time, error) {
	hs, err := db.Holds(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	held := make(map[string]struct{}, len(hs))
	var over []Hold
	var next time.Time
	for _, h := range hs {
		if !h.Until.After(now) {
			over = append(over, h)
			continue
		}
		held[h.Queue] = struct{}{}
		if next.IsZero() || h.Until.Before(next) {
			next = h.Until
		}
	}
	if len(over) > 0 {
		err = db.s.UpdateNoSync(ctx, func(tx *store.Tx) error {
			for _, h := range over {
				DropHold(tx, h.Queue)
			}
			return nil
		})
	}
	return func(q string) bool { _, ok := held[q]; return ok }, next, err
}
