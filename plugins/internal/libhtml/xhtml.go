package libhtml

// ExpandEmpty returns an XHTML page with empty-element tags such as
// <script src="x"/> written as HTML has to have them, with an end tag. HTML
// would take the slash for nothing and the rest of the page for a script. Pages
// without such tags are returned as they are.
func ExpandEmpty(body []byte) []byte {
	l := lexer{src: body}
	kinds := elemKinds()
	var out []byte
	copied := 0
	for at := l.nextMarkup(0); at < len(body); at = l.nextMarkup(l.pos) {
		switch c := body[at+1]; {
		case c == '!' && l.hasFold(at+2, "--"):
			l.pos = l.skipComment(at + 4)
		case c == '!' || c == '?' || c == '/':
			l.pos = l.skipGT(at + 1)
		default:
			end := l.readAttrs(l.readName(at+1), false)
			if end < 0 {
				l.pos = len(body)
				continue
			}
			l.pos = end
			switch id := l.id; {
			case !l.selfClosing:
				l.skipContent(id)
			case !isVoid(id, kinds[id]):
				out = append(out, body[copied:end-2]...)
				out = append(append(append(out, "></"...), l.name...), '>')
				copied = end
			}
		}
	}
	if copied == 0 {
		return body
	}
	return append(out, body[copied:]...)
}

// skipContent moves to the end of the raw text of an element that has some.
func (l *lexer) skipContent(id elem) {
	switch id {
	case eScript:
		l.pos = l.scriptEnd(l.pos)
	case eTitle, eStyle, eTextarea, eXmp, eIframe, eNoembed, eNoframes:
		l.pos = l.rawEnd(l.pos, elems.names[id])
	}
}

// isVoid reports whether an element never has content in HTML.
func isVoid(id elem, k kind) bool {
	switch k {
	case kVoid, kVoidPlain, kInput, kHr:
		return true
	}
	switch id {
	case eBase, eBasefont, eBgsound, eLink, eMeta, eCol, eFrame:
		return true
	}
	return false
}
