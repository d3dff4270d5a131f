// Package urlfilterfast rejects URLs by rules that are found by their host: the
// time for a URL depends on the rules for its host and domains only, not on how
// many there are in all. It owns the form of the rule file; what an expression
// means is libregex's.
package urlfilterfast

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/plugins/internal/liburl"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// Limits are the greatest lengths in bytes; negative means none.
type Limits struct {
	URL   setting.Size `json:"url_max_length"`
	Path  setting.Size `json:"url_path_max_length"`
	Query setting.Size `json:"url_query_max_length"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c struct {
		Limits
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
	rules, err := Parse(lines, c.TimeLimit.D())
	if err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	if rules.Len() == 0 && c.URL < 0 && c.Path < 0 && c.Query < 0 {
		env.Logger.Warn("there are neither rules nor limits: every URL is accepted", "rules", lines.Name)
	}
	for _, l := range rules.Idle {
		env.Logger.Warn("block without rules", "line", l.String())
	}
	for _, l := range rules.BackTracking {
		env.Logger.Info("rule needs the back-tracking engine and runs under a time limit", "rule", l.String(), "limit", c.TimeLimit.String())
	}
	return &sdk.Extensions{URLFilter: New(rules, c.Limits, env.Logger)}, nil
}

// Filter rejects URLs by length and by the rules of their host, of the domains
// it is in, and for all (Nutch's FastURLFilter). It is safe for concurrent use.
type Filter struct {
	rules  *Rules
	limits Limits
	log    hclog.Logger
}

// New returns a filter.
func New(rules *Rules, limits Limits, log hclog.Logger) *Filter { return &Filter{rules, limits, log} }

// FilterURL implements urlfilter.Filter.
func (f *Filter) FilterURL(_ context.Context, url string) (urlfilter.Verdict, error) {
	p := liburl.Split(url)
	reason := f.tooLong(url, &p)
	switch {
	case reason != "":
	case !p.HasScheme:
		reason = "not a URL: no scheme"
	default:
		reason = f.denied(&p)
	}
	return urlfilter.Verdict{Accept: reason == "", Reason: reason}, nil
}

func (f *Filter) tooLong(url string, p *liburl.Parts) string {
	for _, c := range []struct {
		what   string
		length int
		limit  setting.Size
	}{
		{"url", len(url), f.limits.URL}, {"url_path", len(p.Path), f.limits.Path}, {"url_query", len(p.Query) - 1, f.limits.Query},
	} {
		if c.limit >= 0 && int64(c.length) > int64(c.limit) {
			return fmt.Sprintf("%d bytes are more than %s_max_length = %s", c.length, c.what, c.limit)
		}
	}
	return ""
}

// denied returns the rule that denies the URL, or "".
func (f *Filter) denied(p *liburl.Parts) string {
	name := liburl.HostKey(p.Host)
	if reason := f.search(f.rules.hosts[name], p); reason != "" {
		return reason
	}
	for len(f.rules.domains) > 0 && name != "" {
		if reason := f.search(f.rules.domains[name], p); reason != "" {
			return reason
		}
		_, name, _ = strings.Cut(name, ".")
	}
	return f.search(f.rules.global, p)
}

func (f *Filter) search(rules []rule, p *liburl.Parts) string {
	for i := range rules {
		r := &rules[i]
		if r.re == nil {
			return r.line.String()
		}
		text := p.Path
		if r.query {
			text += p.Query
		}
		found, err := r.re.Find(text)
		if err != nil {
			f.log.Warn("rule ran into its time limit; the URL is rejected", "rule", r.line.String(), "url_bytes", len(text))
			return r.line.String() + " (time limit)"
		}
		if found {
			return r.line.String()
		}
	}
	return ""
}

var _ urlfilter.Filter = (*Filter)(nil)
