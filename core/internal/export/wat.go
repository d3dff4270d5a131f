package export

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/core/internal/segment"
)

// The form of Common Crawl's WAT records, numbers as texts as there. Of HTML only what the parse
// left is known: title, metadata, and the links that the filters accepted.
type (
	watRecord struct {
		Container watContainer `json:"Container"`
		Envelope  watEnvelope  `json:"Envelope"`
	}
	watContainer struct {
		Filename   string            `json:"Filename"`
		Compressed bool              `json:"Compressed"`
		Offset     string            `json:"Offset"`
		Gzip       map[string]string `json:"Gzip-Metadata"`
	}
	watEnvelope struct {
		Format       string            `json:"Format"`
		HeaderLength string            `json:"WARC-Header-Length"`
		BlockDigest  string            `json:"Block-Digest"`
		Length       string            `json:"Actual-Content-Length"`
		Header       map[string]string `json:"WARC-Header-Metadata"`
		Payload      watPayload        `json:"Payload-Metadata"`
	}
	watPayload struct {
		Type string   `json:"Actual-Content-Type"`
		HTTP *watHTTP `json:"HTTP-Response-Metadata,omitempty"`
		HTML *watHTML `json:"HTML-Metadata,omitempty"` // of a resource record
	}
	watHTTP struct {
		Message struct {
			Status  string `json:"Status"`
			Version string `json:"Version"`
			Reason  string `json:"Reason"`
		} `json:"Response-Message"`
		Headers       map[string]string `json:"Headers"`
		HeadersLength string            `json:"Headers-Length"`
		EntityLength  string            `json:"Entity-Length"`
		EntityDigest  string            `json:"Entity-Digest"`
		HTML          *watHTML          `json:"HTML-Metadata,omitempty"`
	}
	watHTML struct {
		Head struct {
			Title string              `json:"Title,omitempty"`
			Metas []map[string]string `json:"Metas,omitempty"`
			Link  []map[string]string `json:"Link,omitempty"`
		} `json:"Head"`
		Links []watLink `json:"Links,omitempty"`
	}
	watLink struct {
		URL  string `json:"url"`
		Text string `json:"text,omitempty"`
	}
)

func wat(c *query.Capture, m segment.Member, file string, offset int64) *watRecord {
	size := m.HeadLength + len(m.Block) + len("\r\n\r\n")
	r := &watRecord{
		Container: watContainer{Filename: file, Compressed: true, Offset: strconv.FormatInt(offset, 10), Gzip: map[string]string{
			"Deflate-Length": strconv.Itoa(len(m.Packed)), "Inflated-Length": strconv.Itoa(size), "Header-Length": "10", "Footer-Length": "8",
		}},
		Envelope: watEnvelope{
			Format: "WARC", HeaderLength: strconv.Itoa(m.HeadLength), BlockDigest: segment.Digest(m.Block), Length: strconv.Itoa(len(m.Block)),
			Header: map[string]string{}, Payload: watPayload{Type: m.Get("Content-Type")},
		},
	}
	if n := len(m.Packed); n >= 8 { //nolint:mnd // a gzip member ends with checksum and length, RFC 1952
		r.Container.Gzip["Inflated-CRC"] = strconv.FormatUint(uint64(binary.LittleEndian.Uint32(m.Packed[n-8:])), 10)
	}
	for _, f := range m.Head {
		r.Envelope.Header[f.Name] = f.Value
	}
	if m.Get("WARC-Type") != "response" {
		r.Envelope.Payload.HTML = html(c)
		return r
	}
	r.Envelope.Payload.HTTP = httpOf(m.Block)
	r.Envelope.Payload.HTTP.HTML = html(c)
	return r
}

func httpOf(block []byte) *watHTTP {
	head, body, _ := bytes.Cut(block, []byte("\r\n\r\n"))
	h := &watHTTP{
		Headers: map[string]string{}, HeadersLength: strconv.Itoa(len(head) + len("\r\n\r\n")),
		EntityLength: strconv.Itoa(len(body)), EntityDigest: segment.Digest(body),
	}
	lines := strings.Split(string(head), "\r\n")
	h.Message.Version, h.Message.Status, _ = strings.Cut(lines[0], " ")
	h.Message.Status, h.Message.Reason, _ = strings.Cut(h.Message.Status, " ")
	for _, l := range lines[1:] {
		name, value, ok := strings.Cut(l, ":")
		if !ok {
			continue
		}
		value = strings.ToValidUTF8(strings.TrimSpace(value), "\ufffd")
		if old, twice := h.Headers[name]; twice {
			value = old + ", " + value
		}
		h.Headers[name] = value
	}
	return h
}

func html(c *query.Capture) *watHTML {
	if c.Parse == nil {
		return nil
	}
	h := &watHTML{}
	h.Head.Title = c.Parse.Title
	for _, k := range c.Parse.ParseMeta.Keys() {
		for _, v := range c.Parse.ParseMeta[k] {
			h.Head.Metas = append(h.Head.Metas, map[string]string{"name": k, "content": v})
		}
	}
	if c.Parse.Canonical != "" {
		h.Head.Link = []map[string]string{{"rel": "canonical", "url": c.Parse.Canonical}}
	}
	for _, l := range c.Parse.Outlinks {
		h.Links = append(h.Links, watLink{l.To, l.Anchor})
	}
	return h
}
