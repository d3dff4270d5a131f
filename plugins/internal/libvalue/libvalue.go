// Package libvalue turns what people write in pages into values an index can
// sort: numbers and dates. It must not know where a text comes from.
package libvalue

import (
	"strconv"
	"strings"
	"time"

	"github.com/itlightning/dateparse"
)

// maxText bounds what is looked at; no number or date is longer.
const maxText = 256

// Number finds the first number in s and returns it in the form of Go and JSON:
// digits, "." before decimals, a leading "-". Spaces, "'" and the separator that
// is not decimal group digits. Decimal is "." or ","; "" decides by the text: of
// two kinds the last is decimal, one that is repeated groups, and a single one
// groups when exactly three digits follow one to three others that are not "0".
func Number(s, decimal string) (string, bool) {
	digits, negative := cutNumber(s)
	if digits == "" {
		return "", false
	}
	if decimal == "" {
		decimal = guessDecimal(digits)
	}
	whole, frac := digits, ""
	if i := strings.LastIndex(digits, decimal); decimal != "" && i >= 0 {
		whole, frac = digits[:i], digits[i+1:]
	}
	whole = strings.TrimLeft(strings.NewReplacer(".", "", ",", "").Replace(whole), "0")
	frac = strings.TrimRight(strings.NewReplacer(".", "", ",", "").Replace(frac), "0")
	if whole == "" {
		whole = "0"
	}
	out := whole
	if frac != "" {
		out += "." + frac
	}
	if negative && out != "0" {
		out = "-" + out
	}
	_, err := strconv.ParseFloat(out, 64) // out of range for a float
	return out, err == nil
}

// cutNumber returns the digits of the first number in s with their "." and ",".
func cutNumber(s string) (digits string, negative bool) {
	if len(s) > maxText {
		s = s[:maxText]
	}
	r := []rune(s)
	start := 0
	for start < len(r) && !isDigit(r[start]) {
		start++
	}
	if start == len(r) {
		return "", false
	}
	if start > 0 && (r[start-1] == '.' || r[start-1] == ',') && (start == 1 || !isLetter(r[start-2])) {
		start-- // ".5"
	}
	negative = start > 0 && (r[start-1] == '-' || r[start-1] == '\u2212') && (start == 1 || !isDigit(r[start-2]) && !isLetter(r[start-2]))
	var b strings.Builder
	for i := start; i < len(r); i++ {
		next := i+1 < len(r) && isDigit(r[i+1])
		switch c := r[i]; {
		case isDigit(c):
			b.WriteRune(c)
		case next && (c == '.' || c == ','):
			b.WriteRune(c)
		case groups(r, i):
		default:
			return b.String(), negative
		}
	}
	return b.String(), negative
}

// groups reports whether the space or apostrophe at i stands before exactly
// three digits.
func groups(r []rune, i int) bool {
	switch r[i] {
	case ' ', '\u00a0', '\u202f', '\u2009', '\'', '\u2019':
	default:
		return false
	}
	n := 0
	for i+1+n < len(r) && isDigit(r[i+1+n]) {
		n++
	}
	return n == 3
}

func isDigit(c rune) bool  { return c >= '0' && c <= '9' }
func isLetter(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func guessDecimal(s string) string {
	dot, comma := strings.Count(s, "."), strings.Count(s, ",")
	switch {
	case dot > 0 && comma > 0:
		if strings.LastIndex(s, ".") > strings.LastIndex(s, ",") {
			return "."
		}
		return ","
	case dot+comma != 1:
		return ""
	}
	i := strings.IndexAny(s, ".,")
	if len(s)-i-1 == 3 && i >= 1 && i <= 3 && s[:i] != "0" {
		return ""
	}
	return s[i : i+1]
}

// Dates says how dates are read.
type Dates struct {
	Layouts  []string // Go layouts, tried first
	DayFirst bool     // 3/4/2026 is the third of April
}

// Date reads a date of any common form. Without a zone it is in UTC. Bare
// numbers count as dates only when a layout reads them, so that a price is none.
func (d Dates) Date(s string) (t time.Time, ok bool) {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" || len(s) > maxText {
		return time.Time{}, false
	}
	for _, l := range d.Layouts {
		if t, err := time.Parse(l, s); err == nil {
			return t.UTC(), plausible(t)
		}
	}
	if strings.Trim(s, "0123456789.,+- ") == "" && strings.Count(s, "-")+strings.Count(s, ".") != 2 {
		return time.Time{}, false
	}
	defer func() {
		if recover() != nil { // the library has had bugs on odd texts; they are not dates
			t, ok = time.Time{}, false
		}
	}()
	t, err := dateparse.ParseIn(s, time.UTC, dateparse.PreferMonthFirst(!d.DayFirst), dateparse.RetryAmbiguousDateWithSwap(true))
	if err != nil {
		return time.Time{}, false
	}
	return t.UTC(), plausible(t)
}

func plausible(t time.Time) bool { return t.Year() > 0 && t.Year() < 10000 }
