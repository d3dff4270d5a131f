package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// Place is where a WARC record lies. The zero Place is nowhere.
type Place struct {
	File   string // name inside the segment's folder
	Offset int64  // bytes, of the record's gzip member
	Length int64  // bytes, of the gzip member
}

// Fetch is a crawl_fetch record: how one fetch of a URL ended.
type Fetch struct {
	URL             string
	Status          model.Status // a fetch_ status
	Protocol        model.ProtocolStatus
	FetchTime       time.Time
	Elapsed         time.Duration
	ContentType     string // as sent
	MIMEType        string // as decided
	Truncated       string
	ETag            string
	LastModified    string
	Location        string // redirect target, absolute
	IP              string
	ProtocolVersion string         // such as "http/1.1" or "h2"
	Headers         model.Metadata // the headers kept in the store
	WARC            Place
	Size            int64  // bytes of the payload, stored or not
	Signature       []byte // of the raw payload (MD5)
	Metadata        model.Metadata
}

// Link is an accepted outlink, normalized.
type Link struct {
	URL      string
	Anchor   string
	Tag      string
	Metadata model.Metadata
}

// Parsed is what a page's parse left: parse_data, parse_text and outlinks.
type Parsed struct {
	Status      model.ParseStatus
	Title       string
	Text        string
	Outlinks    []Link           // accepted ones, in page order
	Dropped     map[string]int64 // links not accepted, by reason
	AllLinks    int              // links found before limits and filters
	Signature   []byte
	Robots      model.RobotsMeta
	Canonical   string
	Charset     string
	Language    string
	Base        string
	ContentMeta model.Metadata
	ParseMeta   model.Metadata
	Parser      string // id of the plugin
	// Parts are what the page contains and became documents of their own: feed
	// entries, files of an archive. In the store they are records under their own keys.
	Parts []Part
}

// Part is a document inside a page.
type Part struct {
	URL string
	Parsed
}

// Inside reports whether URL part names something inside the page at URL page, so
// that it can't be fetched by itself.
func Inside(page, part string) bool {
	return len(part) > len(page)+1 && part[len(page)] == '#' && strings.HasPrefix(part, page)
}

const (
	fetchVersion    = 1
	parseVersion    = 2 // 1 had no parts
	textVersion     = 1
	outlinksVersion = 1
)

func appendFetch(b []byte, f *Fetch) []byte {
	b = append(b, fetchVersion, byte(f.Status), byte(f.Protocol.Code))
	b = store.AppendInt(b, int64(f.Protocol.HTTP))
	b = store.AppendTime(b, f.FetchTime)
	b = store.AppendInt(b, int64(f.Elapsed))
	for _, s := range [...]string{
		f.URL, f.Protocol.Message, f.ContentType, f.MIMEType, f.Truncated, f.ETag, f.LastModified,
		f.Location, f.IP, f.ProtocolVersion, f.WARC.File,
	} {
		b = store.AppendText(b, s)
	}
	b = store.AppendInt(b, f.WARC.Offset)
	b = store.AppendInt(b, f.WARC.Length)
	b = store.AppendInt(b, f.Size)
	b = store.AppendText(b, f.Signature)
	b = store.AppendMetadata(b, f.Headers)
	return store.AppendMetadata(b, f.Metadata)
}

func decodeFetch(key, value []byte, f *Fetch) error {
	d, _ := store.NewDecoder(value, fetchVersion)
	f.Status = model.Status(d.Byte())
	f.Protocol.Code = model.ProtocolCode(d.Byte())
	f.Protocol.HTTP = int(d.Int())
	f.FetchTime = d.Time()
	f.Elapsed = time.Duration(d.Int())
	for _, s := range [...]*string{
		&f.URL, &f.Protocol.Message, &f.ContentType, &f.MIMEType, &f.Truncated, &f.ETag, &f.LastModified,
		&f.Location, &f.IP, &f.ProtocolVersion, &f.WARC.File,
	} {
		*s = d.Text()
	}
	f.WARC.Offset, f.WARC.Length, f.Size = d.Int(), d.Int(), d.Int()
	f.Signature = d.Blob()
	f.Headers = d.Metadata()
	f.Metadata = d.Metadata()
	return d.Finish(key)
}

func appendParseData(b []byte, p *Parsed) []byte {
	b = append(b, parseVersion, byte(p.Status.Major))
	b = store.AppendUint(b, uint64(p.Status.Minor))
	b = store.AppendUint(b, uint64(len(p.Status.Args)))
	for _, a := range p.Status.Args {
		b = store.AppendText(b, a)
	}
	var robots byte
	for i, on := range [...]bool{p.Robots.NoIndex, p.Robots.NoFollow, p.Robots.NoArchive} {
		if on {
			robots |= 1 << i
		}
	}
	b = append(b, robots)
	for _, s := range [...]string{p.Status.Message, p.Title, p.Canonical, p.Charset, p.Language, p.Base, p.Parser} {
		b = store.AppendText(b, s)
	}
	b = store.AppendText(b, p.Signature)
	b = store.AppendUint(b, uint64(max(p.AllLinks, 0)))
	b = appendDropped(b, p.Dropped)
	b = store.AppendMetadata(b, p.ContentMeta)
	b = store.AppendMetadata(b, p.ParseMeta)
	b = store.AppendUint(b, uint64(len(p.Parts)))
	for i := range p.Parts {
		b = store.AppendText(b, p.Parts[i].URL)
	}
	return b
}

