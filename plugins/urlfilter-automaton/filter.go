// Package urlfilterautomaton accepts and rejects URLs by expressions that must
// match the whole URL, in time linear in its length, with Nutch's rule files. It
// owns the syntax of the expressions, that of dk.brics.automaton; the format of
// the files is librule's.
package urlfilterautomaton

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
)

//go:embed plugin.hcl
var manifest []byte

//go:embed automaton-urlfilter.txt
var builtinRules string

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

func build(env sdk.Env) (*sdk.Extensions, error) {
	f, _, err := librule.Build(env.Settings, builtinRules, New)
	if err != nil {
		return nil, err
	}
	return &sdk.Extensions{URLFilter: f}, nil
}

// Filter judges URLs by the first rule that matches the whole URL (Nutch's
// AutomatonURLFilter). It is safe for concurrent use.
type Filter struct{ rules *librule.Signed }

// New compiles the rules. All faulty lines are reported together.
func New(lines *librule.Lines) (*Filter, error) {
	rules, err := librule.CompileSigned(lines, func(_ librule.Line, expr string) (librule.Matcher, error) {
		m, err := compile(expr)
		return func(url string) (bool, error) { return m(url), nil }, err
	})
	if err == nil && rules.Len() == 0 {
		err = fmt.Errorf("%s: no rules: every URL would be rejected; add a last line +.* to accept the rest", lines.Name)
	}
	return &Filter{rules}, err
}

// FilterURL implements urlfilter.Filter.
func (f *Filter) FilterURL(_ context.Context, url string) (urlfilter.Verdict, error) {
	accept, reason, err := f.rules.Judge(url)
	return urlfilter.Verdict{Accept: accept, Reason: reason}, err
}

var _ urlfilter.Filter = (*Filter)(nil)
