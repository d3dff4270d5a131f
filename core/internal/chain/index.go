package chain

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/segmentmerge"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// Indexed is what the indexing filters made of one document.
type Indexed struct {
	Doc     *model.Document // nil when dropped or failed
	Dropped string          // why it is not to be indexed; "" when it is
	Plugin  string          // who dropped it or failed
	Err     error           // a plugin failed on it
}

// FilterDocuments runs the indexing filters in order over each document. The
// filters get of an input what their manifests ask for; so the caller loads
// content, inlinks and outlinks only when Needs says so. Inputs are not
// changed. The results are as many as the inputs, in their order.
func (c *Chains) FilterDocuments(ctx context.Context, in []*indexingfilter.Input) ([]Indexed, error) {
	out := make([]Indexed, len(in))
	for i := range in {
		doc := cloneDocument(&in[i].Doc)
		out[i].Doc = &doc
	}
	for _, e := range c.indexing {
		var where []int
		var items []*indexingfilter.Input
		for i := range in {
			if out[i].Doc != nil && e.shown(&in[i].Parse) {
				where, items = append(where, i), append(items, trimInput(e.m, in[i], out[i].Doc))
			}
		}
		patches, errs, err := e.col.do(ctx, items)
		if err != nil {
			return nil, fmt.Errorf("filter documents: %w", err)
		}
		for k, i := range where {
			switch {
			case errs != nil && errs[k] != nil:
				out[i] = Indexed{Plugin: e.m.id, Err: named(e.m.id, errs[k])}
			case patches[k] == nil:
			case patches[k].Drop != "":
				out[i] = Indexed{Plugin: e.m.id, Dropped: patches[k].Drop}
				e.m.drops.Add(1)
			default:
				applyDocumentPatch(out[i].Doc, patches[k])
			}
		}
	}
	return out, nil
}

type indexEntry struct {
	m   *member
	col *collector[*indexingfilter.Input, *indexingfilter.Patch]
}

// shown reports whether the filter wants documents with such a parse.
func (e *indexEntry) shown(p *model.Parse) bool {
	keyed := false
	for _, pr := range e.m.provides(manifest.IndexingFilter) {
		for _, k := range pr.ParseMeta {
			if keyed = true; len(p.ParseMeta[k]) > 0 {
				return true
			}
		}
	}
	return !keyed
}

func cloneDocument(d *model.Document) model.Document {
	c := model.Document{ID: d.ID, Boost: d.Boost, Fields: make(map[string][]string, len(d.Fields)+8)}
	for k, v := range d.Fields {
		c.Fields[k] = slices.Clip(v)
	}
	return c
}

// trimInput returns what the plugin is to see of in; doc is the document as it
// is now.
func trimInput(m *member, in *indexingfilter.Input, doc *model.Document) *indexingfilter.Input {
	t := *in
	t.Doc = *doc
	t.Doc.Fields = maps.Clone(doc.Fields) // collected batches outlive the next patch
	needs := m.man.Needs
	if !needs.Inlinks {
		t.Inlinks = nil
	}
	if !needs.Content {
		t.Content = nil
	}
	if !needs.Outlinks {
		t.Parse.Outlinks = nil
	}
	return &t
}

// applyDocumentPatch changes d: Remove, then Set, then Add.
func applyDocumentPatch(d *model.Document, p *indexingfilter.Patch) {
	for _, k := range p.Remove {
		delete(d.Fields, k)
	}
	maps.Copy(d.Fields, p.Set)
	for k, v := range p.Add {
		d.Fields[k] = append(slices.Clip(d.Fields[k]), v...)
	}
}

func sizeIndexInput(p **indexingfilter.Input) int {
	in := *p
	n := 256 + len(in.URL) + sizeParse(&in.Parse) + sizeMeta(in.Headers) + sizeMeta(in.Doc.Fields) + sizeMeta(in.Datum.Metadata)
	for i := range in.Inlinks {
		l := &in.Inlinks[i]
		n += 8 + len(l.From) + len(l.Anchor) + sizeMeta(l.Metadata)
	}
	if in.Content != nil {
		n += sizeContent(in.Content)
	}
	return n
}

// KeepRecords asks the segment merge filters; a record stays when all of them
// keep it. Errs is nil or as long as the records: a record that a filter fails
// on stays.
func (c *Chains) KeepRecords(ctx context.Context, in []*segmentmerge.Record) (keep []bool, errs []error, err error) {
	a := answers[*segmentmerge.Record, bool]{out: make([]bool, len(in))}
	for i := range a.out {
		a.out[i] = true
	}
	for _, s := range c.merge {
		out, errs, err := s.run(ctx, in)
		if err != nil {
			return nil, nil, fmt.Errorf("filter merged records: %w", err)
		}
		for i := range in {
			if errs != nil && errs[i] != nil {
				a.fail(i, named(s.m.id, errs[i]))
				continue
			}
			a.out[i] = a.out[i] && out[i]
		}
	}
	return a.out, a.errs, nil
}
