package feed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"

	"github.com/gonutch/crawler/plugins/internal/libhtml"
	"github.com/gonutch/crawler/plugins/internal/libparse"
	"github.com/gonutch/crawler/plugins/internal/libxml"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/model"
)

// Parser parses feeds (Nutch's FeedParser). It is safe for concurrent use.
type Parser struct {
	config
	section libparse.Section
	html    *libhtml.Extractor
}

// errNoFeed says that the document is something else.
var errNoFeed = errors.New("it is no RSS, Atom or JSON feed")

// Parse implements parser.Parser. The document's own parse comes first, then one
// for each entry that is to be a document.
func (p *Parser) Parse(ctx context.Context, in *parser.Input) (*parser.Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &in.Content
	meta := model.Metadata{}
	feed, charset, err := p.read(c, meta)
	if err != nil {
		return libparse.Unreadable(c, "feed: %v", err), nil
	}
	if p.MaxEntries > 0 && len(feed.Items) > p.MaxEntries {
		meta.Set("feed.dropped.limit", strconv.Itoa(len(feed.Items)-p.MaxEntries))
		feed.Items = feed.Items[:p.MaxEntries]
	}
	w := &writer{p: p, c: c, base: c.Base, links: libparse.Links{Self: c.URL, Max: p.OutlinksMax, MaxLength: 8 << 10}}
	if w.base == "" {
		w.base = c.URL
	}
	w.links.Base = w.base
	main := w.feed(feed, meta)
	main.Charset = charset
	entries := w.entries(feed)
	main.Outlinks = w.links.Finish(meta)
	out := libparse.Succeeded(&main, len(in.Facts))
	for _, e := range entries {
		out.Parses = append(out.Parses, libparse.Succeeded(&e, len(in.Facts)).Parses[0])
	}
	return out, nil
}

// read decodes the feed; what a cut or an early end left of it counts.
func (p *Parser) read(c *model.Content, meta model.Metadata) (*gofeed.Feed, string, error) {
	body, charset := libxml.Decode(c, p.section.DefaultCharset, p.section.MinConfidence)
	if len(body) == 0 {
		return nil, "", errNoFeed
	}
	if body[0] == '<' {
		doc, err := libxml.Scan(body, libxml.Limits{})
		if err != nil {
			return nil, "", err
		}
		switch libxml.Local(doc.Root) {
		case "rss", "rdf", "feed":
		default:
			return nil, "", errNoFeed
		}
		if doc.Open {
			libparse.Truncated(meta, reason(c))
		}
		// The library looks for the root in the first 4 KiB only.
		body = rootFirst(doc.Body)
	} else if body[0] != '{' || c.MIMEType != "application/feed+json" && !bytes.Contains(body[:min(len(body), 4096)], []byte("jsonfeed.org/version")) {
		return nil, "", errNoFeed
	}
	feed, err := gofeed.NewParser().Parse(bytes.NewReader(body))
	if errors.Is(err, gofeed.ErrFeedTypeNotDetected) {
		err = errNoFeed
	}
	return feed, charset, err
}

func reason(c *model.Content) string {
	if c.Truncated != "" {
		return c.Truncated
	}
	return "unclosed"
}

// rootFirst drops comments, instructions and a DOCTYPE before the root.
func rootFirst(body []byte) []byte {
	for bytes.HasPrefix(body, []byte("<!")) || bytes.HasPrefix(body, []byte("<?")) {
		end := ">"
		switch {
		case bytes.HasPrefix(body, []byte("<!--")):
			end = "-->"
		case bytes.HasPrefix(body, []byte("<?")):
			end = "?>"
		case bytes.IndexByte(body[:max(bytes.IndexByte(body, '>'), 0)], '[') >= 0:
			return body
		}
		i := bytes.Index(body, []byte(end))
		if i < 0 {
			return body
		}
		body = bytes.TrimLeft(body[i+len(end):], " \t\r\n")
	}
	return body
}

// writer makes parses of one feed.
type writer struct {
	p     *Parser
	c     *model.Content
	base  string
	links libparse.Links
	from  string // feed's own page
	title string
}

