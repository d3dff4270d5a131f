package parsefilterstructured_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	structured "github.com/gonutch/crawler/plugins/parsefilter-structured"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func ld(body string) string { return `<script type="application/ld+json">` + body + `</script>` }

func meta(name, content string) string {
	return `<meta property="` + name + `" content="` + content + `">`
}

// Forms are those of JSON-LD 1.1, schema.org, ogp.me, DCMI's "Expressing Dublin
// Core in HTML/XHTML meta" and WHATWG HTML's microdata.
func TestFields(t *testing.T) {
	for _, c := range []struct {
		name, own, page string
		want            model.Metadata
	}{
		{
			"JSON-LD article", ``, ld(`{"@context":"https://schema.org","@type":"NewsArticle","headline":" A &amp;  B ","author":[{"@type":"Person","name":"Ann"},"Bob"],
				"datePublished":"2026-03-04T05:06:07+01:00","image":{"@type":"ImageObject","url":"/i.png"},"keywords":"x, y,x","publisher":{"name":"P"}}`),
			model.Metadata{
				"schema_type": {"NewsArticle"}, "headline": {"A & B"}, "author": {"Ann", "Bob"}, "published": {"2026-03-04T04:06:07Z"},
				"image": {"http://example.org/i.png"}, "tags": {"x", "y"}, "publisher": {"P"},
			},
		},
		{
			"graph, list of types, addresses as names", ``, ld(`{"@graph":[{"@type":["http://schema.org/Product","schema:Thing"],"http://schema.org/name":"N",
				"offers":[{"price":1299.50,"priceCurrency":"EUR","availability":"https://schema.org/InStock"}],"aggregateRating":{"ratingValue":"4.755"}}]}`),
			model.Metadata{
				"schema_type": {"Product", "Thing"}, "headline": {"N"}, "price": {"1299.5"}, "currency": {"EUR"}, "availability": {"InStock"}, "rating": {"4.755"},
			},
		},
		{"image as text", ``, ld(`{"image":"pic.png"}`), model.Metadata{"image": {"http://example.org/dir/pic.png"}}},
		{"wrapped in a comment", ``, ld("<!-- {\"name\":\"N\"} -->"), model.Metadata{"headline": {"N"}}},
		{"trailing semicolon", ``, ld(`{"name":"N"};`), model.Metadata{"headline": {"N"}}},
		{"two values in one script", ``, ld(`{"@type":"A"} {"name":"N"}`), model.Metadata{"schema_type": {"A"}, "headline": {"N"}}},
		{"broken script, the other counts", ``, ld(`{"name":"N",}`) + ld(`{"name":"M"}`), model.Metadata{"headline": {"M"}, "structured.invalid": {"1"}}},
		{"no dates and numbers", ``, ld(`{"datePublished":"soon","offers":{"price":"ask us"}}`), nil},
		{"OpenGraph", ``, meta("og:title", "T") + meta("og:image", "http://cdn.example/x.png") + meta("article:tag", "a") + meta("article:tag", "b"), model.Metadata{
			"headline": {"T"}, "image": {"http://cdn.example/x.png"}, "tags": {"a", "b"},
		}},
		{"Dublin Core", ``, `<meta name="DC.Title" content="T"><meta name="DCTERMS.issued" content="2026-03-04"><meta name="DC.creator" content="A"><meta name="DC.creator" content="B">`, model.Metadata{
			"headline": {"T"}, "published": {"2026-03-04T00:00:00Z"}, "author": {"A", "B"},
		}},
		{"JSON-LD wins over OpenGraph", ``, meta("og:title", "O") + ld(`{"headline":"L"}`), model.Metadata{"headline": {"L"}}},
		{"what can't be used gives way", ``, ld(`{"datePublished":"soon"}`) + meta("article:published_time", "2026-03-04"), model.Metadata{"published": {"2026-03-04T00:00:00Z"}}},
		{
			"microdata", ``, `<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">A <b>kettle</b></h1><img itemprop=image src="k.png">
				<div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><span itemprop=price content="12.5">12,50</span><meta itemprop=priceCurrency content=EUR></div>
				<div itemscope itemtype="https://schema.org/Person"><i itemprop=name>other</i></div></div>`,
			model.Metadata{"schema_type": {"Product"}, "headline": {"A kettle"}, "image": {"http://example.org/dir/k.png"}, "price": {"12.5"}, "currency": {"EUR"}},
		},
		{"microdata in a table row", ``, `<table><tr itemscope><td itemprop="name headline">N</td></tr></table>`, model.Metadata{"headline": {"N"}}},
		{"microdata on body", ``, `<body itemscope itemtype="https://schema.org/WebPage"><time itemprop=datePublished datetime="2026-03-04">then</time></body>`, model.Metadata{
			"schema_type": {"WebPage"}, "published": {"2026-03-04T00:00:00Z"},
		}},
		{"microdata off", `{"microdata": []}`, `<p itemscope><b itemprop=name>N</b></p>`, nil},
		{
			"own fields, by type", `{"fields": {}, "add_fields": {"who": "ld:Person/name", "n": "ld:x.y, keywords"}, "multivalued": ["*"]}`,
			ld(`{"name":"N","author":{"@type":"Person","name":"Ann"},"x":[{"y":1},{"y":true}]}`),
			model.Metadata{"who": {"Ann"}, "n": {"1", "true"}},
		},
		{"a field less", `{"add_fields": {"headline": ""}}`, ld(`{"name":"N"}`), nil},
		{"limit of values", `{"max_values": 2}`, ld(`{"keywords":["a","b","c"]}`), model.Metadata{"tags": {"a", "b"}}},
		{"deep nesting ends", ``, ld(`{"name":` + strings.Repeat("[", 200) + `"x"` + strings.Repeat("]", 200) + `}`), nil},
		{"nothing", ``, `<p>text</p>`, nil},
	} {
		got := libtest.FilterPage(t, structured.Plugin(), c.own, "http://example.org/dir/page", "<!doctype html><html>"+c.page)
		if d := cmp.Diff(c.want, got.SetMeta); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestMistakes(t *testing.T) {
	for own, want := range map[string]string{
		`{"fields": {"a": "ld:"}}`:          `field a: "ld:" is no source`,
		`{"fields": {"a": "ld:x..y"}}`:      `field a: "ld:x..y" is no source`,
		`{"fields": {"a": "md:/x"}}`:        `field a: "md:/x" is no source`,
		`{"add_fields": {"a": "og:a, "}}`:   `field a: "" is no source`,
		`{"add_fields": {"a": "the name"}}`: `field a: "the name" is no source`,
	} {
		if _, err := libtest.New(t, structured.Plugin(), own); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", own, err, want)
		}
	}
}

func TestIndex(t *testing.T) {
	in := &indexingfilter.Input{Parse: model.Parse{ParseMeta: model.Metadata{"price": {"5"}, "other": {"x"}}}}
	if d := cmp.Diff(map[string][]string{"price": {"5"}}, libtest.FilterDocument(t, structured.Plugin(), "", in).Set); d != "" {
		t.Error(d)
	}
	// Feeds write milliseconds under a name of ours; they have a field of their own.
	times := &indexingfilter.Input{Parse: model.Parse{ParseMeta: model.Metadata{"published": {"1772359200000"}, "modified": {"2026-03-01T09:00:00Z"}}}}
	want := map[string][]string{"modified": {"2026-03-01T09:00:00Z"}}
	if d := cmp.Diff(want, libtest.FilterDocument(t, structured.Plugin(), "", times).Set); d != "" {
		t.Error(d)
	}
	if p := libtest.FilterDocument(t, structured.Plugin(), `{"index": false}`, in); p.Set != nil {
		t.Errorf("index = false: %v", p)
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, structured.Plugin(), plugintest.Options{})
}

// TestHostile: properties within properties don't multiply the page.
func TestHostile(t *testing.T) {
	outer := "<div itemscope>" + strings.Repeat("<b itemprop=name>", 100) + strings.Repeat("word ", 30000)
	in := &parsefilter.Input{Parse: model.Parse{Facts: []model.FactResult{{}, {}, {Values: []string{outer}}}}}
	p := libtest.Must(t, structured.Plugin(), `{"multivalued": ["*"], "max_values": 1000}`).ParseFilter
	patch, err := p.FilterParse(t.Context(), in)
	if err != nil || len(patch.SetMeta["headline"]) != 1 || len(patch.SetMeta["headline"][0]) > 1<<20 {
		t.Errorf("%d values, %v", len(patch.SetMeta["headline"]), err)
	}
}

func FuzzFacts(f *testing.F) {
	f.Add(`{"@graph":[{"@type":"A","name":["x",{"@value":1}]}]}`, `<tr itemscope itemtype="a b"><td itemprop="name">x`)
	f.Add(`[[[{"image":null}]]]`, `<body itemscope><p itemscope itemprop=author>`)
	p := libtest.Must(f, structured.Plugin(), "")
	f.Fuzz(func(t *testing.T, script, outer string) {
		in := &parsefilter.Input{Parse: model.Parse{URL: "http://a/", Facts: []model.FactResult{
			{Values: []string{script}}, {Names: []string{"og:title"}, Values: []string{script}}, {Values: []string{outer}},
		}}}
		patch, err := p.ParseFilter.FilterParse(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if patch == nil {
			return
		}
		for k, v := range patch.SetMeta {
			for _, s := range v {
				if strings.TrimSpace(s) == "" {
					t.Errorf("%s has an empty value: %q", k, v)
				}
			}
		}
	})
}
