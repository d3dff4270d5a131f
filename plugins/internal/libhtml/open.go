package libhtml

// open handles a start tag by the insertion mode.
func (s *stream) open(id elem) {
	s.early = false
	switch s.mode {
	case mBody:
		s.openBody(id)
	case mCell:
		if s.props.kinds[id] == kTablePart {
			if i := s.findTable(eTd, eTh); i >= 0 {
				s.leave(i)
				s.mode = mRow
				s.open(id)
			}
			return
		}
		s.openBody(id)
	case mCaption:
		if s.props.kinds[id] == kTablePart && id != eTh {
			if i := s.findTable(eCaption); i >= 0 {
				s.leave(i)
				s.mode = mTable
				s.open(id)
			}
			return
		}
		s.openBody(id)
	case mTable, mTableBody, mRow, mColgroup:
		s.openTable(id)
	default:
		s.openHead(id)
	}
}

// openHead handles a start tag before the body.
func (s *stream) openHead(id elem) {
	if id == eHtml {
		s.html(&s.attrs)
		return
	}
	switch s.mode {
	case mInitial:
		s.mode = mHead
		if id != eHead {
			s.openHead(id)
		}
		return
	case mHeadNoscript:
		switch id {
		case eBasefont, eBgsound, eLink, eMeta, eNoframes, eStyle:
			s.openInHead(id)
		case eHead, eNoscript:
		default:
			s.pop()
			s.mode = mHead
			s.openHead(id)
		}
		return
	case mHead:
		if id == eNoscript {
			s.push(id)
			s.mode = mHeadNoscript
			return
		}
	case mAfterHead:
		switch id {
		case eBody:
			s.mode = mBody
			return
		case eFrameset:
			s.stop("frameset")
		}
	}
	switch {
	case id == eHead:
	case s.props.kinds[id] == kHead:
		s.openInHead(id)
	case s.mode == mHead:
		s.mode = mAfterHead
		s.openHead(id)
	default:
		s.mode = mBody
		s.open(id)
	}
}

// openInHead handles elements that are treated alike in head and body.
func (s *stream) openInHead(id elem) {
	switch id {
	case eTitle:
		s.separate(s.props.flags[id])
		end := s.rawEnd(s.pos, "title")
		s.titleText(s.src[s.pos:end], true)
		s.endRaw(end)
		s.separate(s.props.flags[id])
	case eScript:
		end := s.scriptEnd(s.pos)
		s.separate(s.props.flags[id])
		s.script(&s.attrs, s.src[s.pos:end])
		s.endRaw(end)
	case eStyle, eNoframes:
		s.separate(s.props.flags[id])
		s.endRaw(s.rawEnd(s.pos, elems.names[id]))
	case eTemplate:
		s.skipTemplate()
	default:
		s.void(id)
	}
}

// endRaw goes on after the end tag at end that closes a raw text element.
func (s *stream) endRaw(end int) {
	s.pos = len(s.src)
	if end < len(s.src) {
		if i := s.readAttrs(s.readName(end+2), false); i >= 0 {
			s.pos = i
		}
	}
}

// skipRaw skips the content of a raw text element that is no text of the page.
func (s *stream) skipRaw(id elem) {
	s.separate(s.props.flags[id])
	if s.props.flags[id]&fAttrs != 0 {
		s.element(id, &s.attrs)
	}
	s.endRaw(s.rawEnd(s.pos, elems.names[id]))
	s.separate(s.props.flags[id])
}

// openBody handles a start tag by the "in body" rules.
func (s *stream) openBody(id elem) {
	switch s.props.kinds[id] {
	case kOrdinary, kNoscript:
		s.push(id)
		if s.props.flags[id]&fAttrs != 0 {
			s.element(id, &s.attrs)
		}
	case kFormat:
		s.push(id)
	case kBlock, kPre:
		s.closeP()
		s.push(id)
	case kAnchor:
		s.openAnchor()
	case kItem:
		s.closeItem(id)
		s.closeP()
		s.push(id)
	case kVoid:
		if id == eImage {
			id = eImg
		}
		s.void(id)
	case kVoidPlain:
		s.void(id)
	case kHead:
		s.openInHead(id)
	case kHeading:
		s.openHeading(id)
	case kTable:
		if !s.quirks {
			s.closeP()
		}
		s.push(id)
		s.mode = mTable
	case kHTML:
		s.html(&s.attrs)
	case kFrameset:
		s.stop("frameset")
	case kTablePart, kIgnore, kBody:
	default:
		s.openRare(id)
	}
}

