package robots

import (
	"net/url"
	"strings"
)

// Verdict is what a robots.txt says of one URL, and why.
type Verdict struct {
	Allowed bool
	Agent   string // whose group decided: an agent, "*", or "" when no group applies
	Line    int    // of the rule that decided, from 1; 0 when no rule matched
	Rule    string // that line as written
}

// Check returns the verdict on a URL. Only its path and query count. The rule
// with the most octets wins, allow wins over disallow of the same length, and
// without a match, and for /robots.txt itself, it is allowed. What is no URL is disallowed.
func (r *Rules) Check(rawURL string) Verdict {
	v := Verdict{Allowed: true, Agent: r.Agent}
	path, ok := target(rawURL)
	if !ok {
		v.Allowed = false
		return v
	}
	if path == "/robots.txt" {
		return v
	}
	for i := range r.rules {
		if r.rules[i].matches(path) {
			v.Allowed, v.Line, v.Rule = r.rules[i].allow, r.rules[i].line, r.rules[i].text
			return v
		}
	}
	return v
}

// target returns path and query of a URL in the normal form of patterns.
func target(rawURL string) (string, bool) {
	if _, err := url.Parse(rawURL); err != nil {
		return "", false
	}
	rest := rawURL
	if i := strings.Index(rest, "://"); i >= 0 {
		rest = rest[i+3:]
		if j := strings.IndexAny(rest, "/?#"); j >= 0 {
			rest = rest[j:]
		} else {
			rest = ""
		}
	}
	rest, _, _ = strings.Cut(rest, "#")
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	return normalize(rest, true), true
}

func newRule(value string) rule {
	if value[0] != '/' && value[0] != '*' {
		value = "/" + value
	}
	r := rule{}
	if strings.HasSuffix(value, "$") {
		value, r.anchored = value[:len(value)-1], true
	}
	r.pattern = normalize(value, false)
	r.wild = strings.Contains(r.pattern, "*")
	r.octets = len(r.pattern)
	if r.anchored {
		r.octets++
	}
	return r
}

const hexDigits = "0123456789ABCDEF"

// normalize makes octets comparable (RFC 9309 section 2.2.2): an escaped
// unreserved character is unescaped, every other escape is in upper case, and what may not
// stand in a URL, a percent sign that escapes nothing too, is escaped. "$" is always escaped, "*" only if star
// says that it is a plain character.
func normalize(s string, star bool) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			if hi, lo := unhex(s[i+1]), unhex(s[i+2]); hi >= 0 && lo >= 0 {
				c = byte(hi<<4 | lo)
				i += 2
				if unreserved(c) {
					b.WriteByte(c)
				} else {
					escape(&b, c)
				}
				continue
			}
		}
		if c <= ' ' || c >= 0x7f || c == '%' || c == '$' || c == '*' && star {
			escape(&b, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func escape(b *strings.Builder, c byte) {
	b.WriteByte('%')
	b.WriteByte(hexDigits[c>>4])
	b.WriteByte(hexDigits[c&15])
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

func unreserved(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// matches takes the leftmost place for each part between stars, which finds a
// match if there is one, in time that is linear for all practical patterns.
func (r *rule) matches(path string) bool {
	if !r.wild {
		if r.anchored {
			return path == r.pattern
		}
		return strings.HasPrefix(path, r.pattern)
	}
	part, rest, more := strings.Cut(r.pattern, "*")
	if !strings.HasPrefix(path, part) {
		return false
	}
	path = path[len(part):]
	for more {
		part, rest, more = strings.Cut(rest, "*")
		if !more && r.anchored {
			return strings.HasSuffix(path, part)
		}
		i := strings.Index(path, part)
		if i < 0 {
			return false
		}
		path = path[i+len(part):]
	}
	return true
}
