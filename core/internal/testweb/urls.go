package testweb

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
)

type kind uint8

const (
	kindUnknown     kind = iota // a URL that this web does not have
	kindPage                    // a: page of the host
	kindHop                     // a: page that redirects, b: n-th hop after it, from 1
	kindBait                    // a: page whose nofollow link leads here
	kindRobots                  // a: 0 for /robots.txt, else n-th redirect from there
	kindRobotsFor               // on host0, a: host that redirects its robots.txt here
	kindSitemap                 // a: 0 for /sitemap.xml, else n-th part
	kindSitemapOnly             // page that only the sitemap names
	kindTrap                    // anything below /trap/; a, b: hash of the rest
)

// ref is one URL of the web. It is comparable and holds no pointers.
type ref struct {
	kind    kind
	host, a int32
	b       int32
}

// isRobots reports whether r is part of answering for a robots.txt.
func (r ref) isRobots() bool { return r.kind == kindRobots || r.kind == kindRobotsFor }

const trapPrefix = "/trap/"

// appendHost appends the host name, and the port when links carry one.
func (w *Web) appendHost(dst []byte, h int32) []byte {
	dst = append(dst, "host"...)
	dst = strconv.AppendInt(dst, int64(h), 10)
	dst = append(dst, ".test"...)
	return append(dst, w.portSuffix...)
}

func (w *Web) appendURL(dst []byte, r ref) []byte {
	dst = w.appendHost(append(dst, "http://"...), r.host)
	return w.appendPath(dst, r)
}

func (w *Web) url(r ref) string { return string(w.appendURL(nil, r)) }

// appendPath appends path and query of r in normal form.
func (w *Web) appendPath(dst []byte, r ref) []byte {
	num := func(before string, n int32, after string) {
		dst = append(dst, before...)
		dst = strconv.AppendInt(dst, int64(n), 10)
		dst = append(dst, after...)
	}
	switch r.kind {
	case kindPage:
		return w.appendPagePath(dst, r.host, r.a)
	case kindHop:
		num("/s", r.a/section, "/")
		num("hop", r.a, "-")
		num("", r.b, "")
	case kindBait:
		num("/s", r.a/section, "/")
		num("bait", r.a, ".html")
	case kindRobots:
		if r.a == 0 {
			return append(dst, "/robots.txt"...)
		}
		num("/robots-", r.a, ".txt")
	case kindRobotsFor:
		num("/robots-for-", r.a, ".txt")
	case kindSitemap:
		if r.a == 0 {
			return append(dst, "/sitemap.xml"...)
		}
		num("/sitemap-", r.a, ".xml")
	case kindSitemapOnly:
		return append(dst, "/sitemap-only.html"...)
	case kindTrap:
		if r.a == 0 && r.b == 0 {
			return append(dst, trapPrefix...)
		}
		num(trapPrefix+"?", r.a, "-") // only a label: the rest of the URL is not kept
		num("", r.b, "")
	}
	return dst
}

func (w *Web) appendPagePath(dst []byte, h, p int32) []byte {
	if p == 0 {
		return append(dst, '/')
	}
	dst = append(dst, "/s"...)
	dst = strconv.AppendInt(dst, int64(p/section), 10)
	dst = append(dst, '/')
	if p%section == 0 {
		return dst
	}
	st := w.style(h, p)
	if st == stylePrivate {
		dst = append(dst, "private/"...)
	}
	dst = append(dst, 'p')
	dst = strconv.AppendInt(dst, int64(p), 10)
	switch st {
	case styleBare:
		return dst
	case styleCGI:
		return append(dst, ".cgi"...)
	case styleText:
		return append(dst, ".txt"...)
	}
	dst = append(dst, ".html"...)
	if st == styleQuery {
		dst = append(dst, "?view=full"...)
	}
	return dst
}

// style is page(h, p).style without drawing the rest.
func (w *Web) style(h, p int32) style {
	if p%section <= 1 {
		return styleHTML
	}
	r := w.rng(saltPage, h, p)
	f, st := r.float(), r.float()
	if w.hasText && choose(w.fateShares, f) == fateText {
		return styleText
	}
	return choose(w.styleShares, st)
}

