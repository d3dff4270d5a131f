package urlmeta_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/urlmeta"

	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

// The cases follow nutch.md 2.6 (urlmeta).
func TestUrlmeta(t *testing.T) {
	two := []scoring.Target{{URL: "http://a/"}, {URL: "http://b/"}}
	type md = model.Metadata
	for _, c := range []struct {
		name string
		tags []string
		have md
		want md // of each target, and of the document
	}{
		{"chosen keys", []string{"topic", "team"}, md{"topic": {"law"}, "team": {"x", "y"}, "other": {"z"}}, md{"topic": {"law"}, "team": {"x", "y"}}},
		{"some are missing", []string{"topic", "team"}, md{"topic": {"law"}}, md{"topic": {"law"}}},
		{"keys are case-sensitive", []string{"Topic"}, md{"topic": {"law"}}, nil},
		{"no values", []string{"topic"}, md{"topic": nil}, nil},
		{"no tags", nil, md{"topic": {"law"}}, nil},
		{"no metadata", []string{"topic"}, nil, nil},
		{"not UTF-8", []string{"topic"}, md{"topic": {"\xff"}}, md{"topic": {"\xff"}}},
	} {
		f := &urlmeta.Filter{Tags: c.tags}
		out, err := f.Distribute(t.Context(), []scoring.DistributeInput{{Metadata: c.have, Targets: two}, {Metadata: c.have}})
		if err != nil {
			t.Fatal(err)
		}
		want := []scoring.DistributeOutput{{}, {}}
		var patch *indexingfilter.Patch
		if c.want != nil {
			want[0].Metadata = []md{c.want, c.want}
			patch = &indexingfilter.Patch{Add: c.want}
		}
		if d := cmp.Diff(want, out); d != "" {
			t.Errorf("%s: Distribute (-want +got):\n%s", c.name, d)
		}
		got, err := f.FilterDocument(t.Context(), &indexingfilter.Input{Datum: model.CrawlDatum{Metadata: c.have}})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(patch, got); d != "" {
			t.Errorf("%s: FilterDocument (-want +got):\n%s", c.name, d)
		}
		if c.want != nil {
			out[0].Metadata[0].Set("more", "x")
			if _, ok := out[0].Metadata[1]["more"]; ok {
				t.Errorf("%s: a change of one target shows at another", c.name)
			}
		}
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, urlmeta.Plugin(), plugintest.Options{Settings: `{"tags": ["seed", "k"]}`})
}
