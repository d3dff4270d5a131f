// Package urlfilterregex accepts and rejects URLs by regular expressions, with
// Nutch's rule files. It owns the rule file format; what an expression means
// is libregex's.
package urlfilterregex

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/plugins/internal/libregex"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

//go:embed regex-urlfilter.txt
var builtinRules string

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	File      string           `json:"file"`
	Rules     []string         `json:"rules"`
	TimeLimit setting.Duration `json:"time_limit"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	name, text := "built-in rules", builtinRules
	switch {
	case len(c.Rules) > 0:
		name, text = "rules", strings.Join(c.Rules, "\n")
	case c.File != "":
		b, err := os.ReadFile(c.File)
		if err != nil {
			return nil, fault.Errorf(fault.Invalid, "read rule file: %w", err)
		}
		name, text = c.File, string(b)
	}
	f, err := Compile(name, text, c.TimeLimit.D())
	if err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	for _, r := range f.BackTracking() {
		env.Logger.Info("rule needs the back-tracking engine and runs under a time limit", "rule", r, "limit", c.TimeLimit.String())
	}
	f.log = env.Logger
	return &sdk.Extensions{URLFilter: f}, nil
}

// rule is one line of the file. A rule with a scope counts only for URLs of
// that host or of hosts below it.
type rule struct {
	accept bool
	re     *libregex.Regexp
	where  string // file:line: text
	scope  string
}

// Filter judges URLs by the first rule found in them (Nutch's
// RegexURLFilterBase). It is safe for concurrent use.
type Filter struct {
	rules []rule
	log   hclog.Logger
}

// Compile reads rules in Nutch's format: lines of + or - and an expression,
// # comments, and "> host" … "<" sections whose rules count for that host or
// domain only. All faulty lines are reported together.
func Compile(name, text string, limit time.Duration) (*Filter, error) {
	f := &Filter{log: hclog.NewNullLogger()}
	var errs []error
	scope, scopeLine := "", 0
	for n, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = strings.TrimRight(line, "\r")
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		at := fmt.Sprintf("%s:%d", name, n+1)
		switch line[0] {
		case '+', '-':
			re, err := libregex.Compile(line[1:], limit)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", at, err))
				continue
			}
			f.rules = append(f.rules, rule{accept: line[0] == '+', re: re, where: at + ": " + line, scope: scope})
		case '>':
			scope, scopeLine = strings.ToLower(strings.TrimSpace(line[1:])), n+1
			if scope == "" {
				errs = append(errs, fmt.Errorf("%s: a section needs a host or domain after >", at))
			}
		case '<':
			if scopeLine == 0 {
				errs = append(errs, fmt.Errorf("%s: < closes a section, but none is open", at))
			}
			scope, scopeLine = "", 0
		default:
			errs = append(errs, fmt.Errorf("%s: line starts with %q; a rule starts with + (accept) or - (reject), a comment with #", at, line[0]))
		}
	}
	if scopeLine != 0 {
		errs = append(errs, fmt.Errorf("%s:%d: section %q is not closed by a line with <", name, scopeLine, scope))
	}
	if len(f.rules) == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%s: no rules: every URL would be rejected; add a last line +. to accept the rest", name))
	}
	return f, errors.Join(errs...)
}

// BackTracking names the rules that run on the back-tracking engine.
func (f *Filter) BackTracking() []string {
	var out []string
	for _, r := range f.rules {
		if !r.re.Linear() {
			out = append(out, r.where)
		}
	}
	return out
}

// FilterURL implements urlfilter.Filter.
func (f *Filter) FilterURL(_ context.Context, url string) (urlfilter.Verdict, error) {
	host := ""
	for i := range f.rules {
		r := &f.rules[i]
		if r.scope != "" {
			if host == "" {
				host = hostOf(url)
			}
			if host != r.scope && !strings.HasSuffix(host, "."+r.scope) {
				continue
			}
		}
		found, err := r.re.Find(url)
		if err != nil {
			f.log.Warn("rule ran into its time limit; the URL is rejected", "rule", r.where, "url_bytes", len(url))
			return urlfilter.Verdict{Reason: r.where + " (time limit)"}, nil //nolint:nilerr // the verdict says it
		}
		if found {
			return urlfilter.Verdict{Accept: r.accept, Reason: r.where}, nil
		}
	}
	return urlfilter.Verdict{Reason: "no rule matches"}, nil
}

// hostOf cuts the lower-case host out of url, or "" when there is none.
func hostOf(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	if !strings.HasPrefix(rest, "[") {
		rest, _, _ = strings.Cut(rest, ":")
	}
	return strings.ToLower(rest)
}

var _ urlfilter.Filter = (*Filter)(nil)
