// Package urlnormalizerquerystring sorts the parameters of queries, so that URLs
// which name the same parameters in another order become one.
package urlnormalizerquerystring

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/liburl"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin {
	return sdk.Plugin{Manifest: manifest, New: func(sdk.Env) (*sdk.Extensions, error) {
		return &sdk.Extensions{URLNormalizer: Normalizer{}}, nil
	}}
}

// Normalizer sorts query parameters (Nutch's QuerystringURLNormalizer). It is
// idempotent and safe for concurrent use.
type Normalizer struct{}

// NormalizeURL implements urlnormalizer.Normalizer. The scope makes no
// difference. Parameters are compared as texts, byte by byte; empty ones, as in
// "a&&b", are left out.
func (Normalizer) NormalizeURL(_ context.Context, _ urlnormalizer.Scope, url string) (urlnormalizer.Result, error) {
	if url == "" {
		return urlnormalizer.Result{Reason: "empty URL"}, nil
	}
	p := liburl.Split(url)
	if p.Slashes == "" || strings.IndexByte(p.Query, '&') < 0 {
		return urlnormalizer.Result{URL: url}, nil
	}
	params := strings.Split(p.Query[1:], "&")
	params = slices.DeleteFunc(params, func(s string) bool { return s == "" })
	slices.Sort(params)
	p.Query = "?" + strings.Join(params, "&")
	return urlnormalizer.Result{URL: p.String()}, nil
}

var _ urlnormalizer.Normalizer = Normalizer{}
