package parsetika

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libhtml"
	"github.com/gonutch/crawler/plugins/internal/libparse"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

const (
	callReserve = time.Second // kept back of the call's time to answer
	maxKeys     = 500         // names of metadata
	maxValues   = 100         // values of one
)

// Parser has documents parsed by a Tika server. It is safe for concurrent use.
type Parser struct {
	config
	libparse.Section
	extract *libhtml.Extractor
	server  *server
	slots   chan struct{} // one for each document at the server
}

// Parse implements parser.Parser.
func (p *Parser) Parse(ctx context.Context, in *parser.Input) (*parser.Output, error) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c := &in.Content
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(c.Body) == 0 { // Tika would answer with an error of its own
		return libparse.Unreadable(c, "the document is empty"), nil
	}
	addr, proc, err := p.server.use(ctx)
	if err != nil {
		return nil, err
	}
	limit := p.TimeLimit.D()
	if end, ok := ctx.Deadline(); ok {
		if left := time.Until(end) - callReserve; left < limit {
			limit = left
		}
	}
	if limit <= 0 {
		return nil, fault.Errorf(fault.Transient, "no time left in this call for %s", c.URL)
	}
	call, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	docs, failed, err := p.ask(call, addr, c)
	switch {
	case err == nil && failed != nil:
		p.server.parsed()
		return failed, nil
	case err == nil:
		p.server.parsed()
		return p.parse(c, docs, len(in.Facts))
	case ctx.Err() != nil:
		p.server.end(proc)
		return nil, ctx.Err()
	case errors.Is(call.Err(), context.DeadlineExceeded):
		p.server.end(proc)
		return libparse.Failed(c, model.ParseFailedException, "Tika did not answer within %v", limit.Round(time.Millisecond)), nil
	}
	if proc != nil && fault.Is(err, fault.Transient) {
		proc.awaitEnd(ctx)
	}
	return nil, err
}

// document is what Tika says of a document, the container or one inside it.
type document map[string]json.RawMessage

// values returns the values of a key; Tika writes one without a list.
func (d document) values(key string) []string {
	raw := d[key]
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var many []string
	_ = json.Unmarshal(raw, &many)
	return many
}

func (d document) first(keys ...string) string {
	for _, k := range keys {
		if v := d.values(k); len(v) > 0 && v[0] != "" {
			return v[0]
		}
	}
	return ""
}

// ask sends a document to the server's /rmeta/xml
// (https://cwiki.apache.org/confluence/display/TIKA/TikaServer).
func (p *Parser) ask(ctx context.Context, addr string, c *model.Content) ([]document, *parser.Output, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, addr+"/rmeta/xml", bytes.NewReader(c.Body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/octet-stream") // detected from the bytes and the name
	if c.MIMEType != "" {
		req.Header.Set("Content-Type", c.MIMEType)
	}
	if name := fileName(c.URL); name != "" {
		req.Header.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	}
	if !p.ParseEmbedded {
		req.Header.Set("maxEmbeddedResources", "0")
	}
	if p.MaxTextLength >= 0 {
		req.Header.Set("writeLimit", strconv.Itoa(p.MaxTextLength+1)) // one more, so that the cut shows
	}
	resp, err := p.server.client.Do(req)
	if err != nil {
		return nil, nil, fault.New(fault.Transient, fmt.Errorf("ask the Tika server: %w", err))
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(p.MaxAnswer)+1))
	switch {
	case err != nil:
		return nil, nil, fault.New(fault.Transient, fmt.Errorf("read the Tika server's answer: %w", err))
	case int64(len(body)) > int64(p.MaxAnswer):
		return nil, libparse.Failed(c, model.ParseFailedException, "Tika's answer is longer than max_answer = %q", p.MaxAnswer.String()), nil
	}
	if resp.StatusCode != http.StatusOK {
		return p.refused(c, resp.StatusCode, body)
	}
	var docs []document
	if err := json.Unmarshal(body, &docs); err != nil || len(docs) == 0 {
		return nil, nil, fault.Errorf(fault.Permanent, "the Tika server's answer is no list of metadata (%v): is %s a Tika server?", err, addr)
	}
	return docs, nil, nil
}

