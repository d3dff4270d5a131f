// Package libcharset finds the charset of a document and turns its bytes into
// valid UTF-8. It owns the order of the clues (byte order mark, Content-Type,
// declaration in the document, the bytes themselves, the default) and the
// aliases of charset names; it knows nothing of what documents mean.
package libcharset

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// Options say how to find a document's charset.
type Options struct {
	ContentType string // the Content-Type as sent, may be ""
	// HTML says that the document may declare its charset in a meta element or
	// an XML declaration.
	HTML bool
	// MinConfidence is the certainty, 0 to 100, from which a guess from the
	// bytes is taken; below 0 nothing is guessed.
	MinConfidence int
	Default       string // the charset when nothing tells; must be known
}

// Clue is what told the charset.
type Clue string

// The clues, strongest first.
const (
	ByBOM     Clue = "bom"
	ByHeader  Clue = "header"
	ByMeta    Clue = "meta"
	ByBytes   Clue = "bytes" // valid UTF-8, or UTF-16 markup
	ByGuess   Clue = "guess"
	ByDefault Clue = "default"
)

// Result is a document as UTF-8.
type Result struct {
	// Text is valid UTF-8, what was invalid replaced by U+FFFD. It shares the
	// document's bytes where they were valid UTF-8 already.
	Text     []byte
	Charset  string // the name by which the text was decoded, such as "utf-8"
	Declared string // the charset the document or its header named, as written, or ""
	Clue     Clue
	Encoding encoding.Encoding // of Charset; nil for UTF-8
}

// Decode finds the charset of body and decodes it.
func Decode(body []byte, o Options) Result {
	name, enc, declared, clue, skip := find(body, o)
	r := Result{Charset: name, Declared: declared, Clue: clue}
	body = body[skip:]
	if name == "utf-8" {
		r.Text = body
		if !utf8.Valid(body) {
			r.Text = bytes.ToValidUTF8(body, []byte("\ufffd"))
		}
		return r
	}
	r.Encoding = enc
	// Decoders replace what is invalid and don't fail; should one, what it gave
	// up to there counts.
	out, _ := enc.NewDecoder().Bytes(body)
	r.Text = bytes.ToValidUTF8(out, []byte("\ufffd"))
	return r
}

// Known reports whether label names a charset that can be decoded.
func Known(label string) bool {
	_, _, ok := lookup(label)
	return ok
}

func find(body []byte, o Options) (name string, enc encoding.Encoding, declared string, clue Clue, skip int) {
	for _, b := range [...]struct{ mark, name string }{
		{"\xef\xbb\xbf", "utf-8"}, {"\xfe\xff", "utf-16be"}, {"\xff\xfe", "utf-16le"},
	} {
		if bytes.HasPrefix(body, []byte(b.mark)) {
			name, enc, _ = lookup(b.name)
			return name, enc, "", ByBOM, len(b.mark)
		}
	}
	if label := headerCharset(o.ContentType); label != "" {
		declared = label
		if name, enc, ok := lookup(label); ok {
			return name, enc, declared, ByHeader, 0
		}
	}
	if o.HTML {
		if name := utf16Markup(body); name != "" {
			name, enc, _ := lookup(name)
			return name, enc, declared, ByBytes, 0
		}
		if label := metaCharset(body); label != "" {
			if declared == "" {
				declared = label
			}
			if name, enc, ok := lookup(label); ok {
				if strings.HasPrefix(name, "utf-16") { // it was read as ASCII
					name, enc = "utf-8", nil
				}
				return name, enc, declared, ByMeta, 0
			}
		}
	}
	if hasISO2022JP(body) {
		name, enc, _ := lookup("iso-2022-jp")
		return name, enc, declared, ByBytes, 0
	}
	if utf8.Valid(body) || validButTail(body) {
		return "utf-8", nil, declared, ByBytes, 0
	}
	if o.MinConfidence >= 0 {
		if name, enc, ok := guess(body, o.HTML, o.MinConfidence); ok {
			return name, enc, declared, ByGuess, 0
		}
	}
	name, enc, ok := lookup(o.Default)
	if !ok {
		name, enc, _ = lookup("windows-1252")
	}
	return name, enc, declared, ByDefault, 0
}

// headerCharset returns the charset parameter of a Content-Type, also of a
// malformed one.
func headerCharset(contentType string) string {
	if contentType == "" {
		return ""
	}
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		return strings.TrimSpace(params["charset"])
	}
	return contentCharset([]byte(contentType))
}

// lookup returns the charset that label stands for: by the Encoding standard
// (https://encoding.spec.whatwg.org/#names-and-labels), with Nutch's aliases on
// top: Chinese national charsets are read as their superset GB 18030.
func lookup(label string) (string, encoding.Encoding, bool) {
	label = strings.ToLower(strings.Trim(label, " \t\r\n\f\"'"))
	switch label {
	case "x-windows-949", "ms949", "cp949":
		label = "euc-kr"
	case "x-euc-cn", "euc-cn", "cp936", "ms936":
		label = "gb18030"
	case "utf_8", "utf8mb4", "utf-8n":
		label = "utf-8"
	case "latin-1":
		label = "windows-1252"
	case "x-sjis", "windows-31j", "cp932", "ms932":
		label = "shift_jis"
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return "", nil, false
	}
	name, err := htmlindex.Name(enc)
	switch {
	case err != nil || name == "replacement" || name == "x-user-defined":
		return "", nil, false
	case name == "utf-8":
		return name, nil, true
	case name == "gbk":
		return lookup("gb18030")
	}
	return name, enc, true
}

// utf16Markup returns the UTF-16 that markup without a byte order mark is in,
// or "".
func utf16Markup(body []byte) string {
	if len(body) < 4 {
		return ""
	}
	switch {
	case body[0] == '<' && body[1] == 0 && body[2] != 0 && body[3] == 0:
		return "utf-16le"
	case body[0] == 0 && body[1] == '<' && body[2] == 0 && body[3] != 0:
		return "utf-16be"
	}
	return ""
}

// hasISO2022JP reports whether body switches to a Japanese character set by
// escape sequences, which no other charset means.
func hasISO2022JP(body []byte) bool {
	return bytes.Contains(body, []byte("\x1b$B")) || bytes.Contains(body, []byte("\x1b$@"))
}

// validButTail reports whether body is UTF-8, some of it not ASCII, but for a
// character cut off at the end, as in truncated documents.
func validButTail(body []byte) bool {
	for n := 1; n < utf8.UTFMax && n < len(body); n++ {
		head := body[:len(body)-n]
		if utf8.RuneStart(body[len(head)]) {
			return body[len(head)] >= 0xc2 && !utf8.FullRune(body[len(head):]) && utf8.Valid(head) && !isASCII(head)
		}
	}
	return false
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
