// Package scoringopic scores pages by On-line Page Importance Computation
// (Abiteboul, Preda, Cobena: Adaptive on-line page importance computation,
// WWW 2003). Every page holds cash, which it gets from links that point at it,
// and a history of the cash it has handed on. A fetch hands all cash on to the
// page's outlinks in equal shares. The total of cash changes by injection
// only, so scores don't inflate with refetches. Importance is history + cash.
//
// It owns the two fields and their arithmetic; when fetches happen and how
// effects are merged is the core's business.
package scoringopic

import (
	"context"
	_ "embed"
	"math"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

const (
	cash    = "opic_cash"
	history = "opic_history"
)

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// Config are the settings; see plugin.hcl and the sections db and indexer.
type Config struct {
	Mode          string
	Internal      float64 // factor for links within a host
	External      float64 // factor for links between hosts
	CountFiltered bool    // share among all links found, not only the accepted ones
	Power         float64 // index boost = score ^ Power
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var own struct {
		Mode string `json:"mode"`
	}
	var db struct {
		Internal      float64 `json:"score_link_internal"`
		External      float64 `json:"score_link_external"`
		CountFiltered bool    `json:"score_count_filtered"`
	}
	var indexer struct {
		Power float64 `json:"score_power"`
	}
	if err := env.Settings.Decode(&own); err != nil {
		return nil, err
	}
	if err := env.Settings.Section("db", &db); err != nil {
		return nil, err
	}
	if err := env.Settings.Section("indexer", &indexer); err != nil {
		return nil, err
	}
	if own.Mode != "opic" && own.Mode != "nutch" {
		return nil, fault.Errorf(fault.Invalid, "mode = %q: want \"opic\" or \"nutch\"", own.Mode)
	}
	return &sdk.Extensions{Scoring: New(Config{own.Mode, db.Internal, db.External, db.CountFiltered, indexer.Power})}, nil
}

// New returns the scoring filter.
func New(c Config) *Filter { return &Filter{cfg: c} }

// Filter implements OPIC. It keeps no state and is safe for concurrent use.
type Filter struct {
	scoring.Pass
	cfg Config
}

// Injected gives a seed its score as cash.
func (f *Filter) Injected(_ context.Context, in []scoring.InjectInput) ([]model.Fields, error) {
	out := make([]model.Fields, len(in))
	for i := range in {
		out[i] = model.Fields{cash: in[i].Score}
	}
	return out, nil
}

// Distribute shares the cash the page had when it was generated among its
// outlinks. What whole micro-units can't share goes to the first targets, so
// that nothing is lost.
func (f *Filter) Distribute(_ context.Context, in []scoring.DistributeInput) ([]scoring.DistributeOutput, error) {
	out := make([]scoring.DistributeOutput, len(in))
	for i := range in {
		have := in[i].Fields[cash]
		if have == 0 {
			continue
		}
		if f.cfg.Mode == "opic" {
			out[i].Self = model.Fields{cash: -have, history: have}
		}
		if len(in[i].Targets) > 0 {
			out[i].Columns = []scoring.Column{{Field: cash, Values: f.shares(have, &in[i])}}
		}
	}
	return out, nil
}

func (f *Filter) shares(have int64, in *scoring.DistributeInput) []int64 {
	n := int64(len(in.Targets))
	if f.cfg.CountFiltered && int64(in.AllLinks) > n {
		n = int64(in.AllLinks)
	}
	share, rest := have/n, have%n
	values := make([]int64, len(in.Targets))
	for i := range values {
		v := share
		if int64(i) < rest {
			v++
		}
		factor := f.cfg.External
		if in.Targets[i].Internal {
			factor = f.cfg.Internal
		}
		if factor != 1 {
			v = int64(math.Round(float64(v) * factor))
		}
		values[i] = v
	}
	return values
}

// Score makes importance the score, and the cash that waits to be handed on
// the place in the fetch list: the paper's greedy order.
func (f *Filter) Score(_ context.Context, in []scoring.ScoreInput) ([]scoring.ScoreOutput, error) {
	out := make([]scoring.ScoreOutput, len(in))
	for i := range in {
		c := in[i].Fields[cash]
		out[i].Score = c + in[i].Fields[history]
		out[i].Sort = c
		if in[i].Sort != model.Micro {
			out[i].Sort = int64(float64(c) * float64(in[i].Sort) / model.Micro)
		}
	}
	return out, nil
}

// Boost weighs documents by score ^ power (Nutch's OPICScoringFilter).
func (f *Filter) Boost(_ context.Context, in []scoring.IndexInput) ([]float64, error) {
	out := make([]float64, len(in))
	for i := range in {
		out[i] = in[i].Boost * math.Pow(math.Max(0, float64(in[i].Score))/model.Micro, f.cfg.Power)
	}
	return out, nil
}

var _ scoring.Filter = (*Filter)(nil)
