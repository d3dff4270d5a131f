package parseoffice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libhtml"
	"github.com/gonutch/crawler/plugins/internal/libparse"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/model"
)

const (
	metaDegraded = "parse.degraded"       // what error ended the reading
	metaOver     = "office.parts.missing" // how many parts are beyond max_parts
	titleLength  = 200                    // characters of a title made of text
	callReserve  = time.Second            // kept back of the call's time to answer
)

var (
	errEncrypted = errors.New("encrypted")
	errCut       = errors.New("the document is cut off")
	errNested    = errors.New("groups nested too deep")
	errUnknown   = errors.New("no office document of a kind that is read here")
	errOLE       = errors.New("a document of the old binary formats (doc, xls, ppt), which parse-tika reads")
)

// Parser parses office documents. It is safe for concurrent use.
type Parser struct {
	config
	libparse.Section
	chapters *libhtml.Extractor // of EPUB's pages
}

// Parse implements parser.Parser. What a document is is told by its bytes; the
// type it was sent as only brought it here.
func (p *Parser) Parse(ctx context.Context, in *parser.Input) (*parser.Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &in.Content
	d := newDocument(p, c, time.Now().Add(p.TimeLimit.D()))
	if end, ok := ctx.Deadline(); ok && end.Add(-callReserve).Before(d.deadline) {
		d.deadline = end.Add(-callReserve)
	}
	err := d.read()
	if err == nil {
		err = d.broken
	}
	if err == nil && time.Now().After(d.deadline) {
		err = errTime
	}
	if err != nil {
		if d.text.Len() == 0 {
			return d.failed(err), nil
		}
		d.note(err)
	}
	return libparse.Succeeded(d.parse(), len(in.Facts)), nil
}

// document is the work on one document. It is for one goroutine.
type document struct {
	p        *Parser
	c        *model.Content
	deadline time.Time
	box      *box
	text     *libparse.Text
	links    libparse.Links
	meta     model.Metadata
	title    string
	language string
	styled   string // text of the first paragraph that is styled as a title
	sheets   bool   // a spreadsheet, whose first line names nothing
	over     bool   // parts beyond max_parts are missing
	broken   error  // the first part that could not be read to its end
}

func newDocument(p *Parser, c *model.Content, deadline time.Time) *document {
	base := c.Base
	if base == "" {
		base = c.URL
	}
	return &document{
		p: p, c: c, deadline: deadline, text: libparse.NewText(p.MaxTextLength), meta: model.Metadata{},
		links: libparse.Links{Base: base, Self: c.URL, Max: p.OutlinksMax, MaxLength: int(p.OutlinksLen)},
	}
}

