// Package urlfilterprefix accepts URLs that start with a listed prefix. It owns
// the form of the list; it must not know what URLs are made of.
package urlfilterprefix

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
)

//go:embed plugin.hcl
var manifest []byte

const builtinRules = "http://\nhttps://\n"

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

func build(env sdk.Env) (*sdk.Extensions, error) {
	f, _, err := librule.Build(env.Settings, builtinRules, New)
	if err != nil {
		return nil, err
	}
	return &sdk.Extensions{URLFilter: f}, nil
}

type prefix struct{ text, where string }

// Filter accepts URLs that start with one of its prefixes (Nutch's
// PrefixURLFilter). It is safe for concurrent use.
type Filter struct {
	// prefixes are sorted, and none is the start of another, so that the only
	// candidate for a URL is the greatest one that is not greater than it.
	prefixes []prefix
}

// New reads one prefix per line, with # comments. All faulty lines are reported
// together.
func New(lines *librule.Lines) (*Filter, error) {
	var all []prefix
	var errs []error
	for _, l := range lines.Lines {
		if l.Empty() {
			continue
		}
		text := strings.TrimRight(l.Text, " \t")
		if text[0] == ' ' || text[0] == '\t' {
			errs = append(errs, l.Errorf("white space before the prefix (Nutch ignores such lines): remove it, or write # before it"))
			continue
		}
		all = append(all, prefix{text, l.String()})
	}
	if len(all) == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%s: no prefixes: every URL would be rejected", lines.Name))
	}
	slices.SortStableFunc(all, func(a, b prefix) int { return strings.Compare(a.text, b.text) })
	f := &Filter{}
	for _, p := range all {
		if n := len(f.prefixes); n == 0 || !strings.HasPrefix(p.text, f.prefixes[n-1].text) {
			f.prefixes = append(f.prefixes, p)
		}
	}
	return f, errors.Join(errs...)
}

// FilterURL implements urlfilter.Filter. It takes time logarithmic in the
// number of prefixes.
func (f *Filter) FilterURL(_ context.Context, url string) (urlfilter.Verdict, error) {
	i, exact := slices.BinarySearchFunc(f.prefixes, url, func(p prefix, u string) int { return strings.Compare(p.text, u) })
	if !exact {
		i--
	}
	if i >= 0 && strings.HasPrefix(url, f.prefixes[i].text) {
		return urlfilter.Verdict{Accept: true, Reason: f.prefixes[i].where}, nil
	}
	return urlfilter.Verdict{Reason: "starts with none of the prefixes"}, nil
}

var _ urlfilter.Filter = (*Filter)(nil)
