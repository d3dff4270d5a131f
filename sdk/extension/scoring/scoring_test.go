package scoring_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/modelv1"
	"github.com/gonutch/crawler/sdk/internal/pb/scoringv1"
	"github.com/gonutch/crawler/sdk/internal/rpctest"
	"github.com/gonutch/crawler/sdk/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script records what it gets and answers what it holds.
type script struct {
	injected    []scoring.InjectInput
	distribute  []scoring.DistributeInput
	score       []scoring.ScoreInput
	orphaned    []scoring.OrphanInput
	boost       []scoring.IndexInput
	fields      []model.Fields
	distributed []scoring.DistributeOutput
	scored      []scoring.ScoreOutput
	orphans     []scoring.OrphanOutput
	boosts      []float64
	err         error
}

func (s *script) Injected(_ context.Context, in []scoring.InjectInput) ([]model.Fields, error) {
	s.injected = in
	return s.fields, s.err
}

func (s *script) Distribute(_ context.Context, in []scoring.DistributeInput) ([]scoring.DistributeOutput, error) {
	s.distribute = in
	return s.distributed, s.err
}

func (s *script) Score(_ context.Context, in []scoring.ScoreInput) ([]scoring.ScoreOutput, error) {
	s.score = in
	return s.scored, s.err
}

func (s *script) Orphaned(_ context.Context, in []scoring.OrphanInput) ([]scoring.OrphanOutput, error) {
	s.orphaned = in
	return s.orphans, s.err
}

func (s *script) Boost(_ context.Context, in []scoring.IndexInput) ([]float64, error) {
	s.boost = in
	return s.boosts, s.err
}

func connect(t *testing.T, f scoring.Filter) *scoring.Client {
	return scoring.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
		scoring.Register(s, func() (scoring.Filter, error) { return f, nil })
	}))
}

// filled returns two filled values and a zero one.
func filled[T any]() []T {
	var zero T
	return append(rpctest.Filled[[]T](), zero)
}

func same[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if d := rpctest.Diff(want, got); d != "" {
		t.Errorf("%s (-sent +received):\n%s", what, d)
	}
}

func TestRoundTrip(t *testing.T) {
	s := &script{
		fields: filled[model.Fields](), distributed: filled[scoring.DistributeOutput](), scored: filled[scoring.ScoreOutput](),
		orphans: filled[scoring.OrphanOutput](), boosts: filled[float64](),
	}
	c, ctx := connect(t, s), rpctest.Context(t)

	injected := filled[scoring.InjectInput]()
	fields, err := c.Injected(ctx, injected)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "seeds", injected, s.injected)
	same(t, "fields", s.fields, fields)

	pages := filled[scoring.DistributeInput]()
	distributed, err := c.Distribute(ctx, pages)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "pages", pages, s.distribute)
	same(t, "distributions", s.distributed, distributed)

	records := filled[scoring.ScoreInput]()
	scored, err := c.Score(ctx, records)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "records", records, s.score)
	same(t, "scores", s.scored, scored)

	orphaned := filled[scoring.OrphanInput]()
	orphans, err := c.Orphaned(ctx, orphaned)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "orphaned", orphaned, s.orphaned)
	same(t, "orphans", s.orphans, orphans)

	docs := filled[scoring.IndexInput]()
	boosts, err := c.Boost(ctx, docs)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "documents", docs, s.boost)
	same(t, "boosts", s.boosts, boosts)
}

// all calls every method with n records and returns the errors by name.
func all(t *testing.T, c scoring.Filter, n int) map[string]error {
	ctx := rpctest.Context(t)
	_, injected := c.Injected(ctx, make([]scoring.InjectInput, n))
	_, distribute := c.Distribute(ctx, make([]scoring.DistributeInput, n))
	_, score := c.Score(ctx, make([]scoring.ScoreInput, n))
	_, orphaned := c.Orphaned(ctx, make([]scoring.OrphanInput, n))
	_, boost := c.Boost(ctx, make([]scoring.IndexInput, n))
	return map[string]error{"injected": injected, "distribute": distribute, "score": score, "orphaned": orphaned, "boost": boost}
}

func TestErrors(t *testing.T) {
	for name, err := range all(t, connect(t, &script{}), 2) {
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: 0 answers for 2: %v", name, err)
		}
	}
	for name, err := range all(t, connect(t, &script{err: fault.Errorf(fault.Transient, "busy \xff")}), 2) {
		if !fault.Is(err, fault.Transient) || err.Error() != "scoring: "+name+": busy \xff" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, n := range []int{0, 3} {
		for name, err := range all(t, connect(t, scoring.Pass{}), n) {
			if err != nil {
				t.Errorf("%s of %d records through Pass: %v", name, n, err)
			}
		}
	}
}

type rogue struct {
	scoringv1.UnimplementedScoringServiceServer
	distribution *scoringv1.DistributeResponse
	score        *scoringv1.ScoreResponse
}

func (r rogue) Distribute(context.Context, *scoringv1.DistributeRequest) (*scoringv1.DistributeResponse, error) {
	return r.distribution, nil
}

func (r rogue) Score(context.Context, *scoringv1.ScoreRequest) (*scoringv1.ScoreResponse, error) {
	return r.score, nil
}

func TestMalformedAnswers(t *testing.T) {
	connect := func(r rogue) *scoring.Client {
		return scoring.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) { scoringv1.RegisterScoringServiceServer(s, r) }))
	}
	names := [][]byte{{'a'}}
	for name, d := range map[string]*scoringv1.Distribution{
		"short column":  {Columns: []*scoringv1.Column{{Values: []int64{1}}}},
		"column number": {Columns: []*scoringv1.Column{{Name: 1, Values: []int64{1, 1}}}},
		"drops":         {Drop: []bool{true}},
		"self":          {Self: &modelv1.Fields{Names: []uint32{1}, Values: []int64{1}}},
		"metadata":      {Metadata: []*modelv1.ItemMetadata{{Index: 2}}},
	} {
		a := &scoringv1.DistributeResponse{FieldNames: names, Distributions: []*scoringv1.Distribution{d}}
		_, err := connect(rogue{distribution: a}).Distribute(rpctest.Context(t), []scoring.DistributeInput{{Targets: make([]scoring.Target, 2)}})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, a := range map[string]*scoringv1.ScoreResponse{
		"no sort":     {Scores: []int64{1}},
		"set range":   {Scores: []int64{1}, Sorts: []int64{1}, Set: []*scoringv1.ItemFields{{Index: 1}}},
		"set numbers": {Scores: []int64{1}, Sorts: []int64{1}, Set: []*scoringv1.ItemFields{{Fields: &modelv1.Fields{Names: []uint32{0}, Values: []int64{1}}}}},
	} {
		if _, err := connect(rogue{score: a}).Score(rpctest.Context(t), make([]scoring.ScoreInput, 1)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
