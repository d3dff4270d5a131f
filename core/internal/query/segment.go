package query

import (
	"context"
	"encoding/hex"
	"errors"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// SegmentsQuery asks for a list of segments.
type SegmentsQuery struct {
	Names []string `json:"names,omitempty"` // ids, or paths that end in them; none means all
}

// SegmentsAnswer lists segments, oldest first.
type SegmentsAnswer struct {
	Segments []Segment `json:"segments"`
}

// Segment is one fetch round. Times that are not known are zero.
type Segment struct {
	Name         string    `json:"name"`
	Round        int       `json:"round"`
	State        string    `json:"state"`
	Created      time.Time `json:"created,omitzero"`
	FetcherStart time.Time `json:"fetcherStart,omitzero"`
	FetcherEnd   time.Time `json:"fetcherEnd,omitzero"`
	Generated    int64     `json:"generated"`
	Fetched      int64     `json:"fetched"`
	Failed       int64     `json:"failed"`
	Released     int64     `json:"released"` // given back unchanged
	Parsed       int64     `json:"parsed"`
	ParseFailed  int64     `json:"parseFailed"`
	Updated      int64     `json:"updated"`
	Bytes        int64     `json:"bytes"`
	Leased       int       `json:"leased"` // not finished yet
}

// Segments is the verb of "readseg --list".
func Segments() Verb[SegmentsQuery, SegmentsAnswer] {
	return Verb[SegmentsQuery, SegmentsAnswer]{"segments", segments}
}

func segments(ctx context.Context, s *Source, q SegmentsQuery) (SegmentsAnswer, error) {
	out := SegmentsAnswer{Segments: []Segment{}}
	if len(q.Names) == 0 {
		metas, err := segment.List(ctx, s.Crawl.Store)
		for i := range metas {
			out.Segments = append(out.Segments, s.segment(&metas[i]))
		}
		return out, err
	}
	for _, name := range q.Names {
		m, err := s.meta(name)
		if err != nil {
			return out, err
		}
		out.Segments = append(out.Segments, s.segment(&m))
	}
	return out, nil
}

// meta returns a segment by its id, or by a path that ends in it.
func (s *Source) meta(name string) (segment.Meta, error) {
	id := path.Base(strings.TrimRight(name, "/"))
	m, ok, err := segment.GetMeta(s.Crawl.Store, id)
	if err == nil && !ok {
		err = fault.Errorf(fault.Invalid, "there is no segment %q; \"crawler readseg --list\" shows them", name)
	}
	return m, err
}

func (s *Source) segment(m *segment.Meta) Segment {
	c := &m.Counts
	out := Segment{
		Name: m.ID, Round: m.Round, State: string(m.State), Created: m.Created, FetcherStart: m.Started,
		Generated: c.Generated, Fetched: c.Fetched, Failed: c.Failed, Released: c.Released, Parsed: c.Parsed,
		ParseFailed: c.ParseFailed, Updated: c.Updated, Bytes: c.Bytes, Leased: s.Crawl.DB.LeasedCount(m.ID),
	}
	if m.State != segment.StateGenerated && m.State != segment.StateGenerating {
		out.FetcherEnd = m.Ended
	}
	return out
}

// PageQuery asks for what a segment has of one URL.
type PageQuery struct {
	Segment string `json:"segment"`
	URL     string `json:"url"`
	Without
	// Attachment names something kept beside the document, to be had whole.
	Attachment string `json:"attachment,omitempty"`
}

// Without are the parts of a segment to leave out.
type Without struct {
	NoContent   bool `json:"no_content,omitempty"`
	NoFetch     bool `json:"no_fetch,omitempty"`
	NoGenerate  bool `json:"no_generate,omitempty"`
	NoParse     bool `json:"no_parse,omitempty"` // the outlinks
	NoParseData bool `json:"no_parse_data,omitempty"`
	NoParseText bool `json:"no_parse_text,omitempty"`
}

// DumpQuery asks for everything that a segment has.
type DumpQuery struct {
	Segment string `json:"segment"`
	Without
}

// PageAnswer is what a segment has of one URL; parts that are not there or not
// wanted are nil.
type PageAnswer struct {
	URL       string     `json:"url"`
	Segment   string     `json:"segment"`
	Generate  *Generated `json:"crawlGenerate,omitempty"`
	Fetch     *Fetched   `json:"crawlFetch,omitempty"`
	Content   *Content   `json:"content,omitempty"`
	ParseData *ParseData `json:"parseData,omitempty"`
	ParseText string     `json:"parseText,omitempty"`
	// Attachment is what was asked for by its name.
	Attachment []byte `json:"attachment,omitempty"`
}

// Found reports whether the segment has anything of the URL.
func (a *PageAnswer) Found() bool {
	return a.Generate != nil || a.Fetch != nil || a.Content != nil || a.ParseData != nil || a.ParseText != ""
}

// Generated is the record as it was when the fetch list was made.
type Generated struct {
	StatusCode      int            `json:"statusCode"`
	StatusName      string         `json:"statusName"`
	FetchTime       time.Time      `json:"fetchTime"`
	Retries         int            `json:"retriesSinceFetch"`
	IntervalSeconds int64          `json:"retryIntervalSeconds"`
	Score           float64        `json:"score"`
	Sort            float64        `json:"sortValue"`
	Metadata        model.Metadata `json:"metadata,omitempty"`
}

// Fetched is how the fetch ended.
type Fetched struct {
	StatusCode    int            `json:"statusCode"`
	StatusName    string         `json:"statusName"`
	Protocol      string         `json:"protocolStatus"`
	HTTP          int            `json:"httpStatus,omitempty"`
	FetchTime     time.Time      `json:"fetchTime"`
	ElapsedMillis int64          `json:"elapsedMillis"`
	IP            string         `json:"ip,omitempty"`
	Version       string         `json:"protocolVersion,omitempty"`
	ContentType   string         `json:"contentType,omitempty"` // as sent
	MIMEType      string         `json:"mimeType,omitempty"`    // as decided
	Size          int64          `json:"size"`
	Truncated     string         `json:"truncated,omitempty"`
	Location      string         `json:"location,omitempty"` // where a redirect leads
	Signature     string         `json:"signature,omitempty"`
	WARC          string         `json:"warcFile,omitempty"`
	Offset        int64          `json:"warcOffset,omitempty"`
	Length        int64          `json:"warcLength,omitempty"`
	Metadata      model.Metadata `json:"metadata,omitempty"`
}

// Content is the stored document.
type Content struct {
	Headers model.Metadata `json:"headers,omitempty"`
	Size    int            `json:"size"`
	Text    string         `json:"text,omitempty"` // the start of the body, if it is text
	Binary  bool           `json:"binary,omitempty"`
	Cut     bool           `json:"cut,omitempty"` // Text is not the whole
}

// ParseData is what the parser found besides the text.
type ParseData struct {
	Status      string           `json:"status"`
	Parser      string           `json:"parser"`
	Title       string           `json:"title"`
	Charset     string           `json:"charset,omitempty"`
	Language    string           `json:"language,omitempty"`
	Canonical   string           `json:"canonical,omitempty"`
	NoIndex     bool             `json:"noindex,omitempty"`
	NoFollow    bool             `json:"nofollow,omitempty"`
	Signature   string           `json:"signature,omitempty"`
	AllLinks    int              `json:"allLinks"` // before limits and filters
	Outlinks    []Outlink        `json:"outlinks"` // those accepted
	Dropped     map[string]int64 `json:"dropped,omitempty"`
	ContentMeta model.Metadata   `json:"contentMeta,omitempty"`
	ParseMeta   model.Metadata   `json:"parseMeta,omitempty"`
}

// Outlink is an accepted link of the page.
type Outlink struct {
	To     string `json:"to"`
	Anchor string `json:"anchor,omitempty"`
}

// Page is the verb of "readseg --get".
func Page() Verb[PageQuery, *PageAnswer] { return Verb[PageQuery, *PageAnswer]{"page", page} }

func page(_ context.Context, s *Source, q PageQuery) (*PageAnswer, error) {
	m, err := s.meta(q.Segment)
	if err != nil {
		return nil, err
	}
	key := urlkey.FromURL(q.URL)
	a, f, err := s.page(m.ID, key, q.URL, q.Without)
	if err != nil {
		return nil, err
	}
	if f != nil && q.Attachment != "" {
		if a.Attachment, _, err = s.Crawl.Segs.Attachment(m.ID, f, q.Attachment); err != nil && !errors.Is(err, segment.ErrNoContent) {
			return nil, err
		}
	}
	return a, nil
}

// page gathers what a segment has of a URL.
func (s *Source) page(seg string, key urlkey.Key, url string, q Without) (*PageAnswer, *segment.Fetch, error) {
	a := &PageAnswer{URL: url, Segment: seg}
	if !q.NoGenerate {
		h, ok, err := s.Crawl.DB.Hint(seg, key)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			a.Generate = &Generated{
				StatusCode: int(h.Status), StatusName: h.Status.String(), FetchTime: h.FetchTime, Retries: h.Retries,
				IntervalSeconds: int64(h.Interval / time.Second), Score: score(h.Score), Sort: score(h.Sort), Metadata: h.Metadata,
			}
		}
	}
	f, err := s.Crawl.Segs.GetFetch(seg, key)
	if err != nil {
		return nil, nil, err
	}
	if f != nil && !q.NoFetch {
		a.Fetch = fetched(f)
	}
	if f != nil && !q.NoContent {
		if a.Content, err = s.content(seg, key); err != nil {
			return nil, nil, err
		}
	}
	return a, f, s.parse(a, key, q)
}

