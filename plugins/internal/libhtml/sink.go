package libhtml

import (
	"bytes"
	"iter"

	"github.com/gonutch/crawler/sdk/model"
)

// sink gathers what a page says. The stream and the tree walk report the same
// events to it in document order; it decides what they mean.
type sink struct {
	x     *Extractor
	text  collapser
	title collapser
	// titles counts title elements: only the first is the page's.
	titles int

	links   []rawLink
	link    int // the a element open in links, or -1
	over    int
	ignored int
	tooLong int

	metas        []rawMeta
	base         []byte
	hasBase      bool
	canonical    []byte
	lang         []byte
	hasLang      bool
	xmlLang      []byte
	hasXMLLang   bool
	refresh      []byte
	hasRefresh   bool
	facts        factSink
	selectorHits []model.FactResult // by fact; set by the tree's way only
}

// rawLink is a link whose reference is not resolved and whose anchor is a part
// of the text.
type rawLink struct {
	ref        []byte
	alt        []byte // anchor when there is no text
	start, end int    // anchor in sink.text.buf
	tag        elem
}

type rawMeta struct{ name, property, equiv, content []byte }

// wordSpace is what one page may leave in a pooled sink.
const wordSpace = 1 << 20

func (s *sink) reset(facts []model.Fact) {
	clear(s.links)
	clear(s.metas)
	x, text, title, links, metas := s.x, s.text.buf, s.title.buf, s.links, s.metas
	*s = sink{x: x, links: links[:0], metas: metas[:0], link: -1}
	s.text.buf, s.title.buf = text[:0], title[:0]
	s.facts.reset(facts)
}

// release drops references to the page.
func (s *sink) release() {
	if cap(s.text.buf) > wordSpace || cap(s.links) > wordSpace/64 {
		s.text.buf, s.links = nil, nil
	}
	s.reset(nil)
}

// separate reports the start or end of an element with flags f.
func (s *sink) separate(f flag) {
	if f&fLine != 0 {
		s.text.line()
	} else if f&fSpace != 0 {
		s.text.space()
	}
}

// titleText reports the text of a title element. It comes once for each.
func (s *sink) titleText(b []byte, decode bool) {
	s.titles++
	if s.titles == 1 {
		s.title.write(b, decode)
	}
	if s.x.opt.TitleInText {
		s.text.write(b, decode)
	}
}

// element reports the attributes of a start tag with fAttrs, other than a and
// script.
func (s *sink) element(id elem, a *attrs) {
	switch id {
	case eHtml:
		s.html(a)
	case eMeta:
		s.meta(a)
	case eBase:
		if href, ok := a.get(aHref); ok && !s.hasBase {
			s.base, s.hasBase = href, true
		}
	case eLink:
		s.linkElement(a)
	case eForm:
		if m, ok := a.get(aMethod); !ok || !foldEqual(bytes.TrimSpace(m), "post") {
			s.addLink(id, a)
		}
	case eImg:
		s.addLink(id, a)
		if s.link >= 0 && len(s.links[s.link].alt) == 0 {
			s.links[s.link].alt, _ = a.get(aAlt)
		}
	default:
		s.addLink(id, a)
	}
}

// html takes the language; attributes of later html tags count only when the
// earlier ones did not have them.
func (s *sink) html(a *attrs) {
	if v, ok := a.get(aLang); ok && !s.hasLang {
		s.lang, s.hasLang = v, true
	}
	if v, ok := a.get(aXMLLang); ok && !s.hasXMLLang {
		s.xmlLang, s.hasXMLLang = v, true
	}
}

func (s *sink) meta(a *attrs) {
	content, ok := a.get(aContent)
	if !ok {
		return
	}
	m := rawMeta{content: content}
	m.name, _ = a.get(aName)
	m.property, _ = a.get(aProperty)
	m.equiv, _ = a.get(aHTTPEquiv)
	if len(m.name)+len(m.property)+len(m.equiv) == 0 {
		return
	}
	if !s.hasRefresh && foldEqual(m.equiv, "refresh") {
		s.refresh, s.hasRefresh = content, true
	}
	if len(s.metas) < maxMetas {
		s.metas = append(s.metas, m)
	}
}

