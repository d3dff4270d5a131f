package query

import (
	"context"
	"slices"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// PageLinksQuery chooses the pages of PageLinks.
type PageLinksQuery struct {
	Segments []string `json:"segments,omitempty"` // only pages whose content is in them; none is all
}

// PageLinks are the links that the present content of a page has.
type PageLinks struct {
	URL   string   `json:"url"`
	Gone  bool     `json:"gone,omitempty"` // the page is gone or redirects; it has no links
	Links []string `json:"links,omitempty"`
}

// AllPageLinks lists by URL key the pages that have content, and those that are gone,
// for "webgraph". A page that was fetched several times counts as it was last.
func AllPageLinks() List[PageLinksQuery, PageLinks] {
	return List[PageLinksQuery, PageLinks]{"pagelinks", pageLinks}
}

func pageLinks(ctx context.Context, s *Source, q PageLinksQuery, f func(PageLinks) error) error {
	segs := make([]string, len(q.Segments))
	for i, name := range q.Segments {
		m, err := s.meta(name)
		if err != nil {
			return err
		}
		segs[i] = m.ID
	}
	return s.Crawl.DB.Scan(ctx, "", func(k urlkey.Key, r *crawldb.Record) error {
		d := &r.Datum
		gone := slices.Contains([]model.Status{model.StatusDBGone, model.StatusDBRedirTemp, model.StatusDBRedirPerm}, d.Status)
		if !gone && (d.Segment == "" || len(segs) > 0 && !slices.Contains(segs, d.Segment)) {
			return nil
		}
		url, err := urlkey.ToURL(k)
		if err != nil {
			return err
		}
		a := PageLinks{URL: url, Gone: gone}
		if !gone {
			links, err := s.Crawl.Segs.Outlinks(d.Segment, k)
			if err != nil {
				return fault.Errorf(fault.Permanent, "links of %s in segment %s: %w", url, d.Segment, err)
			}
			a.Links = make([]string, len(links))
			for i := range links {
				a.Links[i] = links[i].URL
			}
		}
		return f(a)
	})
}
