package parsefiltercss_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	css "github.com/gonutch/crawler/plugins/parsefilter-css"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

const page = `<!doctype html><html lang=en><head><title>T</title><meta name=price content="9"></head><body>
<h1>  A  <i>fine</i>
 kettle </h1>
<p class=price>1.299,50 €</p><p class=price>on request</p><p class=price>12 €</p>
<time datetime="2026-03-04T05:06:07+01:00">last week</time>
<ul class=tags><li>tea</li><li> tea </li><li>pots</li><li></li></ul>
<a class=img href="../pic.png?a=b c">see</a><a class=img href="http://[bad">see</a>
<div id=box><b>x</b><script>no()</script></div>
</body></html>`

func TestFields(t *testing.T) {
	for _, c := range []struct {
		name, own string
		want      model.Metadata
	}{
		{"text on one line, only the first", `{"fields": {"name": "h1", "tag": ".tags li"}}`, model.Metadata{"name": {"A fine kettle"}, "tag": {"tea"}}},
		{"explicit text", `{"fields": {"name": "h1 i::text"}}`, model.Metadata{"name": {"fine"}}},
		{"all values, each once, none empty", `{"fields": {"tag": ".tags li"}, "multivalued": ["tag"]}`, model.Metadata{"tag": {"tea", "pots"}}},
		{"all fields multivalued", `{"fields": {"tag": ".tags li", "i": "i"}, "multivalued": ["*"]}`, model.Metadata{"tag": {"tea", "pots"}, "i": {"fine"}}},
		{"attribute", `{"fields": {"d": "time::attr(datetime)"}}`, model.Metadata{"d": {"2026-03-04T05:06:07+01:00"}}},
		{"attribute in the head", `{"fields": {"p": "meta[name=price]::attr(content)"}, "numbers": ["p"]}`, model.Metadata{"p": {"9"}}},
		{"html", `{"fields": {"h": "#box b::html"}}`, model.Metadata{"h": {"<b>x</b>"}}},
		{"text without scripts", `{"fields": {"h": "#box"}}`, model.Metadata{"h": {"x"}}},
		{"number", `{"fields": {"p": ".price"}, "numbers": ["p"]}`, model.Metadata{"p": {"1299.5"}}},
		{
			"numbers, one unreadable", `{"fields": {"p": ".price"}, "numbers": ["p"], "multivalued": ["p"]}`,
			model.Metadata{"p": {"1299.5", "12"}, "css.unread": {"p"}},
		},
		{"decimal by setting", `{"fields": {"p": ".price"}, "numbers": ["p"], "decimal": "."}`, model.Metadata{"p": {"1.2995"}}},
		{"date", `{"fields": {"d": "time::attr(datetime)"}, "dates": ["d"]}`, model.Metadata{"d": {"2026-03-04T04:06:07Z"}}},
		{"no date", `{"fields": {"d": "time"}, "dates": ["d"]}`, model.Metadata{"css.unread": {"d"}}},
		{
			"links", `{"fields": {"l": "a.img::attr(href)"}, "urls": ["l"], "multivalued": ["l"]}`,
			model.Metadata{"l": {"http://example.org/pic.png?a=b%20c"}, "css.unread": {"l"}},
		},
		{"group of selectors", `{"fields": {"x": "h6, h1 i"}}`, model.Metadata{"x": {"fine"}}},
		{"nothing found", `{"fields": {"x": "h6"}}`, nil},
		{"no fields", `{}`, nil},
		{"limit of values", `{"fields": {"tag": "li"}, "multivalued": ["*"], "max_values": 1}`, model.Metadata{"tag": {"tea"}}},
		{"limit of length", `{"fields": {"p": ".price"}, "max_length": "9B"}`, model.Metadata{"p": {"1.299,50"}}},
		{"each field its own answer", `{"fields": {"b": "b", "a": "i", "c": "h6"}}`, model.Metadata{"a": {"fine"}, "b": {"x"}}},
	} {
		got := libtest.FilterPage(t, css.Plugin(), c.own, "http://example.org/dir/page", page)
		if d := cmp.Diff(c.want, got.SetMeta); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestMistakes(t *testing.T) {
	for own, want := range map[string]string{
		`{"fields": {"a": "li["}}`:                                           `fields: a = "li[": `,
		`{"fields": {"a": "li::after"}}`:                                     `fields: a = "li::after": selector "li::after" ends in ::after; write ::text, ::html or ::attr(name)`,
		`{"fields": {"": "li"}}`:                                             `fields: selector "li" has no field name`,
		`{"fields": {"a": "li"}, "numbers": ["b"]}`:                          `numbers: there is no field "b" in fields`,
		`{"fields": {"a": "li"}, "numbers": ["a"], "dates": ["a"]}`:          `dates: field "a" can be only one of number, date and link`,
		`{"fields": {"a": "li"}, "dates": ["a"], "date_layouts": ["dd.MM"]}`: `date_layouts: "dd.MM" has no year`,
	} {
		if _, err := libtest.New(t, css.Plugin(), own); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", own, err, want)
		}
	}
}

func TestIndex(t *testing.T) {
	in := &indexingfilter.Input{Parse: model.Parse{ParseMeta: model.Metadata{"price": {"5"}, "other": {"x"}}}}
	own := `{"fields": {"price": ".price", "tag": "li"}`
	if d := cmp.Diff(map[string][]string{"price": {"5"}}, libtest.FilterDocument(t, css.Plugin(), own+`}`, in).Set); d != "" {
		t.Error(d)
	}
	if p := libtest.FilterDocument(t, css.Plugin(), own+`, "index": false}`, in); p.Set != nil {
		t.Errorf("index = false: %v", p)
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, css.Plugin(), plugintest.Options{Settings: `{"fields": {"a": "h1", "b": "a::attr(href)", "c": "time"}, "urls": ["b"], "dates": ["c"], "multivalued": ["*"]}`})
}

func FuzzValues(f *testing.F) {
	f.Add("1.299,50 €", "http://a/")
	f.Add("//x/\xff", "\x00")
	p := libtest.Must(f, css.Plugin(), `{"fields": {"d": "a", "n": "a", "t": "a", "u": "a"}, "numbers": ["n"], "dates": ["d"], "urls": ["u"], "max_length": "100B"}`)
	f.Fuzz(func(t *testing.T, value, url string) {
		in := &parsefilter.Input{Parse: model.Parse{URL: url}}
		for range 4 {
			in.Parse.Facts = append(in.Parse.Facts, model.FactResult{Values: []string{value}})
		}
		patch, err := p.ParseFilter.FilterParse(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if patch == nil {
			return
		}
		for k, v := range patch.SetMeta {
			if v[0] == "" || len(v[0]) > 100 {
				t.Errorf("%s = %q", k, v)
			}
		}
	})
}
