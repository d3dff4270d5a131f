// Package parsesitemap turns sitemaps into links with what they say of each page.
// It owns the sitemap protocol (sitemaps.org/protocol.html); whether a
// sitemap is fetched, and what its hints do to a record, is the core's business.
package parsesitemap

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"io"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gonutch/crawler/plugins/internal/libparse"
	"github.com/gonutch/crawler/plugins/internal/libxml"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// Keys of the metadata of links, and of the parse.
const (
	MetaLastMod    = "sitemap.lastmod"
	MetaPriority   = "sitemap.priority"
	MetaChangeFreq = "sitemap.changefreq"

	metaKind    = "sitemap"         // urlset, sitemapindex, rss, atom or text
	metaOutside = "sitemap.outside" // URLs left out because of strict
)

// Parser parses sitemaps. It is safe for concurrent use.
type Parser struct {
	MaxURLs    int          `json:"max_urls"`
	MaxSize    setting.Size `json:"max_size"`
	Strict     bool         `json:"strict"`
	Alternates bool         `json:"alternates"`
	Index      bool         `json:"index"`
	section    libparse.Section
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	p := &Parser{section: libparse.DefaultSection()}
	if err := env.Settings.Decode(p); err != nil {
		return nil, err
	}
	if err := env.Settings.Section("parser", &p.section); err != nil {
		return nil, err
	}
	return &sdk.Extensions{Parser: p}, nil
}

// errNoSitemap says that the document is something else.
var errNoSitemap = errors.New("it is no sitemap")

// Parse implements parser.Parser.
func (p *Parser) Parse(ctx context.Context, in *parser.Input) (*parser.Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &in.Content
	r := &reader{p: p, base: c.Base, self: c.URL, seen: map[string]bool{}, meta: model.Metadata{}}
	if r.base == "" {
		r.base = c.URL
	}
	if p.Strict {
		r.under = folder(c.URL)
	}
	charset, err := p.read(c, r)
	if err != nil {
		return libparse.Unreadable(c, "sitemap: %v", err), nil
	}
	for key, n := range map[string]int{libparse.MetaOverLimit: r.over, metaOutside: r.outside, libparse.MetaUnusable: r.unusable} {
		if n > 0 {
			r.meta.Set(key, strconv.Itoa(n))
		}
	}
	r.meta.Set(metaKind, r.kind)
	return libparse.Succeeded(&model.Parse{
		URL: c.URL, Title: "Sitemap", Outlinks: r.links, Charset: charset, ParseMeta: r.meta, Robots: model.RobotsMeta{NoIndex: !p.Index},
	}, len(in.Facts)), nil
}

// read reads any form of sitemap.
func (p *Parser) read(c *model.Content, r *reader) (charset string, err error) {
	body := c.Body
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		if body, err = p.unpack(body, r.meta); err != nil {
			return "", err
		}
	} else if len(body) > int(p.MaxSize) {
		body = body[:p.MaxSize]
		libparse.Truncated(r.meta, "size")
	}
	if c.Truncated != "" {
		libparse.Truncated(r.meta, c.Truncated)
	}
	inner := *c
	inner.Body = body
	text, charset := libxml.Decode(&inner, p.section.DefaultCharset, p.section.MinConfidence)
	if len(text) == 0 || text[0] != '<' {
		return charset, r.text(text, c.Truncated != "")
	}
	open, err := libxml.Walk(text, libxml.Limits{}, r)
	switch {
	case err != nil:
		return charset, err
	case r.kind == "":
		return charset, errNoSitemap
	case open && len(r.meta[libparse.MetaTruncated]) == 0:
		libparse.Truncated(r.meta, "unclosed")
	}
	return charset, nil
}

// unpack unpacks gzip up to the size limit; what a cut left of it counts.
func (p *Parser) unpack(body []byte, meta model.Metadata) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(z, int64(p.MaxSize)+1))
	if len(out) > int(p.MaxSize) {
		libparse.Truncated(meta, "size")
		return out[:p.MaxSize], nil
	}
	if err != nil {
		if len(out) == 0 {
			return nil, err
		}
		libparse.Truncated(meta, "gzip")
	}
	return out, nil
}

// folder returns a URL up to its last slash.
func folder(u string) string {
	u, _, _ = strings.Cut(u, "?")
	return u[:strings.LastIndexByte(u, '/')+1]
}

// reader collects links; it handles the elements of XML forms.
type reader struct {
	p                       *Parser
	base, self, under       string
	links                   []model.Outlink
	seen                    map[string]bool
	over, outside, unusable int
	kind                    string
	meta                    model.Metadata

	entry entry
	buf   strings.Builder
	path  []string
}

// entry is a url, sitemap, item or entry element being read.
type entry struct {
	loc, lastmod, priority, freq string
	alternates                   []string
}

// maxValue bounds the text kept of one element: the protocol allows URLs of 2,048
// characters.
const maxValue = 8 << 10

