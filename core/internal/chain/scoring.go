package chain

import (
	"context"
	"fmt"
	"maps"

	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// scoringChain composes the scoring filters. Without any filter it is neutral:
// no fields, no effects, scores and weights as they come.
type scoringChain struct {
	filters []scoringFilter
	judges  []scoringFilter // of them, those whose manifest needs orphans

	injected   *collector[scoring.InjectInput, model.Fields]
	distribute *collector[scoring.DistributeInput, Distributed]
	score      *collector[scoring.ScoreInput, scoring.ScoreOutput]
	orphaned   *collector[scoring.OrphanInput, scoring.OrphanOutput]
	boost      *collector[scoring.IndexInput, float64]
}

// scoringFilter is one plugin's five calls.
type scoringFilter struct {
	m          *member
	injected   *stage[scoring.InjectInput, model.Fields]
	distribute *stage[scoring.DistributeInput, scoring.DistributeOutput]
	score      *stage[scoring.ScoreInput, scoring.ScoreOutput]
	orphaned   *stage[scoring.OrphanInput, scoring.OrphanOutput]
	boost      *stage[scoring.IndexInput, float64]
}

// The methods below run all scoring filters in order. They return as many
// answers as there are inputs. Errs is nil when no filter failed, else as long:
// a filter that fails on an item is passed over for it, the answer is what the
// others make of it, and the item's error says who failed and why. The last
// result is not nil only when no call can succeed any more or ctx has ended.

// Injected returns the first fields of seeds.
func (c *Chains) Injected(ctx context.Context, in []scoring.InjectInput) (out []model.Fields, errs []error, err error) {
	return scored(ctx, "score seeds", c.scoring, c.scoring.injected, in, make([]model.Fields, len(in)))
}

// Distribute hands the scores of parsed pages on to their outlinks. Pages of
// many goroutines share calls.
func (c *Chains) Distribute(ctx context.Context, in []scoring.DistributeInput) (out []Distributed, errs []error, err error) {
	return scored(ctx, "distribute scores", c.scoring, c.scoring.distribute, in, make([]Distributed, len(in)))
}

// Distributed is what a page hands on, by all filters.
type Distributed struct {
	scoring.DistributeOutput
	DroppedBy map[string]int64 // targets dropped by each plugin that was the first to; nil for none
}

// Score gives records their score and sort value. Score and Sort of the inputs
// are set by the caller: the stored score and model.Micro.
func (c *Chains) Score(ctx context.Context, in []scoring.ScoreInput) (out []scoring.ScoreOutput, errs []error, err error) {
	neutral := make([]scoring.ScoreOutput, len(in))
	for i := range in {
		neutral[i] = scoring.ScoreOutput{Score: in[i].Score, Sort: in[i].Sort}
	}
	return scored(ctx, "score records", c.scoring, c.scoring.score, in, neutral)
}

// JudgesOrphans reports whether any scoring filter wants to judge records without
// inlinks.
func (c *Chains) JudgesOrphans() bool { return len(c.scoring.judges) > 0 }

// Orphaned says what becomes of records without inlinks: what the filters whose
// manifests need orphans make of them.
func (c *Chains) Orphaned(ctx context.Context, in []scoring.OrphanInput) (out []scoring.OrphanOutput, errs []error, err error) {
	return scored(ctx, "judge orphans", c.scoring, c.scoring.orphaned, in, make([]scoring.OrphanOutput, len(in)))
}

// Boost returns index weights. Boost of the inputs is set by the caller: 1.
func (c *Chains) Boost(ctx context.Context, in []scoring.IndexInput) (out []float64, errs []error, err error) {
	neutral := make([]float64, len(in))
	for i := range in {
		neutral[i] = in[i].Boost
	}
	return scored(ctx, "weigh documents", c.scoring, c.scoring.boost, in, neutral)
}

func scored[I, O any](ctx context.Context, what string, s *scoringChain, col *collector[I, O], in []I, neutral []O) ([]O, []error, error) {
	if len(s.filters) == 0 || len(in) == 0 {
		return neutral, nil, nil
	}
	out, errs, err := col.do(ctx, in)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", what, err)
	}
	return out, errs, nil
}

