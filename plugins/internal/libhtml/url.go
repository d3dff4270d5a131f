package libhtml

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"golang.org/x/text/encoding"
)

// resolver makes references absolute against one base URL, by the URL standard
// (https://url.spec.whatwg.org/) as far as a link's form goes: white space
// around it and tabs and line breaks inside it go, backslashes of http and
// https are slashes, dot segments are resolved, bytes that can't stand in a URL
// are percent-encoded. Case, ports, non-ASCII text and escapes stay as they
// are: changing them is the URL normalizers' job.
type resolver struct {
	scheme string // lower-case; "" when the base is no hierarchical URL
	origin []byte // scheme://authority
	path   []byte // starts with '/'
	query  []byte // with its '?', or empty
	self   []byte // document's URL without fragment
	// charset is the document's, in which the queries of its links are escaped;
	// nil for UTF-8, where escaping is left to the normalizers.
	charset encoding.Encoding
}

func newResolver(base, document string) *resolver {
	r := &resolver{self: cutFragment([]byte(document))}
	r.setBase([]byte(base))
	return r
}

// setBase changes the base; it reports false and changes nothing when base is
// no absolute hierarchical URL.
func (r *resolver) setBase(base []byte) bool {
	base = cutFragment(base)
	n := schemeLen(base)
	if n == 0 || !bytes.HasPrefix(base[n:], []byte("://")) {
		return false
	}
	rest := base[n+3:]
	i := bytes.IndexAny(rest, "/?")
	if i < 0 {
		i = len(rest)
	}
	r.scheme = string(bytes.ToLower(base[:n]))
	r.origin = base[:n+3+i]
	r.path, r.query = rest[i:], nil
	if q := bytes.IndexByte(r.path, '?'); q >= 0 {
		r.path, r.query = r.path[:q], r.path[q:]
	}
	if len(r.path) == 0 {
		r.path = []byte("/")
	}
	return true
}

func cutFragment(u []byte) []byte {
	if i := bytes.IndexByte(u, '#'); i >= 0 {
		return u[:i]
	}
	return u
}

