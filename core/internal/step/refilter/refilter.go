// Package refilter applies changed rules to what the CrawlDB holds: URLs are
// normalized and filtered where they first appear, and nowhere else. It owns the walk
// over the CrawlDB, what becomes of a record whose URL is rejected or changes, and
// the note of the rules that the CrawlDB was filtered by. It must not know rules.
//
// Nutch does this within updatedb (crawldb.url.filters, crawldb.url.normalizers). As
// there, the normalizers' scope is crawldb.
//
// A removed record takes its own links out of the LinkDB and is marked for the
// index step; what other pages link to stays as it is until they are fetched. A record with a new URL
// begins there as db_unfetched, with its score, interval and metadata, so that the page is
// fetched by that name; if the new URL is known, that record gets its score fields.
package refilter

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/outlinks"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/model"
)

// Plugins are the chains that are run; chain.Chains has them.
type Plugins interface {
	chain.URLChain
	Fingerprint() string
}

// Options say what is done.
type Options struct {
	Apply       bool // false: only say what would be done
	NoNormalize bool
	NoFilter    bool
	Samples     int // URLs shown of each kind
	Now         time.Time
	// Progress, when set, is told how many URLs were looked at.
	Progress func(urls int64)
}

// Deps are what the step works with.
type Deps struct {
	DB      *crawldb.DB
	Links   outlinks.Links
	Plugins Plugins
}

const (
	chunk   = 500       // URLs of one call of the chains
	portion = 8 * chunk // URLs judged together
	batch   = 200       // records changed by one Update
)

// progress is stored with every Update of a refilter that is applied.
type progress struct {
	Rules       string     `json:"rules"`
	NoNormalize bool       `json:"no_normalize,omitempty"`
	NoFilter    bool       `json:"no_filter,omitempty"`
	Cursor      urlkey.Key `json:"cursor"` // the last key that is done
	Report      Report     `json:"report"`
}

// run is one refilter.
type run struct {
	Deps
	o Options
	p progress
}

// Run looks at every URL. Fold pending effects before one that is applied. One that was
// cut short is gone on with by the next one with the same rules and options.
func Run(ctx context.Context, d Deps, o Options) (Report, error) {
	r := &run{Deps: d, o: o, p: progress{Rules: d.Plugins.Fingerprint(), NoNormalize: o.NoNormalize, NoFilter: o.NoFilter}}
	err := r.resume()
	if err == nil {
		err = r.walk(ctx, d.DB.EachKey, false)
	}
	if err == nil && !o.Apply {
		err = r.walk(ctx, d.DB.EachPending, true)
	}
	if err == nil && o.Apply {
		err = r.finish(ctx)
	}
	r.p.Report.sort()
	if err != nil {
		return r.p.Report, fmt.Errorf("refilter: %w", err)
	}
	return r.p.Report, nil
}

// resume takes up what an earlier refilter left.
func (r *run) resume() error {
	if !r.o.Apply {
		return nil
	}
	r.p.Report.Applied = true
	b, err := r.DB.Store().Get(store.Key(store.PrefixMeta, metaProgress))
	if err != nil || b == nil {
		return err
	}
	var left progress
	if err := json.Unmarshal(b, &left); err != nil {
		return store.Corrupt([]byte(metaProgress), err)
	}
	if left.Rules == r.p.Rules && left.NoNormalize == r.p.NoNormalize && left.NoFilter == r.p.NoFilter {
		r.p = left
		r.p.Report.Resumed = true
	}
	return nil
}

// finish notes that all of the CrawlDB follows the rules.
func (r *run) finish(ctx context.Context) error {
	return r.DB.Update(ctx, func(tx *crawldb.Tx) error {
		tx.Tx.Delete(store.Key(store.PrefixMeta, metaProgress))
		if !r.o.NoNormalize && !r.o.NoFilter {
			setRules(tx, r.p.Rules)
		}
		return nil
	})
}

