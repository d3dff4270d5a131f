package parsepdf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lostWidths are the widths of Times for the codes 32 to 126, in thousandths: they decide
// where spaces between words are seen.
const lostWidths = "250 333 408 500 500 833 778 333 333 333 500 564 250 333 250 278 500 500 500 500 500 500 500 500 500 500 " +
	"278 278 564 564 564 444 921 722 667 667 722 611 556 722 722 333 389 722 611 889 722 722 556 722 667 556 611 722 722 944 722 722 611 " +
	"333 278 333 469 500 333 444 500 444 500 444 333 500 500 278 278 500 278 778 500 500 500 500 333 389 278 500 500 722 500 500 444 480 200 480 541 "

// repair makes of a document without its end one that can be read: it appends a table
// of the whole objects, and where the page tree has lost a part, a new one over the
// pages that are there. Fonts that are lost are replaced by one with which the letters
// can be told in most documents; fonts says how many. unpacked bounds the bytes
// unpacked of object streams.
func repair(body []byte, unpacked int) (repaired []byte, fonts int, err error) {
	if i := bytes.Index(body[:min(len(body), headerWithin+5)], []byte("%PDF-")); i > 0 {
		body = body[i:] // positions are counted from there
	}
	s := scanObjects(body, unpacked)
	root := s.root()
	pages, complete := s.pages(root)
	var orphans, lost, bare []int
	if s.trailer("Encrypt") == nil { // else what is added would be taken for encrypted
		if lost, bare = s.lostFonts(pages); !complete {
			orphans = s.orphans(pages)
		}
	}
	if len(pages)+len(orphans) == 0 {
		return nil, 0, errNoPages
	}
	w := &rewriter{scan: s, out: bytes.NewBuffer(make([]byte, 0, len(body)+len(body)/8+4096)), places: map[int]place{}, last: maxNumber}
	w.out.Write(body)
	w.old()
	if fonts = len(lost) + len(bare) + len(orphans); fonts > 0 {
		w.font(lost)
		for _, num := range bare {
			w.write(num, w.page(s.header(s.objects[num]), s.contents(num)))
		}
		for _, num := range orphans {
			pages = append(pages, w.add(w.page(dict{"Contents": fmt.Appendf(nil, "%d 0 R", num)}, []int{num})))
		}
	}
	w.table(w.catalog(root, pages))
	return w.out.Bytes(), fonts, nil
}

// place says where an object is: at a position, or in an object stream.
type place struct {
	in int // number of the object stream, 0 for none
	at int // position, or index in the object stream
}

// rewriter writes what is appended.
type rewriter struct {
	*scan
	out     *bytes.Buffer
	places  map[int]place
	last    int // number of the last object that was added; those below may be referred to
	standIn int // number of the font that stands in for lost ones
}

// old notes where the objects are that were found, and appends those of a cut stream.
func (w *rewriter) old() {
	w.out.WriteString("\nendstream\nendobj\n") // of the stream that the end cuts
	for _, num := range slices.Sorted(maps.Keys(w.objects)) {
		o := w.objects[num]
		switch {
		case o.packed > 0:
			w.places[num] = place{in: o.packed, at: o.index}
		case o.packed < 0:
			w.write(num, string(o.value))
		default:
			w.places[num] = place{at: o.at}
		}
	}
}

// write appends an object.
func (w *rewriter) write(num int, value string) {
	w.places[num] = place{at: w.out.Len()}
	fmt.Fprintf(w.out, "%d 0 obj\n%s\nendobj\n", num, value)
}

// add appends an object with a new number.
func (w *rewriter) add(value string) int {
	w.last++
	w.write(w.last, value)
	return w.last
}

// catalog appends a catalog and a page tree over pages, with what else the old catalog
// has, and returns its number.
func (w *rewriter) catalog(root dict, pages []int) int {
	var kids strings.Builder
	for _, p := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", p)
	}
	tree := w.add(fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", len(pages), kids.String()))
	var rest strings.Builder
	for _, key := range [...]string{"Lang", "Outlines"} {
		if v := root[key]; v != nil {
			fmt.Fprintf(&rest, "/%s %s ", key, v)
		}
	}
	return w.add(fmt.Sprintf("<< /Type /Catalog /Pages %d 0 R %s>>", tree, rest.String()))
}

