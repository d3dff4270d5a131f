package libtest

import (
	"testing"

	"github.com/gonutch/crawler/sdk/extension/protocol"
)

// Fetch returns what came of a request; that p has an error instead of an outcome ends the test.
func Fetch(t testing.TB, p protocol.Protocol, req *protocol.Request) *protocol.Response {
	t.Helper()
	r, err := p.Fetch(t.Context(), req)
	if err != nil {
		t.Fatalf("fetch %s: %v", req.URL, err)
	}
	return r
}

// Get is Fetch of a URL and nothing else.
func Get(t testing.TB, p protocol.Protocol, url string) *protocol.Response {
	t.Helper()
	return Fetch(t, p, &protocol.Request{URL: url})
}
