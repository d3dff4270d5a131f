package mimetype

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"strings"
)

// near is how much of a container's beginning and end is looked at: names of files
// are at both ends.
const near = 64 << 10

const (
	ooxml = "application/vnd.openxmlformats-officedocument."
	odf   = "application/vnd.oasis.opendocument."
)

// zipHolds returns the type of the document that a zip container is, or "".
func zipHolds(b []byte) string {
	const header = 30
	if len(b) < header || string(b[:4]) != "PK\x03\x04" {
		return ""
	}
	// OpenDocument and EPUB say it in their first file, which is not compressed
	// (OpenDocument 1.3 part 2, 3.3; EPUB 3.3, 4.2.3).
	n := int(binary.LittleEndian.Uint16(b[26:])) + int(binary.LittleEndian.Uint16(b[28:]))
	if bytes.HasPrefix(b[header:], []byte("mimetype")) && len(b) > header+n {
		said := b[header+n : min(len(b), header+n+100)]
		end := bytes.IndexFunc(said, func(c rune) bool {
			return !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '/' || c == '-' || c == '+')
		})
		if end > 0 {
			said = said[:end]
		}
		// With nothing between, the next file's "PK" ends it.
		if t := string(said); t == "application/epub+zip" || strings.HasPrefix(t, odf) {
			return t
		}
	}
	for _, part := range [][]byte{b[:min(len(b), near)], b[max(0, len(b)-near):]} {
		for _, k := range [...]struct{ name, mime string }{
			{"word/document.xml", ooxml + "wordprocessingml.document"},
			{"xl/workbook.xml", ooxml + "spreadsheetml.sheet"},
			{"ppt/presentation.xml", ooxml + "presentationml.presentation"},
			{"word/", ooxml + "wordprocessingml.document"},
			{"xl/worksheets/", ooxml + "spreadsheetml.sheet"},
			{"ppt/slides/", ooxml + "presentationml.presentation"},
			{"META-INF/container.xml", "application/epub+zip"},
		} {
			if bytes.Contains(part, []byte(k.name)) && (bytes.Contains(part, []byte("[Content_Types].xml")) || k.name == "META-INF/container.xml") {
				return k.mime
			}
		}
	}
	return ""
}

// oleHolds returns the type of the document that an OLE container is by the names
// of its streams, which are UTF-16, or "".
func oleHolds(b []byte) string {
	for _, k := range [...]struct{ stream, mime string }{
		{"WordDocument", "application/msword"},
		{"Workbook", "application/vnd.ms-excel"},
		{"PowerPoint Document", "application/vnd.ms-powerpoint"},
		{"__substg1.0_", "application/vnd.ms-outlook"},
		{"VisioDocument", "application/vnd.visio"},
	} {
		wide := make([]byte, 0, 2*len(k.stream))
		for i := range len(k.stream) {
			wide = append(wide, k.stream[i], 0)
		}
		if bytes.Contains(b, wide) {
			return k.mime
		}
	}
	return ""
}

// xmlHolds returns the type that the root element of an XML document says, or "".
// Documents without an XML declaration or a root known here say nothing: HTML's
// parser is more lenient than XML's.
func xmlHolds(b []byte) string {
	b = bytes.TrimLeft(bytes.TrimPrefix(b[:min(len(b), near)], []byte("\xef\xbb\xbf")), " \t\r\n")
	if !bytes.HasPrefix(b, []byte("<")) {
		return ""
	}
	declared := bytes.HasPrefix(b, []byte("<?xml"))
	d := xml.NewDecoder(bytes.NewReader(b))
	d.Strict = false
	for range 100 { // comments, processing instructions, a document type
		tok, err := d.RawToken()
		if err != nil {
			break
		}
		if t, ok := tok.(xml.StartElement); ok {
			return first(rootType(t), map[bool]string{true: xmlType}[declared])
		}
	}
	if declared {
		return xmlType
	}
	return ""
}

// rootType returns the type of documents with that root, or "".
func rootType(t xml.StartElement) string {
	switch t.Name.Local {
	case "rss":
		return "application/rss+xml"
	case "feed":
		return "application/atom+xml"
	case "svg":
		return "image/svg+xml"
	case "html":
		if t.Name.Space == "" && len(t.Attr) == 0 {
			return html
		}
		for _, a := range t.Attr {
			if a.Name.Local == "xmlns" && a.Value == "http://www.w3.org/1999/xhtml" {
				return xhtmlType
			}
		}
		return html
	case "RDF":
		for _, a := range t.Attr {
			if strings.HasPrefix(a.Value, "http://purl.org/rss/") {
				return "application/rss+xml"
			}
		}
		return "application/rdf+xml"
	case "document", "document-content":
		for _, a := range t.Attr {
			if a.Name.Local == "mimetype" && strings.HasPrefix(a.Value, odf) {
				return a.Value + "-flat-xml"
			}
		}
	case "urlset", "sitemapindex":
		return xmlType // parse-sitemap is asked for XML of any kind
	}
	return ""
}

// jsonHolds returns the type of a JSON Feed, or "".
func jsonHolds(b []byte) string {
	h := bytes.TrimLeft(head(b), " \t\r\n")
	if bytes.HasPrefix(h, []byte("{")) && bytes.Contains(h, []byte(`jsonfeed.org/version/`)) {
		return "application/feed+json"
	}
	return ""
}