// openRare goes on with openBody.
func (s *stream) openRare(id elem) {
	switch s.props.kinds[id] {
	case kMarked:
		s.push(id)
		if s.props.flags[id]&fAttrs != 0 {
			s.element(id, &s.attrs)
		}
	case kPlaintext:
		s.closeP()
		s.push(id)
		s.text.write(s.src[s.pos:], false)
		s.pos = len(s.src)
	case kNobr:
		s.closeFormat(eNobr)
		s.push(id)
	case kHr:
		s.closeP()
		if s.find(eSelect) >= 0 {
			s.implied(unknown)
		}
		s.void(id)
	case kTextarea, kXmp:
		if id == eXmp {
			s.closeP()
		}
		s.separate(s.props.flags[id])
		end := s.rawEnd(s.pos, elems.names[id])
		s.text.write(s.src[s.pos:end], id == eTextarea)
		s.endRaw(end)
		s.separate(s.props.flags[id])
	case kSkipRaw:
		s.skipRaw(id)
	case kRuby:
		if s.find(eRuby) >= 0 {
			except := unknown
			if id == eRp || id == eRt {
				except = eRtc
			}
			s.implied(except)
		}
		s.push(id)
	case kForeign:
		s.foreign(id, false)
	default:
		s.openControl(id)
	}
}

func (s *stream) openHeading(id elem) {
	s.closeP()
	if s.misnested != 0 && s.props.flags[s.block()]&fHeading != 0 {
		s.surely("heading")
	}
	if s.props.flags[s.top()]&fHeading != 0 {
		s.cut(len(s.stack) - 1)
	}
	s.push(id)
}

// openAnchor handles <a>, which closes an a element still open.
func (s *stream) openAnchor() {
	s.checkWatched(-1, s.misnested&formatBit(eA) != 0)
	if s.count[eA] > 0 {
		s.closeOpenAnchor()
	}
	if s.stopped != "" {
		return
	}
	if s.lenient {
		s.closeA()
	}
	link := s.openA(&s.attrs)
	n := s.push(eA)
	if link && len(s.stack) > 0 && n == &s.stack[len(s.stack)-1] {
		n.link = true
		if !n.watch {
			n.watch = true
			s.watch++
		}
	}
}

// closeOpenAnchor closes the a element a new one ends. Where that would split
// a link, the stream stops.
func (s *stream) closeOpenAnchor() {
	i, special := len(s.stack)-1, false
	for ; s.stack[i].id != eA; i-- {
		f := s.props.flags[s.stack[i].id]
		if f&fMarker != 0 {
			if s.watchedLink() {
				s.stop("nested links")
			}
			return
		}
		special = special || f&fSpecial != 0
	}
	if !special {
		n := &s.stack[i]
		if n.link {
			n.link = false // closed here, and cut need not stop for it
			s.closeA()
		}
		s.cutOwn(i)
		return
	}
	if s.stack[i].link {
		s.stop("nested links")
	}
	s.split(i)
}

// watchedLink reports whether a link is open.
func (s *stream) watchedLink() bool {
	for i := range s.stack {
		if s.stack[i].link {
			return true
		}
	}
	return false
}

// skipTemplate skips a template element: its content is inert. Whatever it
// holds, tree construction afterwards goes on as before it.
func (s *stream) skipTemplate() {
	for depth := 1; s.pos < len(s.src); {
		at := s.nextMarkup(s.pos)
		if at == len(s.src) {
			break
		}
		switch c := s.src[at+1]; {
		case c == '!':
			s.declaration(at + 2)
		case c == '?':
			s.pos = s.skipGT(at + 1)
		default:
			end := c == '/'
			i := at + 1
			if end {
				i++
			}
			if !isAlpha(s.src[i]) {
				s.pos = s.skipGT(i)
				continue
			}
			if i = s.readAttrs(s.readName(i), false); i < 0 {
				s.pos = len(s.src)
				return
			}
			s.pos = i
			switch {
			case end && s.id == eTemplate:
				if depth--; depth == 0 {
					return
				}
			case !end && s.id == eTemplate:
				depth++
			case !end:
				s.skipInTemplate(s.id)
			}
		}
	}
	s.pos = len(s.src)
}

func (s *stream) skipInTemplate(id elem) {
	switch id {
	case eTitle, eStyle, eNoframes, eTextarea, eXmp, eIframe, eNoembed:
		s.endRaw(s.rawEnd(s.pos, elems.names[id]))
	case eScript:
		s.endRaw(s.scriptEnd(s.pos))
	case ePlaintext:
		s.pos = len(s.src)
	case eSvg, eMath:
		s.foreign(id, true)
	case eCol, eColgroup, eFrameset, eTd, eTh, eCaption, eObject, eApplet, eMarquee:
		s.stop("template with " + elems.names[id])
	}
}
