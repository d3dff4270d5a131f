package libhtml

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"github.com/gonutch/crawler/sdk/model"
)

// errTooMuch says that a page has too much markup for a tree.
var errTooMuch = errors.New("too much markup for a tree")

// tree goes the tree's way through a page; sel holds the selectors by fact, nil
// when there are none.
func (x *Extractor) tree(s *stream, in *Input, sel []cascadia.SelectorGroup) error {
	if n := bytes.Count(in.Body, []byte("<")); x.opt.MaxNodes > 0 && n > x.opt.MaxNodes {
		return fmt.Errorf("%w: %d of at most %d '<'", errTooMuch, n, x.opt.MaxNodes)
	}
	doc, err := html.ParseWithOptions(bytes.NewReader(in.Body), html.ParseOptionEnableScripting(false))
	if err != nil {
		return err
	}
	s.reset(in)
	w := walker{sink: &s.sink, props: x.props}
	w.children(doc)
	if sel != nil {
		s.selectorHits = evaluate(doc, in.Facts, sel)
	}
	return nil
}

// walker reports a tree to a sink, in document order.
type walker struct {
	sink  *sink
	props *props
	attrs attrs
}

func (w *walker) children(n *html.Node) {
	for c := range n.ChildNodes() {
		switch c.Type {
		case html.TextNode:
			w.sink.text.write([]byte(c.Data), false)
		case html.ElementNode:
			if c.Namespace != "" {
				w.foreign(c)
			} else {
				w.element(c)
			}
		}
	}
}

// element reports an HTML element.
func (w *walker) element(n *html.Node) {
	id := lookupElem([]byte(n.Data))
	f := w.props.flags[id]
	if f&fAttrs != 0 {
		w.load(n)
	}
	if id == eTemplate {
		return
	}
	w.sink.separate(f)
	switch id {
	case eScript:
		w.sink.script(&w.attrs, []byte(ownText(n)))
	case eStyle, eNoframes:
	case eIframe, eNoembed:
		if f&fAttrs != 0 {
			w.sink.element(id, &w.attrs)
		}
	case eTitle:
		w.sink.titleText([]byte(ownText(n)), false)
	case eA:
		w.anchor(n)
	default:
		if f&fAttrs != 0 {
			w.sink.element(id, &w.attrs)
		}
		if f&fHeading != 0 {
			w.sink.facts.openHeading(id, len(w.sink.text.buf))
		}
		w.children(n)
		if f&fHeading != 0 {
			w.sink.facts.closeHeading(len(w.sink.text.buf))
		}
	}
	w.sink.separate(f)
}

// anchor reports an a element, of HTML or svg, with its content.
func (w *walker) anchor(n *html.Node) {
	s := w.sink
	link, rel := s.link, s.facts.openRel
	s.link, s.facts.openRel = -1, -1
	s.openA(&w.attrs)
	inner, innerRel := s.link, s.facts.openRel
	w.children(n)
	s.link, s.facts.openRel = inner, innerRel
	s.closeA()
	s.link, s.facts.openRel = link, rel
}

// foreign reports an element of svg or math.
func (w *walker) foreign(n *html.Node) {
	switch n.Data {
	case "style", "script":
	case "a":
		w.load(n)
		w.anchor(n)
	default:
		w.children(n)
	}
}

// load takes the attributes of n that count.
func (w *walker) load(n *html.Node) {
	w.attrs.reset()
	w.attrs.decoded = true
	for _, a := range n.Attr {
		w.attrs.put(attrByName([]byte(a.Key)), []byte(a.Val))
	}
}

// ownText returns the text directly in n.
func ownText(n *html.Node) string {
	var b strings.Builder
	for c := range n.ChildNodes() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// evaluate answers the selector facts.
func evaluate(doc *html.Node, facts []model.Fact, sel []cascadia.SelectorGroup) []model.FactResult {
	budget := &factBudget{bytes: maxFactBytes}
	out := make([]model.FactResult, len(facts))
	for i, f := range facts {
		if sel[i] == nil {
			continue
		}
		for _, n := range cascadia.QueryAll(doc, sel[i]) {
			v, ok := factValue(n, f.Attr)
			if ok && !budget.add(f, &out[i], "", v) {
				break
			}
		}
	}
	return out
}

// factValue returns what a selector's match yields.
func factValue(n *html.Node, attr string) (string, bool) {
	switch attr {
	case "":
		var c collapser
		textOf(n, &c)
		return strings.ReplaceAll(string(c.buf), "\n", " "), true
	case "html":
		var b bytes.Buffer
		if err := html.Render(&b, n); err != nil {
			return "", false
		}
		return b.String(), true
	}
	for _, a := range n.Attr {
		if a.Key == attr {
			return a.Val, true
		}
	}
	return "", false
}

// textOf gathers all text in n but that of scripts and styles.
func textOf(n *html.Node, c *collapser) {
	for k := range n.ChildNodes() {
		switch {
		case k.Type == html.TextNode:
			c.write([]byte(k.Data), false)
		case k.Type == html.ElementNode && k.Data != "script" && k.Data != "style" && k.Data != "template":
			textOf(k, c)
		}
	}
}
