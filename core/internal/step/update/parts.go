package update

import (
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// never is when a document is due that can't be fetched by itself: it changes with
// its page.
func never() time.Time { return time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) }

// parts makes the records of the documents inside page p follow the page, whose
// record becomes next: those of a new version are there, those inside the page that it
// has no more are gone, and all are gone with the page. Entries under URLs of
// their own outlive a feed that drops them.
func (a *Applier) parts(tx *crawldb.Tx, p *prepared, old, next *model.CrawlDatum, now time.Time) error {
	fresh := p.Parsed != nil && next.Segment == p.Segment
	if old != nil && old.Segment != "" && next.Segment != old.Segment {
		// Read outside of the batch: what an earlier segment holds does not change.
		before, err := a.segs.GetParse(old.Segment, p.Key, segment.Want{})
		if err != nil {
			return err
		}
		if before != nil {
			if err := a.dropParts(tx, p, before.Parts, fresh); err != nil {
				return err
			}
		}
	}
	if !fresh {
		return nil
	}
	for i := range p.Parsed.Parts {
		if err := a.part(tx, p, next, &p.Parsed.Parts[i], now); err != nil {
			return err
		}
	}
	return nil
}

// dropParts deletes the records of parts that page p has no more.
func (a *Applier) dropParts(tx *crawldb.Tx, p *prepared, parts []segment.Part, fresh bool) error {
	has := map[string]bool{}
	if fresh {
		for i := range p.Parsed.Parts {
			has[p.Parsed.Parts[i].URL] = true
		}
	}
	for i := range parts {
		url := parts[i].URL
		if has[url] || fresh && !segment.Inside(p.URL, url) {
			continue
		}
		key := urlkey.FromURL(url)
		rec, err := tx.Get(key)
		if err != nil {
			return err
		}
		if rec == nil || rec.Datum.Metadata.First(transition.MetaPartOf) != p.URL {
			continue
		}
		tx.Delete(key)
		tx.IndexDirty(key)
	}
	return nil
}

// part makes or changes the record of one part. A URL that was fetched by itself
// is left alone.
func (a *Applier) part(tx *crawldb.Tx, p *prepared, page *model.CrawlDatum, part *segment.Part, now time.Time) error {
	key := urlkey.FromURL(part.URL)
	rec, err := tx.Get(key)
	if err != nil {
		return err
	}
	var old *model.CrawlDatum
	due := now
	if rec != nil {
		of := rec.Datum.Metadata.First(transition.MetaPartOf)
		if of != p.URL && (of != "" || rec.Datum.Status != model.StatusDBUnfetched) {
			return nil
		}
		before := transition.Clone(rec.Datum)
		old, due = &before, before.FetchTime
	} else {
		rec = &crawldb.Record{}
	}
	at := p.Fetch.FetchTime
	d, ok := transition.Apply(old, transition.Outcome{
		Status: model.StatusFetchSuccess, Protocol: model.ProtocolStatus{Code: model.ProtocolSuccess}, FetchTime: at,
		Signature: part.Signature, Segment: p.Segment, ContentType: part.ContentMeta.First("Content-Type"), Parse: part.Status,
		Metadata: model.Metadata{transition.MetaPartOf: {p.URL}},
	}, now, a.cfg.Rules)
	if !ok {
		return nil
	}
	d.FetchTime = due
	if segment.Inside(p.URL, part.URL) {
		d.FetchTime, d.Score = never(), page.Score
	}
	rec.Datum = d
	tx.Put(key, rec)
	tx.IndexDirty(key)
	return nil
}
