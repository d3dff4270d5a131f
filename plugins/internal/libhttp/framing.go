package libhttp

import (
	"bytes"
	"strconv"
)

// framing finds the end of a response's body among the bytes of a connection
// (RFC 9112 section 6), so that what a server sends behind it never gets to
// net/http, which can take it for the answer to the next request. What it does
// not understand ends with the connection; net/http reports it.
type framing struct {
	kind  frameKind
	left  int64 // of the body or of the chunk
	state chunkState
	line  int   // bytes of the current line of a chunked body
	size  int64 // of the chunk whose size line is being read
}

type frameKind uint8

const (
	untilClose frameKind = iota
	byCount
	chunked
	ended
)

type chunkState uint8

const (
	sizeDigits chunkState = iota
	sizeRest
	chunkData
	chunkEnd
	trailer
)

// framingOf reads a complete head in the form that net/http takes.
func framingOf(head []byte) framing {
	line, rest := nextLine(head)
	code := ""
	if len(line) >= 12 {
		code = string(line[9:12])
	}
	if code == "204" || code == "304" {
		return framing{kind: ended}
	}
	f := framing{}
	if code == "101" {
		return f
	}
	for len(rest) > 0 {
		line, rest = nextLine(rest)
		if len(line) == 0 || line[0]|0x20 != 'c' && line[0]|0x20 != 't' {
			continue
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		switch value = bytes.TrimSpace(value); {
		case isName(name, "transfer-encoding"):
			if isName(value, "chunked") {
				return framing{kind: chunked}
			}
			return framing{}
		case isName(name, "content-length"):
			if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
				f = framing{kind: byCount, left: n}
			}
		}
	}
	if f.kind == byCount && f.left == 0 {
		f.kind = ended
	}
	return f
}

// scan returns how many of p's bytes belong to the body.
func (f *framing) scan(p []byte) int {
	switch f.kind {
	case ended:
		return 0
	case byCount:
		n := int(min(f.left, int64(len(p))))
		if f.left -= int64(n); f.left == 0 {
			f.kind = ended
		}
		return n
	case chunked:
		for i := 0; i < len(p); {
			i += f.chunk(p[i:])
			if f.kind != chunked {
				if f.kind == untilClose {
					return len(p)
				}
				return i
			}
		}
	}
	return len(p)
}

// chunk takes some bytes of a chunked body, at least one.
func (f *framing) chunk(p []byte) int {
	c := p[0]
	switch f.state {
	case sizeDigits:
		if d := hexDigit(c); d >= 0 && f.line < 15 {
			f.size = f.size<<4 | int64(d)
			f.line++
			return 1
		} else if f.line == 0 || d >= 0 {
			f.kind = untilClose // no size, or too long a one
			return 1
		}
		f.state = sizeRest
		return f.chunk(p)
	case sizeRest:
		if c != '\n' {
			return 1
		}
		f.state, f.left, f.line = chunkData, f.size, 0
		if f.size == 0 {
			f.state = trailer
		}
		f.size = 0
		return 1
	case chunkData:
		n := int(min(f.left, int64(len(p))))
		if f.left -= int64(n); f.left == 0 {
			f.state = chunkEnd
		}
		return n
	case chunkEnd:
		if c == '\n' {
			f.state = sizeDigits
		} else if c != '\r' {
			f.kind = untilClose
		}
		return 1
	}
	switch { // trailer
	case c == '\n' && f.line == 0:
		f.kind = ended
	case c == '\n':
		f.line = 0
	case c != '\r':
		f.line++
	}
	return 1
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
