// Package checker looks at single pages with the plugins and settings of a crawl
// but without its records: it fetches one URL, parses it and makes the document
// that would be indexed. It owns how the steps' own rules are strung together
// for that; it must not know how commands ask or what they print, and it leaves
// CrawlDB, LinkDB and segments alone.
package checker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/robots"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/step/fetch"
	"github.com/gonutch/crawler/core/internal/step/index"
	"github.com/gonutch/crawler/core/internal/step/inject"
	"github.com/gonutch/crawler/core/internal/step/parse"
	"github.com/gonutch/crawler/core/internal/step/update"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/model"
)

// redirectsWithout is how many redirects are followed when http.redirect_max is 0
// (nutch.md 5.5).
const redirectsWithout = 3

// Options say how pages are looked at.
type Options struct {
	Normalize       bool           // bring the URL into its normal form first
	FollowRedirects bool           // up to http.redirect_max, or 3 when that is 0
	CheckRobots     bool           // ask robots.txt first
	ForceAs         string         // MIME type to parse as; "" is what the document is
	Metadata        model.Metadata // of the record, as a seed would bring it
}

// Checker looks at pages. It is safe for concurrent use, and better so used:
// calls to plugins are shared. Requests to one host are made one at a time and
// fetcher.server_delay apart.
type Checker struct {
	opts    Options
	crawl   *crawl.Crawl
	fetch   fetch.Config
	update  update.Config
	index   index.Config
	parser  *parse.Parser
	agent   error // what is wrong with the crawler's name
	turns   turns
	robots  robotsCache
	targets []index.Target
}

// New returns a checker over an open crawl, which may be without a store. The
// caller closes the crawl.
func New(c *crawl.Crawl, o Options) (*Checker, error) {
	k := &Checker{opts: o, crawl: c, agent: c.Config.RequireAgent()}
	var errs [4]error
	var pc parse.Config
	k.fetch, errs[0] = fetch.LoadConfig(c.Config, c.Rules.Sheets)
	k.update, errs[1] = update.LoadConfig(c.Config, c.Rules)
	k.index, errs[2] = index.LoadConfig(c.Config)
	pc, errs[3] = parse.LoadConfig(c.Config)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	var err error
	k.parser, err = parse.New(pc, c.Chains)
	return k, err
}

// Hop is a redirect that was followed.
type Hop struct {
	URL    string               `json:"url"`
	Status model.ProtocolStatus `json:"status"`
}

// Page is what became of one URL. Problem says why there is no parse, when no
// record of the fetch or parse can say it.
type Page struct {
	URL     string // as asked for, normalized when that was wanted
	Hops    []Hop
	Fetch   *segment.Fetch // nil when nothing was asked
	Parsed  *segment.Parsed
	Links   []model.Outlink // as the parser found them; only of Parse
	Problem string

	content *model.Content
}

// OK reports whether the page was fetched and parsed.
func (p *Page) OK() bool { return p.Parsed != nil && p.Parsed.Status.OK() }

// Parse fetches and parses a URL. Its links are as the parser found them,
// neither normalized nor filtered. What goes wrong with the page is part of it;
// the error is not nil only when no page can be looked at any more.
func (k *Checker) Parse(ctx context.Context, url string) (*Page, error) {
	p, err := k.get(ctx, url)
	if err != nil || p.content == nil {
		return p, err
	}
	p.Parsed, p.Links, err = k.parser.Document(ctx, p.content)
	return p, err
}

// get fetches a URL, over redirects if wanted.
func (k *Checker) get(ctx context.Context, url string) (*Page, error) {
	p := &Page{URL: url}
	target := url
	for {
		var err error
		if k.opts.Normalize {
			scope := urlnormalizer.ScopeDefault
			if len(p.Hops) > 0 {
				scope = urlnormalizer.ScopeFetcher
			}
			if target, p.Problem, err = k.normal(ctx, scope, target); err != nil || p.Problem != "" {
				return p, err
			}
			if len(p.Hops) == 0 {
				p.URL = target
			}
		}
		resp, err := k.ask(ctx, p, target)
		if err != nil || resp == nil {
			return p, err
		}
		f := fetch.Record(k.fetch, target, resp, time.Now())
		p.Fetch = &f
		switch f.Status {
		case model.StatusFetchSuccess:
			p.content = f.Content(resp.Body)
			if k.opts.ForceAs != "" {
				p.content.MIMEType, f.MIMEType = k.opts.ForceAs, k.opts.ForceAs
			}
			return p, nil
		case model.StatusFetchRedirPerm, model.StatusFetchRedirTemp:
		default:
			return p, nil
		}
		if !k.follows(p, &f) {
			return p, nil
		}
		p.Hops = append(p.Hops, Hop{URL: target, Status: f.Protocol})
		target = f.Location
	}
}

