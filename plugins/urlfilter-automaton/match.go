package urlfilterautomaton

import (
	"fmt"
	"regexp"
	"strings"
)

// matcher says whether a whole URL matches.
type matcher func(url string) bool

// compile compiles an expression to RE2, and to and, or and not of several
// where it intersects or complements.
func compile(expr string) (matcher, error) {
	n, err := parse(expr)
	if err == nil {
		var m matcher
		if m, err = n.matcher(); err == nil {
			return m, nil
		}
	}
	return nil, fmt.Errorf("expression %q: %w", expr, err)
}

// logical returns a node that RE2 has no form for, if there is one in n.
func (n *node) logical() *node {
	if n.kind == intersection || n.kind == complement {
		return n
	}
	for _, s := range n.sub {
		if l := s.logical(); l != nil {
			return l
		}
	}
	return nil
}

func (n *node) matcher() (matcher, error) {
	l := n.logical()
	if l == nil {
		var b strings.Builder
		n.write(&b)
		re, err := regexp.Compile(`\A(?s:` + b.String() + `)\z`)
		if err != nil {
			return nil, err
		}
		return re.MatchString, nil
	}
	if n.kind == concat || n.kind == repeat {
		return nil, fmt.Errorf("character %d: %s must stand around whole alternatives, not beside or inside other text; write it as rules of its own",
			l.pos+1, map[kind]string{intersection: "an intersection &", complement: "a complement ~"}[l.kind])
	}
	sub := make([]matcher, len(n.sub))
	for i := range sub {
		var err error
		if sub[i], err = n.sub[i].matcher(); err != nil {
			return nil, err
		}
	}
	switch n.kind {
	case union:
		return func(url string) bool { return some(sub, url, true) }, nil
	case intersection:
		return func(url string) bool { return !some(sub, url, false) }, nil
	}
	return func(url string) bool { return !sub[0](url) }, nil
}

// some reports whether one of the matchers gives the answer.
func some(sub []matcher, url string, answer bool) bool {
	for _, m := range sub {
		if m(url) == answer {
			return true
		}
	}
	return false
}

// write writes n, which has no logical node, in RE2's syntax.
func (n *node) write(b *strings.Builder) {
	switch n.kind {
	case repeat:
		b.WriteString("(?:")
		n.sub[0].write(b)
		b.WriteString(")" + n.text)
	case union, concat:
		b.WriteString("(?:")
		for i, s := range n.sub {
			if i > 0 && n.kind == union {
				b.WriteByte('|')
			}
			s.write(b)
		}
		b.WriteByte(')')
	default:
		b.WriteString(n.text)
	}
}
