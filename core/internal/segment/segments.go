package segment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Options configure the segments of a crawl directory.
type Options struct {
	MaxFileSize int64  // bytes after which a WARC file is closed; 0 is 1 GiB
	Level       int    // gzip level 1 to 9; 0 is 1
	Software    string // named in warcinfo records
	Operator    string // contact, named in warcinfo records; may be empty
	UserAgent   string // named in warcinfo records; may be empty
}

// Segments reads and writes the segments of one crawl directory. Its methods
// are safe for concurrent use.
type Segments struct {
	s *store.Store
	o Options

	holds    atomic.Int32 // see Hold
	deleting sync.Mutex   // held by Delete

	mu      sync.Mutex // guards writers
	writers map[string]*writer
	gz      sync.Pool
}

// Open makes the segments' files agree with the store (G2).
func Open(ctx context.Context, s *store.Store, o Options) (*Segments, error) {
	if o.MaxFileSize == 0 {
		o.MaxFileSize = 1 << 30
	}
	if o.Level == 0 {
		o.Level = 1
	}
	if o.Level < 1 || o.Level > 9 {
		return nil, fmt.Errorf("segment.warc_compression is %d, want 1 to 9", o.Level)
	}
	if o.Software == "" {
		o.Software = "crawler"
	}
	g := &Segments{s: s, o: o, writers: make(map[string]*writer)}
	if err := g.recover(ctx); err != nil {
		return nil, fmt.Errorf("open segments: %w", err)
	}
	return g, nil
}

// Close closes all WARC files. Nothing else may be running.
func (g *Segments) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for _, w := range g.writers {
		errs = append(errs, w.close())
	}
	clear(g.writers)
	return errors.Join(errs...)
}

// CloseSegment closes the segment's WARC file; a later CommitFetches opens a
// new one.
func (g *Segments) CloseSegment(seg string) error {
	g.mu.Lock()
	w := g.writers[seg]
	delete(g.writers, seg)
	g.mu.Unlock()
	if w == nil {
		return nil
	}
	return w.close()
}

// GetFetch returns the crawl_fetch record of key, or nil.
func (g *Segments) GetFetch(seg string, key urlkey.Key) (*Fetch, error) {
	return FetchOf(g.s, seg, key)
}

// FetchOf is Segments.GetFetch of a segment in r, which need not be open.
func FetchOf(r store.Reader, seg string, key urlkey.Key) (*Fetch, error) {
	k := PartKey(seg, PartFetch, key)
	v, err := r.Get(k)
	if err != nil || v == nil {
		return nil, err
	}
	f := new(Fetch)
	return f, decodeFetch(k, v, f)
}

// Want says which parts of a parse GetParse reads besides parse_data.
type Want struct{ Text, Outlinks, Parts bool }

// GetParse returns what was parsed of key, or nil.
func (g *Segments) GetParse(seg string, key urlkey.Key, want Want) (*Parsed, error) {
	return ParseOf(g.s, seg, key, want)
}

// ParseOf is Segments.GetParse of a segment in r, which need not be open.
func ParseOf(r store.Reader, seg string, key urlkey.Key, want Want) (*Parsed, error) {
	k := PartKey(seg, PartParseData, key)
	v, err := r.Get(k)
	if err != nil || v == nil {
		return nil, err
	}
	p := new(Parsed)
	if err := decodeParseData(k, v, p); err != nil {
		return nil, err
	}
	if want.Text {
		if p.Text, err = textOf(r, seg, key); err != nil {
			return nil, err
		}
	}
	if want.Outlinks {
		if p.Outlinks, err = outlinksOf(r, seg, key); err != nil {
			return nil, err
		}
	}
	if want.Parts {
		for i := range p.Parts {
			part, err := ParseOf(r, seg, urlkey.FromURL(p.Parts[i].URL), Want{Text: want.Text})
			if err != nil {
				return nil, err
			}
			if part != nil { // written in the same batch
				p.Parts[i].Parsed = *part
			}
		}
	}
	return p, nil
}

// Text returns the parse text of key, "" when there is none.
func (g *Segments) Text(seg string, key urlkey.Key) (string, error) { return textOf(g.s, seg, key) }

func textOf(r store.Reader, seg string, key urlkey.Key) (string, error) {
	k := PartKey(seg, PartParseText, key)
	v, err := r.Get(k)
	if err != nil || v == nil {
		return "", err
	}
	raw, err := unpack(k, v, textVersion)
	return string(raw), err
}

// Outlinks returns the accepted outlinks of key, nil when there are none.
func (g *Segments) Outlinks(seg string, key urlkey.Key) ([]Link, error) {
	return outlinksOf(g.s, seg, key)
}

func outlinksOf(r store.Reader, seg string, key urlkey.Key) ([]Link, error) {
	k := PartKey(seg, PartOutlinks, key)
	v, err := r.Get(k)
	if err != nil || v == nil {
		return nil, err
	}
	return decodeOutlinks(k, v)
}

// Has reports whether the segment's part has a record of key.
func (g *Segments) Has(seg string, part byte, key urlkey.Key) (bool, error) {
	return g.s.Has(PartKey(seg, part, key))
}

// Each calls f with the URL keys of a part, in key order, until f fails.
func (g *Segments) Each(ctx context.Context, seg string, part byte, f func(urlkey.Key) error) error {
	prefix := PartPrefix(seg, part)
	return store.Each(ctx, g.s, prefix, func(k, _ []byte) error { return f(urlkey.Key(k[len(prefix):])) })
}

