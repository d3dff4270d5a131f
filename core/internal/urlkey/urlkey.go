package urlkey

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Key is the canonical key of a URL. Keys compare bytewise and hold no NUL.
type Key string

const opaqueMark = '!'

// FromURL returns the key of url. Every string has a key.
func FromURL(url string) Key {
	return Key(AppendKey(make([]byte, 0, len(url)+1), url))
}

// AppendKey appends the key of url to dst and returns the extended slice.
func AppendKey(dst []byte, url string) []byte {
	p, ok := split(url)
	if !ok {
		return appendOpaque(dst, url)
	}
	dst = appendReversed(dst, p.host)
	dst = append(dst, ':')
	dst = append(dst, p.scheme...)
	if p.hasPort {
		dst = append(dst, ':')
		dst = append(dst, p.port...)
	}
	if p.hasUser {
		dst = append(dst, '@')
		dst = append(dst, p.user...)
	}
	return append(dst, p.rest...)
}

// ToURL returns the URL that FromURL made k of. It fails for a string that is
// no key, but does not prove that FromURL would return k again.
func ToURL(k Key) (string, error) {
	s := string(k)
	if s != "" && s[0] == opaqueMark {
		return unescape(s[1:])
	}
	p, err := splitKey(s)
	if err != nil {
		return "", err
	}
	b := make([]byte, 0, len(s)+3)
	b = append(b, p.scheme...)
	b = append(b, "://"...)
	if p.hasUser {
		b = append(b, p.user...)
		b = append(b, '@')
	}
	b = appendReversed(b, p.host)
	if p.hasPort {
		b = append(b, ':')
		b = append(b, p.port...)
	}
	return string(append(b, p.rest...)), nil
}

// Host returns the lower-case host of the URL behind k, as Host does for a
// URL, without decoding the rest.
func (k Key) Host() string {
	s := string(k)
	if s == "" || s[0] == opaqueMark {
		return ""
	}
	p, err := splitKey(s)
	if err != nil {
		return ""
	}
	return strings.ToLower(string(appendReversed(nil, p.host)))
}

// Hash128 returns a 128-bit hash of k: the first half of its SHA-256. It is
// stable across processes and versions. URLs come from strangers, so the hash
// must resist those who look for two URLs with the same one.
func Hash128(k Key) [16]byte {
	sum := sha256.Sum256([]byte(k))
	return [16]byte(sum[:16])
}

// Hash32 returns a stable 32-bit hash of a queue key or any other text, for
// spreading. It does not resist deliberate collisions.
func Hash32(s string) uint32 {
	h := xxhash.Sum64String(s)
	return uint32(h ^ h>>32) //nolint:gosec // folding to 32 bits is the point
}

// parts are the pieces of a URL scheme://user@host:port/rest, all as written.
type parts struct {
	scheme, user, host, port string
	rest                     string // starts with one of "/?#", or empty
	hasUser, hasPort         bool
}

// split cuts url into parts. It reports false for what has no such shape or
// whose host or port is not plain enough to be taken apart without doubt.
func split(url string) (parts, bool) {
	var p parts
	i := strings.Index(url, "://")
	if i < 1 || !isScheme(url[:i]) || strings.IndexByte(url, 0) >= 0 {
		return p, false
	}
	p.scheme = url[:i]
	auth := url[i+3:]
	if j := strings.IndexAny(auth, "/?#"); j >= 0 {
		auth, p.rest = auth[:j], auth[j:]
	}
	if j := strings.LastIndexByte(auth, '@'); j >= 0 {
		p.user, p.hasUser, auth = auth[:j], true, auth[j+1:]
	}
	hostEnd := strings.IndexByte(auth, ':')
	if strings.HasPrefix(auth, "[") {
		hostEnd = strings.IndexByte(auth, ']') + 1
		if hostEnd == len(auth) {
			hostEnd = -1
		}
	}
	p.host = auth
	if hostEnd >= 0 {
		p.host = auth[:hostEnd]
		if auth[hostEnd:] == "" || auth[hostEnd] != ':' || !isDigits(auth[hostEnd+1:]) {
			return p, false
		}
		p.port, p.hasPort = auth[hostEnd+1:], true
	}
	if p.host == "" {
		return p, !p.hasPort && !p.hasUser
	}
	return p, isHost(p.host)
}

// splitKey cuts a key that is not opaque into parts; the host stays as the key has it.
func splitKey(s string) (parts, error) {
	var p parts
	from := 0
	if strings.HasPrefix(s, "[") {
		from = max(strings.IndexByte(s, ']'), 0)
	}
	i := strings.IndexByte(s[from:], ':')
	if i < 0 {
		return p, fmt.Errorf("url key %q has no scheme", s)
	}
	i += from
	p.host = s[:i]
	head := s[i+1:]
	if j := strings.IndexAny(head, "/?#"); j >= 0 {
		head, p.rest = head[:j], head[j:]
	}
	head, p.user, p.hasUser = strings.Cut(head, "@")
	p.scheme, p.port, p.hasPort = strings.Cut(head, ":")
	if !isScheme(p.scheme) || !isDigits(p.port) || (p.host != "" && !isHost(p.host)) {
		return p, fmt.Errorf("url key %q is malformed", s)
	}
	return p, nil
}

// appendReversed appends host with its labels in reverse order; an address
// stays as it is. It is its own inverse: the reverse of dotted numbers is an
// IPv4 address exactly when they are one themselves.
func appendReversed(dst []byte, host string) []byte {
	if isAddress(host) {
		return append(dst, host...)
	}
	for {
		i := strings.LastIndexByte(host, '.')
		dst = append(dst, host[i+1:]...)
		if i < 0 {
			return dst
		}
		dst = append(dst, '.')
		host = host[:i]
	}
}

func isAddress(host string) bool {
	if host == "" {
		return false
	}
	if host[0] == '[' {
		return true
	}
	if c := host[len(host)-1]; c < '0' || c > '9' {
		return false
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Is4()
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || !(s[i] >= '0' && s[i] <= '9' || s[i] == '+' || s[i] == '-' || s[i] == '.')) {
			return false
		}
	}
	return s != ""
}

// isHost reports whether host can be taken apart: a bracketed IPv6 address,
// or letters, digits, "-", "_", "." and non-ASCII bytes.
func isHost(host string) bool {
	if host[0] == '[' {
		if host[len(host)-1] != ']' {
			return false
		}
		a, err := netip.ParseAddr(host[1 : len(host)-1])
		return err == nil && a.Is6()
	}
	for i := range len(host) {
		c := host[i]
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' || c >= 0x80) {
			return false
		}
	}
	return true
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// appendOpaque keeps bytewise order: NUL becomes 01 01, and 01 becomes 01 02.
func appendOpaque(dst []byte, url string) []byte {
	dst = append(dst, opaqueMark)
	for i := range len(url) {
		if c := url[i]; c > 1 {
			dst = append(dst, c)
		} else {
			dst = append(dst, 1, c+1)
		}
	}
	return dst
}

func unescape(s string) (string, error) {
	if strings.IndexByte(s, 1) < 0 {
		return s, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == 1 {
			i++
			if i == len(s) || s[i] < 1 || s[i] > 2 {
				return "", fmt.Errorf("url key %q has a broken escape", string(opaqueMark)+s)
			}
			c = s[i] - 1
		}
		b = append(b, c)
	}
	return string(b), nil
}
