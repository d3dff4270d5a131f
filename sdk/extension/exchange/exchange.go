// Package exchange is the Exchange extension point: decide whether a document
// goes to the writers an exchange lists.
//
// Every configured exchange is asked for every document; the document goes to
// the writers of all that match. Deletes follow the route their document took.
package exchange

import (
	"context"

	"github.com/gonutch/crawler/sdk/model"
)

// Params are the parameters of one configured exchange, those of the manifest's
// parameters that were left out with their defaults.
type Params map[string]string

// Exchange matches documents. Implementations are safe for concurrent use.
type Exchange interface {
	// Open prepares the configured exchange called instance and reports a
	// parameter that can't be used. It comes before any Match of the instance;
	// opening again replaces it.
	Open(ctx context.Context, instance string, params Params) error
	// Match reports whether doc takes the exchange called instance.
	Match(ctx context.Context, instance string, doc *model.Document) (bool, error)
}
