package jexl

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// translate turns the common forms of JEXL into those of expr: the operators eq,
// ne, lt, le, gt, ge, =~, !~, =^, !^, =$ and !$, doc.getFieldValue('x'), suffixes
// of numbers, comments that start with ##, and dates such as
// 2026-03-04T05:06:07Z, which are milliseconds since 1970 (Nutch's rule). What
// else differs, expr refuses.
func translate(src string) (string, error) {
	t := &translator{src: src, date: regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), number: regexp.MustCompile(`^(\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)([LlHhFfDdBb]?)`)}
	for t.pos < len(src) {
		if err := t.next(); err != nil {
			return "", err
		}
	}
	return t.out.String(), nil
}

type translator struct {
	src    string
	pos    int
	out    strings.Builder
	date   *regexp.Regexp
	number *regexp.Regexp
}

func (t *translator) next() error {
	rest := t.src[t.pos:]
	switch c := rest[0]; {
	case c == '\'' || c == '"' || c == '`':
		text, n, err := t.literal()
		if err != nil {
			return err
		}
		t.pos += n
		t.out.WriteString(strconv.Quote(text))
	case strings.HasPrefix(rest, "##"):
		n := strings.IndexByte(rest, '\n')
		if n < 0 {
			n = len(rest)
		}
		t.pos += n
	case isWord(c) && (c < '0' || c > '9'):
		return t.word(rest)
	case c >= '0' && c <= '9':
		return t.digits(rest)
	case strings.HasPrefix(rest, "<=") || strings.HasPrefix(rest, ">="):
		t.pos += 2
		t.out.WriteString(rest[:2])
	case c == '=' || c == '!':
		return t.operator(rest)
	default:
		t.out.WriteByte(c)
		t.pos++
	}
	return nil
}

func (t *translator) word(rest string) error {
	n := 0
	for n < len(rest) && isWord(rest[n]) {
		n++
	}
	w := rest[:n]
	member := strings.HasSuffix(strings.TrimRight(t.out.String(), " "), ".")
	if op, ok := map[string]string{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}[w]; ok && !member {
		w = op
	}
	if w == "empty" && !member && !strings.HasPrefix(strings.TrimLeft(rest[n:], " "), "(") {
		return fmt.Errorf("write empty(x) with brackets")
	}
	if member && w == "getFieldValue" {
		return t.fieldValue(n)
	}
	t.pos += n
	t.out.WriteString(w)
	return nil
}

// fieldValue writes .getFieldValue('x') as ["x"].
func (t *translator) fieldValue(n int) error {
	start := t.pos
	t.pos += n
	t.space()
	bad := fmt.Errorf("%s: want getFieldValue('name')", t.src[start:min(len(t.src), start+40)])
	if !t.take("(") {
		return bad
	}
	t.space()
	name, n, err := t.literal()
	if err != nil {
		return bad
	}
	t.pos += n
	t.space()
	if !t.take(")") {
		return bad
	}
	before := strings.TrimSuffix(strings.TrimRight(t.out.String(), " "), ".")
	t.out.Reset()
	t.out.WriteString(before + "[" + strconv.Quote(name) + "]")
	return nil
}

func (t *translator) digits(rest string) error {
	if d := t.date.FindString(rest); d != "" {
		at, err := time.Parse(time.RFC3339, d)
		if err != nil {
			return fmt.Errorf("%s is no date: %w", d, err)
		}
		t.pos += len(d)
		t.out.WriteString(strconv.FormatInt(at.UnixMilli(), 10))
		return nil
	}
	m := t.number.FindStringSubmatch(rest)
	t.pos += len(m[0])
	t.out.WriteString(m[1])
	return nil
}

// operator writes JEXL's operators for texts as expr's. Its =~ wants the whole
// text to match, or to be an element of a list.
func (t *translator) operator(rest string) error {
	not, second := "", byte(0)
	if rest[0] == '!' {
		not = "not "
	}
	if len(rest) > 1 {
		second = rest[1]
	}
	switch second {
	case '~':
	case '^', '$':
		t.pos += 2
		t.out.WriteString(" " + not + map[byte]string{'^': "startsWith", '$': "endsWith"}[second] + " ")
		return nil
	case '=':
		t.pos += 2
		t.out.WriteString(rest[:2])
		return nil
	default:
		if rest[0] == '=' {
			return fmt.Errorf("%q assigns; write == to compare", rest[:min(len(rest), 20)])
		}
		t.pos++
		t.out.WriteByte('!')
		return nil
	}
	t.pos += 2
	t.space()
	if strings.HasPrefix(t.src[t.pos:], "[") {
		t.out.WriteString(" " + not + "in ")
		return nil
	}
	pattern, n, err := t.literal()
	if err != nil {
		return fmt.Errorf("%s wants a pattern in quotes or a list behind it", rest[:2])
	}
	t.pos += n
	t.out.WriteString(" " + not + "matches " + strconv.Quote("^(?s:"+pattern+")$"))
	return nil
}

// literal reads the text in quotes at the position and its length. A backslash
// before anything but a quote, a backslash, n, t or r stands for itself.
func (t *translator) literal() (string, int, error) {
	s := t.src[t.pos:]
	if s == "" || !strings.ContainsRune("'\"`", rune(s[0])) {
		return "", 0, fmt.Errorf("want a text in quotes")
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == s[0]:
			return b.String(), i + 1, nil
		case c == '\\' && i+1 < len(s):
			i++
			switch e := s[i]; e {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			case '\\', '\'', '"', '`':
				b.WriteByte(e)
			default:
				b.WriteString(s[i-1 : i+1])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, fmt.Errorf("the text that begins with %q does not end", s[:min(len(s), 20)])
}

func (t *translator) space() {
	for t.pos < len(t.src) && strings.IndexByte(" \t\r\n", t.src[t.pos]) >= 0 {
		t.pos++
	}
}

func (t *translator) take(s string) bool {
	if !strings.HasPrefix(t.src[t.pos:], s) {
		return false
	}
	t.pos += len(s)
	return true
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}
