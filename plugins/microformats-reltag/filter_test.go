package microformatsreltag_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	reltag "github.com/gonutch/crawler/plugins/microformats-reltag"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/model"
)

// Nutch's rule: nutch.md 2.5, microformats-reltag; the form of the links:
// microformats.org/wiki/rel-tag.
func TestFilterParse(t *testing.T) {
	for _, c := range []struct {
		page string
		want []string
	}{
		{`<a rel=tag href="http://x.example/tag/tea">other text</a>`, []string{"tea"}},
		{`<a rel="nofollow TAG" href="/tags/green+tea/?x=1#y">t</a>`, []string{"green tea"}},
		{`<a rel=tag href="/t/caf%C3%A9">t</a><a rel=tag href="/u/caf%C3%A9">t</a><a rel=tag href="b">t</a>`, []string{"café", "b"}},
		{`<a rel=tag href="/">t</a><a rel=tag>t</a><a rel=tag href="/%ff">t</a><a rel=tags href="/x">t</a>`, nil},
		{`<p>none`, nil},
	} {
		got := libtest.FilterPage(t, reltag.Plugin(), "", "http://a.example/dir/", c.page)
		if d := cmp.Diff(c.want, got.SetMeta["Rel-Tag"]); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.page, d)
		}
	}
}

func TestFilterDocument(t *testing.T) {
	in := &indexingfilter.Input{Parse: model.Parse{ParseMeta: model.Metadata{"Rel-Tag": {"a", "b"}}}}
	if d := cmp.Diff(map[string][]string{"tag": {"a", "b"}}, libtest.FilterDocument(t, reltag.Plugin(), "", in).Add); d != "" {
		t.Error(d)
	}
	if p := libtest.FilterDocument(t, reltag.Plugin(), "", &indexingfilter.Input{}); p.Add != nil {
		t.Errorf("without tags: %v", p)
	}
}

func FuzzTag(f *testing.F) {
	f.Add("http://a/tag/x%20y")
	f.Add("//%zz/+")
	f.Fuzz(func(t *testing.T, href string) {
		in := &parsefilter.Input{Parse: model.Parse{Facts: []model.FactResult{{Names: []string{href}, Values: []string{""}}}}}
		p, err := reltag.Filter{}.FilterParse(t.Context(), in)
		if err != nil || p != nil && p.SetMeta.First("Rel-Tag") == "" {
			t.Errorf("%q: %v, %v", href, p, err)
		}
	})
}
