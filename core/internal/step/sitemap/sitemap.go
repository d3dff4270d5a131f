// Package sitemap brings the URLs of sitemaps into the CrawlDB (Nutch's
// SitemapProcessor). It owns which sitemaps are read, whose URLs they may name,
// and the limits. It must not know how requests are made (a fetch engine makes
// them, so that sitemaps wait for their hosts' turns like pages do), how sitemaps are
// written (a parser plugin knows), or what their hints do to a record (package
// transition knows).
package sitemap

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/hostdb"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
)

// MIMEType is the type that sitemaps are parsed as, whatever the server calls them.
const MIMEType = "application/x-sitemap+xml"

// Plugins are the chains that sitemaps need; chain.Chains has them.
type Plugins interface {
	chain.URLChain
	Injected(ctx context.Context, in []scoring.InjectInput) ([]model.Fields, []error, error)
	Parse(ctx context.Context, content *model.Content) (*chain.ParseResult, error)
}

// Request asks for one sitemap.
type Request struct {
	URL      string
	Hops     int   // redirects that led here
	MaxBytes int64 // of the body
}

// Answer is what became of a Request.
type Answer struct {
	Request
	PutOff   string // why nothing was asked for now, or ""
	Redirect string // where a redirect leads, or ""
	Failed   string // why there is no content, or ""
	Retry    bool   // it may be there another time
	Content  *model.Content
}

// Engine makes requests in their hosts' turns. Ask queues them and does not wait for
// the answers, which come by Reader.Answer, at once for those that are put off.
type Engine interface {
	Ask(ctx context.Context, reqs ...Request) error
}

// Deps are what sitemaps are read with.
type Deps struct {
	DB      *crawldb.DB
	Hosts   *hostdb.DB
	Plugins Plugins
	Engine  Engine
	Agents  []string // product tokens in robots.txt, the crawler's own first
	Rules   transition.Rules
	Now     func() time.Time
}

// Report says what became of sitemaps and their URLs.
type Report struct {
	Hosts    int            `json:"hosts"`    // whose sitemaps were asked for
	Sitemaps int            `json:"sitemaps"` // read, indexes included
	Indexes  int            `json:"indexes,omitempty"`
	Failed   map[string]int `json:"failed,omitempty"` // sitemaps not read, by reason
	URLs     int            `json:"urls"`             // named by sitemaps
	Added    int            `json:"added"`
	Existing int            `json:"existing,omitempty"` // known already and left as they are
	Updated  int            `json:"updated,omitempty"`  // known already and changed
	Dropped  map[string]int `json:"dropped,omitempty"`  // by reason
}

// errNone says that no plugin reads sitemaps.
var errNone = errors.New(`no plugin parses sitemaps: choose one, such as parse-sitemap, with plugin { add = ["parse-sitemap"] }`)

// task is a sitemap to be read. It never changes.
type task struct {
	url   string
	depth int    // indexes above it
	root  string // the sitemap that was named first
	home  *home
	named bool // root is named by robots.txt of home, or by the user
	guess bool // nobody named it
}

// home is a host whose sitemaps are read, or where a given sitemap is.
type home struct {
	host, origin   string
	sitemaps, urls int // guarded by Reader.mu, as all below
	left           int // tasks not done
	failed         bool
	mark           bool // the HostDB is to say that it was read
	askedForGuess  bool
}

// Reader reads sitemaps with an engine that someone else runs, who hands it the
// answers. Its methods are safe for concurrent use.
type Reader struct {
	cfg  Config
	deps Deps

	mu    sync.Mutex
	rep   Report
	tasks map[string]*task     // asked for, by the URL of the request
	seen  map[string]bool      // URLs of sitemaps
	names map[string][]string  // what robots.txt of hosts names
	tried map[string]time.Time // hosts, when they were asked
	left  int
	done  chan struct{} // closed and replaced when left falls to 0
}

// New returns a reader.
func New(cfg Config, deps Deps) *Reader {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	return &Reader{
		cfg: cfg, deps: deps, tasks: map[string]*task{}, seen: map[string]bool{}, names: map[string][]string{}, tried: map[string]time.Time{}, done: make(chan struct{}),
		rep: Report{Failed: map[string]int{}, Dropped: map[string]int{}},
	}
}

// Report returns what was done so far.
func (r *Reader) Report() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	rep := r.rep
	rep.Failed, rep.Dropped = clone(r.rep.Failed), clone(r.rep.Dropped)
	return rep
}

