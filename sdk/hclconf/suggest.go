package hclconf

import (
	"sort"
	"strings"
)

// Suggest returns the member of known that word most likely means, or "": the
// one that the fewest slips lead to, of several the one that begins like word the
// longest.
func Suggest(word string, known []string) string {
	names := append([]string(nil), known...)
	sort.Strings(names)
	best, bestDist, bestStart := "", 1+min(4, len(word)/3), 0
	for _, k := range names {
		a, b := strings.ToLower(word), strings.ToLower(k)
		d := distance(plain(a), plain(b))
		if a != b && plain(a) == plain(b) {
			d = 0
		}
		if n := sameStart(a, b); d < bestDist || best != "" && d == bestDist && n > bestStart {
			best, bestDist, bestStart = k, d, n
		}
	}
	if best != "" {
		return best
	}
	return sameWords(word, names)
}

// sameStart counts the bytes that a and b begin with alike.
func sameStart(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// DidYouMean is Suggest as the end of a sentence: `; did you mean "x"?`, or "".
func DidYouMean(word string, known []string) string {
	if s := Suggest(word, known); s != "" && s != word {
		return `; did you mean "` + s + `"?`
	}
	return ""
}

// plain drops what people confuse between words of a name.
func plain(s string) string { return strings.NewReplacer("_", "", "-", "", ".", "").Replace(s) }

// sameWords finds the only name that holds word or is held by it, such as
// "delay" for "server_delay".
func sameWords(word string, names []string) string {
	found := ""
	w := plain(strings.ToLower(word))
	if len(w) < 4 {
		return ""
	}
	for _, k := range names {
		p := plain(strings.ToLower(k))
		if strings.Contains(p, w) || len(p) >= 4 && 2*len(p) > len(w) && strings.Contains(w, p) {
			if found != "" {
				return ""
			}
			found = k
		}
	}
	return found
}

// maxWord bounds the cost of distance.
const maxWord = 100

// distance counts the letters to add, drop, replace or swap with their
// neighbour to get from a to b (optimal string alignment).
func distance(a, b string) int {
	if len(a) > maxWord || len(b) > maxWord {
		return maxWord
	}
	var before []int
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur := make([]int, len(b)+1)
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev = prev, cur
	}
	return prev[len(b)]
}
