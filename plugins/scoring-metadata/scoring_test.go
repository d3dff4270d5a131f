package scoringmetadata_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	metadata "github.com/gonutch/crawler/plugins/scoring-metadata"

	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

// The cases follow nutch.md 2.6 (scoring-metadata).
func TestDistribute(t *testing.T) {
	two := []scoring.Target{{URL: "http://a/"}, {URL: "http://b/"}}
	type md = model.Metadata
	all := metadata.Config{DB: []string{"k"}, Content: []string{"k"}, Parse: []string{"k"}}
	for _, c := range []struct {
		name string
		cfg  metadata.Config
		in   scoring.DistributeInput
		want []md
	}{
		{"nothing chosen", metadata.Config{}, scoring.DistributeInput{Metadata: md{"k": {"d"}}, ParseMeta: md{"k": {"p"}}, Targets: two}, nil},
		{"from the parse", metadata.Config{Parse: []string{"k"}}, scoring.DistributeInput{ParseMeta: md{"k": {"p"}, "l": {"q"}}, Targets: two}, []md{{"k": {"p"}}, {"k": {"p"}}}},
		{"all values", metadata.Config{Parse: []string{"k"}}, scoring.DistributeInput{ParseMeta: md{"k": {"1", "2"}}, Targets: two}, []md{{"k": {"1", "2"}}, {"k": {"1", "2"}}}},
		{"from the CrawlDB", all, scoring.DistributeInput{Metadata: md{"k": {"d"}}, Targets: two}, []md{{"k": {"d"}}, {"k": {"d"}}}},
		{"the parse wins", all, scoring.DistributeInput{Metadata: md{"k": {"d"}}, ParseMeta: md{"k": {"p"}}, Targets: two}, []md{{"k": {"p"}}, {"k": {"p"}}}},
		{"stops at the content", metadata.Config{DB: []string{"k"}, Parse: []string{"k"}}, scoring.DistributeInput{Metadata: md{"k": {"d"}}, Targets: two}, nil},
		{"stops at the parse", metadata.Config{DB: []string{"k"}, Content: []string{"k"}}, scoring.DistributeInput{Metadata: md{"k": {"d"}}, Targets: two}, nil},
		{"keys are case-sensitive", metadata.Config{Parse: []string{"K"}}, scoring.DistributeInput{ParseMeta: md{"k": {"p"}}, Targets: two}, nil},
		{"no value", all, scoring.DistributeInput{Metadata: md{"k": {}}, Targets: two}, nil},
		{"no links", all, scoring.DistributeInput{Metadata: md{"k": {"d"}}}, nil},
	} {
		out, err := metadata.New(c.cfg).Distribute(t.Context(), []scoring.DistributeInput{c.in})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(scoring.DistributeOutput{Metadata: c.want}, out[0]); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

// TestTargetsAreIndependent: the core adds to each target's metadata by itself.
func TestTargetsAreIndependent(t *testing.T) {
	in := scoring.DistributeInput{ParseMeta: model.Metadata{"k": {"p"}}, Targets: make([]scoring.Target, 2)}
	out, err := metadata.New(metadata.Config{Parse: []string{"k"}}).Distribute(t.Context(), []scoring.DistributeInput{in})
	if err != nil {
		t.Fatal(err)
	}
	out[0].Metadata[0].Set("other", "x")
	if _, ok := out[0].Metadata[1]["other"]; ok || len(in.ParseMeta) != 1 {
		t.Errorf("a change of one target shows elsewhere: %v, %v", out[0].Metadata[1], in.ParseMeta)
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, metadata.Plugin(), plugintest.Options{Settings: `{"db_md": ["seed"], "content_md": ["seed", "x"], "parse_md": ["seed", "k"]}`})
}