// Reducers returns how the effects on each score field are merged, as the
// chosen plugins declare it.
func (c *Chains) Reducers() map[string]manifest.Reducer {
	out := map[string]manifest.Reducer{}
	for _, m := range c.order[manifest.Scoring] {
		for _, f := range m.man.Fields {
			out[f.Name] = f.Reducer
		}
	}
	return out
}

// compose runs one call of every filter over a batch: prepare makes a filter's
// input from what the ones before left, merge takes its answer in.
func compose[I, O any](ctx context.Context, filters []scoringFilter, n int, pick func(*scoringFilter) *stage[I, O],
	prepare func(f *scoringFilter, i int) I, merge func(f *scoringFilter, i int, o O) error,
) ([]error, error) {
	a := answers[I, O]{out: make([]O, n)}
	for k := range filters {
		f := &filters[k]
		in := make([]I, n)
		for i := range in {
			in[i] = prepare(f, i)
		}
		out, errs, err := pick(f).run(ctx, in)
		if err != nil {
			return nil, err
		}
		for i := range out {
			var err error
			if errs != nil {
				err = errs[i]
			}
			if err == nil {
				if err = merge(f, i, out[i]); err != nil {
					f.m.errors.Add(1)
				}
			}
			if err != nil {
				a.fail(i, named(f.m.id, err))
			}
		}
	}
	return a.errs, nil
}

func (s *scoringChain) runInjected(ctx context.Context, in []scoring.InjectInput) ([]model.Fields, []error, error) {
	out := make([]model.Fields, len(in))
	errs, err := compose(ctx, s.filters, len(in),
		func(f *scoringFilter) *stage[scoring.InjectInput, model.Fields] { return f.injected },
		func(_ *scoringFilter, i int) scoring.InjectInput { return in[i] },
		func(_ *scoringFilter, i int, o model.Fields) error { out[i] = mergeFields(out[i], o); return nil })
	return out, errs, err
}

// mergeFields returns a with b's fields set in it; a is the caller's own.
func mergeFields(a, b model.Fields) model.Fields {
	if len(b) == 0 {
		return a
	}
	if a == nil {
		a = make(model.Fields, len(b))
	}
	maps.Copy(a, b)
	return a
}

func (s *scoringChain) runDistribute(ctx context.Context, in []scoring.DistributeInput) ([]Distributed, []error, error) {
	out := make([]Distributed, len(in))
	errs, err := compose(ctx, s.filters, len(in),
		func(f *scoringFilter) *stage[scoring.DistributeInput, scoring.DistributeOutput] { return f.distribute },
		func(f *scoringFilter, i int) scoring.DistributeInput {
			d := in[i]
			if !f.m.man.Needs.Text {
				d.Text = ""
			}
			if !f.m.man.Needs.Outlinks {
				d.Targets = bare(d.Targets)
			}
			return d
		},
		func(f *scoringFilter, i int, o scoring.DistributeOutput) error {
			n := len(in[i].Targets)
			dropped := newDrops(out[i].Drop, o.Drop)
			if err := mergeDistribute(&out[i].DistributeOutput, &o, n); err != nil {
				return err
			}
			if dropped > 0 {
				f.m.drops.Add(dropped)
				if out[i].DroppedBy == nil {
					out[i].DroppedBy = map[string]int64{}
				}
				out[i].DroppedBy[f.m.id] = dropped
			}
			return nil
		})
	return out, errs, err
}

// bare returns targets of which only Internal is known: the rest is most of
// a call's bytes, and few plugins look at it.
func bare(targets []scoring.Target) []scoring.Target {
	out := make([]scoring.Target, len(targets))
	for i := range targets {
		out[i].Internal = targets[i].Internal
	}
	return out
}

// newDrops counts the targets that drop drops and before did not.
func newDrops(before, drop []bool) int64 {
	var n int64
	for i, x := range drop {
		if x && (i >= len(before) || !before[i]) {
			n++
		}
	}
	return n
}

