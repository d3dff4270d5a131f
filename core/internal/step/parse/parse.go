// Package parse turns fetched content into what later steps need: text, title
// and the outlinks that are wanted. It owns which outlinks of a page count:
// limits, internal and external rules, normalisation, filters, duplicates. It
// must not know how content was fetched, where a parse is stored or what a
// link does to scores.
package parse

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/signature"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/urlexemption"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/model"
)

// Config are the settings that concern parsing, from the sections parser
// and db.
type Config struct {
	SkipTruncated bool
	StoreText     bool
	MaxText       int // characters, negative: no limit
	Links         LinkRules
	Signature     signature.Config
	Parts         PartRules
}

// LinkRules say which outlinks and redirect targets count.
type LinkRules struct {
	IgnoreInternal bool
	IgnoreExternal bool
	ByDomain       bool // what internal and external go by
	AlsoRedirects  bool
	MaxPerPage     int // negative: no limit
	MaxLength      int // bytes
}

// LoadConfig reads the settings.
func LoadConfig(c *config.Config) (Config, error) {
	var pr struct {
		SkipTruncated bool `hcl:"skip_truncated"`
		StoreText     bool `hcl:"store_text"`
		MaxTextLength int  `hcl:"max_text_length"`
	}
	var d struct {
		IgnoreInternal bool    `hcl:"ignore_internal_links"`
		IgnoreExternal bool    `hcl:"ignore_external_links"`
		Mode           string  `hcl:"ignore_external_links_mode"`
		AlsoRedirects  bool    `hcl:"ignore_also_redirects"`
		MaxOutlinks    int     `hcl:"max_outlinks_per_page"`
		MaxLength      int     `hcl:"max_outlink_length"`
		Signature      string  `hcl:"signature"`
		MinTokenLen    int     `hcl:"signature_text_profile_min_token_len"`
		QuantRate      float64 `hcl:"signature_text_profile_quant_rate"`
		SecSortLex     bool    `hcl:"signature_text_profile_sec_sort_lex"`
	}
	parts, err := loadPartRules(c)
	if err := errors.Join(err, c.Decode("parser", &pr), c.Decode("db", &d)); err != nil {
		return Config{}, err
	}
	return Config{
		SkipTruncated: pr.SkipTruncated,
		StoreText:     pr.StoreText, MaxText: pr.MaxTextLength, Parts: parts,
		Links: LinkRules{
			IgnoreInternal: d.IgnoreInternal, IgnoreExternal: d.IgnoreExternal, ByDomain: d.Mode == "byDomain",
			AlsoRedirects: d.AlsoRedirects, MaxPerPage: d.MaxOutlinks, MaxLength: d.MaxLength,
		},
		Signature: signature.Config{
			Name: strings.ReplaceAll(d.Signature, "_", "-"), MinTokenLen: d.MinTokenLen, QuantRate: d.QuantRate, SecSortLex: d.SecSortLex,
		},
	}, nil
}

// Plugins are the chains that parsing needs; chain.Chains has them.
type Plugins interface {
	Parse(ctx context.Context, content *model.Content) (*chain.ParseResult, error)
	NormalizeFilter(ctx context.Context, scope urlnormalizer.Scope, urls []string) ([]chain.URLResult, error)
	Exempt(ctx context.Context, pairs []urlexemption.Pair) ([]bool, error)
}

// Parser parses documents. It keeps no state of its own and is safe for
// concurrent use; many goroutines should use it at once, so that calls to
// plugins carry many pages.
type Parser struct {
	cfg     Config
	plugins Plugins
	// Failed, when set, is told of each document, link and redirect target that a
	// plugin failed on. It may be called by many goroutines at once.
	Failed func(url string, err error)
}

// New returns a parser.
func New(cfg Config, plugins Plugins) (*Parser, error) {
	if err := cfg.Signature.Validate(); err != nil {
		return nil, fmt.Errorf("db.signature: %w", err)
	}
	return &Parser{cfg: cfg, plugins: plugins}, nil
}

