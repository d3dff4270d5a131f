// Package scoringdepth bounds how many links a crawl follows from its seeds, and
// fetches pages near to them first. It owns two fields, the depth and the steps
// left, and when links are dropped.
package scoringdepth

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"strconv"

	"github.com/gonutch/crawler/plugins/internal/libscore"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

const (
	fieldDepth = "depth"
	fieldLeft  = "depth_left"
	// maxKey is the metadata of a seed with its own greatest depth.
	maxKey = "_maxdepth_"
)

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// Config are the settings; see plugin.hcl.
type Config struct {
	Max             int64  `json:"max"`
	OverridePattern string `json:"override_pattern"`
	MaxOverride     int64  `json:"max_override"`
	Unknown         string `json:"unknown"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c Config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	f, err := New(c)
	if err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	return &sdk.Extensions{Scoring: f}, nil
}

// Filter implements Nutch's DepthScoringFilter. Where Nutch keeps a page's
// greatest depth beside its depth, it keeps the steps left, which is their
// difference: of several ways to a page the one that leads farthest counts,
// whatever the order in which they are found. It keeps no state and is safe for
// concurrent use.
type Filter struct {
	scoring.Pass
	cfg      Config
	override *regexp.Regexp // nil: none
}

// New returns the scoring filter.
func New(c Config) (*Filter, error) {
	f := &Filter{cfg: c}
	if c.OverridePattern == "" {
		return f, nil
	}
	re, err := regexp.Compile(c.OverridePattern)
	if err != nil {
		return nil, fmt.Errorf("override_pattern: %w", err)
	}
	f.override = re
	return f, nil
}

// Injected gives a seed depth 1. Metadata _maxdepth_ that is no whole number
// from 1 on is an error.
func (f *Filter) Injected(_ context.Context, in []scoring.InjectInput) ([]model.Fields, error) {
	out := make([]model.Fields, len(in))
	for i := range in {
		limit := f.cfg.Max
		if v := in[i].Metadata[maxKey]; len(v) > 0 {
			n, err := strconv.ParseInt(v[0], 10, 32)
			if err != nil || n < 1 {
				return nil, fault.Errorf(fault.Invalid, "seed %s: %s=%s: want a whole number from 1 on", in[i].URL, maxKey, v[0])
			}
			limit = n
		}
		out[i] = model.Fields{fieldDepth: 1, fieldLeft: limit - 1}
	}
	return out, nil
}

// Distribute gives targets the next depth, or drops them all when no step is
// left. The target of a redirect takes the page's place, as in Nutch, which copies
// the page's metadata to it.
func (f *Filter) Distribute(_ context.Context, in []scoring.DistributeInput) ([]scoring.DistributeOutput, error) {
	out := make([]scoring.DistributeOutput, len(in))
	for i := range in {
		n := len(in[i].Targets)
		if n == 0 {
			continue
		}
		if in[i].Redirect {
			out[i].Columns = same(in[i].Fields, n)
			continue
		}
		depth, left, ok := f.place(&in[i])
		if !ok || left <= 0 {
			out[i].Drop = repeat(n, true)
			continue
		}
		out[i].Columns = []scoring.Column{{Field: fieldDepth, Values: repeat(n, depth+1)}, {Field: fieldLeft, Values: repeat(n, left-1)}}
	}
	return out, nil
}

// same gives n targets the page's own place; none when the page has none.
func same(page model.Fields, n int) []scoring.Column {
	var out []scoring.Column
	for _, name := range []string{fieldDepth, fieldLeft} {
		if v, ok := page[name]; ok {
			out = append(out, scoring.Column{Field: name, Values: repeat(n, v)})
		}
	}
	return out
}

// place returns the page's depth and the steps left; false when the links of a
// page without depth are to be dropped.
func (f *Filter) place(in *scoring.DistributeInput) (depth, left int64, ok bool) {
	depth, known := in.Fields[fieldDepth]
	if !known {
		if f.cfg.Unknown == "drop" {
			return 0, 0, false
		}
		depth = 1
	}
	left, known = in.Fields[fieldLeft]
	if !known {
		left = f.cfg.Max - depth
	}
	if f.override != nil && f.override.MatchString(in.URL) {
		left = f.cfg.MaxOverride - depth
	}
	return depth, left, true
}

func repeat[T any](n int, v T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// Score multiplies the place in the fetch list by 1 + the steps left.
func (f *Filter) Score(_ context.Context, in []scoring.ScoreInput) ([]scoring.ScoreOutput, error) {
	out := make([]scoring.ScoreOutput, len(in))
	for i := range in {
		out[i] = scoring.ScoreOutput{Score: in[i].Score, Sort: in[i].Sort}
		if left := in[i].Fields[fieldLeft]; left > 0 {
			out[i].Sort = libscore.Mul(in[i].Sort, (min(left, 1e12)+1)*model.Micro)
		}
	}
	return out, nil
}

var _ scoring.Filter = (*Filter)(nil)
