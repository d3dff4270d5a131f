package libcharset

import "bytes"

// prescan is how many bytes are searched for a declaration: Nutch's 8192, where
// browsers take 1024.
const prescan = 8192

// metaCharset returns the charset that a document declares in its first bytes:
// in a meta element (HTML standard, section 13.2.3.2, "prescan a byte stream to
// determine its encoding") or an XML declaration; or "".
func metaCharset(body []byte) string {
	b := body[:min(len(body), prescan)]
	if label := xmlCharset(b); label != "" {
		return label
	}
	for len(b) > 0 {
		i := bytes.IndexByte(b, '<')
		if i < 0 {
			return ""
		}
		b = b[i+1:]
		switch {
		case bytes.HasPrefix(b, []byte("!--")):
			j := bytes.Index(b[1:], []byte("-->"))
			if j < 0 {
				return ""
			}
			b = b[1+j+3:]
		case len(b) > 4 && bytes.EqualFold(b[:4], []byte("meta")) && (isSpace(b[4]) || b[4] == '/'):
			var label string
			if label, b = readMeta(b[4:]); Known(label) {
				return label
			}
		case len(b) > 0 && (b[0] == '!' || b[0] == '?' || b[0] == '/' && len(b) > 1 && !isLetter(b[1])):
			j := bytes.IndexByte(b, '>')
			if j < 0 {
				return ""
			}
			b = b[j+1:]
		case len(b) > 0 && (isLetter(b[0]) || b[0] == '/'):
			for len(b) > 0 && !isSpace(b[0]) && b[0] != '>' {
				b = b[1:]
			}
			for more := true; more; {
				_, _, b, more = readAttr(b)
			}
		}
	}
	return ""
}

// xmlCharset returns the encoding of an XML declaration at the start of b.
func xmlCharset(b []byte) string {
	b = bytes.TrimLeft(b, " \t\r\n")
	if !bytes.HasPrefix(b, []byte("<?xml")) {
		return ""
	}
	end := bytes.Index(b, []byte("?>"))
	if end < 0 {
		return ""
	}
	b = b[len("<?xml"):end]
	for more := true; more; {
		var name, val []byte
		if name, val, b, more = readAttr(b); string(name) == "encoding" && Known(string(val)) {
			return string(val)
		}
	}
	return ""
}

// readMeta reads the attributes of a meta tag and returns the charset it
// declares and what follows the tag.
func readMeta(b []byte) (string, []byte) {
	var charset, content string
	var pragma, hasCharset, hasContent bool
	for more := true; more; {
		var name, val []byte
		name, val, b, more = readAttr(b)
		switch string(bytes.ToLower(name)) {
		case "http-equiv":
			pragma = pragma || bytes.EqualFold(val, []byte("content-type"))
		case "charset":
			if !hasCharset {
				charset, hasCharset = string(val), true
			}
		case "content":
			if !hasContent {
				content, hasContent = contentCharset(val), true
			}
		}
	}
	if hasCharset {
		return charset, b
	}
	if pragma {
		return content, b
	}
	return "", b
}

// readAttr reads one attribute of a tag; more is false at the tag's end, with
// rest what follows it.
func readAttr(b []byte) (name, val, rest []byte, more bool) {
	for len(b) > 0 && (isSpace(b[0]) || b[0] == '/') {
		b = b[1:]
	}
	if len(b) == 0 {
		return nil, nil, nil, false
	}
	if b[0] == '>' {
		return nil, nil, b[1:], false
	}
	i := 1
	for i < len(b) && b[i] != '=' && b[i] != '>' && b[i] != '/' && !isSpace(b[i]) {
		i++
	}
	name, b = b[:i], b[i:]
	rest = bytes.TrimLeft(b, " \t\r\n\f")
	if len(rest) == 0 || rest[0] != '=' {
		return name, nil, b, true
	}
	b = bytes.TrimLeft(rest[1:], " \t\r\n\f")
	if len(b) == 0 {
		return name, nil, nil, false
	}
	if q := b[0]; q == '"' || q == '\'' {
		j := bytes.IndexByte(b[1:], q)
		if j < 0 {
			return name, nil, nil, false
		}
		return name, b[1 : 1+j], b[j+2:], true
	}
	i = 0
	for i < len(b) && b[i] != '>' && !isSpace(b[i]) {
		i++
	}
	return name, b[:i], b[i:], true
}

// contentCharset returns the charset in a Content-Type-like text (HTML
// standard, "extracting a character encoding from a meta element").
func contentCharset(b []byte) string {
	const word = "charset"
	for at := 0; at+len(word) <= len(b); at++ {
		if !bytes.EqualFold(b[at:at+len(word)], []byte(word)) {
			continue
		}
		rest := bytes.TrimLeft(b[at+len(word):], " \t\r\n\f")
		if len(rest) == 0 || rest[0] != '=' {
			continue
		}
		rest = bytes.TrimLeft(rest[1:], " \t\r\n\f")
		if len(rest) == 0 {
			return ""
		}
		if q := rest[0]; q == '"' || q == '\'' {
			if j := bytes.IndexByte(rest[1:], q); j >= 0 {
				return string(rest[1 : 1+j])
			}
			return ""
		}
		if j := bytes.IndexAny(rest, "; \t\r\n\f,"); j >= 0 {
			rest = rest[:j]
		}
		return string(rest)
	}
	return ""
}

func isSpace(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
