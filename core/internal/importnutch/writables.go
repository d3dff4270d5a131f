package importnutch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"

	"github.com/gonutch/crawler/core/internal/hadoop"
	"github.com/gonutch/crawler/sdk/model"
)

// datum is Nutch's CrawlDatum.
type datum struct {
	Status    byte
	FetchTime time.Time
	Modified  time.Time // zero when unknown
	Retries   int
	Interval  time.Duration
	Score     float32
	Signature []byte
	Meta      hadoop.MapValue
	Lost      string // class of a metadata value that could not be read; it and what follows is missing
}

// newestDatum is the version of CrawlDatum that Nutch writes since 1.0.
const newestDatum = 7

// readDatum reads a CrawlDatum of any version that has a score.
func (r *reader) readDatum(b []byte) (datum, error) {
	d := hadoop.NewDecoder(b)
	version := d.Byte()
	if d.Err() == nil && (version < 1 || version > newestDatum) {
		return datum{}, fmt.Errorf("%w: CrawlDatum of version %d; 1 to %d can be read", hadoop.ErrCorrupt, version, newestDatum)
	}
	out := datum{Status: d.Byte(), FetchTime: millis(d.Int64()), Retries: int(d.Int8())}
	if version > 5 {
		out.Interval = time.Duration(d.Int32()) * time.Second
	} else {
		out.Interval = time.Duration(float64(d.Float32()) * 24 * float64(time.Hour)) // days
	}
	out.Score = d.Float32()
	if version > 2 {
		if n := d.Int64(); n > 0 {
			out.Modified = millis(n)
		}
		if n := d.Int8(); n > 0 {
			out.Signature = bytes.Clone(d.Bytes(int(n)))
		}
	}
	if version > 3 && d.Bool() {
		out.Meta = r.metadata(d, version)
	}
	if version < 5 {
		out.Status = renumbered(out.Status)
	}
	var unknown *hadoop.UnknownClassError
	if errors.As(d.Err(), &unknown) {
		out.Lost = unknown.Class
		return out, nil
	}
	return out, d.Finish()
}

// renumbered returns today's code of a status that Nutch had before 1.0 (CrawlDatum up to version 4).
func renumbered(old byte) byte {
	oldStatus := [...]byte{0: 65, 1: 1, 2: 2, 3: 3, 4: 67, 5: 33, 6: 34, 7: 37}
	if int(old) < len(oldStatus) {
		return oldStatus[old]
	}
	return byte(model.StatusDBUnfetched)
}

// metadata reads a datum's map; up to version 6 it may be one of Nutch's own kind.
func (r *reader) metadata(d *hadoop.Decoder, version byte) hadoop.MapValue {
	if version == newestDatum {
		return r.classes.Map(d)
	}
	rest := d.Bytes(d.Left())
	for _, read := range []func(*hadoop.Decoder) hadoop.MapValue{r.oldMap, r.classes.Map} {
		m := hadoop.NewDecoder(rest)
		if v := read(m); m.Finish() == nil {
			return v
		}
	}
	d.Fail(fmt.Errorf("%w: metadata of a CrawlDatum of version %d", hadoop.ErrCorrupt, version))
	return nil
}

// oldMap reads an org.apache.nutch.crawl.MapWritable, as Nutch had it before 1.0.
func (r *reader) oldMap(d *hadoop.Decoder) (out hadoop.MapValue) {
	n := d.Count(2)
	if n == 0 {
		return nil
	}
	const io = "org.apache.hadoop.io."
	names := map[int8]string{
		-127: io + "NullWritable", -126: io + "LongWritable", -125: io + "Text", -124: io + "MD5Hash", -118: io + "BytesWritable",
		-117: io + "FloatWritable", -116: io + "IntWritable", -114: classProtocolStatus,
	}
	for range d.Int8() {
		id := d.Int8()
		names[id] = d.Text()
	}
	for range n {
		key, value := r.classes[names[d.Int8()]], r.classes[names[d.Int8()]]
		if key == nil || value == nil {
			d.Fail(fmt.Errorf("%w: metadata of a class that is not known", hadoop.ErrCorrupt))
			return nil
		}
		e := hadoop.Entry{Key: key(d)}
		e.Value = value(d)
		out = append(out, e)
	}
	return out
}

