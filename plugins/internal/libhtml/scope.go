package libhtml

// find returns the index of the last element id on the stack that is in
// (default) scope, or -1; extra are more elements that end the scope.
func (s *stream) find(id elem, extra ...elem) int {
	if s.count[id] == 0 {
		return -1
	}
	for i := len(s.stack) - 1; i >= 0; i-- {
		n := s.stack[i].id
		if n == id {
			return i
		}
		if s.props.flags[n]&fScope != 0 {
			return -1
		}
		for _, e := range extra {
			if n == e {
				return -1
			}
		}
	}
	return -1
}

// findTable is find in table scope, for any of ids.
func (s *stream) findTable(ids ...elem) int {
	for i := len(s.stack) - 1; i >= 0; i-- {
		n := s.stack[i].id
		for _, id := range ids {
			if n == id {
				return i
			}
		}
		if n == eTable {
			return -1
		}
	}
	return -1
}

// closeP closes a p element in button scope.
func (s *stream) closeP() {
	if s.count[eP] > 0 {
		if i := s.find(eP, eButton); i >= 0 {
			s.cut(i)
		}
	}
}

// implied generates implied end tags, except for except.
func (s *stream) implied(except elem) {
	if s.misnested != 0 && s.props.flags[s.block()]&(fImplied|fSpecial) == fImplied|fSpecial {
		s.surely("implied end tags")
	}
	for n := len(s.stack); n > 0; n = len(s.stack) {
		id := s.stack[n-1].id
		if id == except || s.props.flags[id]&fImplied == 0 {
			return
		}
		s.pop()
	}
}

// block returns the last special element on the stack, or unknown.
func (s *stream) block() elem {
	for i := len(s.stack) - 1; i >= 0; i-- {
		if id := s.stack[i].id; s.props.flags[id]&fSpecial != 0 {
			return id
		}
	}
	return unknown
}

// top returns the current node's element, or unknown when it is none the stack
// holds.
func (s *stream) top() elem {
	if len(s.stack) == 0 {
		return unknown
	}
	return s.stack[len(s.stack)-1].id
}

// surely stops the stream when what is on top of the stack matters and copies
// of formatting elements may be there.
func (s *stream) surely(what string) {
	if s.misnested != 0 {
		s.stop("misnested formatting before " + what)
	}
}

// closeItem closes the li (or dd, dt) that a new one ends.
func (s *stream) closeItem(id elem) {
	if id == eLi && s.count[eLi] == 0 || id != eLi && s.count[eDd]+s.count[eDt] == 0 {
		return
	}
	for i := len(s.stack) - 1; i >= 0; i-- {
		n := s.stack[i].id
		switch {
		case n == id, id != eLi && (n == eDd || n == eDt):
			s.cut(i)
			return
		case n == eAddress || n == eDiv || n == eP:
		case s.props.flags[n]&fSpecial != 0:
			return
		}
	}
}

// resetMode sets the mode the stack asks for after a table was closed.
func (s *stream) resetMode() {
	for i := len(s.stack) - 1; i >= 0; i-- {
		switch s.stack[i].id {
		case eTd, eTh:
			s.mode = mCell
		case eTr:
			s.mode = mRow
		case eTbody, eThead, eTfoot:
			s.mode = mTableBody
		case eCaption:
			s.mode = mCaption
		case eColgroup:
			s.mode = mColgroup
		case eTable:
			s.mode = mTable
		default:
			continue
		}
		return
	}
	s.mode = mBody
}
