package parseoffice

import (
	"encoding/xml"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libparse"
)

// metaMissing counts cells left out because their text was beyond max_strings.
const metaMissing = "office.cells.missing"

// workbook reads a spreadsheet: sheet by sheet its name, then a line for each
// row, with tabs between the cells.
func (d *document) workbook(main string) error {
	if !d.box.has(main) {
		return errUnknown
	}
	d.sheets = true
	rels := d.relations(main)
	type sheet struct{ name, part string }
	var sheets []sheet
	date1904 := false
	d.part(main, func(r io.Reader) error {
		return libparse.ReadXML(r, libparse.XMLHandler{Start: func(name string, attrs []xml.Attr) {
			switch name {
			case "workbookPr":
				v := libparse.Attr(attrs, "date1904")
				date1904 = v == "1" || v == "true"
			case "sheet":
				switch rel := rels[relID(attrs)]; {
				case rel.target == "":
				case len(sheets) < d.p.MaxParts:
					sheets = append(sheets, sheet{libparse.Attr(attrs, "name"), rel.target})
				default:
					d.over = true
				}
			}
		}})
	})
	w := &sheetReader{d: d, epoch: time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)}
	if date1904 {
		w.epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	dir := main[:strings.LastIndexByte(main, '/')+1]
	for _, rel := range rels {
		switch rel.kind {
		case "sharedStrings":
			w.sharedStrings(rel.target)
		case "styles":
			w.styles(rel.target)
		}
	}
	if len(sheets) == 0 {
		for _, name := range d.partsBelow(dir + "worksheets/sheet") {
			sheets = append(sheets, sheet{"", name})
		}
	}
	for _, s := range sheets {
		if d.spent() {
			break
		}
		d.text.Line()
		d.text.Write(s.name)
		d.text.Line()
		if d.box.has(s.part) {
			w.sheet(s.part)
		}
	}
	for _, name := range d.partsBelow(dir + "comments") {
		d.wordPart(name) // comments have the same elements for text
	}
	if w.missing > 0 {
		d.meta.Set(metaMissing, strconv.Itoa(w.missing))
		libparse.Truncated(d.meta, "strings")
	}
	return nil
}

// sheetReader reads parts of SpreadsheetML (ISO/IEC 29500-1, 18).
type sheetReader struct {
	d       *document
	epoch   time.Time
	strings []string
	size    int64
	full    bool
	missing int
	formats map[int]string // number formats of the document's own
	dates   []bool         // by cell style: its numbers are dates

	rels        map[string]relation
	kind, style string // of the cell
	value       strings.Builder
	inValue     bool
	inText      bool
	formula     strings.Builder
	inFormula   bool
	cellFormats bool
	phonetic    libparse.Skipper
}

// sharedStrings reads the table of texts that cells refer to.
func (w *sheetReader) sharedStrings(part string) {
	if !w.d.box.has(part) {
		return
	}
	var b strings.Builder
	open := false
	var skip libparse.Skipper
	w.d.part(part, func(r io.Reader) error {
		return libparse.ReadXML(r, libparse.XMLHandler{
			Start: func(n string, _ []xml.Attr) {
				if skip.Start(n, n == "rPh") {
					return
				}
				open = n == "t"
				if n == "si" {
					b.Reset()
				}
			},
			End: func(n string) {
				if skip.End(n) {
					return
				}
				open = false
				if n != "si" || w.full {
					return
				}
				const overhead = 16
				if w.size += int64(b.Len()) + overhead; w.size > int64(w.d.p.MaxStrings) {
					w.full = true
					return
				}
				w.strings = append(w.strings, b.String())
			},
			Text: func(s string) {
				if open && !skip.On() && int64(b.Len()) < int64(w.d.p.MaxStrings) {
					b.WriteString(s)
				}
			},
			Stop: func() bool { return w.full },
		})
	})
}

// styles reads which cell styles show numbers as dates.
func (w *sheetReader) styles(part string) {
	if !w.d.box.has(part) {
		return
	}
	w.formats = map[int]string{}
	w.d.part(part, func(r io.Reader) error {
		return libparse.ReadXML(r, libparse.XMLHandler{
			Start: func(n string, attrs []xml.Attr) {
				switch n {
				case "numFmt":
					if id, err := strconv.Atoi(libparse.Attr(attrs, "numFmtId")); err == nil && len(w.formats) < maxEntries {
						w.formats[id] = libparse.Attr(attrs, "formatCode")
					}
				case "cellXfs":
					w.cellFormats = true
				case "xf":
					if w.cellFormats && len(w.dates) < maxEntries {
						id, _ := strconv.Atoi(libparse.Attr(attrs, "numFmtId"))
						w.dates = append(w.dates, w.isDate(id))
					}
				}
			},
			End: func(n string) { w.cellFormats = w.cellFormats && n != "cellXfs" },
		})
	})
}

