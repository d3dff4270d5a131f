// Package parsemetatags keeps meta tags as parse metadata. Which tags, the core
// asks the parser by the setting; this package owns their keys.
package parsemetatags

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Names []string `json:"names"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	for _, n := range c.Names {
		if strings.TrimSpace(n) != n || n == "" {
			return nil, fault.Errorf(fault.Invalid, "names: %q is no name of a meta tag; write it without spaces around it, or \"*\" for all", n)
		}
	}
	return &sdk.Extensions{ParseFilter: &Filter{c}}, nil
}

// Filter implements Nutch's MetaTagsParser.
type Filter struct{ config }

// FilterParse implements parsefilter.Filter.
func (f *Filter) FilterParse(_ context.Context, in *parsefilter.Input) (*parsefilter.Patch, error) {
	facts := in.Parse.Facts
	if i := slices.Index(f.Names, "*"); i >= 0 && i < len(facts) {
		facts = facts[i : i+1] // the others are in it
	}
	set := model.Metadata{}
	done := map[string]bool{}
	for _, r := range facts {
		add := model.Metadata{}
		for i, v := range r.Values {
			if v = strings.TrimSpace(v); v != "" && i < len(r.Names) {
				add.Add("metatag."+strings.ToLower(r.Names[i]), v)
			}
		}
		for k, v := range add {
			if !done[k] { // a name that is listed twice counts once
				done[k] = true
				set[k] = v
			}
		}
	}
	if len(set) == 0 {
		return nil, nil
	}
	return &parsefilter.Patch{SetMeta: set}, nil
}

var _ parsefilter.Filter = (*Filter)(nil)