// metaTruncated is the key of the parse metadata that says why a document was not
// read to its end. Parsers use it for reasons of their own; the core adds
// "content." and why the content itself is cut: length, time or disconnect.
const metaTruncated = "parse.truncated"

// Parse parses one document. A document that can't be parsed is a Parsed with
// a failed status; the error is not nil only when nothing can be parsed any more or ctx has ended.
func (p *Parser) Parse(ctx context.Context, c *model.Content) (*segment.Parsed, error) {
	out, links, in, err := p.document(ctx, c)
	if err != nil {
		return nil, err
	}
	out.Outlinks, out.Dropped, err = p.Outlinks(ctx, c.URL, links)
	if err != nil {
		return nil, err
	}
	parserDrops(out)
	return out, p.settle(ctx, c, in, out)
}

// parserDrops adds the links that the parser itself left out for a limit, which it says
// in its metadata, to those found and to those that were dropped after it.
func parserDrops(out *segment.Parsed) {
	for key, why := range map[string]string{"outlinks.dropped.length": DropLength, "outlinks.dropped.limit": DropLimit} {
		n, err := strconv.ParseInt(out.ParseMeta.First(key), 10, 64)
		if err != nil || n <= 0 {
			continue
		}
		if out.Dropped == nil {
			out.Dropped = map[string]int64{}
		}
		out.Dropped[why] += n
		out.AllLinks += int(n)
	}
}

