package testweb

import (
	"bytes"
	"strconv"
	"time"
)

// ruleSet is what a robots.txt with rules disallows and how it is written.
type ruleSet uint8

const (
	rulePrivate   ruleSet = 1 << iota // Disallow: /*/private/
	ruleCGI                           // Disallow: /*.cgi$
	ruleQuery                         // Disallow: /*?view=
	ruleException                     // Allow: /*/private/p*0.html$
	ruleSplit                         // rules in two groups for the same agents
	ruleCRLF                          // CR LF and a byte order mark
	ruleNamed                         // group for Config.Agent, others refused
	ruleElsewhere                     // redirected robots.txt lies on host0
)

func (s ruleSet) has(x ruleSet) bool { return s&x != 0 }

// hugeRobots is the length of a huge robots.txt; RFC 9309 section 2.5 wants 500 KiB read.
const hugeRobots = 600 << 10

// hasRules reports whether the host's robots.txt has the rules of its ruleSet, and
// the one against /trap/.
func (h *host) hasRules() bool {
	switch h.robots {
	case robotsSome, robotsDelay, robotsRedirect, robotsHuge:
		return true
	}
	return false
}

// localHops is the number of /robots-N.txt on the host itself.
func (h *host) localHops() int32 {
	if h.rules.has(ruleElsewhere) {
		return int32(h.hops) - 1
	}
	return int32(h.hops)
}

// denied reports whether robots.txt keeps r from being requested once it is known.
func (w *Web) denied(r ref) bool {
	h := &w.hosts[r.host]
	if r.isRobots() {
		return false
	}
	if h.robots == robotsDenyAll {
		return true
	}
	if !h.hasRules() {
		return false
	}
	if r.kind == kindTrap {
		return true
	}
	if r.kind != kindPage {
		return false
	}
	switch w.style(r.host, r.a) {
	case stylePrivate:
		return h.rules.has(rulePrivate) && !(h.rules.has(ruleException) && r.a%10 == 0)
	case styleCGI:
		return h.rules.has(ruleCGI)
	case styleQuery:
		return h.rules.has(ruleQuery)
	}
	return false
}

// robotsAnswer answers for /robots.txt and where it redirects to.
func (w *Web) robotsAnswer(a *answer, r ref, n uint32) {
	owner := r.host
	if r.kind == kindRobotsFor {
		owner = r.a
	}
	h := &w.hosts[owner]
	a.ctype = "text/plain"
	rd := w.rng(saltCode, owner, -1)
	switch h.robots {
	case robotsNone:
		a.status = 404
	case robots4xx:
		a.status = [...]int{401, 403, 410}[rd.below(3)]
	case robotsError:
		a.status = [...]int{500, 502, 503, 504}[rd.below(4)]
	case robotsFlaky:
		if n <= w.robotsFailures(owner) {
			a.status = 503
			return
		}
		a.body = append(a.body, "User-agent: *\nDisallow:\n"...)
	case robotsDenyAll:
		a.body = append(a.body, "User-agent: *\nDisallow: /\n"...)
	case robotsGarbage:
		a.ctype = "text/html"
		a.body = append(a.body, "<!DOCTYPE html><title>Oops</title>\x00\x01\xfe\xff<p>nothing: here\n: : :\nDisallow\n\xc3\x28"...)
	case robotsLoop:
		w.redirect(a, r, ref{kind: kindRobots, host: owner, a: 1 - r.a}, 302)
	case robotsRedirect:
		switch {
		case r.kind == kindRobotsFor || (r.a == h.localHops() && !h.rules.has(ruleElsewhere)):
			w.robotsFile(a, owner)
		case r.a == h.localHops():
			w.redirect(a, r, ref{kind: kindRobotsFor, a: owner}, 301)
		default:
			w.redirect(a, r, ref{kind: kindRobots, host: owner, a: r.a + 1}, 301)
		}
	case robotsAllow:
		a.body = append(a.body, "# everybody is welcome\nUser-agent: *\nDisallow:\n"...)
		w.sitemapLine(a, owner)
	default:
		w.robotsFile(a, owner)
	}
}

// robotsFailures is the number of 5xx answers of a flaky robots.txt.
func (w *Web) robotsFailures(h int32) uint32 {
	r := w.rng(saltCode, h, -2)
	return uint32(1 + r.below(2))
}

// robotsFile writes a robots.txt with rules (RFC 9309, and the customary Crawl-delay
// and Sitemap lines).
func (w *Web) robotsFile(a *answer, owner int32) {
	h := &w.hosts[owner]
	b := a.body
	agent := "*"
	b = append(b, "# rules of this host\nUser-agent: nosuchbot\nUser-agent: otherbot\nDisallow: /\n\n"...)
	if h.rules.has(ruleNamed) && w.cfg.Agent != "" {
		agent = w.cfg.Agent
		b = append(b, "User-agent: *\nDisallow: /\n\n"...)
	}
	group := func() {
		b = append(b, "user-AGENT: "...)
		b = append(append(b, agent...), '\n')
	}
	group()
	b = append(b, "Disallow: /trap/ # endless\n"...)
	if h.rules.has(rulePrivate) {
		b = append(b, "Disallow: /*/private/\n"...)
	}
	if h.rules.has(ruleException) {
		b = append(b, "Allow: /*/private/p*0.html$\n"...)
	}
	if h.robots == robotsDelay {
		b = append(b, "Crawl-delay: "...)
		b = strconv.AppendFloat(b, w.cfg.CrawlDelay.Seconds(), 'f', -1, 64)
		b = append(b, '\n')
	}
	if h.rules.has(ruleSplit) {
		b = append(b, '\n')
		group()
	}
	if h.rules.has(ruleCGI) {
		b = append(b, "Disallow: /*.cgi$\n"...)
	}
	if h.rules.has(ruleQuery) {
		b = append(b, "disallow:/*?view=\n"...)
	}
	b = append(b, "Unknown-line: ignored\n"...)
	if h.rules.has(ruleCRLF) {
		b = append([]byte("\ufeff"), bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))...)
	}
	a.body = b
	w.sitemapLine(a, owner)
	if h.robots == robotsHuge {
		line := []byte("# this line only makes the file longer than anybody wants to read it\n")
		for len(a.body) < hugeRobots {
			a.body = append(a.body, line...)
		}
	}
}

func (w *Web) sitemapLine(a *answer, owner int32) {
	if w.hosts[owner].maps {
		a.body = append(a.body, "\nSitemap: "...)
		a.body = w.appendURL(a.body, ref{kind: kindSitemap, host: owner})
		a.body = append(a.body, '\n')
	}
}

// delayOf is the delay to check between two requests of host h.
func (w *Web) delayOf(h int32) time.Duration {
	if w.hosts[h].robots == robotsDelay && w.cfg.MaxPerHost == 1 && w.cfg.Delay > 0 {
		return max(w.cfg.Delay, w.cfg.CrawlDelay)
	}
	return w.cfg.Delay
}
