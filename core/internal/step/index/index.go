// Package index sends documents to the index writers: those of pages that changed
// since the last time, and deletes of those that are to be there no more. It
// owns what becomes of a page in the index (Nutch's IndexerMapReduce, nutch.md
// 6.13), the document's hash, and delivery: a page stays marked until every
// writer has committed what it was sent. It must not know how plugins are run.
package index

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/linkdb"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// Plugins are the chains that indexing needs; chain.Chains has them.
type Plugins interface {
	FilterDocuments(ctx context.Context, in []*indexingfilter.Input) ([]chain.Indexed, error)
	Boost(ctx context.Context, in []scoring.IndexInput) ([]float64, []error, error)
	Route(ctx context.Context, docs []*model.Document) ([]chain.Route, error)
	Needs() manifest.Needs
}

// Writer is an opened index writer; chain.Writer is one.
type Writer interface {
	Name() string
	Write(ctx context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error)
	Commit(ctx context.Context) error
}

// Target is a writer and how its documents are mapped.
type Target struct {
	Writer Writer
	Plugin string
	Params []byte // hash of its parameters
	Copy   map[string][]string
	Rename map[string]string
	Remove []string
}

// Deps are what the step works with.
type Deps struct {
	DB      *crawldb.DB
	Segs    *segment.Segments
	Links   *linkdb.DB
	Plugins Plugins
	Targets []Target
	// URLs, when set, gives the ids that documents have in the index, and drops those that are
	// not to be there: normalizers of scope indexer and filters (Nutch's index -normalize
	// -filter). It is asked about deletes, too.
	URLs   func(ctx context.Context, urls []string) ([]chain.URLResult, error)
	Routed bool // exchanges are configured: what none of them takes goes nowhere
	Log    hclog.Logger
	// Failed, when set, is told of each document that a plugin failed on.
	Failed func(url string, err error)
}

// Report says what the step did.
type Report struct {
	Indexed   int64            `json:"indexed"`
	Deleted   int64            `json:"deleted"`
	Unchanged int64            `json:"unchanged"` // same document as the index holds
	Skipped   map[string]int64 `json:"skipped,omitempty"`
	Rejected  map[string]int64 `json:"rejected,omitempty"`   // documents a writer refused, by writer
	Pending   map[string]int64 `json:"pending,omitempty"`    // operations a writer could not take now, by writer
	Down      []string         `json:"down,omitempty"`       // writers that take nothing now, and why
	Late      []string         `json:"incomplete,omitempty"` // writers that came later and lack what was sent before
}

func newReport() Report {
	return Report{Skipped: map[string]int64{}, Rejected: map[string]int64{}, Pending: map[string]int64{}}
}

// Indexer runs the step.
type Indexer struct {
	Deps
	cfg   Config
	needs manifest.Needs
	rep   Report
}

// New returns an indexer.
func New(cfg Config, d Deps) *Indexer {
	return &Indexer{Deps: d, cfg: cfg, needs: d.Plugins.Needs()}
}

// fate is what is to become of a page in the index.
type fate struct {
	key    urlkey.Key
	url    string
	id     string // of the document; the URL unless Deps.URLs says otherwise
	rec    *crawldb.Record
	state  *crawldb.DocState
	fetch  *segment.Fetch
	parsed *segment.Parsed
	doc    *model.Document // dropped once it is in the outboxes
	made   bool            // a document was made
	same   bool            // a writer holds this very document
	del    bool            // delete it
	skip   string          // leave it as it is, for this reason
	wait   bool            // what is pending stays so
	to     []string        // writers that are to have it
	moves  []*move
	drop   []string // writers that need nothing any more
}

// ErrNoWriter says that there is no index writer to send documents to.
var ErrNoWriter = errors.New("no index writer is configured: an index_writer block names one, and its plugin must be among plugin.includes")

// Run looks at every marked page, after it has sent the writers what they could
// not take before. Without a writer it is ErrNoWriter and everything stays marked.
func (x *Indexer) Run(ctx context.Context) (Report, error) {
	return x.step(ctx, "index", func(s *session) error {
		if err := x.pending(ctx, s); err != nil {
			return err
		}
		return x.each(ctx, s, x.DB.DirtyForIndex)
	})
}

// Pending sends the writers what they could not take before, and looks at no
// other page.
func (x *Indexer) Pending(ctx context.Context) (Report, error) {
	return x.step(ctx, "index", func(s *session) error { return x.pending(ctx, s) })
}

