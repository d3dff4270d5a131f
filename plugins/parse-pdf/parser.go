package parsepdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/klippa-app/go-pdfium/requests"

	"github.com/gonutch/crawler/plugins/internal/libparse"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// Keys of the parse metadata besides those of libparse.
const (
	metaOutline   = "pdf.outline"            // titles of the outline, in order
	metaBadPages  = "pdf.pages.failed"       // how many pages could not be read
	metaLostLines = "pdf.lines.lost"         // how many lines tell nothing without their fonts, which are cut off
	metaUnknown   = "pdf.characters.unknown" // how many characters are left out because their fonts don't tell which they are
	metaDegraded  = "parse.degraded"         // why the first bad page could not be read, or what else is missing
	unknownShare  = 10                       // a document is degraded when one of so many characters is unknown
	maxOpenings   = 4                        // a document that killed so many instances is given up
	headerWithin  = 1024                     // bytes before the header, by Acrobat's rule
	callReserve   = time.Second              // kept back of the call's time to answer
	titleLength   = 200                      // characters of a title made of text
	outlineTitles = 1000
	outlineDepth  = 16
)

// Parser parses PDF documents. It is safe for concurrent use.
type Parser struct {
	config
	libparse.Section
	engine *engine
}

// Parse implements parser.Parser.
func (p *Parser) Parse(ctx context.Context, in *parser.Input) (*parser.Output, error) {
	c := &in.Content
	if !bytes.Contains(c.Body[:min(len(c.Body), headerWithin+5)], []byte("%PDF-")) {
		return libparse.Unreadable(c, "no PDF: its header is missing in the first %d bytes", headerWithin), nil
	}
	if int64(len(c.Body)) > int64(p.Memory)*3/4 {
		return libparse.Failed(c, model.ParseFailedException, "document of %d bytes, too large to be read with memory = %q", len(c.Body), p.Memory.String()), nil
	}
	if err := p.engine.acquire(ctx); err != nil {
		return nil, err
	}
	defer p.engine.release()
	if _, err := p.engine.start(); err != nil { // its time is not the document's
		return nil, err
	}
	deadline := time.Now().Add(p.TimeLimit.D())
	if end, ok := ctx.Deadline(); ok && end.Add(-callReserve).Before(deadline) {
		deadline = end.Add(-callReserve)
	}
	if !time.Now().Before(deadline) {
		return nil, fault.Errorf(fault.Transient, "no time left in this call for %s", c.URL)
	}
	r := newReading(p, c, deadline)
	defer r.close()
	if err := r.run(); err != nil {
		if r.read == 0 {
			return p.failed(c, err), nil
		}
		if errors.Is(err, errTime) {
			libparse.Truncated(r.meta, "time")
		} else {
			libparse.Truncated(r.meta, "broken")
		}
		libparse.SetMeta(r.meta, metaDegraded, err.Error())
	}
	return libparse.Succeeded(r.parse(), len(in.Facts)), nil
}

// failed is the answer for a document of which nothing could be read.
func (p *Parser) failed(c *model.Content, err error) *parser.Output {
	switch {
	case errors.Is(err, errEncrypted):
		return libparse.Failed(c, model.ParseFailedMissingContent, "%v", err)
	case errors.Is(err, errTime):
		return libparse.Failed(c, model.ParseFailedException, "%v: nothing could be read within %v", err, p.TimeLimit)
	case errors.Is(err, errDead):
		return libparse.Failed(c, model.ParseFailedException, "%v (memory = %q)", err, p.Memory.String())
	}
	return libparse.Unreadable(c, "no readable PDF: %v", err)
}

// reading is the work on one document.
type reading struct {
	p                   *Parser
	c                   *model.Content
	body                []byte // as it is read: the content's, or repaired
	fonts               int    // that repair had to make up
	deadline            time.Time
	doc                 *document
	openings            int
	pages               int // the document's
	read                int // those whose text was read
	bad                 int
	lost                int   // lines without their fonts
	characters, unknown int   // of all pages read as they are; those that the fonts don't tell
	first               error // of the first bad page
	text                *libparse.Text
	links               libparse.Links
	meta                model.Metadata
	title               string
	language            string
}

func newReading(p *Parser, c *model.Content, deadline time.Time) *reading {
	base := c.Base
	if base == "" {
		base = c.URL
	}
	return &reading{
		p: p, c: c, deadline: deadline, text: libparse.NewText(p.MaxTextLength), meta: model.Metadata{},
		links: libparse.Links{Base: base, Self: c.URL, Max: p.OutlinksMax, MaxLength: int(p.OutlinksLen)},
	}
}

