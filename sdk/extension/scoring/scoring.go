// Package scoring is the ScoringFilter extension point: say how important
// pages are.
//
// Scores are int64 micro-units (model.Micro is 1.0). A plugin keeps named
// fields on each record and changes other records only through effects: values
// that the core merges with the reducer the manifest declares for the field
// (add, min, max, first). Merging is commutative, so crashes, retries and
// parallel commits can't change a score. Filters run in chain order; calls are
// batches.
package scoring

import (
	"context"

	"github.com/gonutch/crawler/sdk/model"
)

// InjectInput is a seed.
type InjectInput struct {
	URL      string
	Score    int64 // micro-units, from the seed or db.score_injected
	Metadata model.Metadata
}

// Target is an accepted outlink. A plugin whose manifest does not need
// "outlinks" gets Internal only.
type Target struct {
	URL      string
	Anchor   string
	Internal bool // same host as the source
	Metadata model.Metadata
}

// DistributeInput is a parsed page whose score is to be handed on. Fields are
// the page's fields as they were when the page was generated, not as they are
// now: what is handed on is subtracted from the present value by an effect.
type DistributeInput struct {
	URL       string
	Fields    model.Fields
	Metadata  model.Metadata // of the CrawlDatum
	ParseMeta model.Metadata
	Text      string // parse text; empty unless the manifest needs "text"
	Targets   []Target
	AllLinks  int // links found before limits and filters
	// Redirect says that the page redirects: Targets is where to, or empty, and no
	// link. What hangs on the way to a page stays the same for such a target.
	Redirect bool
}

// Column is one field's effects on all targets, position by position.
type Column struct {
	Field  string
	Values []int64 // len(Targets)
}

// DistributeOutput is what a page hands on.
type DistributeOutput struct {
	Columns  []Column
	Self     model.Fields     // effects on the page itself, merged by the same reducers
	Drop     []bool           // targets to remove; nil keeps all
	Metadata []model.Metadata // metadata for targets the CrawlDB does not know yet; nil for none
}

// ScoreInput is a record whose fields changed.
type ScoreInput struct {
	URL      string
	Status   model.Status
	Fields   model.Fields
	Metadata model.Metadata
	Score    int64 // what the filter before made of it; the stored score for the first
	Sort     int64 // what the filter before made of it; model.Micro for the first
}

// ScoreOutput is the record's score and place in the ready index. Set changes
// fields of the record itself.
type ScoreOutput struct {
	Score int64
	Sort  int64 // micro-units; records with greater values are generated first
	Set   model.Fields
}

// OrphanInput is a record without inlinks; see Orphaned.
type OrphanInput struct {
	URL      string
	Status   model.Status
	Fields   model.Fields
	NowUnix  int64 // seconds
	Metadata model.Metadata
}

// OrphanOutput is the status the record gets; 0 keeps it.
type OrphanOutput struct {
	Status model.Status
	Set    model.Fields
	Again  int64 // when to judge the record again if it has no inlink then, in seconds since 1970; 0 is never
}

// IndexInput is a document about to be indexed.
type IndexInput struct {
	URL       string
	Score     int64 // of the CrawlDatum
	Fields    model.Fields
	ParseMeta model.Metadata
	Boost     float64 // what the filter before made of it; 1 for the first
}

// Filter scores records. Implementations are safe for concurrent use and
// deterministic. All methods take and return slices of equal length.
type Filter interface {
	// Injected returns the first fields of each seed.
	Injected(ctx context.Context, in []InjectInput) ([]model.Fields, error)
	// Distribute hands a parsed page's score on to its accepted outlinks. It is
	// called once for each fetched page of a segment.
	Distribute(ctx context.Context, in []DistributeInput) ([]DistributeOutput, error)
	// Score is called for each record whose fields changed, before generate.
	Score(ctx context.Context, in []ScoreInput) ([]ScoreOutput, error)
	// Orphaned is called by invertlinks for records that lost their last inlink, and
	// later for those that are still without when OrphanOutput.Again comes. The
	// manifest must need "orphans".
	Orphaned(ctx context.Context, in []OrphanInput) ([]OrphanOutput, error)
	// Boost returns the index weight of each document.
	Boost(ctx context.Context, in []IndexInput) ([]float64, error)
}

// Pass is embedded by filters that care for some moments only: it hands
// everything through unchanged.
type Pass struct{}

// Injected adds no fields.
func (Pass) Injected(_ context.Context, in []InjectInput) ([]model.Fields, error) {
	return make([]model.Fields, len(in)), nil
}

// Distribute has no effects.
func (Pass) Distribute(_ context.Context, in []DistributeInput) ([]DistributeOutput, error) {
	return make([]DistributeOutput, len(in)), nil
}

// Score keeps what the filter before decided.
func (Pass) Score(_ context.Context, in []ScoreInput) ([]ScoreOutput, error) {
	out := make([]ScoreOutput, len(in))
	for i := range in {
		out[i] = ScoreOutput{Score: in[i].Score, Sort: in[i].Sort}
	}
	return out, nil
}

// Orphaned keeps every record.
func (Pass) Orphaned(_ context.Context, in []OrphanInput) ([]OrphanOutput, error) {
	return make([]OrphanOutput, len(in)), nil
}

// Boost keeps the weight.
func (Pass) Boost(_ context.Context, in []IndexInput) ([]float64, error) {
	out := make([]float64, len(in))
	for i := range in {
		out[i] = in[i].Boost
	}
	return out, nil
}

var _ Filter = Pass{}
