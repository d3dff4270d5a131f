package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gonutch/crawler/core/internal/checker"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// pageFlags are the options of the checkers that fetch.
type pageFlags struct {
	checkFlags
	checker.Options
	md       multi
	dumpText bool
	doIndex  bool
}

func (f *pageFlags) register(fs *flag.FlagSet) {
	f.checkFlags.register(fs)
	fs.BoolVar(&f.Normalize, "normalize", false, "normalize the URL first")
	fs.BoolVar(&f.FollowRedirects, "follow-redirects", false, "follow redirects, up to http.redirect_max or 3")
	fs.BoolVar(&f.CheckRobots, "check-robots-txt", false, "ask robots.txt first")
	fs.StringVar(&f.ForceAs, "force-as", "", "MIME `TYPE` to take the document for")
	fs.Var(&f.md, "md", "`KEY=VALUE` of the record's metadata, as a seed would bring it; repeatable")
	fs.BoolVar(&f.dumpText, "dump-text", false, "show the text, too")
}

// open completes the flags and returns a checker.
func (f *pageFlags) open(c *crawl.Crawl) (*checker.Checker, error) {
	for _, kv := range f.md {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return nil, usagef("option --md: %q: want KEY=VALUE", kv)
		}
		if f.Metadata == nil {
			f.Metadata = model.Metadata{}
		}
		f.Metadata.Add(k, v)
	}
	return checker.New(c, f.Options)
}

// allowFiles lets file: URLs, which the user names himself, reach any folder
// unless the configuration has folders for them.
func (inv *invocation) allowFiles() error {
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	var file struct {
		Roots []string `hcl:"roots"`
	}
	if err := cfg.Decode("file", &file); err != nil {
		return err
	}
	if len(file.Roots) == 0 {
		inv.sets = append(inv.sets, "file.roots=/")
	}
	return nil
}

func parseCheckerCommand() *command {
	return &command{
		name: "parsechecker", args: "(--stdin | URL…)", short: "Fetch and parse URLs, and show what came out", group: "Checkers", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			f := pageFlags{checkFlags: checkFlags{points: []string{manifest.Parser, manifest.ParseFilter}}}
			f.register(inv.fs)
			return func(ctx context.Context, args []string) error {
				if err := inv.allowFiles(); err != nil {
					return err
				}
				return inv.check(ctx, args, &f.checkFlags, func(ctx context.Context, c *crawl.Crawl, in *checkInput, out *checkOutput) error {
					k, err := f.open(c)
					if err != nil {
						return err
					}
					look := func(ctx context.Context, l checkLine) (*checker.Page, error) {
						if p := l.problem(); p != "" {
							return &checker.Page{URL: cutBytes(l.text), Problem: p}, nil
						}
						return k.Parse(ctx, l.text)
					}
					return checkEach(ctx, in, out, look, func(_ checkLine, p *checker.Page) error {
						return out.put(newPageFacts(p), f.pageText(p), !p.OK())
					})
				})
			}
		},
	}
}

func indexCheckerCommand() *command {
	return &command{
		name: "indexchecker", args: "(--stdin | URL…)", short: "Fetch and parse URLs, and show the documents that would be indexed", group: "Checkers", nutch: true,
		prepare: func(inv *invocation) func(context.Context, []string) error {
			f := pageFlags{checkFlags: checkFlags{
				points: []string{manifest.IndexingFilter, manifest.Parser, manifest.ParseFilter}, also: []string{manifest.Scoring},
			}}
			f.register(inv.fs)
			inv.fs.BoolVar(&f.doIndex, "do-index", false, "really send the documents to the index writers; this opens the crawl directory, and makes it if need be")
			return func(ctx context.Context, args []string) error {
				if err := inv.allowFiles(); err != nil {
					return err
				}
				f.store = f.doIndex
				return inv.check(ctx, args, &f.checkFlags, f.index)
			}
		},
	}
}

// index is "indexchecker".
func (f *pageFlags) index(ctx context.Context, c *crawl.Crawl, in *checkInput, out *checkOutput) error {
	k, err := f.open(c)
	if err != nil {
		return err
	}
	if f.doIndex {
		if err := k.OpenWriters(ctx); err != nil {
			return err
		}
	}
	look := func(ctx context.Context, l checkLine) (*checker.Document, error) {
		if p := l.problem(); p != "" {
			return &checker.Document{Page: checker.Page{URL: cutBytes(l.text), Problem: p}}, nil
		}
		return k.Index(ctx, l.text)
	}
	err = checkEach(ctx, in, out, look, func(_ checkLine, d *checker.Document) error {
		facts := newDocFacts(d)
		if f.doIndex && d.Doc != nil {
			var err error
			if facts.Writers, err = k.Send(ctx, d.Doc); err != nil {
				facts.Error = err.Error()
			}
		}
		return out.put(facts, f.docText(&facts), facts.Error != "")
	})
	if f.doIndex {
		err = errors.Join(err, k.Commit(ctx))
	}
	return err
}

