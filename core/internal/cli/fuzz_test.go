package cli

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzTerminal: nothing that a page's author writes reaches the terminal as
// anything but plain text.
func FuzzTerminal(f *testing.F) {
	for _, s := range []string{"plain", "\x01match\x02", "\x01\x01a", "a\x1b]0;title\x07", "\u009b31m", "\xff\xfe", "\u202ertl", "\x02\x01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, out := range map[string]string{"printable": printable(s), "highlight": highlight(s, false), "one part": fit([]string{printable(s), "x"}, " ", 20)} {
			if !utf8.ValidString(out) || strings.ContainsFunc(out, func(r rune) bool { return !unicode.IsPrint(r) && r != ' ' }) {
				t.Errorf("%s: %q becomes %q", name, s, out)
			}
		}
		bold := highlight(s, true)
		if on, off := strings.Count(bold, "\x1b[1m"), strings.Count(bold, "\x1b[0m"); on != off {
			t.Errorf("%q: bold %d times on, %d times off", s, on, off)
		}
		if plain := strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(bold); plain != highlight(s, false) {
			t.Errorf("%q: %q in bold, %q not", s, plain, highlight(s, false))
		}
		if n := utf8.RuneCountInString(fit([]string{s, s}, "  ", 10)); n > 10 {
			t.Errorf("%q: %d columns", s, n)
		}
	})
}
