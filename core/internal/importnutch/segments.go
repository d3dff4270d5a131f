package importnutch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/hadoop"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// Bounds of the pages of one change of the store: their number, and the bytes of documents.
const (
	batchPages = 200
	batchBytes = 32 << 20
)

// seg is a segment that is being imported.
type seg struct {
	*job
	Segment
	meta  segment.Meta
	pages []page
	bytes int
}

// segment imports the segment number i.
func (j *job) segment(ctx context.Context, i int, parts segmentParts) (Segment, error) {
	s := &seg{job: j, Segment: Segment{ID: segmentID(j.src.Segments[i])}}
	s.meta = segment.Meta{ID: s.ID, Round: i + 1, Created: segmentTime(s.ID)}
	var err error
	for _, name := range parts[partGenerate] {
		if err = j.each(ctx, s.ID, name, func(*hadoop.File, string, []byte) error { s.Generated++; return nil }); err != nil {
			return s.Segment, err
		}
	}
	if len(parts[partFetch])+len(parts[partContent])+len(parts[partData]) == 0 {
		s.State = "left out"
		j.leave("segment "+s.ID, fmt.Sprintf("nothing of its %d URLs was fetched; they are due as they were", s.Generated), "")
		return s.Segment, nil
	}
	if err := s.join(ctx, parts); err != nil {
		return s.Segment, err
	}
	return s.Segment, s.finish(ctx, parts)
}

// segmentID returns the name of a segment's folder, as far as it can be the name of one of ours.
func segmentID(dir string) string {
	return regexp.MustCompile(`[^A-Za-z0-9._-]`).ReplaceAllString(filepath.Base(dir), "_")
}

// segmentTime returns the time that a segment is named by; zero for another name. Nutch writes local time, of which the zone is not known.
func segmentTime(id string) time.Time {
	const form = "20060102150405"
	if len(id) < len(form) {
		return time.Time{}
	}
	t, err := time.Parse(form, id[:len(form)])
	if err != nil {
		return time.Time{}
	}
	return t
}

// join reads the parts of the segment side by side.
func (s *seg) join(ctx context.Context, parts segmentParts) (err error) {
	names := []string{partFetch, partContent, partData, partText}
	streams := make([]*hadoop.Sorted, len(names))
	for i, part := range names {
		if streams[i], err = hadoop.OpenSorted(parts[part], s.o.Hadoop); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, streams[i].Close()) }()
	}
	for {
		key, more := "", false
		for _, st := range streams {
			k, ok, err := st.Peek()
			if err != nil {
				return err
			}
			if ok && (!more || k < key) {
				key, more = k, true
			}
		}
		if !more {
			for _, st := range streams {
				s.done += st.Bytes()
			}
			return s.flush(ctx)
		}
		p := page{url: key}
		for i, st := range streams {
			if err := s.take(names[i], st, &p); err != nil {
				return err
			}
		}
		if err := s.step(ctx, s.ID, streamBytes(streams)); err != nil {
			return err
		}
		if err := s.add(ctx, p); err != nil {
			return err
		}
	}
}

func streamBytes(streams []*hadoop.Sorted) (n int64) {
	for _, st := range streams {
		n += st.Bytes()
	}
	return n
}

// take reads the records of p's URL from one part. Of several the one that was fetched last counts, or the last one.
func (s *seg) take(part string, st *hadoop.Sorted, p *page) error {
	for {
		k, ok, err := st.Peek()
		if err != nil || !ok || k != p.url {
			return err
		}
		r, err := st.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := s.decode(part, r.Value, p); err != nil {
			return r.File.Wrong(fmt.Errorf("%s of %s: %w", part, p.url, err))
		}
	}
}

func (s *seg) decode(part string, value []byte, p *page) error {
	switch part {
	case partFetch:
		m, err := s.readDatum(value)
		if err != nil {
			return err
		}
		if m.Lost != "" {
			s.leave("metadata of a fetch", "a value, and what follows it, is of class "+m.Lost+", which can't be read", p.url)
		}
		if model.Status(m.Status) == model.StatusLinked {
			return nil // how the fetcher notes the target of a redirect, which the CrawlDb has
		}
		if p.fetch == nil || !m.FetchTime.Before(p.fetch.FetchTime) {
			p.fetch = &m
		}
	case partContent:
		c, err := s.readContent(value)
		if err != nil {
			return err
		}
		p.content = &c
	case partData:
		d, err := s.readParseData(value)
		if err != nil {
			return err
		}
		p.data = &d
	case partText:
		t, err := s.readParseText(value)
		p.text = t
		return err
	}
	return nil
}

func (s *seg) add(ctx context.Context, p page) error {
	if p.url == "" {
		s.leave("page of segment "+s.ID, "it has no URL", "")
		return nil
	}
	if p.fetch == nil && p.content == nil && p.data == nil {
		return nil
	}
	s.pages = append(s.pages, p)
	if p.content != nil {
		s.bytes += len(p.content.Body)
	}
	s.bytes += len(p.text)
	if len(s.pages) < batchPages && s.bytes < batchBytes {
		return nil
	}
	return s.flush(ctx)
}

