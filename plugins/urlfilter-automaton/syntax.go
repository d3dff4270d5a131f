package urlfilterautomaton

import (
	"fmt"
	"regexp"
	"strings"
)

// kind is the kind of a node of an expression.
type kind int

const (
	leaf kind = iota // text is an RE2 expression
	concat
	union
	repeat // sub[0], text is the quantifier
	intersection
	complement
)

// node is a parsed expression.
type node struct {
	kind kind
	text string
	sub  []*node
	pos  int // where an intersection or complement is written
}

// syntax parses the expressions of dk.brics.automaton with all its optional
// operators, as Nutch's AutomatonURLFilter reads them. Its grammar, from the
// loosest operator to the tightest:
//
//	a|b   a&b   ab   a? a* a+ a{n} a{n,} a{n,m}   ~a   [a-z] [^a-z]
//	.  any character    #  nothing    @  any text    "text"  ()  (a)
//	<n-m>  a number in this interval    \c  the character c
//
// There are no anchors and no classes such as \d: ^, $ and \d stand for the
// characters ^, $ and d.
type syntax struct {
	in  []rune
	pos int
}

// maxDepth bounds how deep an expression may be nested.
const maxDepth = 250

func parse(expr string) (*node, error) {
	s := &syntax{in: []rune(expr)}
	if len(s.in) == 0 {
		return &node{}, nil
	}
	n, err := s.union(0)
	if err == nil && s.more() {
		err = s.errorf("unexpected %q", s.in[s.pos])
	}
	return n, err
}

func (s *syntax) errorf(format string, args ...any) error {
	return fmt.Errorf("character %d: %s", s.pos+1, fmt.Sprintf(format, args...))
}

func (s *syntax) more() bool { return s.pos < len(s.in) }

func (s *syntax) peek(set string) bool {
	return s.more() && strings.ContainsRune(set, s.in[s.pos])
}

func (s *syntax) match(c rune) bool {
	if s.more() && s.in[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// join makes a node of one kind from its parts.
func join(k kind, pos int, sub []*node) *node {
	if len(sub) == 1 {
		return sub[0]
	}
	return &node{kind: k, sub: sub, pos: pos}
}

func (s *syntax) union(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, s.errorf("nested more than %d deep", maxDepth)
	}
	return s.list(union, '|', func() (*node, error) {
		return s.list(intersection, '&', func() (*node, error) { return s.concat(depth) })
	})
}

func (s *syntax) list(k kind, sep rune, next func() (*node, error)) (*node, error) {
	var sub []*node
	pos := s.pos
	for {
		n, err := next()
		if err != nil {
			return nil, err
		}
		sub = append(sub, n)
		if !s.match(sep) {
			return join(k, pos, sub), nil
		}
	}
}

func (s *syntax) concat(depth int) (*node, error) {
	var sub []*node
	for {
		n, err := s.repeat(depth)
		if err != nil {
			return nil, err
		}
		sub = append(sub, n)
		if !s.more() || s.peek(")|&") {
			return join(concat, 0, sub), nil
		}
	}
}

func (s *syntax) repeat(depth int) (*node, error) {
	n, err := s.complement(depth)
	for err == nil && s.peek("?*+{") {
		q := string(s.in[s.pos])
		if s.pos++; q == "{" {
			if q, err = s.bounds(); err != nil {
				return nil, err
			}
		}
		n = &node{kind: repeat, text: q, sub: []*node{n}}
	}
	return n, err
}

// bounds reads what follows the { of a repetition.
func (s *syntax) bounds() (string, error) {
	low := s.digits()
	if low == "" {
		return "", s.errorf("a number must follow {")
	}
	q := "{" + low
	if s.match(',') {
		q += "," + s.digits()
	}
	if !s.match('}') {
		return "", s.errorf("} is missing")
	}
	return q + "}", nil
}

func (s *syntax) digits() string {
	start := s.pos
	for s.more() && s.in[s.pos] >= '0' && s.in[s.pos] <= '9' {
		s.pos++
	}
	return string(s.in[start:s.pos])
}

func (s *syntax) complement(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, s.errorf("nested more than %d deep", maxDepth)
	}
	pos := s.pos
	if !s.match('~') {
		return s.simple(depth)
	}
	n, err := s.complement(depth + 1)
	return &node{kind: complement, sub: []*node{n}, pos: pos}, err
}

func (s *syntax) simple(depth int) (*node, error) {
	switch {
	case !s.more():
		return nil, s.errorf("the expression ends where something to match is expected")
	case s.match('['):
		return s.class()
	case s.match('.'):
		return &node{text: "."}, nil
	case s.match('#'):
		return &node{text: `[^\x00-\x{10FFFF}]`}, nil
	case s.match('@'):
		return &node{text: "(?:.*)"}, nil
	case s.match('"'):
		return s.quoted()
	case s.match('<'):
		return s.interval()
	case s.match('('):
		if s.match(')') {
			return &node{}, nil
		}
		n, err := s.union(depth + 1)
		if err == nil && !s.match(')') {
			err = s.errorf(") is missing")
		}
		return n, err
	}
	c, err := s.char()
	return &node{text: regexp.QuoteMeta(string(c))}, err
}

func (s *syntax) char() (rune, error) {
	s.match('\\')
	if !s.more() {
		return 0, s.errorf("the expression ends where a character is expected")
	}
	s.pos++
	return s.in[s.pos-1], nil
}

func (s *syntax) quoted() (*node, error) {
	start := s.pos
	for s.more() && !s.peek(`"`) {
		s.pos++
	}
	text := string(s.in[start:s.pos])
	if !s.match('"') {
		return nil, s.errorf("the \" of character %d has no second one", start)
	}
	return &node{text: regexp.QuoteMeta(text)}, nil
}

// class reads what follows a [. A ] that stands first is a member.
func (s *syntax) class() (*node, error) {
	var b strings.Builder
	b.WriteByte('[')
	if s.match('^') {
		b.WriteByte('^')
	}
	for first := true; first || s.more() && !s.peek("]"); first = false {
		low, err := s.char()
		if err != nil {
			return nil, err
		}
		high := low
		if s.match('-') {
			if s.peek("]") { // a - that stands last is a member
				b.WriteString(`\x2d`)
			} else if high, err = s.char(); err != nil {
				return nil, err
			}
		}
		if high < low {
			return nil, s.errorf("range %c-%c is empty", low, high)
		}
		fmt.Fprintf(&b, `\x{%x}-\x{%x}`, low, high)
	}
	if !s.match(']') {
		return nil, s.errorf("] is missing")
	}
	b.WriteByte(']')
	return &node{text: b.String()}, nil
}

func (s *syntax) interval() (*node, error) {
	start := s.pos
	for s.more() && !s.peek(">") {
		s.pos++
	}
	text := string(s.in[start:s.pos])
	if !s.match('>') {
		return nil, s.errorf("the < of character %d has no >", start)
	}
	low, high, ok := strings.Cut(text, "-")
	if !ok {
		return nil, fmt.Errorf("character %d: <%s> names an automaton, and there are none; want an interval such as <1-31>", start, text)
	}
	re, err := intervalRE(low, high)
	if err != nil {
		return nil, fmt.Errorf("character %d: <%s>: %w", start, text, err)
	}
	return &node{text: re}, nil
}
