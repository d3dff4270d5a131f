// Package prune is the retention of segments: which ones nothing needs any more,
// and their removal with their WARC files. It owns the rules of what is needed; it must
// not know who asks or what the limits are for. Nutch has no such step: there
// operators delete segment folders by hand, and find out later what needed them.
//
// A segment is needed
//
//   - while URLs of its fetch list are leased or it has not been through all
//     steps up to invertlinks;
//   - while the CrawlDB has a record whose content it holds: a reindex, a changed
//     inlink or a lost outlink reads it there;
//   - while a segment that is not inverted yet replaces content of it, since the
//     links that are to be taken out of the LinkDB are read from it.
//
// The cost is that of a counter for each segment and of the pages of unfinished
// segments, not of the CrawlDB.
package prune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/fault"
)

// Deps are what the step works with.
type Deps struct {
	DB   *crawldb.DB
	Segs *segment.Segments
}

// Options say which of the segments that nothing needs are to go. Those given are
// all to hold. The zero value names every one of them.
type Options struct {
	Names     []string      `json:"names,omitempty"` // only these; one that is needed is an error
	Keep      int           `json:"keep,omitempty"`  // the newest ones stay
	OlderThan time.Duration `json:"older_than,omitempty"`
	// Budget are the bytes that all segments together may take; the oldest go first, until
	// it holds. 0 is no budget.
	Budget int64 `json:"budget,omitempty"`
	// Force lets named segments go although records have their content there. Those
	// records stay and keep their documents in the index, but can't be indexed again until they are fetched
	// again. What is leased or unfinished is not removed even so.
	Force bool `json:"force,omitempty"`
	Apply bool `json:"apply,omitempty"` // false: only say what would go
}

// Item is a segment and what becomes of it.
type Item struct {
	Segment string        `json:"segment"`
	Round   int           `json:"round"`
	Created time.Time     `json:"created"`
	State   segment.State `json:"state"`
	Fetched int64         `json:"fetched"`
	WARC    int64         `json:"warc_bytes"`
	Store   int64         `json:"store_bytes"` // of its records, estimated
	Records int64         `json:"records"`     // of the CrawlDB that have their content here
	Leased  int           `json:"leased"`
	Needed  string        `json:"needed,omitempty"` // why it can't go; empty when nothing needs it
	Removed bool          `json:"removed"`          // it goes or, with Apply, is gone
	forced  bool
}

// Size are the bytes that the segment takes.
func (i *Item) Size() int64 { return i.WARC + i.Store }

// Report says what there is and what goes.
type Report struct {
	Segments []Item `json:"segments"` // oldest first
	Removed  int    `json:"removed"`
	Freed    int64  `json:"freed_bytes"`
	Left     int64  `json:"left_bytes"`
	Applied  bool   `json:"applied"`
	// Over are the bytes by which what is needed exceeds Options.Budget.
	Over int64 `json:"over_budget_bytes,omitempty"`
}

// List returns all segments and what needs them, oldest first.
func List(ctx context.Context, d Deps) ([]Item, error) {
	items, err := list(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	return items, nil
}

// list relies on its order beside a running crawl: a page that leaves a segment
// for another one after the counts were read is still counted, and one that left before
// is in the other's markers, if that is not inverted.
func list(ctx context.Context, d Deps) ([]Item, error) {
	refs, err := d.DB.SegmentRefs(ctx)
	if err != nil {
		return nil, err
	}
	metas, err := segment.List(ctx, d.DB.Store())
	if err != nil {
		return nil, err
	}
	replacedBy := map[string]string{}
	items := make([]Item, len(metas))
	for i, m := range metas {
		it := &items[i]
		*it = Item{Segment: m.ID, Round: m.Round, Created: m.Created, State: m.State, Fetched: m.Counts.Fetched, Records: refs[m.ID], Leased: d.DB.LeasedCount(m.ID)}
		if it.WARC, it.Store, err = d.Segs.Size(ctx, m.ID); err != nil {
			return nil, err
		}
		if !m.State.Before(segment.StateInverted) {
			continue
		}
		err := d.Segs.EachApplied(ctx, m.ID, func(_ urlkey.Key, before, now string) error {
			if before != "" && before != now {
				replacedBy[before] = m.ID
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for i := range items {
		items[i].Needed = items[i].need(replacedBy)
	}
	slices.SortFunc(items, func(a, b Item) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Segment, b.Segment)) })
	return items, nil
}

// need says why the segment can't go.
func (i *Item) need(replacedBy map[string]string) string {
	switch {
	case i.Leased > 0:
		return fmt.Sprintf("leased: %d URLs of its fetch list are not done", i.Leased)
	case i.State.Before(segment.StateInverted):
		return fmt.Sprintf("unfinished: it is %s, not yet inverted", i.State)
	case i.Records > 0:
		return fmt.Sprintf("content of %d records: a reindex reads it", i.Records)
	case replacedBy[i.Segment] != "":
		return fmt.Sprintf("segment %s is not inverted yet and replaces pages of it", replacedBy[i.Segment])
	}
	return ""
}

// Run removes the segments that o names, oldest first, each at once and for good. When it is cut
// short, those removed are gone and the others whole. It may run beside a crawl,
// but not beside another Run.
func Run(ctx context.Context, d Deps, o Options, now time.Time) (Report, error) {
	rep := Report{Applied: o.Apply}
	var err error
	if rep.Segments, err = List(ctx, d); err != nil {
		return rep, err
	}
	if err := rep.choose(o, now); err != nil {
		return rep, err
	}
	for i := range rep.Segments {
		it := &rep.Segments[i]
		if !it.Removed {
			rep.Left += it.Size()
			continue
		}
		if o.Apply {
			err := errors.Join(ctx.Err(), d.Segs.Delete(ctx, it.Segment))
			if err != nil {
				it.Removed = false
				rep.Left += it.Size()
			}
			if errors.Is(err, segment.ErrHeld) { // by a backup: it goes another time
				it.Needed = err.Error()
				continue
			}
			if err != nil {
				return rep, err
			}
		}
		rep.Removed++
		rep.Freed += it.Size()
	}
	if o.Budget > 0 {
		rep.Over = max(0, rep.Left-o.Budget)
	}
	return rep, nil
}

// choose marks what is to go.
func (r *Report) choose(o Options, now time.Time) error {
	for _, name := range o.Names {
		i := slices.IndexFunc(r.Segments, func(it Item) bool { return it.Segment == name })
		if i < 0 {
			return fault.Errorf(fault.Invalid, "there is no segment %q; \"crawler segment list\" shows them", name)
		}
		it := &r.Segments[i]
		it.forced = o.Force && it.Records > 0 && it.Leased == 0 && !it.State.Before(segment.StateInverted)
		if it.Needed != "" && !it.forced {
			return fault.Errorf(fault.Invalid, "segment %s is needed: %s", name, it.Needed)
		}
	}
	left := int64(0)
	for i := range r.Segments {
		left += r.Segments[i].Size()
	}
	for i := range r.Segments {
		it := &r.Segments[i]
		switch {
		case it.Needed != "" && !it.forced,
			len(o.Names) > 0 && !slices.Contains(o.Names, it.Segment),
			i >= len(r.Segments)-o.Keep,
			o.OlderThan > 0 && now.Sub(it.Created) < o.OlderThan,
			o.Budget > 0 && left <= o.Budget:
			continue
		}
		it.Removed = true
		left -= it.Size()
	}
	return nil
}
