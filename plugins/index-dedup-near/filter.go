// Package indexdedupnear marks documents so that an index can find, group or
// collapse near duplicates. Each mark follows from the document alone; what is
// done with equal marks is the index's matter.
package indexdedupnear

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	SourceField   string `json:"source_field"`
	SimhashField  string `json:"simhash_field"`
	BandsField    string `json:"bands_field"`
	ClusterField  string `json:"cluster_field"`
	ClusterHashes int    `json:"cluster_hashes"`
	ShingleWords  int    `json:"shingle_words"`
	MinWords      int    `json:"min_words"`
	MaxWords      int    `json:"max_words"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	return &sdk.Extensions{IndexingFilter: &Filter{c}}, nil
}

// Filter is safe for concurrent use.
type Filter struct{ config }

// FilterDocument implements indexingfilter.Filter.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	text := in.Parse.Text
	if v := in.Doc.Fields[f.SourceField]; f.SourceField != "" && len(v) > 0 {
		text = v[0]
	}
	ws := words(text, f.MaxWords)
	if len(ws) < f.MinWords {
		return nil, nil
	}
	hashes := shingles(ws, f.ShingleWords)
	set := map[string][]string{}
	if f.SimhashField != "" || f.BandsField != "" {
		s := simhash(hashes)
		if f.SimhashField != "" {
			set[f.SimhashField] = []string{fmt.Sprintf("%016x", s)}
		}
		if f.BandsField != "" {
			for i := range 4 {
				set[f.BandsField] = append(set[f.BandsField], fmt.Sprintf("%d-%04x", i, uint16(s>>(48-16*i))))
			}
		}
	}
	if f.ClusterField != "" {
		set[f.ClusterField] = []string{fmt.Sprintf("%016x", cluster(hashes, f.ClusterHashes))}
	}
	if len(set) == 0 {
		return nil, nil
	}
	return &indexingfilter.Patch{Set: set}, nil
}

var _ indexingfilter.Filter = (*Filter)(nil)