// Start implements libxml.Handler.
func (r *reader) Start(name string, attrs []libxml.Attr) bool {
	local := libxml.Local(name)
	if len(r.path) == 0 {
		switch local {
		case "urlset", "sitemapindex", "rss":
			r.kind = local
		case "rdf":
			r.kind = "rss"
		case "feed":
			r.kind = "atom"
		default:
			return false
		}
	}
	r.path = append(r.path, local)
	r.buf.Reset()
	switch {
	case r.isEntry(local):
		r.entry = entry{}
	case local != "link":
	case r.kind == "atom" && r.entry.loc == "":
		if rel := libxml.AttrOf(attrs, "rel"); rel == "" || rel == "alternate" {
			r.entry.loc = libxml.AttrOf(attrs, "href")
		}
	case r.kind == "urlset" && r.p.Alternates && len(r.entry.alternates) < 1000:
		if libxml.AttrOf(attrs, "rel") == "alternate" {
			r.entry.alternates = append(r.entry.alternates, libxml.AttrOf(attrs, "href"))
		}
	}
	return true
}

// isEntry reports whether the element holds one URL.
func (r *reader) isEntry(local string) bool {
	switch r.kind {
	case "urlset":
		return local == "url" && len(r.path) == 2
	case "sitemapindex":
		return local == "sitemap" && len(r.path) == 2
	case "rss":
		return local == "item"
	case "atom":
		return local == "entry"
	}
	return false
}

// Text implements libxml.Handler.
func (r *reader) Text(s string) bool {
	if r.buf.Len()+len(s) <= maxValue {
		r.buf.WriteString(s)
	}
	return true
}

// Cut implements libxml.Cutter: a cut URL is another one.
func (r *reader) Cut() { r.buf.Reset() }

// End implements libxml.Handler.
func (r *reader) End(name string) bool {
	local := libxml.Local(name)
	value := strings.TrimSpace(r.buf.String())
	r.buf.Reset()
	parent := ""
	if len(r.path) > 1 {
		parent = r.path[len(r.path)-2]
	}
	if r.isEntry(local) {
		r.add(r.entry)
		r.entry = entry{}
	} else if value != "" && (parent == "url" || parent == "sitemap" || parent == "item" || parent == "entry") {
		r.field(local, value)
	}
	r.path = r.path[:len(r.path)-1]
	return true
}

func (r *reader) field(local, value string) {
	e := &r.entry
	switch {
	case local == "loc" && (r.kind == "urlset" || r.kind == "sitemapindex"), local == "link" && r.kind == "rss":
		if e.loc == "" {
			e.loc = value
		}
	case local == "lastmod", local == "pubdate", local == "updated", local == "date" && r.kind == "rss":
		e.lastmod = value
	case local == "priority":
		e.priority = value
	case local == "changefreq":
		e.freq = strings.ToLower(value)
	}
}

// add adds a URL with what was said of it. Values that the protocol does not know
// are left out.
func (r *reader) add(e entry) {
	meta := model.Metadata{}
	if e.lastmod != "" && len(e.lastmod) <= 64 {
		meta.Set(MetaLastMod, e.lastmod)
	}
	if v, err := strconv.ParseFloat(e.priority, 64); err == nil && v >= 0 && v <= 1 {
		meta.Set(MetaPriority, strconv.FormatFloat(v, 'f', -1, 64))
	}
	switch e.freq {
	case "always", "hourly", "daily", "weekly", "monthly", "yearly", "never":
		meta.Set(MetaChangeFreq, e.freq)
	}
	if len(meta) == 0 {
		meta = nil
	}
	r.link(e.loc, meta)
	for _, a := range e.alternates {
		r.link(a, nil)
	}
}

func (r *reader) link(ref string, meta model.Metadata) {
	if ref == "" {
		return
	}
	u, ok := libparse.Resolve(r.base, ref)
	switch {
	case !ok || u == r.self:
		r.unusable++
		return
	case r.seen[u]:
		return
	case r.under != "" && !strings.HasPrefix(u, r.under):
		r.outside++
		return
	case len(r.links) >= r.p.MaxURLs:
		r.over++
		return
	}
	r.seen[u] = true
	r.links = append(r.links, model.Outlink{URL: u, Tag: "loc", Metadata: meta})
}

// text reads a text sitemap: one URL a line and nothing else.
func (r *reader) text(body []byte, cut bool) error {
	if !utf8.Valid(body[:min(len(body), 4096)]) && len(body) < 4096 {
		return errNoSitemap
	}
	n := 0
	for line := range bytes.Lines(body) {
		s := string(bytes.TrimSpace(line))
		if s == "" || cut && line[len(line)-1] != '\n' { // a cut URL is another one
			continue
		}
		u, err := url.Parse(s)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return errNoSitemap
		}
		n++
		r.link(s, nil)
	}
	if n == 0 {
		return errNoSitemap
	}
	r.kind = "text"
	return nil
}