// fetchFacts are what both checkers say of the fetch, in JSON.
type fetchFacts struct {
	URL         string        `json:"url"`
	Hops        []checker.Hop `json:"redirects,omitempty"`
	FetchedURL  string        `json:"fetchedUrl,omitempty"` // when it is another one
	Status      string        `json:"status,omitempty"`     // of the fetch
	Protocol    string        `json:"protocolStatus,omitempty"`
	HTTP        int           `json:"httpCode,omitempty"`
	Location    string        `json:"location,omitempty"`
	ContentType string        `json:"contentType,omitempty"`
	Signature   string        `json:"signature,omitempty"`
	Parser      string        `json:"parser,omitempty"`
	ParseStatus string        `json:"parseStatus,omitempty"`
	Error       string        `json:"error,omitempty"` // why there is no more to show
}

func newFetchFacts(p *checker.Page) fetchFacts {
	f := fetchFacts{URL: p.URL, Hops: p.Hops, Error: p.Problem}
	if p.Fetch != nil {
		if p.Fetch.URL != p.URL {
			f.FetchedURL = p.Fetch.URL
		}
		f.Status, f.Protocol, f.HTTP = p.Fetch.Status.String(), p.Fetch.Protocol.String(), p.Fetch.Protocol.HTTP
		f.Location, f.ContentType = p.Fetch.Location, p.Fetch.MIMEType
		if p.Parsed == nil && f.Error == "" {
			f.Error = firstText(p.Fetch.Protocol.Message, f.Protocol)
		}
	}
	if p.Parsed != nil {
		f.Parser, f.ParseStatus = p.Parsed.Parser, p.Parsed.Status.String()
		f.Signature = hex.EncodeToString(p.Parsed.Signature)
		if !p.Parsed.Status.OK() {
			f.Error = firstText(p.Parsed.Status.Message, f.ParseStatus)
		}
	}
	return f
}

// outlink is a link in JSON.
type outlink struct {
	URL      string         `json:"url"`
	Anchor   string         `json:"anchor,omitempty"`
	Tag      string         `json:"tag,omitempty"`
	Metadata model.Metadata `json:"metadata,omitempty"`
}

// part is a document inside another one, such as an entry of a feed, in JSON.
type part struct {
	URL       string         `json:"url"`
	Title     string         `json:"title"`
	ParseMeta model.Metadata `json:"parseMetadata,omitempty"`
	Text      string         `json:"text"`
}

// pageFacts are the answer of parsechecker in JSON.
type pageFacts struct {
	fetchFacts
	Title       string         `json:"title"`
	Charset     string         `json:"charset,omitempty"`
	Language    string         `json:"language,omitempty"`
	Canonical   string         `json:"canonical,omitempty"`
	Robots      []string       `json:"robots,omitempty"`
	Outlinks    []outlink      `json:"outlinks"`
	ContentMeta model.Metadata `json:"contentMetadata,omitempty"`
	ParseMeta   model.Metadata `json:"parseMetadata,omitempty"`
	Parts       []part         `json:"parts,omitempty"` // documents inside the document
	Text        string         `json:"text"`
}

func newPageFacts(p *checker.Page) pageFacts {
	f := pageFacts{fetchFacts: newFetchFacts(p), Outlinks: []outlink{}}
	for i := range p.Links {
		l := &p.Links[i]
		f.Outlinks = append(f.Outlinks, outlink{l.URL, l.Anchor, l.Tag, l.Metadata})
	}
	if d := p.Parsed; d != nil {
		f.Title, f.Charset, f.Language, f.Canonical, f.Text = d.Title, d.Charset, d.Language, d.Canonical, d.Text
		f.ContentMeta, f.ParseMeta = d.ContentMeta, d.ParseMeta
		for i := range d.Parts {
			e := &d.Parts[i]
			f.Parts = append(f.Parts, part{e.URL, e.Title, e.ParseMeta, e.Text})
		}
		for name, on := range map[string]bool{"noindex": d.Robots.NoIndex, "nofollow": d.Robots.NoFollow, "noarchive": d.Robots.NoArchive} {
			if on {
				f.Robots = append(f.Robots, name)
			}
		}
		slices.Sort(f.Robots)
	}
	return f
}

