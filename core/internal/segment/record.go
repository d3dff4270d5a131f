package segment

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/store"
)

// Field is one header line of a WARC record.
type Field struct{ Name, Value string }

// Record is a WARC record outside a segment: one that was read, or one to be written.
type Record struct {
	Head       []Field // in order
	Block      []byte
	HeadLength int // bytes before the block, of a record that was read
}

// NewRecord returns a record of a kind with an id of its own. The fields that follow the common
// ones, and the block, are the caller's; values of URI fields must be URIs.
func NewRecord(kind, contentType string, at time.Time, block []byte, more ...Field) *Record {
	head := []Field{
		{"WARC-Type", kind},
		{"WARC-Record-ID", string(uuid())},
		{"WARC-Date", at.UTC().Format(warcTime)},
		{"Content-Type", contentType},
	}
	return &Record{Head: append(head, more...), Block: block}
}

// Append appends the uncompressed record, with its Content-Length, to b.
func (r *Record) Append(b []byte) []byte {
	b = append(b, "WARC/1.1\r\n"...)
	for _, f := range r.Head {
		if f.Name == "WARC-Target-URI" {
			b = uriField(b, f.Name, f.Value)
		} else {
			b = field(b, f.Name, f.Value)
		}
	}
	b = append(endHead(b, len(r.Block)), r.Block...)
	return append(b, "\r\n\r\n"...)
}

// Get returns the value of a field, "" when there is none.
func (r *Record) Get(name string) string {
	for _, f := range r.Head {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// ParseRecord takes one uncompressed record apart. Block is a part of raw. It fails with
// store.ErrCorrupt.
func ParseRecord(raw []byte) (*Record, error) {
	head, block, ok := bytes.Cut(raw, []byte("\r\n\r\n"))
	if !ok || !bytes.HasPrefix(head, []byte("WARC/1.")) {
		return nil, fmt.Errorf("%w: no WARC record", store.ErrCorrupt)
	}
	r := &Record{HeadLength: len(head) + len("\r\n\r\n")}
	for _, l := range strings.Split(string(head), "\r\n")[1:] {
		if name, value, ok := strings.Cut(l, ":"); ok {
			r.Head = append(r.Head, Field{name, strings.TrimSpace(value)})
		}
	}
	n, err := strconv.Atoi(r.Get("Content-Length"))
	if err != nil || n < 0 || n > len(block) {
		return nil, fmt.Errorf("%w: Content-Length %q of a WARC record with %d bytes", store.ErrCorrupt, r.Get("Content-Length"), len(block))
	}
	r.Block = block[:n]
	return r, nil
}

// Digest returns the SHA-1 of b as WARC writes it, "sha1:" and base 32.
func Digest(b []byte) string { return digest(b) }
