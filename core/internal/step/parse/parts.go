package parse

import (
	"context"
	"net/url"
	"path"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/mimetype"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/signature"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
)

// PartRules say what becomes of documents inside documents.
type PartRules struct {
	Members string // what members become: MembersText, MembersDocuments
	Max     int    // parts and members of one fetched document
	Depth   int    // members within members
	Bytes   int64  // of all members of one fetched document
}

// What becomes of the members of an archive (parser.members).
const (
	MembersText      = "text"      // their texts are the archive's
	MembersDocuments = "documents" // each is a document of its own
)

func loadPartRules(c *config.Config) (PartRules, error) {
	var s struct {
		Members string       `hcl:"members"`
		Max     int          `hcl:"parts_max"`
		Depth   int          `hcl:"members_depth"`
		Bytes   setting.Size `hcl:"members_size_max"`
	}
	err := c.Decode("parser", &s)
	return PartRules{Members: s.Members, Max: s.Max, Depth: s.Depth, Bytes: int64(s.Bytes)}, err
}

// Reasons for dropping a part, counted with those for links.
const (
	DropPartFailed    = "part_failed"    // it could not be parsed
	DropPartLimit     = "part_limit"     // parser.parts_max
	DropPartDepth     = "part_depth"     // parser.members_depth
	DropPartSize      = "part_size"      // parser.members_size_max
	DropPartURL       = "part_url"       // its URL is not to be crawled, too long or taken
	DropPartNoIndex   = "part_noindex"   // it forbids to be indexed
	DropPartElsewhere = "part_elsewhere" // it claims to be a page of another domain
)

// inside is what was found in a document.
type inside struct {
	parts []found
	drops map[string]int64
}

// found is a part to be, with the bytes that its signature is made of.
type found struct {
	parse  model.Parse
	body   []byte
	mime   string
	parser string
}

// MetaPart is the key of the parse metadata with the name of a part within its document.
const MetaPart = "part.name"

// open looks into a document that was parsed: it parses members, and gives the
// document's own parse the texts and links that are counted as its own.
func (p *Parser) open(ctx context.Context, c *model.Content, r *chain.ParseResult) (inside, error) {
	in := inside{drops: map[string]int64{}}
	main := &r.Parses[0]
	for i := range r.Parses[1:] {
		e := r.Parses[1+i]
		main.Outlinks = append(main.Outlinks, e.Outlinks...)
		if !e.Status.OK() {
			in.drops[DropPartFailed]++
			continue
		}
		in.parts = append(in.parts, found{parse: e, body: []byte(e.Title + "\n" + e.Text), mime: c.MIMEType, parser: r.Parser})
	}
	r.Parses = r.Parses[:1]
	if len(r.Members) == 0 {
		return in, nil
	}
	w := &walk{p: p, in: &in, bytes: p.cfg.Parts.Bytes, number: p.cfg.Parts.Max}
	if err := w.members(ctx, c.URL, r.Members, 1); err != nil {
		return in, err
	}
	if len(w.good) == 0 && main.Text == "" {
		main.Status = model.ParseStatus{Major: model.ParseFailed, Minor: model.ParseFailedException, Message: w.why}
		return in, nil
	}
	var text strings.Builder
	text.WriteString(main.Text)
	for _, g := range w.good {
		main.Outlinks = append(main.Outlinks, g.parse.Outlinks...)
		if p.cfg.Parts.Members != MembersText {
			in.parts = append(in.parts, g)
			continue
		}
		if !strings.HasPrefix(g.parse.Text+"\n", g.parse.Title+"\n") { // many parsers put it there
			text.WriteString("\n" + g.parse.Title)
		}
		text.WriteString("\n" + g.parse.Text)
		if main.Title == "" && len(w.good) == 1 {
			main.Title, main.Language, main.Charset = g.parse.Title, g.parse.Language, g.parse.Charset
		}
	}
	main.Text = strings.TrimSpace(text.String())
	return in, nil
}

// walk parses members in depth-first order, within what one fetched document may have.
type walk struct {
	p      *Parser
	in     *inside
	bytes  int64
	number int
	good   []found
	why    string // the first reason why a member has no parse
}

func (w *walk) drop(reason, why string) {
	w.in.drops[reason]++
	if w.why == "" {
		w.why = why
	}
}

// atOnce is how many members of a document are parsed at the same time, so that
// calls to parsers carry several.
const atOnce = 8

