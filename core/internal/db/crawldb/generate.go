package crawldb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// GenerateOptions say what a fetch list is to hold.
type GenerateOptions struct {
	Segment     string            // id, from segment.NewID
	Round       int               // noted in the segment's meta data
	TopN        int               // most URLs; 0 is no limit
	MaxCount    int               // most URLs of one queue; 0 is no limit
	MinSort     int64             // least sort value, micro-units; see HasMinSort
	HasMinSort  bool              // whether MinSort counts
	MaxInterval time.Duration     // records with a longer fetch interval are left out; 0 is off (Nutch's generate.min.interval)
	Status      model.Status      // only records of this status; 0 is all
	Now         time.Time         // what is due is judged by it: the clock plus --adddays
	Created     time.Time         // for the segment's meta data; zero is Now
	Seed        uint64            // decides where in a bucket the scan starts; same seed, same list
	Held        func(string) bool // queue may not be fetched from now; nil holds none
	// Queue says what holds for a queue; it is asked once for each that is looked at.
	// nil lets the other options decide.
	Queue func(name string) (QueueRule, error)
	// Match is asked for each record that all else would take; nil takes all. The
	// record has what the fetch list has of it, and with Signatures its signature.
	Match      func(key urlkey.Key, r *Record) (bool, error)
	Signatures bool
}

// QueueRule is what holds for a queue.
type QueueRule struct {
	Reject   string // the reason why nothing is taken from it; "" when something is
	MaxCount int    // instead of GenerateOptions.MaxCount when it is not 0; negative is no limit
}

// Reasons in GenerateResult.Rejected.
const (
	RejectSchedule = "schedule"  // URLs not due yet, although ready by the minute
	RejectScore    = "min_score" // URLs below MinSort that were looked at
	RejectStatus   = "status"    // URLs of another status
	RejectInterval = "interval"  // URLs above MaxInterval
	RejectCount    = "max_count" // queues that had more than MaxCount
	RejectHeld     = "held"      // queues that are held
	RejectExpr     = "expr"      // URLs that Match refuses
	RejectHostExpr = "host_expr" // queues that generate.hostdb_expr refuses
	RejectSheet    = "sheet"     // queues whose sheet takes none
)

// GenerateResult says what a Generate did. Nothing selected means that no
// segment was made.
type GenerateResult struct {
	Selected int
	Queues   int // that Selected come from
	// Rejected counts URLs by reason; held and max_count count queues,
	// because their URLs are passed over unread.
	Rejected map[string]int64
	NextDue  time.Time // when the earliest record that is not due will be; zero when there is none
}

// longRun is how many neighbours in the ready index are deleted as a range. A range
// costs more than a point, but the next scan passes it at once, and a compaction
// writes one entry instead of many. With fewer neighbours than this, lists of
// many small queues would pile up ranges.
const longRun = 64

// Generate makes a fetch list: the best due records, at most TopN, at most
// MaxCount of a queue, none of a held queue. It leases them to the segment,
// stores their hints as the segment's crawl_generate, and makes the segment.
// The cost depends on what is selected and on the number of queues passed over,
// not on the size of the CrawlDB. "Best" is by bucket of the sort value (see
// bucketOf); within a bucket the queues are taken in the order of their hashes from an
// offset that the seed decides.
func (db *DB) Generate(ctx context.Context, o GenerateOptions) (GenerateResult, error) {
	s := &scan{db: db, o: o, counts: make(map[uint64]*queueState), res: GenerateResult{Rejected: make(map[string]int64)}}
	err := s.run(ctx)
	if err != nil {
		return s.res, fmt.Errorf("generate segment %s: %w", o.Segment, err)
	}
	return s.res, nil
}

// queueState is what a scan knows of one queue.
type queueState struct {
	selected int
	full     bool // counted in Rejected[max_count]
	closed   bool // nothing may be taken; counted in Rejected
	most     int  // that may be selected; 0 is no limit
}

// scan is one Generate.
type scan struct {
	db     *DB
	o      GenerateOptions
	counts map[uint64]*queueState
	res    GenerateResult

	bucket int  // the one being scanned; 256 is done
	second bool // scanning from the bucket's start to its offset
	inside bool // at is inside the bucket
	at     []byte
	minDue time.Time
	found  []gap // by this batch
}

