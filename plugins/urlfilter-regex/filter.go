// Package urlfilterregex accepts and rejects URLs by regular expressions, with
// Nutch's rule files. The format of the files is librule's, what an expression
// means is libregex's.
package urlfilterregex

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/plugins/internal/libregex"
	"github.com/gonutch/crawler/plugins/internal/librule"
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
	lines, err := librule.Source{Setting: "rules", Inline: c.Rules, File: c.File, Builtin: builtinRules}.Load()
	if err != nil {
		return nil, err
	}
	f, err := Compile(lines, c.TimeLimit.D())
	if err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	for _, r := range f.BackTracking() {
		env.Logger.Info("rule needs the back-tracking engine and runs under a time limit", "rule", r, "limit", c.TimeLimit.String())
	}
	f.log = env.Logger
	return &sdk.Extensions{URLFilter: f}, nil
}

// Filter judges URLs by the first rule found in them (Nutch's
// RegexURLFilterBase). It is safe for concurrent use.
type Filter struct {
	rules        *librule.Signed
	backTracking []string
	log          hclog.Logger
}

// Compile reads rules in Nutch's format, which librule documents. All faulty
// lines are reported together. Limit is the time of a back-tracking match.
func Compile(lines *librule.Lines, limit time.Duration) (*Filter, error) {
	f := &Filter{log: hclog.NewNullLogger()}
	var err error
	f.rules, err = librule.CompileSigned(lines, func(l librule.Line, expr string) (librule.Matcher, error) {
		re, err := libregex.Compile(expr, limit)
		if err != nil {
			return nil, err
		}
		if !re.Linear() {
			f.backTracking = append(f.backTracking, l.String())
		}
		return re.Find, nil
	})
	if err == nil && f.rules.Len() == 0 {
		err = fmt.Errorf("%s: no rules: every URL would be rejected; add a last line +. to accept the rest", lines.Name)
	}
	return f, err
}

// BackTracking names the rules that run on the back-tracking engine.
func (f *Filter) BackTracking() []string { return f.backTracking }

// FilterURL implements urlfilter.Filter.
func (f *Filter) FilterURL(_ context.Context, url string) (urlfilter.Verdict, error) {
	accept, reason, err := f.rules.Judge(url)
	if err != nil {
		f.log.Warn("rule ran into its time limit; the URL is rejected", "rule", reason, "url_bytes", len(url))
	}
	return urlfilter.Verdict{Accept: accept, Reason: reason}, nil
}

var _ urlfilter.Filter = (*Filter)(nil)
