package mimetype_test

import (
	"testing"

	"github.com/gonutch/crawler/core/internal/mimetype"
)

func TestDetect(t *testing.T) {
	html := "<!DOCTYPE html><html><head><title>x</title></head>"
	pdf := "%PDF-1.7\n%\xe2\xe3"
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
		{"nonsense", "http://a/x.md", "words", true, "text/plain"},
		{"application/octet-stream", "http://a/x.bin", "\x00\x01\x02", true, "application/octet-stream"},
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
