// Package segmentmerge is the SegmentMergeFilter extension point: keep or drop
// records while segments are merged.
//
// Called by mergesegs --filter; a record stays when every filter keeps it.
package segmentmerge

import (
	"context"

	"github.com/gonutch/crawler/sdk/model"
)

// Record is one URL's share of a segment.
type Record struct {
	URL         string
	FetchStatus model.Status
	Signature   []byte
	Parse       *model.Parse // nil when the segment has none
	Metadata    model.Metadata
}

// Filter judges records. Implementations are safe for concurrent use.
type Filter interface {
	// Keep reports whether the record stays.
	Keep(ctx context.Context, r *Record) (bool, error)
}
