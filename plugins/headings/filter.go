// Package headings keeps the texts of headings as parse metadata.
package headings

import (
	"context"
	_ "embed"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Headings    []string `json:"headings"`
	Multivalued bool     `json:"multivalued"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	return &sdk.Extensions{ParseFilter: &Filter{c}}, nil
}

// Filter implements Nutch's HeadingsParseFilter.
type Filter struct{ config }

// FilterParse implements parsefilter.Filter.
func (f *Filter) FilterParse(_ context.Context, in *parsefilter.Input) (*parsefilter.Patch, error) {
	set := model.Metadata{}
	for i, tag := range f.Headings {
		if i >= len(in.Parse.Facts) {
			break // a parser without a tree
		}
		var out []string
		for _, v := range in.Parse.Facts[i].Values {
			if v != "" && (f.Multivalued || out == nil) {
				out = append(out, v)
			}
		}
		if out != nil {
			set[tag] = out
		}
	}
	if len(set) == 0 {
		return nil, nil
	}
	return &parsefilter.Patch{SetMeta: set}, nil
}

var _ parsefilter.Filter = (*Filter)(nil)
