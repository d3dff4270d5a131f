package parsehtml

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/fault"
	mf "github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// defaults returns the settings with the manifest's defaults, as the core sends
// them, with some changed.
func defaults(t testing.TB, change map[string]any) json.RawMessage {
	t.Helper()
	m, err := mf.Read("plugin.hcl", Plugin().Manifest)
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]any{}
	for _, s := range m.Settings {
		own[s.Name] = s.Default
	}
	for k, v := range change {
		if _, ok := own[k]; !ok {
			t.Fatalf("no setting %q", k)
		}
		own[k] = v
	}
	b, err := json.Marshal(own)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newTest(t testing.TB, change map[string]any, section string) (parser.Parser, error) {
	t.Helper()
	ext, err := Plugin().New(sdk.Env{Settings: sdk.Settings{
		Own: defaults(t, change),
		Sections: map[string]json.RawMessage{
			"parser": json.RawMessage(section), "http": json.RawMessage(`{"agent_name": "TestBot/1.0", "timeout": "10s"}`),
		},
	}})
	if err != nil {
		return nil, err
	}
	return ext.Parser, nil
}

func parse(t testing.TB, p parser.Parser, c model.Content, facts ...model.Fact) model.Parse {
	t.Helper()
	if c.URL == "" {
		c.URL = "http://host/dir/page.html"
	}
	out, err := p.Parse(context.Background(), &parser.Input{Content: c, Facts: facts})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Parses) != 1 || !out.Parses[0].Status.OK() {
		t.Fatalf("got %+v", out)
	}
	return out.Parses[0]
}

