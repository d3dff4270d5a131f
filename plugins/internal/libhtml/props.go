package libhtml

// flag is a property of an element that tree construction or output asks for.
type flag uint16

const (
	fSpecial flag = 1 << iota // the standard's "special" category, as x/net/html has it
	fScope                    // stops the search for an element in (default) scope
	fMarker                   // puts a marker on the list of active formatting elements
	fFormat                   // an active formatting element
	fImplied                  // closed by "generate implied end tags"
	fLine                     // separates text by a line break
	fSpace                    // separates text by a space
	fAttrs                    // the sink wants its attributes
	fHeading
)

// props are the properties of all elements under given options.
type props struct {
	flags [nElems]flag
	kinds [nElems]kind
}

func (p *props) set(f flag, ids ...elem) {
	for _, id := range ids {
		p.flags[id] |= f
	}
}

func newProps(separators []string) *props {
	p := &props{kinds: elemKinds()}
	p.set(fSpecial,
		eAddress, eApplet, eArea, eArticle, eAside, eBase, eBasefont, eBgsound, eBlockquote, eBody, eBr,
		eButton, eCaption, eCenter, eCol, eColgroup, eDd, eDetails, eDir, eDiv, eDl, eDt, eEmbed, eFieldset,
		eFigcaption, eFigure, eFooter, eForm, eFrame, eFrameset, eH1, eH2, eH3, eH4, eH5, eH6, eHead,
		eHeader, eHgroup, eHr, eHtml, eIframe, eImg, eInput, eKeygen, eLi, eLink, eListing, eMain, eMarquee,
		eMenu, eMeta, eNav, eNoembed, eNoframes, eNoscript, eObject, eOl, eP, eParam, ePlaintext, ePre,
		eScript, eSection, eSelect, eSource, eStyle, eSummary, eTable, eTbody, eTd, eTemplate, eTextarea,
		eTfoot, eTh, eThead, eTitle, eTr, eTrack, eUl, eWbr, eXmp)
	p.set(fScope, eApplet, eCaption, eHtml, eTable, eTd, eTh, eMarquee, eObject, eTemplate, eSelect)
	p.set(fMarker, eApplet, eCaption, eTd, eTh, eMarquee, eObject)
	p.set(fFormat, eA, eB, eBig, eCode, eEm, eFont, eI, eNobr, eS, eSmall, eStrike, eStrong, eTt, eU)
	p.set(fImplied, eDd, eDt, eLi, eOptgroup, eOption, eP, eRb, eRp, eRt, eRtc)
	p.set(fHeading, eH1, eH2, eH3, eH4, eH5, eH6)
	p.set(fAttrs, eA, eArea, eLink, eMeta, eBase, eImg, eImage, eHtml, eFrame, eIframe, eEmbed, eObject, eSource,
		eVideo, eAudio, eScript, eForm, eInput)
	// These always separate words, whatever the setting says: words of two
	// cells or options are never one word.
	p.set(fSpace, eTd, eTh, eCaption, ePre, eListing, eTextarea, eOption, eOptgroup, ePlaintext, eXmp)
	p.set(fLine, eTitle)
	for _, name := range separators {
		if id := lookupElem([]byte(name)); id != unknown {
			p.flags[id] |= fLine
		}
	}
	return p
}

// elemHash adds a byte of a name to the name's hash: its last eight bytes,
// letters in lower case.
func elemHash(h uint64, c byte) uint64 { return h<<8 | uint64(c|0x20) }

const elemSlots = 1024

// elemIndex is an open-addressed table from name hash to elem. It is built once
// and never changed.
type elemIndex struct {
	slots [elemSlots]struct {
		hash uint64
		id   elem
	}
	names [nElems]string
}

var elems = newElemIndex()

func newElemIndex() *elemIndex {
	x := &elemIndex{names: elemNames()}
	for id := unknown + 1; id < nElems; id++ {
		var h uint64
		for i := range len(x.names[id]) {
			h = elemHash(h, x.names[id][i])
		}
		i := slot(h)
		for ; x.slots[i].id != unknown; i = (i + 1) % elemSlots {
		}
		x.slots[i].hash, x.slots[i].id = h, id
	}
	return x
}

func slot(h uint64) uint64 { return h * 0x9e3779b97f4a7c15 >> 54 }

// find returns the elem with the given name, in any case, whose elemHash is h.
func (x *elemIndex) find(h uint64, name []byte) elem {
	for i := slot(h); ; i = (i + 1) % elemSlots {
		s := &x.slots[i]
		if s.id == unknown {
			return unknown
		}
		if s.hash == h {
			// Names of up to eight letters are equal when their hashes are.
			if len(name) <= 8 && (s.id < eH1 || s.id > eH6) || foldEqual(name, x.names[s.id]) {
				return s.id
			}
		}
	}
}

func lookupElem(name []byte) elem {
	var h uint64
	for _, c := range name {
		h = elemHash(h, c)
	}
	return elems.find(h, name)
}

// foldEqual reports whether b is s in any ASCII case; s is lower-case.
func foldEqual(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != s[i] {
			return false
		}
	}
	return true
}
