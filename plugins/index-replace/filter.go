// Package indexreplace replaces what regular expressions find in fields of
// documents. It owns the form of the rules; what an expression means is
// libregex's.
package indexreplace

import (
	"context"
	_ "embed"
	"net/url"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/plugins/internal/libregex"
	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Regexp    string           `json:"regexp"`
	File      string           `json:"file"`
	TimeLimit setting.Duration `json:"time_limit"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	lines, err := librule.Source{Setting: "regexp", Text: c.Regexp, File: c.File}.Lines()
	if err != nil {
		return nil, err
	}
	rules, err := compile(lines, c.TimeLimit.D())
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		if !r.re.Linear() {
			env.Logger.Info("rule needs the back-tracking engine and runs under a time limit", "rule", r.at, "limit", c.TimeLimit.String())
		}
	}
	return &sdk.Extensions{IndexingFilter: &Filter{rules: rules, log: env.Logger}}, nil
}

// Filter implements Nutch's ReplaceIndexer. Rules work in their order, each on
// what the ones before left. It is safe for concurrent use.
type Filter struct {
	rules []rule
	log   hclog.Logger
}

// FilterDocument implements indexingfilter.Filter.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	host := ""
	if u, err := url.Parse(in.URL); err == nil {
		host = strings.ToLower(u.Hostname())
	}
	changed := map[string][]string{}
	for i := range f.rules {
		r := &f.rules[i]
		if !f.found(r, r.host, host, in.URL) || !f.found(r, r.url, in.URL, in.URL) {
			continue
		}
		values, ok := changed[r.field]
		if !ok {
			values = in.Doc.Fields[r.field]
		}
		if out, hit := f.replace(r, values, in.URL); hit {
			changed[r.target] = out
		}
	}
	if len(changed) == 0 {
		return nil, nil
	}
	p := &indexingfilter.Patch{Set: map[string][]string{}}
	for k, v := range changed {
		if len(v) == 0 {
			p.Remove = append(p.Remove, k)
		} else {
			p.Set[k] = v
		}
	}
	return p, nil
}

// found reports whether a section counts: re is found in s, or nil.
func (f *Filter) found(r *rule, re *libregex.Regexp, s, url string) bool {
	if re == nil {
		return true
	}
	ok, err := re.Find(s)
	if err != nil {
		f.log.Warn("match of host or url ran into its time limit", "rule", r.at, "url", url)
	}
	return ok
}

// replace applies r to values; hit says that it is found in one of them. Blank
// results are left out. Another target gets only what the rule is found in.
func (f *Filter) replace(r *rule, values []string, url string) (out []string, hit bool) {
	for _, v := range values {
		found, err := r.re.Find(v)
		next := v
		if err == nil && found {
			next, err = r.re.ReplaceAll(v, r.by)
		}
		if err != nil {
			f.log.Warn("rule ran into its time limit; the value stays as it is", "rule", r.at, "url", url)
			found, next = false, v
		}
		hit = hit || found
		if (found || r.target == r.field) && strings.TrimSpace(next) != "" {
			out = append(out, next)
		}
	}
	return out, hit
}

var _ indexingfilter.Filter = (*Filter)(nil)
