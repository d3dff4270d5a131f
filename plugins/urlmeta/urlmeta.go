// Package urlmeta lets pages inherit metadata of the seeds they were found from,
// and puts it into their documents. It owns which keys; it must not know what
// they mean.
package urlmeta

import (
	"context"
	_ "embed"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

func build(env sdk.Env) (*sdk.Extensions, error) {
	var f Filter
	if err := env.Settings.Decode(&f); err != nil {
		return nil, err
	}
	if len(f.Tags) == 0 {
		env.Logger.Warn("tags is empty: no metadata is inherited or indexed")
	}
	return &sdk.Extensions{Scoring: &f, IndexingFilter: &f}, nil
}

// Filter implements Nutch's URLMetaScoringFilter and URLMetaIndexingFilter. It
// keeps no state and is safe for concurrent use.
type Filter struct {
	scoring.Pass `json:"-"`
	Tags         []string `json:"tags"`
}

// pick returns the chosen keys of m, or nil.
func (f *Filter) pick(m model.Metadata) model.Metadata {
	var out model.Metadata
	for _, k := range f.Tags {
		if v := m[k]; len(v) > 0 {
			if out == nil {
				out = model.Metadata{}
			}
			out[k] = v
		}
	}
	return out
}

// Distribute hands the page's tags on to its outlinks.
func (f *Filter) Distribute(_ context.Context, in []scoring.DistributeInput) ([]scoring.DistributeOutput, error) {
	out := make([]scoring.DistributeOutput, len(in))
	for i := range in {
		m := f.pick(in[i].Metadata)
		if m == nil || len(in[i].Targets) == 0 {
			continue
		}
		out[i].Metadata = make([]model.Metadata, len(in[i].Targets))
		for j := range out[i].Metadata {
			out[i].Metadata[j] = m.Clone() // the core changes each by itself
		}
	}
	return out, nil
}

// FilterDocument adds the page's tags as fields.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	if m := f.pick(in.Datum.Metadata); m != nil {
		return &indexingfilter.Patch{Add: m}, nil
	}
	return nil, nil
}

var (
	_ scoring.Filter        = (*Filter)(nil)
	_ indexingfilter.Filter = (*Filter)(nil)
)
