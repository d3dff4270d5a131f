package creativecommons_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/creativecommons"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/model"
)

const rdf = `<!-- <rdf:RDF xmlns="http://web.resource.org/cc/" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><Work rdf:about="">
	<license rdf:resource="http://creativecommons.org/licenses/by-nc/1.0/" /><dc:type rdf:resource="http://purl.org/dc/dcmitype/Text"/></Work></rdf:RDF> -->`

// Nutch's rule: nutch.md 2.5, creativecommons; the form of the addresses:
// creativecommons.org/licenses.
func TestFilterParse(t *testing.T) {
	meta := func(u, location, work string) model.Metadata {
		m := model.Metadata{"License-Url": {u}, "License-Location": {location}}
		if work != "" {
			m["Work-Type"] = []string{work}
		}
		return m
	}
	for _, c := range []struct {
		name, own, page string
		want            model.Metadata
		fail            bool
	}{
		{name: "rel", page: `<a rel="license" href="https://creativecommons.org/licenses/by-sa/4.0/">x</a>`, want: meta("https://creativecommons.org/licenses/by-sa/4.0/", "rel", "")},
		{name: "link element", page: `<link rel=license href="http://www.creativecommons.org/publicdomain/zero/1.0/">`, want: meta("http://www.creativecommons.org/publicdomain/zero/1.0/", "rel", "")},
		{name: "another licence", page: `<a rel=license href="/terms">x</a>`, want: meta("http://a.example/terms", "rel", "")},
		{
			name: "the one of Creative Commons wins", page: `<a rel=license href="/terms">x</a><a rel=license href="http://creativecommons.org/licenses/by/2.0/">x</a>`,
			want: meta("http://creativecommons.org/licenses/by/2.0/", "rel", ""),
		},
		{name: "plain link", page: `<a href="http://creativecommons.org/">x</a><a href="http://creativecommons.org/licenses/by/2.0/">x</a>`, want: meta("http://creativecommons.org/licenses/by/2.0/", "a", "")},
		{name: "rdf first", page: rdf + `<a rel="license" href="http://creativecommons.org/licenses/by/2.0/">x</a>`, want: meta("http://creativecommons.org/licenses/by-nc/1.0/", "rdf", "text")},
		{name: "rdf without a licence", page: `<!-- <rdf:RDF><license rdf:resource="http://other.example/"/></rdf:RDF> -->`},
		{name: "cut rdf", page: `<!-- <rdf:RDF><license rdf:resource="http://creativecommons.org/lic`},
		{name: "another host", page: `<a href="http://creativecommons.org.example/licenses/by/2.0/">x</a>`},
		{name: "none", page: `<p>x`},
		{name: "excluded", own: `{"exclude_unlicensed": true}`, page: `<p>x`, fail: true},
		{name: "not excluded", own: `{"exclude_unlicensed": true}`, page: rdf, want: meta("http://creativecommons.org/licenses/by-nc/1.0/", "rdf", "text")},
	} {
		p := libtest.FilterPage(t, creativecommons.Plugin(), c.own, "http://a.example/", c.page)
		if d := cmp.Diff(c.want, p.SetMeta); d != "" || c.fail != (p.Fail != "") {
			t.Errorf("%s: fail %q (-want +got):\n%s", c.name, p.Fail, d)
		}
	}
}

func TestFilterDocument(t *testing.T) {
	for _, c := range []struct {
		meta model.Metadata
		want []string
	}{
		{model.Metadata{"License-Url": {"http://creativecommons.org/licenses/by-nc-sa/1.0"}, "License-Location": {"rdf"}, "Work-Type": {"text"}}, []string{"rdf", "by", "nc", "sa", "1.0", "text"}},
		{model.Metadata{"License-Url": {"https://creativecommons.org/publicdomain/zero/1.0/deed.de"}, "License-Location": {"a"}}, []string{"a", "zero", "1.0", "deed.de"}},
		{model.Metadata{"License-Url": {"http://a.example/terms"}, "License-Location": {"rel"}}, []string{"rel"}},
		{nil, nil},
	} {
		p := libtest.FilterDocument(t, creativecommons.Plugin(), "", &indexingfilter.Input{Parse: model.Parse{ParseMeta: c.meta}})
		if d := cmp.Diff(c.want, p.Add["cc"]); d != "" {
			t.Errorf("%v (-want +got):\n%s", c.meta, d)
		}
	}
}

func FuzzRDF(f *testing.F) {
	f.Add([]byte(rdf))
	f.Add([]byte(`<rdf:RDF<license rdf:resource='`))
	p := libtest.Must(f, creativecommons.Plugin(), "").ParseFilter
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := p.FilterParse(t.Context(), &parsefilter.Input{Content: &model.Content{Body: body}}); err != nil {
			t.Error(err)
		}
	})
}
