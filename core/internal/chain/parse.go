package chain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// ParseResult is what became of one document.
type ParseResult struct {
	Parses []model.Parse // the document's own first; empty when Err is set
	// Members are documents inside the document that are still to be parsed.
	Members []model.Content
	Parser  string // plugin that made it, or that failed last
	// Err says that no parser could work on the document because plugins failed
	// (poisonous, out of time); a document that is merely broken is a Parse with
	// a failed status.
	Err error
}

type (
	parseItem        = *parser.Input
	parseOutput      = *parser.Output
	parseFilterItem  = *parsefilter.Input
	parseFilterPatch = *parsefilter.Patch
)

type parserEntry struct {
	m   *member
	col *collector[parseItem, parseOutput]
}

type filterEntry struct {
	m     *member
	col   *collector[parseFilterItem, parseFilterPatch]
	facts []int // positions of its facts in parserChain.facts
}

// parserChain chooses parsers and runs the parse filters.
type parserChain struct {
	entries []parserEntry // in chain order
	types   map[string][]string
	filters []filterEntry
	facts   []model.Fact
}

// Parse runs the parsers of the document's type until one succeeds, then the
// parse filters. The error is not nil only when no document can be parsed any
// more or ctx has ended. Documents of many goroutines share calls.
func (c *Chains) Parse(ctx context.Context, content *model.Content) (*ParseResult, error) {
	res, err := c.parsers.parse(ctx, content)
	if err == nil && res.Err == nil {
		err = c.parsers.filter(ctx, content, res)
	}
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", content.URL, err)
	}
	for i := range res.Parses {
		res.Parses[i].Facts = nil
	}
	return res, nil
}

func (p *parserChain) parse(ctx context.Context, content *model.Content) (*ParseResult, error) {
	var last *ParseResult
	for _, e := range p.candidates(content.MIMEType) {
		out, errs, err := e.col.do(ctx, []parseItem{{Content: *content, Facts: p.facts}})
		if err != nil {
			return nil, err
		}
		res := &ParseResult{Parser: e.m.id}
		if out[0] != nil {
			res.Parses, res.Members = out[0].Parses, out[0].Members
		}
		switch {
		case errs != nil && errs[0] != nil:
			res.Parses, res.Members, res.Err = nil, nil, named(e.m.id, errs[0])
		case len(res.Parses) == 0:
			e.m.errors.Add(1)
			res.Err = named(e.m.id, fmt.Errorf("answered without a parse"))
		case res.Parses[0].Status.OK():
			return res, nil
		}
		// A parse with a reason tells more than a plugin that failed.
		if last == nil || last.Err != nil {
			last = res
		}
	}
	if last == nil {
		last = &ParseResult{Parses: []model.Parse{{
			URL: content.URL,
			Status: model.ParseStatus{
				Major: model.ParseFailed, Minor: model.ParseFailedInvalidFormat,
				Message: fmt.Sprintf("no parser for type %q", content.MIMEType),
			},
		}}}
	}
	return last, nil
}

// candidates returns the parsers to try for a MIME type: those that the
// settings name for it, else those whose manifests name it, then "major/*",
// then "*".
func (p *parserChain) candidates(mime string) []parserEntry {
	mime, _, _ = strings.Cut(mime, ";")
	mime = strings.ToLower(strings.TrimSpace(mime))
	major, _, _ := strings.Cut(mime, "/")
	var out []parserEntry
	add := func(e parserEntry) {
		if !slices.ContainsFunc(out, func(o parserEntry) bool { return o.m == e.m }) {
			out = append(out, e)
		}
	}
	for _, key := range []string{mime, major + "/*", "*"} {
		if ids, ok := p.types[key]; ok {
			for _, id := range ids {
				for _, e := range p.entries {
					if e.m.is(manifest.Parser, id) {
						add(e)
					}
				}
			}
			return out
		}
		for _, e := range p.entries {
			for _, pr := range e.m.provides(manifest.Parser) {
				if slices.Contains(pr.MIMETypes, key) {
					add(e)
				}
			}
		}
	}
	return out
}

// filter runs the parse filters over every successful parse of res.
func (p *parserChain) filter(ctx context.Context, content *model.Content, res *ParseResult) error {
	for _, f := range p.filters {
		var where []int
		var in []parseFilterItem
		for i := range res.Parses {
			if res.Parses[i].Status.OK() {
				where, in = append(where, i), append(in, f.input(content, &res.Parses[i]))
			}
		}
		out, errs, err := f.col.do(ctx, in)
		if err != nil {
			return err
		}
		for k, i := range where {
			if errs != nil && errs[k] != nil {
				// A document that a filter can't look at is not shown as if it had.
				res.Parser, res.Parses, res.Members, res.Err = f.m.id, nil, nil, named(f.m.id, errs[k])
				return nil //nolint:nilerr // the document's error is its outcome, in res.Err
			}
			applyParsePatch(&res.Parses[i], out[k])
		}
	}
	return nil
}

// input cuts a parse to what the filter declared.
func (f filterEntry) input(content *model.Content, parse *model.Parse) parseFilterItem {
	in := &parsefilter.Input{Parse: *parse}
	in.Parse.Facts = nil
	if len(parse.Facts) > 0 {
		for _, i := range f.facts {
			var r model.FactResult
			if i < len(parse.Facts) {
				r = parse.Facts[i]
			}
			in.Parse.Facts = append(in.Parse.Facts, r)
		}
	}
	if f.m.man.Needs.Content {
		in.Content = content
	}
	return in
}

func applyParsePatch(p *model.Parse, patch *parsefilter.Patch) {
	if patch == nil {
		return
	}
	if len(patch.SetMeta)+len(patch.AddMeta) > 0 {
		meta := p.ParseMeta.Clone()
		if meta == nil {
			meta = model.Metadata{}
		}
		for k, v := range patch.SetMeta {
			meta[k] = v
		}
		for k, v := range patch.AddMeta {
			meta[k] = append(meta[k], v...)
		}
		p.ParseMeta = meta
	}
	if patch.Title != nil {
		p.Title = *patch.Title
	}
	if patch.Text != nil {
		p.Text = *patch.Text
	}
	if patch.ReplaceLinks {
		p.Outlinks = patch.Outlinks
	}
	if patch.Fail != "" {
		p.Status = model.ParseStatus{Major: model.ParseFailed, Minor: model.ParseFailedException, Message: patch.Fail}
	}
}

func sizeContent(c *model.Content) int {
	n := 128 + len(c.URL) + len(c.Base) + len(c.Body)
	return n + sizeMeta(c.Headers)
}

func sizeMeta(m model.Metadata) int {
	n := 0
	for k, vs := range m {
		n += len(k) + 4
		for _, v := range vs {
			n += len(v) + 2
		}
	}
	return n
}

func sizeParse(p *model.Parse) int {
	n := 128 + len(p.URL) + len(p.Title) + len(p.Text) + sizeMeta(p.ContentMeta) + sizeMeta(p.ParseMeta)
	for i := range p.Outlinks {
		l := &p.Outlinks[i]
		n += 16 + len(l.URL) + len(l.Anchor) + sizeMeta(l.Metadata)
	}
	for _, f := range p.Facts {
		for _, v := range f.Values {
			n += len(v) + 4
		}
	}
	return n
}
