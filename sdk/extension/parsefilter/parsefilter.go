// Package parsefilter is the ParseFilter extension point (Nutch's
// HtmlParseFilter): enrich or veto the parse of a document.
//
// Filters run in chain order after a parser succeeded; each sees the parse as
// the ones before left it. A filter gets the facts its manifest declares, and
// page bytes only if its manifest needs "content".
package parsefilter

import (
	"context"

	"github.com/gonutch/crawler/sdk/model"
)

// Input is one parse to look at. Parse.Facts holds the results of the facts
// this filter's manifest declares, in that order.
type Input struct {
	Parse   model.Parse
	Content *model.Content // nil unless the manifest needs "content"
}

// Patch is what a filter changes. Zero fields change nothing.
type Patch struct {
	SetMeta      model.Metadata  // parse metadata to replace, key by key
	AddMeta      model.Metadata  // parse metadata to append
	Title        *string         // new title
	Text         *string         // new text
	Outlinks     []model.Outlink // replaces all outlinks when ReplaceLinks
	ReplaceLinks bool
	Fail         string // not empty: the parse failed for this reason
}

// Filter enriches parses. Implementations are safe for concurrent use.
type Filter interface {
	// FilterParse returns the changes for one parse; nil changes nothing.
	FilterParse(ctx context.Context, in *Input) (*Patch, error)
}
