// Package libregex compiles the regular expressions of rule files. Nutch's
// rules are Java expressions: those that Go's linear-time engine can run, run
// on it; the others (back-references, look-around, possessive groups) run on a
// back-tracking engine under a time limit for each match.
//
// It owns the choice of engine and the limit; it must not know what a rule is
// for.
package libregex

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
)

// DefaultLimit is the time one match on the back-tracking engine may take.
const DefaultLimit = 100 * time.Millisecond

// ErrLimit says that a match was given up because it took too long.
var ErrLimit = errors.New("regular expression ran into its time limit")

// Regexp is a compiled expression. It is safe for concurrent use.
type Regexp struct {
	source string
	linear *regexp.Regexp
	back   *regexp2.Regexp
}

// Compile compiles a Java-style expression. A limit of 0 means DefaultLimit.
func Compile(expr string, limit time.Duration) (*Regexp, error) {
	linear, err := regexp.Compile(expr)
	if err == nil {
		return &Regexp{source: expr, linear: linear}, nil
	}
	if limit <= 0 {
		limit = DefaultLimit
	}
	back, err2 := regexp2.Compile(expr, regexp2.None)
	if err2 != nil {
		return nil, fmt.Errorf("regular expression %q: %w", expr, err2)
	}
	back.MatchTimeout = limit
	return &Regexp{source: expr, back: back}, nil
}

// String returns the expression as written.
func (r *Regexp) String() string { return r.source }

// Linear reports whether the expression runs in linear time.
func (r *Regexp) Linear() bool { return r.linear != nil }

// Find reports whether the expression is found anywhere in s. The only error
// is ErrLimit.
func (r *Regexp) Find(s string) (bool, error) {
	if r.linear != nil {
		return r.linear.MatchString(s), nil
	}
	ok, err := r.back.MatchString(s)
	if err != nil {
		return false, ErrLimit
	}
	return ok, nil
}

// ReplaceAll replaces every match in s by the substitution, in which $1 or
// ${name} stand for groups and \$ for a dollar sign, as in Java. The only error
// is ErrLimit.
func (r *Regexp) ReplaceAll(s string, sub Substitution) (string, error) {
	if r.linear != nil {
		if !r.linear.MatchString(s) {
			return s, nil
		}
		return r.linear.ReplaceAllString(s, sub.linear), nil
	}
	out, err := r.back.Replace(s, sub.back, -1, -1)
	if err != nil {
		return s, ErrLimit
	}
	return out, nil
}

// Substitution is a compiled replacement text.
type Substitution struct{ linear, back string }

// NewSubstitution reads a Java replacement text.
func NewSubstitution(s string) Substitution {
	var lin strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			if s[i] == '$' {
				lin.WriteString("$$")
			} else {
				lin.WriteByte(s[i])
			}
		case c == '$' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9':
			j := i + 1
			for j < len(s) && s[j] >= '0' && s[j] <= '9' {
				j++
			}
			lin.WriteString("${" + s[i+1:j] + "}")
			i = j - 1
		default:
			lin.WriteByte(c)
		}
	}
	// The back-tracking engine reads ${1}, ${name} and $$ the same way.
	return Substitution{linear: lin.String(), back: lin.String()}
}