// refused tells an answer about the document from one about the server.
func (p *Parser) refused(c *model.Content, status int, body []byte) ([]document, *parser.Output, error) {
	reason := libparse.Clean(string(body[:min(len(body), 300)]))
	switch status {
	case http.StatusUnsupportedMediaType:
		return nil, libparse.Failed(c, model.ParseFailedInvalidFormat, "can't retrieve Tika parser for %q", c.MIMEType), nil
	case http.StatusUnprocessableEntity:
		if strings.Contains(reason, "Encrypted") {
			return nil, libparse.Failed(c, model.ParseFailedMissingContent, "the document is encrypted"), nil
		}
		return nil, libparse.Unreadable(c, "Tika can't parse it: %s", reason), nil
	case http.StatusInternalServerError, http.StatusBadRequest, http.StatusNoContent, http.StatusRequestEntityTooLarge:
		return nil, libparse.Failed(c, model.ParseFailedException, "Tika answers %d: %s", status, reason), nil
	case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return nil, nil, fault.Errorf(fault.Transient, "the Tika server answers %d: %s", status, reason)
	}
	return nil, nil, fault.Errorf(fault.Permanent, "the Tika server answers %d to PUT /rmeta/xml: is it a Tika server? %s", status, reason)
}

// fileName returns the last part of a URL's path, as a hint at the type.
func fileName(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	name := path.Base(u.Path)
	if name == "/" || name == "." || len(name) > 200 || strings.ContainsAny(name, "\"\\\r\n") {
		return ""
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f {
			return '_'
		}
		return c
	}, name)
}

// parse makes a parse of Tika's answer: the document first, then those inside it.
func (p *Parser) parse(c *model.Content, docs []document, facts int) (*parser.Output, error) {
	out := &model.Parse{URL: c.URL, ParseMeta: model.Metadata{}}
	main := docs[0]
	text := libparse.NewText(p.MaxTextLength)
	base := c.Base
	if base == "" {
		base = c.URL
	}
	links := libparse.Links{Base: base, Self: c.URL, Max: p.OutlinksMax, MaxLength: int(p.OutlinksLen)}
	for _, d := range docs {
		page, err := p.extract.Extract(libhtml.Input{Body: libhtml.ExpandEmpty([]byte(d.first("X-TIKA:content"))), URL: c.URL, Base: base})
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(page.Text) {
			text.Line()
			text.Write(line)
		}
		text.Line()
		for _, l := range page.Links {
			links.Add(l.URL, l.Anchor)
		}
		for _, key := range []string{"X-TIKA:EXCEPTION:container_exception", "X-TIKA:EXCEPTION:embedded_exception", "X-TIKA:EXCEPTION:warn"} {
			if why := d.first(key); why != "" {
				libparse.Truncated(out.ParseMeta, "broken")
				libparse.SetMeta(out.ParseMeta, "parse.degraded", why[:min(len(why), 300)])
			}
		}
		if d.first("X-TIKA:EXCEPTION:write_limit_reached") == "true" {
			libparse.Truncated(out.ParseMeta, "text")
		}
	}
	out.Text = text.Finish(out.ParseMeta)
	if links.Len() == 0 && p.TextOutlinks {
		links.AddText(out.Text)
	}
	out.Outlinks = links.Finish(out.ParseMeta)
	out.Title = libparse.Clean(main.first("dc:title", "title"))
	out.Language = libparse.Clean(main.first("dc:language", "language"))
	p.describe(out.ParseMeta, main)
	return libparse.Succeeded(out, facts), nil
}

// describe copies metadata: the usual ones under the names that all parsers
// use, and all under Tika's if so set.
func (p *Parser) describe(meta model.Metadata, d document) {
	for _, k := range [...]struct{ to, from string }{
		{libparse.MetaAuthor, "dc:creator"},
		{libparse.MetaSubject, "dc:subject"},
		{libparse.MetaDescription, "dc:description"},
		{libparse.MetaPublisher, "dc:publisher"},
		{libparse.MetaCreated, "dcterms:created"},
		{libparse.MetaModified, "dcterms:modified"},
		{libparse.MetaGenerator, "xmp:CreatorTool"},
		{libparse.MetaPages, "xmpTPg:NPages"},
	} {
		libparse.SetMeta(meta, k.to, d.first(k.from))
	}
	if !p.Metadata {
		return
	}
	names := make([]string, 0, len(d))
	for k := range d {
		if !strings.HasPrefix(k, "X-TIKA:") {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	for _, k := range names[:min(len(names), maxKeys)] {
		for _, v := range d.values(k) {
			if v = libparse.Clean(v); v != "" && len(meta[k]) < maxValues {
				meta[k] = append(meta[k], v)
			}
		}
	}
}
