// Package scoringmetadata hands chosen metadata of pages on to the pages that
// they link to. It owns which keys pass; it must not know what they mean.
package scoringmetadata

import (
	"context"
	_ "embed"
	"slices"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// Config are the settings; see plugin.hcl.
type Config struct {
	DB      []string `json:"db_md"`
	Content []string `json:"content_md"`
	Parse   []string `json:"parse_md"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c Config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	for _, p := range c.idle() {
		env.Logger.Warn(p.why, "setting", p.setting, "key", p.key)
	}
	return &sdk.Extensions{Scoring: New(c)}, nil
}

type problem struct{ setting, key, why string }

// idle returns keys that nothing can come of.
func (c *Config) idle() []problem {
	var out []problem
	for _, k := range c.DB {
		if !slices.Contains(c.Content, k) {
			out = append(out, problem{"db_md", k, "key is not in content_md and goes no farther than the content"})
		}
	}
	for _, k := range c.Content {
		switch {
		case !slices.Contains(c.DB, k):
			out = append(out, problem{"content_md", k, "key is not in db_md, and metadata of the content itself is not sent to scoring filters"})
		case !slices.Contains(c.Parse, k):
			out = append(out, problem{"content_md", k, "key is not in parse_md and goes no farther than the parse"})
		}
	}
	return out
}

// Filter implements Nutch's MetadataScoringFilter. It keeps no state and is safe
// for concurrent use.
type Filter struct {
	scoring.Pass
	parse  []string        // keys for outlinks
	fromDB map[string]bool // those that come from the CrawlDB when the parse has none
}

// New returns the scoring filter.
func New(c Config) *Filter {
	f := &Filter{parse: c.Parse, fromDB: map[string]bool{}}
	for _, k := range c.Parse {
		f.fromDB[k] = slices.Contains(c.DB, k) && slices.Contains(c.Content, k)
	}
	return f
}

// Distribute hands metadata on to outlinks. All values of a key pass.
func (f *Filter) Distribute(_ context.Context, in []scoring.DistributeInput) ([]scoring.DistributeOutput, error) {
	out := make([]scoring.DistributeOutput, len(in))
	for i := range in {
		if m := f.pick(&in[i]); len(m) > 0 && len(in[i].Targets) > 0 {
			out[i].Metadata = make([]model.Metadata, len(in[i].Targets))
			for j := range out[i].Metadata {
				out[i].Metadata[j] = m.Clone() // the core changes each by itself
			}
		}
	}
	return out, nil
}

// pick returns what passes. A value from the CrawlDB comes through content and
// parse, so it stands where a parser set none.
func (f *Filter) pick(in *scoring.DistributeInput) model.Metadata {
	m := model.Metadata{}
	for _, k := range f.parse {
		if v := in.ParseMeta[k]; len(v) > 0 {
			m[k] = v
		} else if v := in.Metadata[k]; f.fromDB[k] && len(v) > 0 {
			m[k] = v
		}
	}
	return m
}

var _ scoring.Filter = (*Filter)(nil)
