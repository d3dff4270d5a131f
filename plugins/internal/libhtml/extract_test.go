package libhtml

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/gonutch/crawler/sdk/model"
)

// TestExtract has one case a rule: page → title | text | links. Each page also
// goes the tree's way. Where way is given, the page must take it by itself.
func TestExtract(t *testing.T) {
	for _, c := range []struct {
		name, page, want string
		way              Way
	}{
		{"plain", `<title> a  b </title><p>c<p>d`, "a b|a b/c/d|", ByStream},
		{"first title counts", `<title>a</title><body><title>b</title>c`, "a|a/b/c|", ByStream},
		{"no title in svg", `<svg><title>a</title></svg>`, "|a|", ByStream},
		{"scripts and styles", `a<script>b<!--</p>--></script>c<style><p>d</style>e`, "|ace|", ByStream},
		{"hidden script", `<script><!--<script>a</script>b--></script>c`, "|c|", ByStream},
		{"inline elements join", `<b>f</b>oo <i>b</i><span>ar</span>`, "|foo bar|", ByStream},
		{"cells don't join", `<table><tr><td>a<td>b<tr><td>c</table>`, "|a b/c|", ByStream},
		{"line break", `a<br>b<br/>c</br>d`, "|a/b/c/d|", ByStream},
		{"pre", "<pre>\na\n  b</pre>", "|a b|", ByStream},
		{"white space", "a\n\t b &nbsp; c\u00a0 d&#10;e", "|a b c d e|", ByStream},
		{"references", "<p>&lt;&amp;&AMP&notit;&#x41;&#128;&#0;&#xd800;&nosuch;&", "|<&&¬it;A€\ufffd\ufffd&nosuch;&|", ByStream},
		{"no markup", `a < b <3 c </ d>e <>`, "|a < b <3 c e <>|", ByStream},
		{"comments", `a<!-->b<!--->c<!-- > -- --!>d<!x>e<?f?>g</ h>i`, "|abcdegi|", ByStream},
		{"cut in a tag", `a<p>b<a href="x`, "|a/b|", ByStream},
		{"cut in a comment", `a<!-- b`, "|a|", ByStream},
		{"cut in a title", `<title>a`, "a|a|", ByStream},
		{"cut in a reference", `a&am`, "|a&am|", ByStream},
		{"textarea, xmp, plaintext", `<textarea><b>&lt;</textarea><xmp><i>&lt;</xmp><plaintext></p>&lt;`, "|<b>< <i>&lt; </p>&lt;|", ByStream},
		{"iframe", `a<iframe src=x>b</iframe>c`, "|ac|iframe:x=", ByStream},
		{"noscript", `<head><noscript><link rel=next href=n></noscript><body><noscript><p>a</noscript>`, "|a|link:n=", ByStream},
		{"template", `a<template><a href=x>b</a></template>c`, "|ac|", ByStream},
		{"links", `<a href=1>a <b>b</b></a><a>c</a><a href="">d</a><map><area href=2 alt=e></map>`, "|a bcd|a:1=a b area:2=e", ByStream},
		{"unclosed links", `<a href=1>a<a href=2>b`, "|ab|a:1=a a:2=b", ByStream},
		{"link around blocks", `<a href=1><div>a</div><p>b</p></a>`, "|a/b|a:1=a b", ByStream},
		{"link split by blocks", `<a href=1>a<div>b</a>c</div>`, "|a/bc|a:1=a a:1=b", ByTree},
		{"nested links", `<a href=1>a<table><tr><td><a href=2>b</a></table></a>`, "|a/b|a:1=a b a:2=b", ByTree},
		{"image as anchor", `<a href=1><img alt=" a  b"></a><a href=2>c<img alt=d></a>`, "|c|a:1=a b a:2=c", ByStream},
		{"references in attributes", `<a href="?a=1&copy=2&amp;b&lt">x</a>`, "|x|a:?a=1&copy=2&b%3C=x", ByStream},
		{"attributes", `<A HREF = '1' href=2>a</A><a x=">" href=3/>b</a><a/href=4>c</a><a =href=5>d</a>`, "|abcd|a:1=a a:3/=b a:4=c", ByStream},
		{"base", `<base href="http://o/p/"><base href="/z/"><a href=x>a</a><a href=#f>b</a>`, "|ab|a:http://o/p/x=a a:http://o/p/#f=b", ByStream},
		{"base at the end", `<a href=x>a</a><base href="/q/">`, "|a|a:http://host/q/x=a", ByStream},
		{"base that is none", `<base href="javascript:x"><a href=x>a</a>`, "|a|a:x=a", ByStream},
		{"stray text in table", `<table>a<tr><td>b</table>`, "|a/b|", ByTree},
		{"stray element in table", `<table><a href=1>a</a><tr><td>b</table>`, "|a/b|a:1=a", ByTree},
		{"hidden input in table", `<table><input type=hidden><form><tr><td>a</form></table>`, "|a|", ByStream},
		{"misnested formatting", `<b>a<p>b</b>c</p><i>d`, "|a/bc/d|", ByStream},
		{"frameset", `<frameset><frame src=1><frame src=2></frameset>`, "||frame:1= frame:2=", ByTree},
		{"svg", `<svg><a href=1><text>a</text></a></svg>`, "|a|a:1=a", ByTree},
		{"svg with style", `<svg viewBox="0"><style>b</style><path/><text>a</text></svg><p>c`, "|a/c|", ByStream},
		{"CDATA", `a<![CDATA[b]]>c<svg><![CDATA[<d>]]></svg>`, "|ac<d>|", ByStream},
		{"HTML in svg", `<svg><p>a</svg>b`, "|ab|", ByTree},
		{"NUL", "a\x00b<a href=x\x00>c</a>", "|abc|a:x\ufffd=c", ByTree},
		{"select", `<select><option>a<option>b</select>c<select><select>d`, "|a b cd|", ByStream},
		{"ignored end tags", `a</p>b</div></span></table>c</h1>d`, "|a/bcd|", ByStream},
		{"quirks", `<p>a<table><tr><td>b</table>c`, "|a/b/c|", ByStream},
		{"form in form", `<form>a<form>b</form>c</form>d`, "|ab/cd|", ByStream},
	} {
		t.Run(c.name, func(t *testing.T) {
			opt := allOptions()
			opt.LinkTags = []string{"a", "area", "frame", "iframe", "link"}
			x := newExtractor(t, opt)
			in := Input{Body: []byte(c.page), URL: "http://host/dir/page.html", Base: "http://host/dir/page.html"}
			for _, in.TreeOnly = range []bool{false, true} {
				p, err := x.Extract(in)
				if err != nil {
					t.Fatal(err)
				}
				if got := show(p); got != c.want {
					t.Errorf("tree %v:\n got %q\nwant %q", in.TreeOnly, got, c.want)
				}
				if !in.TreeOnly && p.Way != c.way {
					t.Errorf("way %d (%s), want %d", p.Way, p.Why, c.way)
				}
			}
		})
	}
}

