package segment

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the digest WARC tools compare payloads by
	"encoding/base32"
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/gonutch/crawler/sdk/extension/protocol"
)

// FetchItem is one fetch to be committed.
type FetchItem struct {
	Fetch Fetch
	// Request and Response are the heads as sent and received, with or without
	// the empty line at the end. No Response makes a resource record; no Request, no
	// request record.
	Request, Response []byte
	Body              []byte // decoded payload
	Attachments       []protocol.Attachment
	NoContent         bool // nothing to be written to the WARC file
}

// member is a gzip member of a WARC file.
type member struct {
	data     []byte
	response int   // length of the first record's member
	attached []int // lengths of the attachments' members, which come last
}

// uuid returns a random UUID URN in angle brackets (RFC 4122, version 4). WARC
// asks for unique ids, not for unguessable ones.
func uuid() []byte {
	var u [16]byte
	binary.LittleEndian.PutUint64(u[:8], rand.Uint64()) //nolint:gosec // see above
	binary.LittleEndian.PutUint64(u[8:], rand.Uint64()) //nolint:gosec // see above
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	const digits = "0123456789abcdef"
	b := []byte("<urn:uuid:")
	for i, c := range u {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b = append(b, '-')
		}
		b = append(b, digits[c>>4], digits[c&15])
	}
	return append(b, '>')
}

func digest(body []byte) string {
	sum := sha1.Sum(body) //nolint:gosec // see the import
	return "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
}

// field appends one WARC header line; line breaks in the value become spaces.
func field(b []byte, name, value string) []byte {
	b = append(append(b, name...), ": "...)
	if strings.ContainsAny(value, "\r\n\x00") {
		value = strings.Map(func(r rune) rune {
			if r == '\r' || r == '\n' || r == 0 {
				return ' '
			}
			return r
		}, value)
	}
	return append(append(b, value...), '\r', '\n')
}

