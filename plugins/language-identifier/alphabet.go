package languageidentifier

import (
	"strings"
	"unicode"

	"github.com/RadhiFadlillah/whatlanggo"
)

// alphabetOf returns the letters of a Slavic language in Cyrillic script, "" for other
// languages. In short texts trigrams alone mix these up, their letters don't.
func alphabetOf(l whatlanggo.Lang) string {
	switch l {
	case whatlanggo.Bel:
		return "абвгдеёжзійклмнопрстуўфхцчшыьэюя"
	case whatlanggo.Bul:
		return "абвгдежзийклмнопрстуфхцчшщъьюяѝ"
	case whatlanggo.Mkd:
		return "абвгдѓежзѕијклљмнњопрстќуфхцчџшѝѐ"
	case whatlanggo.Rus:
		return "абвгдеёжзийклмнопрстуфхцчшщъыьэюя"
	case whatlanggo.Srp:
		return "абвгдђежзијклљмнњопрстћуфхцчџш"
	case whatlanggo.Ukr:
		return "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя"
	}
	return ""
}

// foreignShare is how many letters of a text make one that the language has not stand
// for another language, not for a foreign name.
const foreignShare = 100

// spelled returns the options without the languages that text can't be written in; false
// when all of those it may be can write it.
func (f *Filter) spelled(text string) (whatlanggo.Options, bool) {
	counts := map[rune]int{}
	letters := 0
	for _, r := range text {
		if r = unicode.ToLower(r); unicode.Is(unicode.Cyrillic, r) {
			counts[r]++
			letters++
		}
	}
	o := whatlanggo.Options{Whitelist: map[whatlanggo.Lang]bool{}}
	out := 0
	for l := range whatlanggo.Langs {
		if f.options.Whitelist != nil && !f.options.Whitelist[l] {
			continue
		}
		foreign := 0
		if alphabet := alphabetOf(l); alphabet != "" {
			for r, n := range counts {
				if !strings.ContainsRune(alphabet, r) {
					foreign += n
				}
			}
		}
		if foreign*foreignShare > letters {
			out++
			continue
		}
		o.Whitelist[l] = true
	}
	return o, out > 0 && len(o.Whitelist) > 0
}
