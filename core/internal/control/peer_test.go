package control

import (
	"testing"

	"github.com/gonutch/crawler/sdk/fault"
)

func TestAllowed(t *testing.T) {
	for _, c := range []struct {
		peer, self int
		ok         bool
	}{{1000, 1000, true}, {0, 1000, true}, {1001, 1000, false}, {1000, 0, false}} {
		err := allowed(c.peer, c.self)
		if (err == nil) != c.ok || err != nil && !fault.Is(err, fault.Denied) {
			t.Errorf("user %d asks %d's crawl: %v", c.peer, c.self, err)
		}
	}
}
