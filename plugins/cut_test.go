package plugins_test

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gonutch/crawler/plugins"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/model"
)

// cutDocument is a whole document, the plugin that reads it, and the share of it from which on some of its
// text (or, for images, its size) must be found when the rest is cut off; 0 is never.
type cutDocument struct {
	plugin, mime string
	body         []byte
	from         float64
	words        string // found in whole documents; the text or title of a cut one is of the same kind
	cuts         int    // how many more cuts are tried for links that the whole document has not; 0 for a hundred
}

// realCutDocuments are documents that this project did not make; those that this machine lacks are left out.
func realCutDocuments(t *testing.T) map[string]cutDocument {
	t.Helper()
	images := filepath.Join(libtest.ModuleDir(t, "github.com/bep/imagemeta"), "testdata", "images")
	const office = "application/vnd.openxmlformats-officedocument."
	out := map[string]cutDocument{}
	type row struct {
		path, plugin, mime, words string
		from                      float64
	}
	rows := []row{
		{"/usr/share/doc/shared-mime-info/shared-mime-info-spec.pdf", "parse-pdf", "application/pdf", "MIME", 0.25},
		{images + "/bep/sunrise.tif", "parse-image", "image/tiff", "", 0.001},
		{images + "/bep/sunrise.webp", "parse-image", "image/webp", "", 0.001},
		{images + "/bep/sunrise.avif", "parse-image", "image/avif", "", 0.1},
		{images + "/iphone.heic", "parse-image", "image/heic", "", 0.1},
		{filepath.Join(libtest.ModuleDir(t, "github.com/gabriel-vasile/mimetype"), "testdata", "xlsx.xlsx"), "parse-office", office + "spreadsheetml.sheet", "example", 0.9},
	}
	types := map[string]row{
		"docx": {mime: office + "wordprocessingml.document", from: 0.5}, "odt": {mime: "application/vnd.oasis.opendocument.text", from: 0.75},
		"epub": {mime: "application/epub+zip", from: 0.75}, "pptx": {mime: office + "presentationml.presentation", from: 0.9}, "rtf": {mime: "application/rtf", from: 0.1},
	}
	for _, d := range libtest.Converted(t, slices.Sorted(maps.Keys(types)), libtest.PythonPages()[:1]) {
		r := types[d.Format]
		r.path, r.plugin, r.words = d.Path, "parse-office", "fnmatch"
		rows = append(rows, r)
	}
	for _, d := range rows {
		body, err := libtest.ReadFile(d.path)
		if err != nil {
			t.Logf("not on this machine, .ci/run installs it: %s", d.path)
			continue
		}
		out[filepath.Base(d.path)] = cutDocument{plugin: d.plugin, mime: d.mime, body: body, from: d.from, words: d.words, cuts: 6}
	}
	return out
}

func cutDocuments(t *testing.T) map[string]cutDocument {
	t.Helper()
	paragraph := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 20)
	html := "<html><head><title>Foxes</title></head><body>" + strings.Repeat("<p>"+paragraph+"</p><a href='/next/page/of/foxes'>next</a>", 20) + "</body></html>"
	items := strings.Repeat("<item><title>Fox</title><link>http://a.org/1</link><description>"+paragraph+"</description></item>", 20)
	entries := strings.Repeat("<entry><title>Fox</title><link href='http://a.org/1'/><summary>"+paragraph+"</summary></entry>", 20)
	jsonItems := strings.Repeat(`{"id":"1","url":"http://a.org/1","title":"Fox","content_text":"`+paragraph+`"},`, 20)
	urls := strings.Repeat("<url><loc>http://a.org/fox</loc></url>", 50)
	document := `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>` +
		strings.Repeat("<w:p><w:r><w:t>"+paragraph+"</w:t></w:r></w:p>", 20) + "</w:body></w:document>"
	var inside []string
	for i := range 20 { // each packed for itself, so that a cut leaves whole ones
		inside = append(inside, fmt.Sprintf("f%d.txt", i), paragraph+fmt.Sprint(rand.New(rand.NewPCG(1, uint64(i))).Perm(300))) //nolint:gosec // the same each time
	}
	return map[string]cutDocument{
		"html":          {plugin: "parse-html", mime: "text/html", body: []byte(html), from: 0.1, words: "quick brown fox"},
		"text":          {plugin: "parse-text", mime: "text/plain", body: []byte(strings.Repeat(paragraph+"See http://a.org/foxes/and/dogs.\n", 20)), from: 0.1, words: "quick brown fox"},
		"xml":           {plugin: "parse-xml", mime: "application/xml", body: []byte("<doc>" + strings.Repeat("<p>"+paragraph+"</p>", 20) + "</doc>"), from: 0.1, words: "quick brown fox"},
		"rss":           {plugin: "feed", mime: "application/rss+xml", body: []byte("<rss version='2.0'><channel><title>Foxes</title><link>http://a.org/</link>" + items + "</channel></rss>"), from: 0.1, words: "Fox"},
		"atom":          {plugin: "feed", mime: "application/atom+xml", body: []byte("<feed xmlns='http://www.w3.org/2005/Atom'><title>Foxes</title>" + entries + "</feed>"), from: 0.1, words: "Fox"},
		"json feed":     {plugin: "feed", mime: "application/feed+json", body: []byte(`{"version":"https://jsonfeed.org/version/1.1","title":"Foxes","items":[` + strings.TrimSuffix(jsonItems, ",") + "]}"), from: 0, words: "Fox"},
		"sitemap":       {plugin: "parse-sitemap", mime: "application/xml", body: []byte("<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>" + urls + "</urlset>"), from: 0.1, words: ""},
		"sitemap, text": {plugin: "parse-sitemap", mime: "text/plain", body: []byte(strings.Repeat("http://a.org/foxes\nhttp://a.org/dogs\n", 40)), from: 0.1, words: ""},
		"zip":           {plugin: "parse-zip", mime: "application/zip", body: libtest.Zip(t, inside...), from: 0.25, words: "quick brown fox"},
		"gzip":          {plugin: "parse-zip", mime: "application/gzip", body: libtest.Gzip(t, []byte(strings.Join(inside, "\n"))), from: 0.25, words: "quick brown fox"},
		"tar.gz":        {plugin: "parse-zip", mime: "application/gzip", body: libtest.Gzip(t, libtest.Tar(t, inside...)), from: 0.25, words: "quick brown fox"},
		"docx": {plugin: "parse-office", mime: "application/vnd.openxmlformats-officedocument.wordprocessingml.document", from: 0.5, words: "quick brown fox", body: libtest.Zip(t,
			"[Content_Types].xml", `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
			"_rels/.rels", `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
			"word/document.xml", document, "word/media/x.bin", fmt.Sprint(rand.New(rand.NewPCG(1, 1)).Perm(5000)))}, //nolint:gosec // the same each time
		"rtf":  {plugin: "parse-office", mime: "application/rtf", body: []byte(`{\rtf1\ansi ` + strings.Repeat(paragraph+`\par `, 20) + "}"), from: 0.25, words: "quick brown fox"},
		"svg":  {plugin: "parse-image", mime: "image/svg+xml", body: []byte("<svg xmlns='http://www.w3.org/2000/svg' width='10' height='20'><title>Fox</title>" + strings.Repeat("<text>"+paragraph+"</text>", 20) + "</svg>"), from: 0.1, words: "Fox"},
		"png":  {plugin: "parse-image", mime: "image/png", body: picture(t, func(b *bytes.Buffer, m image.Image) error { return png.Encode(b, m) }), from: 0.1, words: ""},
		"jpeg": {plugin: "parse-image", mime: "image/jpeg", body: picture(t, func(b *bytes.Buffer, m image.Image) error { return jpeg.Encode(b, m, nil) }), from: 0.5, words: ""},
		"gif":  {plugin: "parse-image", mime: "image/gif", body: picture(t, func(b *bytes.Buffer, m image.Image) error { return gif.Encode(b, m, nil) }), from: 0.5, words: ""},
		"js":   {plugin: "parse-js", mime: "text/javascript", body: []byte(strings.Repeat("var u = 'http://a.org/fox';\n", 100)), from: 0.1, words: ""},
	}
}

