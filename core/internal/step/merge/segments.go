package merge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// Input is a segment that is merged.
type Input struct {
	Source         // where it is; the zero Source is this crawl
	Segment string // id
}

func (in *Input) own() bool { return in.Store == nil }

// SegmentOptions say how segments are merged.
type SegmentOptions struct {
	Options
	// Slice are the URLs of one output segment; 0 is all in one.
	Slice int64
}

// SegmentReport says what a merge of segments did.
type SegmentReport struct {
	Segments []string `json:"segments"` // that were made, in order
	Merged   int      `json:"merged"`   // segments that were read
	Fetches  int64    `json:"fetches"`  // their records
	Copied   int64    `json:"copied"`
	Older    int64    `json:"older"`    // a newer fetch of the URL was copied
	Failed   int64    `json:"failed"`   // retries and answers "not modified", which bring nothing
	Unneeded int64    `json:"unneeded"` // of another crawl, and older than what this one knows
	Renamed  int64    `json:"renamed"`
	Rejected Rejected `json:"rejected,omitempty"`
	Bytes    int64    `json:"bytes"` // of documents
	Moved    int64    `json:"moved"` // records of the CrawlDB whose content is in the new segments now
	// Attached are records that were known and had no content in this crawl yet, and Leased those
	// that updatedb is to apply.
	Attached int64 `json:"attached"`
	Leased   int64 `json:"leased"`
}

// Segments makes new segments with the newest fetch of each URL that inputs have: by its time,
// then by the segment's name. Failed fetches and answers "not modified" don't count, as in
// Nutch. The inputs stay; records of the CrawlDB that had their content in one have it in the new ones
// then, so that prune can remove what was merged. Of inputs of another crawl only those
// fetches are copied that are news here: a record without content gets it at once, other
// URLs are left to updatedb.
func Segments(ctx context.Context, d Deps, segs *segment.Segments, inputs []Input, o SegmentOptions) (SegmentReport, error) {
	m := &segments{Deps: d, segs: segs, o: o, rep: SegmentReport{Segments: []string{}, Merged: len(inputs), Rejected: Rejected{}}}
	err := m.open(ctx, inputs)
	if err == nil {
		err = m.copyAll(ctx)
	}
	err = errors.Join(err, m.close())
	if err == nil {
		err = m.settle(ctx)
	}
	if err != nil {
		for _, seg := range m.rep.Segments[m.settled:] { // nothing depends on them
			err = errors.Join(err, m.discard(context.WithoutCancel(ctx), seg))
		}
		return m.rep, fmt.Errorf("merge segments: %w", err)
	}
	return m.rep, nil
}

// input is an Input that is being read.
type input struct {
	Input
	meta    segment.Meta
	reader  store.Reader
	fetches *segment.Fetches
	files   *segment.Reader
}

// segments is one merge of segments.
type segments struct {
	Deps
	segs    *segment.Segments
	o       SegmentOptions
	rep     SegmentReport
	inputs  []*input
	round   int
	settled int   // of rep.Segments; what was made before is in use
	filled  int64 // URLs of the present output
	total   int64 // fetches of the inputs
	batch   []version
	bytes   int64
}

// version is a fetch of a URL in an input.
type version struct {
	in    *input
	key   urlkey.Key
	fetch *segment.Fetch
	as    urlkey.Key // key in the output
}

// open checks the inputs and begins to read them.
func (m *segments) open(ctx context.Context, inputs []Input) error {
	s := m.DB.Store()
	for _, x := range inputs {
		in := &input{Input: x, reader: s}
		if !x.own() {
			in.reader = x.Store
		} else {
			x.Store = s
		}
		var ok bool
		var err error
		if in.meta, ok, err = segment.GetMeta(in.reader, x.Segment); err != nil {
			return err
		}
		if !ok {
			return fault.Errorf(fault.Invalid, "there is no segment %q; \"crawler readseg --list\" shows them", x.Segment)
		}
		if err := m.ready(ctx, in); err != nil {
			return err
		}
		in.files = segment.NewReader(x.Store.FS(), x.Store.SegmentsDir())
		m.inputs = append(m.inputs, in)
		if in.fetches, err = segment.NewFetches(in.reader, x.Segment); err != nil {
			return err
		}
		m.round, m.total = max(m.round, in.meta.Round), m.total+in.meta.Counts.Fetched
	}
	return nil
}

