// Package update applies what a fetch and its parse brought to the CrawlDB: the
// record's new state, the effects on the records its links point at, and the
// marks for later steps. It owns what belongs into one atomic change of a page; the rules of
// the state machine are package transition's. It must not know how pages are
// fetched or parsed.
//
// Each page is applied once: its lease ends in the same batch, and a page whose
// lease is gone is passed over. So it may be offered again after a crash.
package update

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/schedule"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/sheet"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
)

// Config are the settings that concern updates, from section db and others.
type Config struct {
	Rules             transition.Rules
	Purge404          bool
	ParseMeta         []string // parse metadata copied to the CrawlDB
	StoreResponseTime bool
	StoreIP           bool
	SkipNotModified   bool
	Sheets            *sheet.Sheets  // what holds for some hosts; nil is none
	Targets           *sheet.Targets // of the freshness schedule; nil with another one
	Orphans           bool           // a scoring plugin judges pages without inlinks
}

// LoadConfig reads the settings; rules are of the same configuration.
func LoadConfig(c *config.Config, rules sheet.Rules) (Config, error) {
	var d struct {
		IntervalDefault setting.Duration `hcl:"fetch_interval_default"`
		IntervalMax     setting.Duration `hcl:"fetch_interval_max"`
		Schedule        string           `hcl:"fetch_schedule"`
		IncRate         float64          `hcl:"fetch_schedule_adaptive_inc_rate"`
		DecRate         float64          `hcl:"fetch_schedule_adaptive_dec_rate"`
		Min             setting.Duration `hcl:"fetch_schedule_adaptive_min_interval"`
		Max             setting.Duration `hcl:"fetch_schedule_adaptive_max_interval"`
		SyncDelta       bool             `hcl:"fetch_schedule_adaptive_sync_delta"`
		SyncDeltaRate   float64          `hcl:"fetch_schedule_adaptive_sync_delta_rate"`
		MIMEFile        string           `hcl:"fetch_schedule_mime_file"`
		RetryMax        int              `hcl:"fetch_retry_max"`
		RetryDelay      setting.Duration `hcl:"fetch_retry_delay"`
		Additions       bool             `hcl:"update_additions_allowed"`
		Purge404        bool             `hcl:"update_purge_404"`
		ParseMeta       []string         `hcl:"parsemeta_to_crawldb"`
		ScoreInjected   float64          `hcl:"score_injected"`
	}
	var p struct {
		DeleteFailed bool `hcl:"delete_failed_parse"`
	}
	var h struct {
		ResponseTime bool `hcl:"store_responsetime"`
		IP           bool `hcl:"store_ip_address"`
	}
	var x struct {
		SkipNotModified bool `hcl:"skip_notmodified"`
	}
	if err := errors.Join(c.Decode("db", &d), c.Decode("parser", &p), c.Decode("http", &h), c.Decode("indexer", &x)); err != nil {
		return Config{}, err
	}
	rates, err := mimeRates(d.Schedule, d.MIMEFile)
	if err != nil {
		return Config{}, err
	}
	s, err := schedule.New(schedule.Config{
		Name: d.Schedule, DefaultInterval: d.IntervalDefault.D(), MaxInterval: d.IntervalMax.D(), RetryDelay: d.RetryDelay.D(),
		IncRate: d.IncRate, DecRate: d.DecRate, AdaptiveMin: d.Min.D(), AdaptiveMax: d.Max.D(),
		SyncDelta: d.SyncDelta, SyncDeltaRate: d.SyncDeltaRate, MIMERates: rates, Targets: rules.Targets.All(),
	})
	if err != nil {
		return Config{}, fmt.Errorf("section db: %w", err)
	}
	return Config{
		Rules: transition.Rules{
			Schedule: s, RetryMax: d.RetryMax, DeleteFailedParse: p.DeleteFailed, AdditionsAllowed: d.Additions,
			InjectedScore: int64(d.ScoreInjected * model.Micro),
		},
		Purge404: d.Purge404, ParseMeta: d.ParseMeta, StoreResponseTime: h.ResponseTime, StoreIP: h.IP, SkipNotModified: x.SkipNotModified,
		Sheets: rules.Sheets, Targets: rules.Targets,
	}, nil
}

