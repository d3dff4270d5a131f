// Package urlnormalizerpass leaves every URL as it is. As the only normalizer
// of a scope it switches normalization off there.
package urlnormalizerpass

import (
	"context"
	_ "embed"

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

// Normalizer implements Nutch's PassURLNormalizer.
type Normalizer struct{}

// NormalizeURL implements urlnormalizer.Normalizer.
func (Normalizer) NormalizeURL(_ context.Context, _ urlnormalizer.Scope, url string) (urlnormalizer.Result, error) {
	return urlnormalizer.Result{URL: url}, nil
}

var _ urlnormalizer.Normalizer = Normalizer{}
