package query

import (
	"context"
	"encoding/hex"
	"slices"
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/hostdb"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/schedule"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// Limits of the lists about one URL.
const (
	defaultInlinks = 20
	maxInlinks     = 10_000
)

// URLQuery asks for everything that is known of a URL.
type URLQuery struct {
	URL        string `json:"url"`
	MaxInlinks int    `json:"max_inlinks,omitempty"` // 0 is 20, at most 10,000
}

// URLAnswer is what is known of a URL. Parts that are not there are nil.
type URLAnswer struct {
	URL    string  `json:"url"` // as the CrawlDB has it: normalized when the one asked for is not there
	Key    string  `json:"key"`
	Record *Record `json:"record,omitempty"`
	// Next says what happens next with the record: leased, held, due or waiting.
	Next    string     `json:"next,omitempty"`
	Leased  string     `json:"leased,omitempty"` // segment whose fetch list has it
	Pending []Effect   `json:"pending,omitempty"`
	Inlinks []Inlink   `json:"inlinks,omitempty"`
	More    bool       `json:"moreInlinks,omitempty"` // than the limit
	Index   []Indexed  `json:"index,omitempty"`
	Host    *HostState `json:"host,omitempty"`
}

// Found reports whether anything is known of the URL itself.
func (a *URLAnswer) Found() bool { return a.Record != nil || a.Pending != nil || len(a.Inlinks) > 0 }

// InsideOf returns the URL of the page that the document at url is inside of, so that
// it is never fetched itself; "" when it is none such.
func (r *Record) InsideOf(url string) string {
	if page := r.Metadata.First(transition.MetaPartOf); segment.Inside(page, url) {
		return page
	}
	return ""
}

// Record is a CrawlDB record under Nutch's field names, and what Nutch does not
// have after them.
type Record struct {
	StatusCode      int              `json:"statusCode"`
	StatusName      string           `json:"statusName"`
	FetchTime       time.Time        `json:"fetchTime"` // when it is due
	ModifiedTime    time.Time        `json:"modifiedTime,omitzero"`
	Retries         int              `json:"retriesSinceFetch"`
	IntervalSeconds int64            `json:"retryIntervalSeconds"`
	IntervalDays    int64            `json:"retryIntervalDays"`
	Score           float64          `json:"score"`
	Signature       string           `json:"signature,omitempty"` // hexadecimal
	Metadata        model.Metadata   `json:"metadata,omitempty"`
	PrevFetchTime   time.Time        `json:"previousFetchTime,omitzero"`
	FixedInterval   bool             `json:"fixedInterval,omitempty"`
	Sort            float64          `json:"sortValue"`
	Fields          map[string]int64 `json:"scoreFields,omitempty"` // in the plugin's unit
	PrevSignature   string           `json:"previousSignature,omitempty"`
	ProtocolCode    int              `json:"protocolStatusCode,omitempty"`
	Protocol        string           `json:"protocolStatus,omitempty"`
	HTTP            int              `json:"httpStatus,omitempty"`
	ETag            string           `json:"etag,omitempty"`
	LastModified    string           `json:"lastModified,omitempty"`
	ReprURL         string           `json:"reprUrl,omitempty"`
	DuplicateOf     string           `json:"duplicateOf,omitempty"`
	Segment         string           `json:"segment,omitempty"` // of the last content
	Freshness       *Freshness       `json:"freshness,omitempty"`
}

// Freshness is what the freshness schedule knows of a page.
type Freshness struct {
	Target        string  `json:"target"`
	Visits        int     `json:"visits"`                   // that the rate stands for
	ChangesPerDay float64 `json:"changesPerDay"`            // estimated
	Wanted        int64   `json:"wantedIntervalSeconds"`    // by the wanted age, before a budget lengthens it
	Age           float64 `json:"ageSeconds,omitempty"`     // expected, between the two last visits
	NextAge       float64 `json:"nextAgeSeconds,omitempty"` // expected, until the next visit
}

// Effect is an effect of other pages that was not applied to the record yet.
type Effect struct {
	Field   string `json:"field"`
	Reducer string `json:"reducer"`
	Value   int64  `json:"value"`
}

// Inlink is a link to the URL.
type Inlink struct {
	From   string `json:"from"`
	Anchor string `json:"anchor,omitempty"`
}

// Indexed is what an index writer holds of the page.
type Indexed struct {
	Writer  string    `json:"writer"`
	Held    bool      `json:"held"`              // it has a document, or may have one
	Hash    string    `json:"hash,omitempty"`    // of the document it acknowledged
	Segment string    `json:"segment,omitempty"` // that document was made from
	Pending bool      `json:"pending,omitempty"` // it still has to be sent something
	Why     string    `json:"why,omitempty"`     // it could not be sent
	Refused string    `json:"refused,omitempty"` // reason for which it refused what it was sent last
	At      time.Time `json:"refusedAt,omitzero"`
}

func indexed(s *crawldb.DocState) []Indexed {
	if s == nil {
		return nil
	}
	var out []Indexed
	for _, w := range s.Writers {
		x := Indexed{Writer: w.Name, Held: w.Held, Hash: hex.EncodeToString(w.Hash), Segment: w.Segment, Pending: w.Pending, Why: w.Why}
		if w.Refused != nil {
			x.Refused, x.At = w.Refused.Reason, w.Refused.At
		}
		out = append(out, x)
	}
	return out
}

// HostState is what is known of the URL's host.
type HostState struct {
	HostCount
	FailuresInRow int           `json:"failuresInRow,omitempty"`
	LastRequest   time.Time     `json:"lastRequest,omitzero"`
	DelaySeconds  float64       `json:"crawlDelaySeconds,omitempty"` // that robots.txt asks for
	Robots        []RobotsState `json:"robots,omitempty"`
	Holds         []Hold        `json:"holds,omitempty"` // of its queues that have not ended
}

// RobotsState is a robots.txt that is kept.
type RobotsState struct {
	Origin  string    `json:"origin"`
	Status  int       `json:"status"`
	Bytes   int       `json:"bytes"`
	Fetched time.Time `json:"fetched,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
	Error   string    `json:"error,omitempty"`
}

// URL is the verb of "readdb --url".
func URL() Verb[URLQuery, *URLAnswer] { return Verb[URLQuery, *URLAnswer]{"url", lookUp} }

func lookUp(ctx context.Context, s *Source, q URLQuery) (*URLAnswer, error) {
	if q.URL == "" {
		return nil, fault.Errorf(fault.Invalid, "no URL given")
	}
	limit := q.MaxInlinks
	if limit <= 0 {
		limit = defaultInlinks
	}
	limit = min(limit, maxInlinks)
	a, err := s.about(ctx, q.URL, limit)
	if err != nil || a.Found() {
		return a, err
	}
	// What the user typed may differ from its normal form.
	if normal, ok := s.normalize(ctx, q.URL); ok && normal != q.URL {
		b, err := s.about(ctx, normal, limit)
		if err != nil || b.Found() {
			return b, err
		}
	}
	return a, nil
}

func (s *Source) normalize(ctx context.Context, url string) (string, bool) {
	c := s.Crawl.Chains
	if c == nil || !c.Has(manifest.URLNormalizer) {
		return url, false
	}
	res, err := c.Normalize(ctx, urlnormalizer.ScopeDefault, []string{url})
	if err != nil || len(res) != 1 || res[0].URL == "" {
		return url, false // it is unknown either way
	}
	return res[0].URL, true
}

func (s *Source) about(ctx context.Context, url string, limit int) (*URLAnswer, error) {
	c, key := s.Crawl, urlkey.FromURL(url)
	a := &URLAnswer{URL: url, Key: string(key)}
	rec, err := c.DB.Get(key)
	if err != nil {
		return nil, err
	}
	if rec != nil {
		a.Record = record(rec)
	}
	op, ok, err := c.DB.PendingEffects(key)
	if err != nil {
		return nil, err
	}
	if ok {
		a.Pending = []Effect{}
		for _, f := range op.Fields {
			a.Pending = append(a.Pending, Effect{f.Name, string(f.Reducer), f.Value})
		}
	}
	links, err := c.Links.Inlinks(key, limit+1)
	if err != nil {
		return nil, err
	}
	a.More = len(links) > limit
	for _, l := range links[:min(len(links), limit)] {
		a.Inlinks = append(a.Inlinks, Inlink{l.From, l.Anchor})
	}
	doc, err := c.DB.DocState(key)
	if err != nil {
		return nil, err
	}
	a.Index = indexed(doc)
	for _, seg := range c.DB.LeasedSegments() {
		if c.DB.IsLeased(seg, key) {
			a.Leased = seg
		}
	}
	if a.Host, err = s.host(ctx, url); err != nil {
		return nil, err
	}
	a.Next = s.next(a)
	return a, nil
}

// next says what happens next with a record.
func (s *Source) next(a *URLAnswer) string {
	switch {
	case a.Record == nil:
		return ""
	case a.Leased != "":
		return "leased"
	case a.Record.FetchTime.After(s.now()):
		return "waiting"
	case a.Host != nil && len(a.Host.Holds) > 0:
		return "held"
	}
	return "due"
}

func record(r *crawldb.Record) *Record {
	d := &r.Datum
	out := &Record{
		StatusCode: int(d.Status), StatusName: d.Status.String(), FetchTime: d.FetchTime, ModifiedTime: d.ModifiedTime,
		Retries: d.Retries, IntervalSeconds: int64(d.Interval / time.Second), IntervalDays: int64(d.Interval / (24 * time.Hour)),
		Score: score(d.Score), Signature: hex.EncodeToString(d.Signature), Metadata: d.Metadata, PrevFetchTime: d.PrevFetchTime,
		FixedInterval: d.FixedInterval, Sort: score(r.Sort), Fields: d.Fields, PrevSignature: hex.EncodeToString(d.PrevSignature),
		ETag: d.ETag, LastModified: d.LastModified, ReprURL: d.ReprURL, DuplicateOf: d.DuplicateOf, Segment: d.Segment,
	}
	if h := d.History; h.Target != "" {
		out.Freshness = &Freshness{
			Target: h.Target, Visits: h.Checks, ChangesPerDay: h.RatePerDay(), Wanted: int64(h.Wanted / time.Second), Age: h.Age.Seconds(),
		}
		if h.Checks > 0 {
			out.Freshness.NextAge = schedule.ExpectedAge(h.RatePerDay(), d.Interval).Seconds()
		}
	}
	if d.ProtocolStatus != (model.ProtocolStatus{}) {
		out.ProtocolCode, out.Protocol, out.HTTP = int(d.ProtocolStatus.Code), d.ProtocolStatus.String(), d.ProtocolStatus.HTTP
	}
	return out
}

func (s *Source) host(ctx context.Context, url string) (*HostState, error) {
	host := urlkey.Host(url)
	if host == "" {
		return nil, nil
	}
	counts, err := s.Crawl.Hosts.Counts(host)
	if err != nil {
		return nil, err
	}
	rec, err := s.Crawl.Hosts.Get(host)
	if err != nil {
		return nil, err
	}
	h := &HostState{HostCount: hostCount(host, rec.Counted(counts))}
	if rec != nil {
		h.FailuresInRow, h.LastRequest, h.DelaySeconds = rec.Failures, rec.LastRequest, rec.Delay.Seconds()
		for i := range rec.Robots {
			h.Robots = append(h.Robots, robots(&rec.Robots[i]))
		}
	}
	holds, err := s.Crawl.Hosts.Holds(ctx)
	if err != nil {
		return nil, err
	}
	queues := []string{urlkey.QueueKey(url, urlkey.ByHost, ""), urlkey.QueueKey(url, urlkey.ByDomain, "")}
	now := s.now()
	for _, x := range holds {
		if x.Until.After(now) && slices.Contains(queues, x.Queue) {
			h.Holds = append(h.Holds, Hold(x))
		}
	}
	if rec == nil && h.Total == 0 && h.Requests == 0 && h.Holds == nil {
		return nil, nil
	}
	return h, nil
}

func robots(r *hostdb.Robots) RobotsState {
	return RobotsState{Origin: r.Origin, Status: r.Status, Bytes: len(r.Body), Fetched: r.Fetched, Expires: r.Expires, Error: r.Error}
}
