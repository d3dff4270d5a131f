package libhtml

import "bytes"

// foreign goes through an svg or math element, whose start tag was read last;
// quiet leaves its text out. HTML inside it stops the stream, save for the plain
// text of svg titles.
func (s *stream) foreign(root elem, quiet bool) {
	open := [][]byte{s.name}
	if s.foreignVoid() {
		return
	}
	skip := 0 // len(open) at an element whose text is left out
	if quiet {
		skip = 1
	}
	for len(open) > 0 && s.pos < len(s.src) {
		at := s.nextMarkup(s.pos)
		if at > s.pos && skip == 0 {
			s.text.write(s.src[s.pos:at], true)
		}
		s.pos = at
		if at == len(s.src) {
			return
		}
		switch c := s.src[at+1]; {
		case c == '!':
			s.foreignDeclaration(at+2, skip == 0)
		case c == '?':
			s.pos = s.skipGT(at + 1)
		case c == '/':
			if open = s.foreignEnd(open, at+2); len(open) < skip {
				skip = 0
			}
		default:
			n := len(open)
			if open = s.foreignStart(root, open, at+1); open == nil {
				if s.lenient && !quiet && s.pos < len(s.src) {
					s.open(s.id)
				}
				return
			}
			if len(open) > n && skip == 0 && (s.id == eStyle || s.id == eScript) {
				skip = len(open)
			}
		}
	}
}

// foreignVoid reports whether the tag read last closes itself.
func (s *stream) foreignVoid() bool {
	if s.slashValue {
		s.stop("slash in attribute of foreign element")
	}
	return s.selfClosing
}

// foreignDeclaration is declaration in foreign content, where CDATA sections
// are text.
func (s *stream) foreignDeclaration(i int, keep bool) {
	const cdata = "[CDATA["
	if !bytes.HasPrefix(s.src[i:], []byte(cdata)) {
		s.declaration(i)
		return
	}
	i += len(cdata)
	end, next := len(s.src), len(s.src)
	if j := bytes.Index(s.src[i:], []byte("]]>")); j >= 0 {
		end, next = i+j, i+j+3
	}
	if keep {
		s.text.write(s.src[i:end], false)
	}
	s.pos = next
}

// foreignStart handles a start tag whose name starts at i; it returns the open
// foreign elements, or nil when the page or the foreign content ended.
func (s *stream) foreignStart(root elem, open [][]byte, i int) [][]byte {
	top := open[len(open)-1]
	i = s.readName(i)
	id := s.id
	s.attrs.reset()
	if i = s.readAttrs(i, s.props.flags[id]&fAttrs != 0); i < 0 {
		s.pos = len(s.src)
		return nil
	}
	s.pos = i
	switch {
	case isIntegration(top, root):
		s.stop("HTML in foreign content")
	case id != unknown && id != eTitle && id != eStyle && id != eScript && id != eImage && id != eSvg && id != eMath:
		s.stop("HTML in foreign content")
	case foldEqual(s.name, "annotation-xml") || foldEqual(s.name, "foreignobject") || !isASCII(s.name):
		s.stop("HTML in foreign content")
	case len(s.stack)+len(open) > maxDepth-8:
		s.stop("nesting deeper than 512 elements")
		return open
	default:
		if s.foreignVoid() {
			return open
		}
		return append(open, s.name)
	}
	return nil
}

// isIntegration reports whether the content of a foreign element may be HTML.
func isIntegration(name []byte, root elem) bool {
	if root == eSvg {
		return foldEqual(name, "title") || foldEqual(name, "desc")
	}
	switch len(name) {
	case 2:
		return foldEqual(name, "mi") || foldEqual(name, "mo") || foldEqual(name, "mn") || foldEqual(name, "ms")
	case 5:
		return foldEqual(name, "mtext")
	}
	return false
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// foreignEnd handles an end tag whose name starts at i.
func (s *stream) foreignEnd(open [][]byte, i int) [][]byte {
	if !isAlpha(s.src[i]) {
		s.pos = s.skipGT(i)
		return open
	}
	if i = s.readAttrs(s.readName(i), false); i < 0 {
		s.pos = len(s.src)
		return open
	}
	s.pos = i
	if !isASCII(s.name) {
		s.stop("end tag in foreign content")
	}
	for n := len(open) - 1; n >= 0; n-- {
		if equalNames(open[n], s.name) {
			return open[:n]
		}
	}
	s.stop("end tag in foreign content")
	return open
}
