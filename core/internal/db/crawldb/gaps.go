package crawldb

import (
	"cmp"
	"slices"

	"github.com/gonutch/crawler/core/internal/store"
)

// gap is a stretch of the ready index, lo <= key < hi, that holds nothing.
type gap struct{ lo, hi string }

// maxGaps bounds what is remembered; some 100 bytes each.
const maxGaps = 1 << 15

// gaps remembers where the ready index is known to be empty: between what a scan
// asked for and what it found, and where the URLs of a list were. What was deleted
// stays in the store's tables until they are compacted, and an iterator has to pass
// it; a queue that gives some URLs to list after list would make each one dearer
// than the last. Forgetting a gap costs time only. For use under the writer lock.
type gaps struct{ list []gap } // sorted, apart from each other

// past returns where a search for k may begin: k itself, or the end of the gap that it
// lies in.
func (g *gaps) past(k []byte) []byte {
	if i, in := g.find(k); in {
		return []byte(g.list[i].hi)
	}
	return k
}

// find returns the index of the gap that k lies in.
func (g *gaps) find(k []byte) (int, bool) {
	i, exact := slices.BinarySearchFunc(g.list, k, func(e gap, k []byte) int { return cmp.Compare(e.lo, string(k)) })
	if !exact {
		i--
	}
	return i, i >= 0 && string(k) < g.list[i].hi
}

// fill forgets the gap from k on, because k is there now.
func (g *gaps) fill(k []byte) {
	if i, in := g.find(k); in {
		g.list[i].hi = string(k)
	}
}

// add takes gaps in any order, overlapping or not; found is changed.
func (g *gaps) add(found []gap) {
	if len(found) == 0 {
		return
	}
	slices.SortFunc(found, func(a, b gap) int { return cmp.Compare(a.lo, b.lo) })
	merged := make([]gap, 0, len(g.list)+len(found))
	old := g.list
	for len(old) > 0 || len(found) > 0 {
		var next gap
		if len(found) == 0 || len(old) > 0 && old[0].lo < found[0].lo {
			next, old = old[0], old[1:]
		} else {
			next, found = found[0], found[1:]
		}
		switch n := len(merged) - 1; {
		case next.lo >= next.hi:
		case n >= 0 && next.lo <= merged[n].hi:
			merged[n].hi = max(merged[n].hi, next.hi)
		default:
			merged = append(merged, next)
		}
	}
	if len(merged) > maxGaps {
		merged = nil // begin anew
	}
	g.list = merged
}

// place stores an entry of the ready or wait index.
func (db *DB) place(tx *store.Tx, key, hint []byte) {
	if key[0] == store.PrefixReady {
		db.gaps.fill(key)
	}
	tx.Set(key, hint)
}