// Document is Parse without the judgement of links: it returns them as the
// parser found them, none of a document that can't be parsed.
func (p *Parser) Document(ctx context.Context, c *model.Content) (*segment.Parsed, []model.Outlink, error) {
	out, links, in, err := p.document(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	return out, links, p.settle(ctx, c, in, out)
}

// settle gives out the parts of the document.
func (p *Parser) settle(ctx context.Context, c *model.Content, in inside, out *segment.Parsed) error {
	if !out.Status.OK() {
		in.count(out)
		return nil
	}
	return p.parts(ctx, c, in, out)
}

// document parses a document, up to the judgement of its links and parts.
func (p *Parser) document(ctx context.Context, c *model.Content) (*segment.Parsed, []model.Outlink, inside, error) {
	var in inside
	if c.Truncated != "" && p.cfg.SkipTruncated {
		return p.failed(c, model.ParseFailedTruncated, "content is truncated ("+c.Truncated+") and parser.skip_truncated is on", ""), nil, in, nil
	}
	r, err := p.plugins.Parse(ctx, c)
	if err != nil {
		return nil, nil, in, err
	}
	if r.Err == nil && len(r.Parses) > 0 && r.Parses[0].Status.OK() {
		if in, err = p.open(ctx, c, r); err != nil {
			return nil, nil, in, err
		}
	}
	if r.Err != nil {
		p.tell(c.URL, r.Err)
		return p.failed(c, model.ParseFailedException, r.Err.Error(), r.Parser), nil, in, nil //nolint:nilerr // the document's outcome, told
	}
	if len(r.Parses) == 0 {
		return p.failed(c, model.ParseFailedException, "the parser returned nothing", r.Parser), nil, in, nil
	}
	main := &r.Parses[0]
	out := &segment.Parsed{
		Status: main.Status, Title: main.Title, Robots: main.Robots, Canonical: main.Canonical, Charset: main.Charset,
		Language: main.Language, Base: c.Base, ContentMeta: main.ContentMeta, ParseMeta: main.ParseMeta,
		Parser: r.Parser, AllLinks: len(main.Outlinks), Signature: signature.Compute(p.cfg.Signature, c.URL, c.Body, main.Text),
	}
	if out.ContentMeta == nil {
		out.ContentMeta = model.Metadata{}
	}
	out.ContentMeta.Set("Content-Type", c.MIMEType)
	if c.Truncated != "" { // whatever the parser made of it, it has seen a part only
		out.ParseMeta = out.ParseMeta.Clone()
		if out.ParseMeta == nil {
			out.ParseMeta = model.Metadata{}
		}
		out.ParseMeta[metaTruncated] = append(out.ParseMeta[metaTruncated], "content."+c.Truncated)
	}
	if !main.Status.OK() {
		return out, nil, in, nil
	}
	if p.cfg.StoreText {
		out.Text = cut(main.Text, p.cfg.MaxText)
	}
	return out, main.Outlinks, in, nil
}

func (p *Parser) tell(url string, err error) {
	if p.Failed != nil {
		p.Failed(url, err)
	}
}

func (p *Parser) failed(c *model.Content, minor model.ParseMinor, message, parser string) *segment.Parsed {
	return &segment.Parsed{
		Status: model.ParseStatus{Major: model.ParseFailed, Minor: minor, Message: message}, Base: c.Base, Parser: parser,
		ContentMeta: model.Metadata{"Content-Type": {c.MIMEType}}, Signature: signature.Compute(p.cfg.Signature, c.URL, c.Body, ""),
	}
}

// cut shortens s to n characters.
func cut(s string, n int) string {
	if n < 0 || len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Reasons for dropping a link, besides the id of the plugin that dropped it.
const (
	DropLength    = "too_long"
	DropInternal  = "internal"
	DropExternal  = "external"
	DropSelf      = "self"
	DropDuplicate = "duplicate"
	DropLimit     = "max_outlinks"
	DropError     = "plugin_error"
	DropFile      = "file_link" // from a page of another scheme to a local file
	DropS3        = "s3_link"   // from a page of another scheme to object storage
)

// Outlinks returns the links of page from that count, normalized, in page
// order, and how many were dropped for which reason.
func (p *Parser) Outlinks(ctx context.Context, from string, links []model.Outlink) ([]segment.Link, map[string]int64, error) {
	if len(links) == 0 {
		return nil, nil, nil
	}
	drops := map[string]int64{}
	rule := newScope(from, p.cfg.Links)
	limit := p.cfg.Links.MaxPerPage
	if limit < 0 {
		limit = len(links)
	}
	out := make([]segment.Link, 0, min(limit, len(links)))
	seen := make(map[string]struct{}, min(limit, len(links)))
	// A page with thousands of links needs only the first that pass.
	for start := 0; start < len(links); {
		if len(out) >= limit {
			drops[DropLimit] += int64(len(links) - start)
			break
		}
		end := min(len(links), start+max(64, 2*(limit-len(out))))
		cand, err := p.candidates(ctx, rule, links[start:end], drops)
		if err != nil {
			return nil, nil, err
		}
		for i := range cand.links {
			l, r := cand.links[i], &cand.results[i]
			switch {
			case r.Err != nil:
				drops[DropError]++
				p.tell(l.URL, r.Err)
			case r.Dropped:
				drops[r.Plugin]++
			case r.URL == from:
				drops[DropSelf]++
			case ownOnly(from, r.URL) != "": // a normalizer's doing
				drops[ownOnly(from, r.URL)]++
			case p.tooLong(r.URL): // normalizers may lengthen it
				drops[DropLength]++
			case len(out) >= limit:
				drops[DropLimit]++
			default:
				if _, dup := seen[r.URL]; dup {
					drops[DropDuplicate]++
					continue
				}
				seen[r.URL] = struct{}{}
				out = append(out, segment.Link{URL: r.URL, Anchor: l.Anchor, Tag: l.Tag, Metadata: l.Metadata})
			}
		}
		start = end
	}
	if len(drops) == 0 {
		drops = nil
	}
	return out, drops, nil
}

func (p *Parser) tooLong(url string) bool {
	return p.cfg.Links.MaxLength >= 0 && len(url) > p.cfg.Links.MaxLength
}

type candidates struct {
	links   []*model.Outlink
	results []chain.URLResult
}

func (p *Parser) candidates(ctx context.Context, rule scope, links []model.Outlink, drops map[string]int64) (candidates, error) {
	var c candidates
	var external []urlexemption.Pair
	var externalAt []int
	urls := make([]string, 0, len(links))
	c.links = make([]*model.Outlink, 0, len(links))
	for i := range links {
		l := &links[i]
		if p.tooLong(l.URL) {
			drops[DropLength]++
			continue
		}
		if why := ownOnly(rule.from, l.URL); why != "" {
			drops[why]++
			continue
		}
		switch rule.check(l.URL) {
		case DropInternal:
			drops[DropInternal]++
			continue
		case DropExternal:
			external = append(external, urlexemption.Pair{From: rule.from, To: l.URL})
			externalAt = append(externalAt, len(urls))
		}
		c.links = append(c.links, l)
		urls = append(urls, l.URL)
	}
	if len(external) > 0 {
		exempt, err := p.plugins.Exempt(ctx, external)
		if err != nil {
			return c, err
		}
		drop := make(map[int]bool, len(external))
		for i, at := range externalAt {
			if !exempt[i] {
				drop[at] = true
				drops[DropExternal]++
			}
		}
		kept, keptURLs := c.links[:0], urls[:0]
		for i := range urls {
			if !drop[i] {
				kept, keptURLs = append(kept, c.links[i]), append(keptURLs, urls[i])
			}
		}
		c.links, urls = kept, keptURLs
	}
	var err error
	c.results, err = p.plugins.NormalizeFilter(ctx, urlnormalizer.ScopeOutlink, urls)
	return c, err
}

// ownOnly says why a link to one of the user's own things is dropped: strangers have no
// say in which local files are read, and in what is read of object storage with the user's
// keys. "" is for links of the same scheme, and to everything else.
func ownOnly(from, to string) string {
	switch {
	case hasScheme(to, "file:") && !hasScheme(from, "file:"):
		return DropFile
	case hasScheme(to, "s3:") && !hasScheme(from, "s3:"):
		return DropS3
	}
	return ""
}

func hasScheme(url, scheme string) bool {
	url = strings.TrimSpace(url)
	return len(url) >= len(scheme) && strings.EqualFold(url[:len(scheme)], scheme)
}

// scope judges links as internal or external to a page.
type scope struct {
	LinkRules
	from, site string
}

func newScope(from string, r LinkRules) scope {
	s := scope{LinkRules: r, from: from}
	if r.IgnoreInternal || r.IgnoreExternal {
		s.site = s.siteOf(from)
	}
	return s
}

// Check says what a link from one URL to another is by the rules for internal
// and external links: "", DropInternal or DropExternal. Exemptions are the
// caller's business.
func (r LinkRules) Check(from, to string) string { return newScope(from, r).check(to) }

func (s scope) siteOf(url string) string {
	if s.ByDomain {
		return urlkey.Domain(url)
	}
	return urlkey.Host(url)
}

func (s scope) check(url string) string {
	if !s.IgnoreInternal && !s.IgnoreExternal {
		return ""
	}
	switch same := s.siteOf(url) == s.site; {
	case same && s.IgnoreInternal:
		return DropInternal
	case !same && s.IgnoreExternal:
		return DropExternal
	}
	return ""
}

// Redirect judges the target of a redirect from page from: the same rules as for
// outlinks, exemptions included. It returns the normalized target, or why it is dropped.
func (p *Parser) Redirect(ctx context.Context, from, target string) (url, dropped string, err error) {
	q := *p
	if !q.cfg.Links.AlsoRedirects {
		q.cfg.Links.IgnoreInternal, q.cfg.Links.IgnoreExternal = false, false
	}
	drops := map[string]int64{}
	one := []model.Outlink{{URL: target}}
	c, err := q.candidates(ctx, newScope(from, q.cfg.Links), one, drops)
	if err != nil {
		return "", "", err
	}
	for why := range drops {
		return "", why, nil
	}
	r := c.results[0]
	switch {
	case r.Err != nil:
		p.tell(target, r.Err)
		return "", DropError, nil //nolint:nilerr // the URL's outcome, told
	case r.Dropped:
		return "", r.Plugin, nil
	case r.URL == from:
		return "", DropSelf, nil
	case ownOnly(from, r.URL) != "":
		return "", ownOnly(from, r.URL), nil
	case p.tooLong(r.URL):
		return "", DropLength, nil
	}
	return r.URL, "", nil
}
