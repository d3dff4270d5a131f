package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// State says how far a segment is.
type State string

// The states of a segment, in order.
const (
	StateGenerating State = "generating" // its fetch list is being written in several batches
	StateGenerated  State = "generated"
	StateFetched    State = "fetched"
	StateParsed     State = "parsed"
	StateUpdated    State = "updated"
	StateInverted   State = "inverted"
	StateIndexed    State = "indexed"
)

// Before reports whether s comes before o in the life of a segment.
func (s State) Before(o State) bool {
	order := []State{StateGenerating, StateGenerated, StateFetched, StateParsed, StateUpdated, StateInverted, StateIndexed}
	return slices.Index(order, s) < slices.Index(order, o)
}

// Meta describes a segment.
type Meta struct {
	ID      string // yyyyMMddHHmmss in UTC, -n appended when taken
	Round   int
	State   State
	Created time.Time
	Started time.Time // first fetch
	Ended   time.Time // last step so far
	Counts  Counts    // kept apart, by merging; ignored by PutMeta
}

// Counts are a segment's totals.
type Counts struct {
	Generated, Released, Fetched, Failed, Parsed, ParseFailed, Updated, Indexed, Bytes int64
}

func (c *Counts) fields() [9]*int64 {
	return [...]*int64{
		&c.Generated, &c.Released, &c.Fetched, &c.Failed, &c.Parsed, &c.ParseFailed,
		&c.Updated, &c.Indexed, &c.Bytes,
	}
}

// AddCounts adds c to the segment's totals when tx commits.
func AddCounts(tx *store.Tx, seg string, c Counts) {
	var space [9]store.Count
	cs := space[:0]
	for i, p := range c.fields() {
		if *p != 0 {
			cs = append(cs, store.Count{ID: uint64(i), N: *p})
		}
	}
	if len(cs) > 0 {
		tx.Merge(store.Key(store.PrefixSegCount, seg), store.AppendCounts(nil, cs...))
	}
}

func readCounts(r store.Reader, seg string) (Counts, error) {
	k := store.Key(store.PrefixSegCount, seg)
	v, err := r.Get(k)
	if err != nil {
		return Counts{}, err
	}
	cs, err := store.DecodeCounts(k, v)
	if err != nil {
		return Counts{}, err
	}
	var c Counts
	f := c.fields()
	for _, x := range cs {
		if x.ID < uint64(len(f)) {
			*f[x.ID] = x.N
		}
	}
	return c, nil
}

// Letters of the parts of a segment.
const (
	PartGenerate  byte = 'g' // crawl_generate: package crawldb's FetchHint
	PartFetch     byte = 'f' // crawl_fetch
	PartParseData byte = 'd' // parse_data
	PartParseText byte = 't' // parse_text
	PartOutlinks  byte = 'o'
	PartApplied   byte = 'u' // marker: its effects are in the CrawlDB
)

// PartPrefix returns what all keys of a part start with.
func PartPrefix(seg string, part byte) []byte {
	return append(store.Key2(store.PrefixPart, seg, ""), part)
}

// PartKey returns where a URL's record of a part is stored.
func PartKey(seg string, part byte, key urlkey.Key) []byte {
	b := make([]byte, 0, len(seg)+len(key)+3)
	b = append(b, store.PrefixPart)
	b = append(append(b, seg...), 0, part)
	return append(b, key...)
}

const metaVersion = 1

// PutMeta stores m when tx commits. Counts are not stored; see AddCounts.
func PutMeta(tx *store.Tx, m Meta) {
	b := []byte{metaVersion}
	b = store.AppendInt(b, int64(m.Round))
	b = store.AppendText(b, string(m.State))
	b = store.AppendTime(b, m.Created)
	b = store.AppendTime(b, m.Started)
	b = store.AppendTime(b, m.Ended)
	tx.Set(store.Key(store.PrefixSegment, m.ID), b)
}

func decodeMeta(k, v []byte) (Meta, error) {
	d, _ := store.NewDecoder(v, metaVersion)
	m := Meta{ID: string(k[1:]), Round: int(d.Int()), State: State(d.Text())}
	m.Created, m.Started, m.Ended = d.Time(), d.Time(), d.Time()
	return m, d.Finish(k)
}

// GetMeta returns the segment's meta data with counts; false when there is no
// such segment.
func GetMeta(r store.Reader, seg string) (Meta, bool, error) {
	k := store.Key(store.PrefixSegment, seg)
	v, err := r.Get(k)
	if err != nil || v == nil {
		return Meta{}, false, err
	}
	m, err := decodeMeta(k, v)
	if err != nil {
		return m, true, err
	}
	m.Counts, err = readCounts(r, seg)
	return m, true, err
}

// List returns all segments with counts, oldest first.
func List(ctx context.Context, r store.Reader) ([]Meta, error) {
	var out []Meta
	err := store.Each(ctx, r, []byte{store.PrefixSegment}, func(k, v []byte) error {
		m, err := decodeMeta(k, v)
		if err != nil {
			return err
		}
		m.Counts, err = readCounts(r, m.ID)
		out = append(out, m)
		return err
	})
	return out, err
}

// Change reads the segment's meta data, lets f change it and stores it.
func Change(ctx context.Context, s *store.Store, seg string, f func(*Meta)) error {
	return s.Update(ctx, func(tx *store.Tx) error {
		k := store.Key(store.PrefixSegment, seg)
		v, err := tx.Get(k)
		if err != nil {
			return err
		}
		if v == nil {
			return fmt.Errorf("segment %s: %w", seg, ErrNoSegment)
		}
		m, err := decodeMeta(k, v)
		if err != nil {
			return err
		}
		f(&m)
		PutMeta(tx, m)
		return nil
	})
}

// ErrNoSegment says that there is no segment of that id.
var ErrNoSegment = errors.New("no such segment")

// NewID returns an unused segment id for the time now.
func NewID(r store.Reader, now time.Time) (string, error) {
	base := now.UTC().Format("20060102150405")
	id := base
	for n := 1; ; n++ {
		v, err := r.Get(store.Key(store.PrefixSegment, id))
		if err != nil || v == nil {
			return id, err
		}
		id = fmt.Sprintf("%s-%d", base, n)
	}
}

// Forget removes the segment's records. Its leases must be gone; its WARC files
// stay (see Segments.Delete).
func Forget(ctx context.Context, s *store.Store, seg string) error {
	return s.Update(ctx, func(tx *store.Tx) error {
		for _, prefix := range [][]byte{
			store.Key2(store.PrefixPart, seg, ""), store.Key2(store.PrefixWARC, seg, ""),
		} {
			tx.DeleteRange(prefix, store.After(prefix))
		}
		tx.Delete(store.Key(store.PrefixSegment, seg))
		tx.Delete(store.Key(store.PrefixSegCount, seg))
		return nil
	})
}
