package transition

import (
	"maps"
	"slices"
	"time"

	"github.com/gonutch/crawler/sdk/model"
)

// Merge returns the record that stays of two CrawlDBs' records of one URL, and whether that is
// other's. It is Nutch's CrawlDbMerger (nutch.md 6.11): the one fetched last, then the one with the
// later fetch time, else own; the metadata of both are united, and those of the one that stays
// win. The result shares nothing with the arguments.
func Merge(own, other model.CrawlDatum) (model.CrawlDatum, bool) {
	a, b := lastFetch(&own), lastFetch(&other)
	theirs := b.After(a) || b.Equal(a) && other.FetchTime.After(own.FetchTime)
	wins, loses := own, other
	if theirs {
		wins, loses = other, own
	}
	d := Clone(wins)
	for _, k := range slices.Sorted(maps.Keys(loses.Metadata)) {
		if d.Metadata == nil {
			d.Metadata = model.Metadata{}
		}
		if d.Metadata[k] == nil {
			d.Metadata[k] = slices.Clone(loses.Metadata[k])
		}
	}
	return d, theirs
}

// lastFetch is Nutch's calculateLastFetchTime: zero for what is not fetched.
func lastFetch(d *model.CrawlDatum) time.Time {
	switch {
	case d.Status == model.StatusDBUnfetched:
		return time.Time{}
	case !d.PrevFetchTime.IsZero():
		return d.PrevFetchTime
	}
	return d.FetchTime.Add(-d.Interval)
}

// SameContent reports whether two records stand for the same content.
func SameContent(a, b *model.CrawlDatum) bool {
	return standsForContent(a.Status) && standsForContent(b.Status) && len(a.Signature) > 0 && string(a.Signature) == string(b.Signature)
}

// WithoutContent returns d for a crawl that does not have the content: its next request is
// unconditional, so that the content comes.
func WithoutContent(d model.CrawlDatum) model.CrawlDatum {
	d.ETag, d.LastModified, d.Segment = "", "", ""
	return d
}
