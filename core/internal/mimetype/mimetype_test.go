package mimetype_test

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"

	"github.com/gonutch/crawler/core/internal/mimetype"
)

// zipped is a container whose first file is not compressed.
func zipped(t *testing.T, parts ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		h := &zip.FileHeader{Name: parts[i], Method: zip.Deflate}
		if i == 0 {
			h.Method = zip.Store
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(parts[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDetect(t *testing.T) {
	html := "<!DOCTYPE html><html><head><title>x</title></head>"
	pdf := "%PDF-1.7\n%\xe2\xe3"
	const ooxml = "application/vnd.openxmlformats-officedocument."
	docx := zipped(t, "[Content_Types].xml", strings.Repeat("types ", 2000), "word/document.xml", "x")
	odt := zipped(t, "mimetype", "application/vnd.oasis.opendocument.text", "content.xml", "x")
	epub := zipped(t, "mimetype", "application/epub+zip", "META-INF/container.xml", "x")
	ole := "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 600)
	for _, c := range []struct {
		header, url, body string
		magic             bool
		want              string
	}{
		{"text/html; charset=utf-8", "http://a/", html, true, "text/html"},
		{"Text/HTML", "http://a/x.pdf", html, true, "text/html"},
		{"text/html", "http://a/x", pdf, true, "application/pdf"},
		{"text/html", "http://a/x", pdf, false, "text/html"},
		{"text/plain", "http://a/x.txt", html, true, "text/plain"},
		{"text/plain", "http://a/x.html", html, true, "text/html"},
		{"text/html", "http://a/x", "just words", true, "text/html"},
		{"text/html", "http://a/", "", true, "text/html"},
		{"text/html", "http://a/", "<?xml version=\"1.0\"?><html xmlns=\"http://www.w3.org/1999/xhtml\">", true, "text/html"},
		{"application/json", "http://a/", html, true, "application/json"},
		{"", "http://a/", html, true, "text/html"},
		{"", "file:///a/b.txt", "words", true, "text/plain"},
		{"", "file:///a/b.html", "words without tags", true, "text/html"},
		{"", "http://a/b", "words", true, "text/plain"},
		{"", "http://a/b.html", "", false, "text/html"},
		{"", "http://a/b", "", false, "application/octet-stream"},
		{"application/octet-stream", "http://a/", html, true, "text/html"},
		{"*/*", "http://a/", html, true, "text/html"},
		{"nonsense", "http://a/x.md", "words", true, "text/markdown"},
		{"application/octet-stream", "http://a/x.bin", "\x00\x01\x02", true, "application/octet-stream"},
		// What a container holds.
		{"application/zip", "http://a/x", docx, true, ooxml + "wordprocessingml.document"},
		{"", "http://a/x", docx, true, ooxml + "wordprocessingml.document"},
		{"application/octet-stream", "http://a/x.docx", docx, true, ooxml + "wordprocessingml.document"},
		{"text/plain", "http://a/x", docx, true, ooxml + "wordprocessingml.document"},
		{"application/msword", "http://a/x.doc", docx, true, ooxml + "wordprocessingml.document"},
		{ooxml + "wordprocessingml.document", "http://a/x", docx, true, ooxml + "wordprocessingml.document"},
		{"application/zip", "http://a/x.xlsx", zipped(t, "a.txt", "x"), true, ooxml + "spreadsheetml.sheet"},
		{"application/zip", "http://a/x.zip", zipped(t, "a.txt", "x"), true, "application/zip"},
		{"", "http://a/x", odt, true, "application/vnd.oasis.opendocument.text"},
		{"application/x-zip-compressed", "http://a/x", epub, true, "application/epub+zip"},
		{"", "http://a/x", ole + "W\x00o\x00r\x00d\x00D\x00o\x00c\x00u\x00m\x00e\x00n\x00t\x00", true, "application/msword"},
		{"", "http://a/x.docx", ole, true, ooxml + "wordprocessingml.document"},
		{"application/vnd.ms-excel", "http://a/x.xls", html, true, "text/html"},
		{"application/pdf", "http://a/x.pdf", html, true, "text/html"},
		{"application/pdf", "http://a/x.pdf", "no PDF at all", true, "application/pdf"},
		// Feeds, XML, SVG.
		{"text/xml", "http://a/x", "<?xml version='1.0'?><rss version='2.0'>", true, "application/rss+xml"},
		{"application/xml", "http://a/x", "<?xml version='1.0'?><!-- c --><feed xmlns='http://www.w3.org/2005/Atom'>", true, "application/atom+xml"},
		{"text/xml", "http://a/x", "<rdf:RDF xmlns:rdf='r' xmlns='http://purl.org/rss/1.0/'>", true, "application/rss+xml"},
		{"text/xml", "http://a/x", "<?xml version='1.0'?><urlset>", true, "text/xml"},
		{"text/xml", "http://a/x", "<?xml version='1.0'?><other>", true, "text/xml"},
		{"application/xml", "http://a/x", "<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'>", true, "image/svg+xml"},
		{"image/svg+xml", "http://a/x.svg", "<svg>", true, "image/svg+xml"},
		{"text/html", "http://a/x", "<?xml version='1.0'?><rss>", true, "text/html"},
		{"application/xml", "http://a/x", "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>", true, "application/xhtml+xml"},
		{"", "http://a/x.rss", "<?xml version='1.0'?><rss>", true, "application/rss+xml"},
		{"application/rss+xml", "http://a/x", "<?xml version='1.0'?><rss>", true, "application/rss+xml"},
		// JSON and scripts.
		{"application/json", "http://a/x", `{"version": "https://jsonfeed.org/version/1.1"}`, true, "application/feed+json"},
		{"text/plain", "http://a/x.json", `{"a": 1}`, true, "application/json"},
		{"text/plain", "http://a/x", `{"a": 1}`, true, "text/plain"},
		{"text/plain", "http://a/x.js", "var a = 1", true, "text/javascript"},
		{"text/javascript", "http://a/x.js", "<html>", true, "text/javascript"},
		{"", "http://a/x.js", "var a = 1", true, "text/javascript"},
		// Images.
		{"text/html", "http://a/x", "\x89PNG\r\n\x1a\n", true, "image/png"},
		{"image/png", "http://a/x.png", html, true, "text/html"},
		{"application/octet-stream", "http://a/x.rtf", "{\\rtf1", true, "text/rtf"},
	} {
		if got := mimetype.Detect(c.header, c.url, []byte(c.body), c.magic); got != c.want {
			t.Errorf("Detect(%q, %q, %.12q, %v) = %q, want %q", c.header, c.url, c.body, c.magic, got, c.want)
		}
	}
}

func FuzzDetect(f *testing.F) {
	f.Add("text/html", "http://a/b.html", []byte("<html>"))
	f.Fuzz(func(t *testing.T, header, url string, body []byte) {
		if mimetype.Detect(header, url, body, true) == "" {
			t.Error("no type")
		}
	})
}