// walk looks at the keys that each has, in portions. Each shows them as they were at
// its start, so that a normalizer which changes its own results can't go on for ever.
func (r *run) walk(ctx context.Context, each func(context.Context, urlkey.Key, func(urlkey.Key) error) error, pending bool) error {
	var keys []urlkey.Key
	err := each(ctx, r.p.Cursor, func(k urlkey.Key) error {
		if keys = append(keys, k); len(keys) < portion {
			return nil
		}
		err := r.portion(ctx, keys, pending)
		keys = keys[:0]
		return err
	})
	if err == nil && len(keys) > 0 {
		err = r.portion(ctx, keys, pending)
	}
	return err
}

func (r *run) portion(ctx context.Context, keys []urlkey.Key, pending bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if pending {
		var err error
		if keys, err = r.unknown(keys); err != nil {
			return err
		}
		r.p.Report.Pending += int64(len(keys))
	}
	items, err := r.judge(ctx, keys)
	if err != nil {
		return err
	}
	if r.o.Apply {
		err = r.apply(ctx, items)
	} else {
		err = r.tell(items)
	}
	if err == nil && r.o.Progress != nil {
		r.o.Progress(r.p.Report.URLs)
	}
	return err
}

// unknown returns the keys that have no record.
func (r *run) unknown(keys []urlkey.Key) ([]urlkey.Key, error) {
	out := keys[:0]
	for _, k := range keys {
		has, err := r.DB.Has(k)
		if err != nil {
			return nil, err
		}
		if !has {
			out = append(out, k)
		}
	}
	return out, nil
}

// item is a URL and what the chains make of it.
type item struct {
	key    urlkey.Key
	url    string
	page   string // URL of the page that it is inside of, or ""
	result chain.URLResult
}

// page returns the URL that an item is judged by: that of its page when the item is
// something inside a page, which no normalizer or filter is made for, else its own.
func (r *run) page(it *item) (string, error) {
	page, _, inside := strings.Cut(it.url, "#")
	if !inside {
		return it.url, nil
	}
	rec, err := r.DB.Get(it.key)
	if err != nil || rec == nil || rec.Datum.Metadata.First(transition.MetaPartOf) != page {
		return it.url, err
	}
	it.page = page
	return page, nil
}

// judged takes the chains' result. What is inside a page goes when its page goes or
// is called otherwise.
func (i *item) judged(res chain.URLResult) {
	if i.page != "" && res.Err == nil && !res.Dropped {
		if res.URL == i.page {
			res.URL = i.url
		} else {
			res = chain.URLResult{URL: i.url, Dropped: true, Plugin: res.Plugin, Reason: "its page is called " + res.URL}
		}
	}
	i.result = res
}

// to returns the key of the item's new URL; false when it keeps its own.
func (i *item) to() (urlkey.Key, bool) {
	if i.result.Err != nil || i.result.Dropped {
		return "", false
	}
	k := urlkey.FromURL(i.result.URL)
	return k, k != i.key
}