// Clean deletes every document whose page is no longer to be there.
func (x *Indexer) Clean(ctx context.Context) (Report, error) {
	return x.step(ctx, "clean", func(s *session) error {
		err := x.DB.EachDocState(ctx, func(k urlkey.Key, st *crawldb.DocState) error {
			rec, err := x.DB.Get(k)
			if err != nil {
				return err
			}
			if rec != nil && !leaves(rec.Datum.Status) {
				return nil
			}
			url, err := urlkey.ToURL(k)
			if err != nil {
				return err
			}
			fates := []*fate{{key: k, url: url, id: url, rec: rec, state: st, del: true}}
			if err := x.name(ctx, fates); err != nil {
				return err
			}
			return s.portion(ctx, fates)
		})
		return err
	})
}

// step runs f over a session of its own and commits it.
func (x *Indexer) step(ctx context.Context, what string, f func(*session) error) (Report, error) {
	if len(x.Targets) == 0 {
		return Report{}, ErrNoWriter
	}
	x.rep = newReport()
	err := x.register(ctx)
	var s *session
	if err == nil {
		s, err = newSession(ctx, x)
	}
	if err == nil {
		err = f(s)
		if err == nil || errors.Is(err, errUnrouted) {
			err = errors.Join(s.commit(ctx), err)
		}
	}
	if err != nil {
		return x.rep, fmt.Errorf("%s: %w", what, err)
	}
	return x.rep, nil
}

// portionPages is how many pages are decided upon together.
const portionPages = 128

