package libhtml

import (
	"fmt"
	"sync"

	"github.com/andybalholm/cascadia"
	"golang.org/x/text/encoding"

	"github.com/gonutch/crawler/sdk/model"
)

// Options say what counts as text and links. The zero value is usable: no line
// separators, no links.
type Options struct {
	Separators  []string // elements that separate lines of the text
	TitleInText bool     // the title is part of the text, as in Nutch
	LinkTags    []string // elements whose URLs become links
	LinkRels    []string // rel tokens that make a link element a link
	IgnoreRels  []string // rel tokens that make a link none, such as "nofollow"
	// DataAttrs are attributes whose URLs are links too, of elements in LinkTags:
	// data-src, data-href, data-url, data-srcset, data-original, data-lazy-src.
	DataAttrs []string
	// Srcset makes the images that srcset and imagesrcset name links as well.
	Srcset bool
	// SkipHreflang leaves out link elements for the page in other languages.
	SkipHreflang bool
	MaxLinks     int // links kept per page; 0 means no limit
	MaxURL       int // bytes of a reference as written; longer ones are dropped; 0 means no limit
	MaxNodes     int // pages with more '<' than this get no tree; 0 means no limit
}

// Link is a link to another document.
type Link struct {
	URL    string
	Anchor string
	Tag    string // element name
}

// Meta is one meta element. Names are lower-case; one of them is set.
type Meta struct {
	Name, Property, HTTPEquiv string
	Content                   string
}

// Refresh is a meta refresh that leads to another document.
type Refresh struct {
	URL     string
	Seconds int
}

// Way is how a page was parsed.
type Way uint8

// The ways through a page.
const (
	ByStream   Way = iota
	ByTree         // the stream met something only a tree can order
	ByDegraded     // the tree could not take the page either; best effort
)

// Page is what a page says. Its strings share a few backing arrays.
type Page struct {
	Title     string
	Text      string
	Links     []Link // in page order
	Metas     []Meta
	Base      string // base element's URL, absolute, or ""
	Canonical string // absolute, or ""
	Language  string // lang of the html element as written, or ""
	Refresh   *Refresh
	Facts     []model.FactResult

	Way Way
	Why string // why not ByStream
	// Links left out: over MaxLinks, longer than MaxURL, marked by an ignored
	// rel, or no link to another document (script, mail, the page itself).
	OverLimit, TooLong, Ignored, Unusable int
}

// Extractor extracts pages under fixed options. It is safe for concurrent use.
type Extractor struct {
	opt      Options
	props    *props
	linkTag  [nElems]bool
	keepRel  map[string]bool
	dropRel  map[string]bool
	more     []attr    // further attributes with links
	streams  sync.Pool // of *stream
	mu       sync.Mutex
	selector map[string]cascadia.SelectorGroup
}

// New returns an Extractor. Element names it doesn't know are errors.
func New(opt Options) (*Extractor, error) {
	x := &Extractor{
		opt: opt, keepRel: map[string]bool{}, dropRel: map[string]bool{},
		selector: map[string]cascadia.SelectorGroup{},
	}
	for _, name := range opt.Separators {
		if lookupElem([]byte(name)) == unknown {
			return nil, fmt.Errorf("line separator %q: no such HTML element", name)
		}
	}
	x.props = newProps(opt.Separators)
	for _, name := range opt.LinkTags {
		id := lookupElem([]byte(name))
		if linkAttr(id) == aNone {
			return nil, fmt.Errorf("link tag %q: no HTML element with a link", name)
		}
		x.linkTag[id] = true
	}
	if opt.Srcset {
		x.more = append(x.more, aSrcset, aImageSrcset)
	}
	for _, name := range opt.DataAttrs {
		id := attrByName([]byte(name))
		if id < aDataSrc || id > aDataLazySrc {
			return nil, fmt.Errorf("data attribute %q: not one of data-src, data-href, data-url, data-srcset, data-original, data-lazy-src", name)
		}
		x.more = append(x.more, id)
	}
	for _, rel := range opt.LinkRels {
		x.keepRel[rel] = true
	}
	for _, rel := range opt.IgnoreRels {
		x.dropRel[rel] = true
	}
	x.streams.New = func() any { return newStream(x) }
	return x, nil
}

// linkAttr returns the attribute that holds an element's link, or aNone.
func linkAttr(id elem) attr {
	switch id {
	case eA, eArea, eLink:
		return aHref
	case eFrame, eIframe, eImg, eSource, eVideo, eAudio, eEmbed, eScript:
		return aSrc
	case eObject:
		return aData
	case eForm:
		return aAction
	}
	return aNone
}

// Input is one page.
type Input struct {
	Body  []byte // valid UTF-8; not changed, not kept
	URL   string // the document's URL
	Base  string // URL references are resolved against when there is no base element
	Facts []model.Fact
	// Charset is what the page was decoded from, nil for UTF-8: text in the
	// queries of its links is escaped in it.
	Charset  encoding.Encoding
	TreeOnly bool // go the tree's way at once (tests, measurements)
}

// Extract parses a page. The only error is an invalid fact (a selector that
// does not parse).
func (x *Extractor) Extract(in Input) (*Page, error) {
	sel, err := x.selectors(in.Facts)
	if err != nil {
		return nil, err
	}
	s := x.streams.Get().(*stream)
	defer func() {
		s.release()
		x.streams.Put(s)
	}()
	why := "tree asked for"
	switch {
	case sel != nil:
		why = "selectors"
	case !in.TreeOnly:
		s.reset(&in)
		if why = s.run(); why == "" {
			return s.page(&in), nil
		}
	}
	if tree := x.tree(s, &in, sel); tree == nil {
		p := s.page(&in)
		p.Way, p.Why = ByTree, why
		return p, nil
	} else {
		why += "; " + tree.Error()
	}
	s.reset(&in)
	s.lenient = true
	s.run()
	p := s.page(&in)
	p.Way, p.Why = ByDegraded, why
	return p, nil
}
