package indexanchor_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	anchor "github.com/gonutch/crawler/plugins/index-anchor"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/model"
)

// from are links of one text from several pages, texts links of several texts from one.
func from(anchor string, pages ...string) (out []model.Inlink) {
	for _, p := range pages {
		out = append(out, model.Inlink{From: p, Anchor: anchor})
	}
	return out
}

func texts(anchors ...string) (out []model.Inlink) {
	for _, a := range anchors {
		out = append(out, model.Inlink{From: "http://h/", Anchor: a})
	}
	return out
}

// TestFilterDocument has cases by nutch.md sections 2.7 and 4 (anchorIndexingFilter.deduplicate).
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
		{false, []model.Inlink{{From: "x"}}, nil},
		{false, nil, nil},
		// A host has one vote for a text, whatever its port, scheme, case and user.
		{false, from("a", "http://h/1", "http://h:8080/2", "https://h/3", "http://H/4", "http://me@h/5"), []string{"a"}},
		{false, from("a", "http://h/", "http://www.h/"), []string{"a", "a"}},
		{false, from("a", "http://h/", "http://h./"), []string{"a", "a"}},
		{false, from("a", "http://[::1]/", "http://[::1]:80/", "http://[::2]/"), []string{"a", "a"}},
		{false, from("a", "ftp://h/", "file:///x", "file:///y"), []string{"a", "a"}}, // files have no host, which is one too
		// What is no URL votes as if it had no host.
		{false, from("a", "http://[", "::", "http://h/"), []string{"a", "a"}},
		{true, from("a", "http://[", "::", "http://h/"), []string{"a"}},
		// Texts of other case are other votes of a host, but the same when duplicates go.
		{false, texts("Read", "READ", "read"), []string{"Read", "READ", "read"}},
		{true, texts("Read", "READ", "read"), []string{"Read"}},
		{true, texts("READ", "Read"), []string{"READ"}}, // the first one's spelling
		{true, texts("Ärger", "ÄRGER", "ärger"), []string{"Ärger"}},
		{true, texts("a", "a ", " a"), []string{"a", "a ", " a"}},
		{true, texts("", "", ""), nil},
		{true, texts("", "x", ""), []string{"x"}},
		{false, texts("x", "y", "x"), []string{"x", "y"}},
		{true, texts("\xff", "\xff"), []string{"\xff"}},
		{true, texts("1", "2", "3", "2", "1"), []string{"1", "2", "3"}},
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
