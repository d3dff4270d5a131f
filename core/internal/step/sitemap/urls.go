package sitemap

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/model"
)

// batchSize is how many URLs are judged and stored at once.
const batchSize = 1000

// entry is a URL of a sitemap with its hints.
type entry struct {
	url   string
	hints transition.Hints
	score model.Fields
}

// urls brings the URLs of a sitemap into the CrawlDB.
func (r *Reader) urls(ctx context.Context, t *task, links []model.Outlink) error {
	var batch []entry
	flush := func() error {
		err := r.store(ctx, batch)
		batch = batch[:0]
		return err
	}
	for i, l := range links {
		if over(r.cfg.MaxURLs, i) {
			r.drop("more than sitemap.max_urls of the sitemap", len(links)-i)
			break
		}
		why, err := r.admit(t, l.URL)
		if err != nil {
			return err
		}
		if why != "" {
			r.drop(why, 1)
			continue
		}
		batch = append(batch, entry{url: l.URL, hints: hints(t.url, l.Metadata)})
		if len(batch) == batchSize {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// admit says why a URL of t is not taken, or "".
func (r *Reader) admit(t *task, u string) (string, error) {
	why, err := r.mayName(t, u, true)
	if err == nil && why == "" && r.cfg.MaxLength >= 0 && len(u) > r.cfg.MaxLength {
		why = "longer than db.max_outlink_length"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rep.URLs++
	if err != nil || why != "" {
		return why, err
	}
	if over(r.cfg.MaxURLsOfHost, t.home.urls) {
		return "more than sitemap.max_urls_per_host of the host", nil
	}
	t.home.urls++
	return "", nil
}

// hints reads what the parser says of a URL; what can't be read does not count.
func hints(sitemap string, m model.Metadata) transition.Hints {
	h := transition.Hints{Sitemap: sitemap, ChangeFreq: m.First("sitemap.changefreq")}
	if p, err := strconv.ParseFloat(m.First("sitemap.priority"), 64); err == nil && p >= 0 && p <= 1 {
		h.Priority = p
	}
	h.LastMod = transition.ParseLastMod(m.First("sitemap.lastmod"))
	return h
}

// store normalizes, filters, scores and stores a batch.
func (r *Reader) store(ctx context.Context, batch []entry) error {
	if len(batch) == 0 {
		return nil
	}
	urls := make([]string, len(batch))
	for i := range batch {
		urls[i] = batch[i].url
	}
	res, err := chain.Judge(ctx, r.deps.Plugins, urlnormalizer.ScopeDefault, r.cfg.Normalize, r.cfg.Filter, urls)
	if err != nil {
		return err
	}
	var kept []entry
	for i, x := range res {
		switch {
		case x.Err != nil:
			r.drop("plugin failed: "+x.Plugin, 1)
		case x.Dropped:
			r.drop("rejected by "+x.Plugin, 1)
		default:
			batch[i].url = x.URL
			kept = append(kept, batch[i])
		}
	}
	if err := r.score(ctx, kept); err != nil {
		return err
	}
	return r.put(ctx, kept)
}

func (r *Reader) score(ctx context.Context, kept []entry) error {
	in := make([]scoring.InjectInput, len(kept))
	for i := range kept {
		in[i] = scoring.InjectInput{URL: kept[i].url, Score: kept[i].hints.Score()}
	}
	if len(in) == 0 {
		return nil
	}
	fields, errs, err := r.deps.Plugins.Injected(ctx, in)
	if err := errors.Join(append(errs, err)...); err != nil {
		return fmt.Errorf("score URLs of sitemaps: %w", err)
	}
	for i := range kept {
		kept[i].score = fields[i]
	}
	return nil
}

func (r *Reader) put(ctx context.Context, kept []entry) error {
	now := r.deps.Now()
	var added, updated, existing, refused int
	err := r.deps.DB.Update(ctx, func(tx *crawldb.Tx) error {
		added, updated, existing, refused = 0, 0, 0, 0
		for _, e := range kept {
			key := urlkey.FromURL(e.url)
			rec, err := tx.Get(key)
			if err != nil {
				return err
			}
			var old *model.CrawlDatum
			if rec != nil {
				old = &rec.Datum
			}
			d, did := transition.Sitemapped(old, e.hints, e.score, r.cfg.Overwrite, now, r.deps.Rules)
			switch did {
			case transition.SeedAdded:
				if !r.cfg.Additions {
					refused++
					continue
				}
				added++
				rec = &crawldb.Record{Sort: d.Score}
			case transition.SeedUpdated:
				updated++
			default:
				existing++
				continue
			}
			rec.Datum = d
			tx.Put(key, rec)
			tx.Rescore(key)
		}
		return nil
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rep.Added += added
	r.rep.Updated += updated
	r.rep.Existing += existing
	if refused > 0 {
		r.rep.Dropped["additions are not allowed (db.update_additions_allowed)"] += refused
	}
	return err
}
