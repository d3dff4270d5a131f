package model

import (
	"fmt"
	"strings"
)

// ParseSelector reads a CSS selector as settings write it. A pseudo-element at
// its end says what a match yields: "::text" (or none) its text, "::html" its
// outer HTML, "::attr(name)" an attribute. Whether the selector itself is
// sound is not checked.
func ParseSelector(s string) (Fact, error) {
	sel, what, _ := cutLast(strings.TrimSpace(s), "::")
	f := Fact{Kind: FactSelector, Arg: strings.TrimSpace(sel)}
	switch name, isAttr := strings.CutPrefix(what, "attr("); {
	case f.Arg == "":
		return Fact{}, fmt.Errorf("selector %q selects nothing", s)
	case what == "" || what == "text":
	case what == "html":
		f.Attr = "html"
	case isAttr && strings.HasSuffix(name, ")"):
		f.Attr = strings.ToLower(strings.Trim(strings.TrimSuffix(name, ")"), ` "'`))
		if f.Attr == "" || f.Attr == "html" || strings.ContainsAny(f.Attr, " \t\n\"'<>/=") {
			return Fact{}, fmt.Errorf("selector %q: %q can't be read as an attribute", s, f.Attr)
		}
	default:
		return Fact{}, fmt.Errorf("selector %q ends in ::%s; write ::text, ::html or ::attr(name)", s, what)
	}
	return f, nil
}

// cutLast cuts s around its last sep that is not inside brackets or quotes.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 || strings.ContainsAny(s[i:], `]`) || strings.Count(s[:i], "[") != strings.Count(s[:i], "]") {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