// writeFetch writes what both checkers say of the fetch.
func writeFetch(out *table, f *fetchFacts) {
	for _, h := range f.Hops {
		out.fact("redirect", h.URL+" "+h.Status.String())
	}
	if f.FetchedURL != "" {
		out.fact("fetched", printable(f.FetchedURL))
	}
	for _, x := range [][2]string{
		{"status", strings.TrimSpace(f.Status + " " + f.Protocol)},
		{"signature", f.Signature},
		{"contentType", f.ContentType},
		{"parser", f.Parser},
		{"parseStatus", f.ParseStatus},
		{"error", f.Error},
	} {
		if x[1] != "" {
			out.fact(x[0], printable(x[1]))
		}
	}
}

// pageText is the answer of parsechecker for people: a block for an argument, one
// line for a line of standard input.
func (f *pageFlags) pageText(p *checker.Page) string {
	a := newPageFacts(p)
	if f.stdin {
		if !p.OK() {
			return "!" + visible(a.URL) + "\t" + visible(a.Error)
		}
		text := fmt.Sprintf("+%s\t%s\t%s\t%d outlinks\t%s", visible(a.URL), a.ContentType, a.Signature, len(a.Outlinks), visible(a.Title))
		if f.dumpText {
			text += "\t" + visible(strings.Join(strings.Fields(a.Text), " "))
		}
		return text
	}
	var b strings.Builder
	out := table{w: &b, width: 13}
	out.fact("url", printable(a.URL))
	writeFetch(&out, &a.fetchFacts)
	if p.Parsed != nil {
		for _, x := range [][2]string{
			{"title", a.Title}, {"charset", a.Charset}, {"language", a.Language}, {"canonical", a.Canonical}, {"robots", strings.Join(a.Robots, ", ")},
		} {
			if x[1] != "" {
				out.fact(x[0], printable(x[1]))
			}
		}
		out.line("outlinks:     %d", len(a.Outlinks))
		for _, l := range a.Outlinks {
			out.line("  %s anchor: %s", printable(l.URL), printable(l.Anchor))
		}
		out.meta("content metadata", a.ContentMeta)
		out.meta("parse metadata", a.ParseMeta)
		if len(a.Parts) > 0 {
			out.line("parts:        %d", len(a.Parts))
		}
		for _, e := range a.Parts {
			out.line("  %s title: %s", printable(e.URL), printable(e.Title))
		}
		out.line("text:         %s", plural(int64(len([]rune(a.Text))), "character"))
		if f.dumpText {
			out.line("%s", printableLines(a.Text))
		}
	}
	return b.String()
}

// docFacts are the answer of indexchecker in JSON.
type docFacts struct {
	fetchFacts
	ID      string              `json:"id,omitempty"`
	Boost   float64             `json:"boost,omitempty"`
	Fields  map[string][]string `json:"fields,omitempty"`
	Dropped string              `json:"dropped,omitempty"`
	Plugin  string              `json:"plugin,omitempty"` // who dropped it or failed
	Writers []string            `json:"writers,omitempty"`
}

func newDocFacts(d *checker.Document) docFacts {
	f := docFacts{fetchFacts: newFetchFacts(&d.Page), Dropped: d.Dropped, Plugin: d.Plugin}
	if d.Failed {
		f.Dropped, f.Error = "", d.Dropped
	}
	if d.Doc != nil {
		f.ID, f.Boost, f.Fields = d.Doc.ID, d.Doc.Boost, d.Doc.Fields
	}
	return f
}

// docText is the answer of indexchecker for people: a block for an argument, one
// line for a line of standard input.
func (f *pageFlags) docText(a *docFacts) string {
	if f.stdin {
		switch {
		case a.Error != "":
			return "!" + visible(a.URL) + "\t" + visible(a.Error)
		case a.Dropped != "":
			return "-" + visible(a.URL) + "\t" + join(a.Plugin, a.Dropped)
		}
		var fields []string
		for _, k := range slices.Sorted(maps.Keys(a.Fields)) {
			fields = append(fields, visible(k+"="+f.shown(a.Fields[k], 40)))
		}
		return "+" + visible(a.URL) + "\t" + strings.Join(fields, "\t")
	}
	var b strings.Builder
	out := table{w: &b, width: 13}
	out.fact("url", printable(a.URL))
	writeFetch(&out, &a.fetchFacts)
	if a.Dropped != "" {
		out.fact("dropped", join(a.Plugin, a.Dropped))
	}
	if len(a.Writers) > 0 {
		out.fact("sent to", strings.Join(a.Writers, ", "))
	}
	for _, k := range slices.Sorted(maps.Keys(a.Fields)) {
		for _, v := range a.Fields[k] {
			out.line("%s : %s", printable(k), printable(f.shown([]string{v}, 200)))
		}
	}
	return b.String()
}

// shown shortens the values of a field unless all of the text is wanted.
func (f *pageFlags) shown(values []string, most int) string {
	text := strings.Join(values, "|")
	if f.dumpText {
		return text
	}
	return cut(strings.Join(strings.Fields(text), " "), most)
}
