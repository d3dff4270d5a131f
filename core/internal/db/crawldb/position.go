package crawldb

import (
	"encoding/binary"
	"errors"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// Position is a record's place among those that a fetch list is made from.
type Position struct {
	// Ready says that the record is due and in no fetch list.
	Ready bool
	Ahead int // ready records of a better bucket of the sort value
	Equal int // further ones of its own bucket, among which the order is left open
	// Queue counts those of Ahead and Equal that share its host queue.
	Queue int
	More  bool // the counts ended at the limit
}

// Position looks for a record in the ready index, at most limit entries far.
func (db *DB) Position(key urlkey.Key, limit int) (p Position, err error) {
	rec, err := db.Get(key)
	if err != nil || rec == nil {
		return p, err
	}
	own := bucketOf(rec.Sort)
	url, err := urlkey.ToURL(key)
	if err != nil {
		url = string(key) // as queues.of does, which is for the writer only
	}
	hash := queueHash(urlkey.QueueKey(url, db.queues.mode, ""))
	p.Ready, err = db.s.Has(readyKey(nil, own, hash, key))
	if err != nil || !p.Ready {
		return p, err
	}
	end := []byte{store.PrefixReady + 1}
	if own < 255 {
		end = []byte{store.PrefixReady, own + 1}
	}
	it, err := db.s.Iter([]byte{store.PrefixReady}, end)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	n := 0
	for ok := it.First(); ok; ok = it.Next() {
		if n++; n > limit {
			p.More = true
			break
		}
		k := it.Key()
		switch {
		case string(k[readyHead:]) == string(key):
			continue
		case k[1] < own:
			p.Ahead++
		default:
			p.Equal++
		}
		if binary.BigEndian.Uint64(append([]byte{0, 0}, k[2:readyHead]...)) == hash {
			p.Queue++
		}
	}
	return p, nil
}

// Due is how many records are ready to be put into a fetch list.
type Due struct {
	Records int64
	Held    int64 // of these, in queues that held names
	Queues  int   // of all
	More    bool  // the counts ended at the limit
}

// Due counts the ready records, at most limit of them. held names the queues
// that may not be fetched from.
func (db *DB) Due(limit int64, held func(queue string) bool) (d Due, err error) {
	it, err := db.s.Iter([]byte{store.PrefixReady}, []byte{store.PrefixReady + 1})
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	isHeld := map[uint64]bool{}
	for ok := it.First(); ok; ok = it.Next() {
		if d.Records == limit {
			d.More = true
			break
		}
		k := it.Key()
		hash := binary.BigEndian.Uint64(append([]byte{0, 0}, k[2:readyHead]...))
		h, known := isHeld[hash]
		if !known {
			url, err := urlkey.ToURL(keyAfter(k, readyHead))
			h = err == nil && held(urlkey.QueueKey(url, db.queues.mode, ""))
			isHeld[hash] = h
			d.Queues++
		}
		d.Records++
		if h {
			d.Held++
		}
	}
	return d, nil
}
