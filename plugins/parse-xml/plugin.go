// Package parsexml turns XML of any vocabulary into text, title, links and metadata by
// paths that the user sets. It owns those paths; reading XML safely is libxml's.
package parsexml

import (
	"context"
	_ "embed"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libparse"
	"github.com/gonutch/crawler/plugins/internal/libxml"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Title       []string          `json:"title"`
	Links       []string          `json:"links"`
	Fields      map[string]string `json:"fields"`
	Ignore      []string          `json:"ignore"`
	OutlinksMax int               `json:"outlinks_max"`
	MaxDepth    int               `json:"max_depth"`
}

// Parser parses XML. It is safe for concurrent use.
type Parser struct {
	config
	section              libparse.Section
	title, links, ignore []path
	fields               []field
}

type field struct {
	key string
	path
}

const metaRoot = "xml.root" // name of the root element as written

func build(env sdk.Env) (*sdk.Extensions, error) {
	p := &Parser{section: libparse.DefaultSection()}
	if err := env.Settings.Decode(&p.config); err != nil {
		return nil, err
	}
	if err := env.Settings.Section("parser", &p.section); err != nil {
		return nil, err
	}
	var errs []error
	read := func(setting string, texts []string) []path {
		out := make([]path, 0, len(texts))
		for _, s := range texts {
			at, err := parsePath(s)
			if err != nil {
				errs = append(errs, fault.Errorf(fault.Invalid, "%s: %w", setting, err))
			}
			out = append(out, at)
		}
		return out
	}
	p.title, p.links, p.ignore = read("title", p.Title), read("links", p.Links), read("ignore", p.Ignore)
	for _, k := range slices.Sorted(maps.Keys(p.Fields)) {
		p.fields = append(p.fields, field{k, read("fields."+k, []string{p.Fields[k]})[0]})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	return &sdk.Extensions{Parser: p}, nil
}

// Parse implements parser.Parser.
func (p *Parser) Parse(ctx context.Context, in *parser.Input) (*parser.Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &in.Content
	body, charset := libxml.Decode(c, p.section.DefaultCharset, p.section.MinConfidence)
	r := &reader{
		p: p, text: libparse.NewText(p.section.MaxTextLength), meta: model.Metadata{}, titles: make([]string, len(p.title)),
		refs: libparse.Links{Base: c.Base, Self: c.URL, Max: p.OutlinksMax, MaxLength: 8 << 10},
	}
	if r.refs.Base == "" {
		r.refs.Base = c.URL
	}
	open, err := libxml.Walk(body, libxml.Limits{Depth: p.MaxDepth}, r)
	switch {
	case err != nil:
		return libparse.Unreadable(c, "xml: %v", err), nil
	case r.root == "":
		return libparse.Unreadable(c, "xml: there is no element"), nil
	case c.Truncated != "":
		libparse.Truncated(r.meta, c.Truncated)
	case open:
		libparse.Truncated(r.meta, "unclosed")
	}
	r.meta.Set(metaRoot, r.root)
	out := model.Parse{URL: c.URL, Charset: charset, Language: r.lang, ParseMeta: r.meta}
	for _, t := range r.titles {
		if out.Title == "" {
			out.Title = libparse.Clean(t)
		}
	}
	out.Text, out.Outlinks = r.text.Finish(r.meta), r.refs.Finish(r.meta)
	return libparse.Succeeded(&out, len(in.Facts)), nil
}

// reader handles the elements of one document.
type reader struct {
	p          *Parser
	open       []string // local names, lower case
	root, lang string
	text       *libparse.Text
	refs       libparse.Links
	meta       model.Metadata
	titles     []string // by title path
	grabs      []grab
	ignored    int // depth of the element whose text is left out; 0: none
}

// grab collects the text of an element that a path leads to.
type grab struct {
	depth int
	buf   []byte
	done  func(string)
}

// maxGrab bounds the text kept of one element, maxGrabs how many are collected at
// the same time, and maxValues how many values a key gets.
const (
	maxGrab   = 4 << 10
	maxGrabs  = 64
	maxValues = 100
)

// Start implements libxml.Handler.
func (r *reader) Start(name string, attrs []libxml.Attr) bool {
	if r.root == "" {
		r.root = name
	}
	r.open = append(r.open, libxml.Local(name))
	r.text.Space()
	if r.lang == "" && len(r.open) == 1 {
		r.lang = libxml.AttrOf(attrs, "lang")
	}
	if r.ignored == 0 && slices.ContainsFunc(r.p.ignore, func(p path) bool { return p.attr == "" && p.at(r.open) }) {
		r.ignored = len(r.open)
	}
	for i := range r.p.title {
		if r.titles[i] == "" {
			r.find(&r.p.title[i], attrs, func(s string) {
				if r.titles[i] == "" {
					r.titles[i] = s
				}
			})
		}
	}
	for i := range r.p.fields {
		f := &r.p.fields[i]
		r.find(&f.path, attrs, func(s string) {
			if s = libparse.Clean(s); s != "" && len(r.meta[f.key]) < maxValues {
				r.meta.Add(f.key, s)
			}
		})
	}
	for i := range r.p.links {
		p := &r.p.links[i]
		if p.attr != "" {
			r.find(p, attrs, func(s string) { r.refs.Add(s, "") })
			continue
		}
		r.find(p, attrs, func(s string) {
			if s = strings.TrimSpace(s); strings.Contains(s, "://") && !strings.ContainsAny(s, " \n\t") {
				r.refs.Add(s, "")
			}
		})
	}
	return true
}

// find gives to the text or attribute that p leads to from the element just
// opened.
func (r *reader) find(p *path, attrs []libxml.Attr, to func(string)) {
	if !p.at(r.open) {
		return
	}
	if p.attr == "" {
		if len(r.grabs) < maxGrabs {
			r.grabs = append(r.grabs, grab{depth: len(r.open), done: to})
		}
		return
	}
	if v := libxml.AttrOf(attrs, p.attr); v != "" {
		to(v)
	}
}

// Text implements libxml.Handler.
func (r *reader) Text(s string) bool {
	for i := range r.grabs {
		if g := &r.grabs[i]; len(g.buf) < maxGrab {
			g.buf = append(g.buf, s[:min(len(s), maxGrab)]...)
		}
	}
	if r.ignored > 0 {
		return true
	}
	if strings.TrimSpace(s) == "" {
		if strings.Contains(s, "\n") { // as its author set it
			r.text.Line()
		}
		return true
	}
	r.text.Write(s)
	return true
}

// End implements libxml.Handler.
func (r *reader) End(string) bool {
	depth := len(r.open)
	for len(r.grabs) > 0 && r.grabs[len(r.grabs)-1].depth == depth {
		g := &r.grabs[len(r.grabs)-1]
		g.done(string(g.buf))
		r.grabs = r.grabs[:len(r.grabs)-1]
	}
	if r.ignored == depth {
		r.ignored = 0
	}
	r.open = r.open[:depth-1]
	r.text.Space()
	return true
}
