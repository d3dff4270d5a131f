// Package parser is the Parser extension point: turn a fetched document into
// text, title, outlinks and facts.
//
// The core chooses the parser by MIME type and calls it once for each document
// (on the wire 4 to 16 documents a call, at most about 1 MiB). Trying the
// next parser of the type's list stops at the first success.
package parser

import (
	"context"

	"github.com/gonutch/crawler/sdk/model"
)

// Input is one document and what is wanted of it.
type Input struct {
	Content model.Content
	Facts   []model.Fact // facts that active parse filters declared; usually none
}

// Output is the outcome for one document: the document's own parse first, then
// parses of what it contains (feed entries, archive members), if any.
type Output struct {
	Parses []model.Parse // at least one; a failed parse has a failed Status
}

// Parser parses documents of the MIME types its manifest names.
// Implementations are safe for concurrent use.
type Parser interface {
	// Parse handles one document. A document that can't be parsed is an Output
	// with a failed status; an error means the plugin could not work.
	// Content.Body is read only and valid until Parse returns.
	Parse(ctx context.Context, in *Input) (*Output, error)
}
