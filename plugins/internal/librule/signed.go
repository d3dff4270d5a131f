package librule

import (
	"errors"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/liburl"
)

// Matcher is a compiled expression; its only error is that a time limit ran
// out. It must be safe for concurrent use.
type Matcher func(url string) (bool, error)

// Signed are Nutch's +/- rules: the first whose expression matches decides. They
// are safe for concurrent use.
type Signed struct {
	rules []signed
}

type signed struct {
	accept bool
	match  Matcher
	where  string // the line with its place
	scope  string // host or domain that the rule counts for; "" for all
}

// CompileSigned reads the format of Nutch's RegexURLFilterBase: lines of + or -
// and an expression, # comments, and "> host" … "<" sections whose rules count
// for that host or domain only. compile gets the expression of a line. All
// faulty lines are reported together.
func CompileSigned(in *Lines, compile func(l Line, expr string) (Matcher, error)) (*Signed, error) {
	s := &Signed{}
	var errs []error
	scope, open := "", Line{}
	for _, l := range in.Lines {
		if strings.TrimSpace(l.Text) == "" || l.Text[0] == '#' {
			continue
		}
		switch l.Text[0] {
		case '+', '-':
			m, err := compile(l, l.Text[1:])
			if err != nil {
				errs = append(errs, l.Errorf("%w", err))
				continue
			}
			s.rules = append(s.rules, signed{accept: l.Text[0] == '+', match: m, where: l.String(), scope: scope})
		case '>':
			name := strings.TrimSpace(l.Text[1:])
			if err := liburl.CheckHost(name); err != nil {
				errs = append(errs, l.Errorf("a section needs a host or domain after >: %w", err))
			}
			scope, open = liburl.HostKey(name), l
		case '<':
			if open.At == "" {
				errs = append(errs, l.Errorf("< closes a section, but none is open"))
			}
			scope, open = "", Line{}
		default:
			errs = append(errs, l.Errorf("line starts with %q; a rule starts with + (accept) or - (reject), a comment with #", l.Text[:1]))
		}
	}
	if open.At != "" {
		errs = append(errs, open.Errorf("section %q is not closed by a line with <", scope))
	}
	return s, errors.Join(errs...)
}

// Len is the number of rules.
func (s *Signed) Len() int { return len(s.rules) }

// Judge returns whether the first rule that matches url accepts it, and the
// rule with its place; no rule rejects. Err says that this rule ran out of
// time; the URL is rejected then.
func (s *Signed) Judge(url string) (accept bool, reason string, err error) {
	host, known := "", false
	for i := range s.rules {
		r := &s.rules[i]
		if r.scope != "" {
			if !known {
				p := liburl.Split(url)
				host, known = liburl.HostKey(p.Host), true
			}
			if rest, ok := strings.CutSuffix(host, r.scope); !ok || rest != "" && rest[len(rest)-1] != '.' {
				continue
			}
		}
		found, err := r.match(url)
		if err != nil {
			return false, r.where + " (time limit)", err
		}
		if found {
			return r.accept, r.where, nil
		}
	}
	return false, "no rule matches", nil
}
