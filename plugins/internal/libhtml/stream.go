package libhtml

import "bytes"

// mode is an insertion mode of tree construction. Modes that can't differ in
// the output are one: "initial" to "before head" are mInitial; "in body", "in
// cell" and "in caption" differ by what the table rules do; "after body" is
// "in body".
type mode uint8

const (
	mInitial mode = iota
	mHead
	mHeadNoscript
	mAfterHead
	mBody
	mTable
	mTableBody
	mRow
	mCell
	mCaption
	mColgroup
)

// node is an element on the stack of open elements.
type node struct {
	id     elem
	watch  bool   // its end shows in the output and depends on formatting: see stream.misnested
	link   bool   // an a element whose end the sink wants
	serial uint32 // of a form
	hash   uint64 // of the name of an unknown element …
	name   int    // … and its place in the page; without pointers, nodes cost the collector nothing
	length int
}

// maxDepth is the deepest stack of open elements that x/net/html takes.
const maxDepth = 512

// stream goes through a page without building a tree.
type stream struct {
	sink
	lexer
	props *props
	stack []node
	count [nElems]int32 // elements on the stack
	// others counts the unknown elements on the stack by a part of their hash.
	others [256]int32
	mode   mode
	// early is true until the first token that ends the "initial" mode.
	early  bool
	quirks bool
	form   uint32 // serial of the form element pointer, 0 for none
	serial uint32
	watch  int // nodes on the stack with watch
	// misnested has a bit for each kind of formatting element (formatBit) that
	// was closed by something else than its end tag. The real tree may hold
	// copies of it that this stack does not have, at places unknown; where that
	// could show in the output the stream stops.
	misnested uint16
	lenient   bool // never stop
	stopped   string

	doctype       []byte // the last document type looked at …
	doctypeQuirks bool   // … and whether it means quirks mode
}

func newStream(x *Extractor) *stream {
	s := &stream{props: x.props}
	s.x = x
	return s
}

func (s *stream) reset(in *Input) {
	s.sink.reset(in.Facts)
	s.lexer = lexer{src: in.Body}
	*s = stream{
		sink: s.sink, lexer: s.lexer, props: s.props, stack: s.stack[:0], early: true, quirks: true,
		doctype: s.doctype, doctypeQuirks: s.doctypeQuirks,
	}
}

func (s *stream) release() {
	s.reset(&Input{})
	s.sink.release()
}

// stop ends the stream's way: only a tree can tell what follows.
func (s *stream) stop(why string) {
	if !s.lenient && s.stopped == "" {
		s.stopped = why
		s.pos = len(s.src)
	}
}

// run goes through the page and returns why it had to stop, or "".
func (s *stream) run() string {
	if bytes.IndexByte(s.src, 0) >= 0 {
		s.stop("NUL byte")
	}
	for s.pos < len(s.src) {
		if s.inText() {
			s.pos = s.text.scan(s.src, s.pos, true, pageClass)
		} else if at := s.nextMarkup(s.pos); at > s.pos {
			text := s.src[s.pos:at]
			s.pos = at
			s.onText(text)
		}
		at := s.pos
		if at == len(s.src) {
			break
		}
		switch c := s.src[at+1]; {
		case c == '/':
			s.endTag(at + 2)
		case c == '!':
			s.declaration(at + 2)
		case c == '?':
			s.pos = s.skipGT(at + 1)
		default:
			s.startTag(at + 1)
		}
	}
	s.popTo(0)
	return s.stopped
}

// declaration handles what starts with "<!"; i is the offset after it.
func (s *stream) declaration(i int) {
	switch {
	case i+1 < len(s.src) && s.src[i] == '-' && s.src[i+1] == '-':
		s.pos = s.skipComment(i + 2)
	case s.hasFold(i, "doctype"):
		i += len("doctype")
		s.pos = s.skipGT(i)
		if s.early {
			s.early = false
			s.quirks = s.isQuirky(s.src[i:s.pos])
		}
	default:
		s.pos = s.skipGT(i)
	}
}

// startTag handles a start tag whose name starts at i.
func (s *stream) startTag(i int) {
	i = s.readName(i)
	id := s.id
	keep := s.props.flags[id]&fAttrs != 0
	if keep {
		s.attrs.reset()
	}
	if i < len(s.src) && s.src[i] == '>' {
		s.selfClosing = false
		i++
	} else if i = s.readAttrs(i, keep); i < 0 {
		s.pos = len(s.src)
		return
	}
	s.pos = i
	s.open(id)
}

