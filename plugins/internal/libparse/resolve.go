package libparse

import (
	"net/url"
	"strings"
)

// Resolve makes a reference absolute against base. It reports false for what
// can't be fetched: no hierarchical URL, a scheme that names code or mail, a
// place in the document. References without a scheme that start with "www."
// are hosts, as office programs take them.
func Resolve(base, ref string) (string, bool) {
	ref = strings.Map(func(c rune) rune {
		if c == '\t' || c == '\n' || c == '\r' {
			return -1
		}
		return c
	}, strings.TrimSpace(ref))
	switch {
	case ref == "" || ref[0] == '#' || strings.ContainsAny(ref, "\x00"):
		return "", false
	case len(ref) > 4 && strings.EqualFold(ref[:4], "www."):
		ref = "http://" + ref
	}
	u, err := url.Parse(ref)
	if err != nil {
		return "", false
	}
	if !u.IsAbs() {
		b, err := url.Parse(base)
		if err != nil || !b.IsAbs() || b.Host == "" && b.Scheme != "file" {
			return "", false
		}
		u = b.ResolveReference(u)
	}
	switch u.Scheme {
	case "javascript", "vbscript", "data", "about", "blob", "mailto", "tel":
		return "", false
	}
	if u.Opaque != "" || u.Host == "" && u.Scheme != "file" {
		return "", false
	}
	return u.String(), true
}

func sameDocument(a, b string) bool {
	a, _, _ = strings.Cut(a, "#")
	b, _, _ = strings.Cut(b, "#")
	return a == b
}
