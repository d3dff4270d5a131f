package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// number writes n with thousands separators.
func number[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// size writes n bytes with a unit.
func size(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, units := float64(n)/1024, "KMGTPE"
	for f >= 1023.95 && len(units) > 1 {
		f, units = f/1024, units[1:]
	}
	return fmt.Sprintf("%.1f %ciB", f, units[0])
}

// perSecond writes a rate with as many digits as matter.
func perSecond(f float64) string {
	if f < 9.95 {
		return fmt.Sprintf("%.1f/s", f)
	}
	return number(int64(f+0.5)) + "/s"
}

// clock writes d as h:mm:ss.
func clock(d time.Duration) string {
	s := int64(max(d, 0).Round(time.Second) / time.Second)
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// span writes a duration for reading: two units at most.
func span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Millisecond:
		return "0s"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute-50*time.Millisecond:
		return d.Round(100 * time.Millisecond).String()
	}
	for _, u := range []struct {
		unit, below       time.Duration
		name, nameOfBelow string
	}{{24 * time.Hour, time.Hour, "d", "h"}, {time.Hour, time.Minute, "h", "m"}, {time.Minute, time.Second, "m", "s"}} {
		r := d.Round(u.below)
		if r < u.unit {
			continue
		}
		text := strconv.FormatInt(int64(r/u.unit), 10) + u.name
		if rest := r % u.unit / u.below; rest > 0 {
			text += " " + strconv.FormatInt(int64(rest), 10) + u.nameOfBelow
		}
		return text
	}
	return "1m" // less, but nearer to it than to anything that is shown
}

// moment writes a time in UTC; "?" when it is not known, as Nutch does.
func moment(t time.Time) string {
	if t.IsZero() {
		return "?"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// due writes when something is, seen from now.
func due(t, now time.Time) string {
	if !t.After(now) {
		return "now"
	}
	return "in " + span(t.Sub(now)) + " (" + moment(t) + ")"
}

// plural writes n and what, with an s when there are several.
func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return number(n) + " " + what + "s"
}

// total is the sum of all counts.
func total(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

// largest returns the names by their counts, the largest first, zeros left out.
func largest(m map[string]int64) []string {
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	return slices.DeleteFunc(names, func(n string) bool { return m[n] == 0 })
}

// counts writes "http_404 20, network 10", the largest first; after limit names
// it says how many others there are.
func counts(m map[string]int64, limit int) string {
	var b strings.Builder
	names := largest(m)
	for i, name := range names {
		if i == limit && len(names) > limit+1 {
			var rest int64
			for _, n := range names[i:] {
				rest += m[n]
			}
			fmt.Fprintf(&b, ", %d others %s", len(names)-i, number(rest))
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(printable(name) + " " + number(m[name]))
	}
	return b.String()
}

// printable takes out of a text from a stranger what would disturb a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r) && r != ' ':
			return -1
		}
		return r
	}, s)
}

// printableLines is printable for texts of several lines.
func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// cut shortens s to n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:max(n-1, 0)]) + "…"
}
