package parseoffice

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
)

// maxPiece bounds a text or tag between two angle brackets in bytes; the XML
// reader holds it in memory.
const maxPiece = 4 << 20

// bounded fails on a text or tag that is too long.
type bounded struct {
	r   io.Reader
	run int
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	for _, c := range p[:n] {
		if c == '<' || c == '>' {
			b.run = 0
		} else if b.run++; b.run > maxPiece {
			return 0, errPiece
		}
	}
	return n, err
}

// handler gets the events of an XML document by local names: prefixes are up to
// the program that wrote it. Nil functions are not called.
type handler struct {
	start func(name string, attrs []xml.Attr)
	end   func(name string)
	text  func(s string)
	// stop, asked now and then, ends the reading without an error.
	stop func() bool
}

// readXML runs h over r. Entities that are not XML's own stay as written, so that
// none can expand; end tags that match nothing are passed on as they are.
func readXML(r io.Reader, h handler) error {
	d := xml.NewDecoder(&bounded{r: r})
	d.Strict = false
	d.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		enc, err := htmlindex.Get(label)
		if err != nil {
			return nil, err
		}
		return enc.NewDecoder().Reader(in), nil
	}
	for n := 0; ; n++ {
		tok, err := d.RawToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if h.start != nil {
				h.start(t.Name.Local, t.Attr)
			}
		case xml.EndElement:
			if h.end != nil {
				h.end(t.Name.Local)
			}
		case xml.CharData:
			if h.text != nil {
				h.text(string(t))
			}
		}
		if n%256 == 0 && h.stop != nil && h.stop() {
			return nil
		}
	}
}

// attr returns the value of the attribute with that local name, or "".
func attr(attrs []xml.Attr, local string) string {
	for _, a := range attrs {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// relID returns the relationship that an element names (r:id); attributes called
// id without a prefix are something else.
func relID(attrs []xml.Attr) string {
	for _, a := range attrs {
		if a.Name.Local == "id" && a.Name.Space != "" {
			return a.Value
		}
	}
	return ""
}

// skipper leaves out the content of some elements.
type skipper struct {
	name  string // the element being left out
	depth int
}

// start reports whether what follows is left out; begin says that name starts it.
func (s *skipper) start(name string, begin bool) bool {
	switch {
	case s.depth > 0:
		if name == s.name {
			s.depth++
		}
	case begin:
		s.name, s.depth = name, 1
	}
	return s.depth > 0
}

func (s *skipper) end(name string) bool {
	if s.depth == 0 {
		return false
	}
	if name == s.name {
		s.depth--
	}
	return true
}

func (s *skipper) on() bool { return s.depth > 0 }

// lower is strings.ToLower for the few names that are compared in any case.
func lower(s string) string { return strings.ToLower(s) }