func picture(t *testing.T, encode func(*bytes.Buffer, image.Image) error) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 64, 48))
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	for i := range 64 * 48 {
		m.Set(i%64, i/64, color.RGBA{uint8(r.IntN(256)), uint8(i), 0, 255}) //nolint:gosec // any colour
	}
	var b bytes.Buffer
	if err := encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCutDocuments: a document whose end was cut off, as http.content_limit does, is read as far as it goes, or
// fails as truncated: never as invalid, never without a reason, never by an error of the plugin. (The step parse marks
// it as truncated in any case.)
func TestCutDocuments(t *testing.T) {
	parsers := map[string]parser.Parser{}
	documents := cutDocuments(t)
	maps.Copy(documents, realCutDocuments(t))
	for _, p := range plugins.Builtins() {
		m := libtest.Manifest(t, p)
		for _, d := range documents {
			if d.plugin == m.ID && parsers[m.ID] == nil {
				ext := libtest.Must(t, p, "")
				parsers[m.ID] = ext.Parser
				if ext.Close != nil {
					t.Cleanup(func() { _ = ext.Close() })
				}
			}
		}
	}
	for name, d := range documents {
		var last *parser.Output
		links := map[string]bool{} // of the whole document
		read := func(body []byte, truncated string) (told bool) {
			t.Helper()
			out, err := parsers[d.plugin].Parse(t.Context(), &parser.Input{Content: model.Content{
				URL: "http://a.org/doc", Base: "http://a.org/doc", MIMEType: d.mime, ContentType: d.mime, Body: body, Truncated: truncated,
			}})
			if err != nil {
				t.Errorf("%s, %d of %d bytes: %v", name, len(body), len(d.body), err)
				return false
			}
			last = out
			for _, p := range out.Parses {
				if !p.Status.OK() && (p.Status.Minor != model.ParseFailedTruncated || p.Status.Message == "") {
					t.Errorf("%s, %d of %d bytes: %v", name, len(body), len(d.body), p.Status)
				}
				for _, l := range p.Outlinks {
					if truncated == "" {
						links[l.URL] = true
					} else if !links[l.URL] {
						t.Errorf("%s, %d of %d bytes: link %s, which the whole document has not", name, len(body), len(d.body), l.URL)
					}
				}
				text := p.Title + " " + p.Text
				told = told || p.Status.OK() && (d.words != "" && strings.Contains(text, d.words) || d.words == "" && (len(p.Outlinks) > 0 || len(p.ParseMeta) > 0))
			}
			for _, m := range out.Members {
				told = told || bytes.Contains(m.Body, []byte(d.words))
			}
			return told
		}
		if !read(d.body, "") {
			t.Errorf("%s: nothing is told of the whole document", name)
		}
		for _, share := range []float64{0, 0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999} {
			told := read(d.body[:int(share*float64(len(d.body)))], "length")
			if want := d.from > 0 && share >= d.from; want && !told {
				t.Errorf("%s: nothing is told of a document cut at %v of its length: %+v", name, share, last)
			}
		}
		for n := 1; n < len(d.body) && len(links) > 0; n += len(d.body)/cmp.Or(d.cuts, 100) + 1 {
			read(d.body[:n], "length")
		}
	}
}