func (r *reading) close() {
	if r.doc != nil {
		r.doc.close()
		r.doc = nil
	}
}

// begin opens the document and counts its pages. One that is known to be cut off is
// repaired first, another one when it can't be opened.
func (r *reading) begin() error {
	asIs := func() error {
		r.body, r.fonts = r.c.Body, 0
		return r.countPages()
	}
	var err error
	if r.c.Truncated == "" {
		err = asIs()
		if err == nil || errors.Is(err, errEncrypted) || errors.Is(err, errTime) {
			return err
		}
	}
	var bad error
	if r.body, r.fonts, bad = repair(r.c.Body, int(r.p.Memory)/4); bad == nil {
		if bad = r.countPages(); bad == nil {
			r.openings = 1
			libparse.Truncated(r.meta, "broken")
			libparse.SetMeta(r.meta, metaDegraded, "the document's end with the table of its objects is missing")
			return nil
		}
	}
	if r.c.Truncated != "" {
		err = asIs()
	}
	return err
}

// countPages opens the document and learns how many pages it has.
func (r *reading) countPages() error {
	if err := r.open(); err != nil {
		return err
	}
	n, err := r.doc.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: r.doc.ref})
	if err != nil {
		return r.doc.cause(err)
	}
	if r.pages = n.PageCount; r.pages <= 0 {
		return errNoPages
	}
	return nil
}

func (r *reading) open() error {
	r.close()
	r.openings++
	doc, err := r.p.engine.open(r.body, r.p.Passwords, r.deadline)
	r.doc = doc
	return err
}

// run reads the document. Where a page kills the instance, the next page is
// tried in a new one.
func (r *reading) run() error {
	if err := r.begin(); err != nil {
		return err
	}
	r.meta.Set(libparse.MetaPages, strconv.Itoa(r.pages))
	if err := r.describe(); err != nil {
		return err
	}
	if err := r.readPages(); err != nil {
		return err
	}
	switch {
	case r.read == 0 && r.bad > 0:
		return r.first
	case r.text.Len() == 0 && r.links.Len() == 0 && (r.fonts > 0 || r.unknown > 0 && r.title == ""):
		r.read = 0
		return errNoText
	}
	return nil
}

func (r *reading) readPages() error {
	for i := range r.pages {
		switch {
		case r.p.MaxPages > 0 && i >= r.p.MaxPages:
			libparse.Truncated(r.meta, "pages")
			return nil
		case r.text.Full():
			return nil
		}
		err := r.page(i)
		if err == nil {
			r.read++
			continue
		}
		if r.bad++; r.bad == 1 {
			libparse.Truncated(r.meta, "broken")
			r.first = fmt.Errorf("page %d: %w", i+1, err)
			libparse.SetMeta(r.meta, metaDegraded, r.first.Error())
		}
		switch {
		case errors.Is(err, errTime), errors.Is(err, errDead) && r.openings >= maxOpenings:
			return err
		case errors.Is(err, errDead):
			if err := r.open(); err != nil {
				return err
			}
		}
	}
	return nil
}

// parse sums up what was read.
func (r *reading) parse() *model.Parse {
	if r.bad > 0 {
		r.meta.Set(metaBadPages, strconv.Itoa(r.bad))
	}
	if r.lost > 0 {
		r.meta.Set(metaLostLines, strconv.Itoa(r.lost))
	}
	if r.unknown > 0 {
		r.meta.Set(metaUnknown, strconv.Itoa(r.unknown))
	}
	if r.unknown*unknownShare > r.characters && r.meta.First(metaDegraded) == "" {
		r.meta.Set(metaDegraded, fmt.Sprintf("%d of %d characters are left out: their fonts do not tell which they are", r.unknown, r.characters))
	}
	out := &model.Parse{URL: r.c.URL, Title: r.title, Language: r.language, ParseMeta: r.meta}
	out.Text = r.text.Finish(r.meta)
	if r.p.TextOutlinks {
		r.links.AddText(out.Text)
	}
	out.Outlinks = r.links.Finish(r.meta)
	if out.Title == "" && r.p.TitleFromText {
		line, _, _ := strings.Cut(out.Text, "\n")
		out.Title = libparse.Cut(libparse.Clean(line), titleLength, model.Metadata{})
	}
	if out.Language == "" {
		out.Language = r.c.Headers.First("Content-Language")
	}
	return out
}
