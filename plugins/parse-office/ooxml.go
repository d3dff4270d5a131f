package parseoffice

import (
	"encoding/xml"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libparse"
)

// relation is one of a part's relationships (ECMA-376 part 2, 9.3).
type relation struct {
	kind     string // last word of its type, such as "hyperlink"
	target   string // part name, or URL when external
	external bool
}

// relations reads the relationships of a part, "" for those of the container.
func (d *document) relations(part string) map[string]relation {
	dir, file := path.Split(part)
	name := dir + "_rels/" + file + ".rels"
	out := map[string]relation{}
	if !d.box.has(name) {
		return out
	}
	d.part(name, func(r io.Reader) error {
		return libparse.ReadXML(r, libparse.XMLHandler{Start: func(n string, attrs []xml.Attr) {
			if n != "Relationship" {
				return
			}
			if len(out) >= d.p.MaxParts {
				d.over = true
				return
			}
			rel := relation{
				kind: path.Base(libparse.Attr(attrs, "Type")), target: libparse.Attr(attrs, "Target"), external: libparse.Attr(attrs, "TargetMode") == "External",
			}
			if !rel.external {
				if !strings.HasPrefix(rel.target, "/") {
					rel.target = path.Join(dir, rel.target)
				}
				rel.target = cleanName(rel.target)
			}
			out[libparse.Attr(attrs, "Id")] = rel
		}})
	})
	return out
}

// mainPart returns the part that the container is about.
func (d *document) mainPart() string {
	for _, r := range d.relations("") {
		if r.kind == "officeDocument" {
			return r.target
		}
	}
	return ""
}

// ooxml reads a document of ECMA-376 (ISO/IEC 29500).
func (d *document) ooxml(kind string) error {
	for _, name := range []string{"docProps/core.xml", "docProps/app.xml"} {
		if d.box.has(name) {
			d.properties(name)
		}
	}
	main := d.mainPart()
	if main == "" || !d.box.has(main) {
		main = map[string]string{"word": "word/document.xml", "xl": "xl/workbook.xml", "ppt": "ppt/presentation.xml"}[kind]
	}
	var err error
	switch kind {
	case "word":
		err = d.word(main)
	case "xl":
		err = d.workbook(main)
	default:
		d.slides(main)
	}
	return err
}

// properties reads the properties in a part: elements with nothing but text.
func (d *document) properties(name string) {
	var text strings.Builder
	d.part(name, func(r io.Reader) error {
		return libparse.ReadXML(r, libparse.XMLHandler{
			Start: func(string, []xml.Attr) { text.Reset() },
			Text:  func(s string) { text.WriteString(s) },
			End: func(n string) {
				d.property(n, text.String())
				text.Reset()
			},
		})
	})
}

// partsBelow returns the parts whose names start with prefix and end in .xml, in
// order.
func (d *document) partsBelow(prefix string) []string {
	var out []string
	for name := range d.box.files {
		if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, ".xml") && !strings.Contains(name[len(prefix):], "/") {
			out = append(out, name)
		}
	}
	sortNames(out)
	return out
}

// sortNames sorts names with numbers in them: slide2 comes before slide10.
func sortNames(names []string) {
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
}

// external returns where a relationship leads outside the document, or "".
func external(rels map[string]relation, id string) string {
	if r := rels[id]; r.external {
		return r.target
	}
	return ""
}
