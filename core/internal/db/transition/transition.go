package transition

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/gonutch/crawler/core/internal/schedule"
	"github.com/gonutch/crawler/sdk/model"
)

// Metadata keys that the state machine itself writes.
const (
	MetaParseStatus = "parse.status" // text form of a failed ParseStatus; absent when the last parse was good
	MetaContentType = "Content-Type" // of the last content, as Nutch's MimeAdaptive schedule wants it
	// MetaPartOf is the URL of the page that a record's document was found in (a feed,
	// an archive). It is there until the record's URL is fetched itself.
	MetaPartOf = "_part.of_"
)

// Rules are the settings of the state machine.
type Rules struct {
	Schedule          schedule.Schedule
	RetryMax          int  // this many failures in a row make a page gone (db.fetch.retry.max)
	DeleteFailedParse bool // a failed parse makes a page db_parse_failed (parser.delete.failed.parse)
	AdditionsAllowed  bool // URLs that have no record may get one (db.update.additions.allowed)
	InjectedScore     int64
}

// DefaultRules returns Nutch's defaults with schedule s.
func DefaultRules(s schedule.Schedule) Rules {
	return Rules{Schedule: s, RetryMax: 3, AdditionsAllowed: true, InjectedScore: model.Micro}
}

// Outcome is what one fetch of a URL, and the parse of what it brought, came to.
type Outcome struct {
	Status       model.Status         // a fetch status, or parse_failed
	Protocol     model.ProtocolStatus // recorded as it is
	FetchTime    time.Time
	ModifiedTime time.Time // from Last-Modified; zero when unknown
	ETag         string    // validators of a 200 or 304 answer
	LastModified string
	Signature    []byte // of the content; nil when there is none
	Segment      string // that holds content and parse
	ContentType  string
	Parse        model.ParseStatus // zero when parsing is not part of the crawl
	ParseMeta    model.Metadata    // parse metadata that db.parsemeta.to.crawldb names
	Metadata     model.Metadata    // of the fetched item; wins over the record's
	ReprURL      string            // "" keeps what the record has
	// Goal is what the schedule has to know; Apply itself sets Last.
	Goal schedule.Goal
}

// failedParse reports whether the content could not be used.
func (o *Outcome) failedParse() bool {
	return o.Status == model.StatusParseFailed || o.Status == model.StatusFetchSuccess && o.Parse.Major == model.ParseFailed
}

// FetchStatus returns the fetch status a protocol status stands for (Nutch's
// FetcherThread). A status it does not know is a retry.
func FetchStatus(code model.ProtocolCode) model.Status {
	switch code {
	case model.ProtocolSuccess:
		return model.StatusFetchSuccess
	case model.ProtocolMoved:
		return model.StatusFetchRedirPerm
	case model.ProtocolTempMoved:
		return model.StatusFetchRedirTemp
	case model.ProtocolNotModified:
		return model.StatusFetchNotModified
	case model.ProtocolGone, model.ProtocolNotFound, model.ProtocolAccessDenied, model.ProtocolRobotsDenied:
		return model.StatusFetchGone
	}
	return model.StatusFetchRetry
}

// Apply returns the record after outcome o, which arrived at now; old is nil
// for a URL without a record. It reports false when nothing is to be stored:
// there is no record and additions are not allowed. A fetch time after now (a
// clock was set back) counts as now.
//
// It panics on a status that is neither a fetch status nor parse_failed: that
// is a bug of the caller.
func Apply(old *model.CrawlDatum, o Outcome, now time.Time, r Rules) (model.CrawlDatum, bool) {
	if old == nil && !r.AdditionsAllowed {
		return model.CrawlDatum{}, false
	}
	at := o.FetchTime
	if at.IsZero() || at.After(now) {
		at = now
	}
	if old != nil {
		o.Goal.Last = old.PrevFetchTime
	}
	r.Schedule = r.Schedule.For(o.Goal)
	d := start(old, o, at, r)
	switch {
	case o.failedParse():
		d = parseFailed(d, o, at, r)
	case o.Status == model.StatusFetchSuccess:
		d = success(d, o, at, r)
	case o.Status == model.StatusFetchNotModified:
		d = notModified(d, o, at, r)
	case o.Status == model.StatusFetchRedirTemp:
		d = redirect(d, model.StatusDBRedirTemp, o, at, r)
	case o.Status == model.StatusFetchRedirPerm:
		d = redirect(d, model.StatusDBRedirPerm, o, at, r)
	case o.Status == model.StatusFetchGone:
		d.Retries = 0
		d = gone(d, model.StatusDBGone, at, r)
	case o.Status == model.StatusFetchRetry:
		d = retry(d, at, r)
	default:
		panic("transition: outcome has status " + o.Status.String())
	}
	d.DuplicateOf = "" // the fetch decides anew; dedup comes after it
	return d, true
}

// start returns a private copy of old, or a new record, with what every
// outcome changes.
func start(old *model.CrawlDatum, o Outcome, at time.Time, r Rules) model.CrawlDatum {
	var d model.CrawlDatum
	if old == nil {
		d = r.Schedule.Initialize(d, at)
	} else {
		d = Clone(*old)
	}
	d.ProtocolStatus = o.Protocol
	if o.Status != model.StatusFetchRetry {
		d.PrevFetchTime = at
	}
	d.Metadata = overlay(d.Metadata, o.Metadata)
	if o.ReprURL != "" {
		d.ReprURL = o.ReprURL
	}
	return d
}

