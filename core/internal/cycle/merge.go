package cycle

import (
	"context"

	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/step/merge"
)

func (d *deps) merging() merge.Deps {
	return merge.Deps{DB: d.DB, LinkDB: d.Links, Links: d.outlinks(), Plugins: d.Chains, Now: d.now()}
}

// MergeDatabases is "crawler mergedb": one report for each source.
func (c *Cycle) MergeDatabases(ctx context.Context, sources []merge.Source, o merge.Options) ([]merge.Report, error) {
	c.d.newSummary()
	if _, err := c.d.fold(ctx); err != nil {
		return nil, err
	}
	out, err := mergeEach(sources, o, func(s merge.Source, o merge.Options) (merge.Report, error) {
		return merge.Databases(ctx, c.d.merging(), s, o)
	})
	if err == nil {
		_, err = c.d.fold(ctx)
	}
	return out, err
}

// MergeLinks is "crawler mergelinkdb": one report for each source.
func (c *Cycle) MergeLinks(ctx context.Context, sources []merge.Source, o merge.Options) ([]merge.Report, error) {
	return mergeEach(sources, o, func(s merge.Source, o merge.Options) (merge.Report, error) {
		return merge.Links(ctx, c.d.merging(), s, o)
	})
}

// mergeEach merges sources one after the other.
func mergeEach(sources []merge.Source, o merge.Options, f func(merge.Source, merge.Options) (merge.Report, error)) ([]merge.Report, error) {
	var out []merge.Report
	var before int64
	told := o.Progress
	for i, s := range sources {
		if told != nil {
			o.Progress = func(n int64, share float64) { told(before+n, (float64(i)+share)/float64(len(sources))) }
		}
		rep, err := f(s, o)
		out = append(out, rep)
		if err != nil {
			return out, err
		}
		before += rep.Records
	}
	return out, nil
}

// MergeSegments is "crawler mergesegs".
func (c *Cycle) MergeSegments(ctx context.Context, inputs []merge.Input, o merge.SegmentOptions) (merge.SegmentReport, error) {
	return merge.Segments(ctx, c.d.merging(), c.d.Segs, inputs, o)
}

// Finished returns the segments of which nothing is left to be done but indexing, oldest first.
func (c *Cycle) Finished(ctx context.Context) ([]string, error) {
	metas, err := segment.List(ctx, c.d.Store)
	var out []string
	for _, m := range metas {
		if !m.State.Before(segment.StateInverted) && c.d.DB.LeasedCount(m.ID) == 0 {
			out = append(out, m.ID)
		}
	}
	return out, err
}
