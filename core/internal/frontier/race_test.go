package frontier

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// Workers that share a frontier get every item exactly once, whatever else goes on.
func TestConcurrentUse(t *testing.T) {
	f := build(func(c *Config) { c.Delay, c.MinCrawlDelay = 0, 0 })
	const hosts, pages, workers = 20, 50, 6
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for h := w; h < hosts; h += workers {
				for p := range pages {
					f.Add(t0, item(fmt.Sprintf("h%d", h), fmt.Sprint(p)))
				}
			}
			for {
				it, ok, wait := f.Next(t0)
				if !ok && wait == 0 {
					return
				}
				if !ok {
					continue // all slots taken by other workers
				}
				mu.Lock()
				seen[it.URL]++
				mu.Unlock()
				f.Counts(t0)
				f.Busiest(3, t0)
				f.Hold(it.Queue, t0.Add(-time.Second), "past", t0)
				f.SetDelay(it.Queue, 0, t0)
				f.Done(it, t0, Answered)
			}
		})
	}
	wg.Wait()
	if back := f.ReleaseAll(time.Time{}, t0); len(seen)+len(back) != hosts*pages {
		t.Errorf("%d items seen, %d left, want %d", len(seen), len(back), hosts*pages)
	}
	for u, n := range seen {
		if n != 1 {
			t.Errorf("%s given %d times", u, n)
		}
	}
}
