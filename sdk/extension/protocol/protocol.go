// Package protocol is the Protocol extension point: fetch one URL of a scheme.
//
// The core calls Fetch for every page, robots.txt and sitemap it wants, after
// politeness, robots rules and the byte budget have let it through. The plugin
// never decides whether to fetch, never follows a redirect and never retries:
// it performs one exchange and reports it. Fetch is the one call that is not
// batched; its body is streamed. Calls come concurrently, as many as the
// manifest allows.
package protocol

import (
	"context"
	"time"

	"github.com/gonutch/crawler/sdk/model"
)

// Kind says what a request is for.
type Kind uint8

// The kinds of requests. Robots and sitemap requests go out without cookies
// or login.
const (
	Page Kind = iota
	Robots
	Sitemap
)

// Request is one exchange to perform.
type Request struct {
	URL          string
	Kind         Kind
	LastModified string         // value for If-Modified-Since, or "": unconditional
	ETag         string         // value for If-None-Match, or ""
	MaxBytes     int64          // body limit after decoding; 0 means the plugin's own setting
	Timeout      time.Duration  // for the whole exchange; 0 means the plugin's own setting
	AllowPrivate []string       // host:port pairs and CIDR networks outside the public net that this request may reach
	Metadata     model.Metadata // of the CrawlDatum (such as Cookie); read only
	Headers      model.Metadata // that the user sets for the host (canonical names), over the plugin's own; values are secrets; read only
}

// Response is what came back. Outcomes such as 404 are data, not errors.
type Response struct {
	Status      model.ProtocolStatus
	URL         string         // URL asked for; an answer that names another one is refused
	Location    string         // absolute redirect target, when Status is moved or temp_moved
	Headers     model.Metadata // canonical header names
	Body        []byte         // decoded payload, at most the limit
	ContentType string
	Truncated   string // "", "length", "time", "disconnect"
	// RetryAfter is how long the server asked to be left alone, 0 when it did not, or
	// how long the plugin itself can't ask it, such as until it may log in again.
	RetryAfter time.Duration
	IP         string    // peer address, or "" behind a proxy
	Protocol   string    // such as "HTTP/1.1", "h2", "file"
	FetchTime  time.Time // start of the exchange
	Elapsed    time.Duration
	// Attachments are what belongs to the document besides its body, such as a picture of
	// a page. They are kept with it and never parsed.
	Attachments []Attachment
	RawRequest  []byte // request line and headers as sent, for WARC; nil when there is none
	RawResponse []byte // status line and headers as received, for WARC; nil when there is none
}

// Attachment is something kept beside a document. Its record in the WARC file is a
// resource with the target URI urn:NAME:URL, as other crawlers name theirs.
type Attachment struct {
	Name        string // such as "view" (a picture of the window) and "fullPage"; letters only
	ContentType string
	Body        []byte
}

// MaxAttachments bounds the bytes of all attachments of one response.
const MaxAttachments = 32 << 20

// Protocol fetches URLs of the schemes its manifest names. Implementations are
// safe for concurrent use.
type Protocol interface {
	// Fetch performs one exchange. An error means the plugin itself could not
	// work; every answer of a server, and every failure to reach one, is a
	// Response with a status (model.ProtocolException for transient trouble).
	Fetch(ctx context.Context, req *Request) (*Response, error)
}