// Dump lists everything that a segment has, by reversed host: "readseg --dump".
func Dump() List[DumpQuery, *PageAnswer] { return List[DumpQuery, *PageAnswer]{"dump", dump} }

func dump(ctx context.Context, s *Source, q DumpQuery, f func(*PageAnswer) error) error {
	m, err := s.meta(q.Segment)
	if err != nil {
		return err
	}
	parts := []byte{segment.PartGenerate, segment.PartFetch, segment.PartParseData}
	return s.Crawl.Segs.EachOf(ctx, m.ID, parts, func(k urlkey.Key) error {
		url, err := urlkey.ToURL(k)
		if err != nil {
			return err
		}
		a, _, err := s.page(m.ID, k, url, q.Without)
		if err != nil {
			return err
		}
		if !a.Found() {
			return nil
		}
		return f(a)
	})
}

func (s *Source) parse(a *PageAnswer, key urlkey.Key, q Without) error {
	if q.NoParseData && q.NoParseText {
		return nil
	}
	p, err := s.Crawl.Segs.GetParse(a.Segment, key, segment.Want{Text: !q.NoParseText, Outlinks: !q.NoParseData && !q.NoParse})
	if err != nil || p == nil {
		return err
	}
	a.ParseText = p.Text
	if !q.NoParseData {
		a.ParseData = parseData(p)
	}
	return nil
}