// ready says why a segment can't be merged yet.
func (m *segments) ready(ctx context.Context, in *input) error {
	n := 0
	err := store.Each(ctx, in.reader, store.Key2(store.PrefixLease, in.Segment, ""), func(_, _ []byte) error {
		n++
		return nil
	})
	need := segment.StateInverted
	if !in.own() {
		need = segment.StateUpdated
	}
	switch {
	case err != nil:
		return err
	case n > 0:
		return fault.Errorf(fault.Invalid, "segment %s is not done: %d URLs of its fetch list are left; crawler run goes on with them", in.Segment, n)
	case in.meta.State.Before(need):
		return fault.Errorf(fault.Invalid, "segment %s is %s, and has to be %s before it is merged", in.Segment, in.meta.State, need)
	}
	return nil
}

func (m *segments) close() error {
	var errs []error
	for _, in := range m.inputs {
		errs = append(errs, in.files.Close())
		if in.fetches != nil {
			errs = append(errs, in.fetches.Close())
		}
	}
	return errors.Join(errs...)
}

// copyAll goes through all inputs at once, in key order.
func (m *segments) copyAll(ctx context.Context) error {
	for {
		key, any := urlkey.Key(""), false
		for _, in := range m.inputs {
			if k, ok := in.fetches.Key(); ok && (!any || k < key) {
				key, any = k, true
			}
		}
		if !any {
			break
		}
		v, err := m.newest(key)
		if err != nil {
			return err
		}
		if v != nil {
			if v, err = m.wanted(v); err != nil {
				return err
			}
		}
		if v != nil {
			m.batch = append(m.batch, *v)
			m.bytes += v.fetch.Size
		}
		if len(m.batch) >= portion/4 || m.bytes >= batchBytes {
			if err := m.flush(ctx); err != nil {
				return err
			}
		}
	}
	return m.flush(ctx)
}

// batchBytes bounds the documents that are copied together.
const batchBytes = 16 << 20

// newest takes key's fetches off the inputs and returns the one that stays, or nil.
func (m *segments) newest(key urlkey.Key) (*version, error) {
	var best *version
	for _, in := range m.inputs {
		if k, ok := in.fetches.Key(); !ok || k != key {
			continue
		}
		f, err := in.fetches.Fetch()
		if err != nil {
			return nil, err
		}
		in.fetches.Next()
		m.rep.Fetches++
		v := &version{in: in, key: key, fetch: f, as: key}
		switch {
		case !counts(f):
			m.rep.Failed++
		case best == nil:
			best = v
		default:
			m.rep.Older++
			if v.newer(best) {
				best = v
			}
		}
	}
	return best, nil
}

// counts reports whether a fetch tells anything of the document (nutch.md 6.17).
func counts(f *segment.Fetch) bool {
	return f.Status != model.StatusFetchRetry && f.Status != model.StatusFetchNotModified
}

func (v *version) newer(than *version) bool {
	if c := v.fetch.FetchTime.Compare(than.fetch.FetchTime); c != 0 {
		return c > 0
	}
	return v.in.Segment > than.in.Segment
}

// wanted drops what would be copied in vain. What is inside a page belongs to the version of the page
// that stays.
func (m *segments) wanted(v *version) (*version, error) {
	if page, _, ok := strings.Cut(v.fetch.URL, "#"); ok && v.fetch.WARC.File == "" {
		in, err := m.holder(urlkey.FromURL(page))
		if err != nil {
			return nil, err
		}
		if in != nil && in != v.in {
			m.rep.Older++
			return nil, nil
		}
	}
	if v.in.own() {
		return v, nil
	}
	rec, err := m.DB.Get(v.key)
	if err != nil {
		return nil, err
	}
	if rec != nil && !m.lacks(rec, v.in, v.fetch) && !v.fetch.FetchTime.After(rec.Datum.PrevFetchTime) {
		m.rep.Unneeded++
		return nil, nil
	}
	return v, nil
}

// holder returns the input whose version of a page stays, or nil.
func (m *segments) holder(page urlkey.Key) (*input, error) {
	var best *version
	for _, in := range m.inputs {
		f, err := segment.FetchOf(in.reader, in.Segment, page)
		if err != nil {
			return nil, err
		}
		if f == nil || !counts(f) {
			continue
		}
		if v := (&version{in: in, fetch: f}); best == nil || v.newer(best) {
			best = v
		}
	}
	if best == nil {
		return nil, nil
	}
	return best.in, nil
}

// lacks reports whether rec stands for the content of a fetch in another crawl and has none here.
func (m *segments) lacks(rec *crawldb.Record, in *input, f *segment.Fetch) bool {
	d := &rec.Datum
	return d.Segment == "" && f.Status == model.StatusFetchSuccess && len(d.Signature) > 0 && d.PrevFetchTime.Equal(f.FetchTime) &&
		!in.own() && slices.Contains([]model.Status{model.StatusDBFetched, model.StatusDBNotModified, model.StatusDBDuplicate}, d.Status)
}
