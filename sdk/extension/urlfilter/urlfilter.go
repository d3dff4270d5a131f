// Package urlfilter is the URLFilter extension point: accept or reject a URL.
//
// Filters run in chain order after the normalizers; the first rejection ends
// the chain (logical AND). On the wire a call carries about 500 URLs.
package urlfilter

import "context"

// Verdict is the outcome for one URL. Reason names the rule that decided, such
// as "regex-urlfilter.txt:12: -\.gif$"; it may be empty on acceptance.
type Verdict struct {
	Accept bool
	Reason string
}

// Filter judges URLs. Implementations are safe for concurrent use and
// deterministic: the core caches answers.
type Filter interface {
	// FilterURL judges one normalized URL.
	FilterURL(ctx context.Context, url string) (Verdict, error)
}
