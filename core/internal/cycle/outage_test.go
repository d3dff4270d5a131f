package cycle

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// deep is a site of which each round finds one page more.
func deep(n int) (map[string]http.HandlerFunc, map[string]string) {
	pages, titles := map[string]http.HandlerFunc{"/": page("0", "/1")}, map[string]string{"/": "0"}
	for i := 1; i < n; i++ {
		path := fmt.Sprint("/", i)
		pages[path], titles[path] = page(fmt.Sprint(i), fmt.Sprint("/", i+1)), fmt.Sprint(i)
	}
	pages[fmt.Sprint("/", n)] = http.NotFound
	return pages, titles
}

// TestWriterDown: a writer is down for three rounds of a run and back in the fourth. Only the
// first round waits for it; nothing is lost, and nothing is sent twice.
func TestWriterDown(t *testing.T) {
	for name, back := range map[string]bool{"the pause is over in round 4": true, "the run is over before the pause": false} {
		t.Run(name, func(t *testing.T) {
			pages, titles := deep(6)
			x, _ := newTargets(t, pages, "indexer.retries=3", "indexer.retry_delay=1ms", "indexer.down_delay=1h")
			now := time.Now()
			x.cycle.d.health.Now = func() time.Time { return now }
			x.hook.down = true
			asked := map[int]int{}
			var third Report
			r := x.cycle.NewRunner()
			r.OnRound = func(n int, rep Report) {
				x.hook.set(func() {
					asked[n] = x.hook.asked
					if n == 3 {
						third = rep
						x.hook.down = false
						if back {
							now = now.Add(2 * time.Hour)
						}
					}
				})
			}
			rep, err := r.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if asked[1] != 4 || asked[3] != asked[1] {
				t.Errorf("requests by round: %v; want 4 in the first and none in two more", asked)
			}
			if len(third.Down) != 1 || third.Down[0].Writer != "hook" || third.Down[0].Waiting != 3 || third.Waiting["hook"] != 3 || third.IndexedNew != 3 || !strings.Contains(third.Down[0].Error, "503") || third.Down[0].Since.After(now) {
				t.Errorf("after three rounds: %+v", third)
			}
			if back && asked[4] == asked[3] || !back && asked[5] != asked[1] {
				t.Errorf("requests by round: %v", asked)
			}
			x.check("in the end", all(titles))
			if x.hook.sent != len(titles) {
				t.Errorf("%d operations were sent for %d documents", x.hook.sent, len(titles))
			}
			if len(rep.Down)+len(rep.Waiting) != 0 || rep.IndexedNew+rep.IndexedAgain != rep.Indexed || rep.IndexedNew != int64(len(titles)) || rep.IndexedAgain < 3 {
				t.Errorf("%+v", rep)
			}
		})
	}
}

// TestWriterDownWhileWaiting: what a writer lacks is sent while the run waits for URLs.
func TestWriterDownWhileWaiting(t *testing.T) {
	pages, titles := deep(2)
	x, _ := newTargets(t, pages, "indexer.down_delay=100ms", "cycle.wait=-1")
	x.hook.down = true
	r := x.cycle.NewRunner()
	rounds := 0
	r.OnRound = func(int, Report) {
		if rounds++; rounds == len(titles) {
			x.hook.set(func() { x.hook.down = false })
		}
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for len(r.Progress().Report.Down) > 0 || len(r.Progress().Report.Waiting) > 0 || r.Progress().Report.Indexed == 0 || r.Progress().Step != "waiting" {
			select {
			case <-t.Context().Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
		r.Stop()
	}()
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-over
	if d := cmp.Diff(titles, x.titles()["hook"]); d != "" {
		t.Error(d)
	}
}

// TestBacklogAlone: a run that finds nothing to fetch sends what an earlier one could not.
func TestBacklogAlone(t *testing.T) {
	pages, titles := deep(2)
	x, sets := newTargets(t, pages)
	x.hook.down = true
	x.run()
	x.hook.set(func() { x.hook.down = false })
	x.reopen(sets...)
	x.cycle.d.targets = nil
	x.run()
	if d := cmp.Diff(titles, x.titles()["hook"]); d != "" {
		t.Error(d)
	}
}