// isDate reports whether a number format shows dates: one of the built-in ones
// (18.8.30) or one with day or year letters outside quotes and brackets.
func (w *sheetReader) isDate(id int) bool {
	if id >= 14 && id <= 22 {
		return true
	}
	quoted, bracket := false, false
	for _, c := range w.formats[id] {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[':
			bracket = true
		case c == ']':
			bracket = false
		case !bracket && (c == 'y' || c == 'd' || c == 'Y' || c == 'D'):
			return true
		}
	}
	return false
}

func (w *sheetReader) sheet(part string) {
	w.rels = w.d.relations(part)
	w.d.part(part, func(r io.Reader) error {
		return libparse.ReadXML(r, libparse.XMLHandler{Start: w.start, End: w.end, Text: w.chars, Stop: w.d.spent})
	})
}

func (w *sheetReader) start(n string, attrs []xml.Attr) {
	if w.phonetic.Start(n, n == "rPh") {
		return
	}
	switch n {
	case "row":
		w.d.text.Line()
	case "c":
		w.kind, w.style = libparse.Attr(attrs, "t"), libparse.Attr(attrs, "s")
		w.value.Reset()
		w.formula.Reset()
	case "v":
		w.inValue = true
	case "t":
		w.inText = true
	case "f":
		w.inFormula = true
	case "hyperlink":
		if url := external(w.rels, relID(attrs)); url != "" {
			w.d.links.Add(url, libparse.Attr(attrs, "display"))
		}
	}
}

func (w *sheetReader) end(n string) {
	if w.phonetic.End(n) {
		return
	}
	switch n {
	case "v":
		w.inValue = false
	case "t":
		w.inText = false
	case "f":
		w.inFormula = false
	case "c":
		text := w.cell()
		w.d.text.Tab()
		w.d.text.Write(text)
		if url := formulaURL(w.formula.String()); url != "" {
			w.d.links.Add(url, text)
		}
	}
}

func (w *sheetReader) chars(s string) {
	switch {
	case w.phonetic.On():
	case w.inFormula && w.formula.Len() < maxField:
		w.formula.WriteString(s)
	case w.inValue || w.inText:
		w.value.WriteString(s)
	}
}

// cell returns what the cell shows.
func (w *sheetReader) cell() string {
	v := w.value.String()
	switch w.kind {
	case "s":
		i, err := strconv.Atoi(strings.TrimSpace(v))
		switch {
		case err != nil || i < 0:
			return ""
		case i >= len(w.strings):
			if w.full {
				w.missing++
			}
			return ""
		}
		return w.strings[i]
	case "b":
		return map[string]string{"0": "FALSE", "1": "TRUE"}[strings.TrimSpace(v)]
	case "", "n":
		if s, err := strconv.Atoi(w.style); err == nil && s >= 0 && s < len(w.dates) && w.dates[s] {
			return w.date(v)
		}
	}
	return v
}

// date turns a serial number of days into a date, with the time if there is one.
func (w *sheetReader) date(v string) string {
	days, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || days < 0 || days > 2_958_465 { // the year 9999
		return v
	}
	whole, part := math.Modf(days)
	t := w.epoch.AddDate(0, 0, int(whole)).Add(time.Duration(part*24*3600+0.5) * time.Second)
	switch {
	case days < 1:
		return t.Format("15:04:05")
	case t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0:
		return t.Format(time.DateOnly)
	}
	return t.Format(time.DateTime)
}

// formulaURL returns the URL of a formula HYPERLINK("http://a/","text"), or "".
func formulaURL(f string) string {
	const name = "HYPERLINK("
	if len(f) < len(name) || !strings.EqualFold(f[:len(name)], name) {
		return ""
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(f[len(name):]), `"`)
	if !ok {
		return ""
	}
	url, _, ok := strings.Cut(rest, `"`)
	if !ok {
		return ""
	}
	return url
}