// mimeRates reads db.fetch_schedule_mime_file when the schedule wants it.
func mimeRates(name, file string) (rates map[string]schedule.Rates, err error) {
	if name != schedule.MIMEAdaptive {
		return nil, nil
	}
	if file == "" {
		return schedule.DefaultMIMERates(), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("db.fetch_schedule_mime_file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return schedule.ReadMIMERates(file, f)
}

// Page is one fetched page, ready to be applied.
type Page struct {
	Segment string
	Key     urlkey.Key
	URL     string
	Hint    crawldb.FetchHint
	Fetch   *segment.Fetch
	Parsed  *segment.Parsed // nil unless content was fetched
	// StoreParse says that Parsed is not in the segment yet and goes into the same
	// batch.
	StoreParse bool
	// Target is where a redirect leads: normalized, filtered; "" when there is
	// none that counts.
	Target string
	// Follow says that Target, or where a meta refresh leads, is fetched at once:
	// it is leased in the segment instead of waiting for a later round.
	Follow bool
}

// Scorer hands scores on; chain.Chains is one.
type Scorer interface {
	Distribute(ctx context.Context, in []scoring.DistributeInput) ([]chain.Distributed, []error, error)
}

// Applier applies pages. It is safe for concurrent use.
type Applier struct {
	cfg    Config
	db     *crawldb.DB
	segs   *segment.Segments
	scorer Scorer
	log    hclog.Logger
	// Failed, when set, is told of each page whose score a plugin failed to hand on.
	Failed func(url string, err error)
}

// New returns an applier.
func New(cfg Config, db *crawldb.DB, segs *segment.Segments, scorer Scorer, log hclog.Logger) *Applier {
	return &Applier{cfg: cfg, db: db, segs: segs, scorer: scorer, log: log}
}

// Result counts what was applied.
type Result struct {
	Applied     int
	Skipped     int // applied before
	ScoreErrors int // pages whose score a plugin could not hand on
	ByStatus    map[model.Status]int64
	Dropped     map[string]int64    // links and redirects that scoring plugins dropped, by plugin
	Leased      map[urlkey.Key]bool // targets of redirects, to be fetched at once
}

// prepared is a page with its targets and what it hands on to them.
type prepared struct {
	*Page
	targets []scoring.Target
	keys    []urlkey.Key
	out     chain.Distributed
}

// Apply applies pages in one batch.
func (a *Applier) Apply(ctx context.Context, pages []Page, now time.Time) (Result, error) {
	res := Result{ByStatus: map[model.Status]int64{}, Leased: map[urlkey.Key]bool{}, Dropped: map[string]int64{}}
	prep, err := a.prepare(ctx, pages, &res)
	if err != nil {
		return res, err
	}
	keys := make([]urlkey.Key, len(prep))
	for i := range prep {
		keys[i] = prep[i].Key
	}
	err = a.db.Update(ctx, func(tx *crawldb.Tx) error {
		res.Applied, res.Skipped = 0, 0
		clear(res.ByStatus)
		clear(res.Leased)
		clear(res.Dropped)
		if err := tx.Load(keys); err != nil {
			return err
		}
		for i := range prep {
			status, err := a.apply(tx, &prep[i], now)
			if err == nil && status != 0 && prep[i].Follow && prep[i].FollowTarget() != "" {
				var leased bool
				if leased, err = a.follow(tx, &prep[i], now); leased {
					res.Leased[urlkey.FromURL(prep[i].FollowTarget())] = true
				}
			}
			if err != nil {
				return fmt.Errorf("update %s: %w", prep[i].URL, err)
			}
			if status == 0 {
				res.Skipped++
				continue
			}
			res.Applied++
			res.ByStatus[status]++
			for plugin, n := range prep[i].out.DroppedBy {
				res.Dropped[plugin] += n
			}
		}
		return nil
	})
	return res, err
}

// prepare asks the scoring chain what each page hands on.
func (a *Applier) prepare(ctx context.Context, pages []Page, res *Result) ([]prepared, error) {
	prep := make([]prepared, len(pages))
	var in []scoring.DistributeInput
	var at []int
	for i := range pages {
		p := &prep[i]
		p.Page = &pages[i]
		if err := a.targets(p); err != nil {
			return nil, err
		}
		switch p.Fetch.Status {
		case model.StatusFetchSuccess, model.StatusFetchNotModified, model.StatusFetchRedirPerm, model.StatusFetchRedirTemp:
		default:
			continue
		}
		d := scoring.DistributeInput{URL: p.URL, Fields: p.Hint.Fields, Metadata: p.Hint.Metadata, Targets: p.targets, AllLinks: len(p.targets), Redirect: p.Target != ""}
		if p.Parsed != nil {
			d.ParseMeta, d.Text = p.Parsed.ParseMeta, p.Parsed.Text
			d.AllLinks = p.Parsed.AllLinks
		}
		in, at = append(in, d), append(at, i)
	}
	if len(in) == 0 {
		return prep, nil
	}
	out, errs, err := a.scorer.Distribute(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("distribute scores: %w", err)
	}
	for k, i := range at {
		if errs != nil && errs[k] != nil {
			res.ScoreErrors++
			a.log.Warn("score could not be handed on", "url", prep[i].URL, "error", errs[k])
			if a.Failed != nil {
				a.Failed(prep[i].URL, errs[k])
			}
			continue
		}
		prep[i].out = out[k]
	}
	return prep, nil
}

// targets finds the records that p's links point at.
func (a *Applier) targets(p *prepared) error {
	var links []segment.Link
	switch {
	case p.Target != "":
		links = []segment.Link{{URL: p.Target}}
	case p.Parsed != nil:
		links = p.Parsed.Outlinks
	case p.Fetch.Status == model.StatusFetchNotModified:
		var err error
		if links, err = a.known(p.Key); err != nil {
			return err
		}
	}
	if len(links) == 0 {
		return nil
	}
	host := urlkey.Host(p.URL)
	p.targets = make([]scoring.Target, len(links))
	p.keys = make([]urlkey.Key, len(links))
	for i := range links {
		l := &links[i]
		p.targets[i] = scoring.Target{URL: l.URL, Anchor: l.Anchor, Internal: urlkey.Host(l.URL) == host, Metadata: l.Metadata}
		p.keys[i] = urlkey.FromURL(l.URL)
	}
	return nil
}

// known returns the links of a page that was not modified: those of the last time
// it had content. Targets that have left the CrawlDB since, by purging or "db refilter",
// are not among them: such a page brings up nothing new.
func (a *Applier) known(k urlkey.Key) ([]segment.Link, error) {
	rec, err := a.db.Get(k)
	if err != nil || rec == nil || rec.Datum.Segment == "" {
		return nil, err
	}
	all, err := a.segs.Outlinks(rec.Datum.Segment, k)
	if err != nil {
		return nil, err
	}
	links := all[:0]
	for i := range all {
		has, err := a.db.Has(urlkey.FromURL(all[i].URL))
		if err != nil {
			return nil, err
		}
		if has {
			links = append(links, all[i])
		}
	}
	return links, nil
}

// apply changes the records of one page; it returns the record's new status, or
// 0 when the page was applied before.
func (a *Applier) apply(tx *crawldb.Tx, p *prepared, now time.Time) (model.Status, error) {
	if !tx.Lease(p.Segment, p.Key) {
		return 0, nil
	}
	rec, err := tx.Get(p.Key)
	if err != nil {
		return 0, err
	}
	var old *model.CrawlDatum
	previous := ""
	if rec != nil {
		before := transition.Clone(rec.Datum)
		old, previous = &before, before.Segment
		delete(before.Metadata, transition.MetaPartOf) // a page that was fetched stands for itself
	} else {
		rec = new(crawldb.Record)
	}
	goal, err := a.goal(p.URL)
	if err != nil {
		return 0, err
	}
	next, ok := transition.Apply(old, a.outcome(p, goal), now, a.cfg.Rules)
	if p.StoreParse && p.Parsed != nil {
		segment.PutParse(tx.Tx, p.Segment, p.Key, p.Parsed, p.Fetch)
	}
	tx.Unlease(p.Segment, p.Key)
	if !ok {
		next = model.CrawlDatum{}
	}
	if err := a.parts(tx, p, old, &next, now); err != nil {
		return 0, err
	}
	purge := !ok || a.cfg.Purge404 && next.Status == model.StatusDBGone
	current := next.Segment
	if purge {
		current = ""
	}
	segment.MarkApplied(tx.Tx, p.Segment, p.Key, previous, current)
	if !ok {
		tx.Delete(p.Key)
		return p.Fetch.Status, nil
	}
	if after := p.Fetch.RetryAfter(); after > 0 && p.Fetch.Status == model.StatusFetchRetry && next.Status == model.StatusDBUnfetched {
		// The server said when it wants to be asked again.
		next.FetchTime = p.Fetch.FetchTime.Add(after)
	}
	if err := a.effects(tx, p); err != nil {
		return 0, err
	}
	if a.cfg.Orphans && revived(old, &next) {
		tx.CheckOrphan(p.Key, now)
	}
	if a.indexable(old, &next) {
		tx.IndexDirty(p.Key)
	}
	if purge {
		tx.Delete(p.Key)
		return next.Status, nil
	}
	rec.Datum = next
	tx.Put(p.Key, rec)
	tx.Rescore(p.Key)
	return next.Status, nil
}

// revived reports whether a page that may have been given up as an orphan is there
// again. Only a link brings back such a page, so the orphan step looks at it.
func revived(old, next *model.CrawlDatum) bool {
	return old != nil && old.Status != next.Status && (old.Status == model.StatusDBGone || old.Status == model.StatusDBOrphan)
}

// indexable reports whether the index step has to look at the page.
func (a *Applier) indexable(old, next *model.CrawlDatum) bool {
	if next.Status != model.StatusDBNotModified || !a.cfg.SkipNotModified {
		return true
	}
	return old == nil || old.Status != model.StatusDBNotModified && old.Status != model.StatusDBFetched
}

// effects merges what the page hands on into its targets and itself. A target
// without any field is named all the same: that is how it becomes known.
func (a *Applier) effects(tx *crawldb.Tx, p *prepared) error {
	if len(p.out.Self) > 0 {
		tx.Effect(p.Key, crawldb.Effect{Fields: p.out.Self, Source: p.Key})
	}
	if len(p.keys) == 0 {
		return nil
	}
	meta := p.out.Metadata
	if at := p.refresh(); p.Target != "" {
		meta = []model.Metadata{redirected(p, 0)}
	} else if at >= 0 && len(p.keys) == len(p.Parsed.Outlinks) {
		own := make([]model.Metadata, len(p.keys))
		copy(own, meta)
		own[at] = redirected(p, at)
		meta = own
	}
	if p.out.Drop == nil {
		columns := make([]crawldb.Column, len(p.out.Columns))
		for i, c := range p.out.Columns {
			columns[i] = crawldb.Column(c)
		}
		return tx.Effects(p.Key, p.keys, columns, meta)
	}
	for i, k := range p.keys {
		if p.out.Drop[i] {
			continue
		}
		e := crawldb.Effect{Source: p.Key, Fields: make(model.Fields, len(p.out.Columns))}
		for _, c := range p.out.Columns {
			e.Fields[c.Field] = c.Values[i]
		}
		if meta != nil {
			e.Metadata = meta[i]
		}
		tx.Effect(k, e)
	}
	return nil
}

// outcome gathers what the state machine needs.
func (a *Applier) outcome(p *prepared, goal schedule.Goal) transition.Outcome {
	o := a.cfg.Outcome(p.Fetch, p.Parsed, p.Segment)
	o.ReprURL = p.Hint.Metadata.First(MetaRepr)
	o.Goal = goal
	return o
}

// Outcome gathers what the state machine needs of a fetch and its parse, which is nil
// when there was nothing to parse, kept in segment seg.
func (c *Config) Outcome(f *segment.Fetch, parsed *segment.Parsed, seg string) transition.Outcome {
	o := transition.Outcome{
		Status: f.Status, Protocol: f.Protocol, FetchTime: f.FetchTime, ETag: f.ETag, LastModified: f.LastModified,
		Metadata: model.Metadata{},
	}
	if c.StoreResponseTime && f.Elapsed > 0 {
		o.Metadata.Set(metaTime, strconv.FormatInt(f.Elapsed.Milliseconds(), 10))
	}
	if c.StoreIP && f.IP != "" {
		o.Metadata.Set(metaIP, f.IP)
	}
	if parsed == nil {
		return o
	}
	o.Segment, o.ContentType, o.Parse = seg, f.MIMEType, parsed.Status
	o.Signature = parsed.Signature
	if f.Truncated != "" {
		o.Metadata.Set(metaTruncated, f.Truncated)
	}
	for _, k := range c.ParseMeta {
		if v := parsed.ParseMeta[k]; v != nil {
			if o.ParseMeta == nil {
				o.ParseMeta = model.Metadata{}
			}
			o.ParseMeta[k] = v
		}
	}
	return o
}