// each settles the pages that walk goes through.
func (x *Indexer) each(ctx context.Context, s *session, walk func(context.Context, func(urlkey.Key) error) error) error {
	var keys []urlkey.Key
	flush := func() error {
		if len(keys) == 0 {
			return nil
		}
		err := x.portion(ctx, s, keys)
		keys = nil
		return err
	}
	err := walk(ctx, func(k urlkey.Key) error {
		if keys = append(keys, k); len(keys) < portionPages {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// errDown ends the walk over a writer's backlog.
var errDown = errors.New("the writer is down")

// pending settles the pages of which a writer still has to be sent something.
func (x *Indexer) pending(ctx context.Context, s *session) error {
	for i := range x.Targets {
		name := x.Targets[i].Writer.Name()
		err := x.each(ctx, s, func(ctx context.Context, f func(urlkey.Key) error) error {
			return x.DB.PendingFor(ctx, name, func(k urlkey.Key) error {
				if s.outs[name].down != nil {
					return errDown
				}
				return f(k)
			})
		})
		if err != nil && !errors.Is(err, errDown) {
			return err
		}
		if err := s.commit(ctx); err != nil {
			return err
		}
		if err := x.reindexed(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// leaves reports whether a page of the status is to leave the index.
func leaves(s model.Status) bool {
	switch s {
	case model.StatusDBGone, model.StatusDBRedirPerm, model.StatusDBRedirTemp, model.StatusDBDuplicate, model.StatusDBOrphan, model.StatusDBParseFailed:
		return true
	}
	return false
}

// portion decides the fate of some marked pages and hands it to the session.
func (x *Indexer) portion(ctx context.Context, s *session, keys []urlkey.Key) error {
	fates := make([]*fate, len(keys))
	for i, k := range keys {
		f, err := x.decide(k)
		if err != nil {
			return err
		}
		fates[i] = f
	}
	if err := x.name(ctx, fates); err != nil {
		return err
	}
	var build []*fate
	for _, f := range fates {
		if !f.del && f.skip == "" {
			build = append(build, f)
		}
	}
	if err := x.build(ctx, build); err != nil {
		return err
	}
	return s.portion(ctx, fates)
}

// name sets the ids of documents.
func (x *Indexer) name(ctx context.Context, fates []*fate) error {
	if x.URLs == nil {
		return nil
	}
	urls := make([]string, len(fates))
	for i, f := range fates {
		urls[i] = f.url
	}
	out, err := x.URLs(ctx, urls)
	if err != nil {
		return err
	}
	for i, f := range fates {
		switch r := out[i]; {
		case r.Err != nil:
			if !f.del && f.skip == "" {
				f.skip = "plugin error: " + r.Plugin
			}
			x.Log.Warn("a plugin could not judge the URL of a document", "url", f.url, "error", r.Err)
			if x.Failed != nil {
				x.Failed(f.url, r.Err)
			}
		case r.Dropped:
			f.del, f.skip = true, r.Plugin
		default:
			f.id = r.URL
		}
	}
	return nil
}

// decide applies Nutch's rules (nutch.md 6.13), as far as they need no plugin.
func (x *Indexer) decide(k urlkey.Key) (*fate, error) {
	f := &fate{key: k}
	var err error
	if f.url, err = urlkey.ToURL(k); err != nil {
		return nil, err
	}
	f.id = f.url
	if f.rec, err = x.DB.Get(k); err != nil {
		return nil, err
	}
	if f.state, err = x.DB.DocState(k); err != nil {
		return nil, err
	}
	switch {
	case f.rec == nil:
		f.del = true
		return f, nil
	case leaves(f.rec.Datum.Status):
		f.del = x.cfg.Delete
		f.skip = f.rec.Datum.Status.String()
		return f, nil
	case f.rec.Datum.Status == model.StatusDBUnfetched && !f.again():
		f.skip, f.wait = "db_unfetched", true
		return f, nil
	}
	seg := f.rec.Datum.Segment
	if seg == "" {
		f.skip = "no content"
		return f, nil
	}
	if f.fetch, err = x.Segs.GetFetch(seg, k); err != nil {
		return nil, err
	}
	if f.parsed, err = x.Segs.GetParse(seg, k, segment.Want{Text: true, Outlinks: x.needs.Outlinks}); err != nil {
		return nil, err
	}
	switch {
	case f.fetch == nil || f.parsed == nil:
		f.skip = "segment is gone"
	case f.parsed.Robots.NoIndex && x.cfg.DeleteNoIndex:
		f.del, f.skip = true, "noindex"
	case !f.parsed.Status.OK():
		f.skip = "parse failed"
	}
	return f, nil
}

// Judgement is what the step would do with a page.
type Judgement struct {
	Document *model.Document // it would be sent, before the writers' mappings
	Writers  []string        // that would get it; empty when exchanges leave it to all
	Delete   bool            // it would be deleted where it is
	Why      string          // there is no document: a status, "no content", "noindex", a plugin's id …
}

// Judge says what the step would do with a page now, and does nothing.
func (x *Indexer) Judge(ctx context.Context, key urlkey.Key) (Judgement, error) {
	f, err := x.decide(key)
	if err != nil {
		return Judgement{}, err
	}
	if !f.del && f.skip == "" {
		if err := x.documents(ctx, []*fate{f}); err != nil {
			return Judgement{}, err
		}
	}
	if f.doc != nil && x.Routed {
		routes, err := x.Plugins.Route(ctx, []*model.Document{f.doc})
		if err != nil {
			return Judgement{}, err
		}
		if f.to = routes[0].Writers; len(f.to) == 0 {
			f.doc, f.skip, f.del = nil, "no exchange takes it", true
		}
	}
	return Judgement{Document: f.doc, Writers: f.to, Delete: f.del, Why: f.skip}, nil
}

// again reports whether a writer is to be sent what it had before, as by a reindex.
func (f *fate) again() bool {
	return f.state != nil && slices.ContainsFunc(f.state.Writers, func(w crawldb.WriterState) bool {
		return w.Held && w.Pending && w.Hash == nil && w.Why == ""
	})
}

// build makes documents and decides where they go.
func (x *Indexer) build(ctx context.Context, fates []*fate) error {
	if err := x.documents(ctx, fates); err != nil {
		return err
	}
	return x.route(ctx, fates)
}

// documents makes documents and runs them through the indexing filters.
func (x *Indexer) documents(ctx context.Context, fates []*fate) error {
	if len(fates) == 0 {
		return nil
	}
	in := make([]*indexingfilter.Input, len(fates))
	boosts := make([]scoring.IndexInput, len(fates))
	for i, f := range fates {
		var err error
		if in[i], err = x.input(f); err != nil {
			return err
		}
		boosts[i] = scoring.IndexInput{URL: f.url, Score: f.rec.Datum.Score, Fields: f.rec.Datum.Fields, ParseMeta: f.parsed.ParseMeta, Boost: 1}
	}
	weights, werrs, err := x.Plugins.Boost(ctx, boosts)
	if err != nil {
		return err
	}
	for i := range in {
		weight := 1.0
		if werrs == nil || werrs[i] == nil {
			weight = weights[i]
		}
		SetBoost(&in[i].Doc, weight)
	}
	out, err := x.Plugins.FilterDocuments(ctx, in)
	if err != nil {
		return err
	}
	for i, f := range fates {
		switch r := out[i]; {
		case r.Err != nil:
			f.skip = "plugin error: " + r.Plugin
			x.Log.Warn("document could not be made", "url", f.url, "error", r.Err)
			if x.Failed != nil {
				x.Failed(f.url, r.Err)
			}
		case r.Dropped != "":
			f.del, f.skip = x.cfg.DeleteSkipped, r.Plugin
		default:
			f.doc = r.Doc
		}
	}
	return nil
}

// route asks the exchanges where each document goes.
func (x *Indexer) route(ctx context.Context, fates []*fate) error {
	var docs []*model.Document
	var of []*fate
	for _, f := range fates {
		if f.doc != nil {
			docs, of = append(docs, f.doc), append(of, f)
		}
	}
	routes, err := x.Plugins.Route(ctx, docs)
	if err != nil {
		return err
	}
	for i, f := range of {
		if err := routes[i].Err; err != nil {
			x.Log.Warn("an exchange failed on a document", "url", f.url, "error", err)
			if x.Failed != nil {
				x.Failed(f.url, err)
			}
			f.doc, f.skip = nil, "exchange error"
			continue
		}
		f.to = slices.Clone(routes[i].Writers)
		if routes[i].Default && len(f.to) == 0 && !x.Routed {
			for _, t := range x.Targets {
				f.to = append(f.to, t.Writer.Name())
			}
		}
		if len(f.to) == 0 {
			if x.cfg.UnroutedError {
				return fmt.Errorf("%w: %s; add an exchange with default = true, or set indexer { unrouted = \"skip\" }", errUnrouted, f.url)
			}
			f.doc, f.skip, f.del = nil, "no exchange takes it", true
		}
	}
	return nil
}

// errUnrouted says that a document goes nowhere and that this is to be an error.
var errUnrouted = errors.New("no exchange takes the document")

func (x *Indexer) input(f *fate) (*indexingfilter.Input, error) {
	in := Input(f.id, &f.rec.Datum, f.fetch, f.parsed)
	in.Parse.URL = f.url
	var err error
	if x.needs.Inlinks {
		if in.Inlinks, err = x.Links.Inlinks(f.key, 0); err != nil {
			return nil, err
		}
	}
	if x.needs.Content {
		in.Content, err = x.Segs.Content(f.rec.Datum.Segment, f.fetch)
		if errors.Is(err, segment.ErrNoContent) {
			err = nil
		}
	}
	return in, err
}

// Input is what the indexing filters get of a page: the document as it begins,
// and what it is made of. Inlinks, Content and the boost are the caller's to add.
func Input(url string, d *model.CrawlDatum, f *segment.Fetch, p *segment.Parsed) *indexingfilter.Input {
	in := &indexingfilter.Input{
		URL: url, Datum: *d, Headers: f.Headers, Segment: d.Segment,
		Doc: model.Document{ID: url, Fields: map[string][]string{
			"id": {url}, "segment": {d.Segment}, "digest": {hex.EncodeToString(d.Signature)},
		}},
		Parse: model.Parse{
			URL: url, Status: p.Status, Title: p.Title, Text: p.Text, Robots: p.Robots, Canonical: p.Canonical,
			Charset: p.Charset, Language: p.Language, ContentMeta: p.ContentMeta, ParseMeta: p.ParseMeta,
		},
	}
	for _, l := range p.Outlinks {
		in.Parse.Outlinks = append(in.Parse.Outlinks, model.Outlink{URL: l.URL, Anchor: l.Anchor, Tag: l.Tag, Metadata: l.Metadata})
	}
	return in
}

// SetBoost sets the weight of a document and the field that shows it.
func SetBoost(doc *model.Document, weight float64) {
	doc.Boost = weight
	doc.Fields["boost"] = []string{strconv.FormatFloat(weight, 'g', 6, 64)}
}

// retryable reports whether sending again may help.
func retryable(err error) bool {
	var lost *chain.LostWritesError
	return errors.As(err, &lost) || fault.Is(err, fault.Transient)
}

// pause returns the wait after failed attempt n, counted from 0: doubling, up to 64 times the first.
func pause(first time.Duration, n int) time.Duration { return first << min(n, 6) }

// wait sleeps for the pause after attempt n, unless ctx ends.
func wait(ctx context.Context, d time.Duration, n int) error {
	t := time.NewTimer(pause(d, n))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