func (s *scan) run(ctx context.Context) error {
	if s.o.Segment == "" {
		return errors.New("no segment id")
	}
	if s.o.TopN <= 0 {
		s.o.TopN = math.MaxInt
	}
	if s.o.Created.IsZero() {
		s.o.Created = s.o.Now
	}
	if err := s.db.demote(ctx, s.o.Now); err != nil {
		return err
	}
	if err := s.db.promote(ctx, s.o.Now); err != nil {
		return err
	}
	for first := len(s.at) <= readyHead; s.bucket < 256; first = false {
		err := s.db.s.Update(ctx, func(tx *store.Tx) error { return s.batch(ctx, tx, first) })
		if err != nil {
			return err
		}
	}
	var err error
	s.res.NextDue, err = s.db.nextDue()
	if s.res.NextDue.IsZero() || !s.minDue.IsZero() && s.minDue.Before(s.res.NextDue) {
		s.res.NextDue = s.minDue
	}
	return err
}

// batch selects a portion of URLs and writes them.
func (s *scan) batch(ctx context.Context, tx *store.Tx, first bool) (err error) {
	it, err := s.db.s.Iter([]byte{store.PrefixReady}, []byte{store.PrefixReady + 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	w := listWriter{tx: tx, seg: s.o.Segment}
	before := s.res.Selected
	s.found = s.found[:0]
	for s.bucket < 256 && s.res.Selected-before < s.db.size.generate {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.scanBucket(it, &w, before+s.db.size.generate); err != nil {
			return err
		}
	}
	w.endRun()
	n := s.res.Selected - before
	if s.res.Selected == 0 {
		return nil
	}
	meta := segment.Meta{ID: s.o.Segment, Round: s.o.Round, State: segment.StateGenerated, Created: s.o.Created}
	if s.bucket < 256 {
		meta.State = segment.StateGenerating
	}
	if first || s.bucket >= 256 {
		segment.PutMeta(tx, meta)
	}
	segment.AddCounts(tx, s.o.Segment, segment.Counts{Generated: int64(n)})
	tx.OnCommit(func() {
		s.db.mu.Lock()
		defer s.db.mu.Unlock()
		for _, key := range w.keys {
			s.db.addLease(s.o.Segment, key)
		}
		s.db.gaps.add(append(s.found, w.gone...))
	})
	return nil
}

// offset is where the scan of a bucket starts.
func (s *scan) offset() uint64 {
	x := s.o.Seed + uint64(s.bucket)*0x9e3779b97f4a7c15 //nolint:gosec // 0 to 255
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return (x ^ x>>31) & queueMask
}

// scanBucket goes on with the scan until the bucket's half ends or limit
// URLs are selected in all. It moves s to what is next.
func (s *scan) scanBucket(it *store.Iter, w *listWriter, limit int) error {
	if !s.inside {
		// Find the next bucket that has anything.
		if !s.seek(it, []byte{store.PrefixReady, byte(s.bucket)}) {
			s.bucket = 256
			return nil
		}
		s.bucket = int(it.Key()[1])
		if s.o.HasMinSort && bucketMax(byte(s.bucket)) < s.o.MinSort { //nolint:gosec // 0 to 255
			s.bucket = 256
			return nil
		}
		s.inside, s.second = true, false
		s.at = appendQueue([]byte{store.PrefixReady, byte(s.bucket)}, s.offset()) //nolint:gosec // 0 to 255
	}
	var end []byte
	if s.second {
		end = appendQueue([]byte{store.PrefixReady, byte(s.bucket)}, s.offset()) //nolint:gosec // 0 to 255
	} else {
		end = store.After([]byte{store.PrefixReady, byte(s.bucket)}) //nolint:gosec // 0 to 255
	}
	full, err := s.scanRange(it, end, w, limit)
	if err != nil || full {
		return err
	}
	w.endRun()
	if s.second {
		s.inside = false
		s.bucket++
	} else {
		s.second = true
		s.at = []byte{store.PrefixReady, byte(s.bucket)} //nolint:gosec // 0 to 255
	}
	return nil
}

// scanRange scans [s.at, end). It reports whether a limit was reached; s.at is
// where to go on then.
func (s *scan) scanRange(it *store.Iter, end []byte, w *listWriter, limit int) (bool, error) {
	var q *queueState
	var err error
	queue := uint64(math.MaxUint64)
	first := len(s.at) <= readyHead // nothing of a queue lies before what is found
	ok := s.seek(it, s.at)
	for ok && string(it.Key()) < string(end) {
		k := it.Key()
		if s.res.Selected >= s.o.TopN {
			s.bucket = 256
			return true, nil
		}
		if s.res.Selected >= limit {
			s.at = append(s.at[:0], k...)
			return true, nil
		}
		if h := queueOf(k); h != queue {
			first = first || queue != math.MaxUint64
			queue = h
			if q, err = s.queue(h, k); err != nil {
				return false, err
			}
		}
		if q.closed || q.most > 0 && q.selected >= q.most {
			if !q.closed && !q.full {
				q.full = true
				s.res.Rejected[RejectCount]++
			}
			w.endRun()
			if queue == queueMask {
				break // the bucket's last queue
			}
			ok = s.seek(it, appendQueue(append(s.at[:0], k[:2]...), queue+1))
			continue
		}
		d, _ := store.NewDecoder(it.Value(), hintVersion)
		p := peekHint(&d)
		if d.Err() != nil {
			return false, store.Corrupt(k, d.Err())
		}
		reason := s.reject(&p)
		if reason == "" && s.o.Match != nil {
			if reason, err = s.match(k, it.Value()); err != nil {
				return false, err
			}
		}
		if reason != "" {
			s.res.Rejected[reason]++
			w.endRun()
			first = false
		} else {
			if q.selected == 0 {
				s.res.Queues++
			}
			q.selected++
			s.res.Selected++
			w.add(k, it.Value(), first)
		}
		ok = it.Next()
	}
	return false, nil
}

// seek moves it to the first entry from k on.
func (s *scan) seek(it *store.Iter, k []byte) bool {
	lo := string(k)
	if !it.Seek(s.db.gaps.past(k)) {
		return false
	}
	s.found = append(s.found, gap{lo, string(it.Key())})
	return true
}

func queueOf(k []byte) uint64 {
	var b [8]byte
	copy(b[2:], k[2:readyHead])
	return binary.BigEndian.Uint64(b[:])
}

func (s *scan) queue(h uint64, k []byte) (*queueState, error) {
	q := s.counts[h]
	if q != nil {
		return q, nil
	}
	q = &queueState{most: s.o.MaxCount}
	s.counts[h] = q
	if s.o.Held == nil && s.o.Queue == nil {
		return q, nil
	}
	name := s.db.queues.of(keyAfter(k, readyHead)).name
	if s.o.Held != nil && s.o.Held(name) {
		q.closed = true
		s.res.Rejected[RejectHeld]++
		return q, nil
	}
	if s.o.Queue == nil {
		return q, nil
	}
	rule, err := s.o.Queue(name)
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", name, err)
	}
	if rule.MaxCount != 0 {
		q.most = max(rule.MaxCount, 0)
	}
	if rule.Reject != "" {
		q.closed = true
		s.res.Rejected[rule.Reject]++
	}
	return q, nil
}

// match asks Match about the record of a ready key; it returns why it is left out, or "".
func (s *scan) match(k, hint []byte) (string, error) {
	var h FetchHint
	if err := decodeHint(k, hint, &h); err != nil {
		return "", err
	}
	key := keyAfter(k, readyHead)
	r := &Record{Sort: h.Sort, Datum: model.CrawlDatum{
		Status: h.Status, FetchTime: h.FetchTime, PrevFetchTime: h.PrevFetchTime, ModifiedTime: h.ModifiedTime, Retries: h.Retries,
		Interval: h.Interval, FixedInterval: h.FixedInterval, Score: h.Score, Fields: h.Fields, ETag: h.ETag, LastModified: h.LastModified, Metadata: h.Metadata,
	}}
	if s.o.Signatures {
		whole, err := s.db.Get(key)
		if err != nil {
			return "", err
		}
		if whole != nil {
			r = whole
		}
	}
	ok, err := s.o.Match(key, r)
	if err != nil || ok {
		return "", err
	}
	return RejectExpr, nil
}

// reject returns why the record is left out, or "".
func (s *scan) reject(p *peek) string {
	switch {
	case p.due.After(s.o.Now):
		if s.minDue.IsZero() || p.due.Before(s.minDue) {
			s.minDue = p.due
		}
		return RejectSchedule
	case s.o.HasMinSort && p.sort < s.o.MinSort:
		return RejectScore
	case s.o.Status != 0 && p.status != s.o.Status:
		return RejectStatus
	case s.o.MaxInterval > 0 && p.interval > s.o.MaxInterval:
		return RejectInterval
	}
	return ""
}
