// Package mimetype decides what type a fetched document is. It owns the rule
// that settles a conflict between what the server says, what the bytes look
// like and what the URL ends in; it must not know parsers.
//
// The rule, first match wins:
//
//  1. A missing, malformed or generic type (application/octet-stream, */* …) is
//     replaced by what the bytes look like, and where these say nothing more
//     than "text" or "binary", by the URL's ending.
//  2. A type that only names a container (zip, XML, JSON, OLE) gives way to what the
//     container holds: an office document, a book, a feed, an image. So does the
//     type of another kind of such document (docx declared, xlsx inside).
//  3. Bytes with an unmistakable signature (PDF, ZIP, images, gzip …) win over a
//     text type. HTML bytes win over text/plain only when the URL says HTML, and over
//     a binary type that HTML can't be (an error page sent as application/pdf).
//     JSON and scripts are never told from text by their bytes alone: for text/plain
//     the URL must say so too.
//  4. Otherwise the server is believed.
package mimetype

import (
	"mime"
	"strings"

	"github.com/gabriel-vasile/mimetype"
)

// Names of types that more than one rule is about.
const (
	octets    = "application/octet-stream"
	html      = "text/html"
	plain     = "text/plain"
	jsonType  = "application/json"
	xmlType   = "application/xml"
	zipType   = "application/zip"
	oleType   = "application/x-ole-storage"
	xhtmlType = "application/xhtml+xml"
)

// Detect returns the MIME type of a document without parameters, in lower
// case. Magic false leaves the bytes out of the decision. Body may be cut off.
func Detect(header, rawURL string, body []byte, magic bool) string {
	declared := normalize(header)
	byName := fromName(rawURL)
	if !magic {
		return first(declared, byName, octets)
	}
	if strings.HasSuffix(declared, "html") && looksLikeMarkup(body) {
		return declared
	}
	sniffed := sniff(body)
	weak := sniffed == "" || sniffed == plain || sniffed == octets
	switch {
	case declared == "" && weak:
		return first(byName, sniffed, octets)
	case declared == "":
		return named(sniffed, byName)
	case weak:
		return believed(declared, sniffed, byName)
	case isContainer(declared) || isPacked(declared) && isPacked(sniffed):
		return inside(declared, sniffed, byName)
	case !isText(declared):
		if sniffed == html && hasSignature(declared) {
			return html
		}
		return declared
	case isText(sniffed):
		return believed(declared, sniffed, byName)
	}
	return named(sniffed, byName)
}

// believed returns the declared type, but for text/plain where URL and bytes agree
// on something else.
func believed(declared, sniffed, byName string) string {
	if declared != plain {
		return declared
	}
	switch {
	case byName == html && sniffed == html, byName == jsonType && sniffed == jsonType,
		byName == xmlType && isXML(sniffed), isXML(byName) && sniffed == byName,
		byName == "text/javascript", byName == "text/css", byName == "text/markdown", byName == "text/csv":
		return byName
	}
	return declared
}

// inside settles a declared container and what it holds.
func inside(declared, sniffed, byName string) string {
	switch {
	case sniffed == html || sniffed == zipType && isPacked(declared) && declared != zipType && !isZipAlias(declared):
		return declared // an XML page without a root of its own kind; a packed type whose inside doesn't show
	case sniffed == zipType, sniffed == oleType:
		if isPacked(byName) {
			return byName
		}
	case sniffed == xmlType && (declared == "text/xml" || declared == xmlType):
		return declared
	case sniffed == jsonType:
		return declared
	}
	return sniffed
}

// named lets the URL's ending tell what a container holds whose bytes don't.
func named(sniffed, byName string) string {
	if (sniffed == zipType || sniffed == oleType) && isPacked(byName) {
		return byName
	}
	return sniffed
}

// sniff returns what the bytes look like, "" for none.
func sniff(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	found := normalize(mimetype.Detect(head(body)).String())
	switch {
	case isPacked(found) || found == zipType:
		return first(zipHolds(body), found)
	case found == oleType || found == "application/msword" || found == "application/vnd.ms-excel" || found == "application/vnd.ms-powerpoint":
		return first(oleHolds(body), found)
	case isXML(found) || found == plain || found == html:
		return first(xmlHolds(body), jsonHolds(body), found)
	case found == jsonType:
		return first(jsonHolds(body), found)
	}
	return found
}

// isText reports whether a type's documents are text that bytes can't tell
// safely.
func isText(t string) bool {
	return strings.HasPrefix(t, "text/") || isXML(t) || t == jsonType || strings.HasSuffix(t, "+json") ||
		t == "application/javascript" || t == "application/x-javascript"
}

func isXML(t string) bool {
	return t == xmlType || t == "text/xml" || strings.HasSuffix(t, "+xml")
}

// isContainer reports whether a type says nothing of what is inside.
func isContainer(t string) bool {
	return t == xmlType || t == "text/xml" || t == jsonType || t == oleType || t == zipType || isZipAlias(t)
}

func isZipAlias(t string) bool {
	return t == "application/x-zip-compressed" || t == "application/x-zip"
}

// isPacked reports whether a type's documents are zip or OLE containers.
func isPacked(t string) bool {
	return strings.HasPrefix(t, "application/vnd.openxmlformats-") || strings.HasPrefix(t, "application/vnd.oasis.opendocument.") ||
		strings.HasPrefix(t, "application/vnd.ms-") || t == "application/msword" || t == "application/epub+zip" || t == "application/java-archive"
}

// hasSignature reports whether documents of a type start with bytes that HTML
// can't start with.
func hasSignature(t string) bool {
	switch t {
	case "application/pdf", zipType, "application/gzip", "application/x-gzip", "application/rtf":
		return true
	}
	return isPacked(t) || strings.HasPrefix(t, "image/") && t != "image/svg+xml" || strings.HasPrefix(t, "audio/") || strings.HasPrefix(t, "video/")
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
	case octets, "application/x-unknown", "application/unknown", "binary/octet-stream", "application/force-download",
		"application/x-download", "application/download", "unknown/unknown", "application/binary":
		return ""
	}
	return s
}

func first(s ...string) string {
	for _, v := range s {
		if v != "" {
			return v
		}
	}
	return ""
}

// byExtension asks the system's table, which differs between machines.
func byExtension(ext string) string { return normalize(mime.TypeByExtension(ext)) }