// judge asks the chains about keys, in calls beside each other.
func (r *run) judge(ctx context.Context, keys []urlkey.Key) ([]item, error) {
	items := make([]item, len(keys))
	urls := make([]string, len(keys))
	for i, k := range keys {
		url, err := urlkey.ToURL(k)
		if err != nil {
			return nil, fmt.Errorf("record %q: %w", k, err)
		}
		items[i] = item{key: k, url: url}
		if urls[i], err = r.page(&items[i]); err != nil {
			return nil, err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	for from := 0; from < len(urls); from += chunk {
		part := urls[from:min(from+chunk, len(urls))]
		g.Go(func() error {
			out, err := r.ask(ctx, part)
			for i := range out {
				items[from+i].judged(out[i])
			}
			return err
		})
	}
	return items, g.Wait()
}

func (r *run) ask(ctx context.Context, urls []string) ([]chain.URLResult, error) {
	if r.o.NoNormalize && r.o.NoFilter {
		return nil, fmt.Errorf("neither normalizers nor filters are to be run")
	}
	return chain.Judge(ctx, r.Plugins, urlnormalizer.ScopeCrawlDB, !r.o.NoNormalize, !r.o.NoFilter, urls)
}

// tell counts what would become of items.
func (r *run) tell(items []item) error {
	for i := range items {
		it := &items[i]
		to, changes := it.to()
		known := false
		var err error
		if changes {
			if known, err = r.DB.Has(to); err != nil {
				return err
			}
		}
		if err := r.count(it, changes, known, r.DB.DocState); err != nil {
			return err
		}
	}
	return nil
}

// count adds an item to the report.
func (r *run) count(it *item, changes, known bool, docState func(urlkey.Key) (*crawldb.DocState, error)) error {
	rep := &r.p.Report
	rep.URLs++
	switch {
	case it.result.Err != nil:
		rep.failed(it.result, it.url, r.o.Samples)
		return nil //nolint:nilerr // the URL's outcome, in the report
	case it.result.Dropped:
		rep.removed(it.result, it.url, r.o.Samples)
	case changes:
		rep.renamed(it.url, it.result.URL, known, r.o.Samples)
	default:
		return nil
	}
	if r.DB.Leasing(it.key) != "" {
		rep.Leased++
	}
	doc, err := docState(it.key)
	if doc != nil {
		rep.Documents++
	}
	return err
}

// apply changes records, and notes how far it has come in the same batches.
func (r *run) apply(ctx context.Context, items []item) error {
	for from := 0; from < len(items); {
		end, changes := from, 0
		for ; end < len(items) && changes < batch; end++ {
			if _, other := items[end].to(); other || items[end].result.Dropped {
				changes++
			}
		}
		if err := r.applyBatch(ctx, items[from:end]); err != nil {
			return err
		}
		from = end
	}
	return nil
}

func (r *run) applyBatch(ctx context.Context, items []item) error {
	before, err := json.Marshal(r.p.Report)
	if err != nil {
		return err
	}
	err = r.DB.Update(ctx, func(tx *crawldb.Tx) error {
		for i := range items {
			if err := r.change(tx, &items[i]); err != nil {
				return fmt.Errorf("%s: %w", items[i].url, err)
			}
		}
		r.p.Cursor = items[len(items)-1].key
		b, err := json.Marshal(r.p)
		tx.Tx.Set(store.Key(store.PrefixMeta, metaProgress), b)
		return err
	})
	if err != nil { // what is told must have happened
		r.p.Report = Report{}
		_ = json.Unmarshal(before, &r.p.Report)
	}
	return err
}

// change does to one record what the rules want.
func (r *run) change(tx *crawldb.Tx, it *item) error {
	to, changes := it.to()
	var target *crawldb.Record
	var err error
	if changes {
		if target, err = tx.Get(to); err != nil {
			return err
		}
	}
	if err := r.count(it, changes, target != nil, tx.DocState); err != nil || !changes && !it.result.Dropped {
		return err
	}
	rec, err := tx.Get(it.key)
	if err != nil || rec == nil {
		return err
	}
	d := rec.Datum
	if err := r.Links.Remove(tx, it.key, d.Segment, r.o.Now); err != nil || !changes {
		return err
	}
	if target == nil {
		tx.Put(to, &crawldb.Record{Sort: rec.Sort, Datum: model.CrawlDatum{
			Status: model.StatusDBUnfetched, FetchTime: r.o.Now, Interval: d.Interval, FixedInterval: d.FixedInterval,
			Score: d.Score, Fields: d.Fields, Metadata: d.Metadata, ReprURL: d.ReprURL,
		}})
		return nil
	}
	tx.Effect(to, crawldb.Effect{Fields: d.Fields, Source: it.key})
	return nil
}
