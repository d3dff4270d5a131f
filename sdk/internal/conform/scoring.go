package conform

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// declared checks that a filter touches fields of its manifest only.
func declared(m *manifest.Manifest, f model.Fields) error {
	for name := range f {
		if err := declaredName(m, name); err != nil {
			return err
		}
	}
	return nil
}

func declaredName(m *manifest.Manifest, name string) error {
	for _, d := range m.Fields {
		if d.Name == name {
			return nil
		}
	}
	return fmt.Errorf("score field %q is not in the manifest", name)
}

// named puts the name of a moment before the names of its cases.
func named(prefix string, cases []Case) []Case {
	for i := range cases {
		cases[i].Name = prefix + " " + cases[i].Name
	}
	return cases
}

func (s *Suite) scoring() []Case {
	var cases []Case
	cases = append(cases, named("injected:", s.injected())...)
	cases = append(cases, named("distribute:", s.distribute())...)
	cases = append(cases, named("score:", s.score())...)
	cases = append(cases, named("orphaned:", s.orphaned())...)
	return append(cases, named("boost:", s.boost())...)
}

func (s *Suite) injected() []Case {
	return batch[scoring.InjectInput, model.Fields]{
		samples: []scoring.InjectInput{
			{URL: "http://example.org/", Score: model.Micro}, {URL: "http://example.org/2", Score: 5 * model.Micro, Metadata: model.Metadata{"k": {"v"}}},
		},
		odd: []scoring.InjectInput{{}, {URL: "\xff", Score: -1}},
		call: func(ctx context.Context, conn grpc.ClientConnInterface, in []scoring.InjectInput) ([]model.Fields, []error, error) {
			out, err := scoring.NewClient(conn).Injected(ctx, in)
			return out, nil, err
		},
		check: func(_ scoring.InjectInput, out model.Fields) error { return declared(s.m, out) },
	}.cases(s)
}

func (s *Suite) distribute() []Case {
	samples, odd := pages(s.m)
	return batch[scoring.DistributeInput, scoring.DistributeOutput]{
		samples: append(samples, s.o.Pages...), odd: odd,
		call: func(ctx context.Context, conn grpc.ClientConnInterface, in []scoring.DistributeInput) ([]scoring.DistributeOutput, []error, error) {
			out, err := scoring.NewClient(conn).Distribute(ctx, in)
			return out, nil, err
		},
		check: func(_ scoring.DistributeInput, out scoring.DistributeOutput) error {
			for _, c := range out.Columns {
				if err := declaredName(s.m, c.Field); err != nil {
					return err
				}
			}
			return declared(s.m, out.Self)
		},
	}.cases(s)
}

func (s *Suite) score() []Case {
	return batch[scoring.ScoreInput, scoring.ScoreOutput]{
		samples: []scoring.ScoreInput{
			{URL: "http://example.org/", Status: model.StatusDBFetched, Fields: fields(s.m, 2*model.Micro), Score: model.Micro, Sort: model.Micro},
			{URL: "http://example.org/new", Status: model.StatusDBUnfetched, Sort: model.Micro},
		},
		odd: []scoring.ScoreInput{{}, {URL: "\xff", Status: 200, Fields: fields(s.m, -1), Score: -1 << 62, Sort: 1 << 62}},
		call: func(ctx context.Context, conn grpc.ClientConnInterface, in []scoring.ScoreInput) ([]scoring.ScoreOutput, []error, error) {
			out, err := scoring.NewClient(conn).Score(ctx, in)
			return out, nil, err
		},
		check: func(_ scoring.ScoreInput, out scoring.ScoreOutput) error { return declared(s.m, out.Set) },
	}.cases(s)
}

func (s *Suite) orphaned() []Case {
	return batch[scoring.OrphanInput, scoring.OrphanOutput]{
		samples: []scoring.OrphanInput{
			{URL: "http://example.org/", Status: model.StatusDBFetched, Fields: fields(s.m, 1), NowUnix: sampleTime().Unix()},
			{URL: "http://example.org/new", Status: model.StatusDBUnfetched, NowUnix: sampleTime().Unix()},
		},
		odd: []scoring.OrphanInput{{}, {URL: "\xff", NowUnix: -1}},
		call: func(ctx context.Context, conn grpc.ClientConnInterface, in []scoring.OrphanInput) ([]scoring.OrphanOutput, []error, error) {
			out, err := scoring.NewClient(conn).Orphaned(ctx, in)
			return out, nil, err
		},
		check: func(_ scoring.OrphanInput, out scoring.OrphanOutput) error {
			if out.Status > 31 {
				return fmt.Errorf("status %s is none of the CrawlDB", out.Status)
			}
			return declared(s.m, out.Set)
		},
	}.cases(s)
}

func (s *Suite) boost() []Case {
	return batch[scoring.IndexInput, float64]{
		samples: []scoring.IndexInput{
			{URL: "http://example.org/", Score: 3 * model.Micro, Fields: fields(s.m, model.Micro), Boost: 1},
			{URL: "http://example.org/new", Boost: 0.5, ParseMeta: model.Metadata{"k": {"v"}}},
		},
		odd: []scoring.IndexInput{{}, {URL: "\xff", Score: -5 * model.Micro, Fields: fields(s.m, -1), Boost: -1}},
		call: func(ctx context.Context, conn grpc.ClientConnInterface, in []scoring.IndexInput) ([]float64, []error, error) {
			out, err := scoring.NewClient(conn).Boost(ctx, in)
			return out, nil, err
		},
		check: func(_ scoring.IndexInput, out float64) error { return finite(out) },
	}.cases(s)
}
