// Package parsejs finds links in scripts: in JavaScript and JSON documents, and in
// the scripts and event attributes of HTML pages. It owns what in a script looks like an
// address; scripts are never run.
package parsejs

import (
	"bytes"
	"context"
	_ "embed"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libcharset"
	"github.com/gonutch/crawler/plugins/internal/libparse"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Events   []string `json:"events"`
	MaxLinks int      `json:"max_links"`
	Relative bool     `json:"relative"`
	Index    bool     `json:"index"`
}

// Parser parses scripts, and filters the parses of HTML pages (Nutch's
// JSParseFilter). It is safe for concurrent use.
type Parser struct {
	config
	section libparse.Section
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	p := &Parser{section: libparse.DefaultSection()}
	if err := env.Settings.Decode(&p.config); err != nil {
		return nil, err
	}
	if err := env.Settings.Section("parser", &p.section); err != nil {
		return nil, err
	}
	return &sdk.Extensions{Parser: p, ParseFilter: p}, nil
}

// titleLength is Nutch's: characters of the first line.
const titleLength = 80

// Parse implements parser.Parser.
func (p *Parser) Parse(ctx context.Context, in *parser.Input) (*parser.Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &in.Content
	base := c.Base
	if base == "" {
		base = c.URL
	}
	d := libcharset.Decode(c.Body, libcharset.Options{ContentType: c.ContentType, MinConfidence: p.section.MinConfidence, Default: "utf-8"})
	links := libparse.Links{Base: base, Self: c.URL, Max: p.MaxLinks, MaxLength: maxLiteral}
	(&finder{links: &links, relative: p.Relative}).script(d.Text)
	index := p.Index || strings.HasSuffix(c.MIMEType, "json") // data is a document, a script belongs to pages
	out := model.Parse{URL: c.URL, Charset: d.Charset, ParseMeta: model.Metadata{}, Robots: model.RobotsMeta{NoIndex: !index}}
	out.Outlinks = links.Finish(out.ParseMeta)
	for i := range out.Outlinks {
		out.Outlinks[i].Tag = "script"
	}
	if c.Truncated != "" {
		libparse.Truncated(out.ParseMeta, c.Truncated)
	}
	if index {
		out.Text = libparse.Cut(strings.ToValidUTF8(string(d.Text), ""), p.section.MaxTextLength, out.ParseMeta)
		line, _, _ := bytes.Cut(bytes.TrimSpace(d.Text), []byte("\n"))
		out.Title = libparse.Cut(libparse.Clean(string(line)), titleLength, model.Metadata{})
	}
	return libparse.Succeeded(&out, len(in.Facts)), nil
}

// FilterParse implements parsefilter.Filter: links out of the page's scripts are
// added to those it has.
func (p *Parser) FilterParse(_ context.Context, in *parsefilter.Input) (*parsefilter.Patch, error) {
	page := &in.Parse
	if page.Robots.NoFollow {
		return nil, nil
	}
	links := libparse.Links{Base: page.URL, Self: page.URL, Max: p.MaxLinks, MaxLength: maxLiteral}
	f := &finder{links: &links, relative: p.Relative}
	for _, fact := range page.Facts {
		for _, s := range fact.Values {
			if rest, ok := cutScheme(s); ok {
				s = rest
			}
			f.script([]byte(s))
		}
	}
	if links.Len() == 0 {
		return nil, nil
	}
	meta := model.Metadata{}
	found := links.Finish(meta)
	has := make(map[string]bool, len(page.Outlinks))
	for i := range page.Outlinks {
		has[page.Outlinks[i].URL] = true
	}
	out := page.Outlinks[:len(page.Outlinks):len(page.Outlinks)]
	for _, l := range found {
		if !has[l.URL] {
			l.Tag = "script"
			out = append(out, l)
		}
	}
	if len(out) == len(page.Outlinks) {
		return nil, nil
	}
	return &parsefilter.Patch{ReplaceLinks: true, Outlinks: out}, nil
}

// cutScheme cuts "javascript:" off the value of an href.
func cutScheme(s string) (string, bool) {
	const scheme = "javascript:"
	t := strings.TrimSpace(s)
	if len(t) < len(scheme) || !strings.EqualFold(t[:len(scheme)], scheme) {
		return s, false
	}
	return t[len(scheme):], true
}
