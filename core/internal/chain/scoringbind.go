package chain

import (
	"context"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/scoring"
)

func bindScoring(m *member, many, pages limits) scoringFilter {
	return scoringFilter{
		m:          m,
		injected:   bindScore(m, "score seeds", many, sizeInject, scoring.Filter.Injected),
		distribute: bindScore(m, "distribute scores", pages, sizeDistribute, scoring.Filter.Distribute),
		score:      bindScore(m, "score records", many, sizeScore, scoring.Filter.Score),
		orphaned:   bindScore(m, "judge orphans", many, sizeOrphan, scoring.Filter.Orphaned),
		boost:      bindScore(m, "weigh documents", many, sizeIndexScore, scoring.Filter.Boost),
	}
}

// bindScore binds one of the five calls of a scoring filter.
func bindScore[I, O any](m *member, what string, l limits, size func(*I) int,
	call func(scoring.Filter, context.Context, []I) ([]O, error),
) *stage[I, O] {
	with := func(f scoring.Filter) batchFunc[I, O] {
		return func(ctx context.Context, in []I) ([]O, []error, error) {
			out, err := call(f, ctx, in)
			return out, nil, err
		}
	}
	return bind(m, what, l, size,
		func() batchFunc[I, O] { return with(m.local.Scoring) },
		func(cc grpc.ClientConnInterface) batchFunc[I, O] { return with(scoring.NewClient(cc)) })
}
