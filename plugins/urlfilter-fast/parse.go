package urlfilterfast

import (
	"errors"
	"strings"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libregex"
	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/plugins/internal/liburl"
)

// Rules are the blocks of a rule file.
type Rules struct {
	hosts, domains map[string][]rule // by liburl.HostKey
	global         []rule            // of "Domain ."
	lines          []librule.Line    // of all rules
	// Idle are blocks without rules.
	Idle []librule.Line
	// BackTracking are rules that run on the back-tracking engine.
	BackTracking []librule.Line
}

type rule struct {
	re    *libregex.Regexp // nil: denies everything
	query bool             // path and query are searched, else the path
	line  librule.Line
}

// Parse reads Nutch's format: "Host name" and "Domain name" begin a block, and
// the DenyPath and DenyPathQuery lines after it hold for it. A comment starts
// with a # at the start of a line or behind white space; elsewhere # is part of
// an expression, which may have white space in it, too. All faulty lines are
// reported together. Limit is the time of a back-tracking match.
func Parse(in *librule.Lines, limit time.Duration) (*Rules, error) {
	p := parser{limit: limit, r: &Rules{hosts: map[string][]rule{}, domains: map[string][]rule{}}}
	for _, l := range in.Lines {
		l.Text = strings.TrimSpace(uncomment(l.Text))
		if l.Text == "" {
			continue
		}
		if err := p.line(l); err != nil {
			p.errs = append(p.errs, err)
		}
	}
	p.close()
	return p.r, errors.Join(p.errs...)
}

// uncomment cuts a comment off.
func uncomment(s string) string {
	for i := range len(s) {
		if s[i] == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t') {
			return s[:i]
		}
	}
	return s
}

type parser struct {
	r     *Rules
	limit time.Duration
	block librule.Line // the Host or Domain line
	to    func(rule)   // adds a rule to the block; nil before the first
	empty bool         // the block has no rule yet
	errs  []error
}

func (p *parser) close() {
	if p.empty && p.to != nil {
		p.r.Idle = append(p.r.Idle, p.block)
	}
}

func (p *parser) line(l librule.Line) error {
	word, rest := l.Text, ""
	if i := strings.IndexAny(l.Text, " \t"); i >= 0 {
		word, rest = l.Text[:i], strings.TrimSpace(l.Text[i:])
	}
	if rest == "" {
		return l.Errorf("%s stands alone; want Host NAME, Domain NAME, DenyPath EXPRESSION or DenyPathQuery EXPRESSION", word)
	}
	switch word {
	case "Host", "Domain":
		p.close()
		p.block, p.empty, p.to = l, true, func(rule) {} // rules of a faulty block are still read
		return p.begin(l, word, rest)
	case "DenyPath", "DenyPathQuery":
		return p.rule(l, word == "DenyPathQuery", rest)
	}
	return l.Errorf("%q is no keyword; the keywords are Host, Domain, DenyPath and DenyPathQuery, written so", word)
}

func (p *parser) begin(l librule.Line, word, name string) error {
	if word == "Domain" && name == "." {
		p.to = func(r rule) { p.r.global = append(p.r.global, r) }
		return nil
	}
	if err := liburl.CheckHost(name); err != nil {
		return l.Errorf("%w", err)
	}
	m, key := p.r.hosts, liburl.HostKey(name)
	if word == "Domain" {
		m = p.r.domains
	}
	p.to = func(r rule) { m[key] = append(m[key], r) }
	return nil
}

func (p *parser) rule(l librule.Line, query bool, expr string) error {
	p.empty = false
	if p.to == nil {
		return l.Errorf("the rule stands before the first Host or Domain line; write \"Domain .\" above it if it is for all")
	}
	r := rule{query: query, line: l}
	if expr != ".*" {
		re, err := libregex.Compile(expr, p.limit)
		if err != nil {
			return l.Errorf("%w", err)
		}
		if r.re = re; !re.Linear() {
			p.r.BackTracking = append(p.r.BackTracking, l)
		}
	}
	p.r.lines = append(p.r.lines, l)
	p.to(r)
	return nil
}

// Len is the number of rules.
func (r *Rules) Len() int { return len(r.lines) }
