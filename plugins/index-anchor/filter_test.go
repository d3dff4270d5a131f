package indexanchor_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	anchor "github.com/gonutch/crawler/plugins/index-anchor"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/model"
)

func TestFilterDocument(t *testing.T) {
	links := []model.Inlink{
		{From: "http://a/1", Anchor: "Home"},
		{From: "http://a/2", Anchor: "Home"},
		{From: "http://a/3", Anchor: "home"},
		{From: "http://b/1", Anchor: "Home"},
		{From: "http://b/2", Anchor: ""},
		{From: "http://c/1", Anchor: "Other"},
	}
	for _, c := range []struct {
		dedup bool
		in    []model.Inlink
		want  []string
	}{
		{false, links, []string{"Home", "home", "Home", "Other"}},
		{true, links, []string{"Home", "Other"}},
		{true, nil, nil},
		{true, []model.Inlink{{From: "x"}}, nil},
	} {
		p, err := (&anchor.Filter{Config: anchor.Config{Deduplicate: c.dedup}}).FilterDocument(t.Context(), &indexingfilter.Input{Inlinks: c.in})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if p != nil {
			got = p.Set["anchor"]
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("deduplicate %v (-want +got):\n%s", c.dedup, d)
		}
	}
}
