package fetch

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gonutch/crawler/core/internal/urlkey"
)

type fakeResolver struct {
	hosts map[string][]string
	calls atomic.Int64
}

func (f *fakeResolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	f.calls.Add(1)
	var out []netip.Addr
	for _, s := range f.hosts[host] {
		out = append(out, netip.MustParseAddr(s))
	}
	if out == nil {
		return nil, errors.New("no such host")
	}
	return out, nil
}

// TestQueueByIP: hosts on one server share a queue, whatever the order of their
// addresses; hosts without an address and literals stand for themselves.
func TestQueueByIP(t *testing.T) {
	r := &fakeResolver{hosts: map[string][]string{"a.test": {"192.0.2.9", "192.0.2.1"}, "b.test": {"192.0.2.1", "192.0.2.9"}, "c.test": {"192.0.2.5"}}}
	a := newAddresses(r)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	urls := []string{"http://a.test/1", "http://a.test/2", "http://b.test/", "http://c.test/", "http://gone.test/", "http://192.0.2.1/x", "http://[2001:db8::1]/"}
	a.resolve(t.Context(), now, urls)
	queue := func(u string) string { return urlkey.QueueKey(u, urlkey.ByIP, a.of(u)) }
	for _, c := range []struct{ url, want string }{
		{urls[0], "192.0.2.1"}, {urls[2], "192.0.2.1"}, {urls[3], "192.0.2.5"}, {urls[4], "gone.test"}, {urls[5], "192.0.2.1"}, {urls[6], "2001:db8::1"},
	} {
		if got := queue(c.url); got != c.want {
			t.Errorf("%s waits in %q, want %q", c.url, got, c.want)
		}
	}
	if n := r.calls.Load(); n != 4 {
		t.Errorf("%d look-ups for 4 names", n)
	}
	a.resolve(t.Context(), now.Add(time.Minute), urls)
	if n := r.calls.Load(); n != 4 {
		t.Errorf("looked up again after a minute: %d", n)
	}
	a.resolve(t.Context(), now.Add(time.Hour), urls[:1])
	if n := r.calls.Load(); n != 5 {
		t.Errorf("not looked up again after an hour: %d", n)
	}
}
