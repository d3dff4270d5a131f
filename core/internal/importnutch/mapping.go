package importnutch

import (
	"crypto/md5" //nolint:gosec // Nutch's signature of a document
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/hadoop"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/sdk/model"
)

// Metadata keys of Nutch that become fields of a record.
const (
	keyProtocolStatus = "_pst_"
	keyProtocolCode   = "nutch.protocol.code"
	keyGenerateTime   = "_ngt_"
	keyRepr           = "_repr_"
	keyFixedInterval  = "fixedInterval"
	keyDepth          = "_depth_"
	keyMaxDepth       = "_maxdepth_"
	keyResponseTime   = "_rs_"
)

// Fields of scoring-opic and scoring-depth.
const (
	fieldCash    = "opic_cash"
	fieldHistory = "opic_history"
	fieldDepth   = "depth"
	fieldLeft    = "depth_left"
)

// record returns the CrawlDB record of a datum; false when it has no status of a CrawlDB.
func (m *datum) record(keepsCash bool) (*crawldb.Record, bool) {
	status := model.Status(m.Status)
	switch status {
	case model.StatusInjected, model.StatusLinked:
		status = model.StatusDBUnfetched
	default:
		if !slices.Contains(model.DBStatuses(), status) {
			return nil, false
		}
	}
	d := model.CrawlDatum{
		Status: status, FetchTime: m.FetchTime, ModifiedTime: m.Modified, Retries: m.Retries, Interval: m.Interval,
		Score: micro(m.Score), Signature: m.Signature, ProtocolStatus: m.protocol(), Fields: model.Fields{}, Metadata: model.Metadata{},
	}
	if status != model.StatusDBUnfetched {
		d.PrevFetchTime = m.FetchTime.Add(-m.Interval) // Nutch's calculateLastFetchTime
	}
	for _, e := range m.Meta {
		switch key := e.Key.String(); key {
		case keyProtocolStatus, keyProtocolCode, keyGenerateTime:
		case keyRepr:
			d.ReprURL = e.Value.String()
		case keyFixedInterval:
			if s, ok := e.Value.(hadoop.Float); ok && s > 0 {
				d.FixedInterval, d.Interval = true, time.Duration(float64(s)*float64(time.Second))
				continue
			}
			d.Metadata.Set(key, e.Value.String())
		default:
			d.Metadata.Set(key, e.Value.String())
		}
	}
	sort := scored(&d, keepsCash)
	depths(&d)
	if len(d.Metadata) == 0 {
		d.Metadata = nil
	}
	return &crawldb.Record{Datum: d, Sort: sort}, true
}

// scored splits Nutch's score into what scoring-opic takes for cash and for history, and returns the place in the fetch list. Nutch does
// not tell them apart. What a page had when it was last fetched went to its links then, unless keepsCash says that pages keep it,
// as in Nutch.
func scored(d *model.CrawlDatum, keepsCash bool) (sort int64) {
	field := fieldCash
	switch d.Status {
	case model.StatusDBUnfetched, model.StatusDBGone, model.StatusDBParseFailed, model.StatusDBOrphan:
	default:
		if !keepsCash {
			field = fieldHistory
		}
	}
	d.Fields[field] = d.Score
	return d.Fields[fieldCash]
}

// depths takes over what Nutch's scoring-depth noted.
func depths(d *model.CrawlDatum) {
	depth, err := strconv.ParseInt(d.Metadata.First(keyDepth), 10, 32)
	if err != nil {
		return
	}
	d.Fields[fieldDepth] = depth
	delete(d.Metadata, keyDepth)
	if limit, err := strconv.ParseInt(d.Metadata.First(keyMaxDepth), 10, 32); err == nil {
		d.Fields[fieldLeft] = limit - depth
	}
}

// micro returns a score in micro-units; what is no number is 0.
func micro(score float32) int64 {
	// By its decimal form: 0.1 is 100000, although the float is a little more.
	v, err := strconv.ParseFloat(strconv.FormatFloat(float64(score), 'g', -1, 32), 64)
	if err != nil || math.IsNaN(v) || math.Abs(v) > math.MaxInt64/model.Micro/2 {
		return 0
	}
	return int64(math.Round(v * model.Micro))
}

// protocol returns how the last fetch ended.
func (m *datum) protocol() model.ProtocolStatus {
	var p model.ProtocolStatus
	if s, ok := m.get(keyProtocolStatus).(protocolStatus); ok {
		p.Code, p.Message = model.ProtocolCode(s.Code), strings.Join(s.Args, " ")
		if s.Code == 22 || s.Code == 23 { // wouldblock and blocked, of old
			p.Code = model.ProtocolRetry
		}
	}
	if v := m.get(keyProtocolCode); v != nil {
		if n, err := strconv.Atoi(v.String()); err == nil && n >= 0 && n < 1000 {
			p.HTTP = n
		}
	}
	return p
}

