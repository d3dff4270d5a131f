package parseoffice

import (
	"encoding/xml"
	"io"

	"github.com/gonutch/crawler/plugins/internal/libparse"
)

// slides reads a presentation: its slides in order, each with its notes.
func (d *document) slides(main string) {
	rels := d.relations(main)
	var order []string
	if d.box.has(main) {
		d.part(main, func(r io.Reader) error {
			return libparse.ReadXML(r, libparse.XMLHandler{Start: func(name string, attrs []xml.Attr) {
				if name == "sldId" && len(order) < maxEntries {
					if rel := rels[relID(attrs)]; d.box.has(rel.target) {
						order = append(order, rel.target)
					}
				}
			}})
		})
	}
	if len(order) == 0 {
		order = d.partsBelow("ppt/slides/slide")
	}
	for _, name := range order {
		if d.spent() {
			return
		}
		slide := d.relations(name)
		d.slide(name, slide)
		for _, rel := range slide {
			if rel.kind == "notesSlide" && d.box.has(rel.target) {
				d.slide(rel.target, d.relations(rel.target))
			}
		}
	}
}

// slide reads the text of a part of PresentationML, which is DrawingML's (ISO/IEC
// 29500-1, 21.1.2).
func (d *document) slide(name string, rels map[string]relation) {
	var skip libparse.Skipper
	open, link, at := false, "", 0
	title, titleAt := false, -1
	t := d.text
	t.Line()
	d.part(name, func(r io.Reader) error {
		return libparse.ReadXML(r, libparse.XMLHandler{
			Start: func(n string, attrs []xml.Attr) {
				if skip.Start(n, n == "Fallback" || n == "fld" && libparse.Attr(attrs, "type") == "slidenum") {
					return
				}
				switch n {
				case "p", "br":
					t.Line()
				case "tc", "tab":
					t.Tab()
				case "sp":
					title = false
				case "ph":
					title = libparse.Attr(attrs, "type") == "title" || libparse.Attr(attrs, "type") == "ctrTitle"
				case "txBody":
					if title && d.styled == "" {
						titleAt = t.Len()
					}
				case "r":
					link, at = "", t.Len()
				case "hlinkClick":
					link = external(rels, relID(attrs))
				case "t":
					open = true
				}
			},
			End: func(n string) {
				if skip.End(n) {
					return
				}
				switch n {
				case "t":
					open = false
				case "r":
					if link != "" {
						d.links.Add(link, t.From(at))
						link = ""
					}
				case "cNvPr": // a link on a shape
					if link != "" {
						d.links.Add(link, "")
						link = ""
					}
				case "txBody":
					if titleAt >= 0 {
						d.styled, titleAt = t.From(titleAt), -1
					}
				}
			},
			Text: func(s string) {
				if open && !skip.On() {
					t.Write(s)
				}
			},
			Stop: d.spent,
		})
	})
	t.Line()
}
