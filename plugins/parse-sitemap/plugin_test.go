package parsesitemap_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	parsesitemap "github.com/gonutch/crawler/plugins/parse-sitemap"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/model"
)

const url = "http://a.example/maps/sitemap.xml"

func parse(t testing.TB, own string, c model.Content) model.Parse {
	t.Helper()
	if c.URL == "" {
		c.URL, c.Base = url, url
	}
	out, err := libtest.Must(t, parsesitemap.Plugin(), own).Parser.Parse(t.Context(), &parser.Input{Content: c})
	if err != nil {
		t.Fatal(err)
	}
	return out.Parses[0]
}

func gz(t testing.TB, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// line writes a link and its metadata in one line.
func line(l *model.Outlink) string {
	s := l.URL
	for _, k := range l.Metadata.Keys() {
		s += " " + strings.TrimPrefix(k, "sitemap.") + "=" + l.Metadata.First(k)
	}
	return s
}

// Cases are from the protocol's page, sitemaps.org/protocol.html, and from what
// nutch.md 6.20 says of values.
func TestParse(t *testing.T) {
	const ns = `xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"`
	for _, c := range []struct {
		name, own, body string
		want            []string
		meta            string
	}{
		{
			name: "urlset", body: `<?xml version="1.0" encoding="UTF-8"?><urlset ` + ns + `><url><loc> http://a.example/?a=1&amp;b=2 </loc><lastmod>2005-01-01</lastmod><changefreq>Monthly</changefreq><priority>0.80</priority></url><url><loc>http://a.example/2</loc></url></urlset>`,
			want: []string{"http://a.example/?a=1&b=2 changefreq=monthly lastmod=2005-01-01 priority=0.8", "http://a.example/2"}, meta: "sitemap=urlset",
		},
		{
			name: "index", body: `<sitemapindex ` + ns + `><sitemap><loc>http://a.example/1.xml.gz</loc><lastmod>2004-10-01T18:23:17+00:00</lastmod></sitemap><sitemap><loc>/2.xml</loc></sitemap></sitemapindex>`,
			want: []string{"http://a.example/1.xml.gz lastmod=2004-10-01T18:23:17+00:00", "http://a.example/2.xml"}, meta: "sitemap=sitemapindex",
		},
		{name: "bad values", body: `<urlset><url><loc>http://a.example/1</loc><priority>7</priority><changefreq>soon</changefreq></url></urlset>`, want: []string{"http://a.example/1"}, meta: "sitemap=urlset"},
		{name: "prefixed names", body: `<s:urlset xmlns:s="x"><s:url><s:loc>http://a.example/1</s:loc></s:url></s:urlset>`, want: []string{"http://a.example/1"}, meta: "sitemap=urlset"},
		{name: "twice", body: `<urlset><url><loc>http://a.example/1</loc></url><url><loc>http://a.example/1</loc></url></urlset>`, want: []string{"http://a.example/1"}, meta: "sitemap=urlset"},
		{
			name: "alternates and images", body: `<urlset xmlns:xhtml="h" xmlns:image="i"><url><loc>http://a.example/en</loc><xhtml:link rel="alternate" hreflang="de" href="http://a.example/de"/><image:image><image:loc>http://a.example/i.png</image:loc></image:image></url></urlset>`,
			want: []string{"http://a.example/en", "http://a.example/de"}, meta: "sitemap=urlset",
		},
		{name: "no alternates", own: `{"alternates": false}`, body: `<urlset><url><loc>http://a.example/en</loc><link rel="alternate" href="http://a.example/de"/></url></urlset>`, want: []string{"http://a.example/en"}, meta: "sitemap=urlset"},
		{
			name: "strict", own: `{"strict": true}`, body: `<urlset><url><loc>http://a.example/maps/1</loc></url><url><loc>http://a.example/2</loc></url><url><loc>http://b.example/maps/3</loc></url></urlset>`,
			want: []string{"http://a.example/maps/1"}, meta: "sitemap=urlset sitemap.outside=2",
		},
		{
			name: "limit", own: `{"max_urls": 1}`, body: `<urlset><url><loc>http://a.example/1</loc></url><url><loc>http://a.example/2</loc></url></urlset>`,
			want: []string{"http://a.example/1"}, meta: "outlinks.dropped.limit=1 sitemap=urlset",
		},
		{name: "no web address", body: `<urlset><url><loc>javascript:x</loc></url><url><loc></loc></url><url></url><url><loc>` + url + `</loc></url></urlset>`, meta: "outlinks.dropped.unusable=2 sitemap=urlset"},
		{
			name: "rss", body: `<rss><channel><link>http://a.example/</link><item><link>http://a.example/1</link><pubDate>Mon, 02 Jan 2023 10:00:00 GMT</pubDate></item></channel></rss>`,
			want: []string{"http://a.example/1 lastmod=Mon, 02 Jan 2023 10:00:00 GMT"}, meta: "sitemap=rss",
		},
		{
			name: "atom", body: `<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://a.example/"/><entry><link rel="self" href="/s"/><link href="/1"/><updated>2023-01-02T00:00:00Z</updated></entry></feed>`,
			want: []string{"http://a.example/1 lastmod=2023-01-02T00:00:00Z"}, meta: "sitemap=atom",
		},
		{name: "text", body: "http://a.example/1\r\n\r\n  https://a.example/2\n", want: []string{"http://a.example/1", "https://a.example/2"}, meta: "sitemap=text"},
		{name: "gzip", body: string(gz(t, `<urlset><url><loc>http://a.example/1</loc></url></urlset>`)), want: []string{"http://a.example/1"}, meta: "sitemap=urlset"},
		{name: "cut", body: `<urlset><url><loc>http://a.example/1</loc></url><url><loc>http://a.exa`, want: []string{"http://a.example/1"}, meta: "parse.truncated=unclosed sitemap=urlset"},
		{name: "cut gzip", body: string(gz(t, `<urlset><url><loc>http://a.example/1</loc></url></urlset>`)[:60]), want: []string{"http://a.example/1"}, meta: "parse.truncated=gzip sitemap=urlset"},
		{name: "too large", own: `{"max_size": "1KiB"}`, body: `<urlset><url><loc>http://a.example/1</loc></url>` + strings.Repeat(" ", 2000) + `<url><loc>http://a.example/2</loc></url></urlset>`, want: []string{"http://a.example/1"}, meta: "parse.truncated=size sitemap=urlset"},
		{name: "empty", body: `<urlset/>`, meta: "sitemap=urlset"},
	} {
		got := parse(t, c.own, model.Content{Body: []byte(c.body)})
		if !got.Status.OK() || !got.Robots.NoIndex {
			t.Errorf("%s: %v, %v", c.name, got.Status, got.Robots)
			continue
		}
		var lines []string
		for i := range got.Outlinks {
			lines = append(lines, line(&got.Outlinks[i]))
		}
		if d := cmp.Diff(c.want, lines); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		var meta []string
		for _, k := range got.ParseMeta.Keys() {
			meta = append(meta, k+"="+strings.Join(got.ParseMeta[k], ","))
		}
		if strings.Join(meta, " ") != c.meta {
			t.Errorf("%s: metadata %v, want %s", c.name, meta, c.meta)
		}
	}
}

func TestNoSitemap(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"xml":      {"<project><url><loc>http://a.example/</loc></url></project>", "it is no sitemap"},
		"html":     {"<html><body>Not found</body></html>", "it is no sitemap"},
		"words":    {"http://a.example/1\nand some words", "it is no sitemap"},
		"empty":    {"", "it is no sitemap"},
		"bad gzip": {"\x1f\x8b\x00\x00", "sitemap: "},
		"tarball":  {string(gz(t, "file\x00\x00 http://a.example/")), "it is no sitemap"},
		"entities": {"<!DOCTYPE u [<!ENTITY a 'b'>]><urlset/>", "declares entities"},
		"too deep": {"<urlset>" + strings.Repeat("<url>", 300), "nested more than"},
	} {
		if got := parse(t, "", model.Content{Body: []byte(c.body)}); got.Status.OK() || !strings.Contains(got.Status.Message, c.want) {
			t.Errorf("%s: %v", name, got.Status)
		}
	}
}

