package parseoffice

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// Limits of an RTF reader: groups inside groups, and fonts.
const (
	maxGroups = 10_000
	maxFonts  = 10_000
)

// rtf reads Rich Text Format (Microsoft's specification 1.9.1).
func (d *document) rtf(body []byte) error {
	r := &rtfReader{d: d, src: body, charset: charmap.Windows1252, fonts: map[int]encoding.Encoding{}}
	r.group.uc = 1
	return r.run()
}

// rtfGroup is what a group inherits and gives back.
type rtfGroup struct {
	dest string // where text goes: "" the document, "skip", or a destination that is read
	uc   int    // characters that stand in for a \u
	font int
	link bool // the group is a field with a link
	star bool // \* was the group's first word
}

type rtfReader struct {
	d       *document
	src     []byte
	at      int
	group   rtfGroup
	stack   []rtfGroup
	charset encoding.Encoding
	fonts   map[int]encoding.Encoding
	fontDef int
	bytes   []byte // characters in the charset of the font, not yet decoded
	skip    int    // characters to leave out after \u
	high    rune   // first half of a surrogate pair
	buf     strings.Builder
	links   []openLink
}

func (r *rtfReader) run() error {
	for n := 0; r.at < len(r.src); n++ {
		if n%4096 == 0 {
			switch {
			case r.d.text.Full():
				return nil
			case time.Now().After(r.d.deadline):
				return errTime
			}
		}
		switch c := r.src[r.at]; c {
		case '{':
			r.flush()
			r.at++
			if len(r.stack) >= maxGroups {
				return errNested
			}
			r.stack = append(r.stack, r.group)
			r.group.star, r.group.link = false, false
			r.skip = 0
		case '}':
			r.at++
			r.close()
			if len(r.stack) == 0 {
				return nil // what follows the document is none of it
			}
		case '\\':
			r.control()
		case '\r', '\n':
			r.at++
		default:
			r.at++
			r.char(c)
		}
	}
	r.flush()
	r.d.broken = errCut
	return nil
}

// char adds a character of the font's charset.
func (r *rtfReader) char(c byte) {
	if r.skip > 0 {
		r.skip--
		return
	}
	if r.group.dest != "skip" {
		r.bytes = append(r.bytes, c)
	}
}

// flush decodes the characters gathered.
func (r *rtfReader) flush() {
	if len(r.bytes) == 0 {
		return
	}
	enc := r.charset
	if e := r.fonts[r.group.font]; e != nil {
		enc = e
	}
	out, _ := enc.NewDecoder().Bytes(r.bytes)
	r.bytes = r.bytes[:0]
	r.write(string(out))
}

func (r *rtfReader) write(s string) {
	switch r.group.dest {
	case "":
		r.d.text.Write(s)
	case "skip", "fonttbl":
	default:
		if r.buf.Len() < maxField {
			r.buf.WriteString(s)
		}
	}
}

// close ends a group.
func (r *rtfReader) close() {
	r.flush()
	r.skip = 0
	if len(r.stack) == 0 {
		return
	}
	dest, link := r.group.dest, r.group.link
	r.group = r.stack[len(r.stack)-1]
	r.stack = r.stack[:len(r.stack)-1]
	if dest != r.group.dest {
		switch dest {
		case "title", "author", "subject", "keywords":
			r.d.property(dest, r.buf.String())
		case "doccomm":
			r.d.property("description", r.buf.String())
		case "company":
			r.d.property("Company", r.buf.String())
		case "fldinst":
			if k := len(r.links) - 1; k >= 0 {
				r.links[k].url = fieldURL(r.buf.String())
				r.links[k].at = r.d.text.Len()
			}
		}
		r.buf.Reset()
	}
	if k := len(r.links) - 1; link && k >= 0 {
		if l := r.links[k]; l.url != "" {
			r.d.links.Add(l.url, r.d.text.From(l.at))
		}
		r.links = r.links[:k]
	}
}

// control reads what follows a backslash.
func (r *rtfReader) control() {
	r.at++
	if r.at >= len(r.src) {
		return
	}
	c := r.src[r.at]
	if c|0x20 < 'a' || c|0x20 > 'z' {
		r.at++
		r.symbol(c)
		return
	}
	start := r.at
	for r.at < len(r.src) && r.src[r.at]|0x20 >= 'a' && r.src[r.at]|0x20 <= 'z' && r.at-start < 32 {
		r.at++
	}
	word := string(r.src[start:r.at])
	num := r.at
	if r.at < len(r.src) && r.src[r.at] == '-' {
		r.at++
	}
	for r.at < len(r.src) && r.src[r.at] >= '0' && r.src[r.at] <= '9' && r.at-num < 11 {
		r.at++
	}
	arg, err := strconv.Atoi(string(r.src[num:r.at]))
	if err != nil {
		arg = -1
	}
	if r.at < len(r.src) && r.src[r.at] == ' ' {
		r.at++
	}
	r.word(word, arg)
}

