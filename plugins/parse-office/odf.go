package parseoffice

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libparse"
)

// odf reads an OpenDocument container (OASIS OpenDocument 1.3 part 2).
func (d *document) odf() error {
	if d.box.has("META-INF/manifest.xml") {
		// The list of parts says which are encrypted; content.xml is then noise.
		if list, err := d.box.readAll("META-INF/manifest.xml", 4<<20); err == nil && bytes.Contains(list, []byte("encryption-data")) {
			return errEncrypted
		}
	}
	if !d.box.has("content.xml") && !d.box.has("meta.xml") {
		return errUnknown
	}
	for _, name := range []string{"meta.xml", "content.xml", "styles.xml"} { // styles hold headers and footers
		if d.box.has(name) && !d.spent() {
			d.part(name, d.odfText)
		}
	}
	return nil
}

// flatODF reports whether body is an OpenDocument in one XML file.
func flatODF(body []byte) bool {
	head := body[:min(len(body), 4096)]
	return bytes.Contains(head, []byte("urn:oasis:names:tc:opendocument:xmlns:office:1.0"))
}

// odfText reads the text and properties of an OpenDocument's XML.
func (d *document) odfText(r io.Reader) error {
	o := &odfReader{d: d, styledAt: -1, names: map[string]bool{}}
	return libparse.ReadXML(r, libparse.XMLHandler{Start: o.start, End: o.end, Text: o.chars, Stop: d.spent})
}

type odfReader struct {
	d        *document
	skip     libparse.Skipper
	depth    int // of open paragraphs and headings
	cells    int // of open table cells
	links    []openLink
	inMeta   bool
	meta     strings.Builder
	names    map[string]bool // styles that are made from the style Title
	styledAt int
}

func (o *odfReader) start(n string, attrs []xml.Attr) {
	t := o.d.text
	if o.skip.Start(n, n == "tracked-changes" || n == "forms" || n == "scripts" || n == "binary-data" || n == "note-citation") {
		return
	}
	switch n {
	case "meta":
		o.inMeta = true
	case "style":
		if libparse.Attr(attrs, "parent-style-name") == "Title" && len(o.names) < maxEntries {
			o.names[libparse.Attr(attrs, "name")] = true
		}
	case "p", "h":
		o.depth++
		if o.cells > 0 {
			t.Space()
		} else {
			t.Line()
		}
		if s := libparse.Attr(attrs, "style-name"); o.d.styled == "" && (s == "Title" || o.names[s]) {
			o.styledAt = t.Len()
		}
	case "s":
		t.Space()
	case "tab":
		t.Tab()
	case "line-break", "table-row", "page", "list-item":
		t.Line()
	case "table":
		t.Line()
		t.Write(libparse.Attr(attrs, "name"))
		t.Line()
	case "table-cell", "covered-table-cell":
		o.cells++
		t.Tab()
	case "a":
		o.links = append(o.links, openLink{url: libparse.Attr(attrs, "href"), at: t.Len()})
	}
	if o.inMeta {
		o.meta.Reset()
	}
}

func (o *odfReader) end(n string) {
	if o.skip.End(n) {
		return
	}
	switch n {
	case "meta":
		o.inMeta = false
	case "p", "h":
		o.depth = max(0, o.depth-1)
		if o.styledAt >= 0 {
			o.d.styled, o.styledAt = o.d.text.From(o.styledAt), -1
		}
		if o.cells == 0 {
			o.d.text.Line()
		}
	case "table-cell", "covered-table-cell":
		o.cells = max(0, o.cells-1)
	case "a":
		if k := len(o.links) - 1; k >= 0 {
			o.d.links.Add(o.links[k].url, o.d.text.From(o.links[k].at))
			o.links = o.links[:k]
		}
	default:
		if o.inMeta {
			o.d.property(n, o.meta.String())
			o.meta.Reset()
		}
	}
}

func (o *odfReader) chars(s string) {
	switch {
	case o.skip.On():
	case o.inMeta:
		if o.meta.Len() < maxField {
			o.meta.WriteString(s)
		}
	case o.depth > 0:
		o.d.text.Write(s)
	}
}
