// Package indexwriter is the IndexWriter extension point: send documents to an
// index.
//
// A plugin serves any number of configured instances, each opened once with
// its parameters. The core sends batches in order, one batch at a time for each
// instance, and calls Commit at the end of a step and after index.commit_size
// documents. Delivery is at least once: writing or deleting the same document
// again must leave the index as it was.
package indexwriter

import (
	"context"

	"github.com/gonutch/crawler/sdk/model"
)

// OpKind says what is to be done with a document.
type OpKind uint8

// The kinds of operations. Add replaces a document of the same ID.
const (
	Add OpKind = iota
	Delete
)

// Op is one operation. Doc.ID is set for every kind, the rest for Add.
type Op struct {
	Kind OpKind
	Doc  model.Document
}

// Result is the outcome of one operation: "" when accepted, else the index's
// reason for refusing it for good. Transient trouble is an error of Write.
type Result struct {
	Rejected string
}

// Params are the parameters of one configured instance, those of the manifest's
// parameters that were left out with their defaults.
type Params map[string]string

// Writer writes to an index. Implementations are safe for concurrent use by
// different instances.
type Writer interface {
	// Open prepares instance and reports a parameter that can't be used or an
	// index that can't be reached.
	Open(ctx context.Context, instance string, params Params) error
	// Write performs ops in order. An error of kind Transient leaves all of them
	// undone or repeatable; the core sends them again.
	Write(ctx context.Context, instance string, ops []Op) ([]Result, error)
	// Commit makes everything written so far durable and visible.
	Commit(ctx context.Context, instance string) error
	// Close releases instance; safe to call twice.
	Close(ctx context.Context, instance string) error
}
