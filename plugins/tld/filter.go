// Package tld adds the public suffix of a document's host.
package tld

import (
	"context"
	_ "embed"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Private bool `json:"private_suffixes"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	return &sdk.Extensions{IndexingFilter: &Filter{c}}, nil
}

// Filter implements Nutch's TLDIndexingFilter, by the public suffix list
// (publicsuffix.org).
type Filter struct{ config }

// FilterDocument implements indexingfilter.Filter. Addresses and names with an
// unlisted suffix, such as localhost, have no field.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	u, err := url.Parse(in.URL)
	if err != nil {
		return nil, nil //nolint:nilerr // an URL that is none has no suffix
	}
	suffix := f.suffix(u.Hostname())
	if suffix == "" {
		return nil, nil
	}
	return &indexingfilter.Patch{Set: map[string][]string{"tld": {suffix}}}, nil
}

func (f *Filter) suffix(host string) string {
	host = strings.TrimSuffix(host, ".")
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	host, err := idna.Lookup.ToASCII(strings.ToLower(host))
	if err != nil || host == "" {
		return ""
	}
	suffix, icann := publicsuffix.PublicSuffix(host)
	if !icann && strings.Contains(suffix, ".") && f.Private {
		return suffix
	}
	for !icann {
		_, parent, ok := strings.Cut(suffix, ".")
		if !ok {
			return "" // not in the list
		}
		suffix, icann = publicsuffix.PublicSuffix(parent)
	}
	return suffix
}

var _ indexingfilter.Filter = (*Filter)(nil)
