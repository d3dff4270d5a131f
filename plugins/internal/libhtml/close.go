package libhtml

// close handles an end tag by the insertion mode.
func (s *stream) close(id elem) {
	s.early = false
	if s.lenient && id == eA && s.count[eA] == 0 {
		s.closeA() // of a link too deep for the stack
	}
	switch s.mode {
	case mBody:
		s.closeBody(id)
	case mCell:
		s.closeInCell(id)
	case mCaption:
		s.closeInCaption(id)
	case mTable, mTableBody, mRow, mColgroup:
		s.closeTable(id)
	default:
		s.closeHead(id)
	}
}

// closeHead handles an end tag before the body.
func (s *stream) closeHead(id elem) {
	switch s.mode {
	case mInitial:
		switch id {
		case eHead, eBody, eHtml, eBr:
			s.mode = mHead
			s.closeHead(id)
		}
	case mHead:
		switch id {
		case eHead:
			s.mode = mAfterHead
		case eBody, eHtml, eBr:
			s.mode = mAfterHead
			s.closeHead(id)
		}
	case mHeadNoscript:
		switch id {
		case eNoscript:
			s.pop()
			s.mode = mHead
		case eBr:
			s.pop()
			s.mode = mHead
			s.closeHead(id)
		}
	case mAfterHead:
		switch id {
		case eBody, eHtml, eBr:
			s.mode = mBody
			s.closeBody(id)
		}
	}
}

// closeBody handles an end tag by the "in body" rules.
func (s *stream) closeBody(id elem) {
	if n := len(s.stack); n > 0 && s.stack[n-1].id == id && id != unknown && id != eForm {
		if s.misnested == 0 || s.props.flags[id]&fFormat != 0 {
			s.pop()
			return
		}
	}
	switch s.props.kinds[id] {
	case kBlock, kPre, kButton, kSelect:
		if id == eP {
			s.closePara()
			return
		}
		if i := s.find(id); i >= 0 {
			s.cut(i)
		}
	case kAnchor, kFormat, kNobr:
		s.closeFormat(id)
	case kItem:
		var i int
		if id == eLi {
			i = s.find(id, eOl, eUl)
		} else {
			i = s.find(id)
		}
		if i >= 0 {
			s.cut(i)
		}
	case kHeading:
		s.closeAnyHeading()
	case kForm:
		s.closeForm()
	case kMarked:
		if i := s.find(id); i >= 0 {
			s.leave(i)
		}
	case kHTML, kBody:
	case kVoid:
		if id == eBr {
			s.attrs.reset()
			s.void(id)
			return
		}
		s.closeOther(id)
	default:
		if id != eTemplate {
			s.closeOther(id)
		}
	}
}

// closePara handles </p>, which makes an empty p where none is open.
func (s *stream) closePara() {
	if i := s.find(eP, eButton); i >= 0 {
		s.cut(i)
		return
	}
	s.separate(s.props.flags[eP])
}

func (s *stream) closeAnyHeading() {
	for i := len(s.stack) - 1; i >= 0; i-- {
		f := s.props.flags[s.stack[i].id]
		if f&fHeading != 0 {
			s.cut(i)
			return
		}
		if f&fScope != 0 {
			return
		}
	}
}

// closeForm handles </form>, which takes the form off the stack wherever it is
// there.
func (s *stream) closeForm() {
	want := s.form
	s.form = 0
	i := s.find(eForm)
	if want == 0 || i < 0 || s.stack[i].serial != want {
		return
	}
	s.implied(unknown)
	s.surely("end of form")
	if i != len(s.stack)-1 {
		s.stop("form closed inside other elements")
	}
	s.cut(i)
}

// closeFormat handles the end tag of a formatting element: the adoption agency
// algorithm, as far as its effects show.
func (s *stream) closeFormat(id elem) {
	i, special := -1, false
	if s.count[id] > 0 {
		for j := len(s.stack) - 1; j >= 0; j-- {
			n := s.stack[j].id
			if n == id {
				i = j
				break
			}
			f := s.props.flags[n]
			if f&fScope != 0 {
				break
			}
			special = special || f&fSpecial != 0
		}
	}
	s.checkWatched(i, s.misnested&formatBit(id) != 0)
	switch {
	case i < 0:
	case !special:
		if s.stack[i].link {
			s.stack[i].link = false // ended by its own tag
			s.closeA()
		}
		s.cutOwn(i)
	default:
		if s.stack[i].link {
			s.stop("link around blocks that end later")
		}
		s.split(i)
	}
}

// checkWatched looks at an end tag that matches index i of the stack (-1:
// nothing) but in the tree may match a copy of a formatting element that only
// the tree has, and then end elements above i. Watched ones stop the stream;
// formatting elements there become uncertain in turn.
func (s *stream) checkWatched(i int, uncertain bool) {
	if !uncertain || s.lenient {
		return
	}
	for j := len(s.stack) - 1; j > i; j-- {
		n := &s.stack[j]
		if n.watch {
			s.stop("misnested formatting around a link")
			return
		}
		s.misnested |= formatBit(n.id)
	}
}

// split does what the adoption agency does to the stack when blocks inside the
// formatting element at index i are still open: the element goes, and with it
// everything above that is no block.
func (s *stream) split(i int) {
	w, blocks, inner := i, 0, 0
	for j := i; j < len(s.stack); j++ {
		n := s.stack[j]
		f := s.props.flags[n.id]
		if f&fSpecial != 0 {
			blocks++
			s.stack[w] = n
			w++
			continue
		}
		if n.watch {
			s.stop("misnested formatting around a link")
			if n.link {
				s.closeA()
			}
			s.watch--
		}
		inner++
		s.misnested |= formatBit(n.id)
		s.count[n.id]--
		if n.id == unknown {
			s.others[n.hash%256]--
		}
	}
	s.stack = s.stack[:w]
	// Eight blocks is where the algorithm gives up; more than three elements
	// before a block is where x/net/html leaves some on its stack.
	if blocks > 7 || inner > 4 {
		s.stop("formatting around deep blocks")
	}
}

// closeOther handles "any other end tag".
func (s *stream) closeOther(id elem) {
	if s.misnested == 0 && (s.count[id] == 0 || id == unknown && s.others[s.hash%256] == 0) {
		return
	}
	i := len(s.stack) - 1
	for ; i >= 0; i-- {
		n := &s.stack[i]
		if n.id == id && (id != unknown || n.hash == s.hash && equalNames(s.src[n.name:n.name+n.length], s.name)) {
			break
		}
		if s.props.flags[n.id]&fSpecial != 0 {
			i = -1
			break
		}
	}
	if i != len(s.stack)-1 {
		s.checkWatched(i, s.misnested != 0)
	}
	if i >= 0 {
		s.cut(i)
	}
}

func equalNames(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		if x != y && !(isAlpha(x) && x|0x20 == y|0x20 && isAlpha(y)) {
			return false
		}
	}
	return true
}
