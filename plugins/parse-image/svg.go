package parseimage

import (
	"bytes"
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libparse"
	"github.com/gonutch/crawler/sdk/model"
)

// svg reads an SVG image (SVG 2): size, title, description, texts and links.
func (p *Parser) svg(c *model.Content, out *model.Parse) error {
	base := c.Base
	if base == "" {
		base = c.URL
	}
	text := libparse.NewText(p.MaxTextLength)
	links := libparse.Links{Base: base, Self: c.URL, Max: p.OutlinksMax, MaxLength: int(p.OutlinksLen)}
	var open, anchors []int // where text elements and links start in the text
	var refs []string
	var title strings.Builder
	depth, inTitle := 0, false
	var skip libparse.Skipper
	err := libparse.ReadXML(bytes.NewReader(c.Body), libparse.XMLHandler{
		Start: func(n string, attrs []xml.Attr) {
			if skip.Start(n, n == "style" || n == "script" || n == "metadata") {
				return
			}
			depth++
			switch n {
			case "svg":
				if depth == 1 {
					svgSize(out, attrs)
				}
			case "title", "desc", "text":
				text.Line()
				open = append(open, text.Len())
				inTitle = n == "title" && depth == 2 // the image's own
			case "tspan", "textPath":
				text.Space()
			case "a":
				refs, anchors = append(refs, libparse.Attr(attrs, "href")), append(anchors, text.Len())
			}
		},
		End: func(n string) {
			if skip.End(n) {
				return
			}
			depth--
			switch n {
			case "title", "desc", "text":
				if len(open) > 0 {
					open = open[:len(open)-1]
				}
				inTitle = false
				text.Line()
			case "a":
				if k := len(refs) - 1; k >= 0 {
					links.Add(refs[k], text.From(anchors[k]))
					refs, anchors = refs[:k], anchors[:k]
				}
			}
		},
		Text: func(s string) {
			switch {
			case skip.On() || len(open) == 0:
				return
			case inTitle && title.Len() < 4096:
				title.WriteString(s)
			}
			text.Write(s)
		},
		Stop: text.Full,
	})
	out.Title = libparse.Clean(title.String())
	out.Text = text.Finish(out.ParseMeta)
	out.Outlinks = links.Finish(out.ParseMeta)
	return err
}

// svgSize takes the size in pixels from width and height, else from viewBox.
func svgSize(out *model.Parse, attrs []xml.Attr) {
	if lang := libparse.Attr(attrs, "lang"); lang != "" {
		out.Language = libparse.Clean(lang)
	}
	pixels := func(s string) int {
		f, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(s), "px"), 64)
		if err != nil || !(f >= 1 && f < 1e9) {
			return 0
		}
		return int(f)
	}
	w, h := pixels(libparse.Attr(attrs, "width")), pixels(libparse.Attr(attrs, "height"))
	if box := strings.FieldsFunc(libparse.Attr(attrs, "viewBox"), func(c rune) bool { return c == ',' || c <= ' ' }); (w == 0 || h == 0) && len(box) == 4 {
		w, h = pixels(box[2]), pixels(box[3])
	}
	setSize(out.ParseMeta, w, h)
}