// show writes a page as title|text|links, lines of the text separated by '/'.
func show(p *Page) string {
	var links []string
	for _, l := range p.Links {
		links = append(links, l.Tag+":"+strings.TrimPrefix(strings.TrimPrefix(l.URL, "http://host/dir/"), "page.html")+"="+l.Anchor)
	}
	return p.Title + "|" + strings.ReplaceAll(p.Text, "\n", "/") + "|" + strings.Join(links, " ")
}

// TestEntities compares with x/net/html.
func TestEntities(t *testing.T) {
	for _, s := range []string{
		"&Aacute;", "&Aacute", "&Aacutex", "&notin;", "&notinx", "&NotEqualTilde;", "&fjlig;", "&ThickSpace;", "&ampamp;", "&amp;amp;",
		"&#", "&#x", "&#;", "&#x;", "&#65", "&#x41g", "&#0065;", "&#1114112;", "&#99999999999999999999;", "&#x80;", "&#159;", "&CounterClockwiseContourIntegral;",
		"&" + strings.Repeat("a", 100) + ";", "&;", "&&", "& ", "&lt", "&ltx", "&gt;&lt;",
	} {
		var c collapser
		c.write([]byte("x"+s+"x"), true)
		var want collapser
		want.write([]byte(html.UnescapeString("x"+s+"x")), false)
		if string(c.buf) != string(want.buf) {
			t.Errorf("%q: got %q, want %q", s, c.buf, want.buf)
		}
	}
}

