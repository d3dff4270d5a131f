package indexlinks_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	indexlinks "github.com/gonutch/crawler/plugins/index-links"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/model"
)

// Nutch's rule: nutch.md 2.7 and 3, index.links.*.
func TestFilterDocument(t *testing.T) {
	in := &indexingfilter.Input{URL: "http://a.example/p"}
	for _, u := range []string{"http://a.example/x", "http://B.example/", "http://b.example/y", "http://A.example:80/z", "http://b.example/y", "mailto:x"} {
		in.Parse.Outlinks = append(in.Parse.Outlinks, model.Outlink{URL: u})
	}
	for _, u := range []string{"https://c.example/", "http://a.example/", "https://c.example/2"} {
		in.Inlinks = append(in.Inlinks, model.Inlink{From: u})
	}
	for _, c := range []struct {
		own  string
		want map[string][]string
	}{
		{``, map[string][]string{
			"outlinks": {"http://a.example/x", "http://B.example/", "http://b.example/y", "http://A.example:80/z", "mailto:x"},
			"inlinks":  {"https://c.example/", "http://a.example/", "https://c.example/2"},
		}},
		{`{"outlinks_host_ignore": true}`, map[string][]string{
			"outlinks": {"http://B.example/", "http://b.example/y", "mailto:x"},
			"inlinks":  {"https://c.example/", "http://a.example/", "https://c.example/2"},
		}},
		{`{"inlinks_host_ignore": true, "hosts_only": true}`, map[string][]string{"outlinks": {"a.example", "b.example"}, "inlinks": {"c.example"}}},
		{`{"max_links": 1}`, map[string][]string{"outlinks": {"http://a.example/x"}, "inlinks": {"https://c.example/"}}},
	} {
		if d := cmp.Diff(c.want, libtest.FilterDocument(t, indexlinks.Plugin(), c.own, in).Set); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.own, d)
		}
	}
	if p := libtest.FilterDocument(t, indexlinks.Plugin(), "", &indexingfilter.Input{}); p.Set != nil {
		t.Errorf("no links: %v", p)
	}
}
