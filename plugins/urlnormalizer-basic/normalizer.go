// Package urlnormalizerbasic brings URLs into the form of RFC 3986 section 6:
// one spelling for one page, without changing what the URL names.
package urlnormalizerbasic

import (
	"context"
	_ "embed"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/fault"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// Config are the settings; see plugin.hcl.
type Config struct {
	HostIDN             string `json:"host_idn"`
	HostTrimTrailingDot bool   `json:"host_trim_trailing_dot"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c Config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	switch c.HostIDN {
	case "", "to_ascii", "to_unicode":
	default:
		return nil, fault.Errorf(fault.Invalid, "host_idn = %q: want \"to_ascii\", \"to_unicode\" or \"\"", c.HostIDN)
	}
	return &sdk.Extensions{URLNormalizer: &Normalizer{c}}, nil
}

// Normalizer implements Nutch's BasicURLNormalizer (nutch.md 2.3). It is
// idempotent and safe for concurrent use.
type Normalizer struct{ Config }

// NormalizeURL implements urlnormalizer.Normalizer. The scope makes no
// difference.
func (n *Normalizer) NormalizeURL(_ context.Context, _ urlnormalizer.Scope, url string) (urlnormalizer.Result, error) {
	if isNormal(url) {
		return urlnormalizer.Result{URL: url}, nil
	}
	out, reason := n.normalize(url)
	return urlnormalizer.Result{URL: out, Reason: reason}, nil
}

// isNormal recognises the common case: http or https, a plain lower-case host
// without port, and nothing in the path that has another spelling.
func isNormal(url string) bool {
	rest, ok := strings.CutPrefix(url, "https://")
	if !ok {
		if rest, ok = strings.CutPrefix(url, "http://"); !ok {
			return false
		}
	}
	i := 0
	for ; i < len(rest) && rest[i] != '/'; i++ {
		c := rest[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return false
		}
	}
	if i == 0 || i == len(rest) || rest[0] == '.' || rest[i-1] == '.' || strings.Contains(rest[:i], "..") || strings.Contains(rest[:i], "xn--") {
		return false
	}
	query := false
	for ; i < len(rest); i++ {
		switch c := rest[i]; {
		case plain[c]:
		case c == '/' || c == '.':
			if !query && i > 0 && rest[i-1] == '/' {
				return false
			}
		case c == '?':
			query = true
		default:
			return false
		}
	}
	return true
}

// plain marks the bytes that stand as they are, except '/', '.', '?', '%', '#'.
var plain = func() (t [256]bool) {
	for c := range 256 {
		b := byte(c)
		t[c] = b > ' ' && b < 0x7f && !strings.ContainsRune("\"<>[]^`{|}/.?%#", rune(b))
	}
	return t
}()

func (n *Normalizer) normalize(url string) (out, reason string) {
	url = strings.TrimFunc(url, func(r rune) bool { return r <= ' ' })
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok || !isScheme(scheme) {
		return "", "no scheme"
	}
	scheme = strings.ToLower(scheme)
	switch scheme {
	case "http", "https", "ftp":
		return n.hierarchical(scheme, rest)
	case "file":
		return n.file(rest)
	}
	return scheme + ":" + rest, ""
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", rune(s[i]))) {
			return false
		}
	}
	return s != ""
}

func (n *Normalizer) file(rest string) (string, string) {
	rest, _, _ = strings.Cut(rest, "#")
	host, path := "", rest
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		host, path = after, ""
		if i := strings.IndexAny(after, "/?"); i >= 0 {
			host, path = after[:i], after[i:]
		}
	}
	if host = strings.ToLower(host); host == "localhost" {
		host = ""
	}
	path, query := cutQuery(path)
	return "file://" + host + cleanPath(path) + escape(query), ""
}

func (n *Normalizer) hierarchical(scheme, rest string) (string, string) {
	rest, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return "", "no // after the scheme"
	}
	rest, _, _ = strings.Cut(rest, "#")
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	user := ""
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		if scheme == "ftp" {
			user = escape(authority[:i]) + "@"
		}
		authority = authority[i+1:]
	}
	host, port := splitPort(authority)
	host, reason := n.host(host)
	if reason != "" {
		return "", reason
	}
	port, reason = normalPort(scheme, port)
	if reason != "" {
		return "", reason
	}
	path, query := cutQuery(path)
	return scheme + "://" + user + host + port + cleanPath(path) + escape(query), ""
}

