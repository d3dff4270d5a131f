// Package libparse holds what the parsers of documents other than HTML share:
// the names of the parse metadata, the settings of section parser, text with
// its limits, links with theirs. It must not know any document format.
package libparse

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/model"
)

// Keys of the parse metadata that parsers have in common. Those of a
// document's description are the Dublin Core's.
const (
	MetaTextCut     = "text.cut"                  // length in characters before max_text_length, or ">N" where reading stopped
	MetaOverLimit   = "outlinks.dropped.limit"    // how many links were left out
	MetaTooLong     = "outlinks.dropped.length"   // the same, for their length
	MetaUnusable    = "outlinks.dropped.unusable" // the same, for leading nowhere that can be fetched
	MetaTruncated   = "parse.truncated"           // why the document was not read to its end, one value for each reason
	MetaAuthor      = "dc.creator"
	MetaSubject     = "dc.subject"
	MetaDescription = "dc.description"
	MetaPublisher   = "dc.publisher"
	MetaCreated     = "dcterms.created"
	MetaModified    = "dcterms.modified"
	MetaGenerator   = "generator"
	MetaPages       = "pages"
)

// Section are the keys of the core's section parser that count for parsers.
type Section struct {
	DefaultCharset string `json:"character_encoding_default"`
	MinConfidence  int    `json:"charset_min_confidence"`
	MaxTextLength  int    `json:"max_text_length"` // characters; negative for no limit
}

// DefaultSection returns what holds where the section says nothing.
func DefaultSection() Section {
	return Section{DefaultCharset: "windows-1252", MinConfidence: 30, MaxTextLength: -1}
}

// Failed is the answer for a document that can't be parsed.
func Failed(c *model.Content, minor model.ParseMinor, format string, args ...any) *parser.Output {
	return &parser.Output{Parses: []model.Parse{{
		URL: c.URL, Status: model.ParseStatus{Major: model.ParseFailed, Minor: minor, Message: fmt.Sprintf(format, args...)},
	}}}
}

// Unreadable is the answer for a document that is not what its format wants: invalid, or truncated
// when its end was cut off on the way, which is the likelier reason then.
func Unreadable(c *model.Content, format string, args ...any) *parser.Output {
	if c.Truncated == "" {
		return Failed(c, model.ParseFailedInvalidFormat, format, args...)
	}
	return Failed(c, model.ParseFailedTruncated, "%s; the document is cut off (%s)", fmt.Sprintf(format, args...), c.Truncated)
}

// Succeeded is the answer for a parsed document; facts is how many facts were
// asked for, each of which wants its answer.
func Succeeded(p *model.Parse, facts int) *parser.Output {
	p.Status.Major = model.ParseSuccess
	if facts > 0 && p.Facts == nil {
		p.Facts = make([]model.FactResult, facts)
	}
	return &parser.Output{Parses: []model.Parse{*p}}
}

// Truncated notes in meta that the document was not read to its end.
func Truncated(meta model.Metadata, reason string) {
	if !slices.Contains(meta[MetaTruncated], reason) {
		meta[MetaTruncated] = append(meta[MetaTruncated], reason)
	}
}

// SetMeta sets a key of meta to a value, white space collapsed and at most 4 KiB
// of it, unless that is empty.
func SetMeta(meta model.Metadata, key, value string) {
	if value = Clean(value); value != "" {
		meta.Set(key, value)
	}
}

// maxField bounds the length of a title or a metadata value in bytes.
const maxField = 4096

// Clean collapses white space and drops controls, invalid UTF-8 and what is
// over 4 KiB.
func Clean(s string) string {
	if len(s) > 4*maxField {
		s = s[:4*maxField]
	}
	s = strings.Map(func(c rune) rune {
		switch {
		case c < ' ' || c == 0x7f || c == 0xfeff:
			return ' '
		case c == 0xfffd || c == 0xfffe || c == 0xffff:
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, ""))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxField {
		s = strings.ToValidUTF8(s[:maxField], "")
	}
	return s
}

// Links gathers a document's links: absolute, each once.
type Links struct {
	Base      string // URL that relative links are resolved against
	Self      string // the document's own URL
	Max       int    // links kept; 0 means no limit
	MaxLength int    // bytes of a link; 0 means no limit

	out                     []model.Outlink
	seen                    map[string]int
	over, tooLong, unusable int
}

// Add adds a link as written in the document. A link met again gets the anchor
// only when it had none.
func (l *Links) Add(ref, anchor string) {
	if l.MaxLength > 0 && len(ref) > l.MaxLength {
		l.tooLong++
		return
	}
	url, ok := Resolve(l.Base, ref)
	if !ok || sameDocument(url, l.Self) {
		l.unusable++
		return
	}
	if i, ok := l.seen[url]; ok {
		if l.out[i].Anchor == "" {
			l.out[i].Anchor = Clean(anchor)
		}
		return
	}
	if l.Max > 0 && len(l.out) >= l.Max {
		l.over++
		return
	}
	if l.seen == nil {
		l.seen = map[string]int{}
	}
	l.seen[url] = len(l.out)
	l.out = append(l.out, model.Outlink{URL: url, Anchor: Clean(anchor), Tag: "a"})
}

// AddText adds the URLs that are written in text.
func (l *Links) AddText(text string) {
	urls, over := FindURLs(text, l.Max, l.Self)
	for _, u := range urls {
		l.Add(u, "")
	}
	l.over += over
}

// Len returns how many links there are.
func (l *Links) Len() int { return len(l.out) }

// Finish returns the links and notes in meta how many were left out.
func (l *Links) Finish(meta model.Metadata) []model.Outlink {
	for _, n := range [...]struct {
		key   string
		count int
	}{{MetaOverLimit, l.over}, {MetaTooLong, l.tooLong}, {MetaUnusable, l.unusable}} {
		if n.count > 0 {
			meta.Set(n.key, strconv.Itoa(n.count))
		}
	}
	return l.out
}