func fetched(f *segment.Fetch) *Fetched {
	return &Fetched{
		StatusCode: int(f.Status), StatusName: f.Status.String(), Protocol: f.Protocol.String(), HTTP: f.Protocol.HTTP, FetchTime: f.FetchTime,
		ElapsedMillis: f.Elapsed.Milliseconds(), IP: f.IP, Version: f.ProtocolVersion, ContentType: f.ContentType, MIMEType: f.MIMEType,
		Size: f.Size, Truncated: f.Truncated, Location: f.Location, Signature: hex.EncodeToString(f.Signature), WARC: f.WARC.File,
		Offset: f.WARC.Offset, Length: f.WARC.Length, Metadata: f.Metadata,
	}
}

// maxText is how much of a body is shown.
const maxText = 1 << 20

func (s *Source) content(seg string, key urlkey.Key) (*Content, error) {
	c, err := s.Crawl.Segs.GetContent(seg, key)
	if errors.Is(err, segment.ErrNoContent) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := &Content{Headers: c.Headers, Size: len(c.Body)}
	body := c.Body
	if len(body) > maxText {
		body, out.Cut = body[:maxText], true
		for n := 0; n < utf8.UTFMax && !utf8.Valid(body); n++ { // a character may be cut
			body = body[:len(body)-1]
		}
	}
	if out.Binary = !utf8.Valid(body) || strings.ContainsRune(string(body), 0); !out.Binary {
		out.Text = string(body)
	}
	return out, nil
}

func parseData(p *segment.Parsed) *ParseData {
	d := &ParseData{
		Status: p.Status.String(), Parser: p.Parser, Title: p.Title, Charset: p.Charset, Language: p.Language, Canonical: p.Canonical,
		NoIndex: p.Robots.NoIndex, NoFollow: p.Robots.NoFollow, Signature: hex.EncodeToString(p.Signature), AllLinks: p.AllLinks,
		Dropped: p.Dropped, ContentMeta: p.ContentMeta, ParseMeta: p.ParseMeta, Outlinks: []Outlink{},
	}
	for _, l := range p.Outlinks {
		d.Outlinks = append(d.Outlinks, Outlink{l.URL, l.Anchor})
	}
	return d
}
