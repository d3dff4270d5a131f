// Package scoringlink uses scores that were computed elsewhere, such as by
// ranking the link graph: what has the greater score is fetched first and weighs
// more in the index. It changes no score and hands none on.
package scoringlink

import (
	"context"
	_ "embed"

	"github.com/gonutch/crawler/plugins/internal/libscore"
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
	NormalizeScore float64 `json:"normalize_score"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c Config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	return &sdk.Extensions{Scoring: &Filter{Config: c}}, nil
}

// Filter implements Nutch's LinkAnalysisScoringFilter. It keeps no state and is
// safe for concurrent use.
type Filter struct {
	scoring.Pass
	Config
}

// Score multiplies the place in the fetch list by the score.
func (f *Filter) Score(_ context.Context, in []scoring.ScoreInput) ([]scoring.ScoreOutput, error) {
	out := make([]scoring.ScoreOutput, len(in))
	for i := range in {
		out[i] = scoring.ScoreOutput{Score: in[i].Score, Sort: libscore.Mul(in[i].Score, in[i].Sort)}
	}
	return out, nil
}

// Boost weighs documents by their score alone.
func (f *Filter) Boost(_ context.Context, in []scoring.IndexInput) ([]float64, error) {
	out := make([]float64, len(in))
	for i := range in {
		out[i] = f.NormalizeScore * float64(in[i].Score) / model.Micro
	}
	return out, nil
}

var _ scoring.Filter = (*Filter)(nil)
