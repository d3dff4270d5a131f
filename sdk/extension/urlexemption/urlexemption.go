// Package urlexemption is the URLExemptionFilter extension point: let an
// external link through although external links are ignored.
//
// Asked only for links that db.ignore_external_links would drop. A link is
// exempt when every active exemption filter says so, and there is at least one.
package urlexemption

import "context"

// Pair is a link to judge.
type Pair struct{ From, To string }

// Filter judges links. Implementations are safe for concurrent use.
type Filter interface {
	// Exempt reports whether the link is let through.
	Exempt(ctx context.Context, p Pair) (bool, error)
}
