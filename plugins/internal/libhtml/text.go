package libhtml

// collapser gathers text with white space collapsed: every run of white space
// between two words becomes one space, or one line feed where an element that
// separates lines lies between them; none at the ends. C0 controls, delete and
// U+00A0 count as white space.
type collapser struct {
	buf []byte
	sep byte // what is due before the next word: 0, ' ' or '\n'
}

// Byte classes of text.
const (
	plain   = iota
	space   // white space
	amp     // may start a character reference
	maybeNB // may start U+00A0
	angle   // may start markup
)

// classes gives each byte its class.
type classes [256]uint8

// textClass is for text alone, pageClass for text in a page. Both are built
// once and never changed.
var (
	textClass = newTextClass(plain)
	pageClass = newTextClass(angle)
)

func newTextClass(lt uint8) *classes {
	var t classes
	for c := range 0x21 {
		t[c] = space
	}
	t[0x7f] = space
	t['&'] = amp
	t['<'] = lt
	t[0xc2] = maybeNB
	return &t
}

func (c *collapser) space() {
	if c.sep == 0 {
		c.sep = ' '
	}
}

func (c *collapser) line() { c.sep = '\n' }

// flush writes the separator that is due.
func (c *collapser) flush() {
	if c.sep != 0 {
		if len(c.buf) > 0 {
			c.buf = append(c.buf, c.sep)
		}
		c.sep = 0
	}
}

// write adds text; character references in b are decoded when decode.
func (c *collapser) write(b []byte, decode bool) { c.scan(b, 0, decode, textClass) }

// scan adds the text of b from i up to the next '<' that starts markup, if cls
// has angle brackets at all, and returns where it stopped.
func (c *collapser) scan(b []byte, i int, decode bool, cls *classes) int {
	for i < len(b) {
		switch cls[b[i]] {
		case space:
			c.space()
			i++
			continue
		case maybeNB:
			if i+1 < len(b) && b[i+1] == 0xa0 {
				c.space()
				i += 2
				continue
			}
		case amp:
			if decode {
				i += c.entity(b[i:])
				continue
			}
		case angle:
			if isMarkup(b, i) {
				return i
			}
		}
		// A run of words with single spaces between them is copied at once.
		j := i + 1
		for j < len(b) {
			if k := cls[b[j]]; k == plain || k == amp && !decode {
				j++
			} else if b[j] == ' ' && j+1 < len(b) && cls[b[j+1]] == plain {
				j += 2
			} else {
				break
			}
		}
		c.flush()
		c.buf = append(c.buf, b[i:j]...)
		i = j
	}
	return i
}

// isMarkup reports whether the '<' at i starts a tag, comment or declaration.
func isMarkup(b []byte, i int) bool {
	if i+1 >= len(b) {
		return false
	}
	c := b[i+1]
	return isAlpha(c) || c == '!' || c == '?' || c == '/' && i+2 < len(b)
}

// entity writes the character reference b starts with and returns its length.
func (c *collapser) entity(b []byte) int {
	var tmp [maxEntity * 2]byte
	out, n := decodeEntity(tmp[:0], b, false)
	c.write(out, false)
	return n
}

// collapse returns b with white space collapsed and references decoded as write
// does; line feeds become spaces.
func collapse(b []byte) string {
	var c collapser
	c.write(b, false)
	return string(c.buf)
}