func decodeParseData(key, value []byte, p *Parsed) error {
	d, version := store.NewDecoder(value, parseVersion)
	p.Status.Major = model.ParseMajor(d.Byte())
	p.Status.Minor = model.ParseMinor(d.Uint()) //nolint:gosec // written from a ParseMinor
	if n := d.Count(1); n > 0 {
		p.Status.Args = make([]string, n)
		for i := range p.Status.Args {
			p.Status.Args[i] = d.Text()
		}
	}
	robots := d.Byte()
	p.Robots = model.RobotsMeta{NoIndex: robots&1 != 0, NoFollow: robots&2 != 0, NoArchive: robots&4 != 0}
	for _, s := range [...]*string{&p.Status.Message, &p.Title, &p.Canonical, &p.Charset, &p.Language, &p.Base, &p.Parser} {
		*s = d.Text()
	}
	p.Signature = d.Blob()
	p.AllLinks = int(d.Uint()) //nolint:gosec // written from an int
	p.Dropped = decodeDropped(&d)
	p.ContentMeta = d.Metadata()
	p.ParseMeta = d.Metadata()
	if version >= 2 {
		if n := d.Count(1); n > 0 {
			p.Parts = make([]Part, n)
			for i := range p.Parts {
				p.Parts[i].URL = d.Text()
			}
		}
	}
	return d.Finish(key)
}

func appendDropped(b []byte, m map[string]int64) []byte {
	b = store.AppendUint(b, uint64(len(m)))
	for _, k := range sortedKeys(m) {
		b = store.AppendInt(store.AppendText(b, k), m[k])
	}
	return b
}

func decodeDropped(d *store.Decoder) map[string]int64 {
	n := d.Count(2)
	if n == 0 {
		return nil
	}
	m := make(map[string]int64, n)
	for range n {
		k := d.Text()
		m[k] = d.Int()
	}
	return m
}

// pack appends version, length and the S2 form of raw to b.
func pack(b []byte, version byte, raw []byte) []byte { //nolint:unparam // each part has a version of its own
	b = slices.Grow(b, 1+s2.MaxEncodedLen(len(raw)))
	b = append(b, version)
	n := len(b)
	return b[:n+len(s2.Encode(b[n:cap(b)], raw))]
}

// maxUnpacked bounds what a damaged value can ask for.
const maxUnpacked = 256 << 20

func unpack(key, value []byte, newest byte) ([]byte, error) {
	d, _ := store.NewDecoder(value, newest)
	if d.Err() != nil {
		return nil, store.Corrupt(key, d.Err())
	}
	packed := d.Rest()
	n, err := s2.DecodedLen(packed)
	if err == nil && n > maxUnpacked {
		err = fmt.Errorf("it would unpack to %d bytes", n)
	}
	if err != nil {
		return nil, store.Corrupt(key, err)
	}
	raw, err := s2.Decode(nil, packed)
	if err != nil {
		return nil, store.Corrupt(key, err)
	}
	return raw, nil
}

func appendOutlinks(b []byte, links []Link) []byte {
	b = store.AppendUint(b, uint64(len(links)))
	for i := range links {
		l := &links[i]
		b = store.AppendText(b, l.URL)
		b = store.AppendText(b, l.Anchor)
		b = store.AppendText(b, l.Tag)
		b = store.AppendMetadata(b, l.Metadata)
	}
	return b
}

func decodeOutlinks(key, value []byte) ([]Link, error) {
	raw, err := unpack(key, value, outlinksVersion)
	if err != nil {
		return nil, err
	}
	d := store.RawDecoder(raw)
	n := d.Count(4)
	links := make([]Link, 0, min(n, 1<<16))
	for range n {
		if d.Err() != nil {
			break
		}
		links = append(links, Link{URL: d.Text(), Anchor: d.Text(), Tag: d.Text(), Metadata: d.Metadata()})
	}
	if len(links) == 0 {
		links = nil
	}
	return links, d.Finish(key)
}

// PutFetch stores f under the segment and key when tx commits. It is for
// outcomes without content; CommitFetches does both.
func PutFetch(tx *store.Tx, seg string, key urlkey.Key, f *Fetch) {
	tx.Set(PartKey(seg, PartFetch, key), appendFetch(nil, f))
}