// get returns the value of a key, nil when there is none.
func (m *datum) get(key string) fmt.Stringer {
	for _, e := range m.Meta {
		if e.Key.String() == key {
			return e.Value
		}
	}
	return nil
}

func millis(n int64) time.Time { return time.UnixMilli(n).UTC() }

const classProtocolStatus = "org.apache.nutch.protocol.ProtocolStatus"

// protocolStatus is Nutch's ProtocolStatus.
type protocolStatus struct {
	Code     byte
	Modified int64 // milliseconds
	Args     []string
}

// String is Nutch's text form.
func (p protocolStatus) String() string {
	return fmt.Sprintf("%s(%d), lastModified=%d: %s", model.ProtocolCode(p.Code), p.Code, p.Modified, strings.Join(p.Args, " "))
}

func readProtocolStatus(d *hadoop.Decoder) fmt.Stringer {
	version := d.Byte()
	p := protocolStatus{Code: d.Byte(), Modified: d.Int64()}
	p.Args = versioned(d, "ProtocolStatus", version)
	return p
}

// versioned reads an array of texts, which version 1 of the status classes compresses.
func versioned(d *hadoop.Decoder, class string, version byte) []string {
	switch version {
	case 1:
		return texts(d, packedText)
	case 2:
		return texts(d, plainText)
	}
	d.Fail(fmt.Errorf("%w: %s of version %d; 1 and 2 can be read", hadoop.ErrCorrupt, class, version))
	return nil
}

// texts reads an array of texts (WritableUtils), which may be null.
func texts(d *hadoop.Decoder, one func(*hadoop.Decoder) string) []string {
	n := d.Int32()
	if n < 0 {
		return nil
	}
	if int(n) > d.Left()/4 {
		d.Fail(fmt.Errorf("%w: an array of %d texts", hadoop.ErrCorrupt, n))
		return nil
	}
	out := make([]string, 0, n)
	for range n {
		out = append(out, one(d))
	}
	return out
}

// plainText reads what WritableUtils.writeString wrote; null is "".
func plainText(d *hadoop.Decoder) string {
	if n := d.Int32(); n >= 0 {
		return string(d.Bytes(int(n)))
	}
	return ""
}

// maxPacked is what a compressed field may unpack to, in bytes.
const maxPacked = 256 << 20

// packedText reads what WritableUtils.writeCompressedString wrote; null is "".
func packedText(d *hadoop.Decoder) string {
	n := d.Int32()
	if n < 0 || d.Err() != nil {
		return ""
	}
	zr, err := gzip.NewReader(bytes.NewReader(d.Bytes(int(n))))
	if err != nil {
		d.Fail(fmt.Errorf("%w: compressed text: %w", hadoop.ErrCorrupt, err))
		return ""
	}
	return string(unpacked(d, zr))
}

func unpacked(d *hadoop.Decoder, r io.Reader) []byte {
	b, err := io.ReadAll(io.LimitReader(r, maxPacked+1))
	if err == nil && len(b) > maxPacked {
		err = fmt.Errorf("it unpacks to more than %d bytes", maxPacked)
	}
	if err != nil {
		d.Fail(fmt.Errorf("%w: compressed field: %w", hadoop.ErrCorrupt, err))
	}
	return b
}

// content is Nutch's Content.
type content struct {
	URL, Base string
	Body      []byte
	Type      string // that Nutch decided on
	Meta      model.Metadata
}

// readContent reads a Content. Its body is a copy.
func (*reader) readContent(b []byte) (c content, err error) {
	d := hadoop.NewDecoder(b)
	version := d.Int32()
	switch {
	case d.Err() != nil:
	case version == -1:
		c = contentFields(d, false)
	case version < 0:
		return c, fmt.Errorf("%w: Content of version %d; -1 can be read", hadoop.ErrCorrupt, version)
	default: // before 1.0: its length, and all of it compressed
		packed := d.Bytes(int(version))
		if d.Finish() != nil {
			break
		}
		zr, err := zlib.NewReader(bytes.NewReader(packed))
		if err != nil {
			return c, fmt.Errorf("%w: Content: %w", hadoop.ErrCorrupt, err)
		}
		raw := unpacked(d, zr)
		if d.Err() != nil {
			break
		}
		d = hadoop.NewDecoder(raw)
		d.Byte() // its version; metadata are written alike in all three
		c = contentFields(d, true)
	}
	return c, d.Finish()
}

