// Package invert turns the outlinks of a segment's pages into inlinks of their
// targets. It owns the walk over a segment; what the LinkDB keeps is linkdb's.
package invert

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/linkdb"
	"github.com/gonutch/crawler/core/internal/db/outlinks"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// LoadConfig reads section linkdb.
func LoadConfig(c *config.Config) (linkdb.Options, error) {
	var l struct {
		MaxInlinks     int  `hcl:"max_inlinks"`
		IgnoreInternal bool `hcl:"ignore_internal_links"`
		IgnoreExternal bool `hcl:"ignore_external_links"`
		MaxAnchor      int  `hcl:"max_anchor_length"`
	}
	if err := c.Decode("linkdb", &l); err != nil {
		return linkdb.Options{}, err
	}
	return linkdb.Options{
		MaxInlinks: l.MaxInlinks, IgnoreInternal: l.IgnoreInternal, IgnoreExternal: l.IgnoreExternal, MaxAnchor: l.MaxAnchor,
	}, nil
}

// Deps are what the step works with.
type Deps struct {
	DB    *crawldb.DB
	Links outlinks.Links
	Now   time.Time
	// Progress, when set, is told now and then how many pages were gone through.
	Progress func(pages int64)
}

// Report says what the step did.
type Report struct {
	Pages   int `json:"pages"`
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Ignored int `json:"ignored"`
	Trimmed int `json:"trimmed"`
	// Orphaned are the pages without inlinks that got another status, by status.
	Orphaned map[string]int64 `json:"orphaned,omitempty"`
}

// portion bounds the pages of one batch.
const portion = 200

// Run inverts the applied pages of a segment. Running it again changes nothing.
func Run(ctx context.Context, d Deps, seg string) (Report, error) {
	var rep Report
	if d.Links.MarkTargets {
		// Nothing to mark while the index is empty.
		holds, err := d.indexHolds(ctx)
		if err != nil {
			return rep, err
		}
		d.Links.MarkTargets = holds
	}
	var pages []page
	var passed int64
	flush := func() error {
		if len(pages) == 0 {
			return nil
		}
		err := d.invert(ctx, pages, &rep)
		passed += int64(len(pages))
		if d.Progress != nil {
			d.Progress(passed)
		}
		pages = pages[:0]
		return err
	}
	err := d.Links.Segs.EachApplied(ctx, seg, func(k urlkey.Key, before, now string) error {
		if pages = append(pages, page{k, before, now}); len(pages) < portion {
			return nil
		}
		return flush()
	})
	if err = errors.Join(err, flush()); err != nil {
		return rep, fmt.Errorf("invert links of segment %s: %w", seg, err)
	}
	rep.Trimmed, err = d.Links.DB.Trim(ctx)
	return rep, err
}

// page is an applied page. Before and now are the segments with the content that
// its record stood for until then and stands for since, "" for none.
type page struct {
	key         urlkey.Key
	before, now string
}

// errFound ends a walk early.
var errFound = errors.New("found")

// indexHolds reports whether any document was sent to an index.
func (d Deps) indexHolds(ctx context.Context) (bool, error) {
	err := d.DB.EachDocState(ctx, func(urlkey.Key, *crawldb.DocState) error { return errFound })
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}

type change struct {
	key         urlkey.Key
	before, now []linkdb.Link
}

func (d Deps) invert(ctx context.Context, pages []page, rep *Report) error {
	var changes []change
	for _, p := range pages {
		c, ok, err := d.change(p)
		if err != nil {
			return err
		}
		if ok {
			changes = append(changes, c)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	var add Report
	err := d.DB.Update(ctx, func(tx *crawldb.Tx) error {
		add = Report{}
		for _, c := range changes {
			st, err := d.Links.Replace(tx, c.key, c.before, c.now, d.Now)
			if err != nil {
				return err
			}
			add.Pages++
			add.Added += st.Added
			add.Removed += st.Removed
			add.Ignored += st.IgnoredInternal + st.IgnoredExternal
		}
		return nil
	})
	rep.Pages += add.Pages
	rep.Added += add.Added
	rep.Removed += add.Removed
	rep.Ignored += add.Ignored
	return err
}

// change finds the links that a page's record stood for before it was applied and
// those it stands for since. A page that was not modified or could not be
// asked keeps its links; one that is gone or redirected has none any more.
func (d Deps) change(p page) (change, bool, error) {
	c := change{key: p.key}
	if p.before == p.now {
		return c, false, nil
	}
	var err error
	if c.before, err = d.Links.Of(p.before, p.key); err != nil {
		return c, false, err
	}
	c.now, err = d.Links.Of(p.now, p.key)
	return c, len(c.now)+len(c.before) > 0, err
}
