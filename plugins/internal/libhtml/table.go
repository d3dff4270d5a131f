package libhtml

// openTable handles a start tag inside a table but outside its cells and
// caption.
func (s *stream) openTable(id elem) {
	switch s.mode {
	case mRow:
		switch id {
		case eTd, eTh:
			s.push(id)
			s.mode = mCell
			return
		case eCaption, eCol, eColgroup, eTbody, eTfoot, eThead, eTr:
			s.leaveRow()
			s.openTable(id)
			return
		}
	case mTableBody:
		switch id {
		case eTr:
			s.push(id)
			s.mode = mRow
			return
		case eTd, eTh:
			s.push(eTr)
			s.mode = mRow
			s.openTable(id)
			return
		case eCaption, eCol, eColgroup, eTbody, eTfoot, eThead:
			s.leaveBody()
			s.openTable(id)
			return
		}
	case mColgroup:
		switch id {
		case eHtml:
			s.html(&s.attrs)
		case eCol:
			s.void(id)
		case eTemplate:
			s.skipTemplate()
		default:
			s.pop()
			s.mode = mTable
			s.openTable(id)
		}
		return
	}
	s.openInTable(id)
}

// leaveRow closes the tr on top of the stack.
func (s *stream) leaveRow() {
	s.pop()
	s.mode = mTableBody
}

// leaveBody closes the tbody, thead or tfoot on top of the stack.
func (s *stream) leaveBody() {
	s.pop()
	s.mode = mTable
}

// openInTable handles a start tag by the "in table" rules. What the standard
// moves before the table stops the stream.
func (s *stream) openInTable(id elem) {
	switch id {
	case eCaption:
		s.push(id)
		s.mode = mCaption
	case eColgroup:
		s.push(id)
		s.mode = mColgroup
	case eCol:
		s.push(eColgroup)
		s.mode = mColgroup
		s.void(id)
	case eTbody, eTfoot, eThead:
		s.push(id)
		s.mode = mTableBody
	case eTd, eTh, eTr:
		s.push(eTbody)
		s.mode = mTableBody
		s.openTable(id)
	case eTable:
		if i := s.findTable(eTable); i >= 0 {
			s.popTo(i)
			s.resetMode()
			s.open(id)
		}
	case eStyle, eScript, eTemplate:
		s.openInHead(id)
	case eForm:
		if s.form == 0 {
			s.serial++
			s.form = s.serial
			s.void(id)
		}
	case eInput:
		if typ, ok := s.attrs.get(aType); ok && foldEqual(typ, "hidden") {
			s.void(id)
			return
		}
		s.stop("input in table")
		s.openBody(id)
	case eHtml:
		s.html(&s.attrs)
	case eFrame, eHead, eBody:
	default:
		s.stop("element in table")
		s.openBody(id)
	}
}

// closeTable handles an end tag inside a table but outside its cells and
// caption.
func (s *stream) closeTable(id elem) {
	switch s.mode {
	case mRow:
		switch id {
		case eTr:
			s.leaveRow()
			return
		case eTable:
			s.leaveRow()
			s.closeTable(id)
			return
		case eTbody, eTfoot, eThead:
			if s.findTable(id) >= 0 {
				s.leaveRow()
				s.closeTable(id)
			}
			return
		}
	case mTableBody:
		switch id {
		case eTbody, eTfoot, eThead:
			if s.findTable(id) >= 0 {
				s.leaveBody()
			}
			return
		case eTable:
			s.leaveBody()
			s.closeTable(id)
			return
		}
	case mColgroup:
		switch id {
		case eColgroup:
			s.pop()
			s.mode = mTable
		case eCol, eTemplate:
		default:
			s.pop()
			s.mode = mTable
			s.closeTable(id)
		}
		return
	}
	switch id {
	case eTable:
		if i := s.findTable(eTable); i >= 0 {
			s.popTo(i)
			s.resetMode()
		}
	case eForm:
		s.form = 0 // no form inside a table is in scope here
	case eP, eBr:
		s.stop("element in table")
		s.closeBody(id)
	}
}

// closeInCell handles an end tag in a cell.
func (s *stream) closeInCell(id elem) {
	switch id {
	case eTd, eTh:
		if i := s.findTable(id); i >= 0 {
			s.leave(i)
			s.mode = mRow
		}
	case eBody, eCaption, eCol, eColgroup, eHtml:
	case eTable, eTbody, eTfoot, eThead, eTr:
		if s.findTable(id) < 0 {
			return
		}
		if i := s.findTable(eTd, eTh); i >= 0 {
			s.leave(i)
		}
		s.mode = mRow
		s.closeTable(id)
	default:
		s.closeBody(id)
	}
}

// closeInCaption handles an end tag in a caption.
func (s *stream) closeInCaption(id elem) {
	switch id {
	case eCaption, eTable:
		if i := s.findTable(eCaption); i >= 0 {
			s.leave(i)
			s.mode = mTable
			if id == eTable {
				s.closeTable(id)
			}
		}
	case eBody, eCol, eColgroup, eHtml, eTbody, eTd, eTfoot, eTh, eThead, eTr:
	default:
		s.closeBody(id)
	}
}