// page is what a segment has of one URL.
type page struct {
	url     string
	fetch   *datum
	content *content
	data    *parseData
	text    string
}

// Statuses that only Nutch's segments have.
const statusParseFailed = byte(model.StatusParseFailed)

// item returns the page's fetch with its document. ended is the fetch time when nothing else tells it. It is false for a status that is none of a fetch.
func (p *page) item(ended time.Time) (segment.FetchItem, bool) {
	f := segment.Fetch{URL: p.url, Status: model.StatusFetchSuccess, FetchTime: ended, Protocol: model.ProtocolStatus{Code: model.ProtocolSuccess}}
	if p.fetch != nil {
		if p.fetch.Status != statusParseFailed { // of what was fetched
			f.Status = model.Status(p.fetch.Status)
		}
		if f.Status < model.StatusFetchSuccess || f.Status > model.StatusFetchNotModified {
			return segment.FetchItem{}, false
		}
		f.FetchTime, f.Protocol = p.fetch.FetchTime, p.fetch.protocol()
		p.fetched(&f)
	} else if at, err := strconv.ParseInt(p.meta().First("_ftk_"), 10, 64); err == nil {
		f.FetchTime = millis(at)
	}
	if f.Protocol.Code == model.ProtocolUnset {
		f.Protocol.Code = protocolOf(f.Status)
	}
	if p.content == nil {
		return segment.FetchItem{Fetch: f, NoContent: true}, true
	}
	return p.document(f), true
}

// fetched takes over the metadata of the fetch.
func (p *page) fetched(f *segment.Fetch) {
	for _, e := range p.fetch.Meta {
		switch key := e.Key.String(); key {
		case keyProtocolStatus, keyProtocolCode, keyGenerateTime:
		case keyResponseTime:
			if n, err := strconv.ParseInt(e.Value.String(), 10, 32); err == nil {
				f.Elapsed = time.Duration(n) * time.Millisecond
			}
		default:
			if f.Metadata == nil {
				f.Metadata = model.Metadata{}
			}
			f.Metadata.Set(key, e.Value.String())
		}
	}
	if f.Status == model.StatusFetchRedirTemp || f.Status == model.StatusFetchRedirPerm {
		f.Location = f.Protocol.Message
	}
}

// meta returns what was noted of the document, from wherever it is.
func (p *page) meta() model.Metadata {
	if p.content != nil {
		return p.content.Meta
	}
	if p.data != nil {
		return p.data.ContentMeta
	}
	return nil
}

// protocolOf is what a fetch status stands for when Nutch noted no protocol status.
func protocolOf(s model.Status) model.ProtocolCode {
	switch s {
	case model.StatusFetchSuccess:
		return model.ProtocolSuccess
	case model.StatusFetchRedirTemp:
		return model.ProtocolTempMoved
	case model.StatusFetchRedirPerm:
		return model.ProtocolMoved
	case model.StatusFetchGone:
		return model.ProtocolGone
	case model.StatusFetchNotModified:
		return model.ProtocolNotModified
	}
	return model.ProtocolRetry
}

// document adds the stored document to f.
func (p *page) document(f segment.Fetch) segment.FetchItem {
	c := p.content
	first := func(keys ...string) string {
		for _, k := range keys {
			if v := c.Meta.First(k); v != "" {
				return v
			}
		}
		return ""
	}
	f.Headers = headers(c.Meta)
	f.ContentType, f.ETag, f.LastModified = f.Headers.First("Content-Type"), f.Headers.First("Etag"), f.Headers.First("Last-Modified")
	f.MIMEType, _, _ = strings.Cut(strings.TrimSpace(c.Type), ";")
	f.IP, f.ProtocolVersion = first("_ip_"), strings.ToLower(first("_protocol_versions_", "_protocol.versions_"))
	f.Truncated = truncated(c.Meta)
	if len(c.Body) > 0 {
		sum := md5.Sum(c.Body) //nolint:gosec // see the import
		f.Signature = sum[:]
	}
	it := segment.FetchItem{Body: c.Body}
	if strings.HasPrefix(p.url, "http:") || strings.HasPrefix(p.url, "https:") {
		it.Request = []byte(first("_request_"))
		if it.Response = []byte(first("_response.headers_")); !strings.HasPrefix(string(it.Response), "HTTP/") {
			it.Response = responseHead(&f)
		}
	}
	it.Fetch = f
	return it
}

