// Package urlfilterignoreexempt lets links to other hosts through although
// external links are ignored, by regular expressions on their targets. The
// format of the rules is librule's, what an expression means is libregex's.
package urlfilterignoreexempt

import (
	"context"
	_ "embed"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/plugins/internal/libregex"
	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlexemption"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c struct {
		File      string           `json:"file"`
		Rules     []string         `json:"rules"`
		TimeLimit setting.Duration `json:"time_limit"`
	}
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	lines, err := librule.Source{Setting: "rules", Inline: c.Rules, File: c.File}.Load()
	if err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	f, err := New(lines, c.TimeLimit.D(), env.Logger)
	if err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	if f.rules.Len() == 0 {
		env.Logger.Warn("there are no rules: no link is exempt", "rules", lines.Name)
	}
	return &sdk.Extensions{URLExemption: f}, nil
}

// Filter exempts links by the first rule found in their target (Nutch's
// ExemptionUrlFilter). It is safe for concurrent use.
type Filter struct {
	rules *librule.Signed
	log   hclog.Logger
}

// New compiles the rules. All faulty lines are reported together. Limit is the
// time of a back-tracking match.
func New(lines *librule.Lines, limit time.Duration, log hclog.Logger) (*Filter, error) {
	rules, err := librule.CompileSigned(lines, func(l librule.Line, expr string) (librule.Matcher, error) {
		re, err := libregex.Compile(expr, limit)
		if err != nil {
			return nil, err
		}
		if !re.Linear() {
			log.Info("rule needs the back-tracking engine and runs under a time limit", "rule", l.String(), "limit", limit)
		}
		return re.Find, nil
	})
	return &Filter{rules, log}, err
}

// Exempt implements urlexemption.Filter.
func (f *Filter) Exempt(_ context.Context, p urlexemption.Pair) (bool, error) {
	exempt, rule, err := f.rules.Judge(p.To)
	if err != nil {
		f.log.Warn("rule ran into its time limit; the link is not exempt", "rule", rule, "url_bytes", len(p.To))
		return false, nil //nolint:nilerr // the outcome says it
	}
	return exempt, nil
}

var _ urlexemption.Filter = (*Filter)(nil)