func success(d model.CrawlDatum, o Outcome, at time.Time, r Rules) model.CrawlDatum {
	change := schedule.Unknown
	if standsForContent(d.Status) && len(d.Signature) > 0 && len(o.Signature) > 0 {
		change = schedule.Modified
		if bytes.Equal(d.Signature, o.Signature) {
			change = schedule.NotModified
		}
	}
	d.Status = model.StatusDBFetched
	if change == schedule.NotModified {
		d.Status = model.StatusDBNotModified // keeps its ModifiedTime (NUTCH-1341)
	} else {
		d = signed(d, o.Signature)
		if !o.ModifiedTime.IsZero() {
			d.ModifiedTime = o.ModifiedTime
		}
	}
	d.Segment = o.Segment
	d.ETag, d.LastModified = o.ETag, o.LastModified
	d = described(d, o)
	delete(d.Metadata, MetaParseStatus)
	return r.Schedule.SetFetched(d, at, change)
}

func notModified(d model.CrawlDatum, o Outcome, at time.Time, r Rules) model.CrawlDatum {
	d.Status = model.StatusDBNotModified
	if o.ETag != "" {
		d.ETag = o.ETag
	}
	if o.LastModified != "" {
		d.LastModified = o.LastModified
	}
	d.Metadata = overlay(d.Metadata, o.ParseMeta)
	return r.Schedule.SetFetched(d, at, schedule.NotModified)
}

func redirect(d model.CrawlDatum, s model.Status, o Outcome, at time.Time, r Rules) model.CrawlDatum {
	d.Status = s
	d = contentless(d)
	d.Metadata = overlay(d.Metadata, o.ParseMeta)
	return r.Schedule.SetFetched(d, at, schedule.Unknown)
}

// parseFailed records content that could not be parsed. Its signature is not
// taken, so that the page counts as new once it can be parsed; the content
// and parse of an earlier fetch stay valid unless failed pages are deleted.
func parseFailed(d model.CrawlDatum, o Outcome, at time.Time, r Rules) model.CrawlDatum {
	if o.Parse.Major != model.ParseFailed {
		o.Parse = model.ParseStatus{Major: model.ParseFailed, Minor: model.ParseFailedException, Message: o.Parse.Message}
	}
	d = described(d, o)
	d.Metadata = overlay(d.Metadata, model.Metadata{MetaParseStatus: {o.Parse.String()}})
	if r.DeleteFailedParse {
		d.Retries = 0
		return gone(d, model.StatusDBParseFailed, at, r)
	}
	d.Status = model.StatusDBFetched
	segment := d.Segment
	d = contentless(d)
	d.Segment = segment
	return r.Schedule.SetFetched(d, at, schedule.Unknown)
}

func retry(d model.CrawlDatum, at time.Time, r Rules) model.CrawlDatum {
	d = r.Schedule.SetRetry(d, at)
	if d.Retries < r.RetryMax {
		d.Status = model.StatusDBUnfetched
		return d
	}
	return gone(d, model.StatusDBGone, at, r)
}

func gone(d model.CrawlDatum, s model.Status, at time.Time, r Rules) model.CrawlDatum {
	d.Status = s
	return r.Schedule.SetGone(contentless(d), at)
}

// standsForContent reports whether a record of status s with a signature
// stands for content: records imported from Nutch may have one without.
func standsForContent(s model.Status) bool {
	switch s {
	case model.StatusDBUnfetched, model.StatusDBFetched, model.StatusDBNotModified, model.StatusDBDuplicate:
		return true
	}
	return false
}

// contentless forgets content that the record no longer stands for.
func contentless(d model.CrawlDatum) model.CrawlDatum {
	d = signed(d, nil)
	d.ETag, d.LastModified, d.Segment = "", "", ""
	return d
}

// signed gives d signature sig and keeps the last one it had.
func signed(d model.CrawlDatum, sig []byte) model.CrawlDatum {
	if len(d.Signature) > 0 {
		d.PrevSignature = d.Signature
	}
	d.Signature = slices.Clone(sig)
	return d
}

// described takes over what the outcome says of the content.
func described(d model.CrawlDatum, o Outcome) model.CrawlDatum {
	d.Metadata = overlay(d.Metadata, o.ParseMeta)
	if o.ContentType != "" {
		d.Metadata = overlay(d.Metadata, model.Metadata{MetaContentType: {o.ContentType}})
	}
	return d
}

// overlay adds the keys of over to m, which it changes; over wins.
func overlay(m, over model.Metadata) model.Metadata {
	if len(over) == 0 {
		return m
	}
	if m == nil {
		m = make(model.Metadata, len(over))
	}
	for k, v := range over {
		m[k] = slices.Clone(v)
	}
	return m
}

// Clone returns a copy of d that shares nothing with it.
func Clone(d model.CrawlDatum) model.CrawlDatum {
	d.Fields = maps.Clone(d.Fields)
	d.Signature = slices.Clone(d.Signature)
	d.PrevSignature = slices.Clone(d.PrevSignature)
	d.Metadata = d.Metadata.Clone()
	return d
}
