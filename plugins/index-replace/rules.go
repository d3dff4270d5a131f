package indexreplace

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gonutch/crawler/plugins/internal/libregex"
	"github.com/gonutch/crawler/plugins/internal/librule"
)

// rule is one replacement, for documents of the section it stands in.
type rule struct {
	host, url *libregex.Regexp // nil: any
	field     string
	target    string
	re        *libregex.Regexp
	by        libregex.Substitution
	at        string
}

// compile reads rules; all faulty lines are reported together. Nutch skips them.
func compile(lines []librule.Line, limit time.Duration) ([]rule, error) {
	var rules []rule
	var errs []error
	var host, url *libregex.Regexp
	for _, l := range lines {
		text := strings.TrimSpace(l.Text)
		if strings.HasPrefix(text, "#") {
			continue
		}
		name, value, ok := strings.Cut(text, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			errs = append(errs, l.Errorf("want field=/regex/replacement/, hostmatch=regex or urlmatch=regex, not %q", text))
			continue
		}
		var err error
		switch name {
		case "hostmatch", "urlmatch":
			var re *libregex.Regexp
			if re, err = libregex.Compile(strings.TrimSpace(value), limit); err == nil {
				host, url = nil, nil
				if name == "hostmatch" {
					host = re
				} else {
					url = re
				}
			}
		default:
			r := rule{host: host, url: url, at: l.At}
			r.field, r.target, ok = strings.Cut(name, ":")
			if r.field = strings.TrimSpace(r.field); !ok {
				r.target = r.field
			}
			if r.target = strings.TrimSpace(r.target); r.field == "" || r.target == "" {
				err = fmt.Errorf("%q: a name is missing beside the colon", name)
			} else {
				r.re, r.by, err = replacement(strings.TrimSpace(value), limit)
			}
			rules = append(rules, r)
		}
		if err != nil {
			errs = append(errs, l.Errorf("%w", err))
		}
	}
	return rules, errors.Join(errs...)
}

// replacement reads /regex/replacement/flags with any delimiter, which can't
// stand in the parts.
func replacement(s string, limit time.Duration) (*libregex.Regexp, libregex.Substitution, error) {
	var none libregex.Substitution
	delim, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return nil, none, errors.New("want /regex/replacement/")
	}
	parts := strings.Split(s[n:], string(delim))
	if len(parts) != 3 {
		return nil, none, fmt.Errorf("%q: want %cregex%creplacement%c and flags, with no other %c; any character can be the delimiter", s, delim, delim, delim, delim)
	}
	if parts[0] == "" {
		return nil, none, fmt.Errorf("%q: the regular expression is empty", s)
	}
	expr, err := withFlags(parts[0], strings.TrimSpace(parts[2]))
	if err != nil {
		return nil, none, err
	}
	re, err := libregex.Compile(expr, limit)
	return re, libregex.NewSubstitution(parts[1]), err
}

// The flags of java.util.regex.Pattern.
const (
	unixLines       = 0x01
	caseInsensitive = 0x02
	comments        = 0x04
	multiline       = 0x08
	literal         = 0x10
	dotAll          = 0x20
	unicodeCase     = 0x40
)

func withFlags(expr, flags string) (string, error) {
	if flags == "" {
		return expr, nil
	}
	n, err := strconv.Atoi(flags)
	if err != nil || n < 0 {
		return "", fmt.Errorf("flags %q: want a number, the sum of 2 (ignore case), 8 (^ and $ at lines), 16 (plain text), 32 (. is any character)", flags)
	}
	// Lines end in \n here and case folding is Unicode's, as the two flags want.
	if rest := n &^ (unixLines | caseInsensitive | comments | multiline | literal | dotAll | unicodeCase); rest != 0 {
		return "", fmt.Errorf("flags %d: %d is not supported", n, rest)
	}
	if n&literal != 0 {
		expr = regexp.QuoteMeta(expr)
		n &= caseInsensitive
	}
	letters := ""
	for _, f := range [...]struct {
		bit    int
		letter string
	}{{caseInsensitive, "i"}, {multiline, "m"}, {dotAll, "s"}, {comments, "x"}} {
		if n&f.bit != 0 {
			letters += f.letter
		}
	}
	if letters != "" {
		expr = "(?" + letters + ")" + expr
	}
	return expr, nil
}