// follows reports whether a redirect is to be followed, or says on the page why
// it is not.
func (k *Checker) follows(p *Page, f *segment.Fetch) bool {
	if !k.opts.FollowRedirects {
		return false
	}
	most := k.fetch.RedirectMax
	if most <= 0 {
		most = redirectsWithout
	}
	switch {
	case f.Location == "":
		return false
	case len(p.Hops) >= most:
		p.Problem = fmt.Sprintf("%d redirects followed; %s leads on to %s", most, f.URL, f.Location)
		return false
	case strings.HasPrefix(f.Location, "file:") && !strings.HasPrefix(f.URL, "file:"):
		p.Problem = "a redirect from the web to a local file is not followed: " + f.Location
		return false
	}
	return true
}

func (k *Checker) normal(ctx context.Context, scope urlnormalizer.Scope, url string) (out, problem string, err error) {
	r, err := k.crawl.Chains.Normalize(ctx, scope, []string{url})
	switch {
	case err != nil:
		return "", "", err
	case r[0].Err != nil:
		return "", r[0].Err.Error(), nil //nolint:nilerr // a plugin's error is told, and the next input goes on
	case r[0].Dropped:
		return "", fmt.Sprintf("dropped by %s: %s", r[0].Plugin, r[0].Reason), nil
	}
	return r[0].URL, "", nil
}

// ask makes the request when it is the host's turn, if robots.txt lets it. A nil
// response means that none was made, and why is on the page.
func (k *Checker) ask(ctx context.Context, p *Page, url string) (*protocol.Response, error) {
	req := &protocol.Request{URL: url, Kind: protocol.Page, Metadata: k.opts.Metadata, AllowPrivate: k.private(p, url)}
	fetch.ApplySheet(&k.fetch, req)
	if !robots.Governs(url) {
		return k.crawl.Chains.Fetch(ctx, req)
	}
	if k.agent != nil {
		return nil, k.agent
	}
	t, err := k.turns.take(ctx, urlkey.QueueKey(url, urlkey.ByHost, ""))
	if err != nil {
		return nil, err
	}
	delay := k.fetch.Queue.Delay
	if s := k.fetch.Sheets.OfURL(url); s != nil && s.CrawlDelay.Set() {
		delay = s.CrawlDelay.V
	}
	defer func() { t.done(delay) }()
	if k.opts.CheckRobots && !k.fetch.Robots.Allowlist[urlkey.Host(url)] {
		rules, err := k.rules(ctx, t, url, req.AllowPrivate)
		if err != nil {
			return nil, err
		}
		if d := rules.delay; d > 0 {
			delay = d
		}
		if f := rules.denies(url, k.fetch.MaxCrawlDelay); f != nil {
			p.Fetch = f
			return nil, nil //nolint:nilnil // documented: no request was made
		}
	}
	if err := t.wait(ctx, delay); err != nil {
		return nil, err
	}
	return k.crawl.Chains.Fetch(ctx, req)
}

// private lets a URL that the user gave reach the address it names. A redirect
// must not open addresses.
func (k *Checker) private(p *Page, url string) []string {
	if len(p.Hops) > 0 && urlkey.HostPort(url) != urlkey.HostPort(p.URL) {
		return nil
	}
	if hp := inject.Private(url); hp != "" {
		return []string{hp}
	}
	return nil
}

// record is what the CrawlDB would have of a page after this one fetch.
func (k *Checker) record(ctx context.Context, p *Page, now time.Time) (*model.CrawlDatum, error) {
	seed := transition.Seed{Metadata: k.opts.Metadata}
	fields, err := k.injected(ctx, p.Fetch.URL)
	if err != nil {
		return nil, err
	}
	seed.Fields = fields
	d, _ := transition.Inject(nil, seed, transition.InjectNew, now, k.update.Rules)
	o := k.update.Outcome(p.Fetch, p.Parsed, "")
	for _, h := range p.Hops {
		o.ReprURL = transition.Representative(h.URL, p.Fetch.URL, h.Status.Code == model.ProtocolTempMoved)
	}
	d, _ = transition.Apply(&d, o, now, k.update.Rules)
	return &d, nil
}
