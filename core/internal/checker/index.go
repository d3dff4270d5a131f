package checker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/step/index"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
)

// Document is what would be indexed of a page.
type Document struct {
	Page
	Doc     *model.Document // nil when there is none
	Dropped string          // why it is not to be indexed
	Plugin  string          // who dropped it or failed; "" for the page itself
	Failed  bool            // Dropped is a plugin's failure
}

// Index fetches and parses a URL and makes its document: outlinks judged,
// scores and indexing filters as in a crawl, but without inlinks. What goes
// wrong with the page is part of the answer; the error is not nil only when no
// page can be looked at any more.
func (k *Checker) Index(ctx context.Context, url string) (*Document, error) {
	p, err := k.get(ctx, url)
	if err != nil {
		return nil, err
	}
	d := &Document{Page: *p}
	if p.content == nil {
		return d, nil
	}
	if d.Parsed, err = k.parser.Parse(ctx, p.content); err != nil || !d.OK() {
		return d, err
	}
	if d.Parsed.Robots.NoIndex && k.index.DeleteNoIndex {
		d.Dropped = "the page asks not to be indexed (robots noindex)"
		return d, nil
	}
	in, err := k.input(ctx, d)
	if err != nil {
		return d, err
	}
	out, err := k.crawl.Chains.FilterDocuments(ctx, []*indexingfilter.Input{in})
	if err != nil {
		return d, err
	}
	r := out[0]
	d.Doc, d.Dropped, d.Plugin = r.Doc, r.Dropped, r.Plugin
	if r.Err != nil {
		d.Dropped, d.Failed = r.Err.Error(), true
	}
	return d, nil
}

func (k *Checker) input(ctx context.Context, d *Document) (*indexingfilter.Input, error) {
	datum, err := k.record(ctx, &d.Page, time.Now())
	if err != nil {
		return nil, err
	}
	f := d.Fetch
	in := index.Input(f.URL, datum, f, d.Parsed)
	delete(in.Doc.Fields, "segment") // there is none
	if k.crawl.Chains.Needs().Content {
		in.Content = d.content
	}
	weights, errs, err := k.crawl.Chains.Boost(ctx, []scoring.IndexInput{{
		URL: f.URL, Score: datum.Score, Fields: datum.Fields, ParseMeta: d.Parsed.ParseMeta, Boost: 1,
	}})
	if err != nil {
		return nil, err
	}
	weight := 1.0
	if errs == nil || errs[0] == nil {
		weight = weights[0]
	}
	index.SetBoost(&in.Doc, weight)
	return in, nil
}

// injected are the first score fields of a seed.
func (k *Checker) injected(ctx context.Context, url string) (model.Fields, error) {
	fields, _, err := k.crawl.Chains.Injected(ctx, []scoring.InjectInput{{URL: url, Score: k.update.Rules.InjectedScore, Metadata: k.opts.Metadata}})
	if err != nil {
		return nil, err
	}
	return fields[0], nil
}

// OpenWriters makes Send possible. Without a configured writer it is
// index.ErrNoWriter.
func (k *Checker) OpenWriters(ctx context.Context) error {
	if len(k.crawl.Instances) == 0 {
		return index.ErrNoWriter
	}
	writers, err := k.crawl.OpenWriters(ctx, k.crawl.WriterConfigs())
	if err != nil {
		return err
	}
	for i, w := range writers {
		in := k.crawl.Instances[i]
		k.targets = append(k.targets, index.Target{Writer: w, Copy: in.Copy, Rename: in.Rename, Remove: in.Remove})
	}
	return nil
}

// Send writes a document to the writers that the exchanges choose, and returns
// their names. A refusal is an error. Commit makes it last.
func (k *Checker) Send(ctx context.Context, doc *model.Document) ([]string, error) {
	routes, err := k.crawl.Chains.Route(ctx, []*model.Document{doc})
	if err != nil {
		return nil, err
	}
	r := routes[0]
	all := r.Default && len(r.Writers) == 0 && !k.crawl.Chains.Routed()
	var to []string
	errs := []error{r.Err}
	for i := range k.targets {
		t := &k.targets[i]
		name := t.Writer.Name()
		if !all && !slices.Contains(r.Writers, name) {
			continue
		}
		res, err := t.Writer.Write(ctx, []indexwriter.Op{{Kind: indexwriter.Add, Doc: t.Mapped(*doc)}})
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("writer %s: %w", name, err))
		case res[0].Rejected != "":
			errs = append(errs, fmt.Errorf("writer %s refuses the document: %s", name, res[0].Rejected))
		default:
			to = append(to, name)
		}
	}
	if len(to) == 0 && errors.Join(errs...) == nil {
		errs = append(errs, errors.New("no exchange takes the document, and none has default = true"))
	}
	return to, errors.Join(errs...)
}

// Commit makes everything sent durable.
func (k *Checker) Commit(ctx context.Context) error {
	var errs []error
	for _, t := range k.targets {
		if err := t.Writer.Commit(ctx); err != nil {
			var lost *chain.LostWritesError
			if errors.As(err, &lost) {
				err = fmt.Errorf("send the documents again: %w", err)
			}
			errs = append(errs, fmt.Errorf("writer %s: %w", t.Writer.Name(), err))
		}
	}
	return errors.Join(errs...)
}
