package crawldb

import (
	"time"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// Record is what the CrawlDB holds under a URL key. Times are kept with
// microsecond resolution. Byte slices and maps of a Record that came from
// Tx.Get may be replaced; Fields and Metadata may also be changed in place.
type Record struct {
	Datum model.CrawlDatum
	Sort  int64 // micro-units; place among the ready records as of the last scoring
}

// FetchHint is what generate and fetch need of a record without reading it:
// the record as it was when its index entry was written. It is what a segment's
// crawl_generate holds.
type FetchHint struct {
	Status        model.Status
	FetchTime     time.Time // when it was due
	Interval      time.Duration
	Sort          int64 // micro-units
	Score         int64 // micro-units
	Retries       int
	FixedInterval bool
	ModifiedTime  time.Time
	PrevFetchTime time.Time
	ETag          string
	LastModified  string
	Fields        model.Fields
	Metadata      model.Metadata
}

// Hint returns the record's FetchHint; it shares the record's maps.
func (r *Record) Hint() FetchHint {
	d := &r.Datum
	return FetchHint{
		Status: d.Status, FetchTime: d.FetchTime, Interval: d.Interval, Sort: r.Sort, Score: d.Score,
		Retries: d.Retries, FixedInterval: d.FixedInterval, ModifiedTime: d.ModifiedTime, PrevFetchTime: d.PrevFetchTime,
		ETag: d.ETag, LastModified: d.LastModified, Fields: d.Fields, Metadata: d.Metadata,
	}
}

const (
	recordVersion = 1
	hintVersion   = 1
)

// Bits that say which optional parts of a record or hint follow.
const (
	hasPrevFetch = 1 << iota
	hasModified
	hasRetries
	fixedInterval
	hasFields
	hasSignature
	hasPrevSignature
	hasProtocol
	hasETag
	hasLastModified
	hasReprURL
	hasDuplicateOf
	hasSegment
	hasMetadata
	hasHistory
)

func flag(bit uint64, on bool) uint64 {
	if on {
		return bit
	}
	return 0
}

// appendRecord appends the stored form of r.
func appendRecord(b []byte, r *Record) []byte {
	d := &r.Datum
	fl := flag(hasPrevFetch, !d.PrevFetchTime.IsZero()) | flag(hasModified, !d.ModifiedTime.IsZero()) |
		flag(hasRetries, d.Retries != 0) | flag(fixedInterval, d.FixedInterval) | flag(hasFields, len(d.Fields) > 0) |
		flag(hasSignature, len(d.Signature) > 0) | flag(hasPrevSignature, len(d.PrevSignature) > 0) |
		flag(hasProtocol, d.ProtocolStatus != model.ProtocolStatus{}) | flag(hasETag, d.ETag != "") |
		flag(hasLastModified, d.LastModified != "") | flag(hasReprURL, d.ReprURL != "") |
		flag(hasDuplicateOf, d.DuplicateOf != "") | flag(hasSegment, d.Segment != "") | flag(hasMetadata, len(d.Metadata) > 0) |
		flag(hasHistory, d.History != model.ChangeHistory{})
	b = append(b, recordVersion, byte(d.Status))
	b = store.AppendUint(b, fl)
	b = store.AppendTime(b, d.FetchTime)
	b = store.AppendInt(b, int64(d.Interval))
	b = store.AppendInt(b, r.Sort)
	b = store.AppendInt(b, d.Score)
	if fl&hasPrevFetch != 0 {
		b = store.AppendTime(b, d.PrevFetchTime)
	}
	if fl&hasModified != 0 {
		b = store.AppendTime(b, d.ModifiedTime)
	}
	if fl&hasRetries != 0 {
		b = store.AppendInt(b, int64(d.Retries))
	}
	if fl&hasFields != 0 {
		b = appendFields(b, d.Fields)
	}
	if fl&hasSignature != 0 {
		b = store.AppendText(b, d.Signature)
	}
	if fl&hasPrevSignature != 0 {
		b = store.AppendText(b, d.PrevSignature)
	}
	if fl&hasProtocol != 0 {
		b = append(b, byte(d.ProtocolStatus.Code))
		b = store.AppendInt(b, int64(d.ProtocolStatus.HTTP))
		b = store.AppendText(b, d.ProtocolStatus.Message)
	}
	for _, s := range [...]string{d.ETag, d.LastModified, d.ReprURL, d.DuplicateOf, d.Segment} {
		if s != "" {
			b = store.AppendText(b, s)
		}
	}
	if fl&hasMetadata != 0 {
		b = store.AppendMetadata(b, d.Metadata)
	}
	if fl&hasHistory != 0 {
		b = appendHistory(b, &d.History)
	}
	return b
}

// decodeRecord decodes value, stored under key, into r.
func decodeRecord(key, value []byte, r *Record) error {
	d, _ := store.NewDecoder(value, recordVersion)
	c := &r.Datum
	c.Status = model.Status(d.Byte())
	fl := d.Uint()
	c.FetchTime = d.Time()
	c.Interval = time.Duration(d.Int())
	r.Sort = d.Int()
	c.Score = d.Int()
	if fl&hasPrevFetch != 0 {
		c.PrevFetchTime = d.Time()
	}
	if fl&hasModified != 0 {
		c.ModifiedTime = d.Time()
	}
	if fl&hasRetries != 0 {
		c.Retries = int(d.Int())
	}
	c.FixedInterval = fl&fixedInterval != 0
	if fl&hasFields != 0 {
		c.Fields = decodeFields(&d)
	}
	if fl&hasSignature != 0 {
		c.Signature = d.Blob()
	}
	if fl&hasPrevSignature != 0 {
		c.PrevSignature = d.Blob()
	}
	if fl&hasProtocol != 0 {
		c.ProtocolStatus.Code = model.ProtocolCode(d.Byte())
		c.ProtocolStatus.HTTP = int(d.Int())
		c.ProtocolStatus.Message = d.Text()
	}
	for _, t := range [...]struct {
		bit uint64
		to  *string
	}{
		{hasETag, &c.ETag},
		{hasLastModified, &c.LastModified},
		{hasReprURL, &c.ReprURL},
		{hasDuplicateOf, &c.DuplicateOf},
		{hasSegment, &c.Segment},
	} {
		if fl&t.bit != 0 {
			*t.to = d.Text()
		}
	}
	if fl&hasMetadata != 0 {
		c.Metadata = d.Metadata()
	}
	if fl&hasHistory != 0 {
		c.History = decodeHistory(&d)
	}
	return d.Finish(key)
}

// appendHistory appends h: Wanted in whole seconds, Age in milliseconds.
func appendHistory(b []byte, h *model.ChangeHistory) []byte {
	b = store.AppendInt(store.AppendText(b, h.Target), int64(h.Checks))
	for _, n := range [...]int64{h.Rate, int64(h.Wanted / time.Second), h.Age.Milliseconds()} {
		b = store.AppendInt(b, n)
	}
	return b
}

func decodeHistory(d *store.Decoder) model.ChangeHistory {
	return model.ChangeHistory{
		Target: d.Text(), Checks: int(d.Int()), Rate: d.Int(), Wanted: time.Duration(d.Int()) * time.Second, Age: time.Duration(d.Int()) * time.Millisecond,
	}
}

func appendFields(b []byte, f model.Fields) []byte {
	b = store.AppendUint(b, uint64(len(f)))
	if len(f) == 1 {
		for k, v := range f {
			b = store.AppendInt(store.AppendText(b, k), v)
		}
		return b
	}
	var space [8]string
	names := space[:0]
	for k := range f {
		names = append(names, k)
	}
	sortStrings(names)
	for _, k := range names {
		b = store.AppendInt(store.AppendText(b, k), f[k])
	}
	return b
}

func decodeFields(d *store.Decoder) model.Fields {
	n := d.Count(2)
	f := make(model.Fields, n)
	for range n {
		k := d.Text()
		f[k] = d.Int()
	}
	return f
}

// appendHint appends the stored form of r's FetchHint. What generate decides
// by comes first; see peekHint.
func appendHint(b []byte, r *Record) []byte {
	d := &r.Datum
	fl := flag(hasPrevFetch, !d.PrevFetchTime.IsZero()) | flag(hasModified, !d.ModifiedTime.IsZero()) |
		flag(hasRetries, d.Retries != 0) | flag(fixedInterval, d.FixedInterval) | flag(hasFields, len(d.Fields) > 0) |
		flag(hasETag, d.ETag != "") | flag(hasLastModified, d.LastModified != "") | flag(hasMetadata, len(d.Metadata) > 0)
	b = append(b, hintVersion, byte(d.Status))
	b = store.AppendTime(b, d.FetchTime)
	b = store.AppendInt(b, r.Sort)
	b = store.AppendInt(b, int64(d.Interval))
	b = store.AppendUint(b, fl)
	b = store.AppendInt(b, d.Score)
	if fl&hasPrevFetch != 0 {
		b = store.AppendTime(b, d.PrevFetchTime)
	}
	if fl&hasModified != 0 {
		b = store.AppendTime(b, d.ModifiedTime)
	}
	if fl&hasRetries != 0 {
		b = store.AppendInt(b, int64(d.Retries))
	}
	if fl&hasFields != 0 {
		b = appendFields(b, d.Fields)
	}
	if fl&hasETag != 0 {
		b = store.AppendText(b, d.ETag)
	}
	if fl&hasLastModified != 0 {
		b = store.AppendText(b, d.LastModified)
	}
	if fl&hasMetadata != 0 {
		b = store.AppendMetadata(b, d.Metadata)
	}
	return b
}

// peek is the part of a hint that generate decides by.
type peek struct {
	status   model.Status
	due      time.Time
	sort     int64
	interval time.Duration
}

func peekHint(d *store.Decoder) peek {
	return peek{status: model.Status(d.Byte()), due: d.Time(), sort: d.Int(), interval: time.Duration(d.Int())}
}

// decodeHint decodes a hint stored under key.
func decodeHint(key, value []byte, h *FetchHint) error {
	d, _ := store.NewDecoder(value, hintVersion)
	p := peekHint(&d)
	h.Status, h.FetchTime, h.Sort, h.Interval = p.status, p.due, p.sort, p.interval
	fl := d.Uint()
	h.Score = d.Int()
	if fl&hasPrevFetch != 0 {
		h.PrevFetchTime = d.Time()
	}
	if fl&hasModified != 0 {
		h.ModifiedTime = d.Time()
	}
	if fl&hasRetries != 0 {
		h.Retries = int(d.Int())
	}
	h.FixedInterval = fl&fixedInterval != 0
	if fl&hasFields != 0 {
		h.Fields = decodeFields(&d)
	}
	if fl&hasETag != 0 {
		h.ETag = d.Text()
	}
	if fl&hasLastModified != 0 {
		h.LastModified = d.Text()
	}
	if fl&hasMetadata != 0 {
		h.Metadata = d.Metadata()
	}
	return d.Finish(key)
}

// recordKey is where the record of k is stored.
func recordKey(k urlkey.Key) []byte { return store.Key(store.PrefixRecord, k) }