// feed makes the feed's own parse. Its text is the description and the entries'
// titles.
func (w *writer) feed(f *gofeed.Feed, meta model.Metadata) model.Parse {
	w.title = libparse.Clean(w.text(f.Title))
	w.from = w.c.URL
	if u, ok := libparse.Resolve(w.base, f.Link); ok {
		w.from = u
		w.links.Add(u, w.title)
	}
	text := libparse.NewText(w.p.section.MaxTextLength)
	line := func(s string) {
		text.Line()
		text.Write(s)
	}
	line(w.title)
	line(w.text(f.Description))
	for _, it := range f.Items {
		line(w.text(it.Title))
	}
	w.describe(meta, f.Authors, f.Categories, f.PublishedParsed, f.UpdatedParsed)
	return model.Parse{URL: w.c.URL, Title: w.title, Text: text.Finish(meta), Language: f.Language, ParseMeta: meta}
}

// entries adds the entries' links and makes the parses of those that are documents.
func (w *writer) entries(f *gofeed.Feed) []model.Parse {
	var out []model.Parse
	for _, it := range f.Items {
		link, hasLink := w.link(it)
		title := libparse.Clean(w.text(it.Title))
		if hasLink {
			w.links.Add(link, title)
		}
		text, links := w.html(it.Content, link)
		if text == "" {
			text, links = w.html(it.Description, link)
		}
		for _, l := range links {
			w.links.Add(l.URL, l.Anchor)
		}
		if w.p.Enclosures {
			for _, e := range it.Enclosures {
				w.links.Add(e.URL, "")
			}
		}
		if w.p.Entries == "links" {
			continue
		}
		if !hasLink {
			if link = w.name(it, title, text); link == "" {
				continue
			}
		}
		meta := model.Metadata{metaFeed: {w.from}}
		libparse.SetMeta(meta, metaFeedTitle, w.title)
		w.describe(meta, it.Authors, it.Categories, it.PublishedParsed, it.UpdatedParsed)
		all := libparse.NewText(w.p.section.MaxTextLength)
		all.Write(title)
		for line := range strings.Lines(text) {
			all.Line()
			all.Write(line)
		}
		out = append(out, model.Parse{
			URL: link, Title: title, Text: all.Finish(meta), Language: f.Language, ParseMeta: meta,
			ContentMeta: model.Metadata{"Content-Type": {"text/html"}},
		})
	}
	return out
}

// link returns the absolute URL of an entry's page.
func (w *writer) link(it *gofeed.Item) (string, bool) {
	for _, l := range append([]string{it.Link}, it.Links...) {
		if u, ok := libparse.Resolve(w.base, l); ok {
			return u, true
		}
	}
	if strings.HasPrefix(it.GUID, "http://") || strings.HasPrefix(it.GUID, "https://") {
		return libparse.Resolve(w.base, it.GUID) // RSS: a guid is a permanent link unless it says no
	}
	return "", false
}

// name returns the URL of an entry without a link: by its id, or by what it says.
func (w *writer) name(it *gofeed.Item, title, text string) string {
	id := strings.TrimSpace(it.GUID)
	if id == "" || len(id) > 200 {
		if title+text == "" {
			return ""
		}
		sum := sha256.Sum256([]byte(id + "\n" + title + "\n" + text))
		id = hex.EncodeToString(sum[:8])
	}
	page, _, _ := strings.Cut(w.c.URL, "#")
	return page + "#" + url.PathEscape(id)
}

// describe adds who, what about and when.
func (w *writer) describe(meta model.Metadata, authors []*gofeed.Person, tags []string, published, updated *time.Time) {
	add := func(key, v string) {
		if v = libparse.Clean(w.text(v)); v != "" && len(meta[key]) < 100 {
			meta.Add(key, v)
		}
	}
	for _, a := range authors {
		if a == nil {
			continue
		}
		if a.Name != "" {
			add(metaAuthor, a.Name)
		} else {
			add(metaAuthor, a.Email)
		}
	}
	for _, t := range tags {
		add(metaTag, t)
	}
	for key, at := range map[string]*time.Time{metaPublished: published, metaUpdated: updated} {
		if at != nil && at.Year() > 0 && at.Year() < 10000 {
			meta.Set(key, strconv.FormatInt(at.UnixMilli(), 10))
		}
	}
}

// html returns the text and links of a piece of HTML.
func (w *writer) html(s, base string) (string, []libhtml.Link) {
	if !strings.ContainsAny(s, "<&") {
		return s, nil
	}
	if base == "" {
		base = w.base
	}
	page, err := w.p.html.Extract(libhtml.Input{Body: []byte(strings.ToValidUTF8(s, "")), URL: w.c.URL, Base: base})
	if err != nil { // only facts can be wrong
		return s, nil
	}
	return page.Text, page.Links
}

// text returns the text of a title or name that may be HTML.
func (w *writer) text(s string) string {
	t, _ := w.html(s, "")
	return t
}
