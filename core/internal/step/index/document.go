package index

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
)

// build makes documents and decides where they go.
func (x *Indexer) build(ctx context.Context, fates []*fate) error {
	if err := x.documents(ctx, fates); err != nil {
		return err
	}
	return x.route(ctx, fates)
}

// documents makes documents and runs them through the indexing filters.
func (x *Indexer) documents(ctx context.Context, fates []*fate) error {
	if len(fates) == 0 {
		return nil
	}
	in := make([]*indexingfilter.Input, len(fates))
	boosts := make([]scoring.IndexInput, len(fates))
	for i, f := range fates {
		var err error
		if in[i], err = x.input(f); err != nil {
			return err
		}
		boosts[i] = scoring.IndexInput{URL: f.url, Score: f.rec.Datum.Score, Fields: f.rec.Datum.Fields, ParseMeta: f.parsed.ParseMeta, Boost: 1}
	}
	weights, werrs, err := x.Plugins.Boost(ctx, boosts)
	if err != nil {
		return err
	}
	for i := range in {
		weight := 1.0
		if werrs == nil || werrs[i] == nil {
			weight = weights[i]
		}
		SetBoost(&in[i].Doc, weight)
	}
	out, err := x.Plugins.FilterDocuments(ctx, in)
	if err != nil {
		return err
	}
	for i, f := range fates {
		switch r := out[i]; {
		case r.Err != nil:
			f.skip = "plugin error: " + r.Plugin
			x.Log.Warn("document could not be made", "url", f.url, "error", r.Err)
			if x.Failed != nil {
				x.Failed(f.url, r.Err)
			}
		case r.Dropped != "":
			f.del, f.skip = x.cfg.DeleteSkipped, r.Plugin
		default:
			f.doc = r.Doc
		}
	}
	return nil
}

// route asks the exchanges where each document goes.
func (x *Indexer) route(ctx context.Context, fates []*fate) error {
	var docs []*model.Document
	var of []*fate
	for _, f := range fates {
		if f.doc != nil {
			docs, of = append(docs, f.doc), append(of, f)
		}
	}
	routes, err := x.Plugins.Route(ctx, docs)
	if err != nil {
		return err
	}
	for i, f := range of {
		if err := routes[i].Err; err != nil {
			x.Log.Warn("an exchange failed on a document", "url", f.url, "error", err)
			if x.Failed != nil {
				x.Failed(f.url, err)
			}
			f.doc, f.skip, f.marked = nil, "exchange error", true // as an expression will be mended
			continue
		}
		f.to = slices.Clone(routes[i].Writers)
		if routes[i].Default && len(f.to) == 0 && !x.Routed {
			for _, t := range x.Targets {
				f.to = append(f.to, t.Writer.Name())
			}
		}
		if len(f.to) == 0 {
			if x.cfg.UnroutedError {
				return fmt.Errorf("%w: %s; add an exchange with default = true, or set indexer { unrouted = \"skip\" }", errUnrouted, f.url)
			}
			f.doc, f.skip, f.del = nil, "no exchange takes it", true
		}
	}
	return nil
}

// errUnrouted says that a document goes nowhere and that this is to be an error.
var errUnrouted = errors.New("no exchange takes the document")

func (x *Indexer) input(f *fate) (*indexingfilter.Input, error) {
	in := Input(f.id, &f.rec.Datum, f.fetch, f.parsed)
	in.Parse.URL = f.url
	var err error
	if x.needs.Inlinks {
		if in.Inlinks, err = x.Links.Inlinks(f.key, 0); err != nil {
			return nil, err
		}
	}
	if x.needs.Content {
		in.Content, err = x.Segs.Content(f.rec.Datum.Segment, f.fetch)
		if errors.Is(err, segment.ErrNoContent) {
			err = nil
		}
	}
	return in, err
}

// Input is what the indexing filters get of a page: the document as it begins,
// and what it is made of. Inlinks, Content and the boost are the caller's to add.
func Input(url string, d *model.CrawlDatum, f *segment.Fetch, p *segment.Parsed) *indexingfilter.Input {
	in := &indexingfilter.Input{
		URL: url, Datum: *d, Headers: f.Headers, Segment: d.Segment,
		Doc: model.Document{ID: url, Fields: map[string][]string{
			"id": {url}, "segment": {d.Segment}, "digest": {hex.EncodeToString(d.Signature)},
		}},
		Parse: model.Parse{
			URL: url, Status: p.Status, Title: p.Title, Text: p.Text, Robots: p.Robots, Canonical: p.Canonical,
			Charset: p.Charset, Language: p.Language, ContentMeta: p.ContentMeta, ParseMeta: p.ParseMeta,
		},
	}
	for _, l := range p.Outlinks {
		in.Parse.Outlinks = append(in.Parse.Outlinks, model.Outlink{URL: l.URL, Anchor: l.Anchor, Tag: l.Tag, Metadata: l.Metadata})
	}
	return in
}

// SetBoost sets the weight of a document and the field that shows it.
func SetBoost(doc *model.Document, weight float64) {
	doc.Boost = weight
	doc.Fields["boost"] = []string{strconv.FormatFloat(weight, 'g', 6, 64)}
}