// schemeLen returns the length of the scheme u starts with, without the colon,
// or 0.
func schemeLen(u []byte) int {
	for i, c := range u {
		switch {
		case isAlpha(c):
		case i > 0 && (isAlnum(c) || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return i
		default:
			return 0
		}
	}
	return 0
}

// resolve appends the absolute form of ref to dst. It reports false for what is
// no link to another document: a scheme that can't be fetched, no host, or the
// document itself.
func (r *resolver) resolve(dst, ref []byte) ([]byte, bool) {
	start := len(dst)
	dst, ok := r.absolute(dst, clean(ref))
	u := dst[start:]
	// Fragments lead nowhere else, but for #!state, which a normalizer may turn
	// into a URL of its own (the AJAX crawling scheme).
	if !ok || bytes.Equal(cutFragment(u), r.self) && !bytes.HasPrefix(u[len(r.self):], []byte("#!")) {
		return dst[:start], false
	}
	return dst, true
}

// clean drops white space and controls around ref, and tabs and line breaks
// inside it.
func clean(ref []byte) []byte {
	for len(ref) > 0 && ref[0] <= ' ' {
		ref = ref[1:]
	}
	for len(ref) > 0 && ref[len(ref)-1] <= ' ' {
		ref = ref[:len(ref)-1]
	}
	if bytes.IndexByte(ref, '\n') < 0 && bytes.IndexByte(ref, '\t') < 0 && bytes.IndexByte(ref, '\r') < 0 {
		return ref
	}
	out := make([]byte, 0, len(ref))
	for _, c := range ref {
		if c != '\n' && c != '\t' && c != '\r' {
			out = append(out, c)
		}
	}
	return out
}

func (r *resolver) absolute(dst, ref []byte) ([]byte, bool) {
	if n := schemeLen(ref); n > 0 {
		scheme := string(bytes.ToLower(ref[:n]))
		rest := ref[n+1:]
		special := isSpecial(scheme)
		switch {
		case special && scheme == r.scheme && !startsSlash(rest, true):
			ref = rest // "http:page" is relative to an http base
		case special:
			for startsSlash(rest, true) {
				rest = rest[1:]
			}
			return r.hierarchical(append(append(dst, scheme...), "://"...), rest, true)
		case scheme == "file" && startsSlash(rest, false) && !bytes.HasPrefix(rest, []byte("//")):
			return r.hierarchical(append(dst, "file://"...), rest, false)
		case bytes.HasPrefix(rest, []byte("//")) && !isCode(scheme):
			return r.hierarchical(append(append(dst, scheme...), "://"...), rest[2:], false)
		default:
			return dst, false
		}
	}
	if r.scheme == "" {
		return dst, false
	}
	special := isSpecial(r.scheme)
	if startsSlash(ref, special) && len(ref) > 1 && startsSlash(ref[1:], special) {
		for special && startsSlash(ref, true) {
			ref = ref[1:]
		}
		if !special {
			ref = ref[2:]
		}
		return r.hierarchical(append(append(dst, r.scheme...), "://"...), ref, special)
	}
	dst = append(dst, r.origin...)
	mark := len(dst)
	switch {
	case len(ref) == 0 || ref[0] == '#':
		dst = append(append(dst, r.path...), r.query...)
		return r.escapeTail(dst, ref), true
	case ref[0] == '?':
		dst = append(dst, r.path...)
		return r.escapeTail(dst, ref), true
	case !startsSlash(ref, special):
		dst = append(dst, r.path[:bytes.LastIndexByte(r.path, '/')+1]...)
	}
	return r.appendPath(dst, mark, ref, special), true
}

// isSpecial reports whether the scheme's URLs always have a host and take
// backslashes for slashes.
func isSpecial(scheme string) bool {
	return scheme == "http" || scheme == "https" || scheme == "ftp"
}

// isCode reports whether a scheme names content instead of a place.
func isCode(scheme string) bool {
	switch scheme {
	case "javascript", "vbscript", "data", "about", "blob", "mailto", "tel":
		return true
	}
	return false
}

func startsSlash(b []byte, special bool) bool {
	return len(b) > 0 && (b[0] == '/' || special && b[0] == '\\')
}

// hierarchical appends authority and path; dst ends in "://".
func (r *resolver) hierarchical(dst, rest []byte, special bool) ([]byte, bool) {
	i := 0
	for i < len(rest) && rest[i] != '/' && rest[i] != '?' && rest[i] != '#' && !(special && rest[i] == '\\') {
		if c := rest[i]; c <= ' ' || c == '<' || c == '>' || c == '"' || c == 0x7f {
			return dst, false
		}
		i++
	}
	if i == 0 && !bytes.HasSuffix(dst, []byte("file://")) {
		return dst, false
	}
	dst = append(dst, rest[:i]...)
	mark := len(dst)
	if !startsSlash(rest[i:], special) {
		dst = append(dst, '/')
	}
	return r.appendPath(dst, mark, rest[i:], special), true
}

// appendPath appends path, query and fragment and resolves the dot segments of
// dst[mark:], the whole path.
func (r *resolver) appendPath(dst []byte, mark int, ref []byte, special bool) []byte {
	i, dots := 0, false
	for ; i < len(ref) && ref[i] != '?' && ref[i] != '#'; i++ {
		c := ref[i]
		switch {
		case c == '\\' && special:
			c = '/'
		case c == '.' || c == '%':
			dots = true
		case badInURL(c) || c == '{' || c == '}':
			dst = escapeByte(dst, c)
			continue
		}
		dst = append(dst, c)
	}
	if dots && hasDotSegment(dst[mark:]) {
		dst = removeDots(dst, mark)
	}
	return r.escapeTail(dst, ref[i:])
}

// escapeTail appends a query and fragment.
func (r *resolver) escapeTail(dst, tail []byte) []byte {
	if r.charset != nil && len(tail) > 0 && tail[0] == '?' {
		query := cutFragment(tail)
		tail = tail[len(query):]
		dst = r.escapeQuery(dst, query)
	}
	for _, c := range tail {
		if badInURL(c) {
			dst = escapeByte(dst, c)
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// escapeQuery appends a query as a form of a page in r.charset would send it
// (URL standard, query state with an encoding).
func (r *resolver) escapeQuery(dst, query []byte) []byte {
	encoder := r.charset.NewEncoder()
	for len(query) > 0 {
		c := query[0]
		if c < utf8.RuneSelf {
			if query = query[1:]; badInURL(c) {
				dst = escapeByte(dst, c)
			} else {
				dst = append(dst, c)
			}
			continue
		}
		char, n := utf8.DecodeRune(query)
		b, err := encoder.Bytes(query[:n])
		if err != nil { // what the charset lacks goes as a character reference
			dst = append(strconv.AppendInt(append(dst, "%26%23"...), int64(char), 10), "%3B"...)
		} else {
			for _, c := range b {
				dst = escapeByte(dst, c)
			}
		}
		query = query[n:]
	}
	return dst
}

func badInURL(c byte) bool {
	return c <= ' ' || c == '"' || c == '<' || c == '>' || c == '`' || c == 0x7f
}

func escapeByte(dst []byte, c byte) []byte {
	const hex = "0123456789ABCDEF"
	return append(dst, '%', hex[c>>4], hex[c&15])
}

func hasDotSegment(path []byte) bool {
	for i := 1; i < len(path); i++ {
		if path[i-1] == '/' && (path[i] == '.' || path[i] == '%') {
			return true
		}
	}
	return false
}

// removeDots resolves "." and ".." segments, also when written "%2e", of the
// path dst[mark:] in place (URL standard, path state).
func removeDots(dst []byte, mark int) []byte {
	w := mark // dst[mark:w] is the result so far, without a trailing '/'
	for i := mark; i < len(dst); {
		j := i + 1 // dst[i] is '/'
		for j < len(dst) && dst[j] != '/' {
			j++
		}
		last := j == len(dst)
		switch dotCount(dst[i+1 : j]) {
		case 1:
		case 2:
			for w > mark && dst[w-1] != '/' {
				w--
			}
			if w > mark {
				w--
			}
		default:
			w += copy(dst[w:], dst[i:j])
			last = false
		}
		if last {
			dst[w] = '/'
			w++
		}
		i = j
	}
	return dst[:w]
}

// dotCount returns 1 for ".", 2 for "..", in plain or "%2e" form, else 0.
func dotCount(seg []byte) int {
	n := 0
	for len(seg) > 0 {
		switch {
		case seg[0] == '.':
			seg = seg[1:]
		case len(seg) >= 3 && seg[0] == '%' && seg[1] == '2' && seg[2]|0x20 == 'e':
			seg = seg[3:]
		default:
			return 0
		}
		n++
	}
	if n > 2 {
		return 0
	}
	return n
}
