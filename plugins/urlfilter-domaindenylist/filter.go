// Package urlfilterdomaindenylist rejects URLs of listed hosts, domains and
// public suffixes. What belongs to the list is libdomain's.
package urlfilterdomaindenylist

import (
	"context"
	_ "embed"

	"github.com/gonutch/crawler/plugins/internal/libdomain"
	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/plugins/internal/liburl"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

func build(env sdk.Env) (*sdk.Extensions, error) {
	f, lines, err := librule.Build(env.Settings, "", New)
	if err != nil {
		return nil, err
	}
	if f.set.Len() == 0 {
		env.Logger.Warn("no suffixes, domains or hosts are listed: every URL is accepted", "rules", lines.Name)
	}
	return &sdk.Extensions{URLFilter: f}, nil
}

// Filter rejects URLs whose host, domain or public suffix is listed (Nutch's
// DomainDenylistURLFilter). It is safe for concurrent use.
type Filter struct{ set *libdomain.Set }

// New reads one name per line. All faulty lines are reported together.
func New(lines *librule.Lines) (*Filter, error) {
	set, err := libdomain.Parse(lines)
	return &Filter{set}, err
}

// FilterURL implements urlfilter.Filter.
func (f *Filter) FilterURL(_ context.Context, url string) (urlfilter.Verdict, error) {
	p := liburl.Split(url)
	if !p.HasScheme {
		return urlfilter.Verdict{Reason: "not a URL: no scheme"}, nil
	}
	if p.Host == "" {
		return urlfilter.Verdict{Accept: true}, nil
	}
	if where, ok := f.set.Find(p.Host); ok {
		return urlfilter.Verdict{Reason: where}, nil
	}
	return urlfilter.Verdict{Accept: true}, nil
}

var _ urlfilter.Filter = (*Filter)(nil)
