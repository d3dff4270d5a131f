package crawldb

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// Position is a record's place among those that a fetch list is made from.
type Position struct {
	// Ready says that the record is due and in no fetch list.
	Ready bool
	Ahead int // due records of a better bucket of the sort value
	Equal int // further ones of its own bucket, among which the order is left open
	// Queue counts those of Ahead and Equal that share its host queue.
	Queue int
	More  bool // the counts ended at the limit
}

// Position looks for a record among those that are due at now, at most limit of them.
func (db *DB) Position(key urlkey.Key, now time.Time, limit int64) (p Position, err error) {
	rec, err := db.Get(key)
	if err != nil || rec == nil || rec.Datum.FetchTime.After(now) {
		return p, err
	}
	own, hash := bucketOf(rec.Sort), queueHash(db.queueOf(key))
	p.Ready, err = db.s.Has(readyKey(nil, own, hash, key))
	if err == nil && !p.Ready {
		p.Ready, err = db.s.Has(waitKey(minuteOf(rec.Datum.FetchTime), key))
	}
	if err != nil || !p.Ready {
		return p, err
	}
	p.More, err = db.unlisted(now, limit, own, func(e *unlisted) bool {
		switch {
		case e.due.After(now) || e.bucket > own || e.key == key:
			return true
		case e.bucket < own:
			p.Ahead++
		default:
			p.Equal++
		}
		if e.queue(db) == hash {
			p.Queue++
		}
		return true
	})
	return p, err
}

// Due is how many records are due and in no fetch list.
type Due struct {
	Records int64
	Held    int64 // of these, in queues that held names
	Queues  int   // of all
	More    bool  // the counts ended at the limit
}

// Due counts the records that a fetch list made at now could take: those of the
// ready index that are due, and those of the wait index whose time has come
// since. It looks at at most limit records. held names the queues that may not be
// fetched from.
func (db *DB) Due(now time.Time, limit int64, held func(queue string) bool) (d Due, err error) {
	isHeld := map[uint64]bool{}
	d.More, err = db.unlisted(now, limit, 255, func(e *unlisted) bool {
		if e.due.After(now) {
			return true
		}
		hash := e.queue(db)
		h, known := isHeld[hash]
		if !known {
			h = held(db.queueOf(e.key))
			isHeld[hash] = h
			d.Queues++
		}
		d.Records++
		if h {
			d.Held++
		}
		return true
	})
	return d, err
}

// dueLooks is how many records NextDue looks at for one that is due.
const dueLooks = 100_000

// NextDue returns when a record that is in no fetch list is due: a time that is not after
// now when one is due already, else the earliest of all times; zero when no
// schedule brings a record back.
func (db *DB) NextDue(now time.Time) (next time.Time, err error) {
	next, err = db.nextDue()
	if err != nil || !next.IsZero() && !next.After(now) {
		return next, err
	}
	_, err = db.unlisted(now, dueLooks, 255, func(e *unlisted) bool {
		if next.IsZero() || e.due.Before(next) {
			next = e.due
		}
		return next.After(now)
	})
	return next, err
}

// unlisted is a record that is in no fetch list, as the ready or the wait index has it.
type unlisted struct {
	key    urlkey.Key
	due    time.Time
	bucket byte
	hash   uint64 // of the queue; of the ready index only
	ready  bool
}

// queue returns the hash of the record's queue.
func (e *unlisted) queue(db *DB) uint64 {
	if e.ready {
		return e.hash
	}
	return queueHash(db.queueOf(e.key))
}

// unlisted calls f for each record of the ready index from the best bucket to last (some
// are not due yet after a Generate for a later time), then for those that wait
// for now's minute or one before, until f returns false. It reports whether limit
// ended it.
func (db *DB) unlisted(now time.Time, limit int64, last byte, f func(e *unlisted) bool) (more bool, err error) {
	n, ended := int64(0), false
	walk := func(lo, hi []byte, entry func(k []byte, p *peek) unlisted) (err error) {
		it, err := db.s.Iter(lo, hi)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, it.Close()) }()
		for ok := it.First(); ok && !ended; ok = it.Next() {
			if n == limit {
				more, ended = true, true
				break
			}
			n++
			d, _ := store.NewDecoder(it.Value(), hintVersion)
			p := peekHint(&d)
			if d.Err() != nil {
				return store.Corrupt(it.Key(), d.Err())
			}
			e := entry(it.Key(), &p)
			e.due = p.due
			ended = !f(&e)
		}
		return nil
	}
	err = walk([]byte{store.PrefixReady}, store.After([]byte{store.PrefixReady, last}), func(k []byte, _ *peek) unlisted {
		hash := binary.BigEndian.Uint64(append([]byte{0, 0}, k[2:readyHead]...))
		return unlisted{key: keyAfter(k, readyHead), bucket: k[1], hash: hash, ready: true}
	})
	if err == nil && !ended {
		err = walk([]byte{store.PrefixWait}, append([]byte{store.PrefixWait}, endOfMinute(minuteOf(now))...), func(k []byte, p *peek) unlisted {
			return unlisted{key: keyAfter(k, waitHead), bucket: bucketOf(p.sort)}
		})
	}
	return more, err
}

// queueOf is queues.of's name, which is for the writer only.
func (db *DB) queueOf(key urlkey.Key) string {
	url, err := urlkey.ToURL(key)
	if err != nil {
		url = string(key)
	}
	return urlkey.QueueKey(url, db.queues.mode, "")
}