func must(t testing.TB, change map[string]any, section string) parser.Parser {
	t.Helper()
	p, err := newTest(t, change, section)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParse(t *testing.T) {
	got := parse(t, must(t, nil, `{}`), model.Content{
		ContentType: "text/html; charset=latin1",
		Body: []byte("<!DOCTYPE html><html lang=fr><head><title> Le\n caf\xe9 </title><link rel=canonical href=/c?a=1&amp;b=2#f>" +
			"<link rel=stylesheet href=s.css><meta name=description content=x></head><body><h1>Bonjour</h1><p>un <b>d</b>eux" +
			"<p><a href=../up.html>vers  le\n<i>haut</i></a> <a href=mailto:x@y>m</a><a href=#here>h</a><a href=x rel='a nofollow'>n</a>" +
			"<script>var a='<p>';</script><img src=i.png></body></html>"),
	})
	want := model.Parse{
		URL: "http://host/dir/page.html", Status: model.ParseStatus{Major: model.ParseSuccess},
		Title: "Le café", Text: "Le café\nBonjour\nun deux\nvers le haut mhn", Language: "fr", Charset: "windows-1252",
		Canonical: "http://host/c?a=1&b=2#f",
		Outlinks: []model.Outlink{
			{URL: "http://host/c?a=1&b=2#f", Tag: "link"},
			{URL: "http://host/up.html", Anchor: "vers le haut", Tag: "a"},
		},
		ParseMeta: model.Metadata{
			"OriginalCharEncoding": {"latin1"}, "CharEncodingForConversion": {"windows-1252"},
			"outlinks.dropped.rel": {"1"}, "outlinks.dropped.unusable": {"2"},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestLinkKinds: what counts as a link, by setting.
func TestLinkKinds(t *testing.T) {
	const page = `<head><base href=/b/><link rel=amphtml href=amp><link rel=alternate hreflang=de href=de><link rel=preload as=image href=p imagesrcset="p1 1x, p2 2x"></head><body>` +
		`<img src=i srcset="i1 1x, i2 2x,i3,  data:image/png;base64,x 3x" data-src=lazy><picture><source srcset="s1(,) 100w"></picture><a data-href=d>x</a>` +
		`<template><a href=t>t</a></template><svg><a xlink:href=v><text>svg</text></a></svg><map><area href=m></map><iframe src=f></iframe>`
	for _, c := range []struct {
		name   string
		change map[string]any
		want   string
	}{
		{"defaults", nil, "de v m f"},
		{"no translations", map[string]any{"outlinks_hreflang": false}, "v m f"},
		{"AMP and preload", map[string]any{"outlinks_link_rels": []string{"amphtml", "preload"}}, "amp p p1 p2 v m f"},
		{"images", map[string]any{"outlinks_tags": []string{"img", "source"}}, "i i1 i2 i3 s1(,)"},
		{"images without srcset", map[string]any{"outlinks_tags": []string{"img", "source"}, "outlinks_srcset": false}, "i"},
		{"data attributes", map[string]any{"outlinks_tags": []string{"img", "a"}, "outlinks_srcset": false, "outlinks_data_attributes": []string{"data-src", "data-href"}}, "i lazy d v"},
	} {
		var got []string
		for _, l := range parse(t, must(t, c.change, `{}`), model.Content{Body: []byte(page)}).Outlinks {
			got = append(got, strings.TrimPrefix(l.URL, "http://host/b/"))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
	}
	if _, err := newTest(t, map[string]any{"outlinks_data_attributes": []string{"data-foo"}}, `{}`); !fault.Is(err, fault.Invalid) {
		t.Errorf("an unknown attribute: got %v", err)
	}
}

func TestRobots(t *testing.T) {
	const page = `<title>T</title><body><a href=x>l</a>`
	p := must(t, nil, `{"caching_forbidden_policy": "all"}`)
	for _, c := range []struct {
		name, meta string
		headers    []string
		want       model.RobotsMeta
	}{
		{"nothing", ``, nil, model.RobotsMeta{}},
		{"allowed", `<meta name=robots content="all, index, follow">`, nil, model.RobotsMeta{}},
		{"noindex", `<META NAME=Robots CONTENT="NoIndex">`, nil, model.RobotsMeta{NoIndex: true}},
		{"two", `<meta name=robots content="noindex,nofollow">`, nil, model.RobotsMeta{NoIndex: true, NoFollow: true}},
		{"none", `<meta name=robots content=" none ">`, nil, model.RobotsMeta{NoIndex: true, NoFollow: true}},
		{"archive", `<meta name=robots content="noarchive">`, nil, model.RobotsMeta{NoArchive: true}},
		{"pragma", `<meta http-equiv=pragma content=no-cache>`, nil, model.RobotsMeta{NoArchive: true}},
		{"own name", `<meta name=testbot content=nofollow>`, nil, model.RobotsMeta{NoFollow: true}},
		{"other name", `<meta name=otherbot content=noindex>`, nil, model.RobotsMeta{}},
		{"rules add up", `<meta name=robots content=noindex><meta name=testbot content=index,nofollow>`, nil, model.RobotsMeta{NoIndex: true, NoFollow: true}},
		{"no such word", `<meta name=robots content=noindexing>`, nil, model.RobotsMeta{}},
		{"header", ``, []string{"noindex, nofollow"}, model.RobotsMeta{NoIndex: true, NoFollow: true}},
		{"two headers", ``, []string{"noindex", "noarchive"}, model.RobotsMeta{NoIndex: true, NoArchive: true}},
		{"header for another", ``, []string{"otherbot: noindex, nofollow"}, model.RobotsMeta{}},
		{"header for us", ``, []string{"otherbot: noindex, TestBot: nofollow"}, model.RobotsMeta{NoFollow: true}},
		{"header with a date", ``, []string{"unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow"}, model.RobotsMeta{NoFollow: true}},
		{"in the body", `</head><body><meta name=robots content=noindex>`, nil, model.RobotsMeta{NoIndex: true}},
		{"in a comment", `<!-- <meta name=robots content=noindex> -->`, nil, model.RobotsMeta{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := parse(t, p, model.Content{Body: []byte(c.meta + page), Headers: model.Metadata{"X-Robots-Tag": c.headers}})
			if got.Robots != c.want {
				t.Errorf("got %+v, want %+v", got.Robots, c.want)
			}
			if indexed := got.Title == "T" && got.Text == "T\nl"; indexed == c.want.NoIndex {
				t.Errorf("title %q, text %q", got.Title, got.Text)
			}
			if followed := len(got.Outlinks) == 1; followed == c.want.NoFollow {
				t.Errorf("links %v", got.Outlinks)
			}
			if forbidden := got.ParseMeta.First("caching.forbidden") == "all"; forbidden != c.want.NoArchive {
				t.Errorf("metadata %v", got.ParseMeta)
			}
		})
	}
}

func TestRefresh(t *testing.T) {
	p := must(t, nil, `{}`)
	for _, c := range []struct{ content, want string }{
		{"0; url=next.html", "http://host/dir/next.html 0"},
		{"5;URL='/q?a=1&amp;b'", "http://host/q?a=1&b 5"},
		{`7,url="//other/x" rest`, "http://other/x 7"},
		{" 3.9 ; http://other/y", "http://other/y 3"},
		{"0;next", "http://host/dir/next 0"},
		{"99999999999999999999;url=x", "http://host/dir/x 2147483647"},
		{"30", ""},
		{"", ""},
		{"x; url=y", ""},
		{"1x; url=y", ""},
		{"0;url=", ""},
		{"0;url=javascript:x()", ""},
		{"10;url=page.html#top", ""}, // the page itself
	} {
		got := parse(t, p, model.Content{Body: []byte(`<meta http-equiv=Refresh content="` + strings.ReplaceAll(c.content, `"`, "&quot;") + `">`)})
		if s := strings.Join(got.Status.Args, " "); s != c.want || (got.Status.Minor == model.ParseSuccessRedirect) != (c.want != "") {
			t.Errorf("%q: got %s %q, want %q", c.content, got.Status, s, c.want)
		}
	}
}

func TestSettings(t *testing.T) {
	body := []byte(`<body><a href=1>a</a><img src=2><form action=3></form><form method=POST action=4></form><a href=5 rel=ugc>b</a>` +
		`<script src=6></script><link rel=icon href=7><div>c</div>d`)
	for _, c := range []struct {
		name    string
		change  map[string]any
		section string
		want    string
	}{
		{"defaults", nil, `{}`, "a1 a5"},
		{"images and scripts", map[string]any{"outlinks_tags": []string{"img", "script"}}, `{}`, "img2 script6"},
		{"ignored tags", map[string]any{"outlinks_tags": []string{"img", "a"}}, `{"html_outlinks_ignore_tags": ["a"]}`, "img2"},
		{"form actions", nil, `{"html_form_use_action": true}`, "a1 form3 a5"},
		{"rel", map[string]any{"outlinks_ignore_rels": []string{"ugc"}}, `{}`, "a1"},
		{"link rel", map[string]any{"outlinks_link_rels": []string{"icon"}}, `{}`, "a1 a5 link7"},
		{"limit", map[string]any{"outlinks_max": 1}, `{}`, "a1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, l := range parse(t, must(t, c.change, c.section), model.Content{Body: body}).Outlinks {
				got = append(got, l.Tag+strings.TrimPrefix(l.URL, "http://host/dir/"))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got %q, want %q", s, c.want)
			}
		})
	}
	t.Run("tag metadata", func(t *testing.T) {
		got := parse(t, must(t, map[string]any{"outlinks_htmlnode_metadata_name": "tag"}, `{}`), model.Content{Body: body})
		if got.Outlinks[0].Metadata.First("tag") != "a" {
			t.Errorf("got %v", got.Outlinks[0])
		}
	})
	t.Run("lines", func(t *testing.T) {
		got := parse(t, must(t, map[string]any{"line_separators": []string{}}, `{}`), model.Content{Body: body})
		if got.Text != "abcd" {
			t.Errorf("got %q", got.Text)
		}
	})
	t.Run("text length", func(t *testing.T) {
		got := parse(t, must(t, nil, `{"max_text_length": 2}`), model.Content{Body: []byte("äöü")})
		if got.Text != "äö" || got.ParseMeta.First("text.cut") != "3" {
			t.Errorf("got %q, %v", got.Text, got.ParseMeta)
		}
	})
	t.Run("title apart", func(t *testing.T) {
		got := parse(t, must(t, map[string]any{"title_in_text": false}, `{}`), model.Content{Body: []byte("<title>a</title>b")})
		if got.Title != "a" || got.Text != "b" {
			t.Errorf("got %q, %q", got.Title, got.Text)
		}
	})
}

func TestBadSettings(t *testing.T) {
	for _, c := range []struct {
		change  map[string]any
		section string
		want    string
	}{
		{map[string]any{"line_separators": []string{"paragraph"}}, `{}`, `line separator "paragraph"`},
		{map[string]any{"outlinks_tags": []string{"p"}}, `{}`, `link tag "p"`},
		{nil, `{"character_encoding_default": "klingon"}`, `"klingon"`},
	} {
		if _, err := newTest(t, c.change, c.section); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestFacts(t *testing.T) {
	p := must(t, nil, `{}`)
	body := []byte(`<head><meta name=Keywords content="a, b"><meta property=og:title content=O><script type=application/ld+json>{"x":1}</script>` +
		`<script>f()</script><script src=s.js></script></head><body><h1>One <i>two</i></h1><h1>Three</h1><a rel=tag href=/t>T <b>t</b></a>` +
		`<div class=price data-v=7>9 <span>€</span></div>`)
	facts := []model.Fact{
		{Kind: model.FactMeta, Arg: "keywords"},
		{Kind: model.FactMeta, Arg: "*", Max: 1},
		{Kind: model.FactHeading, Arg: "h1"},
		{Kind: model.FactRel, Arg: "tag"},
		{Kind: model.FactJSONLD},
		{Kind: model.FactScript},
	}
	selectors := []model.Fact{
		{Kind: model.FactSelector, Arg: ".price"},
		{Kind: model.FactSelector, Arg: "div.price", Attr: "data-v"},
		{Kind: model.FactSelector, Arg: "h1 > i", Attr: "html"},
		{Kind: model.FactSelector, Arg: ".none"},
	}
	want := []model.FactResult{
		{Names: []string{"keywords"}, Values: []string{"a, b"}},
		{Names: []string{"keywords"}, Values: []string{"a, b"}},
		{Values: []string{"One two", "Three"}},
		{Names: []string{"http://host/t"}, Values: []string{"T t"}},
		{Values: []string{`{"x":1}`}},
		{Values: []string{"f()"}},
	}
	if d := cmp.Diff(want, parse(t, p, model.Content{Body: body}, facts...).Facts); d != "" {
		t.Errorf("by stream: %s", d)
	}
	want = append(want, model.FactResult{Values: []string{"9 €"}}, model.FactResult{Values: []string{"7"}},
		model.FactResult{Values: []string{"<i>two</i>"}}, model.FactResult{})
	if d := cmp.Diff(want, parse(t, p, model.Content{Body: body}, append(facts, selectors...)...).Facts); d != "" {
		t.Errorf("by tree: %s", d)
	}
}

func TestBadFactsAreInvalid(t *testing.T) {
	p := must(t, nil, `{}`)
	for _, f := range []model.Fact{
		{Kind: model.FactSelector, Arg: "a[["}, {Kind: model.FactHeading, Arg: "h9"}, {Kind: "nonsense", Arg: "x"}, {Kind: model.FactRel},
	} {
		_, err := p.Parse(context.Background(), &parser.Input{Content: model.Content{Body: []byte("x")}, Facts: []model.Fact{f}})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), f.Arg) {
			t.Errorf("%v: got %v", f, err)
		}
	}
}

func TestLanguage(t *testing.T) {
	p := must(t, nil, `{}`)
	for _, c := range []struct{ body, header, want string }{
		{`<html lang=de>`, "fr", "de"},
		{`<html xml:lang=de-AT>`, "fr", "de-AT"},
		{`<p>x<html lang=de>`, "", "de"},
		{`<meta http-equiv=content-language content=it>`, "fr", "it"},
		{`<p>`, "fr", "fr"},
		{`<p lang=de>`, "", ""},
	} {
		got := parse(t, p, model.Content{Body: []byte(c.body), Headers: model.Metadata{"Content-Language": {c.header}}})
		if got.Language != c.want {
			t.Errorf("%s: got %q, want %q", c.body, got.Language, c.want)
		}
	}
}

// TestQueryCharset: a link's query is sent in the page's charset, as browsers do.
func TestQueryCharset(t *testing.T) {
	p := must(t, nil, `{}`)
	for _, c := range []struct{ charset, body, want string }{
		{"koi8-r", "<a href='\xc4?q=\xc4'>x</a>", "http://host/dir/д?q=%C4"},
		{"utf-8", "<a href='д?q=д'>x</a>", "http://host/dir/д?q=д"},
	} {
		got := parse(t, p, model.Content{ContentType: "text/html; charset=" + c.charset, Body: []byte(c.body)})
		if len(got.Outlinks) != 1 || got.Outlinks[0].URL != c.want {
			t.Errorf("%s: got %v, want %s", c.charset, got.Outlinks, c.want)
		}
	}
}

// TestXHTML: empty-element tags count in XHTML and mean nothing in HTML.
func TestXHTML(t *testing.T) {
	body := []byte(`<?xml version="1.0"?><html><head><title>T</title><script src="x"/></head><body><p>a</p></body></html>`)
	p := must(t, nil, `{}`)
	if got := parse(t, p, model.Content{MIMEType: "application/xhtml+xml", Body: body}); got.Text != "T\na" {
		t.Errorf("XHTML: got %q", got.Text)
	}
	if got := parse(t, p, model.Content{MIMEType: "text/html", Body: body}); got.Text != "T" {
		t.Errorf("HTML: got %q", got.Text)
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := must(t, nil, `{}`).Parse(ctx, &parser.Input{}); err == nil {
		t.Error("no error")
	}
}

// BenchmarkParse is what a page of a plain site costs the plugin, charset
// included.
func BenchmarkParse(b *testing.B) {
	p := must(b, nil, `{"max_text_length": 1000000}`)
	body := []byte("<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>A page</title></head><body>" +
		strings.Repeat("<div class=item><h2>Heading of a section</h2><p>Some words about <b>something</b> that has happened, "+
			"with a <a href=\"../other/page.html?x=1\">link to more</a> of it.</p></div>\n", 250) + "</body></html>")
	in := &parser.Input{Content: model.Content{URL: "http://host/dir/page.html", ContentType: "text/html; charset=utf-8", Body: body}}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Parse(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
}