// maxMetas bounds the meta elements kept of a page.
const maxMetas = 1000

func (s *sink) linkElement(a *attrs) {
	rel, _ := a.get(aRel)
	href, ok := a.get(aHref)
	if !ok {
		return
	}
	s.facts.rel(rel, href, len(s.text.buf))
	wanted := false
	for tok := range fields(rel) {
		if s.canonical == nil && foldEqual(tok, "canonical") {
			s.canonical = href
		}
		wanted = wanted || s.x.keepRel[lowerASCII(tok)]
	}
	if _, translated := a.get(aHreflang); translated && s.x.opt.SkipHreflang {
		return
	}
	if wanted {
		s.addLink(eLink, a)
	}
}

// addLink records the links of an element, if it has any: first that of its own
// attribute, then those of further ones. It reports whether it has the first.
func (s *sink) addLink(id elem, a *attrs) bool {
	if !s.x.linkTag[id] {
		return false
	}
	ref, ok := a.get(linkAttr(id))
	ok = ok && s.addRef(id, a, ref)
	for _, m := range s.x.more {
		v, has := a.get(m)
		switch {
		case !has:
		case m == aSrcset, m == aImageSrcset, m == aDataSrcset:
			for url := range srcset(v) {
				s.addRef(id, a, url)
			}
		default:
			s.addRef(id, a, v)
		}
	}
	return ok
}

// addRef records one link of an element. It reports whether it did.
func (s *sink) addRef(id elem, a *attrs, ref []byte) bool {
	if rel, ok := a.get(aRel); ok {
		for tok := range fields(rel) {
			if s.x.dropRel[lowerASCII(tok)] {
				s.ignored++
				return false
			}
		}
	}
	if s.x.opt.MaxURL > 0 && len(ref) > s.x.opt.MaxURL {
		s.tooLong++
		return false
	}
	if s.x.opt.MaxLinks > 0 && len(s.links) >= s.x.opt.MaxLinks {
		s.over++
		return false
	}
	l := rawLink{ref: ref, tag: id}
	if id == eArea || id == eImg {
		l.alt, _ = a.get(aAlt)
	}
	s.links = append(s.links, l)
	return true
}

// srcset yields the URLs of a srcset attribute (HTML standard, "parse a srcset
// attribute").
func srcset(v []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := 0; i < len(v); {
			for i < len(v) && (v[i] <= ' ' || v[i] == ',') {
				i++
			}
			start := i
			for i < len(v) && v[i] > ' ' {
				i++
			}
			url := v[start:i]
			trimmed := bytes.TrimRight(url, ",")
			if len(trimmed) > 0 && !yield(trimmed) {
				return
			}
			if len(trimmed) < len(url) {
				continue // a comma at its end: no descriptors
			}
			for depth := 0; i < len(v) && (v[i] != ',' || depth > 0); i++ {
				switch v[i] {
				case '(':
					depth++
				case ')':
					depth = max(0, depth-1)
				}
			}
		}
	}
}

// openA reports an a element and whether its end must be reported by closeA:
// it is a link, or a fact asks for it.
func (s *sink) openA(a *attrs) bool {
	at := len(s.text.buf)
	wanted := false
	if href, ok := a.get(aHref); ok && s.facts.wantRel {
		rel, _ := a.get(aRel)
		if wanted = s.facts.rel(rel, href, at); wanted {
			s.facts.openRel = len(s.facts.rels) - 1
		}
	}
	n := len(s.links)
	if s.addLink(eA, a) {
		s.link = n
		s.links[n].start = at
	}
	return wanted || len(s.links) > n
}

// closeA reports the end of an a element for which openA was true.
func (s *sink) closeA() {
	if s.link >= 0 {
		s.links[s.link].end = len(s.text.buf)
		s.link = -1
	}
	s.facts.endRel(len(s.text.buf))
}

// script reports a script element of HTML with its text, as written.
func (s *sink) script(a *attrs, body []byte) {
	s.addLink(eScript, a)
	if !s.facts.wantScript {
		return
	}
	typ, _ := a.get(aType)
	_, src := a.get(aSrc)
	s.facts.script(typ, src, body)
}