// EachOf calls f with the URL keys that any of parts has, in key order, until f fails. It sees the
// segment as of the call.
func (g *Segments) EachOf(ctx context.Context, seg string, parts []byte, f func(urlkey.Key) error) (err error) {
	snap, err := g.s.Snapshot()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	its := make([]*store.Iter, len(parts))
	keys := make([]string, len(parts)) // of the present records; none is no record
	some := make([]bool, len(parts))
	prefix := len(PartPrefix(seg, 0))
	look := func(i int, ok bool) {
		if some[i] = ok; ok {
			keys[i] = string(its[i].Key()[prefix:])
		}
	}
	for i, part := range parts {
		p := PartPrefix(seg, part)
		if its[i], err = snap.Iter(p, store.After(p)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, its[i].Close()) }()
		look(i, its[i].First())
	}
	for {
		least := -1
		for i := range its {
			if some[i] && (least < 0 || keys[i] < keys[least]) {
				least = i
			}
		}
		if least < 0 {
			return nil
		}
		key := keys[least]
		for i := range its {
			if some[i] && keys[i] == key {
				look(i, its[i].Next())
			}
		}
		if err := errors.Join(ctx.Err(), f(urlkey.Key(key))); err != nil {
			return err
		}
	}
}

// EachFetch calls f with every crawl_fetch record of the segment, in key order.
func (g *Segments) EachFetch(ctx context.Context, seg string, f func(urlkey.Key, *Fetch) error) error {
	prefix := PartPrefix(seg, PartFetch)
	return store.Each(ctx, g.s, prefix, func(k, v []byte) error {
		rec := new(Fetch)
		if err := decodeFetch(k, v, rec); err != nil {
			return err
		}
		return f(urlkey.Key(k[len(prefix):]), rec)
	})
}

// Fetches goes through the crawl_fetch records of a segment in key order, one by one.
type Fetches struct {
	it     *store.Iter
	prefix int
	ok     bool
}

// NewFetches returns the records of a segment in r. Close it.
func NewFetches(r store.Reader, seg string) (*Fetches, error) {
	prefix := PartPrefix(seg, PartFetch)
	it, err := r.Iter(prefix, store.After(prefix))
	if err != nil {
		return nil, err
	}
	return &Fetches{it: it, prefix: len(prefix), ok: it.First()}, nil
}

// Key returns the key of the present record; false when there is none left.
func (f *Fetches) Key() (urlkey.Key, bool) {
	if !f.ok {
		return "", false
	}
	return urlkey.Key(f.it.Key()[f.prefix:]), true
}

// Fetch returns the present record.
func (f *Fetches) Fetch() (*Fetch, error) {
	rec := new(Fetch)
	return rec, decodeFetch(f.it.Key(), f.it.Value(), rec)
}

// Next goes on to the next record.
func (f *Fetches) Next() { f.ok = f.it.Next() }

// Close ends the walk and tells what went wrong.
func (f *Fetches) Close() error { return f.it.Close() }

// EachWithout calls f with the keys that are in part have but not in part not,
// in key order: fetched but not parsed, parsed but not applied.
func (g *Segments) EachWithout(ctx context.Context, seg string, have, not byte, f func(urlkey.Key) error) (err error) {
	snap, err := g.s.Snapshot()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	pn := PartPrefix(seg, not)
	it, err := snap.Iter(pn, store.After(pn))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	ok := it.First()
	ph := PartPrefix(seg, have)
	return store.Each(ctx, snap, ph, func(k, _ []byte) error {
		key := string(k[len(ph):])
		for ok && string(it.Key()[len(pn):]) < key {
			ok = it.Next()
		}
		if ok && string(it.Key()[len(pn):]) == key {
			return nil
		}
		return f(urlkey.Key(key))
	})
}

// Size returns the bytes that a segment takes: of its WARC files, and of its
// records in the store, which is an estimate that leaves out what is in memory.
func (g *Segments) Size(ctx context.Context, seg string) (warc, records int64, err error) {
	err = store.Each(ctx, g.s, store.Key2(store.PrefixWARC, seg, ""), func(k, v []byte) error {
		d := store.RawDecoder(v)
		warc += int64(d.Uint()) //nolint:gosec // written from an int64
		return d.Finish(k)
	})
	if err != nil {
		return 0, 0, err
	}
	parts := store.Key2(store.PrefixPart, seg, "")
	records, err = g.s.DiskUsage(parts, store.After(parts))
	return warc, records, err
}

// Delete removes a segment: its records and its files. Its leases must be gone. It is
// ErrHeld, and nothing is done, while Hold is in force.
func (g *Segments) Delete(ctx context.Context, seg string) error {
	g.deleting.Lock()
	defer g.deleting.Unlock()
	if g.holds.Load() > 0 {
		return fmt.Errorf("delete segment %s: %w", seg, ErrHeld)
	}
	if err := g.CloseSegment(seg); err != nil {
		return err
	}
	if err := Forget(ctx, g.s, seg); err != nil {
		return fmt.Errorf("delete segment %s: %w", seg, err)
	}
	if err := g.s.FS().RemoveAll(g.dir(seg)); err != nil {
		return fmt.Errorf("delete segment %s: %w", seg, err)
	}
	return nil
}

// Content is what plugins see of f with its payload.
func (f *Fetch) Content(body []byte) *model.Content { return f.content(body, f.Headers) }

// content is Content with other headers than those kept in the store.
func (f *Fetch) content(body []byte, headers model.Metadata) *model.Content {
	return &model.Content{
		URL: f.URL, Base: f.URL, Body: body, ContentType: f.ContentType, MIMEType: f.MIMEType,
		Truncated: f.Truncated, FetchTime: f.FetchTime, Headers: headers,
	}
}
