package parsehtml

import (
	"context"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"

	"github.com/gonutch/crawler/plugins/internal/libcharset"
	"github.com/gonutch/crawler/plugins/internal/libhtml"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/model"
)

// Keys of the parse metadata. Those with capital letters are Nutch's.
const (
	metaOriginalCharset = "OriginalCharEncoding"
	metaUsedCharset     = "CharEncodingForConversion"
	metaCaching         = "caching.forbidden"
	metaDegraded        = "parse.degraded" // why the page got a best effort only
	metaTextCut         = "text.cut"       // length in characters before max_text_length
	metaOverLimit       = "outlinks.dropped.limit"
	metaTooLong         = "outlinks.dropped.length"
	metaIgnored         = "outlinks.dropped.rel"
	metaUnusable        = "outlinks.dropped.unusable"
	metaNoFollow        = "outlinks.dropped.nofollow"
)

// Parser implements Nutch's HtmlParser. It is safe for concurrent use.
type Parser struct {
	extract       *libhtml.Extractor
	agent         string // lower-case product name, or ""
	charset       string
	minConfidence int
	policy        string
	maxText       int // characters; negative for no limit
	tagKey        string
}

// Parse implements parser.Parser.
func (p *Parser) Parse(ctx context.Context, in *parser.Input) (*parser.Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &in.Content
	text := libcharset.Decode(c.Body, libcharset.Options{
		ContentType: c.ContentType, HTML: true, MinConfidence: p.minConfidence, Default: p.charset,
	})
	if c.MIMEType == "application/xhtml+xml" {
		text.Text = libhtml.ExpandEmpty(text.Text)
	}
	base := c.Base
	if base == "" {
		base = c.URL
	}
	page, err := p.extract.Extract(libhtml.Input{Body: text.Text, URL: c.URL, Base: base, Facts: in.Facts, Charset: queryCharset(&text)})
	if err != nil {
		return nil, err
	}
	return &parser.Output{Parses: []model.Parse{p.parse(c, &text, page)}}, nil
}

// queryCharset returns the charset that queries of links are escaped in, nil
// for UTF-8, which pages in UTF-16 use too.
func queryCharset(text *libcharset.Result) encoding.Encoding {
	if strings.HasPrefix(text.Charset, "utf-") {
		return nil
	}
	return text.Encoding
}

func (p *Parser) parse(c *model.Content, text *libcharset.Result, page *libhtml.Page) model.Parse {
	out := model.Parse{
		URL: c.URL, Status: model.ParseStatus{Major: model.ParseSuccess}, Canonical: page.Canonical,
		Charset: text.Charset, Language: language(c, page), Facts: page.Facts,
		ParseMeta: model.Metadata{metaUsedCharset: {text.Charset}},
		Robots:    robots(page.Metas, c.Headers["X-Robots-Tag"], p.agent),
	}
	original := text.Declared
	if original == "" {
		original = text.Charset
	}
	out.ParseMeta.Set(metaOriginalCharset, original)
	if page.Way == libhtml.ByDegraded {
		out.ParseMeta.Set(metaDegraded, page.Why)
	}
	if out.Robots.NoArchive {
		out.ParseMeta.Set(metaCaching, p.policy)
	}
	if !out.Robots.NoIndex {
		out.Title = page.Title
		out.Text = p.cut(page.Text, out.ParseMeta)
	}
	p.outlinks(&out, page)
	if r := page.Refresh; r != nil {
		out.Status.Minor = model.ParseSuccessRedirect
		out.Status.Args = []string{r.URL, strconv.Itoa(r.Seconds)}
	}
	return out
}

// outlinks sets the links and counts those left out.
func (p *Parser) outlinks(out *model.Parse, page *libhtml.Page) {
	for _, n := range [...]struct {
		key   string
		count int
	}{
		{metaOverLimit, page.OverLimit},
		{metaTooLong, page.TooLong},
		{metaIgnored, page.Ignored},
		{metaUnusable, page.Unusable},
	} {
		if n.count > 0 {
			out.ParseMeta.Set(n.key, strconv.Itoa(n.count))
		}
	}
	switch {
	case len(page.Links) == 0:
		return
	case out.Robots.NoFollow:
		out.ParseMeta.Set(metaNoFollow, strconv.Itoa(len(page.Links)))
		return
	}
	out.Outlinks = make([]model.Outlink, len(page.Links))
	for i, l := range page.Links {
		out.Outlinks[i] = model.Outlink{URL: l.URL, Anchor: l.Anchor, Tag: l.Tag}
		if p.tagKey != "" {
			out.Outlinks[i].Metadata = model.Metadata{p.tagKey: {l.Tag}}
		}
	}
}

// cut shortens text to the configured length.
func (p *Parser) cut(text string, meta model.Metadata) string {
	if p.maxText < 0 || len(text) <= p.maxText {
		return text
	}
	n := utf8.RuneCountInString(text)
	if n <= p.maxText {
		return text
	}
	meta.Set(metaTextCut, strconv.Itoa(n))
	count := 0
	for i := range text {
		if count == p.maxText {
			return text[:i]
		}
		count++
	}
	return text
}

// language returns what the page says its language is.
func language(c *model.Content, page *libhtml.Page) string {
	if page.Language != "" {
		return page.Language
	}
	for _, m := range page.Metas {
		if m.HTTPEquiv == "content-language" && m.Content != "" {
			return m.Content
		}
	}
	return c.Headers.First("Content-Language")
}
