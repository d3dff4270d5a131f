package testweb

import (
	"maps"
	"slices"

	"github.com/gonutch/crawler/sdk/model"
)

// Options says how the crawl that is judged differs from the one that the package comment presumes.
type Options struct {
	// OnePass: the crawl ended without waiting for retries and held hosts. What failed for a
	// passing reason may still be db_unfetched, and what only it leads to may be missing.
	OnePass bool
	// Sitemaps: sitemaps named in robots.txt are read. Otherwise what only
	// they name may be there, but needs not.
	Sitemaps bool
	// Refetched: pages were fetched more than once, so db_notmodified is as good as db_fetched.
	Refetched bool
	// TextSignature: signatures are made of the text, so that any page may be db_duplicate.
	TextSignature bool
	// NoDedup: no deduplication has run, so nothing may be db_duplicate.
	NoDedup bool
}

// Truth is what a correct crawl makes of a web. It holds one byte per page. It is
// safe for concurrent use.
type Truth struct {
	w     *Web
	o     Options
	pages [][]reach     // by host and page
	other map[ref]reach // everything else that was reached
}

// reach says whether a crawl gets to know a URL.
type reach uint8

const (
	unreached reach = iota
	maybe
	surely
)

// Entry is one URL of the ground truth.
type Entry struct {
	URL       string    `json:"url"`
	Required  bool      `json:"required"`   // must be in the CrawlDB; else it may be
	Allowed   StatusSet `json:"allowed"`    // final statuses
	NoRequest bool      `json:"no_request"` // must never be requested
	Why       string    `json:"why"`        // what makes it so, such as "404" or "robots denied"
}

// follow says whether a crawl goes on from a URL to where it leads.
type follow uint8

const (
	followNot follow = iota
	followMaybe
	followSurely
)

// outcome is what becomes of a URL that a crawl knows.
type outcome struct {
	allowed   StatusSet
	follow    follow
	noRequest bool
	why       string
}

// Truth works out which URLs a crawl from http://host0.test/ reaches, and how each may end. It
// visits the links of every page once, which takes about a tenth of a second per 100,000 pages.
func (w *Web) Truth(o Options) *Truth {
	t := &Truth{w: w, o: o, pages: make([][]reach, len(w.hosts)), other: map[ref]reach{}}
	var stack, doubtful []ref
	visit := func(r ref, how reach) {
		if t.reached(r) == unreached {
			t.mark(r, how)
			stack = append(stack, r)
		}
	}
	var room []ref
	work := func(how reach) {
		for len(stack) > 0 {
			r := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			t.visitSitemap(r, how, visit)
			switch f := w.outcome(r, o).follow; {
			case f == followMaybe && how == surely:
				doubtful = append(doubtful, r)
			case f != followNot:
				room = w.edges(room[:0], r)
				for _, to := range room {
					visit(to, how)
				}
			}
		}
	}
	visit(ref{kind: kindPage}, surely)
	work(surely)
	for _, r := range doubtful {
		for _, to := range w.edges(nil, r) {
			visit(to, maybe)
		}
	}
	work(maybe)
	return t
}

// visitSitemap visits what the sitemap of r's host names, once the host is known.
func (t *Truth) visitSitemap(r ref, how reach, visit func(ref, reach)) {
	h := &t.w.hosts[r.host]
	only := ref{kind: kindSitemapOnly, host: r.host}
	if !h.maps || t.other[only] != unreached {
		return
	}
	// Hosts name their sitemap only in a robots.txt that is worth reading.
	named := h.hasRules() || h.robots == robotsAllow
	switch {
	case !named:
		return
	case t.o.Sitemaps:
		visit(only, how)
		for p := range h.size {
			visit(ref{kind: kindPage, host: r.host, a: p}, how)
		}
	default:
		t.other[only] = maybe
	}
}

func (t *Truth) reached(r ref) reach {
	if r.kind != kindPage {
		return t.other[r]
	}
	if p := t.pages[r.host]; p != nil {
		return p[r.a]
	}
	return unreached
}

func (t *Truth) mark(r ref, how reach) {
	if r.kind != kindPage {
		t.other[r] = how
		return
	}
	if t.pages[r.host] == nil {
		t.pages[r.host] = make([]reach, t.w.hosts[r.host].size)
	}
	t.pages[r.host][r.a] = how
}

// edges appends where a crawl goes on to from r when it follows.
func (w *Web) edges(dst []ref, r ref) []ref {
	if r.kind == kindHop {
		return append(dst, w.next(r))
	}
	if r.kind != kindPage {
		return dst
	}
	pg := w.page(r.host, r.a)
	switch pg.fate {
	case fateRedirect, fateLoop, fateRefresh:
		return append(dst, w.next(r))
	case fateOK, fateOriginal, fateDuplicate, fateNear, fateNoIndex, fateTooMany, fateFlaky:
		var room [100]link
		for _, l := range w.linksOf(room[:0], pg.srcHost, pg.srcPage, pg.bait) {
			if !l.nofollow {
				dst = append(dst, l.to)
			}
		}
	}
	return dst
}

