// Package index sends documents to the index writers: those of pages that changed
// since the last time, and deletes of those that are to be there no more. It
// owns what becomes of a page in the index (Nutch's IndexerMapReduce, nutch.md
// 6.13), the document's hash, and delivery: a page stays marked until every
// writer has committed what it was sent. It must not know how plugins are run.
package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/linkdb"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/scoring"
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
	// Health, when set, remembers from step to step which writers take nothing.
	Health *Health
	// Progress, when set, is told now and then how many pages the step has gone through.
	Progress func(pages int64)
	// Stop, when closed, ends a step: nothing more is tried again, and what is sent is
	// committed. The rest keeps its marks.
	Stop <-chan struct{}
}

// Report says what the step did.
type Report struct {
	Indexed   int64            `json:"indexed"`   // pages of which a document was sent: New + Changed + Again
	New       int64            `json:"new"`       // no writer had one before
	Changed   int64            `json:"changed"`   // it replaced another
	Again     int64            `json:"again"`     // what a writer had or may have had was sent again, or it lacked what others have
	Deleted   int64            `json:"deleted"`   // pages whose document was deleted
	Unchanged int64            `json:"unchanged"` // same document as the index holds
	Skipped   map[string]int64 `json:"skipped,omitempty"`
	Rejected  map[string]int64 `json:"rejected,omitempty"`   // documents a writer refused, by writer
	Pending   map[string]int64 `json:"pending,omitempty"`    // operations of this step that a writer could not take, by writer
	Waiting   map[string]int64 `json:"waiting,omitempty"`    // operations that are kept for a writer after the step
	Down      []Down           `json:"down,omitempty"`       // writers that take nothing now
	Late      []string         `json:"incomplete,omitempty"` // writers that came later and lack what was sent before
	Stopped   bool             `json:"stopped,omitempty"`    // marked pages are left, because of Stop
}

func newReport() Report {
	return Report{Skipped: map[string]int64{}, Rejected: map[string]int64{}, Pending: map[string]int64{}, Waiting: map[string]int64{}}
}

// Indexer runs the step.
type Indexer struct {
	Deps
	cfg   Config
	needs manifest.Needs
	rep   Report
	pages int64 // gone through
}

// New returns an indexer.
func New(cfg Config, d Deps) *Indexer {
	if d.Health == nil {
		d.Health = cfg.NewHealth()
	}
	return &Indexer{Deps: d, cfg: cfg, needs: d.Plugins.Needs()}
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
			if s.stopping() {
				return errStopping
			}
			fates := []*fate{{key: k, url: url, id: url, rec: rec, state: st, del: true}}
			if err := x.name(ctx, fates); err != nil {
				return err
			}
			err = s.portion(ctx, fates)
			x.passed(1)
			return err
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
		if errors.Is(err, errStopping) {
			x.rep.Stopped, err = true, nil
		}
		if err == nil || errors.Is(err, errUnrouted) {
			err = errors.Join(s.commit(ctx), err)
		}
		s.close()
	}
	if err == nil {
		err = x.waiting(ctx)
	}
	if err != nil {
		return x.rep, fmt.Errorf("%s: %w", what, err)
	}
	return x.rep, nil
}

// waiting reports what the writers lack after the step.
func (x *Indexer) waiting(ctx context.Context) error {
	counts, err := x.DB.DocCounts(ctx)
	if err != nil {
		return err
	}
	for i := range x.Targets {
		name := x.Targets[i].Writer.Name()
		n := counts[name].Pending
		if n > 0 {
			x.rep.Waiting[name] = n
		}
		info, err := x.DB.WriterInfo(name)
		if err != nil {
			return err
		}
		if info == nil {
			continue
		}
		if !info.Complete {
			x.rep.Late = append(x.rep.Late, name)
		}
		if err := x.noteOutage(ctx, name, info, n > 0); err != nil {
			return err
		}
	}
	x.rep.Down = x.Health.list(x.rep.Waiting)
	return nil
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
		if s.stopping() {
			return errStopping
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
				if s.outs[name].isDown() != nil {
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
	err := s.portion(ctx, fates)
	x.passed(len(keys))
	return err
}

// passed tells of more pages that were gone through.
func (x *Indexer) passed(n int) {
	x.pages += int64(n)
	if x.Progress != nil {
		x.Progress(x.pages)
	}
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
