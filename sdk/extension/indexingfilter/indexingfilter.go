// Package indexingfilter is the IndexingFilter extension point: add, change or
// drop fields of a document before it is sent to the index writers.
//
// Filters run in chain order; each sees the document as the ones before left
// it and answers with a patch. On the wire a call carries a batch of documents.
package indexingfilter

import (
	"context"

	"github.com/gonutch/crawler/sdk/model"
)

// Input is a document and what it was made of. Parse.Outlinks and Inlinks are
// empty unless the manifest needs "outlinks" or "inlinks", Content is nil
// unless it needs "content".
type Input struct {
	URL     string
	Doc     model.Document
	Parse   model.Parse
	Datum   model.CrawlDatum
	Headers model.Metadata // response headers
	Segment string
	Inlinks []model.Inlink
	Content *model.Content
}

// Patch is what a filter changes, applied in the order Remove, Set, Add.
// Drop, when not empty, says why the document is not to be indexed.
type Patch struct {
	Remove []string
	Set    map[string][]string
	Add    map[string][]string
	Drop   string
}

// Filter shapes documents. Implementations are safe for concurrent use.
type Filter interface {
	// FilterDocument returns the changes for one document; nil changes nothing.
	FilterDocument(ctx context.Context, in *Input) (*Patch, error)
}
