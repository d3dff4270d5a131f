// Package urlfiltersuffix accepts or rejects URLs by how they end. It owns the
// form of the list and its modes.
package urlfiltersuffix

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/plugins/internal/liburl"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
)

//go:embed plugin.hcl
var manifest []byte

//go:embed suffix-urlfilter.txt
var builtinRules string

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

func build(env sdk.Env) (*sdk.Extensions, error) {
	f, _, err := librule.Build(env.Settings, builtinRules, New)
	if err != nil {
		return nil, err
	}
	if f.contradicts.At != "" {
		env.Logger.Warn("the file has a + and a - line; the last one holds", "line", f.contradicts.String())
	}
	return &sdk.Extensions{URLFilter: f}, nil
}

// Filter judges URLs by their suffix (Nutch's SuffixURLFilter). It is safe for
// concurrent use.
type Filter struct {
	rejects    bool // listed suffixes are rejected, else only they are accepted
	pathOnly   bool
	ignoreCase bool
	suffixes   map[string]librule.Line
	lengths    []int // of the suffixes, ascending
	// contradicts is the last mode line, when it turns an earlier one round.
	contradicts librule.Line
}

// New reads one suffix per line, with # comments and mode lines: + or -, then
// P and I. The last + or - holds; P and I add up. All faulty lines are
// reported together.
func New(lines *librule.Lines) (*Filter, error) {
	f := &Filter{suffixes: map[string]librule.Line{}}
	var errs []error
	var listed []librule.Line
	moded := false
	for _, l := range lines.Lines {
		if l.Empty() {
			continue
		}
		l.Text = strings.TrimSpace(l.Text)
		if l.Text[0] != '+' && l.Text[0] != '-' {
			listed = append(listed, l)
			continue
		}
		rejects := l.Text[0] == '+'
		if moded && rejects != f.rejects {
			f.contradicts = l
		}
		moded, f.rejects = true, rejects
		for _, c := range l.Text[1:] {
			switch c {
			case 'P':
				f.pathOnly = true
			case 'I':
				f.ignoreCase = true
			case ' ', '\t':
			default:
				errs = append(errs, l.Errorf("mode line with %q in it: + or - is followed by P (path only) and I (ignore case); a suffix can't start with + or -", c))
			}
		}
	}
	for _, l := range listed {
		s := l.Text
		if f.ignoreCase {
			s = strings.ToLower(s)
		}
		if _, had := f.suffixes[s]; !had {
			f.suffixes[s] = l
		}
		if i, found := slices.BinarySearch(f.lengths, len(s)); !found {
			f.lengths = slices.Insert(f.lengths, i, len(s))
		}
	}
	if len(listed) == 0 && !f.rejects && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%s: no suffixes: every URL would be rejected; a line with + accepts what is not listed", lines.Name))
	}
	return f, errors.Join(errs...)
}

// FilterURL implements urlfilter.Filter.
func (f *Filter) FilterURL(_ context.Context, url string) (urlfilter.Verdict, error) {
	s := url
	if f.pathOnly {
		if p := liburl.Split(url); p.HasScheme {
			s = p.Path
		}
	}
	if f.ignoreCase {
		s = strings.ToLower(s)
	}
	for _, n := range f.lengths {
		if n > len(s) {
			break
		}
		if l, ok := f.suffixes[s[len(s)-n:]]; ok {
			return urlfilter.Verdict{Accept: !f.rejects, Reason: l.String()}, nil
		}
	}
	return urlfilter.Verdict{Accept: f.rejects, Reason: "ends with none of the suffixes"}, nil
}

var _ urlfilter.Filter = (*Filter)(nil)
