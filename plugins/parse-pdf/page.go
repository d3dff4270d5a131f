package parsepdf

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"

	"github.com/gonutch/crawler/plugins/internal/libparse"
)

const (
	linksOnPage   = 10_000 // link annotations looked at on one page
	anchorsOnPage = 500    // of those, how many get an anchor, which costs a look at the whole page's text
)

// page reads one page. Errors of the page itself leave the document usable;
// errTime and errDead don't.
func (r *reading) page(index int) error {
	d := r.doc
	loaded, err := d.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: d.ref, Index: index})
	if err != nil {
		return r.pageError(err)
	}
	page := requests.Page{ByReference: &loaded.Page}
	tp, err := d.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: page})
	if err != nil {
		return r.pageError(err)
	}
	n, err := d.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: tp.TextPage})
	if err != nil {
		return r.pageError(err)
	}
	garbled := false
	if n.Count > 0 {
		text, err := d.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: tp.TextPage, Count: n.Count})
		if err != nil {
			return r.pageError(err)
		}
		if garbled, err = r.write(tp.TextPage, n.Count, text.Text); err != nil {
			return r.pageError(err)
		}
	}
	if err := r.pageLinks(page, tp.TextPage, garbled); err != nil {
		return r.pageError(err)
	}
	if _, err := d.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: tp.TextPage}); err != nil {
		return r.pageError(err)
	}
	if _, err := d.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page}); err != nil {
		return r.pageError(err)
	}
	return nil
}

// pageError tells a page that PDFium refuses from an instance that is no more.
func (r *reading) pageError(err error) error {
	if r.doc.dead(err) {
		return r.doc.cause(err)
	}
	return err
}

// write adds a page's text of n characters, line by line, without those that no font
// tells; garbled says whether there are such. A word that was broken over two lines,
// which PDFium marks, is joined.
func (r *reading) write(page references.FPDF_TEXTPAGE, n int, text string) (garbled bool, err error) {
	if r.fonts == 0 {
		known, err := r.known(page, n, text)
		if err != nil {
			return false, err
		}
		garbled, text = known != text, known
	}
	r.text.Line()
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n ")
		if r.fonts > 0 {
			written := line != ""
			if line = unmask(line); written && line == "" {
				r.lost++
			}
		}
		if c, n := utf8.DecodeLastRuneInString(line); c == 0xfffe || c == 0x02 {
			r.text.Write(line[:len(line)-n])
			continue
		}
		r.text.Write(line)
		r.text.Line()
	}
	return garbled, nil
}

// known returns text, a page's n characters, without those of which the document does not
// tell what they are: for these PDFium gives the code, which is another character's. Each is
// asked for, as a font that does not tell may have written a single word.
func (r *reading) known(page references.FPDF_TEXTPAGE, n int, text string) (string, error) {
	r.characters += n
	unknown := make([]bool, n)
	some := false
	for i := range n {
		got, err := r.doc.FPDFText_HasUnicodeMapError(&requests.FPDFText_HasUnicodeMapError{TextPage: page, Index: i})
		if err != nil {
			return "", err
		}
		unknown[i] = got.HasUnicodeMapError
		some = some || unknown[i]
	}
	if !some {
		return text, nil
	}
	var out strings.Builder
	for i := range n {
		if unknown[i] {
			r.unknown++
			continue
		}
		got, err := r.doc.FPDFText_GetUnicode(&requests.FPDFText_GetUnicode{TextPage: page, Index: i})
		if err != nil {
			return "", err
		}
		if c := rune(got.Unicode); c != 0 { //nolint:gosec // a character's
			out.WriteRune(c)
		}
	}
	return out.String(), nil
}

// pageLinks adds the page's link annotations that lead to a URL, with their anchors unless
// the page's text is garbled.
func (r *reading) pageLinks(page requests.Page, text references.FPDF_TEXTPAGE, garbled bool) error {
	d := r.doc
	for n, at := 0, 0; n < linksOnPage; n++ {
		link, err := d.FPDFLink_Enumerate(&requests.FPDFLink_Enumerate{Page: page, StartPos: at})
		if err != nil {
			return err
		}
		if link.Link == nil || link.NextStartPos == nil || *link.NextStartPos <= at {
			return nil
		}
		at = *link.NextStartPos
		action, err := d.FPDFLink_GetAction(&requests.FPDFLink_GetAction{Link: *link.Link})
		if err != nil {
			return err
		}
		uri, err := r.uri(action.Action)
		if err != nil {
			return err
		}
		if uri == "" {
			continue
		}
		anchor := ""
		if n < anchorsOnPage && !garbled {
			if anchor, err = r.anchor(*link.Link, text); err != nil {
				return err
			}
		}
		r.links.Add(uri, anchor)
	}
	return nil
}