// TestHostilePages takes minutes or gigabytes where a page is not handled in
// linear time and bounded memory.
func TestHostilePages(t *testing.T) {
	opt := allOptions()
	opt.MaxNodes, opt.MaxLinks = 200000, 10000
	x := newExtractor(t, opt)
	for _, unit := range []string{
		"<table><b>", "<table><a href=x>", "<table>x", "<b><div></b>", "<a href=x><div></a>", "<b class=x y=z><p></p>", "<span></b><x></y>",
		"<x><div><span></x>",
		"<div>", "<b>", "<b><p>", "<a href=x>", "<a href=x><p>", "<table>", "<table><tr><td>", "<p>", "<li>", "<ul><li>", "</p>", "</x>", "<x>",
		"<x></y>", "<svg>", "<svg><g>", "<svg/>", "<select><option>", "<button>", "<form><div></form>", "<h1>", "<font color=1><p></font>",
		"<script>", "<script><!--", "<!--", "<!-->", "<![CDATA[", "<template>", "<template><svg>", "<noscript>", "<nobr>", "<dd><span>",
		"&", "&amp;", "&#", "&a", "<", "</", "<a ", "a=b ", "<meta name=a content=b>", "<title>", "<textarea>", "<iframe>", "x\x00", "<li></li><div>",
		"<i><b></i>", "<object>", "<marquee><b>", "<ruby><rt>", "<base href=x>", "\u00a0", "<x-y a>", "<!doctype x>", "</body><p>", "<td>",
	} {
		hostile(t, x, unit, 1<<20/len(unit), false)
		hostile(t, x, unit, 20000/max(1, strings.Count(unit, "<")), true)
	}
}

func hostile(t *testing.T, x *Extractor, unit string, n int, tree bool) {
	body := bytes.Repeat([]byte(unit), n)
	if strings.HasPrefix(unit, "a=b") {
		body = append([]byte("<a "), body...)
	}
	start := cpuTime(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := x.Extract(Input{Body: body, URL: "http://h/", Base: "http://h/", Facts: allFacts(), TreeOnly: tree})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatalf("%q: %v", unit, err)
	}
	took, used := cpuTime(t)-start, after.TotalAlloc-before.TotalAlloc
	t.Logf("%-28q %6d ms %5d MiB way %d %s", unit, took.Milliseconds(), used>>20, p.Way, p.Why)
	if took > 10*time.Second {
		t.Errorf("%q: took %v", unit, took)
	}
	if used > 128<<20 {
		t.Errorf("%q: used %d MiB", unit, used>>20)
	}
}

func TestHugeAttribute(t *testing.T) {
	big := strings.Repeat("x", 4<<20)
	opt := allOptions()
	opt.MaxURL = 1000
	p, err := newExtractor(t, opt).Extract(Input{
		Body: []byte(`<p class=` + big + `>a<a href="` + big + `">b</a><a href=c title="` + big + `">d</a>`), URL: "http://h/", Base: "http://h/",
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.Text != "abd" || p.TooLong != 1 || len(p.Links) != 1 {
		t.Errorf("got %q, %d links, %d too long", p.Text, len(p.Links), p.TooLong)
	}
}

// TestDeepPage: what neither way can take whole still gives text and links.
func TestDeepPage(t *testing.T) {
	body := strings.Repeat("<div>", 600) + "<table>a<tr><td><a href=x>b</a></table>" + strings.Repeat("</div>", 600) + "<p>c"
	p, err := newExtractor(t, allOptions()).Extract(Input{
		Body: []byte(body), URL: "http://h/", Base: "http://h/", Facts: []model.Fact{{Kind: model.FactSelector, Arg: "a"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.Way != ByDegraded || !strings.Contains(p.Why, "512") || len(p.Facts) != 1 || p.Facts[0].Values != nil {
		t.Errorf("way %d, why %q, facts %v", p.Way, p.Why, p.Facts)
	}
	if d := cmp.Diff([]Link{{URL: "http://h/x", Anchor: "b", Tag: "a"}}, p.Links); d != "" || p.Text != "a\nb\nc" {
		t.Errorf("text %q, links %s", p.Text, d)
	}
}

// TestPooledStateDoesNotLeak parses different pages with one extractor.
func TestPooledStateDoesNotLeak(t *testing.T) {
	x := newExtractor(t, allOptions())
	for _, s := range append(fuzzSeeds(), fuzzSeeds()...) {
		in := Input{Body: []byte(s), URL: "http://h/", Base: "http://h/", Facts: allFacts()}
		got, err := x.Extract(in)
		if err != nil {
			t.Fatal(err)
		}
		want, err := newExtractor(t, allOptions()).Extract(in)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", s, d)
		}
	}
}
