package headings_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/headings"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/model"
)

// Nutch's rule: nutch.md 2.5, headings.
func TestFilterParse(t *testing.T) {
	const page = `<h1> </h1><h1>One <b>and
		only</b></h1><h2>Two</h2><p>x<h2>Three<img src=x></h2><h3>Four</h3><h2>Two</h2>`
	for _, c := range []struct {
		name, own string
		want      model.Metadata
	}{
		{"default: the first that has text", ``, model.Metadata{"h1": {"One and only"}, "h2": {"Two"}}},
		{"all", `{"multivalued": true}`, model.Metadata{"h1": {"One and only"}, "h2": {"Two", "Three", "Two"}}},
		{"others", `{"headings": ["h3", "h6"]}`, model.Metadata{"h3": {"Four"}}},
		{"not there", `{"headings": ["h5"]}`, nil},
		{"none", `{"headings": []}`, nil},
	} {
		if d := cmp.Diff(c.want, libtest.FilterPage(t, headings.Plugin(), c.own, "http://a/", page).SetMeta); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
	// A wrong name is an error when settings are read, before any page is.
	for _, s := range libtest.Manifest(t, headings.Plugin()).Settings {
		if s.Name == "headings" {
			if _, err := s.Check([]string{"h7"}); err == nil {
				t.Error("h7 is accepted")
			}
		}
	}
}
