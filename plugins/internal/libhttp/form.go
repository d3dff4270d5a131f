package libhttp

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// form is a form of a page, with what a browser would send of it.
type form struct {
	action string // as written; "" for the page itself
	method string // lower case
	fields []field
	// password is the name of the first password field, user that of the last
	// text field before it.
	password, user string
}

type field struct{ name, value string }

// set gives all fields of that name one value, or adds one.
func (f *form) set(name, value string) {
	for i := range f.fields {
		if f.fields[i].name == name {
			f.fields[i].value = value
			return
		}
	}
	f.fields = append(f.fields, field{name, value})
}

func (f *form) encode(remove []string) string {
	var b strings.Builder
next:
	for _, x := range f.fields {
		for _, r := range remove {
			if r == x.name {
				continue next
			}
		}
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(x.name))
		b.WriteByte('=')
		b.WriteString(url.QueryEscape(x.value))
	}
	return b.String()
}

// findForm returns the form of page whose id or name is want, or for "" the
// first with a password field, and the page's base. nil means there is none.
func findForm(page []byte, want string) (*form, string, error) {
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil, "", fmt.Errorf("parse the login page: %w", err)
	}
	base := ""
	var found *form
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if n.DataAtom == atom.Base && base == "" {
			base = attr(n, "href")
		}
		if n.DataAtom != atom.Form || found != nil {
			continue
		}
		if want != "" && attr(n, "id") != want && attr(n, "name") != want {
			continue
		}
		if f := readForm(doc, n); want != "" || f.password != "" {
			found = f
		}
	}
	return found, base, nil
}

// readForm reads the controls below n and those elsewhere that name it, as
// browsers make an entry list (HTML standard, "constructing the entry list"),
// with the first submit button for the one that is clicked.
func readForm(doc, n *html.Node) *form {
	f := &form{action: strings.TrimSpace(attr(n, "action")), method: strings.ToLower(attr(n, "method"))}
	id, clicked := attr(n, "id"), false
	for c := range doc.Descendants() {
		if c.Type != html.ElementNode {
			continue
		}
		if owner := attr(c, "form"); owner != "" && owner != id || owner == "" && formAbove(c) != n {
			continue
		}
		if name := attr(c, "name"); name != "" && !has(c, "disabled") {
			clicked = f.control(c, name, clicked)
		}
	}
	return f
}

// control adds what c contributes; it returns whether a button was clicked.
func (f *form) control(c *html.Node, name string, clicked bool) bool {
	value := attr(c, "value")
	kind := strings.ToLower(attr(c, "type"))
	switch c.DataAtom {
	case atom.Select:
		f.options(c, name)
		return clicked
	case atom.Textarea:
		value = textOf(c)
	case atom.Button:
		if kind != "" && kind != "submit" || clicked {
			return clicked
		}
		clicked = true
	case atom.Input:
		switch kind {
		case "button", "reset", "file", "image":
			return clicked
		case "submit":
			if clicked {
				return true
			}
			clicked = true
		case "checkbox", "radio":
			if !has(c, "checked") {
				return clicked
			}
			if !has(c, "value") {
				value = "on"
			}
		case "password":
			if f.password == "" {
				f.password = name
			}
		case "", "text", "email", "tel", "url", "search", "number":
			if f.password == "" {
				f.user = name
			}
		}
	default:
		return clicked
	}
	f.fields = append(f.fields, field{name, value})
	return clicked
}

// options adds the chosen options of a select, the first when none is.
func (f *form) options(sel *html.Node, name string) {
	var first *html.Node
	before := len(f.fields)
	add := func(o *html.Node) {
		v := strings.TrimSpace(textOf(o))
		if has(o, "value") {
			v = attr(o, "value")
		}
		f.fields = append(f.fields, field{name, v})
	}
	for o := range sel.Descendants() {
		if o.Type != html.ElementNode || o.DataAtom != atom.Option || has(o, "disabled") {
			continue
		}
		if first == nil {
			first = o
		}
		if has(o, "selected") {
			add(o)
		}
	}
	if first != nil && len(f.fields) == before && !has(sel, "multiple") {
		add(first)
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// formAbove returns the form that n is in, or nil.
func formAbove(n *html.Node) *html.Node {
	for n = n.Parent; n != nil; n = n.Parent {
		if n.DataAtom == atom.Form {
			return n
		}
	}
	return nil
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}
