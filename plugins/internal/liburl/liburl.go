// Package liburl takes URLs apart without changing a byte, so that filters and
// normalizers can look at one part, or replace one and leave the others as they
// are. It must not know what a valid or a normal URL is: strangers' URLs are
// neither.
package liburl

import (
	"strings"

	"golang.org/x/net/idna"
)

// Parts are the parts of a URL as written (RFC 3986, section 3). Each part
// holds the mark that belongs to it, so that the parts in order are the URL.
type Parts struct {
	Scheme    string // "http:"
	Slashes   string // "//", or "" when there is no authority
	User      string // "user:password@"
	Host      string // "example.org", "[2001:db8::1]"
	Port      string // ":8080"
	Path      string // "/a/b"
	Query     string // "?q=1"
	Fragment  string // "#top"
	HasScheme bool   // the URL starts with a scheme
}

// Split cuts url into its parts. Split(u).String() is u for every u. Without a
// scheme, HasScheme is false and all the rest is path, query and fragment.
func Split(url string) Parts {
	var p Parts
	rest := url
	if i := strings.IndexByte(url, ':'); i > 0 && isScheme(url[:i]) {
		p.Scheme, rest, p.HasScheme = url[:i+1], url[i+1:], true
	}
	if i := strings.IndexByte(rest, '#'); i >= 0 {
		rest, p.Fragment = rest[:i], rest[i:]
	}
	if i := strings.IndexByte(rest, '?'); i >= 0 {
		rest, p.Query = rest[:i], rest[i:]
	}
	if !p.HasScheme || !strings.HasPrefix(rest, "//") {
		p.Path = rest
		return p
	}
	p.Slashes, rest = rest[:2], rest[2:]
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		rest, p.Path = rest[:i], rest[i:]
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		p.User, rest = rest[:i+1], rest[i+1:]
	}
	end := strings.IndexByte(rest, ']') // colons of an IPv6 address are no port's
	if i := strings.LastIndexByte(rest, ':'); i > end {
		rest, p.Port = rest[:i], rest[i:]
	}
	p.Host = rest
	return p
}

// isScheme follows RFC 3986, section 3.1.
func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return s != ""
}

// String puts the parts together again.
func (p *Parts) String() string {
	return p.Scheme + p.Slashes + p.User + p.Host + p.Port + p.Path + p.Query + p.Fragment
}

// Is reports whether the scheme is one of those given, in lower case and
// without colon.
func (p *Parts) Is(schemes ...string) bool {
	for _, s := range schemes {
		if len(p.Scheme) == len(s)+1 && strings.EqualFold(p.Scheme[:len(s)], s) {
			return true
		}
	}
	return false
}

// HostKey is the form in which host names are compared: lower case, without a
// dot at the end, international names in ASCII (IDNA 2008 as browsers do). A
// name that has no ASCII form is compared as it is.
func HostKey(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	for i := range len(host) {
		if host[i] >= 0x80 {
			if ascii, err := idna.Lookup.ToASCII(host); err == nil {
				return ascii
			}
			break
		}
	}
	return host
}
