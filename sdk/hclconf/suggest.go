package hclconf

import (
	"sort"
	"strings"

	"github.com/agext/levenshtein"
)

// Suggest returns the member of known that word most likely means, or "".
func Suggest(word string, known []string) string {
	names := append([]string(nil), known...)
	sort.Strings(names)
	best, bestDist := "", 1+min(4, len(word)/3)
	for _, k := range names {
		a, b := strings.ToLower(word), strings.ToLower(k)
		d := levenshtein.Distance(plain(a), plain(b), nil)
		if a != b && plain(a) == plain(b) {
			d = 0
		}
		if d < bestDist {
			best, bestDist = k, d
		}
	}
	if best != "" {
		return best
	}
	return sameWords(word, names)
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
		if strings.Contains(p, w) || len(p) >= 4 && strings.Contains(w, p) {
			if found != "" {
				return ""
			}
			found = k
		}
	}
	return found
}
