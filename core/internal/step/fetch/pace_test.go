package fetch

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gonutch/crawler/sdk/extension/protocol"
)

// TestBandwidth: pages bring no more than bandwidth_target a second on average;
// what is still queued waits, and the end of the round does not.
func TestBandwidth(t *testing.T) {
	for rate, want := range map[int64]time.Duration{-1: 0, 1000: 9 * time.Second, 500: 18 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			cfg := testConfig()
			cfg.Bandwidth, cfg.Threads = rate, 1
			script := map[string]func(int) *protocol.Response{}
			var items []Item
			for i := range 10 { // each a host, so that nothing else keeps them apart
				u := fmt.Sprintf("http://h%d/", i)
				items = append(items, item(u))
				script[u] = always(200, strings.Repeat("x", 1000))
			}
			b := newBench(cfg, script)
			start := time.Now()
			if err := b.eng.Add(t.Context(), items...); err != nil {
				t.Fatal(err)
			}
			b.eng.Close()
			if err := b.eng.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			took := time.Since(start)
			if took < want || took > want+5*time.Second || len(b.results(t)) != 10 {
				t.Errorf("%d bytes/s: 10 pages of 1000 bytes took %s, want about %s", rate, took, want)
			}
		})
	}
}
