package update

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/transition"
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

// redirected is the metadata of a redirect's target that the CrawlDB does not know
// yet: that of the page (as in Nutch's fetcher), what scoring plugins hand on and
// the representative URL.
func redirected(p *prepared) model.Metadata {
	m := model.Metadata{}
	for k, v := range p.Hint.Metadata {
		if !ofFetch(k) {
			m[k] = v
		}
	}
	if p.out.Metadata != nil {
		maps.Copy(m, p.out.Metadata[0])
	}
	repr := transition.Representative(p.URL, p.Target, p.Fetch.Status == model.StatusFetchRedirTemp)
	if from := p.Hint.Metadata.First(MetaRepr); from != "" && repr == p.URL {
		repr = from
	}
	if repr != p.Target {
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
	if p.out.Drop != nil && p.out.Drop[0] {
		return false, nil
	}
	key := p.keys[0]
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
		d.Metadata = redirected(p)
		tx.Put(key, &crawldb.Record{Datum: d})
	}
	e := crawldb.Effect{Source: p.Key, Fields: make(model.Fields, len(p.out.Columns))}
	for _, c := range p.out.Columns {
		e.Fields[c.Field] = c.Values[0]
	}
	return tx.AddLease(p.Segment, key, e)
}