func (r *rtfReader) symbol(c byte) {
	switch c {
	case '\'':
		if r.at+2 <= len(r.src) {
			if v, err := strconv.ParseUint(string(r.src[r.at:r.at+2]), 16, 8); err == nil {
				r.char(byte(v))
			}
			r.at += 2
		}
	case '*':
		r.group.star = true
	case '\\', '{', '}':
		r.char(c)
	case '~':
		r.char(' ')
	case '_':
		r.char('-')
	case '\r', '\n':
		r.line()
	}
}

func (r *rtfReader) line() {
	r.flush()
	if r.group.dest == "" {
		r.d.text.Line()
	}
}

// word handles a control word; arg is -1 when it has none.
func (r *rtfReader) word(word string, arg int) {
	r.flush()
	switch word {
	case "par", "line", "sect", "page", "row", "column":
		r.line()
	case "tab", "cell", "nestcell":
		if r.group.dest == "" {
			r.d.text.Tab()
		}
	case "bin": // raw bytes follow
		if arg > 0 {
			r.at = min(len(r.src), r.at+arg)
		}
	case "u":
		r.unicode(arg)
	case "uc":
		r.group.uc = max(0, min(arg, 16))
	case "ansicpg":
		r.setCharset(arg)
	case "mac":
		r.charset = charmap.Macintosh
	case "pc":
		r.charset = charmap.CodePage437
	case "pca":
		r.charset = charmap.CodePage850
	case "f":
		if r.group.font = arg; r.group.dest == "fonttbl" {
			r.fontDef = arg
		}
	case "fcharset":
		if r.group.dest == "fonttbl" && len(r.fonts) < maxFonts {
			r.fonts[r.fontDef] = fontCharset(arg)
		}
	case "emdash":
		r.write("—")
	case "endash":
		r.write("–")
	case "lquote", "rquote":
		r.write("’")
	case "ldblquote", "rdblquote":
		r.write("”")
	case "bullet":
		r.write("•")
	default:
		r.destination(word)
	}
}

// destination handles words that say where the text of a group goes.
func (r *rtfReader) destination(word string) {
	switch word {
	case "field":
		r.group.link = true
		if len(r.links) < maxGroups {
			r.links = append(r.links, openLink{at: r.d.text.Len()})
		} else {
			r.group.link = false
		}
	case "fldrslt":
		r.group.star = false
	case "fldinst", "fonttbl", "title", "author", "subject", "keywords", "doccomm", "company":
		if r.group.dest != "skip" {
			r.group.dest, r.group.star = word, false
			r.buf.Reset()
		}
	case "info":
		r.group.star = false
	case "colortbl", "stylesheet", "pict", "object", "themedata", "colorschememapping", "datastore", "latentstyles", "listtable",
		"listoverridetable", "revtbl", "rsidtbl", "generator", "xmlnstbl", "filetbl", "operator", "creatim", "revtim", "printim", "buptim",
		"bkmkstart", "bkmkend", "fontemb", "fontfile", "mmathPr", "deleted", "nonshppict", "shpinst", "blipuid", "do", "userprops", "xe", "tc":
		r.group.dest = "skip"
	default:
		if r.group.star && word != "shppict" { // a destination we don't know, made to be left out
			r.group.dest = "skip"
		}
	}
}

// unicode adds the character of \uN; N is a signed 16-bit number.
func (r *rtfReader) unicode(n int) {
	r.skip = r.group.uc
	if r.group.dest == "skip" {
		return
	}
	c := rune(uint16(n)) //nolint:gosec // the format's rule
	switch {
	case utf16.IsSurrogate(c) && c < 0xdc00:
		r.high = c
		return
	case utf16.IsSurrogate(c):
		c = utf16.DecodeRune(r.high, c)
	}
	r.high = 0
	r.write(string(c))
}

func (r *rtfReader) setCharset(page int) {
	if e := codePage(page); e != nil {
		r.charset = e
	}
}

// codePage returns the charset of a Windows code page, or nil.
func codePage(page int) encoding.Encoding {
	switch page {
	case 437:
		return charmap.CodePage437
	case 850:
		return charmap.CodePage850
	case 852:
		return charmap.CodePage852
	case 10000:
		return charmap.Macintosh
	}
	label := map[int]string{932: "shift_jis", 936: "gb18030", 949: "euc-kr", 950: "big5", 65001: "utf-8", 866: "ibm866", 874: "windows-874"}[page]
	if page >= 1250 && page <= 1258 {
		label = "windows-" + strconv.Itoa(page)
	}
	if label == "" {
		return nil
	}
	e, err := htmlindex.Get(label)
	if err != nil {
		return nil
	}
	return e
}

// fontCharset returns the charset of a font's \fcharset, nil for the document's.
func fontCharset(n int) encoding.Encoding {
	page, ok := map[int]int{
		77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256, 186: 1257,
		204: 1251, 222: 874, 238: 1250,
	}[n]
	if !ok {
		return nil
	}
	return codePage(page)
}
