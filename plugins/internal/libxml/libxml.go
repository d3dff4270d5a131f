// Package libxml makes XML of strangers safe and whole before a parser reads it:
// characters as UTF-8, no entities of its own, bounded nesting, and elements that a
// cut left open closed. It must not know what any element means.
package libxml

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libcharset"
	"github.com/gonutch/crawler/sdk/model"
)

// Limits bound what is accepted.
type Limits struct {
	Depth int // elements within elements; 0 means DefaultDepth
}

// DefaultDepth is deep for documents and harmless for parsers that call themselves.
const DefaultDepth = 256

// Decode returns the document as UTF-8 without its XML declaration, and the name of
// the charset it was in. The charset is what the declaration says, before the
// Content-Type, as feeds and sitemaps are often served with a wrong one; a byte order
// mark wins.
func Decode(c *model.Content, fallback string, minConfidence int) ([]byte, string) {
	o := libcharset.Options{ContentType: c.ContentType, HTML: true, MinConfidence: minConfidence, Default: fallback}
	if declared := declaration(c.Body, "encoding"); declared != "" && libcharset.Known(declared) {
		o.ContentType = "text/xml; charset=" + declared
	} else if !strings.Contains(strings.ToLower(c.ContentType), "charset") && isUTF8(c.Body) {
		o.ContentType = "text/xml; charset=utf-8" // XML's own default
	}
	r := libcharset.Decode(c.Body, o)
	text := bytes.TrimLeft(r.Text, "\ufeff \t\r\n")
	if bytes.HasPrefix(text, []byte("<?xml")) {
		if i := bytes.Index(text, []byte("?>")); i >= 0 {
			text = text[i+2:]
		}
	}
	return bytes.TrimLeft(text, " \t\r\n"), r.Charset
}

// isUTF8 reports whether b may well be UTF-8 and is no UTF-16.
func isUTF8(b []byte) bool {
	head := b[:min(len(b), 4)]
	return bytes.IndexByte(head, 0) < 0 && !bytes.HasPrefix(b, []byte{0xff, 0xfe}) && !bytes.HasPrefix(b, []byte{0xfe, 0xff}) && validUTF8(b)
}

func validUTF8(b []byte) bool {
	if len(b) > 64<<10 { // a charset shows itself early; the cut may be within a character
		b = bytes.ToValidUTF8(b[:64<<10], nil)
		return len(b) >= 64<<10-4
	}
	return len(bytes.ToValidUTF8(b, nil)) >= len(b)-4
}

// declaration returns a pseudo attribute of the XML declaration.
func declaration(b []byte, name string) string {
	b = bytes.TrimLeft(b[:min(len(b), 512)], "\xef\xbb\xbf \t\r\n")
	if !bytes.HasPrefix(b, []byte("<?xml")) {
		return ""
	}
	end := bytes.Index(b, []byte("?>"))
	if end < 0 {
		return ""
	}
	_, rest, ok := strings.Cut(string(b[:end]), name)
	rest = strings.TrimLeft(rest, " \t\r\n=")
	if !ok || rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return ""
	}
	value, _, ok := strings.Cut(rest[1:], rest[:1])
	if !ok {
		return ""
	}
	return value
}

// Document is what Scan found.
type Document struct {
	Body []byte // complete: what a cut left open is closed
	Root string // name of the first element as written, with its prefix
	Open bool   // elements were open at the end
}

// Refused says why a document is not read. It is the document's fault.
type Refused struct{ Reason string }

// Error implements error.
func (r *Refused) Error() string { return r.Reason }

func refuse(format string, args ...any) error { return &Refused{Reason: fmt.Sprintf(format, args...)} }

