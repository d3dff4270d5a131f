package libparse

import (
	"encoding/xml"
	"errors"
	"io"

	"golang.org/x/text/encoding/htmlindex"
)

// MaxPiece bounds a text or tag between two angle brackets in bytes; the XML
// reader holds it in memory.
const MaxPiece = 4 << 20

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
		} else if b.run++; b.run > MaxPiece {
			return 0, ErrPiece
		}
	}
	return n, err
}

// ErrPiece ends the reading of a document that no tool makes.
var ErrPiece = errors.New("a single piece of text or tag of more than 4 MiB")

// XMLHandler gets the events of an XML document by local names: prefixes are up to
// the program that wrote it. Nil functions are not called.
type XMLHandler struct {
	Start func(name string, attrs []xml.Attr)
	End   func(name string)
	Text  func(s string)
	// Stop, asked now and then, ends the reading without an error.
	Stop func() bool
}

// ReadXML runs h over r. Entities that are not XML's own stay as written, so that
// none can expand; end tags that match nothing are passed on as they are.
func ReadXML(r io.Reader, h XMLHandler) error {
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
			if h.Start != nil {
				h.Start(t.Name.Local, t.Attr)
			}
		case xml.EndElement:
			if h.End != nil {
				h.End(t.Name.Local)
			}
		case xml.CharData:
			if h.Text != nil {
				h.Text(string(t))
			}
		}
		if n%256 == 0 && h.Stop != nil && h.Stop() {
			return nil
		}
	}
}

// Attr returns the value of the attribute with that local name, or "".
func Attr(attrs []xml.Attr, local string) string {
	for _, a := range attrs {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// Skipper leaves out the content of some elements.
type Skipper struct {
	name  string // the element being left out
	depth int
}

// Start reports whether what follows is left out; begin says that name starts it.
func (s *Skipper) Start(name string, begin bool) bool {
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

// End reports whether the element that ends was left out.
func (s *Skipper) End(name string) bool {
	if s.depth == 0 {
		return false
	}
	if name == s.name {
		s.depth--
	}
	return true
}

// On reports whether something is being left out.
func (s *Skipper) On() bool { return s.depth > 0 }
