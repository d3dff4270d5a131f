// Package indexanchor adds the texts of the links that point at a page.
package indexanchor

import (
	"context"
	_ "embed"
	"net/url"
	"strings"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// Config are the settings; see plugin.hcl.
type Config struct {
	Deduplicate bool `json:"deduplicate"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c Config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	return &sdk.Extensions{IndexingFilter: &Filter{c}}, nil
}

// Filter implements Nutch's AnchorIndexingFilter: each host's vote for an
// anchor text counts once.
type Filter struct{ Config }

// FilterDocument implements indexingfilter.Filter.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	type vote struct{ host, anchor string }
	seen := make(map[vote]bool, len(in.Inlinks))
	var anchors []string
	for _, l := range in.Inlinks {
		if l.Anchor == "" {
			continue
		}
		v := vote{anchor: l.Anchor}
		if f.Deduplicate {
			v.anchor = strings.ToLower(l.Anchor)
		} else if u, err := url.Parse(l.From); err == nil {
			v.host = strings.ToLower(u.Hostname())
		}
		if !seen[v] {
			seen[v] = true
			anchors = append(anchors, l.Anchor)
		}
	}
	if anchors == nil {
		return nil, nil
	}
	return &indexingfilter.Patch{Set: map[string][]string{"anchor": anchors}}, nil
}

var _ indexingfilter.Filter = (*Filter)(nil)
