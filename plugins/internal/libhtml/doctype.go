package libhtml

import (
	"bytes"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// isQuirky reports whether a document type, given from after "<!DOCTYPE" to
// its '>', puts the page in quirks mode. Document types other than HTML 5's are
// put to x/net/html, which shows the mode by where it puts a table after a p;
// the last answer is kept, as pages of a site mostly agree.
func (s *stream) isQuirky(rest []byte) bool {
	if d := bytes.Trim(rest, " \t\r\n\f>"); string(d) == "html" {
		return false
	}
	if len(rest) > 1000 {
		rest = rest[:1000]
	}
	if s.doctype != nil && bytes.Equal(rest, s.doctype) {
		return s.doctypeQuirks
	}
	page := append([]byte("<!DOCTYPE"), rest...)
	if !bytes.HasSuffix(page, []byte(">")) {
		page = append(page, '>')
	}
	page = append(page, "<p><table>"...)
	quirks := true
	if doc, err := html.Parse(bytes.NewReader(page)); err == nil {
		for n := range doc.Descendants() {
			if n.DataAtom == atom.Table {
				quirks = n.Parent.DataAtom == atom.P
			}
		}
	}
	s.doctype, s.doctypeQuirks = bytes.Clone(rest), quirks
	return quirks
}
