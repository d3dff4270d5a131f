package parseoffice

import (
	"encoding/xml"
	"io"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libparse"
)

// word reads a text document: the body, then notes, comments, headers and
// footers.
func (d *document) word(main string) error {
	if !d.box.has(main) {
		return errUnknown
	}
	d.wordPart(main)
	dir := main[:strings.LastIndexByte(main, '/')+1]
	for _, prefix := range []string{"footnotes", "endnotes", "comments", "header", "footer"} {
		for _, name := range d.partsBelow(dir + prefix) {
			if d.spent() {
				return nil
			}
			d.wordPart(name)
		}
	}
	return nil
}

func (d *document) wordPart(name string) {
	w := &wordReader{d: d, rels: d.relations(name), paragraph: -1}
	d.part(name, func(r io.Reader) error {
		return libparse.ReadXML(r, libparse.XMLHandler{Start: w.start, End: w.end, Text: w.chars, Stop: d.spent})
	})
	d.text.Line()
}

// wordReader reads a part of WordprocessingML (ISO/IEC 29500-1, 17).
type wordReader struct {
	d     *document
	rels  map[string]relation
	skip  libparse.Skipper
	open  bool // in an element whose text is the document's
	links []openLink
	// A field is begin, its code, separate, its result, end (17.16.18).
	code      strings.Builder
	inCode    bool
	paragraph int // where the paragraph styled as title starts in the text, or -1
}

type openLink struct {
	url   string
	at    int
	field bool
}

func (w *wordReader) start(name string, attrs []xml.Attr) {
	t := w.d.text
	if w.skip.Start(name, name == "Fallback" || name == "del" || name == "moveFrom") {
		return
	}
	switch name {
	case "p", "tr", "br", "cr":
		t.Line()
	case "tab", "tc":
		t.Tab()
	case "t":
		w.open = true
	case "pStyle":
		if w.d.styled == "" && w.paragraph < 0 && strings.EqualFold(libparse.Attr(attrs, "val"), "title") {
			w.paragraph = t.Len()
		}
	case "hyperlink":
		w.links = append(w.links, openLink{url: external(w.rels, relID(attrs)), at: t.Len()})
	case "fldSimple":
		w.links = append(w.links, openLink{url: fieldURL(libparse.Attr(attrs, "instr")), at: t.Len()})
	case "instrText":
		w.inCode = true
	case "fldChar":
		w.field(libparse.Attr(attrs, "fldCharType"))
	}
}

func (w *wordReader) field(kind string) {
	switch kind {
	case "begin":
		w.code.Reset()
	case "separate":
		w.links = append(w.links, openLink{url: fieldURL(w.code.String()), at: w.d.text.Len(), field: true})
	case "end":
		w.closeLink(true)
	}
}

func (w *wordReader) end(name string) {
	if w.skip.End(name) {
		return
	}
	switch name {
	case "p":
		if w.paragraph >= 0 {
			w.d.styled, w.paragraph = w.d.text.From(w.paragraph), -1
		}
		w.d.text.Line()
	case "t":
		w.open = false
	case "instrText":
		w.inCode = false
	case "hyperlink", "fldSimple":
		w.closeLink(false)
	}
}

// closeLink ends the innermost link, if it is of that kind.
func (w *wordReader) closeLink(field bool) {
	n := len(w.links) - 1
	if n < 0 || w.links[n].field != field {
		return
	}
	if l := w.links[n]; l.url != "" {
		w.d.links.Add(l.url, w.d.text.From(l.at))
	}
	w.links = w.links[:n]
}

func (w *wordReader) chars(s string) {
	switch {
	case w.skip.On():
	case w.inCode && w.code.Len() < maxField:
		w.code.WriteString(s)
	case w.open:
		w.d.text.Write(s)
	}
}

// maxField bounds the code of a field in bytes.
const maxField = 64 << 10

// fieldURL returns the URL of a field's code such as HYPERLINK "http://a/" \l "x",
// or "".
func fieldURL(code string) string {
	code = strings.TrimSpace(code)
	if len(code) < 10 || !strings.EqualFold(code[:9], "HYPERLINK") {
		return ""
	}
	code = strings.TrimSpace(code[9:])
	if strings.HasPrefix(code, `\`) { // \l "bookmark": a place in the document
		return ""
	}
	if rest, ok := strings.CutPrefix(code, `"`); ok {
		url, _, _ := strings.Cut(rest, `"`)
		return url
	}
	url, _, _ := strings.Cut(code, " ")
	return url
}
