package libhtml

// openControl goes on with openRare: forms and their controls.
func (s *stream) openControl(id elem) {
	switch s.props.kinds[id] {
	case kForm:
		if s.form != 0 {
			return
		}
		s.closeP()
		s.serial++
		s.form = s.serial
		s.push(id).serial = s.serial
		s.element(id, &s.attrs)
	case kButton:
		if i := s.find(eButton); i >= 0 {
			s.cut(i)
		}
		s.push(id)
	case kInput:
		if i := s.find(eSelect); i >= 0 {
			s.cut(i)
		}
		s.void(id)
	case kSelect:
		if i := s.find(eSelect); i >= 0 {
			s.cut(i)
			return
		}
		s.push(id)
	case kOption:
		s.openOption(id)
	}
}

func (s *stream) openOption(id elem) {
	switch {
	case s.find(eSelect) >= 0:
		except := unknown
		if id == eOption {
			except = eOptgroup
		}
		s.implied(except)
	case s.top() == eOption:
		s.surely("option")
		s.pop()
	}
	s.push(id)
}
