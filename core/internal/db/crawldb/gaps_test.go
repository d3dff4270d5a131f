package crawldb

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestGaps: against a set of keys: no gap holds a key, what is added is known, and the
// gaps stay sorted and apart.
func TestGaps(t *testing.T) {
	const space = 300
	key := func(i int) string { return fmt.Sprintf("R%03d", i) }
	rnd := rand.New(rand.NewPCG(1, 2))
	var g gaps
	live := make([]bool, space)
	for step := range 3000 {
		if rnd.IntN(3) > 0 {
			i := rnd.IntN(space)
			live[i] = true
			g.fill([]byte(key(i)))
		} else {
			var found []gap
			for range rnd.IntN(4) {
				lo := rnd.IntN(space)
				hi := min(space, lo+rnd.IntN(20))
				clear(live[lo:hi])
				found = append(found, gap{key(lo), key(hi)})
			}
			want := slices.Clone(found)
			g.add(found)
			for _, w := range want {
				if w.lo < w.hi && string(g.past([]byte(w.lo))) < w.hi {
					t.Fatalf("step %d: %v is not remembered: %v", step, w, g.list)
				}
			}
		}
		for i := 1; i < len(g.list); i++ {
			if g.list[i-1].hi > g.list[i].lo {
				t.Fatalf("step %d: %v", step, g.list)
			}
		}
		for i, is := range live {
			if to := string(g.past([]byte(key(i)))); is && to != key(i) {
				t.Fatalf("step %d: the search for %s, which is there, begins at %s", step, key(i), to)
			}
		}
	}
	var many []gap
	for i := range maxGaps + 1 {
		many = append(many, gap{fmt.Sprintf("R%08d", i), fmt.Sprintf("R%08dx", i)})
	}
	if g.add(many); len(g.list) > maxGaps {
		t.Errorf("%d gaps are remembered", len(g.list))
	}
}