// Scan looks once over a document: it refuses entities that the document declares
// (they can grow without bound, "billion laughs"; external ones are never read)
// and elements nested deeper than the limit, and closes what is open at the end.
func Scan(body []byte, limits Limits) (Document, error) {
	if limits.Depth == 0 {
		limits.Depth = DefaultDepth
	}
	d := Document{Body: body}
	var open []string
	end := len(body)
	for i := 0; i < len(body); {
		j := bytes.IndexByte(body[i:], '<')
		if j < 0 {
			break
		}
		i += j
		n, kind, err := token(body[i:])
		if err != nil {
			return d, err
		}
		if n == 0 { // the cut is within it
			end = i
			break
		}
		tag := body[i : i+n]
		i += n
		switch kind {
		case startTag:
			if d.Root == "" {
				d.Root = tagName(tag[1:])
			}
			if open = append(open, tagName(tag[1:])); len(open) > limits.Depth {
				return d, refuse("elements are nested more than %d deep", limits.Depth)
			}
		case emptyTag:
			if d.Root == "" {
				d.Root = tagName(tag[1:])
			}
		case endTag:
			open = pop(open, tagName(tag[2:]))
		}
	}
	if len(open) == 0 && end == len(body) {
		return d, nil
	}
	d.Open = true
	var b bytes.Buffer
	b.Grow(end + 256)
	b.Write(bytes.TrimRight(body[:end], "<"))
	for i := len(open) - 1; i >= 0; i-- {
		b.WriteString("</" + open[i] + ">")
	}
	d.Body = b.Bytes()
	return d, nil
}

// pop closes the innermost element of that name, and those in it; an end tag that
// closes nothing is passed over. It looks at few, so that a document of wrong end tags
// takes no square of its time.
func pop(open []string, name string) []string {
	for i := len(open) - 1; i >= 0 && i >= len(open)-8; i-- {
		if open[i] == name {
			return open[:i]
		}
	}
	return open
}

type tokenKind int

const (
	other tokenKind = iota
	startTag
	emptyTag
	endTag
)

// token returns the length of the markup that b starts with, 0 when it has no end.
func token(b []byte) (int, tokenKind, error) {
	switch {
	case bytes.HasPrefix(b, []byte("<!--")):
		return after(b, "-->"), other, nil
	case bytes.HasPrefix(b, []byte("<![CDATA[")):
		return after(b, "]]>"), other, nil
	case bytes.HasPrefix(b, []byte("<?")):
		return after(b, "?>"), other, nil
	case bytes.HasPrefix(b, []byte("<!")):
		n, err := doctype(b)
		return n, other, err
	case len(b) > 1 && !isNameStart(b[1]) && b[1] != '/':
		return 1, other, nil // a bare "<" in text
	}
	n := tagEnd(b)
	switch {
	case n == 0:
		return 0, other, nil
	case b[1] == '/':
		return n, endTag, nil
	case b[n-2] == '/':
		return n, emptyTag, nil
	}
	return n, startTag, nil
}

func after(b []byte, end string) int {
	i := bytes.Index(b, []byte(end))
	if i < 0 {
		return 0
	}
	return i + len(end)
}

// tagEnd returns the length of a tag; ">" in quoted values is none of its end.
func tagEnd(b []byte) int {
	quote := byte(0)
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i + 1
		}
	}
	return 0
}

// doctype returns the length of a declaration such as DOCTYPE with its internal
// subset.
func doctype(b []byte) (int, error) {
	depth, quote := 0, byte(0)
	for i := 2; i < len(b); i++ {
		switch c := b[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '<' && bytes.HasPrefix(b[i:], []byte("<!--")):
			n := after(b[i:], "-->")
			if n == 0 {
				return 0, nil
			}
			i += n - 1
		case c == '<' && bytes.HasPrefix(b[i:], []byte("<!ENTITY")):
			return 0, refuse("it declares entities, which are not read: they can grow without bound")
		case c == '<':
			depth++
		case c == '>':
			if depth == 0 {
				return i + 1, nil
			}
			depth--
		}
	}
	return 0, nil
}

func isNameStart(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == ':' || c >= 0x80
}

// tagName returns the name that b, what follows "<" or "</", starts with.
func tagName(b []byte) string {
	i := bytes.IndexAny(b, " \t\r\n/>\"'=<")
	if i < 0 {
		i = len(b)
	}
	return string(b[:i])
}

// Local returns a name without its prefix, in lower case.
func Local(name string) string {
	if i := strings.IndexByte(name, ':'); i >= 0 {
		name = name[i+1:]
	}
	return strings.ToLower(name)
}