// cutQuery splits at the first '?', which stays with the query.
func cutQuery(s string) (path, query string) {
	if i := strings.IndexByte(s, '?'); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// splitPort cuts ":port" off; the port keeps its colon.
func splitPort(a string) (host, port string) {
	if strings.HasPrefix(a, "[") {
		if i := strings.IndexByte(a, ']'); i >= 0 {
			return a[:i+1], a[i+1:]
		}
	}
	if i := strings.LastIndexByte(a, ':'); i >= 0 {
		return a[:i], a[i:]
	}
	return a, ""
}

func normalPort(scheme, port string) (string, string) {
	if port == "" || port == ":" {
		return "", ""
	}
	p, err := strconv.ParseUint(strings.TrimPrefix(port, ":"), 10, 16)
	if err != nil || p == 0 || port[0] != ':' {
		return "", "invalid port " + strconv.Quote(strings.TrimPrefix(port, ":"))
	}
	if scheme == "http" && p == 80 || scheme == "https" && p == 443 || scheme == "ftp" && p == 21 {
		return "", ""
	}
	return ":" + strconv.FormatUint(p, 10), ""
}

func (n *Normalizer) host(h string) (host, reason string) {
	if strings.HasPrefix(h, "[") {
		if !strings.HasSuffix(h, "]") || strings.ContainsAny(h, "%/?#@ ") {
			return "", "invalid IPv6 address"
		}
		return strings.ToLower(h), ""
	}
	h = strings.ToLower(unescape(h))
	if h == "" || h == "." {
		return "", "no host"
	}
	if h[0] == '.' || strings.Contains(h, "..") {
		return "", "empty label in the host name"
	}
	if n.HostTrimTrailingDot {
		h = strings.TrimSuffix(h, ".")
	}
	if i := strings.IndexFunc(h, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r == 0xfffd || strings.ContainsRune("\"#%/:<>?@[\\]^`{|}", r)
	}); i >= 0 {
		return "", "invalid character in the host name"
	}
	ascii := strings.IndexFunc(h, func(r rune) bool { return r >= 0x80 }) < 0
	var err error
	switch {
	case n.HostIDN == "to_ascii" && (!ascii || strings.Contains(h, "xn--")):
		h, err = idna.Lookup.ToASCII(h)
	case n.HostIDN == "to_unicode" && strings.Contains(h, "xn--"):
		h, err = idna.Lookup.ToUnicode(h)
	}
	if err != nil || h == "" {
		return "", "invalid international host name"
	}
	return h, ""
}

// cleanPath escapes a path and resolves its "." and ".." and doubled slashes.
func cleanPath(p string) string {
	p = escape(p)
	if p == "" {
		return "/"
	}
	if !strings.Contains(p, "//") && !strings.Contains(p, "/.") && p[0] == '/' {
		return p
	}
	segs := strings.Split(p, "/")
	out := make([]string, 0, len(segs))
	dir := false
	for _, s := range segs {
		dir = s == "" || s == "." || s == ".."
		switch s {
		case "", ".":
		case "..":
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
		default:
			out = append(out, s)
		}
	}
	p = "/" + strings.Join(out, "/")
	if dir && len(out) > 0 {
		p += "/"
	}
	return p
}

const upperHex = "0123456789ABCDEF"

// escape writes s with one spelling of each byte: unreserved characters as
// they are, unsafe ones and bytes beyond ASCII as %XX, a lone % as %25.
func escape(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return r >= 0x80 || r == '%' || !plain[r] && r != '/' && r != '.' && r != '?' && r != '#'
	}) < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0:
			v := byte(unhex(s[i+1])<<4 | unhex(s[i+2]))
			i += 2
			if isUnreserved(v) {
				b.WriteByte(v)
				continue
			}
			c = v
		case c == '%':
		case plain[c] || c == '/' || c == '.' || c == '?' || c == '#':
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(upperHex[c>>4])
		b.WriteByte(upperHex[c&15])
	}
	return b.String()
}

func isUnreserved(c byte) bool {
	lower := c | 0x20
	return lower >= 'a' && lower <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// unescape decodes %XX; a lone % stays.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0 {
			b = append(b, byte(unhex(s[i+1])<<4|unhex(s[i+2])))
			i += 2
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}

var _ urlnormalizer.Normalizer = (*Normalizer)(nil)