// flush stores the pages that were collected.
func (s *seg) flush(ctx context.Context) error {
	pages := s.pages[:0]
	items := make([]segment.FetchItem, 0, len(s.pages))
	for i := range s.pages {
		p := &s.pages[i]
		it, ok := p.item(s.meta.Created)
		if !ok {
			s.leave("page of segment "+s.ID, fmt.Sprintf("status %d is none that a fetch ends with", p.fetch.Status), p.url)
			continue
		}
		s.count(p, &it)
		items, pages = append(items, it), append(pages, *p)
	}
	if s.dst != nil && len(items) > 0 {
		if err := s.dst.Segs.CommitFetches(ctx, s.ID, items, nil); err != nil {
			return err
		}
		if err := s.dst.DB.UpdateNoSync(ctx, func(tx *crawldb.Tx) error { return s.put(tx, pages, items) }); err != nil {
			return err
		}
	}
	clear(s.pages)
	s.pages, s.bytes = s.pages[:0], 0
	return nil
}

func (s *seg) count(p *page, it *segment.FetchItem) {
	s.Fetched++
	if p.content != nil {
		s.Documents++
		s.Bytes += int64(len(p.content.Body))
	}
	if p.data != nil {
		s.Parsed++
	}
	at := it.Fetch.FetchTime
	if s.meta.Started.IsZero() || at.Before(s.meta.Started) {
		s.meta.Started = at
	}
	if at.After(s.meta.Ended) {
		s.meta.Ended = at
	}
}

// put stores the pages' parses and what the segment tells of their records.
func (s *seg) put(tx *crawldb.Tx, pages []page, items []segment.FetchItem) error {
	keys := make([]urlkey.Key, len(pages))
	for i := range pages {
		keys[i] = urlkey.FromURL(pages[i].url)
	}
	if err := tx.Load(keys); err != nil {
		return err
	}
	for i := range pages {
		p, f := &pages[i], &items[i].Fetch
		if p.data != nil {
			segment.PutParse(tx.Tx, s.ID, keys[i], p.parsed(), f)
		}
		if err := s.relate(tx, keys[i], p, f); err != nil {
			return err
		}
	}
	return nil
}

// relate brings a page together with its record.
func (s *seg) relate(tx *crawldb.Tx, key urlkey.Key, p *page, f *segment.Fetch) error {
	rec, err := tx.Get(key)
	if err != nil {
		return err
	}
	if rec == nil {
		s.leave("page of segment "+s.ID, "its document is taken, but the CrawlDb has no record of it, so that it is not indexed", p.url)
		return nil
	}
	d := &rec.Datum
	if p.fetch != nil && !d.FetchTime.After(f.FetchTime) {
		// updatedb was not run since.
		given, err := tx.AddLease(s.ID, key, crawldb.Effect{})
		if given {
			s.Open++
		}
		return err
	}
	before, now := "", ""
	if d.Segment == "" && hasDocument(d.Status) && p.data != nil && p.data.Status.OK() {
		describe(d, f, s.ID)
		tx.IndexDirty(key)
		now = s.ID
	}
	if f.Status != model.StatusFetchRetry && d.Status != model.StatusDBUnfetched && f.FetchTime.After(d.PrevFetchTime) {
		d.PrevFetchTime = f.FetchTime
	}
	if s.hasLinks {
		before = now // the LinkDB has its links
	}
	tx.Put(key, rec)
	segment.MarkApplied(tx.Tx, s.ID, key, before, now)
	return nil
}

// finish stores the segment's meta data.
func (s *seg) finish(ctx context.Context, parts segmentParts) error {
	if s.meta.Created.IsZero() {
		s.meta.Created = s.meta.Started
	}
	switch {
	case s.Open > 0 && len(parts[partData]) == 0:
		s.meta.State = segment.StateFetched
	case s.Open > 0:
		s.meta.State = segment.StateParsed
	case s.hasLinks:
		s.meta.State = segment.StateInverted
	default:
		s.meta.State = segment.StateUpdated
	}
	s.State = string(s.meta.State)
	if len(parts[partData]) == 0 && s.Open == 0 {
		s.leave("segment "+s.ID, "it was not parsed, so that its documents are not indexed", "")
	}
	if s.dst == nil {
		s.State = ""
		return nil
	}
	if err := s.dst.Segs.CloseSegment(s.ID); err != nil {
		return err
	}
	return s.dst.Store.Update(ctx, func(tx *store.Tx) error {
		segment.PutMeta(tx, s.meta)
		segment.AddCounts(tx, s.ID, segment.Counts{Generated: max(s.Generated, s.Fetched) - s.Open})
		return nil
	})
}

// newer reports whether a was fetched after b, or is due after it.
func newer(a, b *model.CrawlDatum) bool {
	if !a.PrevFetchTime.Equal(b.PrevFetchTime) {
		return a.PrevFetchTime.After(b.PrevFetchTime)
	}
	return a.FetchTime.After(b.FetchTime)
}