func (d *document) read() error {
	body := d.c.Body
	switch {
	case bytes.HasPrefix(body, []byte(`{\rtf`)):
		return d.rtf(body)
	case bytes.HasPrefix(body, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		if bytes.Contains(body, utf16le("EncryptedPackage")) {
			return errEncrypted
		}
		return errOLE
	case !bytes.HasPrefix(body, []byte("PK\x03\x04")) && flatODF(body):
		r := &limited{r: bytes.NewReader(body), b: &box{budget: int64(d.p.MaxUnpacked), deadline: d.deadline}}
		return d.odfText(r)
	}
	var err error
	if d.box, err = openBox(body, d.p.MaxParts, int64(d.p.MaxUnpacked), d.deadline); err != nil {
		return err
	}
	switch kind := d.kind(); kind {
	case "word", "xl", "ppt":
		return d.ooxml(kind)
	case "odf":
		return d.odf()
	case "epub":
		return d.epub()
	}
	return errUnknown
}

// kind tells what the container holds: "word", "xl", "ppt", "odf", "epub" or "".
func (d *document) kind() string {
	if mime, err := d.box.readAll("mimetype", 128); err == nil {
		switch m := strings.TrimSpace(string(mime)); {
		case m == "application/epub+zip":
			return "epub"
		case strings.HasPrefix(m, "application/vnd.oasis.opendocument."), strings.HasPrefix(m, "application/vnd.sun.xml."):
			d.sheets = strings.Contains(m, "spreadsheet")
			return "odf"
		}
	}
	for _, k := range [...]struct{ kind, part string }{
		{"word", "word/document.xml"},
		{"xl", "xl/workbook.xml"},
		{"ppt", "ppt/presentation.xml"},
		{"odf", "content.xml"},
		{"epub", "META-INF/container.xml"},
	} {
		if d.box.has(k.part) {
			return k.kind
		}
	}
	if target := d.mainPart(); target != "" {
		kind, _, _ := strings.Cut(target, "/")
		return kind
	}
	for name := range d.box.files { // of a cut container
		switch kind, _, _ := strings.Cut(name, "/"); kind {
		case "word", "xl", "ppt":
			return kind
		}
	}
	return ""
}

// part reads one part of the container. That it can't be read, or not to its
// end, is noted and costs the rest of the part only.
func (d *document) part(name string, read func(io.Reader) error) {
	r, err := d.box.open(name)
	if err != nil {
		d.spoilt(err)
		return
	}
	defer func() { _ = r.Close() }()
	if err := read(r); err != nil {
		d.spoilt(fmt.Errorf("part %s: %w", name, err))
	}
}

func (d *document) spoilt(err error) {
	if d.broken == nil {
		d.broken = err
	}
}

// spent reports whether reading on is of no use.
func (d *document) spent() bool {
	return d.text.Full() || errors.Is(d.broken, errTime) || errors.Is(d.broken, errSize) || time.Now().After(d.deadline)
}

// note flags why the document was not read to its end.
func (d *document) note(err error) {
	switch {
	case errors.Is(err, errTime):
		libparse.Truncated(d.meta, "time")
	case errors.Is(err, errSize):
		libparse.Truncated(d.meta, "size")
	default:
		libparse.Truncated(d.meta, "broken")
	}
	libparse.SetMeta(d.meta, metaDegraded, err.Error())
}

func (d *document) failed(err error) *parser.Output {
	switch {
	case errors.Is(err, errEncrypted):
		return libparse.Failed(d.c, model.ParseFailedMissingContent, "the document is encrypted")
	case errors.Is(err, errTime), errors.Is(err, errSize), errors.Is(err, libparse.ErrPiece):
		return libparse.Failed(d.c, model.ParseFailedException, "%v", err)
	}
	return libparse.Unreadable(d.c, "nothing of it can be read: %v", err)
}

// parse sums up what was read.
func (d *document) parse() *model.Parse {
	if d.box != nil && d.box.cut && len(d.meta[libparse.MetaTruncated]) == 0 {
		d.note(errors.New("the container's table of contents is missing"))
	}
	if d.box != nil && d.box.over > 0 {
		d.over = true
		d.meta.Set(metaOver, strconv.Itoa(d.box.over))
	}
	if d.over {
		libparse.Truncated(d.meta, "parts")
	}
	out := &model.Parse{URL: d.c.URL, Title: d.title, Language: d.language, ParseMeta: d.meta}
	out.Text = d.text.Finish(d.meta)
	if d.p.TextOutlinks {
		d.links.AddText(out.Text)
	}
	out.Outlinks = d.links.Finish(d.meta)
	if out.Title == "" {
		out.Title = libparse.Clean(d.styled)
	}
	if out.Title == "" && d.p.TitleFromText && !d.sheets {
		line, _, _ := strings.Cut(out.Text, "\n")
		out.Title = libparse.Cut(libparse.Clean(line), titleLength, model.Metadata{})
	}
	if out.Language == "" {
		out.Language = d.c.Headers.First("Content-Language")
	}
	return out
}

// property sets a property of the document by its Dublin Core name or one of
// its kind.
func (d *document) property(name, value string) {
	switch name {
	case "title":
		if d.title == "" {
			d.title = libparse.Clean(value)
		}
	case "language":
		d.language = libparse.Clean(value)
	case "creator", "initial-creator", "Author", "author":
		d.add(libparse.MetaAuthor, value)
	case "subject", "keywords", "keyword":
		d.add(libparse.MetaSubject, value)
	case "description":
		d.add(libparse.MetaDescription, value)
	case "publisher", "Company":
		d.add(libparse.MetaPublisher, value)
	case "created", "creation-date":
		libparse.SetMeta(d.meta, libparse.MetaCreated, value)
	case "modified", "date":
		libparse.SetMeta(d.meta, libparse.MetaModified, value)
	case "generator", "Application":
		libparse.SetMeta(d.meta, libparse.MetaGenerator, value)
	case "Pages", "Slides":
		libparse.SetMeta(d.meta, libparse.MetaPages, value)
	}
}

// add adds a value to those of a key; each once.
func (d *document) add(key, value string) {
	value = libparse.Clean(value)
	if value == "" || len(d.meta[key]) >= 100 {
		return
	}
	for _, v := range d.meta[key] {
		if v == value {
			return
		}
	}
	d.meta[key] = append(d.meta[key], value)
}

func utf16le(s string) []byte {
	b := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		b = append(b, s[i], 0)
	}
	return b
}
