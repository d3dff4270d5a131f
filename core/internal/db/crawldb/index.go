package crawldb

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

func sortStrings(s []string) { slices.Sort(s) }

// bucketOf quantises a sort value into 256 buckets, best first: four to each
// power of two, and the last for what is not positive. Records of one bucket
// differ by at most 19 % and count as equal for generate, which is what makes
// it independent of the size of the CrawlDB.
func bucketOf(sort int64) byte {
	if sort <= 0 {
		return 255
	}
	v := uint64(sort)
	e := bits.Len64(v) - 1 // 0..62
	var quarter int
	switch {
	case e >= 2:
		quarter = int(v>>(e-2)) & 3
	case e == 1:
		quarter = int(v&1) * 2
	}
	return byte(254 - (4*e + quarter))
}

// bucketMax returns the largest sort value of bucket b.
func bucketMax(b byte) int64 {
	if b == 255 {
		return 0
	}
	q := 254 - int(b)
	if q >= 251 {
		return 1<<63 - 1
	}
	e, quarter := q/4, q%4
	if e < 2 { // these powers of two have fewer than four values
		return int64(1)<<(e+1) - 1
	}
	return int64(1)<<e + int64(quarter+1)<<(e-2) - 1
}

// queueBits is how many bits of a queue name's hash are in a ready key. Two
// queues with the same bits would be counted as one.
const (
	queueBytes = 6
	queueMask  = 1<<(8*queueBytes) - 1
)

func queueHash(queue string) uint64 { return xxhash.Sum64String(queue) & queueMask }

// readyKey appends R, bucket, queue hash, key.
func readyKey(b []byte, bucket byte, queue uint64, key urlkey.Key) []byte {
	b = append(b, store.PrefixReady, bucket)
	b = appendQueue(b, queue)
	return append(b, key...)
}

func appendQueue(b []byte, queue uint64) []byte {
	var q [8]byte
	binary.BigEndian.PutUint64(q[:], queue<<16)
	return append(b, q[:queueBytes]...)
}

const readyHead = 2 + queueBytes // bytes of a ready key before the URL key

// minuteOf is the due minute of a record; before 1970 counts as 1970.
func minuteOf(t time.Time) uint32 {
	s := t.Unix()
	if s < 0 {
		return 0
	}
	return uint32(min(s/60, 1<<32-1)) //nolint:gosec // clamped
}

const waitHead = 1 + 4

// waitKey returns W, due minute, key.
func waitKey(minute uint32, key urlkey.Key) []byte {
	b := binary.BigEndian.AppendUint32([]byte{store.PrefixWait}, minute)
	return append(b, key...)
}

// mark is the watermark of invariant C2: a wait key without its prefix byte.
type mark []byte

func endOfMinute(minute uint32) mark {
	return append(binary.BigEndian.AppendUint32(nil, minute), 0xff)
}

func (m mark) minute() uint32 {
	if len(m) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(m)
}

// ready reports whether the entry of (minute, key) belongs in the ready index.
func (m mark) ready(minute uint32, key urlkey.Key) bool {
	if len(m) < 4 {
		return false
	}
	if mm := m.minute(); mm != minute {
		return minute < mm
	}
	return string(key) <= string(m[4:])
}

// hostOf returns the part of a key that all URLs of a host share: the reversed
// host. For opaque keys it is "!".
func hostOf(k urlkey.Key) string {
	s := string(k)
	if s != "" && s[0] == '!' {
		return s[:1]
	}
	from := 0
	if strings.HasPrefix(s, "[") {
		from = max(strings.IndexByte(s, ']'), 0)
	}
	if i := strings.IndexByte(s[from:], ':'); i >= 0 {
		return s[:from+i]
	}
	return s
}

// queues maps URL keys to queue names and hashes. It remembers the last hosts,
// because finding a registered domain is dear. Used under the writer lock only.
type queues struct {
	mode   urlkey.Mode
	byHost map[string]queueName
}

type queueName struct {
	name string
	hash uint64
}

const maxQueueNames = 1 << 15

func (q *queues) of(k urlkey.Key) queueName {
	host := hostOf(k)
	if n, ok := q.byHost[host]; ok && host != "" && host != "!" {
		return n
	}
	url, err := urlkey.ToURL(k)
	if err != nil {
		url = string(k)
	}
	n := queueName{name: urlkey.QueueKey(url, q.mode, "")}
	n.hash = queueHash(n.name)
	if len(q.byHost) >= maxQueueNames {
		clear(q.byHost)
	}
	q.byHost[strings.Clone(host)] = n
	return n
}

// indexKey returns the key of the record's entry in the ready or wait index.
func (db *DB) indexKey(k urlkey.Key, r *Record) []byte {
	minute := minuteOf(r.Datum.FetchTime)
	if db.mark.ready(minute, k) {
		return readyKey(nil, bucketOf(r.Sort), db.queues.of(k).hash, k)
	}
	return waitKey(minute, k)
}

func keyAfter(k []byte, head int) urlkey.Key { return urlkey.Key(k[head:]) }

func sameBytes(a, b []byte) bool { return bytes.Equal(a, b) }
