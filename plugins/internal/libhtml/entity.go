package libhtml

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// maxEntity is longer than the longest named character reference.
const maxEntity = 48

// decodeEntity decodes the character reference b starts with (b[0] is '&') by
// the HTML standard, section 13.2.5.72, appending to dst. It returns dst and
// how many bytes of b it consumed; a '&' that starts no reference is consumed
// as itself.
func decodeEntity(dst, b []byte, attr bool) ([]byte, int) {
	if len(b) > 1 && b[1] == '#' {
		return decodeNumeric(dst, b)
	}
	i := 1
	for i < len(b) && isAlnum(b[i]) {
		i++
	}
	end := i
	if i < len(b) && b[i] == ';' {
		end++
	}
	if i <= 2 { // no name is that short
		return append(dst, '&'), 1
	}
	if end > i {
		switch string(b[1:i]) {
		case "amp":
			return append(dst, '&'), end
		case "lt":
			return append(dst, '<'), end
		case "gt":
			return append(dst, '>'), end
		case "quot":
			return append(dst, '"'), end
		case "nbsp":
			return append(dst, "\u00a0"...), end
		}
	}
	return decodeNamed(dst, b, end, attr)
}

// decodeNamed looks the name b[1:end] up in x/net/html's table, which is
// reachable only by way of UnescapeString.
func decodeNamed(dst, b []byte, end int, attr bool) ([]byte, int) {
	closed := b[end-1] == ';'
	if attr && !closed && end < len(b) && b[end] == '=' {
		return append(dst, '&'), 1
	}
	end = min(end, maxEntity)
	s := string(b[:end])
	out := html.UnescapeString(s)
	if out == s {
		return append(dst, '&'), 1
	}
	_, n := utf8.DecodeRuneInString(out)
	if rest := out[n:]; attr && rest != "" && strings.HasSuffix(s, rest) {
		return append(dst, '&'), 1 // only a prefix is a name, which counts in text only
	}
	return append(dst, out...), end
}

func decodeNumeric(dst, b []byte) ([]byte, int) {
	i, base := 2, rune(10)
	if i < len(b) && b[i]|0x20 == 'x' {
		i, base = 3, 16
	}
	start, x := i, rune(0)
	for ; i < len(b); i++ {
		d := digit(b[i])
		if d < 0 || d >= base {
			break
		}
		if x <= utf8.MaxRune {
			x = x*base + d
		}
	}
	if i == start {
		return append(dst, '&'), 1
	}
	if i < len(b) && b[i] == ';' {
		i++
	}
	switch {
	case 0x80 <= x && x <= 0x9f:
		x = windows1252(x)
	case x == 0 || x > utf8.MaxRune || (0xd800 <= x && x <= 0xdfff):
		x = utf8.RuneError
	}
	return utf8.AppendRune(dst, x), i
}

// windows1252 maps the C1 controls to what authors meant by them.
func windows1252(x rune) rune {
	const table = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"
	n := rune(0)
	for _, r := range table {
		if n == x-0x80 {
			return r
		}
		n++
	}
	return x
}

func digit(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isAlnum(c byte) bool { return isAlpha(c) || '0' <= c && c <= '9' }

// isWS reports whether c is white space to the HTML standard.
func isWS(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }
