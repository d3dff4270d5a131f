package scoringlink_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	link "github.com/gonutch/crawler/plugins/scoring-link"

	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

// The cases follow nutch.md 2.6 (scoring-link).
func TestScore(t *testing.T) {
	out, err := (&link.Filter{}).Score(t.Context(), []scoring.ScoreInput{
		{Score: 3 * model.Micro, Sort: model.Micro},
		{Score: 3 * model.Micro, Sort: model.Micro / 2},
		{Score: 0, Sort: model.Micro},
		{Score: -model.Micro, Sort: 2 * model.Micro},
		{Score: math.MaxInt64, Sort: 2 * model.Micro},
		{Score: 7, Sort: model.Micro, Fields: model.Fields{"opic_cash": 9}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []scoring.ScoreOutput{
		{Score: 3 * model.Micro, Sort: 3 * model.Micro},
		{Score: 3 * model.Micro, Sort: 1_500_000},
		{},
		{Score: -model.Micro, Sort: -2 * model.Micro},
		{Score: math.MaxInt64, Sort: math.MaxInt64},
		{Score: 7, Sort: 7},
	}
	if d := cmp.Diff(want, out); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestBoostIgnoresFiltersBefore(t *testing.T) {
	f := &link.Filter{Config: link.Config{NormalizeScore: 0.5}}
	out, err := f.Boost(t.Context(), []scoring.IndexInput{{Score: 4 * model.Micro, Boost: 7}, {Score: 0, Boost: 1}, {Score: model.Micro / 4}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]float64{2, 0, 0.125}, out); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestHandsNothingOn(t *testing.T) {
	out, err := (&link.Filter{}).Distribute(t.Context(), []scoring.DistributeInput{{Targets: []scoring.Target{{URL: "http://a/"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]scoring.DistributeOutput{{}}, out); d != "" {
		t.Error(d)
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, link.Plugin(), plugintest.Options{Settings: `{"normalize_score": 2.5}`})
}
