// Package mimetype decides what type a fetched document is. It owns the rule
// that settles a conflict between what the server says, what the bytes look
// like and what the URL ends in; it must not know parsers.
//
// The rule: a specific Content-Type is believed, except that
//   - bytes with an unmistakable signature (PDF, ZIP, images, gzip …) win over a
//     text type, and HTML bytes win over text/plain only when the URL says HTML;
//   - a missing, malformed or generic type (application/octet-stream,
//     application/x-unknown, */*) is replaced by what the bytes look like, and
//     where these say nothing more than "text" or "binary", by the URL's ending.
package mimetype

import (
	"mime"
	"net/url"
	"path"
	"strings"

	"github.com/gabriel-vasile/mimetype"
)

// Detect returns the MIME type of a document without parameters, in lower
// case. Magic false leaves the bytes out of the decision. Body may be cut off.
func Detect(header, rawURL string, body []byte, magic bool) string {
	declared := normalize(header)
	byName := fromName(rawURL)
	if !magic {
		if declared != "" {
			return declared
		}
		return first(byName, "application/octet-stream")
	}
	if declared != "" && !strings.HasPrefix(declared, "text/") && declared != "application/xhtml+xml" {
		return declared
	}
	if strings.HasSuffix(declared, "html") && looksLikeMarkup(body) {
		return declared
	}
	sniffed := ""
	if len(body) > 0 {
		sniffed = normalize(mimetype.Detect(head(body)).String())
	}
	weak := sniffed == "" || sniffed == "text/plain" || sniffed == "application/octet-stream"
	switch {
	case declared == "":
		if weak {
			return first(byName, sniffed, "application/octet-stream")
		}
		return sniffed
	case weak, strings.HasPrefix(sniffed, "text/"), strings.HasSuffix(sniffed, "xml"), sniffed == "application/json", sniffed == "application/javascript":
		if declared == "text/plain" && sniffed == "text/html" && byName == "text/html" {
			return sniffed
		}
		return declared
	}
	return sniffed
}

// looksLikeMarkup reports whether the first byte that is not white space opens
// a tag: the common case, for which nothing needs to be sniffed.
func looksLikeMarkup(b []byte) bool {
	for i := 0; i < len(b) && i < 64; i++ {
		switch b[i] {
		case ' ', '\t', '\r', '\n', '\f':
		case '<':
			return true
		default:
			return false
		}
	}
	return false
}

func head(b []byte) []byte {
	if len(b) > 3072 {
		return b[:3072]
	}
	return b
}

// normalize returns the bare type, or "" when s says nothing useful.
func normalize(s string) string {
	s, _, _ = strings.Cut(s, ";")
	s = strings.ToLower(strings.TrimSpace(s))
	main, sub, ok := strings.Cut(s, "/")
	if !ok || main == "" || sub == "" || strings.ContainsAny(s, " *,\t\"") {
		return ""
	}
	switch s {
	case "application/octet-stream", "application/x-unknown", "application/unknown", "binary/octet-stream", "application/force-download":
		return ""
	}
	return s
}

// fromName goes by the ending of the URL's path. The few types a crawl meets
// most are named here because the system's table differs between machines.
func fromName(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	ext := strings.ToLower(path.Ext(u.Path))
	switch ext {
	case "", ".":
		return ""
	case ".html", ".htm", ".shtml", ".php", ".asp", ".aspx", ".jsp":
		return "text/html"
	case ".xhtml":
		return "application/xhtml+xml"
	case ".txt", ".text", ".md", ".log", ".rst":
		return "text/plain"
	case ".xml":
		return "application/xml"
	case ".rss":
		return "application/rss+xml"
	case ".atom":
		return "application/atom+xml"
	case ".pdf":
		return "application/pdf"
	case ".json":
		return "application/json"
	}
	return normalize(mime.TypeByExtension(ext))
}

func first(s ...string) string {
	for _, v := range s {
		if v != "" {
			return v
		}
	}
	return ""
}
