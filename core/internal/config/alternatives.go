package config

import "strings"

// alternative is one way through the groups and "|" of a regular expression.
// from and to are the bytes of its last choice in the whole expression.
type alternative struct {
	text     string
	from, to int
}

// maxAlternatives bounds the expansion; an expression with more is one
// alternative.
const maxAlternatives = 500

// alternatives expands plain groups, so that "urlfilter-(regex|validatr)" gives
// two. re must be a valid expression. Groups with a quantifier or flags stay
// whole.
func alternatives(re string) []alternative {
	whole := []alternative{{re, 0, len(re)}}
	if strings.Contains(re, `\Q`) {
		return whole
	}
	x := &expander{re: re}
	out := x.choice()
	if x.pos != len(re) || x.tooMany {
		return whole
	}
	return out
}

type expander struct {
	re      string
	pos     int
	tooMany bool
}

// choice reads alternatives up to the closing parenthesis or the end.
func (x *expander) choice() []alternative {
	out := x.sequence()
	for x.pos < len(x.re) && x.re[x.pos] == '|' {
		x.pos++
		out = append(out, x.sequence()...)
		x.tooMany = x.tooMany || len(out) > maxAlternatives
		if x.tooMany {
			return out[:1]
		}
	}
	return out
}

func (x *expander) sequence() []alternative {
	start := x.pos
	cur := []alternative{{from: -1}}
	for x.pos < len(x.re) && x.re[x.pos] != '|' && x.re[x.pos] != ')' {
		from := x.pos
		if x.re[x.pos] == '(' {
			if inner := x.group(); inner != nil {
				cur = x.cross(cur, inner)
				continue
			}
		} else {
			x.atom()
		}
		for i := range cur {
			cur[i].text += x.re[from:x.pos]
		}
	}
	for i := range cur {
		if cur[i].from < 0 {
			cur[i].from, cur[i].to = start, x.pos
		}
	}
	return cur
}

func (x *expander) cross(cur, inner []alternative) []alternative {
	if len(cur)*len(inner) > maxAlternatives {
		x.tooMany = true
		return cur
	}
	var out []alternative
	for _, a := range cur {
		for _, b := range inner {
			if len(inner) == 1 {
				b.from, b.to = a.from, a.to
			}
			out = append(out, alternative{a.text + b.text, b.from, b.to})
		}
	}
	return out
}

// group reads "(...)". It returns nil when the group must stay whole.
func (x *expander) group() []alternative {
	x.pos++
	plain := true
	if strings.HasPrefix(x.re[x.pos:], "?:") {
		x.pos += 2
	} else if strings.HasPrefix(x.re[x.pos:], "?") {
		plain = false
	}
	inner := x.choice()
	x.pos = min(x.pos+1, len(x.re)) // ")"
	if x.pos < len(x.re) && strings.ContainsRune("*+?{", rune(x.re[x.pos])) {
		plain = false
	}
	if !plain {
		return nil
	}
	return inner
}

// atom skips one character, escape or class.
func (x *expander) atom() {
	switch x.re[x.pos] {
	case '\\':
		x.pos = min(x.pos+2, len(x.re))
	case '[':
		x.pos++
		if strings.HasPrefix(x.re[x.pos:], "^") {
			x.pos++
		}
		x.pos++ // a "]" here is literal
		for x.pos < len(x.re) && x.re[x.pos] != ']' {
			if x.re[x.pos] == '\\' {
				x.pos++
			}
			x.pos++
		}
		x.pos = min(x.pos+1, len(x.re))
	default:
		x.pos++
	}
}
