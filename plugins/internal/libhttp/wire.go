package libhttp

import (
	"bytes"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
)

// wireConn is a connection that carries one HTTP/1 exchange after the other in
// clear (under TLS, if any). It keeps the heads of request and response as they
// went over the wire, for WARC, and repairs response heads that servers get
// wrong and browsers put up with (see repairHead), before net/http reads them.
type wireConn struct {
	net.Conn
	peer    string // address without the port
	maxHead int

	mu     sync.Mutex
	inHead bool
	now    *heads // of the exchange under way
	out    []byte // repaired bytes that still have to be handed on
	frame  framing
	spent  bool // the server sent more than its answer; the connection is not to be used again
}

// heads are the heads of one exchange, each with its closing empty line; the
// response's may be cut when it never ended. The next exchange on the
// connection, which may begin before this one's caller is done, has heads of
// its own. Guarded by the connection's mu.
type heads struct {
	request  []byte
	response []byte // as received
}

func newWireConn(c net.Conn, maxHead int) *wireConn {
	return &wireConn{Conn: c, peer: peerOf(c), maxHead: maxHead, now: &heads{}}
}

func peerOf(c net.Conn) string {
	if c == nil {
		return ""
	}
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap().String()
	}
	return ""
}

// begin starts an exchange. It is called when net/http has chosen the
// connection for a request, before anything of it is written; what was read
// before that was not asked for and is net/http's to refuse.
func (c *wireConn) begin(h *heads) {
	c.mu.Lock()
	c.inHead, c.now = true, h
	c.mu.Unlock()
}

// take returns the heads kept in h, which the caller then owns.
func (c *wireConn) take(h *heads) (request, response []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clip(h.request), slices.Clip(h.response)
}

func (c *wireConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.inHead && len(c.now.request)+len(p) <= maxRequestHead {
		c.now.request = append(c.now.request, p...)
	}
	c.mu.Unlock()
	return c.Conn.Write(p)
}

// maxRequestHead bounds the copy of a request's head; URLs can be long.
const maxRequestHead = 1 << 20

func (c *wireConn) Read(p []byte) (int, error) {
	for {
		c.mu.Lock()
		if len(c.out) > 0 {
			n := c.handOn(p)
			c.mu.Unlock()
			return n, nil
		}
		spent := c.spent
		c.mu.Unlock()
		if spent {
			return 0, io.EOF
		}
		n, err := c.Conn.Read(p)
		c.mu.Lock()
		switch {
		case !c.inHead:
			if m := c.frame.scan(p[:n]); m < n {
				n, c.spent = m, true
			}
			c.mu.Unlock()
			if n > 0 || err != nil {
				return n, err
			}
		case n > 0:
			var asIs bool
			asIs, c.inHead = c.absorb(p[:n])
			if asIs {
				end := len(c.now.response)
				if m := end + c.frame.scan(p[end:n]); m < n {
					n, c.spent = m, true
				}
			}
			c.mu.Unlock()
			if asIs {
				return n, err
			}
		case err != nil && len(c.now.response) > 0: // ended within the head; the next read has the error again
			c.inHead = false
			c.out = append(c.out, c.now.response...)
			c.mu.Unlock()
		default:
			c.mu.Unlock()
			return n, err
		}
	}
}

// handOn moves bytes from c.out to p.
func (c *wireConn) handOn(p []byte) int {
	n := copy(p, c.out)
	c.out = c.out[n:]
	return n
}

// absorb takes new bytes while a head is being read. It reports whether they
// are to be handed on as they are; otherwise what net/http is to see is in
// c.out, which stays empty while the head is incomplete. It also reports
// whether the head goes on.
func (c *wireConn) absorb(p []byte) (asIs, inHead bool) {
	h := c.now.response
	if len(h) == 0 && p[0] != '\r' && p[0] != '\n' {
		// The common case: a whole head that needs no repair.
		if end := headEnd(p, 0); end > 0 && !isInterim(p) && isClean(p[:end]) {
			c.now.response = bytes.Clone(p[:end])
			c.frame = framingOf(p[:end])
			return true, false
		}
	}
	from := max(0, len(h)-3)
	h = append(h, p...)
	c.out, c.frame = c.out[:0], framing{}
	defer func() { c.now.response = h }()
	for {
		if h[0] == '\r' || h[0] == '\n' { // blank lines before the status line
			h, from = append(h[:0], bytes.TrimLeft(h, "\r\n")...), 0
			if len(h) == 0 {
				return false, true
			}
		}
		if !startsLikeHTTP(h) {
			h = c.absorbBare(h)
			return false, false
		}
		end := headEnd(h, from)
		switch {
		case end < 0 && len(h) <= c.maxHead:
			return false, true
		case end < 0: // too long: net/http refuses it with a message of its own
			c.out = append(c.out, h...)
			return false, false
		case isInterim(h): // the real head is still to come
			c.out = append(c.out, h[:end]...)
			h, from = append(h[:0], h[end:]...), 0
			if len(h) == 0 {
				return false, true
			}
			continue
		}
		start := len(c.out)
		if isClean(h[:end]) {
			c.out = append(c.out, h[:end]...)
		} else {
			c.out = repairHead(c.out, h[:end])
		}
		c.frame = framingOf(c.out[start:])
		body := h[end:]
		n := c.frame.scan(body)
		c.spent = n < len(body)
		c.out = append(c.out, body[:n]...)
		h = h[:end]
		return false, false
	}
}

// absorbBare handles an answer without a status line and returns the head to
// keep. Markup is taken for the body of an HTTP/0.9 answer; anything else
// (another protocol's greeting) goes on to net/http, which refuses it.
func (c *wireConn) absorbBare(h []byte) []byte {
	const statusLine = "HTTP/1.0 200 OK\r\n\r\n"
	made := ""
	if bytes.HasPrefix(bytes.TrimLeft(h, " \t"), []byte{'<'}) {
		made = statusLine
	}
	c.out = append(append(c.out, made...), h...)
	return []byte(made)
}

// startsLikeHTTP reports whether b begins, or may still begin, with "HTTP/".
func startsLikeHTTP(b []byte) bool {
	const want = "HTTP/"
	k := min(len(b), len(want))
	return strings.EqualFold(string(b[:k]), want[:k])
}

// headEnd returns the offset behind the empty line that ends a head, looking
// from offset from on, or -1.
func headEnd(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		j := bytes.IndexByte(b[i:], '\n')
		if j < 0 {
			return -1
		}
		i += j
		switch {
		case i+1 < len(b) && b[i+1] == '\n':
			return i + 2
		case i+2 < len(b) && b[i+1] == '\r' && b[i+2] == '\n':
			return i + 3
		}
	}
	return -1
}

// isInterim reports whether a head has a 1xx status other than 101.
func isInterim(head []byte) bool {
	_, rest, ok := bytes.Cut(head[:min(len(head), 16)], []byte{' '})
	return ok && len(rest) >= 3 && rest[0] == '1' && string(rest[:3]) != "101"
}