// mergeDistribute adds o to dst; n is the number of targets.
func mergeDistribute(dst, o *scoring.DistributeOutput, n int) error {
	for _, col := range o.Columns {
		if len(col.Values) != n {
			return fmt.Errorf("field %s: %d values for %d targets", col.Field, len(col.Values), n)
		}
	}
	if o.Drop != nil && len(o.Drop) != n {
		return fmt.Errorf("drop: %d values for %d targets", len(o.Drop), n)
	}
	if o.Metadata != nil && len(o.Metadata) != n {
		return fmt.Errorf("metadata: %d values for %d targets", len(o.Metadata), n)
	}
	dst.Columns = append(dst.Columns, o.Columns...)
	dst.Self = mergeFields(dst.Self, o.Self)
	if dst.Drop == nil {
		dst.Drop = o.Drop
	} else {
		for i, d := range o.Drop {
			dst.Drop[i] = dst.Drop[i] || d
		}
	}
	if dst.Metadata == nil {
		dst.Metadata = o.Metadata
		return nil
	}
	for i, m := range o.Metadata {
		if dst.Metadata[i] == nil {
			dst.Metadata[i] = m
			continue
		}
		maps.Copy(dst.Metadata[i], m)
	}
	return nil
}

func (s *scoringChain) runScore(ctx context.Context, in []scoring.ScoreInput) ([]scoring.ScoreOutput, []error, error) {
	out := make([]scoring.ScoreOutput, len(in))
	for i := range in {
		out[i] = scoring.ScoreOutput{Score: in[i].Score, Sort: in[i].Sort}
	}
	errs, err := compose(ctx, s.filters, len(in),
		func(f *scoringFilter) *stage[scoring.ScoreInput, scoring.ScoreOutput] { return f.score },
		func(_ *scoringFilter, i int) scoring.ScoreInput {
			next := in[i]
			next.Score, next.Sort = out[i].Score, out[i].Sort
			if len(out[i].Set) > 0 {
				next.Fields = mergeFields(maps.Clone(next.Fields), out[i].Set)
			}
			return next
		},
		func(_ *scoringFilter, i int, o scoring.ScoreOutput) error {
			out[i].Score, out[i].Sort = o.Score, o.Sort
			out[i].Set = mergeFields(out[i].Set, o.Set)
			return nil
		})
	return out, errs, err
}

func (s *scoringChain) runOrphaned(ctx context.Context, in []scoring.OrphanInput) ([]scoring.OrphanOutput, []error, error) {
	out := make([]scoring.OrphanOutput, len(in))
	errs, err := compose(ctx, s.judges, len(in),
		func(f *scoringFilter) *stage[scoring.OrphanInput, scoring.OrphanOutput] { return f.orphaned },
		func(_ *scoringFilter, i int) scoring.OrphanInput {
			next := in[i]
			if out[i].Status != 0 {
				next.Status = out[i].Status
			}
			if len(out[i].Set) > 0 {
				next.Fields = mergeFields(maps.Clone(next.Fields), out[i].Set)
			}
			return next
		},
		func(_ *scoringFilter, i int, o scoring.OrphanOutput) error {
			if o.Status != 0 {
				out[i].Status = o.Status
			}
			if o.Again != 0 && (out[i].Again == 0 || o.Again < out[i].Again) {
				out[i].Again = o.Again
			}
			out[i].Set = mergeFields(out[i].Set, o.Set)
			return nil
		})
	return out, errs, err
}

func (s *scoringChain) runBoost(ctx context.Context, in []scoring.IndexInput) ([]float64, []error, error) {
	out := make([]float64, len(in))
	for i := range in {
		out[i] = in[i].Boost
	}
	errs, err := compose(ctx, s.filters, len(in),
		func(f *scoringFilter) *stage[scoring.IndexInput, float64] { return f.boost },
		func(_ *scoringFilter, i int) scoring.IndexInput {
			next := in[i]
			next.Boost = out[i]
			return next
		},
		func(_ *scoringFilter, i int, o float64) error { out[i] = o; return nil })
	return out, errs, err
}
