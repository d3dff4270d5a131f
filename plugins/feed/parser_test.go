package feed_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/feed"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/model"
)

const url = "http://news.example/feed"

func parse(t testing.TB, own string, c model.Content) *parser.Output {
	t.Helper()
	if c.URL == "" {
		c.URL, c.Base = url, url
	}
	out, err := libtest.Must(t, feed.Plugin(), own).Parser.Parse(t.Context(), &parser.Input{Content: c})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func links(p *model.Parse) string {
	var s []string
	for _, l := range p.Outlinks {
		s = append(s, l.URL)
	}
	return strings.Join(s, " ")
}

const rss = `<?xml version="1.0"?><!-- made by hand --><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/">
<channel><title>News &amp; Views</title><link>http://news.example/</link><description>All of &lt;b&gt;it&lt;/b&gt;</description><language>en</language>
<item><title>One</title><link>/1</link><description>short</description><content:encoded><![CDATA[<p>Long <a href="/more">text</a></p><p>two</p>]]></content:encoded>
<dc:creator>Ann</dc:creator><category>a</category><category>b</category><pubDate>Mon, 02 Jan 2023 10:00:00 GMT</pubDate><enclosure url="http://cdn.example/1.mp3" type="audio/mpeg" length="1"/></item>
<item><guid isPermaLink="false">tag:2</guid><title>Two</title><description>no link</description></item>
<item><title>Three</title><link>javascript:alert(1)</link><description>bad link</description></item>
</channel></rss>`

func TestRSS(t *testing.T) {
	out := parse(t, "", model.Content{Body: []byte(rss), MIMEType: "application/rss+xml"})
	want := []model.Parse{
		{
			URL: url, Status: model.ParseStatus{Major: model.ParseSuccess}, Title: "News & Views", Text: "News & Views\nAll of it\nOne\nTwo\nThree", Language: "en",
			Charset: "utf-8", ParseMeta: model.Metadata{},
			Outlinks: []model.Outlink{
				{URL: "http://news.example/", Anchor: "News & Views", Tag: "a"},
				{URL: "http://news.example/1", Anchor: "One", Tag: "a"},
				{URL: "http://news.example/more", Anchor: "text", Tag: "a"},
			},
		},
		{
			URL: "http://news.example/1", Status: model.ParseStatus{Major: model.ParseSuccess}, Title: "One", Text: "One\nLong text\ntwo", Language: "en",
			ContentMeta: model.Metadata{"Content-Type": {"text/html"}},
			ParseMeta: model.Metadata{
				"feed": {"http://news.example/"}, "feed.title": {"News & Views"}, "author": {"Ann"}, "tag": {"a", "b"}, "published": {"1672653600000"},
			},
		},
		{
			URL: url + "#tag:2", Status: model.ParseStatus{Major: model.ParseSuccess}, Title: "Two", Text: "Two\nno link", Language: "en",
			ContentMeta: model.Metadata{"Content-Type": {"text/html"}},
			ParseMeta:   model.Metadata{"feed": {"http://news.example/"}, "feed.title": {"News & Views"}},
		},
		{
			URL: url + "#4b8e8e3b2b1a5c3e", Status: model.ParseStatus{Major: model.ParseSuccess}, Title: "Three", Text: "Three\nbad link", Language: "en",
			ContentMeta: model.Metadata{"Content-Type": {"text/html"}},
			ParseMeta:   model.Metadata{"feed": {"http://news.example/"}, "feed.title": {"News & Views"}},
		},
	}
	if len(out.Parses) == 4 { // an entry that names itself by its hash
		want[3].URL = out.Parses[3].URL
		if !strings.HasPrefix(want[3].URL, url+"#") || len(want[3].URL) != len(url)+17 {
			t.Errorf("URL %s", want[3].URL)
		}
	}
	if d := cmp.Diff(want, out.Parses); d != "" {
		t.Error(d)
	}
}

func TestSettings(t *testing.T) {
	c := model.Content{Body: []byte(rss)}
	if out := parse(t, `{"entries": "links", "enclosures": true, "content_links": false}`, c); len(out.Parses) != 1 ||
		links(&out.Parses[0]) != "http://news.example/ http://news.example/1 http://cdn.example/1.mp3" {
		t.Errorf("%d parses, links %s", len(out.Parses), links(&out.Parses[0]))
	}
	if out := parse(t, `{"max_entries": 1}`, c); len(out.Parses) != 2 || out.Parses[0].ParseMeta.First("feed.dropped.limit") != "2" {
		t.Errorf("%d parses, %v", len(out.Parses), out.Parses[0].ParseMeta)
	}
	if out := parse(t, `{"outlinks_max": 1}`, c); len(out.Parses[0].Outlinks) != 1 || out.Parses[0].ParseMeta.First("outlinks.dropped.limit") != "2" {
		t.Errorf("%v", out.Parses[0])
	}
}

func TestFormats(t *testing.T) {
	for _, c := range []struct{ name, header, body, title, entry, text, links string }{
		{
			"atom", "application/atom+xml", `<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de"><title>A</title><link href="http://news.example/"/><link rel="self" href="http://news.example/feed"/>
			<entry><title type="html">&lt;i&gt;E&lt;/i&gt;</title><id>urn:1</id><link href="e"/><author><name>Bo</name></author><updated>2023-01-02T03:04:05Z</updated><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>x <b>y</b></p></div></content></entry></feed>`,
			"A", "http://news.example/e", "E\nx y", "http://news.example/ http://news.example/e",
		},
		{
			"rss 1.0", "application/rdf+xml", `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel rdf:about="x"><title>R</title><link>http://news.example/</link></channel>
			<item rdf:about="http://news.example/i"><title>I</title><link>http://news.example/i</link><description>d</description></item></rdf:RDF>`,
			"R", "http://news.example/i", "I\nd", "http://news.example/ http://news.example/i",
		},
		{
			"json", "application/feed+json", `{"version": "https://jsonfeed.org/version/1.1", "title": "J", "home_page_url": "http://news.example/", "items": [{"id": "1", "url": "http://news.example/j", "title": "T", "content_text": "c"}]}`,
			"J", "http://news.example/j", "T\nc", "http://news.example/ http://news.example/j",
		},
		{
			"latin-1", "text/xml", "<?xml version='1.0' encoding='ISO-8859-1'?><rss><channel><title>Caf\xe9</title><item><link>http://news.example/l</link><title>\xfc</title></item></channel></rss>",
			"Café", "http://news.example/l", "ü", "http://news.example/l",
		},
		{
			"doctype of 0.91", "text/xml", `<?xml version="1.0"?><!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://my.netscape.com/publish/formats/rss-0.91.dtd"><rss version="0.91"><channel><title>O</title><item><link>http://news.example/o</link><title>o</title></item></channel></rss>`,
			"O", "http://news.example/o", "o", "http://news.example/o",
		},
	} {
		out := parse(t, "", model.Content{ContentType: c.header, Body: []byte(c.body)})
		main := &out.Parses[0]
		if !main.Status.OK() || main.Title != c.title || links(main) != c.links {
			t.Errorf("%s: %v, title %q, links %s", c.name, main.Status, main.Title, links(main))
			continue
		}
		if len(out.Parses) != 2 || out.Parses[1].URL != c.entry || out.Parses[1].Text != c.text {
			t.Errorf("%s: entries %+v", c.name, out.Parses[1:])
		}
	}
}

func TestNotAFeed(t *testing.T) {
	for body, want := range map[string]string{
		"":                                       "it is no RSS, Atom or JSON feed",
		"words":                                  "it is no RSS, Atom or JSON feed",
		"<urlset/>":                              "it is no RSS, Atom or JSON feed",
		"<html><body><rss></rss></html>":         "it is no RSS, Atom or JSON feed",
		`{"title": "x"}`:                         "it is no RSS, Atom or JSON feed",
		strings.Repeat("<rss>", 300):             "nested more than 256 deep",
		"<!DOCTYPE rss [<!ENTITY a 'b'>]><rss/>": "declares entities",
		`{"version": "https://jsonfeed.org/version/1", "items": [`: "feed: ",
	} {
		out := parse(t, "", model.Content{Body: []byte(body)})
		if p := out.Parses[0]; p.Status.OK() || p.Status.Minor != model.ParseFailedInvalidFormat || !strings.Contains(p.Status.Message, want) {
			t.Errorf("%.40s: %v", body, p.Status)
		}
	}
}

// TestTruncated: a feed that was cut off counts as far as it goes, and says so.
func TestTruncated(t *testing.T) {
	at := strings.Index(rss, "no link")
	out := parse(t, "", model.Content{Body: []byte(rss[:at]), Truncated: "length"})
	if len(out.Parses) != 3 || !out.Parses[0].Status.OK() || out.Parses[1].Title != "One" {
		t.Fatalf("%d parses, %v", len(out.Parses), out.Parses[0].Status)
	}
	if out.Parses[0].ParseMeta.First("parse.truncated") != "length" {
		t.Errorf("metadata %v", out.Parses[0].ParseMeta)
	}
}

func TestFilterDocument(t *testing.T) {
	out := parse(t, "", model.Content{Body: []byte(rss)})
	got := libtest.FilterDocument(t, feed.Plugin(), "", &indexingfilter.Input{Parse: out.Parses[1]})
	want := map[string][]string{
		"author": {"Ann"}, "tag": {"a", "b"}, "feed": {"http://news.example/"}, "feedTitle": {"News & Views"}, "publishedDate": {"2023-01-02T10:00:00Z"},
	}
	if d := cmp.Diff(want, got.Add); d != "" {
		t.Error(d)
	}
	if got := libtest.FilterDocument(t, feed.Plugin(), "", &indexingfilter.Input{Parse: model.Parse{ParseMeta: model.Metadata{"published": {"yesterday"}}}}); got.Add != nil {
		t.Errorf("a foreign date became %v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(rss))
	f.Add([]byte(`{"version": "https://jsonfeed.org/version/1", "items": [{"id": 1, "url": "x"}]}`))
	f.Add([]byte(`<feed><entry><link href="a"/><content type="html">&lt;p&gt;</content></entry></feed>`))
	p := libtest.Must(f, feed.Plugin(), "").Parser
	f.Fuzz(func(t *testing.T, body []byte) {
		out, err := p.Parse(t.Context(), &parser.Input{Content: model.Content{URL: url, Base: url, Body: body}})
		if err != nil || len(out.Parses) == 0 {
			t.Fatal(err)
		}
		for _, e := range out.Parses[1:] {
			if e.URL == "" || !e.Status.OK() {
				t.Fatalf("entry %+v", e)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	item := `<item><title>A title of some words</title><link>http://news.example/page</link><description>` +
		strings.Repeat("&lt;p&gt;Some text of the entry with a &lt;a href='/x'&gt;link&lt;/a&gt;.&lt;/p&gt;", 12) + `</description><pubDate>Mon, 02 Jan 2023 10:00:00 GMT</pubDate></item>`
	c := model.Content{URL: url, Base: url, Body: []byte("<rss><channel><title>T</title>" + strings.Repeat(item, 30) + "</channel></rss>")}
	p := libtest.Must(b, feed.Plugin(), "").Parser
	b.SetBytes(int64(len(c.Body)))
	for b.Loop() {
		if _, err := p.Parse(b.Context(), &parser.Input{Content: c}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}
