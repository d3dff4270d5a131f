package protocols3

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
)

// pagesKey finds the requests that a listing may still make in its context: the client asks
// for page after page by itself, for ever when a service always says that there is more.
type pagesKey struct{}

// errPages is the error of a listing that does not end.
var errPages = errors.New("the listing has more pages than max_entries can fill")

// withPages bounds the requests of a listing of so many entries. Services may return fewer
// than the thousand that are asked for.
func withPages(ctx context.Context, entries int) context.Context {
	left := new(atomic.Int64)
	left.Store(int64(entries)/100 + 10)
	return context.WithValue(ctx, pagesKey{}, left)
}

// bounded is a transport that keeps to that bound.
type bounded struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if left, ok := r.Context().Value(pagesKey{}).(*atomic.Int64); ok && left.Add(-1) < 0 {
		return nil, errPages
	}
	return b.Transport.RoundTrip(r)
}
