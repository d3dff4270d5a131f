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
// parses of what it contains (feed entries), if any.
//
// A parse after the first becomes a document of its own. Its URL is either
// the document's followed by "#" and a name, and then it lives and goes with
// the document; or that of another page of the same registered domain, which it
// stands for until that page is fetched. The core judges the latter as it does
// links, and takes the outlinks of all parses as the document's.
//
// Members are documents inside the document (files of an archive) that are not
// parsed yet: the core picks a type and a parser for each, as if it had been
// fetched. A member needs URL (the document's, "#" and a name), Body and maybe
// ContentType. What becomes of their texts is the user's setting parser.members.
type Output struct {
	Parses  []model.Parse // at least one; a failed parse has a failed Status
	Members []model.Content
}

// Parser parses documents of the MIME types its manifest names.
// Implementations are safe for concurrent use.
type Parser interface {
	// Parse handles one document. A document that can't be parsed is an Output
	// with a failed status; an error means the plugin could not work.
	// Content.Body is read only and valid until Parse returns.
	Parse(ctx context.Context, in *Input) (*Output, error)
}
