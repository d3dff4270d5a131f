package parsepdf

import (
	"bytes"
	"strconv"
)

// The syntax of PDF (PDF 32000-1, 7.2 and 7.3), as far as repair needs it: where a
// value ends, what a dictionary holds, which object a reference names.

const (
	maxNesting = 64     // of arrays and dictionaries in each other
	maxKeys    = 10_000 // of one dictionary
)

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelimiter(c byte) bool { return bytes.IndexByte([]byte("()<>[]{}/%"), c) >= 0 }

// skipSpace returns where white space and comments from at on end.
func skipSpace(b []byte, at int) int {
	for at < len(b) {
		switch {
		case isSpace(b[at]):
			at++
		case b[at] == '%':
			for at < len(b) && b[at] != '\n' && b[at] != '\r' {
				at++
			}
		default:
			return at
		}
	}
	return at
}

// skipToken returns where a name, number or keyword that starts at at ends.
func skipToken(b []byte, at int) int {
	if at < len(b) && b[at] == '/' {
		at++
	}
	for at < len(b) && !isSpace(b[at]) && !isDelimiter(b[at]) {
		at++
	}
	return at
}

// skipValue returns where the value at at, without space before it, ends, or where
// reading stopped because it is no value, nested too deep, or goes on behind b.
// The last word of b does so. A reference is three values.
func skipValue(b []byte, at, depth int) (end int, ok bool) {
	if at >= len(b) || depth > maxNesting {
		return at, false
	}
	switch b[at] {
	case '(':
		return skipString(b, at)
	case '<':
		if at+1 < len(b) && b[at+1] == '<' {
			_, end, ok = readDict(b, at, depth, false)
			return end, ok
		}
		i := bytes.IndexByte(b[at:], '>')
		if i < 0 {
			return len(b), false
		}
		return at + i + 1, true
	case '[':
		for at = skipSpace(b, at+1); at < len(b); at = skipSpace(b, at) {
			if b[at] == ']' {
				return at + 1, true
			}
			if at, ok = skipValue(b, at, depth+1); !ok {
				return at, false
			}
		}
		return at, false
	}
	end = skipToken(b, at)
	return end, end > at && end < len(b)
}

// skipString returns where the literal string at at ends.
func skipString(b []byte, at int) (int, bool) {
	for open := 0; at < len(b); at++ {
		switch b[at] {
		case '\\':
			at++
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				return at + 1, true
			}
		}
	}
	return len(b), false
}

// dict holds the values of a dictionary as written.
type dict map[string][]byte

// readDict reads the dictionary at at and returns where it ends, or where reading
// stopped; with keep it returns what is in it.
func readDict(b []byte, at, depth int, keep bool) (d dict, end int, ok bool) {
	if keep {
		d = dict{}
	}
	n := 0
	for at = skipSpace(b, at+2); at < len(b); at = skipSpace(b, at) {
		if b[at] == '>' {
			if at+1 < len(b) && b[at+1] == '>' {
				return d, at + 2, true
			}
			return d, at, false
		}
		key := at
		if b[at] != '/' || n == maxKeys {
			return d, at, false
		}
		at = skipToken(b, at)
		name := string(b[key+1 : at])
		value := skipSpace(b, at)
		if at, ok = skipValue(b, value, depth+1); !ok {
			return d, at, false
		}
		if end, ok := skipReference(b, value); ok {
			at = end
		}
		if n++; keep {
			d[name] = b[value:at]
		}
	}
	return d, at, false
}

// dictOf reads a dictionary; nil when raw is none.
func dictOf(raw []byte) dict {
	if !bytes.HasPrefix(raw, []byte("<<")) {
		return nil
	}
	d, _, ok := readDict(raw, 0, 0, true)
	if !ok {
		return nil
	}
	return d
}

// number reads a decimal number at at, without sign and of nine digits at most.
func number(b []byte, at int) (n, end int, ok bool) {
	for end = at; end < len(b) && end-at < 9 && b[end] >= '0' && b[end] <= '9'; end++ {
		n = n*10 + int(b[end]-'0')
	}
	return n, end, end > at
}

// skipReference returns where the reference ("12 0 R") at at ends.
func skipReference(b []byte, at int) (int, bool) {
	_, at, ok := number(b, at)
	if !ok || at >= len(b) || !isSpace(b[at]) {
		return at, false
	}
	_, at, ok = number(b, skipSpace(b, at))
	if !ok {
		return at, false
	}
	at = skipSpace(b, at)
	if at >= len(b) || b[at] != 'R' || skipToken(b, at) != at+1 {
		return at, false
	}
	return at + 1, true
}

// reference returns the object that raw refers to; false when it is no reference.
func reference(raw []byte) (int, bool) {
	if end, ok := skipReference(raw, 0); !ok || skipSpace(raw, end) != len(raw) {
		return 0, false
	}
	n, _, _ := number(raw, 0)
	return n, true
}

// referencesIn returns the objects that an array refers to, at most limit of them.
func referencesIn(raw []byte, limit int) []int {
	var out []int
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	for at := skipSpace(raw, 1); at < len(raw) && raw[at] != ']' && len(out) < limit; at = skipSpace(raw, at) {
		if end, ok := skipReference(raw, at); ok {
			n, _, _ := number(raw, at)
			out = append(out, n)
			at = end
			continue
		}
		end, ok := skipValue(raw, at, 0)
		if !ok {
			break
		}
		at = end
	}
	return out
}

// integer reads a number that is a whole value; -1 when raw is something else.
func integer(raw []byte) int {
	n, err := strconv.Atoi(string(bytes.TrimSpace(raw)))
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// is reports whether d has that name under key.
func (d dict) is(key, name string) bool {
	v := d[key]
	return len(v) == len(name)+1 && v[0] == '/' && string(v[1:]) == name
}
