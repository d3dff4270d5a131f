package merge

import (
	"context"
	"errors"
	"strings"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/segmentmerge"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/model"
)

// flush copies the batch.
func (m *segments) flush(ctx context.Context) error {
	batch := m.batch
	m.batch, m.bytes = m.batch[:0], 0
	batch, err := m.judged(ctx, batch)
	if err != nil || len(batch) == 0 {
		return errors.Join(err, ctx.Err())
	}
	for len(batch) > 0 {
		n := int64(len(batch))
		if m.o.Slice > 0 {
			n = min(n, m.o.Slice-m.filled)
		}
		if n <= 0 || len(m.rep.Segments) == 0 {
			if err := m.begin(ctx); err != nil {
				return err
			}
			continue
		}
		if err := m.write(ctx, batch[:n]); err != nil {
			return err
		}
		batch = batch[n:]
	}
	if m.o.Progress != nil {
		m.o.Progress(m.rep.Fetches, float64(m.rep.Fetches)/float64(max(m.total, 1)))
	}
	return nil
}

// judged leaves out what filters reject, and gives the rest its URLs.
func (m *segments) judged(ctx context.Context, batch []version) ([]version, error) {
	if !m.o.Normalize && !m.o.Filter {
		return batch, nil
	}
	urls := make([]string, len(batch))
	for i := range batch {
		urls[i] = batch[i].fetch.URL
	}
	res, err := chain.Judge(ctx, m.Plugins, urlnormalizer.ScopeDefault, m.o.Normalize, m.o.Filter, urls)
	if err != nil {
		return nil, err
	}
	out := batch[:0]
	for i, r := range res {
		v := batch[i]
		switch {
		case r.Err != nil: // stays, as in Nutch
		case r.Dropped:
			m.rep.Rejected[r.Plugin]++
			continue
		case r.URL != v.fetch.URL:
			if v.as = urlkey.FromURL(r.URL); v.as == v.key {
				break
			}
			v.fetch.URL = r.URL
			stays, err := m.renamed(&v)
			if err != nil {
				return nil, err
			}
			if !stays {
				m.rep.Older++
				continue
			}
			m.rep.Renamed++
		}
		out = append(out, v)
	}
	if !m.o.Filter {
		return out, nil
	}
	return m.kept(ctx, out)
}

// renamed reports whether a version that got another URL stays: no input may have that URL itself, and none
// that was copied may be newer.
func (m *segments) renamed(v *version) (bool, error) {
	holder, err := m.holder(v.as)
	if err != nil || holder != nil {
		return false, err
	}
	for _, seg := range m.rep.Segments {
		f, err := m.segs.GetFetch(seg, v.as)
		if err != nil || f != nil && !v.fetch.FetchTime.After(f.FetchTime) {
			return false, err
		}
	}
	return true, nil
}

// kept asks the segment merge filters.
func (m *segments) kept(ctx context.Context, batch []version) ([]version, error) {
	in := make([]*segmentmerge.Record, len(batch))
	for i := range batch {
		v := &batch[i]
		p, err := segment.ParseOf(v.in.reader, v.in.Segment, v.key, segment.Want{Text: true, Outlinks: true})
		if err != nil {
			return nil, err
		}
		in[i] = &segmentmerge.Record{URL: v.fetch.URL, FetchStatus: v.fetch.Status, Signature: v.fetch.Signature, Parse: parseOf(v.fetch.URL, p), Metadata: v.fetch.Metadata}
	}
	keep, _, err := m.Plugins.KeepRecords(ctx, in) // what a filter fails on stays
	if err != nil {
		return nil, err
	}
	out := batch[:0]
	for i := range batch {
		if !keep[i] {
			m.rep.Rejected["segmentmerge"]++
			continue
		}
		out = append(out, batch[i])
	}
	return out, nil
}

func parseOf(url string, p *segment.Parsed) *model.Parse {
	if p == nil {
		return nil
	}
	out := &model.Parse{
		URL: url, Status: p.Status, Title: p.Title, Text: p.Text, Robots: p.Robots, Canonical: p.Canonical, Charset: p.Charset,
		Language: p.Language, ContentMeta: p.ContentMeta, ParseMeta: p.ParseMeta,
	}
	for _, l := range p.Outlinks {
		out.Outlinks = append(out.Outlinks, model.Outlink(l))
	}
	return out
}

// begin makes the next output. A process that dies leaves it as one whose making was not
// finished, which the next one removes.
func (m *segments) begin(ctx context.Context) error {
	if n := len(m.rep.Segments); n > 0 {
		if err := m.segs.CloseSegment(m.rep.Segments[n-1]); err != nil {
			return err
		}
	}
	s := m.DB.Store()
	id, err := segment.NewID(s, m.Now)
	if err != nil {
		return err
	}
	m.filled = 0
	m.rep.Segments = append(m.rep.Segments, id)
	return s.Update(ctx, func(tx *store.Tx) error {
		segment.PutMeta(tx, segment.Meta{ID: id, Round: m.round, State: segment.StateGenerating, Created: m.Now})
		return nil
	})
}

// discard removes an output that is not in use.
func (m *segments) discard(ctx context.Context, seg string) error {
	if err := m.segs.CloseSegment(seg); err != nil {
		return err
	}
	if _, err := m.DB.ReleaseAll(ctx, seg); err != nil {
		return err
	}
	return m.segs.Delete(ctx, seg)
}

// write copies versions into the present output.
func (m *segments) write(ctx context.Context, batch []version) error {
	seg := m.rep.Segments[len(m.rep.Segments)-1]
	copies := make([]segment.Copy, len(batch))
	for i := range batch {
		v, c := &batch[i], &copies[i]
		c.Fetch = *v.fetch
		c.Fetch.Metadata = v.fetch.Metadata.Clone()
		if v.fetch.WARC.File == "" {
			continue
		}
		var err error
		if c.Members, err = v.in.files.All(v.in.Segment, v.fetch.WARC, v.fetch.Metadata); err != nil {
			return err
		}
	}
	err := m.segs.CommitCopies(ctx, seg, copies, func(tx *store.Tx) error {
		for i := range batch {
			v := &batch[i]
			if err := segment.CopyParts(tx, v.in.reader, v.in.Segment, v.key, seg, v.as); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range batch {
		m.rep.Bytes += batch[i].fetch.Size
	}
	m.rep.Copied += int64(len(batch))
	m.filled += int64(len(batch))
	return nil
}

// settle puts the outputs into use: records of the CrawlDB get their content there.
func (m *segments) settle(ctx context.Context) error {
	for _, seg := range m.rep.Segments {
		if err := m.segs.CloseSegment(seg); err != nil {
			return err
		}
		before := m.rep.Leased
		m.settled++
		if err := segment.Change(ctx, m.DB.Store(), seg, func(x *segment.Meta) { x.State, x.Started, x.Ended = segment.StateParsed, m.Now, m.Now }); err != nil {
			return err
		}
		if err := m.settleOne(ctx, seg); err != nil {
			return err
		}
		state := m.state()
		if m.rep.Leased > before {
			continue // updatedb goes on
		}
		if err := segment.Change(ctx, m.DB.Store(), seg, func(x *segment.Meta) { x.State = state }); err != nil {
			return err
		}
	}
	return nil
}

// state is how far an output is of which nothing is left to updatedb.
func (m *segments) state() segment.State {
	s := segment.StateIndexed
	for _, in := range m.inputs {
		x := in.meta.State
		if !in.own() {
			x = segment.StateUpdated
		}
		if x.Before(s) {
			s = x
		}
	}
	return s
}

func (m *segments) settleOne(ctx context.Context, seg string) error {
	var keys []urlkey.Key
	flush := func() error {
		before := m.rep
		err := m.DB.Update(ctx, func(tx *crawldb.Tx) error {
			m.rep = before
			if err := tx.Load(keys); err != nil {
				return err
			}
			for _, k := range keys {
				if err := m.settleKey(tx, seg, k); err != nil {
					return err
				}
			}
			return nil
		})
		keys = keys[:0]
		return err
	}
	err := m.segs.Each(ctx, seg, segment.PartFetch, func(k urlkey.Key) error {
		if keys = append(keys, k); len(keys) < portion {
			return nil
		}
		return flush()
	})
	if err == nil && len(keys) > 0 {
		err = flush()
	}
	return err
}

// settleKey does for one URL what Segments promises.
func (m *segments) settleKey(tx *crawldb.Tx, seg string, key urlkey.Key) error {
	f, err := m.segs.GetFetch(seg, key)
	if err != nil {
		return err
	}
	rec, err := tx.Get(key)
	if err != nil {
		return err
	}
	for _, in := range m.inputs {
		if in.own() {
			if rec == nil || rec.Datum.Segment != in.Segment {
				continue
			}
			was, err := m.segs.GetFetch(in.Segment, key)
			if err != nil {
				return err
			}
			if was != nil && was.FetchTime.Equal(f.FetchTime) {
				rec.Datum.Segment = seg
				tx.Put(key, rec)
				m.rep.Moved++
			}
			return nil
		}
		was, err := segment.FetchOf(in.reader, in.Segment, key)
		if err != nil {
			return err
		}
		if was == nil || !was.FetchTime.Equal(f.FetchTime) {
			continue
		}
		return m.settleForeign(tx, in, seg, key, rec, f)
	}
	return nil
}

func pageOf(url string) string {
	page, _, _ := strings.Cut(url, "#")
	return page
}

func (m *segments) settleForeign(tx *crawldb.Tx, in *input, seg string, key urlkey.Key, rec *crawldb.Record, f *segment.Fetch) error {
	if rec != nil && m.lacks(rec, in, f) {
		rec.Datum.Segment = seg
		tx.Put(key, rec)
		segment.MarkApplied(tx.Tx, seg, key, "", seg)
		tx.IndexDirty(key)
		m.rep.Attached++
		return nil
	}
	if f.WARC.File == "" && segment.Inside(pageOf(f.URL), f.URL) || rec != nil && !f.FetchTime.After(rec.Datum.PrevFetchTime) {
		return nil // it comes with its page
	}
	if rec == nil {
		tx.Put(key, &crawldb.Record{Datum: model.CrawlDatum{Status: model.StatusDBUnfetched, FetchTime: m.Now, Interval: m.DB.DefaultInterval()}})
	}
	listed, err := m.segs.Has(seg, segment.PartGenerate, key)
	if err != nil {
		return err
	}
	leased, err := tx.AddLease(seg, key, crawldb.Effect{})
	if leased {
		m.rep.Leased++
		if listed { // counted when it was copied
			segment.AddCounts(tx.Tx, seg, segment.Counts{Generated: -1})
		}
	}
	return err
}