func contentFields(d *hadoop.Decoder, owned bool) content {
	c := content{URL: d.Text(), Base: d.Text()}
	if c.Body = d.Bytes(d.Count(1)); !owned {
		c.Body = bytes.Clone(c.Body)
	}
	c.Type = d.Text()
	c.Meta = metadata(d)
	return c
}

// metadata reads Nutch's Metadata.
func metadata(d *hadoop.Decoder) model.Metadata {
	n := d.Count(5)
	m := make(model.Metadata, n)
	for range n {
		key := d.Text()
		values := make([]string, d.Count(1))
		for i := range values {
			values[i] = d.Text()
		}
		if d.Err() != nil {
			return nil
		}
		m[key] = append(m[key], values...)
	}
	return m
}

// parseData is Nutch's ParseData.
type parseData struct {
	Status      model.ParseStatus
	Title       string
	Outlinks    []link
	ContentMeta model.Metadata
	ParseMeta   model.Metadata
}

// link is Nutch's Outlink or Inlink.
type link struct {
	URL, Anchor string
	Meta        model.Metadata
}

const newestParseData = 5

// readParseData reads a ParseData, with outlinks as they are since Nutch 1.6 or as they were before, without metadata.
func (r *reader) readParseData(b []byte) (parseData, error) {
	var first error
	for _, withMeta := range []bool{true, false} {
		p, err := r.parseData(b, withMeta)
		if err == nil {
			return p, nil
		}
		if first == nil {
			first = err
		}
	}
	return parseData{}, first
}

func (r *reader) parseData(b []byte, withMeta bool) (p parseData, err error) {
	d := hadoop.NewDecoder(b)
	if v := d.Byte(); d.Err() == nil && v != newestParseData {
		return p, fmt.Errorf("%w: ParseData of version %d; %d can be read", hadoop.ErrCorrupt, v, newestParseData)
	}
	version := d.Byte()
	p.Status = model.ParseStatus{Major: model.ParseMajor(d.Byte()), Minor: model.ParseMinor(uint16(d.Int16()))} //nolint:gosec // no code is negative
	p.Status.Args = versioned(d, "ParseStatus", version)
	p.Title = d.Text()
	p.Outlinks = r.links(d, withMeta)
	p.ContentMeta, p.ParseMeta = metadata(d), metadata(d)
	return p, d.Finish()
}

func (r *reader) links(d *hadoop.Decoder, withMeta bool) []link {
	n := d.Count(2)
	out := make([]link, 0, min(n, 1<<12))
	for range n {
		l := link{URL: d.Text(), Anchor: d.Text()}
		if withMeta && d.Bool() {
			l.Meta = texted(r.classes.Map(d))
		}
		if d.Err() != nil {
			return nil
		}
		out = append(out, l)
	}
	return out
}

// texted returns a map as texts.
func texted(m hadoop.MapValue) model.Metadata {
	if len(m) == 0 {
		return nil
	}
	out := make(model.Metadata, len(m))
	for _, e := range m {
		out.Set(e.Key.String(), e.Value.String())
	}
	return out
}

// readParseText reads a ParseText.
func (*reader) readParseText(b []byte) (string, error) {
	d := hadoop.NewDecoder(b)
	var text string
	switch version := d.Byte(); version {
	case 1:
		text = packedText(d)
	case 2:
		text = d.Text()
	default:
		d.Fail(fmt.Errorf("%w: ParseText of version %d; 1 and 2 can be read", hadoop.ErrCorrupt, version))
	}
	return text, d.Finish()
}

// readInlinks reads an Inlinks, with inlinks as they are since Nutch 1.21 or as they were before, without metadata.
func (r *reader) readInlinks(b []byte) ([]link, error) {
	var first error
	for _, withMeta := range []bool{true, false} {
		d := hadoop.NewDecoder(b)
		links := r.links(d, withMeta)
		if err := d.Finish(); err == nil {
			return links, nil
		} else if first == nil {
			first = err
		}
	}
	return nil, first
}

// reader reads Nutch's Writables.
type reader struct{ classes hadoop.Classes }

func newReader() *reader {
	return &reader{hadoop.Standard().With(hadoop.Classes{classProtocolStatus: readProtocolStatus})}
}
