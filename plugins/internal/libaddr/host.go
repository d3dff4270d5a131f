package libaddr

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// CanonicalHost brings a URL's host (without port) to the form it is looked up
// and compared in: lower case, punycode, no brackets and no final dot. When
// the host is an address in any spelling that browsers take, addr is valid and
// name is its normal text. Source: WHATWG URL, host parsing and IPv4 parser.
func CanonicalHost(host string) (name string, addr netip.Addr, err error) {
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	if strings.IndexByte(host, ':') >= 0 {
		a, err := netip.ParseAddr(host)
		if err != nil {
			return "", netip.Addr{}, fmt.Errorf("host %q: not an IPv6 address", host)
		}
		return a.String(), a, nil
	}
	name = host
	if !plainLower(host) {
		// Lookup maps full-width digits and dots, so that such spellings of
		// an address end as digits here.
		if name, err = idna.Lookup.ToASCII(host); err != nil {
			if name = strings.ToLower(host); !isASCII(name) {
				return "", netip.Addr{}, fmt.Errorf("host %q: %w", host, err)
			}
		}
	}
	name = strings.TrimSuffix(name, ".")
	if name == "" || len(name) > 253 || name[0] == '.' || name[len(name)-1] == '.' || strings.Contains(name, "..") {
		return "", netip.Addr{}, fmt.Errorf("host %q: empty, too long, or with an empty label", host)
	}
	if !endsInNumber(name) {
		return name, netip.Addr{}, nil
	}
	a, ok := parseIPv4(name)
	if !ok {
		return "", netip.Addr{}, fmt.Errorf("host %q: ends in a number but is no IPv4 address", host)
	}
	return a.String(), a, nil
}

// IsLocalhost reports whether name, in canonical form, is localhost or below
// it (RFC 6761 section 6.3).
func IsLocalhost(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

func plainLower(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x80 || c >= 'A' && c <= 'Z' || c <= ' ' || c == '%' {
			return false
		}
	}
	return true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 || s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// endsInNumber reports whether the last label is decimal digits or an 0x
// number.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == "" {
		return false
	}
	if isDigits(last) {
		return true
	}
	_, ok := parseNumber(last)
	return ok
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// parseIPv4 reads one to four numbers, each decimal, octal or hexadecimal; the
// last fills what is left of the address.
func parseIPv4(s string) (netip.Addr, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var v uint64
	for i, p := range parts {
		n, ok := parseNumber(p)
		if !ok {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return netip.Addr{}, false
			}
			v |= n << (24 - 8*i)
			continue
		}
		if n >= 1<<(8*(5-len(parts))) {
			return netip.Addr{}, false
		}
		v |= n
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true
}

func parseNumber(s string) (uint64, bool) {
	base := 10
	switch {
	case s == "":
		return 0, false
	case len(s) >= 2 && s[0] == '0' && s[1]|0x20 == 'x':
		s, base = s[2:], 16
	case len(s) >= 2 && s[0] == '0':
		s, base = s[1:], 8
	}
	if s == "" { // "0x" alone is zero
		return 0, true
	}
	if s[0] == '+' || s[0] == '-' || s[0] == '_' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil && n < 1<<32
}