// find returns the URL that a request for path and query at hostport means. Only the
// normal form of a URL is found. The host is -1 when there is no such host.
func (w *Web) find(hostport, path, query string) ref {
	h, ok := w.findHost(hostport)
	if !ok {
		return ref{host: -1}
	}
	if strings.HasPrefix(path, trapPrefix) && w.hosts[h].trap {
		if len(path) == len(trapPrefix) && query == "" {
			return ref{kind: kindTrap, host: h}
		}
		x := xxhash.Sum64String(path) ^ 31*xxhash.Sum64String(query)
		return ref{kind: kindTrap, host: h, a: int32(x >> 33), b: int32(x&0x7fffffff) | 1}
	}
	r := parsePath(path)
	r.host = h
	if r.kind == kindUnknown || !w.exists(r) {
		return ref{host: h}
	}
	var buf [96]byte
	got := w.appendPath(buf[:0], r)
	p, q, found := bytes.Cut(got, []byte("?"))
	if string(p) != path || string(q) != query || found != (query != "") {
		return ref{host: h}
	}
	return r
}

// findHost understands "host12.test" and "host12.test:8080", in any case.
func (w *Web) findHost(hostport string) (int32, bool) {
	name, _, _ := strings.Cut(hostport, ":")
	const before, after = len("host"), len(".test")
	if len(name) <= before+after || !strings.EqualFold(name[:before], "host") ||
		!strings.EqualFold(name[len(name)-after:], ".test") {
		return 0, false
	}
	n, ok := number(name[before : len(name)-after])
	return n, ok && int(n) < len(w.hosts)
}

// number reads a decimal number without sign or leading zero that fits in an int32.
func number(s string) (int32, bool) {
	if s == "" || len(s) > 10 || (s[0] == '0' && len(s) > 1) {
		return 0, false
	}
	n := int64(0)
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return int32(n), n <= maxPages
}

// digits splits the leading decimal number off s.
func digits(s string) (n int32, rest string, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	n, ok = number(s[:i])
	return n, s[i:], ok
}

// parsePath reads a path into the only ref that can have it, without host. The
// caller checks that it has it indeed.
func parsePath(path string) ref {
	switch path {
	case "/":
		return ref{kind: kindPage}
	case "/robots.txt":
		return ref{kind: kindRobots}
	case "/sitemap.xml":
		return ref{kind: kindSitemap}
	case "/sitemap-only.html":
		return ref{kind: kindSitemapOnly}
	}
	for _, f := range [...]struct {
		prefix string
		kind   kind
	}{{"/robots-for-", kindRobotsFor}, {"/robots-", kindRobots}, {"/sitemap-", kindSitemap}} {
		if rest, ok := strings.CutPrefix(path, f.prefix); ok {
			n, _, ok := digits(rest)
			if !ok || (n == 0 && f.kind != kindRobotsFor) {
				return ref{}
			}
			return ref{kind: f.kind, a: n}
		}
	}
	rest, ok := strings.CutPrefix(path, "/s")
	if !ok {
		return ref{}
	}
	sec, rest, ok := digits(rest)
	if !ok || !strings.HasPrefix(rest, "/") {
		return ref{}
	}
	return parseLeaf(sec, rest[1:])
}

func parseLeaf(sec int32, rest string) ref {
	if rest == "" {
		if sec > maxPages/section {
			return ref{}
		}
		return ref{kind: kindPage, a: sec * section}
	}
	k := kindPage
	if s, ok := strings.CutPrefix(rest, "hop"); ok {
		k, rest = kindHop, s
	} else if s, ok := strings.CutPrefix(rest, "bait"); ok {
		k, rest = kindBait, s
	} else if s, ok := strings.CutPrefix(strings.TrimPrefix(rest, "private/"), "p"); ok {
		rest = s
	} else {
		return ref{}
	}
	p, rest, ok := digits(rest)
	if !ok || p/section != sec {
		return ref{}
	}
	r := ref{kind: k, a: p}
	if k == kindHop {
		if r.b, _, ok = digits(strings.TrimPrefix(rest, "-")); !ok {
			return ref{}
		}
	}
	return r
}

// exists reports whether the web has r; r.host is valid.
func (w *Web) exists(r ref) bool {
	h := &w.hosts[r.host]
	switch r.kind {
	case kindPage:
		return r.a < h.size
	case kindHop:
		if r.a >= h.size || r.b < 1 {
			return false
		}
		pg := w.page(r.host, r.a)
		return (pg.fate == fateRedirect || pg.fate == fateLoop) && r.b < int32(pg.n)
	case kindBait:
		return r.a < h.size && w.page(r.host, r.a).bait
	case kindRobots:
		switch h.robots {
		case robotsRedirect:
			return r.a <= h.localHops()
		case robotsLoop:
			return r.a <= 1
		}
		return r.a == 0
	case kindRobotsFor:
		if r.host != 0 || int(r.a) >= len(w.hosts) {
			return false
		}
		t := &w.hosts[r.a]
		return t.robots == robotsRedirect && t.rules.has(ruleElsewhere)
	case kindSitemap:
		return h.maps && r.a <= h.sitemapParts()
	case kindSitemapOnly:
		return h.maps
	}
	return false
}
