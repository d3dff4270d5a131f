package libxml

import (
	"bytes"
	"html"
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/xml"
)

// Attr is an attribute as written, its value with references resolved.
type Attr struct{ Name, Value string }

// Handler is told what a document holds, in document order. Names are as written,
// with their prefix. A handler that returns false ends the walk.
type Handler interface {
	Start(name string, attrs []Attr) bool
	Text(text string) bool // references resolved; white space as written
	End(name string) bool
}

// Cutter is a Handler that wants to know where a document ends with elements open, before these are ended:
// what they hold is not whole.
type Cutter interface{ Cut() }

// Walk reads a document that Decode returned in one pass without building anything.
// Errors are Refused: entities that the document declares, and elements nested
// too deep. Malformed markup is read as well as it goes. Elements that are open at the
// end are ended; open says that there were such.
func Walk(body []byte, limits Limits, h Handler) (open bool, err error) {
	if limits.Depth == 0 {
		limits.Depth = DefaultDepth
	}
	if bytes.IndexByte(body, 0) >= 0 { // ends the lexer
		body = bytes.ReplaceAll(body, []byte{0}, []byte{' '})
	}
	// The lexer writes a NUL behind what it reads, unless there is no room: then it copies.
	w := walker{h: h, depth: limits.Depth, lex: xml.NewLexer(parse.NewInputBytes(slices.Clip(body)))}
	for more := true; more && err == nil; {
		more, err = w.next()
	}
	if err != nil || w.stopped {
		return false, err
	}
	open = len(w.open) > 0
	if c, ok := h.(Cutter); ok && open {
		c.Cut()
	}
	for i := len(w.open) - 1; i >= 0; i-- {
		if !h.End(w.open[i]) {
			break
		}
	}
	return open, nil
}

type walker struct {
	h       Handler
	lex     *xml.Lexer
	depth   int
	open    []string
	name    string // of the tag being read; "" for instructions
	attrs   []Attr
	stopped bool
}

// next handles one token; false ends the walk.
func (w *walker) next() (bool, error) {
	kind, data := w.lex.Next()
	ok := true
	switch kind {
	case xml.ErrorToken:
		return false, nil
	case xml.DOCTYPEToken:
		if bytes.Contains(data, []byte("<!ENTITY")) {
			return false, refuse("it declares entities, which are not read: they can grow without bound")
		}
	case xml.CDATAToken:
		ok = w.h.Text(string(w.lex.Text()))
	case xml.TextToken:
		ok = w.h.Text(unescape(data))
	case xml.StartTagPIToken:
		w.name, w.attrs = "", nil
	case xml.StartTagToken:
		w.name, w.attrs = string(w.lex.Text()), nil
	case xml.AttributeToken:
		w.attribute()
	case xml.StartTagCloseToken:
		if w.name != "" {
			if w.open = append(w.open, w.name); len(w.open) > w.depth {
				return false, refuse("elements are nested more than %d deep", w.depth)
			}
			ok = w.h.Start(w.name, w.attrs)
		}
	case xml.StartTagCloseVoidToken:
		if w.name != "" {
			ok = w.h.Start(w.name, w.attrs) && w.h.End(w.name)
		}
	case xml.EndTagToken:
		name := strings.TrimSpace(string(w.lex.Text()))
		for rest := pop(w.open, name); ok && len(w.open) > len(rest); w.open = w.open[:len(w.open)-1] {
			ok = w.h.End(w.open[len(w.open)-1])
		}
	}
	w.stopped = !ok
	return ok, nil
}

// maxAttrs bounds what one tag can make a handler keep.
const maxAttrs = 1000

func (w *walker) attribute() {
	if w.name == "" || len(w.attrs) >= maxAttrs {
		return
	}
	v := w.lex.AttrVal()
	if len(v) >= 2 && (v[0] == '"' || v[0] == '\'') && v[len(v)-1] == v[0] {
		v = v[1 : len(v)-1]
	}
	w.attrs = append(w.attrs, Attr{Name: string(w.lex.Text()), Value: unescape(v)})
}

func unescape(b []byte) string {
	if bytes.IndexByte(b, '&') < 0 {
		return string(b)
	}
	return html.UnescapeString(string(b))
}

// AttrOf returns the value of the attribute of that local name, in lower case.
func AttrOf(attrs []Attr, local string) string {
	for _, a := range attrs {
		if Local(a.Name) == local {
			return a.Value
		}
	}
	return ""
}
