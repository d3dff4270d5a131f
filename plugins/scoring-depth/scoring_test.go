package scoringdepth_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	depth "github.com/gonutch/crawler/plugins/scoring-depth"

	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func filter(t testing.TB, c depth.Config) *depth.Filter {
	t.Helper()
	f, err := depth.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The cases follow nutch.md 2.6 (scoring-depth).
func TestInjected(t *testing.T) {
	f := filter(t, depth.Config{Max: 5})
	out, err := f.Injected(t.Context(), []scoring.InjectInput{{}, {Metadata: model.Metadata{"_maxdepth_": {"2"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]model.Fields{{"depth": 1, "depth_left": 4}, {"depth": 1, "depth_left": 1}}, out); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, bad := range []string{"", "0", "-1", "two", "99999999999"} {
		_, err := f.Injected(t.Context(), []scoring.InjectInput{{URL: "http://a/", Metadata: model.Metadata{"_maxdepth_": {bad}}}})
		if err == nil || !strings.Contains(err.Error(), "seed http://a/: _maxdepth_="+bad) {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}

func TestDistribute(t *testing.T) {
	two := []scoring.Target{{URL: "http://a/1"}, {URL: "http://b/2"}}
	columns := func(depth, left int64) scoring.DistributeOutput {
		return scoring.DistributeOutput{Columns: []scoring.Column{{Field: "depth", Values: []int64{depth, depth}}, {Field: "depth_left", Values: []int64{left, left}}}}
	}
	place := func(depth, left int64) scoring.DistributeOutput {
		return scoring.DistributeOutput{Columns: []scoring.Column{{Field: "depth", Values: []int64{depth}}, {Field: "depth_left", Values: []int64{left}}}}
	}
	drop := scoring.DistributeOutput{Drop: []bool{true, true}}
	standard := depth.Config{Max: 3, Unknown: "seed", OverridePattern: `/map\.html$`, MaxOverride: 9}
	nutch := depth.Config{Max: 3, Unknown: "drop"}
	for _, c := range []struct {
		name string
		cfg  depth.Config
		in   scoring.DistributeInput
		want scoring.DistributeOutput
	}{
		{"seed", standard, scoring.DistributeInput{Fields: model.Fields{"depth": 1, "depth_left": 2}, Targets: two}, columns(2, 1)},
		{"one step left", standard, scoring.DistributeInput{Fields: model.Fields{"depth": 2, "depth_left": 1}, Targets: two}, columns(3, 0)},
		{"at the limit", standard, scoring.DistributeInput{Fields: model.Fields{"depth": 3, "depth_left": 0}, Targets: two}, drop},
		{"beyond it", standard, scoring.DistributeInput{Fields: model.Fields{"depth": 9, "depth_left": -2}, Targets: two}, drop},
		{"a seed's own limit", standard, scoring.DistributeInput{Fields: model.Fields{"depth": 4, "depth_left": 3}, Targets: two}, columns(5, 2)},
		{"no depth", standard, scoring.DistributeInput{Targets: two}, columns(2, 1)},
		{"no depth, as Nutch", nutch, scoring.DistributeInput{Targets: two}, drop},
		{"depth only", standard, scoring.DistributeInput{Fields: model.Fields{"depth": 2}, Targets: two}, columns(3, 0)},
		{"overridden", standard, scoring.DistributeInput{URL: "http://a/map.html", Fields: model.Fields{"depth": 3, "depth_left": 0}, Targets: two}, columns(4, 5)},
		{"not overridden", standard, scoring.DistributeInput{URL: "http://a/map.html?x", Fields: model.Fields{"depth": 3, "depth_left": 0}, Targets: two}, drop},
		{"redirect", standard, scoring.DistributeInput{Fields: model.Fields{"depth": 2, "depth_left": 1}, Targets: two[:1], Redirect: true}, place(2, 1)},
		{"redirect at the limit", standard, scoring.DistributeInput{Fields: model.Fields{"depth": 3, "depth_left": 0}, Targets: two[:1], Redirect: true}, place(3, 0)},
		{"redirect without depth", nutch, scoring.DistributeInput{Targets: two[:1], Redirect: true}, scoring.DistributeOutput{}},
		{"redirect that is overridden", standard, scoring.DistributeInput{URL: "http://a/map.html", Fields: model.Fields{"depth": 2, "depth_left": 1}, Targets: two[:1], Redirect: true}, place(2, 1)},
		{"no links", standard, scoring.DistributeInput{Fields: model.Fields{"depth": 1, "depth_left": 2}}, scoring.DistributeOutput{}},
	} {
		out, err := filter(t, c.cfg).Distribute(t.Context(), []scoring.DistributeInput{c.in})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, out[0]); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestScore(t *testing.T) {
	out, err := filter(t, depth.Config{Max: 3}).Score(t.Context(), []scoring.ScoreInput{
		{Fields: model.Fields{"depth": 1, "depth_left": 2}, Score: 5, Sort: model.Micro},
		{Fields: model.Fields{"depth": 3, "depth_left": 0}, Score: 5, Sort: model.Micro},
		{Score: 5, Sort: model.Micro / 2},
		{Fields: model.Fields{"depth_left": math.MaxInt64}, Sort: math.MaxInt64},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []scoring.ScoreOutput{{Score: 5, Sort: 3 * model.Micro}, {Score: 5, Sort: model.Micro}, {Score: 5, Sort: model.Micro / 2}, {Sort: math.MaxInt64}}
	if d := cmp.Diff(want, out); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestDepthOfAWeb crawls a ring of pages from a seed with limit 3: the reducers of
// the manifest merge, and the third page's links are dropped.
func TestDepthOfAWeb(t *testing.T) {
	links := map[string][]string{"a": {"b", "c"}, "b": {"c", "d"}, "c": {"d"}, "d": {"e"}, "e": {"a"}}
	f := filter(t, depth.Config{Max: 3, Unknown: "drop"})
	seeds, err := f.Injected(t.Context(), []scoring.InjectInput{{URL: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	db := map[string]model.Fields{"a": seeds[0]}
	for range 6 {
		for url, fields := range db {
			in := scoring.DistributeInput{URL: url, Fields: fields}
			for _, l := range links[url] {
				in.Targets = append(in.Targets, scoring.Target{URL: l})
			}
			out, err := f.Distribute(t.Context(), []scoring.DistributeInput{in})
			if err != nil {
				t.Fatal(err)
			}
			for k, l := range links[url] {
				if out[0].Drop != nil {
					continue
				}
				d, left := out[0].Columns[0].Values[k], out[0].Columns[1].Values[k]
				if old, ok := db[l]; ok {
					d, left = min(d, old["depth"]), max(left, old["depth_left"])
				}
				db[l] = model.Fields{"depth": d, "depth_left": left}
			}
		}
	}
	want := map[string]model.Fields{
		"a": {"depth": 1, "depth_left": 2}, "b": {"depth": 2, "depth_left": 1}, "c": {"depth": 2, "depth_left": 1}, "d": {"depth": 3, "depth_left": 0},
	}
	if d := cmp.Diff(want, db); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestBadPattern(t *testing.T) {
	if _, err := depth.New(depth.Config{OverridePattern: "("}); err == nil || !strings.Contains(err.Error(), "override_pattern") {
		t.Errorf("error %v", err)
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, depth.Plugin(), plugintest.Options{Settings: `{"max": 2, "override_pattern": "example"}`})
}
