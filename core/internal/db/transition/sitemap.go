package transition

import (
	"time"

	"github.com/gonutch/crawler/sdk/model"
)

// MetaSitemap is the sitemap that a record's URL was found in.
const MetaSitemap = "_sitemap_"

// Hints are what a sitemap says of a page.
type Hints struct {
	Sitemap    string    // its URL
	Priority   float64   // 0 to 1; 0 counts as the protocol's default, 0.5
	ChangeFreq string    // "" when it says nothing
	LastMod    time.Time // zero when it says nothing
}

// Score is the priority as a score, in micro-units.
func (h Hints) Score() int64 {
	if h.Priority <= 0 {
		return model.Micro / 2
	}
	return int64(h.Priority * model.Micro)
}

// interval returns what changefreq means, within a minute and a year as Nutch's
// SitemapProcessor has it; 0 for nothing.
func (h Hints) interval() time.Duration {
	const day = 24 * time.Hour
	switch h.ChangeFreq {
	case "always":
		return time.Minute
	case "hourly":
		return time.Hour
	case "daily":
		return day
	case "weekly":
		return 7 * day
	case "monthly":
		return 30 * day
	case "yearly", "never":
		return 365 * day
	}
	return 0
}

// Sitemapped merges a URL of a sitemap with its record, nil when there is none, by
// the rules of Nutch's SitemapProcessor (nutch.md 6.20): a new record gets score,
// interval and modification time of the hints, an existing one only with overwrite.
// Then, too, a page that changed after its last fetch is due at now. Fixed
// intervals of seeds are kept. did is SeedAdded, SeedUpdated or SeedIgnored.
func Sitemapped(old *model.CrawlDatum, h Hints, fields model.Fields, overwrite bool, now time.Time, r Rules) (d model.CrawlDatum, did Injected) {
	if old != nil && !overwrite {
		return Clone(*old), SeedIgnored
	}
	if old == nil {
		did = SeedAdded
		d = r.Schedule.Initialize(Clone(model.CrawlDatum{Status: model.StatusDBUnfetched, Fields: fields}), now)
	} else {
		did = SeedUpdated
		d = Clone(*old)
		for k, v := range changed(fields, d.Score != h.Score()) {
			if d.Fields == nil {
				d.Fields = model.Fields{}
			}
			d.Fields[k] = v
		}
	}
	d.Score = h.Score()
	if i := h.interval(); i > 0 && !d.FixedInterval {
		d.Interval = r.Schedule.Bound(i)
	}
	if !h.LastMod.IsZero() && !h.LastMod.After(now) {
		d.ModifiedTime = h.LastMod
		if old != nil && !old.PrevFetchTime.IsZero() && h.LastMod.After(old.PrevFetchTime) && d.FetchTime.After(now) {
			d.FetchTime = now
		}
	}
	if h.Sitemap != "" {
		d.Metadata = overlay(d.Metadata, model.Metadata{MetaSitemap: {h.Sitemap}})
	}
	return d, did
}

// changed returns fields when the score they stand for is new.
func changed(fields model.Fields, isNew bool) model.Fields {
	if isNew {
		return fields
	}
	return nil
}

// ParseLastMod reads a date of a sitemap: those of W3C's "Date and Time Formats", and of
// RSS. It returns the zero time for anything else.
func ParseLastMod(s string) time.Time {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04Z07:00", time.DateOnly, "2006-01", "2006", time.DateTime, "2006-01-02T15:04:05",
		time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
