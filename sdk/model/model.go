package model

import (
	"maps"
	"slices"
	"time"
)

// Metadata is a set of named, multi-valued texts. Keys are case-sensitive.
type Metadata map[string][]string

// First returns the first value of key, or "".
func (m Metadata) First(key string) string {
	if v := m[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Add appends value to key.
func (m Metadata) Add(key, value string) { m[key] = append(m[key], value) }

// Set replaces all values of key by value.
func (m Metadata) Set(key, value string) { m[key] = []string{value} }

// Keys returns the keys in byte order.
func (m Metadata) Keys() []string { return slices.Sorted(maps.Keys(m)) }

// Clone returns a deep copy; nil stays nil.
func (m Metadata) Clone() Metadata {
	if m == nil {
		return nil
	}
	c := make(Metadata, len(m))
	for k, v := range m {
		c[k] = slices.Clone(v)
	}
	return c
}

// Micro is the number of score units in 1.0: scores are kept as int64
// micro-units so that adding them is exact and order does not matter.
const Micro = 1_000_000

// Fields holds the score fields of one record by name (such as "opic_cash").
// A field's unit is what the owning scoring plugin's manifest says; scores are
// in micro-units.
type Fields map[string]int64

// CrawlDatum is what the CrawlDB knows of one URL.
type CrawlDatum struct {
	Status         Status
	FetchTime      time.Time // when it is due next
	PrevFetchTime  time.Time // when it was fetched last; zero when never
	ModifiedTime   time.Time // last known change of the page; zero when unknown
	Retries        int       // failed attempts since the last outcome
	Interval       time.Duration
	FixedInterval  bool   // the seed fixed the interval; adaptive schedules keep it
	Score          int64  // micro-units
	Fields         Fields // score fields of the scoring plugins
	Signature      []byte
	PrevSignature  []byte
	ProtocolStatus ProtocolStatus
	ETag           string
	LastModified   string // Last-Modified of the last 200 answer, verbatim
	ReprURL        string // representative URL after redirects; "" when its own
	DuplicateOf    string // URL of the winner while Status is db_duplicate
	Segment        string // segment of the last fetch that has content and parse; "" when none
	History        ChangeHistory
	Metadata       Metadata
}

// ChangeHistory is what the freshness schedule has learned of a page; zero with
// other schedules, and as long as the page was not fetched.
type ChangeHistory struct {
	Target string        // the freshness target that the page belongs to
	Checks int           // visits that Rate stands for
	Rate   int64         // estimated changes in a million days
	Wanted time.Duration // the interval by Target, before it is lengthened to keep a budget; whole seconds
	Age    time.Duration // expected mean age of the stored copy between the two last visits; whole milliseconds
}

// RatePerDay returns the estimated changes in a day.
func (h *ChangeHistory) RatePerDay() float64 { return float64(h.Rate) / Micro }

// SetRate sets the estimated changes in a day.
func (h *ChangeHistory) SetRate(perDay float64) {
	h.Rate = int64(min(max(perDay, 0)*Micro+0.5, 1<<62))
}

// Outlink is a link found in a page: an absolute URL as the page has it,
// neither normalized nor filtered.
type Outlink struct {
	URL      string
	Anchor   string   // link text, white space collapsed
	Tag      string   // element it came from, such as "a"
	Metadata Metadata // nil for most
}

// Inlink is a link that points at the record it is stored with.
type Inlink struct {
	From     string
	Anchor   string
	Metadata Metadata
}

// RobotsMeta is what meta robots and X-Robots-Tag say of a page.
type RobotsMeta struct {
	NoIndex   bool
	NoFollow  bool
	NoArchive bool
}

// Content is a fetched document.
type Content struct {
	URL         string
	Base        string // URL that relative links are resolved against
	Body        []byte // decoded payload; may be shared, never changed
	ContentType string // Content-Type as sent, may be ""
	MIMEType    string // type the core decided on (no parameters)
	Truncated   string // why the body is incomplete: "", "length", "time", "disconnect"
	FetchTime   time.Time
	Headers     Metadata // response headers, canonical names
}

// Parse is what a parser made of a document.
type Parse struct {
	URL         string // document it describes; differs from the Content's URL for feed entries and the like
	Status      ParseStatus
	Title       string
	Text        string
	Outlinks    []Outlink // in page order
	Robots      RobotsMeta
	Canonical   string // absolute rel=canonical, or ""
	Charset     string // charset the text was decoded from
	Language    string // html lang or Content-Language, or ""
	ContentMeta Metadata
	ParseMeta   Metadata
	Facts       []FactResult // one per requested fact, in request order; nil when none was asked for
}

// FactKind names what a Fact asks of a parsed tree.
type FactKind string

// The kinds of facts a parse filter can ask a parser for.
const (
	FactMeta     FactKind = "meta"     // meta tags by name/property/http-equiv; Arg a name or "*"
	FactHeading  FactKind = "heading"  // text of heading elements; Arg such as "h1"
	FactRel      FactKind = "rel"      // href and text of links with rel Arg
	FactJSONLD   FactKind = "jsonld"   // bodies of application/ld+json scripts
	FactSelector FactKind = "selector" // CSS selector Arg; see Attr
	FactScript   FactKind = "script"   // bodies of inline scripts
)

// Fact is one request to evaluate on a parser's tree.
type Fact struct {
	Kind FactKind
	Arg  string
	// Attr picks what a selector's match yields: "" text, "html" outer HTML, else the attribute of that name.
	Attr string
	Max  int // at most so many values; 0 means the parser's limit
}

// FactResult holds the values of one Fact in document order. Names, when set,
// has the same length as Values: the meta tag's name or the link's href.
type FactResult struct {
	Names  []string
	Values []string
}

// Document is what is sent to an index: multi-valued fields by name.
type Document struct {
	ID     string // the URL
	Fields map[string][]string
	Boost  float64
}
