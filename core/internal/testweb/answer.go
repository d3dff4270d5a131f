package testweb

import (
	"net/http"
	"strconv"
	"time"
)

// answer is what one request gets.
type answer struct {
	status     int
	ctype      string
	location   string
	etag       string
	modified   string // Last-Modified
	robots     string // X-Robots-Tag
	retryAfter int    // seconds, -1 for none
	gzipped    bool
	body       []byte
	missing    int // bytes that Content-Length promises beyond the body
	cut        death
	delay      time.Duration
}

// ask is what of a request the answer depends on, beside its URL and count.
type ask struct {
	ifNoneMatch, ifModifiedSince string
	gzip                         bool // accepted
}

// answer fills a for the n-th request (from 1) of r; a.body may have capacity to reuse.
func (w *Web) answer(a *answer, r ref, n uint32, q ask) {
	*a = answer{status: 200, ctype: "text/html", retryAfter: -1, body: a.body[:0]}
	if r.host < 0 {
		a.status = 404
		w.errorBody(a)
		return
	}
	h := &w.hosts[r.host]
	if h.slow && w.cfg.SlowDelay > 0 {
		rd := w.rng(saltMeta, r.host, r.a)
		a.delay = time.Duration(rd.float() * float64(w.cfg.SlowDelay))
	}
	if h.death == dead || h.death == abrupt || (h.death == dying && !r.isRobots() && (r.kind != kindPage || r.a >= h.alive)) {
		a.cut = dead
		if h.death == abrupt {
			a.cut = abrupt
		}
		a.status = 0
		return
	}
	switch r.kind {
	case kindPage:
		w.pageAnswer(a, r, n, q)
	case kindHop:
		w.redirect(a, r, w.next(r), w.redirectCode(r))
	case kindRobots, kindRobotsFor:
		w.robotsAnswer(a, r, n)
	case kindSitemap:
		w.sitemap(a, r)
	case kindBait, kindSitemapOnly:
		w.leafless(a, r)
	default:
		a.status = 404
	}
	if a.status >= 400 {
		w.errorBody(a)
	}
}

// pageAnswer answers for a page by its fate.
func (w *Web) pageAnswer(a *answer, r ref, n uint32, q ask) {
	pg := w.page(r.host, r.a)
	switch pg.fate {
	case fateRedirect, fateLoop:
		w.redirect(a, r, w.next(r), w.redirectCode(r))
	case fateNotFound, fateUnauthorized, fateForbidden, fateError:
		a.status = pg.code
	case fateTooMany, fateFlaky:
		if n > uint32(pg.n) {
			w.htmlAnswer(a, r, pg, n-uint32(pg.n), q)
			return
		}
		a.status = pg.code
		if pg.code == 429 || pg.code == 503 {
			a.retryAfter = int(w.cfg.RetryAfter / time.Second)
		}
	case fateText:
		a.ctype = "text/plain; charset=utf-8"
		if w.validate(a, r, 0, q) {
			return
		}
		a.body = w.plain(a.body, r.host, r.a)
	default:
		w.htmlAnswer(a, r, pg, n, q)
	}
}

