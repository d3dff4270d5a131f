package libhtml

import "bytes"

// lexer finds the tokens of a page. Offsets are into src; nothing is copied.
type lexer struct {
	src []byte
	pos int
	// The start or end tag read last.
	id          elem
	name        []byte // as written
	nameAt      int    // its offset
	hash        uint64 // elemHash of it
	selfClosing bool
	slashValue  bool // the tag ends in "/>" whose slash belongs to an unquoted value
	attrs       attrs
}

// nextMarkup returns the offset of the next '<' at or after i that starts a
// tag, comment or declaration, or len(src).
func (l *lexer) nextMarkup(i int) int {
	for {
		j := bytes.IndexByte(l.src[i:], '<')
		if j < 0 {
			return len(l.src)
		}
		i += j
		if isMarkup(l.src, i) {
			return i
		}
		i++
	}
}

// readName reads a tag name that starts at i and returns the offset after it.
func (l *lexer) readName(i int) int {
	src, start := l.src, i
	var h uint64
	for ; i < len(src); i++ {
		c := src[i]
		if c <= ' ' && isWS(c) || c == '/' || c == '>' {
			break
		}
		h = elemHash(h, c)
	}
	l.name, l.nameAt, l.hash = src[start:i], start, h
	l.id = unknown
	if i-start <= 10 {
		l.id = elems.find(h, l.name)
	}
	return i
}

// readAttrs reads the rest of a tag from after its name, keeping attributes
// when keep. It returns the offset after '>', or -1 when the page ends first.
func (l *lexer) readAttrs(i int, keep bool) int {
	src := l.src
	n := len(src)
	lastVal := -1 // end of the last attribute's value
	for {
		for i < n && isWS(src[i]) {
			i++
		}
		if i >= n {
			return -1
		}
		if src[i] == '>' {
			break
		}
		key := i
		if src[i] == '=' { // a leading '=' is part of the name
			i++
		}
		for i < n && !endsKey(src[i]) {
			i++
		}
		keyEnd := i
		val, valEnd, next := l.readValue(i)
		if next < 0 {
			return -1
		}
		i = next
		if key != keyEnd {
			lastVal = valEnd
			if keep {
				l.attrs.put(attrByName(src[key:keyEnd]), src[val:valEnd])
			}
		}
	}
	slash := src[i-1] == '/'
	l.slashValue = slash && lastVal == i
	l.selfClosing = slash && lastVal != i
	return i + 1
}

func endsKey(c byte) bool {
	return c <= '>' && (c == '=' || c == '>' || c == '/' || isWS(c))
}

// readValue reads what may follow an attribute's name at i: nothing, or "="
// and a value. It returns the value's bounds and the offset to go on at, or -1
// at the end of the page.
func (l *lexer) readValue(i int) (start, end, next int) {
	src, at := l.src, i
	for i < len(src) && isWS(src[i]) {
		i++
	}
	if i >= len(src) {
		return 0, 0, -1
	}
	if src[i] == '/' {
		return at, at, i + 1
	}
	if src[i] != '=' {
		return at, at, i
	}
	for i++; i < len(src) && isWS(src[i]); i++ {
	}
	if i >= len(src) {
		return 0, 0, -1
	}
	switch q := src[i]; q {
	case '>':
		return at, at, i
	case '"', '\'':
		j := bytes.IndexByte(src[i+1:], q)
		if j < 0 {
			return 0, 0, -1
		}
		return i + 1, i + 1 + j, i + j + 2
	}
	start = i
	for i < len(src) && src[i] != '>' && !isWS(src[i]) {
		i++
	}
	if i >= len(src) {
		return 0, 0, -1
	}
	if src[i] == '>' {
		return start, i, i
	}
	return start, i, i + 1
}

// skipComment returns the offset after the comment whose data starts at i.
func (l *lexer) skipComment(i int) int {
	src, start := l.src, i
	if i < len(src) && src[i] == '>' {
		return i + 1
	}
	if i+1 < len(src) && src[i] == '-' && src[i+1] == '>' {
		return i + 2
	}
	for {
		j := bytes.IndexByte(src[i:], '>')
		if j < 0 {
			return len(src)
		}
		i += j
		if i-2 >= start && src[i-1] == '-' && src[i-2] == '-' ||
			i-3 >= start && src[i-1] == '!' && src[i-2] == '-' && src[i-3] == '-' {
			return i + 1
		}
		i++
	}
}

// skipGT returns the offset after the next '>' at or after i, or len(src).
func (l *lexer) skipGT(i int) int {
	if j := bytes.IndexByte(l.src[i:], '>'); j >= 0 {
		return i + j + 1
	}
	return len(l.src)
}

// hasFold reports whether src at i starts with s in any ASCII case; s is
// lower-case.
func (l *lexer) hasFold(i int, s string) bool {
	return i+len(s) <= len(l.src) && foldEqual(l.src[i:i+len(s)], s)
}

// rawEnd returns the offset of the "</name" that ends the raw text starting at
// i, or len(src). An end tag counts only when white space, '/' or '>' follows.
func (l *lexer) rawEnd(i int, name string) int {
	for {
		j := bytes.Index(l.src[i:], []byte("</"))
		if j < 0 {
			return len(l.src)
		}
		i += j
		if l.isRawEnd(i+2, name) {
			return i
		}
		i += 2
	}
}

// isRawEnd reports whether name and a byte that ends a tag name are at i.
func (l *lexer) isRawEnd(i int, name string) bool {
	if !l.hasFold(i, name) || i+len(name) >= len(l.src) {
		return false
	}
	c := l.src[i+len(name)]
	return isWS(c) || c == '/' || c == '>'
}