// uri returns where an action leads, "" when that is no URL.
func (r *reading) uri(action *references.FPDF_ACTION) (string, error) {
	if action == nil {
		return "", nil
	}
	t, err := r.doc.FPDFAction_GetType(&requests.FPDFAction_GetType{Action: *action})
	if err != nil || t.Type != enums.FPDF_ACTION_ACTION_URI {
		return "", err
	}
	u, err := r.doc.FPDFAction_GetURIPath(&requests.FPDFAction_GetURIPath{Document: r.doc.ref, Action: *action})
	if err != nil || u.URIPath == nil {
		return "", nil //nolint:nilerr // an action without its URL
	}
	return *u.URIPath, nil
}

// anchor returns the text that a link covers.
func (r *reading) anchor(link references.FPDF_LINK, text references.FPDF_TEXTPAGE) (string, error) {
	box, err := r.doc.FPDFLink_GetAnnotRect(&requests.FPDFLink_GetAnnotRect{Link: link})
	if err != nil || box.Rect == nil {
		return "", nil //nolint:nilerr // a link without a place
	}
	got, err := r.doc.FPDFText_GetBoundedText(&requests.FPDFText_GetBoundedText{
		TextPage: text, Left: float64(box.Rect.Left), Top: float64(box.Rect.Top),
		Right: float64(box.Rect.Right), Bottom: float64(box.Rect.Bottom),
	})
	if err != nil {
		return "", err
	}
	return got.Text, nil
}

// describe reads the document's properties and outline.
func (r *reading) describe() error {
	d := r.doc
	for _, t := range [...]struct{ tag, key string }{
		{"Title", ""},
		{"Author", libparse.MetaAuthor},
		{"Subject", libparse.MetaDescription},
		{"Keywords", libparse.MetaSubject},
		{"Creator", libparse.MetaGenerator},
		{"CreationDate", libparse.MetaCreated},
		{"ModDate", libparse.MetaModified},
	} {
		got, err := d.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: d.ref, Tag: t.tag})
		switch {
		case err != nil && d.dead(err):
			return d.cause(err)
		case err != nil: // there is none
		case t.key == "":
			r.title = libparse.Clean(got.Value)
		case strings.HasSuffix(t.tag, "Date"):
			libparse.SetMeta(r.meta, t.key, date(got.Value))
		default:
			libparse.SetMeta(r.meta, t.key, got.Value)
		}
	}
	if lang, err := d.FPDFCatalog_GetLanguage(&requests.FPDFCatalog_GetLanguage{Document: d.ref}); err == nil {
		r.language = libparse.Clean(lang.Language) // an error means there is none
	}
	left := outlineTitles
	if err := r.outline(nil, 0, &left); err != nil && d.dead(err) {
		return d.cause(err)
	}
	return nil
}

// outline adds the titles and links below an outline item, nil for all. The
// outline may lead in circles.
func (r *reading) outline(parent *references.FPDF_BOOKMARK, depth int, left *int) error {
	d := r.doc
	child, err := d.FPDFBookmark_GetFirstChild(&requests.FPDFBookmark_GetFirstChild{Document: d.ref, Bookmark: parent})
	if err != nil {
		return err
	}
	for item := child.Bookmark; item != nil && *left > 0; {
		*left--
		title, err := d.FPDFBookmark_GetTitle(&requests.FPDFBookmark_GetTitle{Bookmark: *item})
		if err == nil { // items without a title are an error
			if t := libparse.Clean(title.Title); t != "" {
				r.meta[metaOutline] = append(r.meta[metaOutline], t)
			}
			action, err := d.FPDFBookmark_GetAction(&requests.FPDFBookmark_GetAction{Bookmark: *item})
			if err == nil {
				if uri, err := r.uri(action.Action); err == nil && uri != "" {
					r.links.Add(uri, title.Title)
				}
			}
		}
		if depth < outlineDepth {
			if err := r.outline(item, depth+1, left); err != nil {
				return err
			}
		}
		next, err := d.FPDFBookmark_GetNextSibling(&requests.FPDFBookmark_GetNextSibling{Document: d.ref, Bookmark: *item})
		if err != nil {
			return err
		}
		item = next.Bookmark
	}
	return nil
}

// date turns a date of PDF ("D:20240131120000+01'00'", PDF 32000-1, 7.9.4) into
// RFC 3339; other texts stay as they are.
func date(s string) string {
	text := strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(s), "D:"), "'", "")
	for _, layout := range [...]string{"20060102150405-0700", "20060102150405Z0000", "20060102150405Z", "20060102150405", "200601021504", "20060102"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Format(time.RFC3339)
		}
	}
	return s
}