// htmlAnswer answers with an HTML page. n counts the requests that it was sent to, from 1.
func (w *Web) htmlAnswer(a *answer, r ref, pg page, n uint32, q ask) {
	d := html{
		w: w, at: r, pg: pg, links: true, number: w.hosts[r.host].first + r.a, charset: &w.charsets[pg.odd.charset],
		decl: pg.odd.declared, length: w.size(pg.srcHost, pg.srcPage),
	}
	if pg.odd.every > 0 {
		d.edition = (n - 1) / uint32(pg.odd.every)
	}
	rd := w.rng(saltMeta, r.host, r.a)
	form := rd.below(4)
	switch pg.fate {
	case fateDuplicate:
		d.number = w.hosts[pg.srcHost].first + pg.srcPage
		d.pg.fate = fateOriginal
	case fateNear:
		d.pg.fate = fateOriginal
	case fateRefresh:
		d.links, d.refresh = false, true
	case fateWrongType, fateTruncated:
		d.links = false
	case fateNoFollow:
		d.robots = [...]string{"nofollow", "none", "NOINDEX, NOFOLLOW", "nofollow"}[form]
	case fateNoIndex:
		d.robots = [...]string{"noindex", "noindex,follow", "NoIndex", "noindex"}[form]
	}
	if form == 3 && d.robots != "" {
		a.robots, d.robots = d.robots, ""
	}
	d.declare(a)
	if pg.fate == fateWrongType {
		a.ctype = [...]string{"image/png", "application/pdf", "application/octet-stream", "text/css"}[form]
	}
	if pg.odd.validator && w.validate(a, r, d.edition, q) {
		return
	}
	if d.decl == byBOM {
		a.body = append(a.body, d.charset.bom...)
	}
	a.body = d.charset.encode(d.append(a.body))
	if pg.fate == fateTruncated {
		a.missing = len(a.body) / 2
		a.body = a.body[:len(a.body)-a.missing]
	}
	if pg.odd.gzip && q.gzip {
		a.body, a.gzipped = w.compress(a.body), true
	}
}

// declare settles how the page tells its charset and sets its content type.
func (d *html) declare(a *answer) {
	switch {
	case d.charset.name == "utf-8" && d.decl == byHeader: // the common page
		d.decl = notByAny
	case d.charset.wide: // bytes that ask for a mark
		d.decl = byBOM
	case d.decl == byBOM && d.charset.bom == "":
		d.decl = byHeader
	}
	switch d.decl {
	case byHeader, byBoth, notByAny:
		a.ctype = "text/html; charset=" + d.charset.name
	}
}

// validate sets ETag and Last-Modified of edition of r, and turns a into a 304 when the client has it
// already (RFC 9110 section 13.1: If-None-Match goes before If-Modified-Since).
func (w *Web) validate(a *answer, r ref, edition uint32, q ask) bool {
	rd := w.rng(saltMeta, r.host, ^r.a)
	x := rd.next()
	kinds := x % 3 // both, one, the other
	if kinds != 1 {
		a.etag = `"` + strconv.FormatUint(x>>16, 36) + "-" + strconv.FormatUint(uint64(edition), 10) + `"`
	}
	const epoch, span = 1_577_836_800, 4 * 365 * 24 * 3600 // four years from 2020 on
	t := time.Unix(epoch+int64(x>>20%span), 0).Add(time.Duration(edition) * time.Hour).UTC()
	if kinds != 2 {
		a.modified = t.Format(http.TimeFormat)
	}
	unchanged := false
	switch {
	case q.ifNoneMatch != "":
		unchanged = a.etag != "" && q.ifNoneMatch == a.etag
	case q.ifModifiedSince != "" && a.modified != "":
		since, err := http.ParseTime(q.ifModifiedSince)
		unchanged = err == nil && !t.After(since)
	}
	if unchanged {
		a.status = 304
	}
	return unchanged
}

func (w *Web) redirect(a *answer, from, to ref, code int) {
	a.status = code
	r := w.rng(saltTarget, from.host, ^(from.a*8 + from.b))
	a.location = string(w.appendTarget(nil, from, to, &r))
	a.body = append(a.body, "<!DOCTYPE html><title>Moved</title><p>The page has moved.</p>\n"...)
}

// leafless answers with a small page that has no links.
func (w *Web) leafless(a *answer, r ref) {
	a.body = append(a.body, "<!DOCTYPE html><title>A page apart</title><p>Path "...)
	a.body = append(w.appendPath(a.body, r), " of hq"...)
	a.body = strconv.AppendInt(a.body, int64(r.host), 10)
	a.body = append(a.body, "x.</p>\n"...)
}

func (w *Web) errorBody(a *answer) {
	if len(a.body) > 0 {
		return
	}
	a.ctype = "text/html"
	a.body = append(a.body, "<!DOCTYPE html><title>"...)
	a.body = append(a.body, http.StatusText(a.status)...)
	a.body = append(a.body, "</title><p>Nothing to be had here.</p>\n"...)
}
