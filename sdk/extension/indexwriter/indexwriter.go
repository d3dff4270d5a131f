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

// Result is the outcome of one operation: Rejected is "" when it was accepted,
// else the index's reason for refusing it. It refused for good, and the core
// lists the document and does not send it again until it changes, unless Later
// says that the reason will pass: then the core keeps the operation and sends it
// in a later step, without holding up the other documents. Trouble with the whole
// batch is an error of Write.
type Result struct {
	Rejected string
	Later    bool
}

// Params are the parameters of one configured instance, those of the manifest's
// parameters that were left out with their defaults.
type Params map[string]string

// Writer writes to an index. Implementations are safe for concurrent use by
// different instances.
type Writer interface {
	// Open prepares instance. A parameter that can't be used is an error of kind
	// Invalid (fault.Param names it), and no command starts with it; an index that can't be reached now
	// one of kind Transient: the core keeps what is to be written and opens the
	// instance again later.
	Open(ctx context.Context, instance string, params Params) error
	// Write performs ops in order. An error of kind Transient leaves all of them
	// undone or repeatable; the core sends them again. A writer waits for its index no
	// longer than ctx allows: one that does not answer when its time is over counts as
	// hung, its process is replaced and its documents are suspects. So ctx of a plugin
	// that uses this SDK ends when seven eighths of that time are over; its error is
	// passed on as Transient.
	Write(ctx context.Context, instance string, ops []Op) ([]Result, error)
	// Commit makes everything written so far durable and visible.
	Commit(ctx context.Context, instance string) error
	// Close releases instance; safe to call twice.
	Close(ctx context.Context, instance string) error
}

// Validator is implemented by writers that can tell whether parameters can be used without
// reaching for the index. "crawler config check" asks, before any instance is opened. A
// parameter that can't be used is an error of kind Invalid, best made by fault.Param, so that
// the line of the configuration is shown; nothing else is an error. Open makes the same checks.
type Validator interface {
	Validate(ctx context.Context, instance string, params Params) error
}

// Describer is implemented by writers that can say more about an opened instance
// than whether Open failed. The core asks when somebody wants to know
// ("crawler index --check"), never while it writes.
type Describer interface {
	// Describe says what instance writes to. Sample are documents of the crawl as
	// they would be written, mapping done; there may be none. The writer compares
	// them with what the index expects of their fields, and changes nothing. An
	// error says that the index can't be asked.
	Describe(ctx context.Context, instance string, sample []model.Document) (*Description, error)
}

// Description is what a writer says about an opened instance.
type Description struct {
	Server   string   `json:"server,omitempty"`   // where documents go: an address or a file, without secrets
	Version  string   `json:"version,omitempty"`  // of what answers there, with its name: "Apache Solr 9.7.0"
	Facts    []Fact   `json:"facts,omitempty"`    // anything else an operator may want to see
	Problems []string `json:"problems,omitempty"` // what would go wrong, each with what to do about it
}

// Fact is a named value.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
