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

// Exchange matches documents. Implementations are safe for concurrent use.
type Exchange interface {
	// Match reports whether doc takes this exchange. Instance is the name of the
	// configured exchange; params its settings.
	Match(ctx context.Context, instance string, doc *model.Document) (bool, error)
}
