package parsefilterstructured

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// parseItem reads the outer HTML of an element with itemscope (WHATWG HTML,
// section 5.2, without itemref).
func parseItem(outer string) (thing, bool) {
	root := findItem(parseFragment(outer), 0)
	if root == nil {
		return nil, false
	}
	return item(root, 0), true
}

// parseFragment parses outer where its element may stand: a table row alone
// would be dropped.
func parseFragment(outer string) []*html.Node {
	z := html.NewTokenizer(strings.NewReader(outer))
	z.Next()
	name, _ := z.TagName()
	context := atom.Body
	switch atom.Lookup(name) {
	case atom.Html, atom.Body, atom.Head:
		doc, err := html.Parse(strings.NewReader(outer))
		if err != nil {
			return nil
		}
		return []*html.Node{doc}
	case atom.Tr:
		context = atom.Tbody
	case atom.Td, atom.Th:
		context = atom.Tr
	case atom.Tbody, atom.Thead, atom.Tfoot, atom.Caption, atom.Colgroup:
		context = atom.Table
	}
	nodes, err := html.ParseFragment(strings.NewReader(outer), &html.Node{Type: html.ElementNode, Data: context.String(), DataAtom: context})
	if err != nil {
		return nil
	}
	return nodes
}

func findItem(nodes []*html.Node, depth int) *html.Node {
	for _, n := range nodes {
		if _, ok := attr(n, "itemscope"); ok {
			return n
		}
	}
	if depth > 3 { // html, head or body may have been put around it
		return nil
	}
	for _, n := range nodes {
		var kids []*html.Node
		for k := range n.ChildNodes() {
			kids = append(kids, k)
		}
		if found := findItem(kids, depth+1); found != nil {
			return found
		}
	}
	return nil
}

func item(n *html.Node, depth int) thing {
	out := thing{}
	if t, _ := attr(n, "itemtype"); t != "" {
		var types []any
		for _, s := range strings.Fields(t) {
			types = append(types, s)
		}
		out["@type"] = types
	}
	if id, _ := attr(n, "itemid"); id != "" {
		out["@id"] = id
	}
	if depth <= maxDepth {
		properties(n, out, depth)
	}
	return out
}

// properties gathers the properties below n into out; nested items without
// itemprop are things of their own.
func properties(n *html.Node, out thing, depth int) {
	if depth > 4*maxDepth {
		return
	}
	for k := range n.ChildNodes() {
		if k.Type != html.ElementNode {
			continue
		}
		_, scope := attr(k, "itemscope")
		names, named := attr(k, "itemprop")
		if named {
			v := value(k, scope, depth)
			for _, name := range strings.Fields(names) {
				list, _ := out[name].([]any)
				out[name] = append(list, v)
			}
		}
		if !scope {
			properties(k, out, depth+1)
		}
	}
}

func value(n *html.Node, scope bool, depth int) any {
	if scope {
		return item(n, depth+1)
	}
	key := ""
	switch n.DataAtom {
	case atom.Meta:
		key = "content"
	case atom.Audio, atom.Embed, atom.Iframe, atom.Img, atom.Source, atom.Track, atom.Video:
		key = "src"
	case atom.A, atom.Area, atom.Link:
		key = "href"
	case atom.Object:
		key = "data"
	case atom.Data, atom.Meter:
		key = "value"
	case atom.Time:
		key = "datetime"
	}
	// Many pages write content on any element, and search engines read it.
	for _, k := range [...]string{"content", key} {
		if v, ok := attr(n, k); ok && k != "" {
			return v
		}
	}
	var b strings.Builder
	text(n, &b)
	return b.String()
}

// maxText bounds the text of one property: properties within properties would
// otherwise gather the same text again and again.
const maxText = 64 << 10

func text(n *html.Node, b *strings.Builder) {
	for k := range n.Descendants() {
		if b.Len() > maxText {
			return
		}
		if k.Type == html.TextNode && k.Parent.DataAtom != atom.Script && k.Parent.DataAtom != atom.Style {
			b.WriteString(k.Data)
		}
	}
}

func attr(n *html.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}