// uriField is field for a URI: bytes that none may hold are percent-encoded.
func uriField(b []byte, name, uri string) []byte {
	b = append(append(b, name...), ": "...)
	const digits = "0123456789ABCDEF"
	for i := range len(uri) {
		if c := uri[i]; c <= ' ' || c >= 0x7f || c == '<' || c == '>' || c == '"' {
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return append(b, '\r', '\n')
}

const warcTime = "2006-01-02T15:04:05.000000Z"

// recordHead appends the head of a WARC record up to Content-Type.
func recordHead(b []byte, kind, id, contentType string, at time.Time) []byte {
	b = append(b, "WARC/1.1\r\n"...)
	b = field(b, "WARC-Type", kind)
	b = field(b, "WARC-Record-ID", id)
	b = append(b, "WARC-Date: "...)
	b = at.UTC().AppendFormat(b, warcTime)
	b = append(b, '\r', '\n')
	return field(b, "Content-Type", contentType)
}

func endHead(b []byte, length int) []byte {
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(length), 10)
	return append(b, "\r\n\r\n"...)
}

// storedHead rewrites a response head so that it describes the decoded payload
// of n bytes; see the package comment.
func storedHead(head []byte, n int) []byte {
	out := make([]byte, 0, len(head)+96)
	first := true
	for len(head) > 0 {
		line := head
		if i := bytes.IndexByte(head, '\n'); i >= 0 {
			line, head = head[:i], head[i+1:]
		} else {
			head = nil
		}
		line = bytes.TrimRight(line, "\r")
		if first {
			out = append(out, statusLine(line)...)
			out = append(out, '\r', '\n')
			first = false
			continue
		}
		if len(line) == 0 {
			break
		}
		name, _, ok := bytes.Cut(line, []byte(":"))
		if !ok && line[0] != ' ' && line[0] != '\t' {
			continue // no header at all; readers stumble over it
		}
		if describesTransfer(name) {
			out = append(out, "X-Crawler-"...)
		}
		out = append(append(out, line...), '\r', '\n')
	}
	out = append(out, "Content-Length: "...)
	out = strconv.AppendInt(out, int64(n), 10)
	return append(out, "\r\n\r\n"...)
}

func describesTransfer(name []byte) bool {
	switch len(name) {
	case len("Content-Length"):
		return strings.EqualFold(string(name), "Content-Length")
	case len("Content-Encoding"):
		return strings.EqualFold(string(name), "Content-Encoding")
	case len("Transfer-Encoding"):
		return strings.EqualFold(string(name), "Transfer-Encoding")
	}
	return false
}

// statusLine writes HTTP/2 and later as HTTP/1.1, whose readers want a reason.
func statusLine(line []byte) []byte {
	proto, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || !bytes.HasPrefix(proto, []byte("HTTP/")) {
		return []byte("HTTP/1.1 200 OK")
	}
	if bytes.HasPrefix(proto, []byte("HTTP/1.")) {
		return line
	}
	return append([]byte("HTTP/1.1 "), rest...)
}

// appendResponse appends the uncompressed response or resource record of it.
func appendResponse(b []byte, it *FetchItem, id string) []byte {
	f := &it.Fetch
	kind, ct := "response", "application/http; msgtype=response"
	var head []byte
	if len(it.Response) > 0 {
		head = storedHead(it.Response, len(it.Body))
	} else {
		kind, ct = "resource", f.MIMEType
		if ct == "" {
			ct = "application/octet-stream"
		}
	}
	b = recordHead(b, kind, id, ct, f.FetchTime)
	b = uriField(b, "WARC-Target-URI", f.URL)
	if f.IP != "" {
		b = field(b, "WARC-IP-Address", f.IP)
	}
	if f.ProtocolVersion != "" {
		b = field(b, "WARC-Protocol", f.ProtocolVersion)
	}
	if f.Truncated != "" {
		b = field(b, "WARC-Truncated", f.Truncated)
	}
	if f.MIMEType != "" {
		b = field(b, "WARC-Identified-Payload-Type", f.MIMEType)
	}
	b = field(b, "WARC-Payload-Digest", digest(it.Body))
	b = endHead(b, len(head)+len(it.Body))
	b = append(append(b, head...), it.Body...)
	return append(b, "\r\n\r\n"...)
}

func appendRequest(b []byte, it *FetchItem, response string) []byte {
	f := &it.Fetch
	head := bytes.TrimRight(it.Request, "\r\n")
	b = recordHead(b, "request", string(uuid()), "application/http; msgtype=request", f.FetchTime)
	b = uriField(b, "WARC-Target-URI", f.URL)
	b = field(b, "WARC-Concurrent-To", response)
	b = endHead(b, len(head)+4)
	return append(append(b, head...), "\r\n\r\n\r\n\r\n"...)
}

// appendInfo appends the warcinfo record of the named file.
func (g *Segments) appendInfo(b []byte, file, seg string, at time.Time) []byte {
	var info []byte
	info = field(info, "software", g.o.Software)
	info = field(info, "format", "WARC File Format 1.1")
	info = field(info, "conformsTo", "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/")
	info = field(info, "isPartOf", seg)
	if g.o.Operator != "" {
		info = field(info, "operator", g.o.Operator)
	}
	if g.o.UserAgent != "" {
		info = field(info, "http-header-user-agent", g.o.UserAgent)
	}
	b = recordHead(b, "warcinfo", string(uuid()), "application/warc-fields", at)
	b = field(b, "WARC-Filename", file)
	b = endHead(b, len(info))
	b = append(b, info...)
	return append(b, "\r\n\r\n"...)
}

// compressor is a gzip writer and its buffers, reused.
type compressor struct {
	raw []byte
	out bytes.Buffer
	gz  *gzip.Writer
}

func (g *Segments) compressor() *compressor {
	if c, ok := g.gz.Get().(*compressor); ok {
		return c
	}
	c := new(compressor)
	c.gz, _ = gzip.NewWriterLevel(&c.out, g.o.Level) // level was checked
	return c
}

// keepBuffer is how large a buffer may be to be kept for reuse.
const keepBuffer = 4 << 20

func (g *Segments) putCompressor(c *compressor) {
	if cap(c.raw) <= keepBuffer && c.out.Cap() <= keepBuffer {
		g.gz.Put(c)
	}
}

// pack appends raw as one gzip member to out and returns the new end.
func (c *compressor) pack() {
	c.gz.Reset(&c.out)
	_, _ = c.gz.Write(c.raw) // a bytes.Buffer doesn't fail
	_ = c.gz.Close()
}

// members compresses the item's records.
func (g *Segments) members(it *FetchItem) member {
	c := g.compressor()
	defer g.putCompressor(c)
	c.out.Reset()
	id := string(uuid())
	c.raw = appendResponse(c.raw[:0], it, id)
	c.pack()
	m := member{response: c.out.Len()}
	if len(it.Request) > 0 {
		c.raw = appendRequest(c.raw[:0], it, id)
		c.pack()
	}
	for i := range it.Attachments {
		before := c.out.Len()
		c.raw = appendAttachment(c.raw[:0], it, &it.Attachments[i], id)
		c.pack()
		m.attached = append(m.attached, c.out.Len()-before)
	}
	m.data = bytes.Clone(c.out.Bytes())
	return m
}

// appendAttachment appends a resource record that belongs to response. The form of its
// target URI is that of Browsertrix Crawler's records (urn:view:URL and so on).
func appendAttachment(b []byte, it *FetchItem, a *protocol.Attachment, response string) []byte {
	ct := a.ContentType
	if ct == "" {
		ct = "application/octet-stream"
	}
	b = recordHead(b, "resource", string(uuid()), ct, it.Fetch.FetchTime)
	b = uriField(b, "WARC-Target-URI", "urn:"+a.Name+":"+it.Fetch.URL)
	b = field(b, "WARC-Concurrent-To", response)
	b = field(b, "WARC-Payload-Digest", digest(a.Body))
	b = endHead(b, len(a.Body))
	return append(append(b, a.Body...), "\r\n\r\n"...)
}
