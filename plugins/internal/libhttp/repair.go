package libhttp

import (
	"bytes"
	"strconv"
	"strings"
)

// isClean reports whether net/http will take head as it is: a status line in
// form, every other line a token and a colon or a continuation, no control
// characters, and lengths and transfer encodings that agree with themselves.
func isClean(head []byte) bool {
	line, rest := nextLine(head)
	if !isStatusLine(line) {
		return false
	}
	seenLength := false
	for first := true; len(rest) > 0; first = false {
		line, rest = nextLine(rest)
		if len(line) == 0 {
			return len(rest) == 0
		}
		if line[0] == ' ' || line[0] == '\t' {
			if first {
				return false
			}
		} else {
			i := bytes.IndexByte(line, ':')
			if i <= 0 || !isToken(line[:i]) {
				return false
			}
			switch value := bytes.TrimSpace(line[i+1:]); {
			case isName(line[:i], "content-length"):
				if seenLength || !isLength(value) {
					return false
				}
				seenLength = true
			case isName(line[:i], "transfer-encoding"):
				if !isName(value, "chunked") {
					return false
				}
			}
		}
		for _, c := range line {
			if c < ' ' && c != '\t' || c == 0x7f {
				return false
			}
		}
	}
	return true
}

// repairHead appends to dst a head that net/http takes, made from one that it
// would refuse:
//
//   - the status line gets its form back ("HTTP/1.1 200: OK", "http/1.1 200")
//   - lines that are no header are left out; white space before the colon goes
//   - control characters in values become spaces
//   - Content-Length values that are no numbers or contradict each other, and
//     Transfer-Encoding: identity, are left out, so that the body ends with
//     the connection
func repairHead(dst, head []byte) []byte {
	line, rest := nextLine(head)
	dst = append(append(dst, repairStatusLine(line)...), '\r', '\n')
	length, lengths := lengthOf(rest)
	kept := false // a header line that a continuation can go with
	wroteLength := false
	for len(rest) > 0 {
		line, rest = nextLine(rest)
		if len(line) == 0 {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			if kept {
				dst = append(appendClean(append(dst, ' '), bytes.TrimSpace(line)), '\r', '\n')
			}
			continue
		}
		i := bytes.IndexByte(line, ':')
		if kept = i > 0; !kept {
			continue
		}
		name, value := bytes.TrimSpace(line[:i]), bytes.TrimSpace(line[i+1:])
		switch {
		case !isToken(name):
			kept = false
		case isName(name, "content-length"):
			kept = false
			if length >= 0 && !wroteLength {
				wroteLength = true
				dst = append(strconv.AppendInt(append(dst, "Content-Length: "...), length, 10), '\r', '\n')
			}
		case isName(name, "transfer-encoding") && isName(value, "identity"):
			kept = false
		}
		if kept {
			dst = append(append(dst, name...), ": "...)
			dst = append(appendClean(dst, value), '\r', '\n')
		}
	}
	if lengths > 0 && length < 0 {
		dst = append(dst, "Connection: close\r\n"...)
	}
	return append(dst, '\r', '\n')
}

// lengthOf returns the body length that all Content-Length lines agree on and
// how many such lines there are; -1 when there is none to rely on.
func lengthOf(headers []byte) (length int64, lines int) {
	length = -1
	for len(headers) > 0 {
		var line []byte
		line, headers = nextLine(headers)
		name, value, ok := bytes.Cut(line, []byte{':'})
		if !ok || !isName(bytes.TrimSpace(name), "content-length") {
			continue
		}
		lines++
		for v := range strings.SplitSeq(string(value), ",") {
			n, err := strconv.ParseUint(strings.TrimSpace(v), 10, 63)
			if err != nil || length >= 0 && int64(n) != length {
				return -1, lines
			}
			length = int64(n)
		}
	}
	return length, lines
}

func repairStatusLine(line []byte) string {
	fields := strings.Fields(string(line))
	version, code, reason := "HTTP/1.1", "", ""
	if v := strings.ToUpper(fields[0]); v == "HTTP/1.0" {
		version = v
	}
	if len(fields) > 1 {
		code = strings.TrimRight(fields[1], ":;,.")
		reason = string(appendClean(nil, []byte(strings.Join(fields[2:], " "))))
	}
	return version + " " + code + " " + reason
}

// isStatusLine reports whether line is "HTTP/1.x NNN" with or without a reason.
func isStatusLine(line []byte) bool {
	const form = "HTTP/1.x NNN"
	if len(line) < len(form) || string(line[:7]) != form[:7] || line[7] != '0' && line[7] != '1' || line[8] != ' ' {
		return false
	}
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(line) == len(form) || line[12] == ' '
}

func nextLine(b []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(b, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'}), rest
}

func appendClean(dst, value []byte) []byte {
	for _, c := range value {
		if c < ' ' && c != '\t' || c == 0x7f {
			c = ' '
		}
		dst = append(dst, c)
	}
	return dst
}

func isLength(v []byte) bool {
	if len(v) == 0 || len(v) > 18 {
		return false
	}
	for _, c := range v {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// isName compares without regard to case; lower is in lower case.
func isName(b []byte, lower string) bool {
	return len(b) == len(lower) && strings.EqualFold(string(b), lower)
}

// isToken reports whether b is a token of RFC 9110 section 5.6.2.
func isToken(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"(),/:;<=>?@[\\]{}", c) >= 0 {
			return false
		}
	}
	return len(b) > 0
}