// truncated returns why the document is not whole, in our words.
func truncated(m model.Metadata) string {
	why := m.First("http.content.truncated.reason")
	switch why = strings.ToLower(why); why {
	case "", "not_truncated":
		if m.First("http.content.truncated") == "true" {
			return "length"
		}
		return ""
	case "length", "time", "disconnect":
		return why
	}
	return "disconnect"
}

// headers returns the response headers among a Content's metadata: what is not Nutch's own.
func headers(m model.Metadata) model.Metadata {
	out := model.Metadata{}
	for k, v := range m {
		if k == "" || k[0] == '_' || strings.HasPrefix(k, "nutch.") || strings.HasPrefix(k, "http.") || !isToken(k) {
			continue
		}
		out[textproto.CanonicalMIMEHeaderKey(k)] = slices.Clone(v)
	}
	return out
}

// isToken reports whether s can be the name of a header (RFC 9110).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return true
}

// responseHead makes a head of the headers that Nutch kept.
func responseHead(f *segment.Fetch) []byte {
	code := f.Protocol.HTTP
	if code == 0 {
		code = map[model.Status]int{
			model.StatusFetchSuccess: http.StatusOK, model.StatusFetchRedirTemp: http.StatusFound, model.StatusFetchRedirPerm: http.StatusMovedPermanently,
			model.StatusFetchGone: http.StatusNotFound, model.StatusFetchNotModified: http.StatusNotModified, model.StatusFetchRetry: http.StatusServiceUnavailable,
		}[f.Status]
	}
	b := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n", code, http.StatusText(code))
	for _, k := range f.Headers.Keys() {
		for _, v := range f.Headers[k] {
			v = strings.Map(func(r rune) rune {
				if r < ' ' && r != '\t' {
					return ' '
				}
				return r
			}, v)
			b = fmt.Appendf(b, "%s: %s\r\n", k, v)
		}
	}
	return append(b, "\r\n"...)
}

// parsed returns the page's parse.
func (p *page) parsed() *segment.Parsed {
	d := p.data
	out := &segment.Parsed{
		Status: d.Status, Title: d.Title, Text: p.text, AllLinks: len(d.Outlinks), Base: p.url,
		ContentMeta: d.ContentMeta, ParseMeta: d.ParseMeta, Robots: robots(d.ParseMeta),
	}
	if out.Status.Major == model.ParseFailed && len(out.Status.Args) > 0 {
		out.Status.Message, out.Status.Args = strings.Join(out.Status.Args, " "), nil
	}
	if p.content != nil && p.content.Base != "" {
		out.Base = p.content.Base
	}
	out.Signature, _ = hex.DecodeString(d.ContentMeta.First("nutch.content.digest"))
	for _, k := range []string{"OriginalCharEncoding", "CharEncodingForConversion"} {
		if v := d.ParseMeta.First(k); v != "" && out.Charset == "" {
			out.Charset = strings.ToLower(v)
		}
	}
	for _, k := range []string{"lang", "language", "Content-Language"} {
		if v := d.ParseMeta.First(k); v != "" && out.Language == "" {
			out.Language = v
		}
	}
	if out.Language == "" {
		out.Language = d.ContentMeta.First("Content-Language")
	}
	for _, l := range d.Outlinks {
		out.Outlinks = append(out.Outlinks, segment.Link{URL: l.URL, Anchor: l.Anchor, Metadata: l.Meta})
	}
	return out
}

// robots reads what Nutch's parsers note of meta robots.
func robots(m model.Metadata) (r model.RobotsMeta) {
	for _, k := range []string{"robots", "metatag.robots"} {
		for _, v := range m[k] {
			v = strings.ToLower(v)
			none := strings.Contains(v, "none")
			r.NoIndex = r.NoIndex || none || strings.Contains(v, "noindex")
			r.NoFollow = r.NoFollow || none || strings.Contains(v, "nofollow")
			r.NoArchive = r.NoArchive || strings.Contains(v, "noarchive")
		}
	}
	if v := m.First("caching.forbidden"); v != "" && v != "none" {
		r.NoArchive = true
	}
	return r
}

// content statuses: a record of these stands for a document of a segment.
func hasDocument(s model.Status) bool {
	return s == model.StatusDBFetched || s == model.StatusDBNotModified || s == model.StatusDBDuplicate
}

// describe adds to a record what the newest document of it tells.
func describe(d *model.CrawlDatum, f *segment.Fetch, seg string) {
	d.Segment, d.ETag, d.LastModified = seg, f.ETag, f.LastModified
	if f.MIMEType != "" && d.Metadata.First(transition.MetaContentType) == "" {
		if d.Metadata == nil {
			d.Metadata = model.Metadata{}
		}
		d.Metadata.Set(transition.MetaContentType, f.MIMEType)
	}
}