// TestBomb: what is unpacked of a gzip bomb ends at the size limit.
func TestBomb(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	chunk := []byte(strings.Repeat("<url><loc>http://a.example/1</loc></url>\n", 1<<15))
	_, _ = w.Write([]byte("<urlset>"))
	for range 64 << 20 / len(chunk) {
		_, _ = w.Write(chunk)
	}
	_ = w.Close()
	got := parse(t, `{"max_size": "4MiB"}`, model.Content{Body: b.Bytes()})
	if !got.Status.OK() || got.ParseMeta.First("parse.truncated") != "size" || len(got.Outlinks) != 1 {
		t.Errorf("%v, %d links, %v", got.Status, len(got.Outlinks), got.ParseMeta)
	}
}

func TestRealDocuments(t *testing.T) {
	dir := libtest.Hugo(t)
	docs := []libtest.Real{{Format: "sitemap index", Path: filepath.Join(dir, "sitemap.xml"), Title: "Sitemap", Link: libtest.HugoBase + "fr/sitemap.xml"}}
	for _, lang := range libtest.Languages() {
		plain := filepath.Join(dir, lang, "sitemap.xml")
		docs = append(docs, libtest.Real{Format: "sitemap", Path: plain, Title: "Sitemap", Link: libtest.HugoBase + lang + "/gofeed/"},
			libtest.Real{Format: "sitemap of RSS", Path: filepath.Join(dir, lang, "index.xml"), Title: "Sitemap", Link: libtest.HugoBase + lang + "/parse/"})
		raw, err := os.ReadFile(plain)
		if err != nil {
			t.Fatal(err)
		}
		packed := filepath.Join(dir, lang, "sitemap.xml.gzip") // an ending that the test does not unpack
		if err := os.WriteFile(packed, gz(t, string(raw)), 0o600); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, libtest.Real{Format: "sitemap, gzip", Path: packed, Title: "Sitemap", Link: libtest.HugoBase + lang + "/cascadia/"})
	}
	libtest.RealDocuments(t, libtest.Must(t, parsesitemap.Plugin(), "").Parser, docs, 1)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("<urlset><url><loc>http://a.example/</loc><priority>1</priority></url></urlset>"))
	f.Add([]byte("<feed><entry><link href='x'/></entry></feed>"))
	f.Add([]byte("http://a.example/1\n"))
	p := libtest.Must(f, parsesitemap.Plugin(), `{"max_size": "64KiB"}`).Parser
	f.Fuzz(func(t *testing.T, body []byte) {
		out, err := p.Parse(t.Context(), &parser.Input{Content: model.Content{URL: url, Base: url, Body: body}})
		if err != nil || len(out.Parses) != 1 {
			t.Fatal(err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	var body bytes.Buffer
	body.WriteString("<urlset>")
	for i := range 10_000 {
		fmt.Fprintf(&body, "<url><loc>http://a.example/section/page-%d.html</loc><lastmod>2024-01-02T03:04:05Z</lastmod><priority>0.5</priority></url>\n", i)
	}
	body.WriteString("</urlset>")
	p := libtest.Must(b, parsesitemap.Plugin(), "").Parser
	c := model.Content{URL: url, Base: url, Body: body.Bytes()}
	b.SetBytes(int64(body.Len()))
	for b.Loop() {
		if _, err := p.Parse(b.Context(), &parser.Input{Content: c}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}
