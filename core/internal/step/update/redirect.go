package update

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/sdk/model"
)

// MetaRepr is the metadata key of the representative URL that a redirect gives
// its target (Nutch's _repr_).
const MetaRepr = "_repr_"

// Metadata keys of what is noted of a fetch.
const (
	metaTime      = "_rs_" // milliseconds
	metaIP        = "_ip_"
	metaTruncated = "http.content.truncated.reason"
)

// TagRefresh marks the outlink that a page's meta refresh leads to.
const TagRefresh = "meta"

// FollowTarget returns where the page redirects to, by an answer of the server
// or by a meta refresh; "" when it does not.
func (p *Page) FollowTarget() string {
	if p.Target != "" {
		return p.Target
	}
	if i := p.refresh(); i >= 0 {
		return p.Parsed.Outlinks[i].URL
	}
	return ""
}

// refresh returns the index of the outlink that a meta refresh leads to, or -1.
func (p *Page) refresh() int {
	if p.Parsed == nil || p.Parsed.Status.Minor != model.ParseSuccessRedirect {
		return -1
	}
	return slices.IndexFunc(p.Parsed.Outlinks, func(l segment.Link) bool { return l.Tag == TagRefresh })
}

// temporary reports whether the page redirects for the time being. A meta
// refresh does when it waits less than 5 seconds (Nutch's rule).
func (p *Page) temporary() bool {
	if p.Target != "" || p.Parsed == nil || len(p.Parsed.Status.Args) < 2 {
		return p.Fetch.Status == model.StatusFetchRedirTemp
	}
	seconds, err := strconv.Atoi(p.Parsed.Status.Args[1])
	return err == nil && seconds < 5
}

// redirected is the metadata of a redirect's target, the one at index at of p's, that
// the CrawlDB does not know yet: that of the page (as in Nutch's fetcher), what scoring plugins hand on and
// the representative URL.
func redirected(p *prepared, at int) model.Metadata {
	m := model.Metadata{}
	for k, v := range p.Hint.Metadata {
		if !ofFetch(k) {
			m[k] = v
		}
	}
	if p.out.Metadata != nil {
		maps.Copy(m, p.out.Metadata[at])
	}
	target := p.FollowTarget()
	repr := transition.Representative(p.URL, target, p.temporary())
	if from := p.Hint.Metadata.First(MetaRepr); from != "" && repr == p.URL {
		repr = from
	}
	if repr != target {
		m.Set(MetaRepr, repr)
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

// ofFetch reports whether metadata of this key tells of one fetch of one page only.
func ofFetch(key string) bool {
	switch key {
	case MetaRepr, metaTime, metaIP, metaTruncated, transition.MetaContentType, transition.MetaParseStatus:
		return true
	}
	return false
}

// Follow leases the target of a redirect without applying the page: "crawler fetch"
// follows redirects before updatedb comes. A target that is known and not to be fetched now
// is left alone. It reports whether the target was leased.
func (a *Applier) Follow(ctx context.Context, page Page, now time.Time) (leased bool, err error) {
	prep, err := a.prepare(ctx, []Page{page}, &Result{})
	if err != nil {
		return false, err
	}
	p := &prep[0]
	err = a.db.Update(ctx, func(tx *crawldb.Tx) error {
		leased, err = a.follow(tx, p, now)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("follow redirect of %s: %w", page.URL, err)
	}
	return leased, nil
}

// follow leases the target of a redirect in the page's segment, unless it is known
// and not to be fetched now, in a fetch list already, or dropped by a scoring plugin. The
// fetch list tells what the redirect hands on to it. It reports whether it did.
func (a *Applier) follow(tx *crawldb.Tx, p *prepared, now time.Time) (bool, error) {
	at := max(p.refresh(), 0)
	if len(p.keys) <= at || p.out.Drop != nil && p.out.Drop[at] {
		return false, nil
	}
	key := p.keys[at]
	rec, err := tx.Get(key)
	if err != nil {
		return false, err
	}
	if rec != nil && rec.Datum.FetchTime.After(now) {
		return false, nil
	}
	if rec == nil {
		d, ok := transition.Linked(nil, transition.Link{}, now, a.cfg.Rules)
		if !ok {
			return false, nil
		}
		d.Metadata = redirected(p, at)
		tx.Put(key, &crawldb.Record{Datum: d})
	}
	e := crawldb.Effect{Source: p.Key, Fields: make(model.Fields, len(p.out.Columns))}
	for _, c := range p.out.Columns {
		e.Fields[c.Field] = c.Values[at]
	}
	return tx.AddLease(p.Segment, key, e)
}
