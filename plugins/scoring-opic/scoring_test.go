package scoringopic_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	opic "github.com/gonutch/crawler/plugins/scoring-opic"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
)

func filter(mode string) *opic.Filter {
	return opic.New(opic.Config{Mode: mode, Internal: 1, External: 1, Power: 0.5})
}

func TestDistribute(t *testing.T) {
	three := []scoring.Target{{URL: "a"}, {URL: "b"}, {URL: "c", Internal: true}}
	for _, c := range []struct {
		name string
		cfg  opic.Config
		in   scoring.DistributeInput
		want scoring.DistributeOutput
	}{
		{
			"equal shares, remainder to the first",
			opic.Config{Mode: "opic", Internal: 1, External: 1},
			scoring.DistributeInput{Fields: model.Fields{"opic_cash": 11}, Targets: three},
			scoring.DistributeOutput{
				Columns: []scoring.Column{{Field: "opic_cash", Values: []int64{4, 4, 3}}},
				Self:    model.Fields{"opic_cash": -11, "opic_history": 11},
			},
		},
		{
			"factors",
			opic.Config{Mode: "opic", Internal: 0.5, External: 2},
			scoring.DistributeInput{Fields: model.Fields{"opic_cash": 300}, Targets: three},
			scoring.DistributeOutput{
				Columns: []scoring.Column{{Field: "opic_cash", Values: []int64{200, 200, 50}}},
				Self:    model.Fields{"opic_cash": -300, "opic_history": 300},
			},
		},
		{
			"all links counted",
			opic.Config{Mode: "opic", Internal: 1, External: 1, CountFiltered: true},
			scoring.DistributeInput{Fields: model.Fields{"opic_cash": 300}, Targets: three, AllLinks: 30},
			scoring.DistributeOutput{
				Columns: []scoring.Column{{Field: "opic_cash", Values: []int64{10, 10, 10}}},
				Self:    model.Fields{"opic_cash": -300, "opic_history": 300},
			},
		},
		{
			"no outlinks",
			opic.Config{Mode: "opic", Internal: 1, External: 1},
			scoring.DistributeInput{Fields: model.Fields{"opic_cash": 7}},
			scoring.DistributeOutput{Self: model.Fields{"opic_cash": -7, "opic_history": 7}},
		},
		{
			"no cash",
			opic.Config{Mode: "opic", Internal: 1, External: 1},
			scoring.DistributeInput{Fields: model.Fields{"opic_history": 7}, Targets: three},
			scoring.DistributeOutput{},
		},
		{
			"nutch keeps the score",
			opic.Config{Mode: "nutch", Internal: 1, External: 1},
			scoring.DistributeInput{Fields: model.Fields{"opic_cash": 9}, Targets: three},
			scoring.DistributeOutput{Columns: []scoring.Column{{Field: "opic_cash", Values: []int64{3, 3, 3}}}},
		},
	} {
		out, err := opic.New(c.cfg).Distribute(t.Context(), []scoring.DistributeInput{c.in})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, out[0]); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

// TestCashIsConserved: two pages that link to each other are refetched a
// thousand times; cash in the system stays what was injected (nutch.md 12:
// Nutch's scores inflate).
func TestCashIsConserved(t *testing.T) {
	f := filter("opic")
	in, err := f.Injected(t.Context(), []scoring.InjectInput{{URL: "a", Score: model.Micro}, {URL: "b", Score: 500_001}})
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		for i := range in {
			out, err := f.Distribute(t.Context(), []scoring.DistributeInput{{Fields: in[i], Targets: []scoring.Target{{URL: "x"}}}})
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range out[0].Self {
				in[i][k] += v
			}
			for _, c := range out[0].Columns {
				in[1-i][c.Field] += c.Values[0]
			}
		}
	}
	if got, want := in[0]["opic_cash"]+in[1]["opic_cash"], int64(1_500_001); got != want {
		t.Errorf("cash in the system = %d, want %d", got, want)
	}
}

func TestScoreAndBoost(t *testing.T) {
	f := filter("opic")
	out, err := f.Score(t.Context(), []scoring.ScoreInput{
		{Fields: model.Fields{"opic_cash": 3, "opic_history": 4}, Sort: model.Micro},
		{Fields: model.Fields{"opic_cash": 10}, Sort: 2 * model.Micro},
		{Sort: model.Micro},
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]scoring.ScoreOutput{{Score: 7, Sort: 3}, {Score: 10, Sort: 20}, {}}, out); d != "" {
		t.Errorf("Score (-want +got):\n%s", d)
	}
	boost, err := f.Boost(t.Context(), []scoring.IndexInput{{Score: 4 * model.Micro, Boost: 3}, {Score: -5, Boost: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]float64{6, 0}, boost); d != "" {
		t.Errorf("Boost (-want +got):\n%s", d)
	}
}