// outcome applies the rules of Nutch's fetcher and updatedb, and RFC 9309, to r.
func (w *Web) outcome(r ref, o Options) outcome {
	h := &w.hosts[r.host]
	unfetched := setOf(model.StatusDBUnfetched)
	switch {
	case h.death == dead || h.death == abrupt:
		return outcome{allowed: unfetched, noRequest: true, why: "robots.txt unreachable"}
	case h.robots == robotsError:
		return outcome{allowed: unfetched, noRequest: true, why: "robots.txt 5xx"}
	}
	out := w.openOutcome(r, o)
	if w.denied(r) {
		out = outcome{allowed: setOf(model.StatusDBGone), noRequest: true, why: "robots denied"}
	}
	if h.robots == robotsFlaky && o.OnePass {
		out.allowed |= unfetched
		out.follow = min(out.follow, followMaybe)
	}
	if out.allowed.Has(model.StatusDBFetched) {
		if o.Refetched {
			out.allowed |= setOf(model.StatusDBNotModified)
		}
		if o.TextSignature {
			out.allowed |= setOf(model.StatusDBDuplicate)
		}
	}
	if o.NoDedup {
		out.allowed &^= setOf(model.StatusDBDuplicate)
	}
	return out
}

// openOutcome is the outcome on a host whose robots.txt lets r be requested.
func (w *Web) openOutcome(r ref, o Options) outcome {
	fetched, gone := setOf(model.StatusDBFetched), setOf(model.StatusDBGone)
	retried := gone
	if o.OnePass {
		retried |= setOf(model.StatusDBUnfetched)
	}
	if h := &w.hosts[r.host]; h.death == dying && (r.kind != kindPage || r.a >= h.alive) {
		return outcome{allowed: retried, why: "connection broken"}
	}
	switch r.kind {
	case kindHop:
		return w.redirected(r)
	case kindSitemapOnly:
		return outcome{allowed: fetched, why: "only in sitemap"}
	case kindTrap:
		return outcome{allowed: ^StatusSet(0), why: "trap"}
	case kindPage:
		return w.pageOutcome(r, o, retried)
	}
	return outcome{allowed: ^StatusSet(0), noRequest: r.kind == kindBait, why: "no page"}
}

func (w *Web) pageOutcome(r ref, o Options, retried StatusSet) outcome {
	fetched := setOf(model.StatusDBFetched)
	pg := w.page(r.host, r.a)
	switch pg.fate {
	case fateRedirect, fateLoop:
		return w.redirected(r)
	case fateRefresh:
		to := model.StatusDBRedirPerm
		if pg.n < 5 {
			to = model.StatusDBRedirTemp
		}
		return outcome{allowed: fetched | setOf(to), follow: followSurely, why: "meta refresh"}
	case fateNotFound, fateUnauthorized:
		return outcome{allowed: setOf(model.StatusDBGone), why: statusName(pg.code)}
	case fateForbidden, fateError:
		return outcome{allowed: retried, why: statusName(pg.code) + " for ever"}
	case fateTooMany, fateFlaky:
		out := outcome{allowed: fetched, follow: followSurely, why: statusName(pg.code) + " at first"}
		if o.OnePass {
			out.allowed, out.follow = fetched|setOf(model.StatusDBUnfetched), followMaybe
		}
		return out
	case fateOriginal, fateDuplicate:
		if w.cfg.Shares.Duplicate == 0 {
			break
		}
		return outcome{allowed: fetched | setOf(model.StatusDBDuplicate), follow: followSurely, why: "may have duplicates"}
	case fateWrongType:
		return outcome{allowed: fetched | setOf(model.StatusDBParseFailed), why: "wrong content type"}
	case fateTruncated: // kept as truncated, or taken for a failed attempt
		return outcome{allowed: fetched | retried | setOf(model.StatusDBParseFailed), why: "truncated"}
	case fateText:
		return outcome{allowed: fetched, why: "plain text"}
	case fateNoFollow:
		return outcome{allowed: fetched, why: "nofollow"}
	}
	return outcome{allowed: fetched, follow: followSurely, why: "page"}
}

func (w *Web) redirected(r ref) outcome {
	code := w.redirectCode(r)
	to := model.StatusDBRedirTemp
	if code == 301 || code == 308 {
		to = model.StatusDBRedirPerm
	}
	return outcome{allowed: setOf(to), follow: followSurely, why: statusName(code)}
}

// Each calls fn with every URL that a crawl must or may know, host by host, until fn returns false. URLs
// below a trap that robots.txt leaves open are without number and left out.
func (t *Truth) Each(fn func(Entry) bool) {
	for h, pages := range t.pages {
		for p, how := range pages {
			if how != unreached && !fn(t.entry(ref{kind: kindPage, host: int32(h), a: int32(p)}, how)) {
				return
			}
		}
	}
	for _, r := range slices.SortedFunc(maps.Keys(t.other), compareRefs) {
		if r.kind == kindTrap && !t.w.denied(r) {
			continue
		}
		if !fn(t.entry(r, t.other[r])) {
			return
		}
	}
}

func (t *Truth) entry(r ref, how reach) Entry {
	o := t.w.outcome(r, t.o)
	return Entry{URL: t.w.url(r), Required: how == surely, Allowed: o.allowed, NoRequest: o.noRequest, Why: o.why}
}