// table appends the table of objects as a stream (7.5.8).
func (w *rewriter) table(root int) {
	self := w.last + 1
	w.places[self] = place{at: w.out.Len()}
	var rows []byte
	var index strings.Builder
	numbers := slices.Sorted(maps.Keys(w.places))
	for i, num := range numbers {
		if i == 0 || num != numbers[i-1]+1 {
			n := 1
			for i+n < len(numbers) && numbers[i+n] == num+n {
				n++
			}
			fmt.Fprintf(&index, "%d %d ", num, n)
		}
		p := w.places[num]
		if p.in > 0 {
			rows = binary.BigEndian.AppendUint32(append(rows, 2), uint32(p.in)) //nolint:gosec // at most maxNumber
			rows = binary.BigEndian.AppendUint32(rows, uint32(p.at))            //nolint:gosec // at most maxObjects
			continue
		}
		rows = binary.BigEndian.AppendUint32(append(rows, 1), uint32(p.at)) //nolint:gosec // below 2 GiB by the manifest
		rows = binary.BigEndian.AppendUint32(rows, 0)
	}
	at := w.out.Len()
	fmt.Fprintf(w.out, "%d 0 obj\n<< /Type /XRef /Size %d /W [1 4 4] /Root %d 0 R /Index [%s] ", self, self+1, root, index.String())
	for _, key := range [...]string{"Info", "Encrypt", "ID"} {
		if v := w.trailer(key); v != nil {
			fmt.Fprintf(w.out, "/%s %s ", key, v)
		}
	}
	fmt.Fprintf(w.out, "/Length %d >>\nstream\n", len(rows))
	w.out.Write(rows)
	fmt.Fprintf(w.out, "\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n", at)
}

// Characters that a font which stands in for a lost one writes for codes that mean
// different things in different fonts.
const (
	lostZero     = 0xe000 // a code of two bytes: the text is not to be had
	lostLigature = 0xe00b // and the four after it: ff, fi, fl, ffi, ffl in words, a symbol elsewhere
)

// lostCodes are the characters of a font's codes where the font is lost: those of ASCII
// and Windows-1252, and ligatures at the places where TeX's (OT1, T1, 8r) and groff's
// encodings have them.
const lostCodes = `/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CMapType 2 def
1 begincodespacerange
<00> <ff>
endcodespacerange
13 beginbfrange
<00> <00> <e000>
<02> <03> <e00c>
<0b> <0f> <e00b>
<1b> <1f> <e00b>
<20> <7e> <0020>
<8b> <8f> <e00b>
<91> <92> <2018>
<93> <94> <201c>
<95> <95> <2022>
<96> <97> <2013>
<a0> <ac> <00a0>
<ad> <ad> <002d>
<ae> <ff> <00ae>
endbfrange
endcmap
end
end
`

// font appends a font that stands in for lost ones, in their places, too.
func (w *rewriter) font(lost []int) {
	cmap := w.add(fmt.Sprintf("<< /Length %d >>\nstream\n%sendstream", len(lostCodes), lostCodes))
	font := fmt.Sprintf("<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman /ToUnicode %d 0 R /FirstChar 0 /LastChar 255 /Widths [%s] >>",
		cmap, strings.Repeat("556 ", 32)+lostWidths+strings.Repeat("500 ", 129))
	for _, num := range lost {
		w.write(num, font)
	}
	w.standIn = w.add(font)
}

// page writes a page like old, with that content, whose fonts all are the one that
// stands in.
func (w *rewriter) page(old dict, contents []int) string {
	fonts := map[string]bool{}
	for _, num := range contents {
		for name := range w.writes(num) {
			fonts[name] = true
		}
	}
	var out strings.Builder
	out.WriteString("<< /Type /Page /Resources << /Font << ")
	for _, name := range slices.Sorted(maps.Keys(fonts)) {
		fmt.Fprintf(&out, "/%s %d 0 R ", name, w.standIn)
	}
	out.WriteString(">> >> ")
	for _, key := range [...]string{"Contents", "Annots", "MediaBox", "Rotate"} {
		if v := old[key]; v != nil {
			fmt.Fprintf(&out, "/%s %s ", key, v)
		}
	}
	if old["MediaBox"] == nil {
		out.WriteString("/MediaBox [0 0 10000 10000] ") // no text is outside
	}
	out.WriteString(">>")
	return out.String()
}

// unmask writes a line of text that lost fonts wrote part of: ligatures where they
// stand in words, nothing where a code has an unknown meaning, no line at all when it
// was written with codes of two bytes.
func unmask(line string) string {
	if strings.ContainsRune(line, lostZero) {
		return ""
	}
	ligatures := [...]string{"ff", "fi", "fl", "ffi", "ffl"}
	var out strings.Builder
	before := ' '
	for i, c := range line {
		if c < lostLigature || c >= lostLigature+rune(len(ligatures)) {
			out.WriteRune(c)
			before = c
			continue
		}
		after, _ := utf8.DecodeRuneInString(line[i+utf8.RuneLen(c):])
		if unicode.IsLetter(before) || unicode.IsLetter(after) {
			out.WriteString(ligatures[c-lostLigature])
			before = 'f'
		}
	}
	return out.String()
}