// PutParse stores p when tx commits, and counts it. Its parts get records of
// their own, with a fetch that is f but for URL, type and place; f may be nil when
// there are no parts.
func PutParse(tx *store.Tx, seg string, key urlkey.Key, p *Parsed, f *Fetch) {
	putParse(tx, seg, key, p)
	for i := range p.Parts {
		part := &p.Parts[i]
		k := urlkey.FromURL(part.URL)
		pf := *f
		pf.URL, pf.MIMEType, pf.WARC, pf.Signature = part.URL, part.ContentMeta.First("Content-Type"), Place{}, nil
		pf.ContentType, pf.ETag, pf.LastModified, pf.Size, pf.Headers = pf.MIMEType, "", "", 0, nil
		PutFetch(tx, seg, k, &pf)
		putParse(tx, seg, k, &part.Parsed)
	}
}

func putParse(tx *store.Tx, seg string, key urlkey.Key, p *Parsed) {
	tx.SetFunc(PartKey(seg, PartParseData, key), func(b []byte) []byte { return appendParseData(b, p) })
	if p.Text != "" {
		text := []byte(p.Text)
		tx.SetFunc(PartKey(seg, PartParseText, key), func(b []byte) []byte { return pack(b, textVersion, text) })
	}
	if len(p.Outlinks) > 0 {
		raw := appendOutlinks(make([]byte, 0, 96*len(p.Outlinks)), p.Outlinks)
		tx.SetFunc(PartKey(seg, PartOutlinks, key), func(b []byte) []byte { return pack(b, outlinksVersion, raw) })
	}
	c := Counts{Parsed: 1}
	if !p.Status.OK() {
		c.ParseFailed = 1
	}
	AddCounts(tx, seg, c)
}

// MetaAttachment begins the metadata keys of a Fetch for what is kept with the document: the
// rest of the key is the attachment's name, the value its place, as Place.String writes it.
const MetaAttachment = "_attachment."

// String is the place as file, offset and length of the WARC record's gzip member, in
// bytes.
func (p Place) String() string { return fmt.Sprintf("%s %d %d", p.File, p.Offset, p.Length) }

// ParsePlace reads what Place.String wrote.
func ParsePlace(s string) (Place, error) {
	var p Place
	if _, err := fmt.Sscanf(s, "%s %d %d", &p.File, &p.Offset, &p.Length); err != nil {
		return Place{}, fmt.Errorf("place of a WARC record %q: %w", s, err)
	}
	return p, nil
}

// placeAttachments notes where the item's attachments are: they end at end and have these
// lengths.
func (it *FetchItem) placeAttachments(file string, end int64, lengths []int) {
	for i := len(lengths) - 1; i >= 0; i-- {
		end -= int64(lengths[i])
		if it.Fetch.Metadata == nil {
			it.Fetch.Metadata = model.Metadata{}
		}
		it.Fetch.Metadata.Set(MetaAttachment+it.Attachments[i].Name, Place{File: file, Offset: end, Length: int64(lengths[i])}.String())
	}
}

// MetaRetryAfter is the metadata key of a Fetch for how many seconds the server
// asked to be left alone (Retry-After).
const MetaRetryAfter = "_retry.after_"

// RetryAfter returns how long the server asked to be left alone; 0 when it did not.
func (f *Fetch) RetryAfter() time.Duration {
	n, _ := strconv.ParseInt(f.Metadata.First(MetaRetryAfter), 10, 64)
	return time.Duration(n) * time.Second
}

// CopyParts stores what segment seg in from holds of key, besides its fetch, as that of another
// key in segment to when tx commits, and counts it.
func CopyParts(tx *store.Tx, from store.Reader, seg string, key urlkey.Key, to string, as urlkey.Key) error {
	var c Counts
	for _, part := range [...]byte{PartGenerate, PartParseData, PartParseText, PartOutlinks} {
		k := PartKey(seg, part, key)
		v, err := from.Get(k)
		if err != nil {
			return err
		}
		if v == nil {
			continue
		}
		tx.Set(PartKey(to, part, as), v)
		switch part {
		case PartGenerate:
			c.Generated++
		case PartParseData:
			p := new(Parsed)
			if err := decodeParseData(k, v, p); err != nil {
				return err
			}
			c.Parsed++
			if !p.Status.OK() {
				c.ParseFailed++
			}
		}
	}
	AddCounts(tx, to, c)
	return nil
}

// MarkApplied notes that the page's effects are in the CrawlDB when tx commits,
// and which segments hold the content that the record stood for before and
// stands for now; "" is none.
func MarkApplied(tx *store.Tx, seg string, key urlkey.Key, before, now string) {
	tx.Set(PartKey(seg, PartApplied, key), append(append([]byte(before), 0), now...))
	AddCounts(tx, seg, Counts{Updated: 1})
}

// EachApplied calls f with every applied page of the segment and what MarkApplied
// noted of it, in key order, until f fails.
func (g *Segments) EachApplied(ctx context.Context, seg string, f func(key urlkey.Key, before, now string) error) error {
	prefix := PartPrefix(seg, PartApplied)
	return store.Each(ctx, g.s, prefix, func(k, v []byte) error {
		before, now, _ := strings.Cut(string(v), "\x00")
		return f(urlkey.Key(k[len(prefix):]), before, now)
	})
}

// ErrNoContent says that a fetch left no content.
var ErrNoContent = errors.New("no content stored")
