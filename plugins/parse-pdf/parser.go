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
	metaOutline   = "pdf.outline"      // titles of the outline, in order
	metaBadPages  = "pdf.pages.failed" // how many pages could not be read
	metaDegraded  = "parse.degraded"   // why the first of them could not
	maxOpenings   = 4                  // a document that killed so many instances is given up
	headerWithin  = 1024               // bytes before the header, by Acrobat's rule
	callReserve   = time.Second        // kept back of the call's time to answer
	titleLength   = 200                // characters of a title made of text
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
		return libparse.Failed(c, model.ParseFailedInvalidFormat, "no PDF: its header is missing in the first %d bytes", headerWithin), nil
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
	case c.Truncated != "":
		return libparse.Failed(c, model.ParseFailedTruncated, "content is truncated (%s) and nothing of it can be read: %v", c.Truncated, err)
	}
	return libparse.Failed(c, model.ParseFailedInvalidFormat, "no readable PDF: %v", err)
}

// reading is the work on one document.
type reading struct {
	p        *Parser
	c        *model.Content
	deadline time.Time
	doc      *document
	openings int
	pages    int // the document's
	read     int // those whose text was read
	bad      int
	first    error // of the first bad page
	text     *libparse.Text
	links    libparse.Links
	meta     model.Metadata
	title    string
	language string
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

func (r *reading) open() error {
	r.close()
	r.openings++
	doc, err := r.p.engine.open(r.c.Body, r.p.Passwords, r.deadline)
	r.doc = doc
	return err
}

// run reads the document. Where a page kills the instance, the next page is
// tried in a new one.
func (r *reading) run() error {
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
	r.meta.Set(libparse.MetaPages, strconv.Itoa(r.pages))
	if err := r.describe(); err != nil {
		return err
	}
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
	if r.read == 0 && r.bad > 0 {
		return r.first
	}
	return nil
}

// parse sums up what was read.
func (r *reading) parse() *model.Parse {
	if r.bad > 0 {
		r.meta.Set(metaBadPages, strconv.Itoa(r.bad))
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
