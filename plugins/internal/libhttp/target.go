package libhttp

import (
	"fmt"
	"net/url"
	"strings"
)

// ParseURL reads an absolute http or https URL as the web has them: stray
// percent signs, spaces and non-ASCII bytes are percent-encoded instead of
// being errors. The fragment is dropped.
func ParseURL(s string) (*url.URL, error) {
	s, _, _ = strings.Cut(s, "#")
	u, err := url.Parse(s)
	if err != nil {
		u, err = url.Parse(escapeStray(s))
	}
	if err != nil {
		return nil, err
	}
	if u.Host == "" {
		return nil, fmt.Errorf("no host")
	}
	u.RawQuery = escapeBytes(u.RawQuery)
	return u, nil
}

// Resolve returns the absolute form of a Location header's value, or "" when
// it has none. A target without a fragment keeps that of base (RFC 9110
// section 10.2.2), which is left to the normalizers.
func Resolve(base *url.URL, location string) string {
	// As browsers do (WHATWG URL): surrounding space and inner tabs and line
	// ends go.
	location = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\r' || r == '\n' {
			return -1
		}
		return r
	}, strings.TrimSpace(location))
	if location == "" {
		return ""
	}
	u, err := base.Parse(location)
	if err != nil {
		if u, err = base.Parse(escapeStray(location)); err != nil {
			return ""
		}
	}
	if (u.Scheme == "http" || u.Scheme == "https") && u.Host == "" {
		return ""
	}
	u.RawQuery = escapeBytes(u.RawQuery)
	return u.String()
}

// escapeStray percent-encodes percent signs that begin no escape, and bytes
// that may not stand in a URL.
func escapeStray(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c == '%' && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])) || c <= ' ' || c == 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// escapeBytes percent-encodes what may not stand in a request line.
func escapeBytes(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}