func clone(m map[string]int) map[string]int {
	out := make(map[string]int, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// Wait returns when everything that was asked for is done, or stop is closed.
func (r *Reader) Wait(ctx context.Context, stop <-chan struct{}) error {
	for {
		r.mu.Lock()
		left, done := r.left, r.done
		r.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-done:
		case <-stop:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Given asks for sitemaps that the user names. Each may name URLs of its own
// host, and of others whose robots.txt names it.
func (r *Reader) Given(ctx context.Context, urls ...string) error {
	for _, u := range urls {
		if !isWeb(u) {
			return fmt.Errorf("sitemap %q: want a URL that starts with http:// or https://", u)
		}
	}
	var ts []*task
	for _, u := range urls {
		ts = append(ts, &task{url: u, root: u, named: true, home: &home{host: urlkey.Host(u), origin: urlkey.Origin(u)}})
	}
	return r.ask(ctx, ts)
}

func isWeb(url string) bool {
	return strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")
}

// ask queues tasks that were not queued before and are within the limits.
func (r *Reader) ask(ctx context.Context, ts []*task) error {
	var reqs []Request
	r.mu.Lock()
	for _, t := range ts {
		switch {
		case r.seen[t.url]:
			continue
		case over(r.cfg.MaxPerHost, t.home.sitemaps):
			r.rep.Failed["more than sitemap.max_per_host of the host"]++
			continue
		}
		t.home.sitemaps++
		r.seen[t.url] = true
		reqs = append(reqs, r.start(t, t.url, 0))
	}
	r.mu.Unlock()
	return r.deps.Engine.Ask(ctx, reqs...)
}

// start notes a request for t; the caller holds the lock.
func (r *Reader) start(t *task, url string, hops int) Request {
	r.tasks[url] = t
	r.left++
	t.home.left++
	return Request{URL: url, Hops: hops, MaxBytes: r.cfg.MaxSize}
}

// over reports whether one more than n is over a limit.
func over(limit, n int) bool { return limit > 0 && n >= limit }

// Answer takes the answer to a request; it parses and stores what it brought before
// it returns.
func (r *Reader) Answer(ctx context.Context, a Answer) error {
	r.mu.Lock()
	t := r.tasks[a.URL]
	delete(r.tasks, a.URL)
	r.mu.Unlock()
	if t == nil {
		return nil
	}
	failed, err := r.take(ctx, t, &a)
	if err == nil && t.guess {
		err = r.afterGuess(ctx, t)
	}
	r.mu.Lock()
	if failed != "" && (!t.guess || a.PutOff != "") {
		r.rep.Failed[failed]++
	}
	if a.PutOff != "" || a.Retry {
		t.home.failed = true // tried again another time
	}
	r.left--
	t.home.left--
	mark := t.home.left == 0 && t.home.mark && !t.home.failed
	if r.left == 0 {
		close(r.done)
		r.done = make(chan struct{})
	}
	r.mu.Unlock()
	if err == nil && mark {
		err = r.markRead(ctx, t.home)
	}
	return err
}

// take reads the answer; it says why it can't be used.
func (r *Reader) take(ctx context.Context, t *task, a *Answer) (failed string, err error) {
	switch {
	case a.PutOff != "":
		return "put off: " + a.PutOff, nil
	case a.Redirect != "":
		return r.redirect(ctx, t, a)
	case a.Failed != "" || a.Content == nil:
		return a.Failed, nil
	}
	c := *a.Content
	c.MIMEType = MIMEType
	res, err := r.deps.Plugins.Parse(ctx, &c)
	if err != nil {
		return "", err
	}
	if res.Parser == "" {
		return "", errNone
	}
	if res.Err != nil || len(res.Parses) == 0 || !res.Parses[0].Status.OK() || res.Parses[0].ParseMeta.First("sitemap") == "" {
		return "not a sitemap", nil //nolint:nilerr // what is wrong with the document is its outcome
	}
	p := &res.Parses[0]
	r.mu.Lock()
	r.rep.Sitemaps++
	if len(p.ParseMeta["parse.truncated"]) > 0 {
		r.rep.Failed["read in part only: cut off"]++
	}
	r.mu.Unlock()
	if p.ParseMeta.First("sitemap") == "sitemapindex" {
		return "", r.index(ctx, t, p.Outlinks)
	}
	return "", r.urls(ctx, t, p.Outlinks)
}

func (r *Reader) redirect(ctx context.Context, t *task, a *Answer) (string, error) {
	to := a.Redirect
	if !isWeb(to) || a.Hops >= r.cfg.RedirectMax {
		return "redirect not followed", nil
	}
	r.mu.Lock()
	if r.seen[to] {
		r.mu.Unlock()
		return "", nil // read, or about to be
	}
	r.seen[to] = true
	req := r.start(t, to, a.Hops+1)
	r.mu.Unlock()
	return "", r.deps.Engine.Ask(ctx, req)
}

// index asks for the sitemaps that an index names.
func (r *Reader) index(ctx context.Context, t *task, links []model.Outlink) error {
	r.mu.Lock()
	r.rep.Indexes++
	r.mu.Unlock()
	if r.cfg.MaxDepth > 0 && t.depth >= r.cfg.MaxDepth {
		r.drop("index deeper than sitemap.max_depth", len(links))
		return nil
	}
	var ts []*task
	for i, l := range links {
		if over(r.cfg.MaxURLs, i) {
			r.drop("more than sitemap.max_urls of the sitemap", len(links)-i)
			break
		}
		if why, err := r.mayName(t, l.URL, false); err != nil || why != "" {
			if err != nil {
				return err
			}
			r.drop("sitemap of an index: "+why, 1)
			continue
		}
		ts = append(ts, &task{url: l.URL, depth: t.depth + 1, root: t.root, home: t.home, named: t.named})
	}
	return r.ask(ctx, ts)
}

func (r *Reader) drop(why string, n int) {
	r.mu.Lock()
	r.rep.Dropped[why] += n
	r.mu.Unlock()
}
