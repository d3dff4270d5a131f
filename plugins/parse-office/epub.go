package parseoffice

import (
	"encoding/xml"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libcharset"
	"github.com/gonutch/crawler/plugins/internal/libhtml"

	"github.com/gonutch/crawler/plugins/internal/libparse"
)

// maxChapter bounds one page of a book in bytes.
const maxChapter = 32 << 20

// epub reads a book (EPUB 3.3): its package document, and the pages in the
// order in which they are read.
func (d *document) epub() error {
	main := ""
	if d.box.has("META-INF/container.xml") {
		d.part("META-INF/container.xml", func(r io.Reader) error {
			return libparse.ReadXML(r, libparse.XMLHandler{Start: func(n string, attrs []xml.Attr) {
				if n == "rootfile" && main == "" {
					main = cleanName(libparse.Attr(attrs, "full-path"))
				}
			}})
		})
	}
	if main == "" || !d.box.has(main) {
		for name := range d.box.files {
			if strings.HasSuffix(name, ".opf") {
				main = name
			}
		}
	}
	var pages []string
	if d.box.has(main) {
		pages = d.book(main)
	}
	if len(pages) == 0 { // of a cut container
		for _, ext := range []string{".xhtml", ".html", ".htm"} {
			for name := range d.box.files {
				if strings.HasSuffix(name, ext) {
					pages = append(pages, name)
				}
			}
		}
		sortNames(pages)
	}
	for _, name := range pages {
		if d.spent() {
			break
		}
		d.chapter(name)
	}
	return nil
}

// book reads the package document and returns the pages.
func (d *document) book(main string) []string {
	dir := path.Dir(main)
	files := map[string]string{}
	var pages []string
	var text strings.Builder
	inMeta := false
	d.part(main, func(r io.Reader) error {
		return libparse.ReadXML(r, libparse.XMLHandler{
			Start: func(n string, attrs []xml.Attr) {
				text.Reset()
				switch n {
				case "metadata":
					inMeta = true
				case "item":
					if href, err := url.PathUnescape(libparse.Attr(attrs, "href")); err == nil && len(files) < maxEntries {
						files[libparse.Attr(attrs, "id")] = cleanName(path.Join(dir, href))
					}
				case "itemref":
					if f := files[libparse.Attr(attrs, "idref")]; d.box.has(f) && len(pages) < maxEntries {
						pages = append(pages, f)
					}
				}
			},
			Text: func(s string) {
				if inMeta && text.Len() < maxField {
					text.WriteString(s)
				}
			},
			End: func(n string) {
				switch {
				case n == "metadata":
					inMeta = false
				case inMeta:
					d.property(n, text.String())
				}
				text.Reset()
			},
		})
	})
	return pages
}

// chapter reads one page. Its links within the book lead nowhere that can be
// fetched and don't count.
func (d *document) chapter(name string) {
	d.part(name, func(r io.Reader) error {
		body, err := io.ReadAll(io.LimitReader(r, maxChapter))
		text := libcharset.Decode(body, libcharset.Options{HTML: true, MinConfidence: d.p.MinConfidence, Default: "utf-8"})
		page, xerr := d.p.chapters.Extract(libhtml.Input{Body: libhtml.ExpandEmpty(text.Text), URL: d.c.URL})
		if xerr != nil {
			return xerr
		}
		for line := range strings.Lines(page.Text) {
			d.text.Line()
			d.text.Write(line)
		}
		d.text.Line()
		for _, l := range page.Links {
			d.links.Add(l.URL, l.Anchor)
		}
		return err
	})
}