// members parses the members of the document at URL of.
func (w *walk) members(ctx context.Context, of string, list []model.Content, depth int) error {
	if len(list) == 0 {
		return nil
	}
	if depth > w.p.cfg.Parts.Depth {
		w.in.drops[DropPartDepth] += int64(len(list)) - 1
		w.drop(DropPartDepth, "documents are nested deeper than parser.members_depth allows")
		return nil
	}
	kept := list[:0]
	for i := range list {
		m := &list[i]
		switch {
		case !segment.Inside(of, m.URL):
			w.drop(DropPartURL, "a plugin gave a document inside it the URL "+m.URL)
			continue
		case w.number <= 0:
			w.drop(DropPartLimit, "more documents inside it than parser.parts_max allows")
			continue
		case w.bytes < int64(len(m.Body)):
			w.drop(DropPartSize, "the documents inside it are larger than parser.members_size_max allows")
			continue
		}
		w.number--
		w.bytes -= int64(len(m.Body))
		if strings.Contains(of, "#") { // one "#" is enough for an archive in an archive
			m.URL = of + "/" + m.URL[len(of)+1:]
		}
		// Links that are relative lead nowhere: no server has the member.
		m.Base, m.MIMEType = "about:blank", mimetype.Detect(m.ContentType, "http://member/"+fragment(m.URL), m.Body, true)
		kept = append(kept, *m)
	}
	results := make([]*chain.ParseResult, len(kept))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i := range kept {
		g.Go(func() (err error) {
			results[i], err = w.p.plugins.Parse(gctx, &kept[i])
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, r := range results {
		if err := w.member(ctx, &kept[i], r, depth); err != nil {
			return err
		}
	}
	return nil
}

// member takes what was made of one member.
func (w *walk) member(ctx context.Context, m *model.Content, r *chain.ParseResult, depth int) error {
	switch {
	case r.Err != nil:
		w.p.tell(m.URL, r.Err)
		w.drop(DropPartFailed, r.Err.Error())
		return nil //nolint:nilerr // the member's outcome, told
	case len(r.Parses) == 0:
		w.drop(DropPartFailed, "the parser returned nothing")
		return nil
	case !r.Parses[0].Status.OK():
		w.drop(DropPartFailed, name(m.URL)+": "+r.Parses[0].Status.Message)
		return nil
	case r.Parses[0].Robots.NoIndex:
		w.drop(DropPartNoIndex, "robots noindex")
	case len(r.Members) == 0 || r.Parses[0].Text != "": // an archive says nothing itself
		f := found{parse: r.Parses[0], body: m.Body, mime: m.MIMEType, parser: r.Parser}
		f.parse.URL = m.URL
		if f.parse.Title == "" {
			f.parse.Title = path.Base(name(m.URL))
		}
		f.parse.ParseMeta = f.parse.ParseMeta.Clone()
		if f.parse.ParseMeta == nil {
			f.parse.ParseMeta = model.Metadata{}
		}
		f.parse.ParseMeta.Set(MetaPart, name(m.URL))
		w.good = append(w.good, f)
	}
	return w.members(ctx, m.URL, r.Members, depth+1)
}

// name returns the name of a member from its URL.
func name(member string) string {
	frag := fragment(member)
	if s, err := url.PathUnescape(frag); err == nil {
		return s
	}
	return frag
}

func fragment(url string) string {
	_, f, _ := strings.Cut(url, "#")
	return f
}

// parts judges what was found in a document and adds what counts to out.
func (p *Parser) parts(ctx context.Context, c *model.Content, in inside, out *segment.Parsed) error {
	seen := map[string]bool{c.URL: true}
	for _, f := range in.parts {
		url, why, err := p.partURL(ctx, c.URL, f.parse.URL)
		switch {
		case err != nil:
			return err
		case why == "" && seen[url]:
			why = DropPartURL
		case why == "" && len(out.Parts) >= p.cfg.Parts.Max:
			why = DropPartLimit
		case why == "" && f.parse.Robots.NoIndex:
			why = DropPartNoIndex
		}
		if why != "" {
			in.drops[why]++
			continue
		}
		seen[url] = true
		out.Parts = append(out.Parts, segment.Part{URL: url, Parsed: p.part(c, url, &f)})
	}
	in.count(out)
	return nil
}

// count adds the parts that were dropped to those of links.
func (in inside) count(out *segment.Parsed) {
	for why, n := range in.drops {
		if out.Dropped == nil {
			out.Dropped = map[string]int64{}
		}
		out.Dropped[why] += n
	}
}

func (p *Parser) part(c *model.Content, url string, f *found) segment.Parsed {
	e := &f.parse
	out := segment.Parsed{
		Status: e.Status, Title: e.Title, Robots: e.Robots, Canonical: e.Canonical, Charset: e.Charset, Language: e.Language,
		Base: c.Base, ContentMeta: e.ContentMeta.Clone(), ParseMeta: e.ParseMeta, Parser: f.parser,
		Signature: signature.Compute(p.cfg.Signature, url, f.body, e.Text),
	}
	if out.ContentMeta == nil {
		out.ContentMeta = model.Metadata{}
	}
	out.ContentMeta.Set("Content-Type", f.mime)
	if p.cfg.StoreText {
		out.Text = cut(e.Text, p.cfg.MaxText)
	}
	return out
}

// partURL judges the URL of a part of page: one inside the page is taken as it is,
// another must be one that is crawled and of the page's own domain, so that a
// page can't speak for others.
func (p *Parser) partURL(ctx context.Context, page, part string) (url, dropped string, err error) {
	if segment.Inside(page, part) {
		if p.tooLong(part) {
			return "", DropPartURL, nil
		}
		return part, "", nil
	}
	if urlkey.Domain(part) != urlkey.Domain(page) {
		return "", DropPartElsewhere, nil
	}
	links, _, err := p.Outlinks(ctx, page, []model.Outlink{{URL: part}})
	if err != nil || len(links) == 0 {
		return "", DropPartURL, err
	}
	return links[0].URL, "", nil
}
