package libparse

import (
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/gonutch/crawler/sdk/model"
)

// Text gathers a document's text: white space collapsed, lines kept, at most so
// many characters. The zero value holds no text at all; use NewText.
type Text struct {
	buf   []byte
	chars int
	limit int // characters; negative for no limit
	cut   bool
	sep   byte // separator due before the next word: 0, ' ', '\t' or '\n'
}

// NewText returns a Text of at most limit characters; negative for no limit.
func NewText(limit int) *Text { return &Text{limit: limit} }

// Write adds text. White space in it, line breaks included, is one space.
func (t *Text) Write(s string) {
	for i := 0; i < len(s); {
		c, n := rune(s[i]), 1
		if c >= utf8.RuneSelf {
			c, n = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case c <= ' ' || c == 0x7f || c >= 0x80 && unicode.IsSpace(c):
			t.Space()
		case c == utf8.RuneError || c == 0xad || c == 0xfeff || c == 0xfffe || c == 0xffff:
		default:
			if !t.put(s[i : i+n]) {
				return
			}
		}
		i += n
	}
}

// put adds one character after the separator that is due. It reports false when
// there is no room for it.
func (t *Text) put(s string) bool {
	need := 1
	if t.sep != 0 && len(t.buf) > 0 {
		need = 2
	}
	if t.limit >= 0 && t.chars+need > t.limit {
		t.cut = true
		return false
	}
	if need == 2 {
		t.buf = append(t.buf, t.sep)
	}
	t.sep = 0
	t.chars += need
	t.buf = append(t.buf, s...)
	return true
}

// Space separates words.
func (t *Text) Space() { t.separate(' ') }

// Tab separates the cells of a table.
func (t *Text) Tab() { t.separate('\t') }

// Line starts a new line.
func (t *Text) Line() { t.separate('\n') }

// separate notes a separator; the strongest of several counts.
func (t *Text) separate(c byte) {
	rank := func(c byte) int {
		switch c {
		case ' ':
			return 1
		case '\t':
			return 2
		case '\n':
			return 3
		}
		return 0
	}
	if rank(c) > rank(t.sep) {
		t.sep = c
	}
}

// Len returns the bytes of the text so far, for From.
func (t *Text) Len() int { return len(t.buf) }

// From returns the text since Len was n.
func (t *Text) From(n int) string { return string(t.buf[min(n, len(t.buf)):]) }

// Full reports whether text was left out, so that reading on is of no use.
func (t *Text) Full() bool { return t.cut }

// Finish returns the text and notes in meta when it was cut.
func (t *Text) Finish(meta model.Metadata) string {
	if t.cut {
		meta.Set(MetaTextCut, ">"+strconv.Itoa(t.chars))
		Truncated(meta, "text")
	}
	return string(t.buf)
}

// Cut shortens text to limit characters, negative for no limit, and notes in
// meta how long it was.
func Cut(text string, limit int, meta model.Metadata) string {
	if limit < 0 || len(text) <= limit {
		return text
	}
	n := 0
	for i := range text {
		if n == limit {
			meta.Set(MetaTextCut, strconv.Itoa(utf8.RuneCountInString(text)))
			return text[:i]
		}
		n++
	}
	return text
}