// endTag handles what starts with "</"; i is the offset after it.
func (s *stream) endTag(i int) {
	if !isAlpha(s.src[i]) {
		s.pos = s.skipGT(i)
		return
	}
	i = s.readName(i)
	id := s.id
	if i < len(s.src) && s.src[i] == '>' {
		i++
	} else if i = s.readAttrs(i, false); i < 0 {
		s.pos = len(s.src)
		return
	}
	s.pos = i
	s.close(id)
}

// inText reports whether text is allowed where the stream is.
func (s *stream) inText() bool {
	return s.mode == mBody || s.mode == mCell || s.mode == mCaption
}

// onText handles text before the body or in a table.
func (s *stream) onText(b []byte) {
	rest := trimLeftWS(b)
	switch {
	case len(rest) == 0:
		if s.mode != mInitial {
			s.text.space()
		}
		return
	case s.mode >= mTable:
		s.stop("text in table")
	case rest[0] == '&':
		s.stop("character reference before body")
	}
	if s.mode == mHeadNoscript {
		s.pop()
	}
	s.early = false
	if s.mode < mBody {
		s.mode = mBody
	}
	s.text.write(b, true)
}

func trimLeftWS(b []byte) []byte {
	for len(b) > 0 && isWS(b[0]) {
		b = b[1:]
	}
	return b
}

// push puts an element on the stack and reports it.
func (s *stream) push(id elem) *node {
	f := s.props.flags[id]
	if f&(fLine|fSpace) != 0 {
		s.separate(f)
	}
	if len(s.stack) >= maxDepth-4 { // html, head or body and what the tree may hold besides
		s.stop("nesting deeper than 512 elements")
		if len(s.stack) >= maxDepth {
			return &node{}
		}
	}
	s.stack = append(s.stack, node{id: id})
	n := &s.stack[len(s.stack)-1]
	if id == unknown {
		n.name, n.length, n.hash = s.nameAt, len(s.name), s.hash
		s.others[n.hash%256]++
	}
	s.count[id]++
	if f&(fLine|fSpace) != 0 && f&fSpecial == 0 {
		n.watch = true
		s.watch++
	}
	if f&fHeading != 0 {
		s.facts.openHeading(id, len(s.text.buf))
	}
	return n
}

// pop takes the last element off the stack and reports its end.
func (s *stream) pop() {
	last := len(s.stack) - 1
	n := &s.stack[last]
	f := s.props.flags[n.id]
	s.count[n.id]--
	if n.id == unknown {
		s.others[n.hash%256]--
	}
	if n.watch {
		s.watch--
		if n.link {
			s.closeA()
		}
	}
	if f&(fLine|fSpace|fHeading) != 0 {
		s.separate(f)
		if f&fHeading != 0 {
			s.facts.closeHeading(len(s.text.buf))
		}
	}
	s.stack = s.stack[:last]
}

// popTo takes elements off until n are left, where no formatting elements are
// left over: at the end of the page or of a table, or by leave.
func (s *stream) popTo(n int) {
	for len(s.stack) > n {
		s.pop()
	}
}

// leave closes the element at index i, which has a marker on the list of active
// formatting elements; the list is cleared up to the last marker.
func (s *stream) leave(i int) {
	for _, n := range s.stack[i+1:] {
		if s.props.flags[n.id]&fMarker != 0 {
			s.stop("object left open")
		}
	}
	s.popTo(i)
}

// cutOwn is cut for a formatting element ended by its own end tag.
func (s *stream) cutOwn(i int) {
	bit := formatBit(s.stack[i].id)
	keep := s.misnested & bit
	s.cut(i)
	s.misnested = s.misnested&^bit | keep
}

// cut takes elements off until n are left, where formatting elements among
// them stay active.
func (s *stream) cut(n int) {
	for len(s.stack) > n {
		top := &s.stack[len(s.stack)-1]
		if s.props.flags[top.id]&fFormat != 0 {
			s.misnested |= formatBit(top.id)
			if top.link {
				s.stop("link closed by another element")
			}
		}
		s.pop()
	}
}

// void reports an element without content.
func (s *stream) void(id elem) {
	f := s.props.flags[id]
	s.separate(f)
	if f&fAttrs != 0 {
		s.element(id, &s.attrs)
	}
}

func formatBit(id elem) uint16 {
	switch id {
	case eA:
		return 1 << 0
	case eB:
		return 1 << 1
	case eBig:
		return 1 << 2
	case eCode:
		return 1 << 3
	case eEm:
		return 1 << 4
	case eFont:
		return 1 << 5
	case eI:
		return 1 << 6
	case eNobr:
		return 1 << 7
	case eS:
		return 1 << 8
	case eSmall:
		return 1 << 9
	case eStrike:
		return 1 << 10
	case eStrong:
		return 1 << 11
	case eTt:
		return 1 << 12
	case eU:
		return 1 << 13
	}
	return 0
}
