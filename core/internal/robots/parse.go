package robots

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxBytes is how much of a robots.txt is read (RFC 9309 section 2.5 asks for no less).
const MaxBytes = 500 << 10

// maxCrawlDelay keeps absurd crawl-delays in the range of a Duration.
const maxCrawlDelay = 365 * 24 * time.Hour

// Rules is what one robots.txt says to a set of agents. It is immutable and
// safe for concurrent use.
type Rules struct {
	CrawlDelay time.Duration // longest that was asked of the agents; 0 when none
	Sitemaps   []string      // as written, in order, without repeats
	Agent      string        // whose group applies: one of the agents, "*", or "" when none does
	Truncated  bool          // the text was longer than MaxBytes

	rules []rule // most specific first, allow before disallow
}

type rule struct {
	pattern  string // normalized, without the final "$"
	anchored bool   // pattern ended in "$"
	wild     bool   // pattern has a "*"
	octets   int
	allow    bool
	line     int
	text     string
}

// Agents returns the product tokens to look for: name and those of others,
// lower-case, without version, "*" and repeats (http.agent.name and http.robots.agents).
func Agents(name string, others []string) []string {
	var out []string
	for _, a := range append([]string{name}, others...) {
		if t := productToken(a); t != "" && t != "*" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// productToken returns the part of a user-agent value that names the product.
func productToken(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexAny(s, "/ \t"); i >= 0 {
		s = s[:i]
	}
	return strings.ToLower(s)
}

// group is the lines for one agent; several groups for it are merged.
type group struct {
	rules []rule
	delay time.Duration
	named bool
}

// Parse reads a robots.txt for agents, as Agents returns them. No text is
// wrong: what can't be understood is passed over. Groups that name one of the
// agents are merged; without any, those for "*" are.
func Parse(text []byte, agents []string) *Rules {
	r := &Rules{}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if len(text) > MaxBytes {
		// A rule that is cut in the middle would say more than it was meant to.
		text = text[:MaxBytes]
		text = text[:bytes.LastIndexAny(text, "\r\n")+1]
		r.Truncated = true
	}
	var own, all group
	p := parser{rules: r, agents: agents, own: &own, all: &all}
	line := 0
	for len(text) > 0 {
		line++
		var l []byte
		if i := bytes.IndexAny(text, "\r\n"); i < 0 {
			l, text = text, nil
		} else {
			l = text[:i]
			if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
				i++
			}
			text = text[i+1:]
		}
		p.line(line, string(l))
	}
	use := &own
	switch {
	case own.named:
		r.Agent = p.matched
	case all.named:
		r.Agent, use = "*", &all
	}
	r.CrawlDelay, r.rules = use.delay, use.rules
	slices.SortStableFunc(r.rules, func(a, b rule) int {
		return cmp.Or(cmp.Compare(b.octets, a.octets), -compareBool(a.allow, b.allow))
	})
	return r
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

type parser struct {
	rules    *Rules
	agents   []string
	own, all *group
	matched  string // first of our agents that a group named
	current  []*group
	closed   bool // a rule came since the last user-agent line
}

func (p *parser) line(n int, s string) {
	text := strings.TrimSpace(s)
	if i := strings.IndexByte(s, '#'); i >= 0 {
		s = s[:i]
	}
	key, value, ok := strings.Cut(s, ":")
	if !ok {
		// A missing colon is a common slip: "Disallow /x".
		f := strings.Fields(s)
		if len(f) != 2 {
			return
		}
		key, value = f[0], f[1]
	}
	value = strings.TrimSpace(value)
	switch strings.ToLower(strings.TrimSpace(key)) {
	case "user-agent", "useragent", "user agent":
		p.userAgent(value)
	case "allow":
		p.rule(n, text, value, true)
	case "disallow":
		p.rule(n, text, value, false)
	case "crawl-delay", "crawldelay":
		// Not of the RFC, so it must not end the list of agents above it.
		if f, err := strconv.ParseFloat(value, 64); err == nil && f > 0 && !math.IsNaN(f) {
			d := maxCrawlDelay
			if f < maxCrawlDelay.Seconds() {
				d = time.Duration(f * float64(time.Second))
			}
			for _, g := range p.current {
				g.delay = max(g.delay, d)
			}
		}
	case "sitemap":
		if value != "" && !slices.Contains(p.rules.Sitemaps, value) && len(p.rules.Sitemaps) < maxSitemaps {
			p.rules.Sitemaps = append(p.rules.Sitemaps, value)
		}
	}
}

const maxSitemaps = 1000

func (p *parser) userAgent(value string) {
	if p.closed {
		p.current, p.closed = nil, false
	}
	var g *group
	switch token := productToken(value); {
	case token == "*":
		g = p.all
	case slices.Contains(p.agents, token):
		g = p.own
		if p.matched == "" {
			p.matched = token
		}
	default:
		return
	}
	g.named = true
	if !slices.Contains(p.current, g) {
		p.current = append(p.current, g)
	}
}

func (p *parser) rule(n int, text, value string, allow bool) {
	p.closed = true
	if value == "" || len(p.current) == 0 {
		return // an empty path matches nothing
	}
	r := newRule(value)
	r.allow, r.line, r.text = allow, n, text
	for _, g := range p.current {
		g.rules = append(g.rules, r)
	}
}
