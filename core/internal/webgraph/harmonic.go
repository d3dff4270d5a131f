package webgraph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// exactWork is how many steps (nodes × (nodes + links)) breadth-first searches from
// all nodes may take; larger graphs are estimated.
const exactWork = 200_000_000

// Precisions of the estimate: 2^p counters of a byte for a node.
const (
	minPrecision = 4
	maxPrecision = 10
)

// harmonic is harmonic centrality, the sum over all other nodes of 1/distance to
// the node (Boldi and Vigna, Axioms for Centrality, 2014). Small graphs are
// searched from each node; for others HyperBall (Boldi and Vigna, 2013) counts the
// nodes within each distance by HyperLogLog counters.
func (g *Graph) harmonic(ctx context.Context, o RankOptions) ([]float64, ScoreInfo, error) {
	n, m := uint64(g.Meta.Nodes), g.Meta.Links
	if n*(n+m) <= exactWork {
		return g.harmonicExact(ctx, o)
	}
	memory := cmp.Or(o.Memory, 512<<20)
	p := maxPrecision
	need := func(p int) int64 { return 2 * int64(n) << p } //nolint:gosec // n is below 2^31
	for p > minPrecision && need(p) > memory {
		p--
	}
	if need(p) > memory {
		return nil, ScoreInfo{}, TooLittleMemory{need(p), memory}
	}
	return g.hyperBall(ctx, o, p)
}

func (g *Graph) harmonicExact(ctx context.Context, o RankOptions) ([]float64, ScoreInfo, error) {
	n := g.Meta.Nodes
	in := make([][]uint32, n)
	err := g.EachLink(true, func(node, other uint32) error {
		if other >= n {
			return fmt.Errorf("the graph in %s is damaged; build it anew: crawler webgraph", g.dir)
		}
		in[node] = append(in[node], other)
		return nil
	})
	if err != nil {
		return nil, ScoreInfo{}, err
	}
	scores := make([]float64, n)
	seen := make([]uint32, n) // round that saw it, from 1
	var now, next []uint32
	far := 0
	for x := range n {
		if ctx.Err() != nil {
			return nil, ScoreInfo{}, ctx.Err()
		}
		now, seen[x] = append(now[:0], x), x+1
		for d := 1; len(now) > 0; d++ {
			next = next[:0]
			for _, y := range now {
				for _, z := range in[y] {
					if seen[z] != x+1 {
						seen[z] = x + 1
						next = append(next, z)
					}
				}
			}
			if len(next) > 0 {
				scores[x] += float64(len(next)) / float64(d)
				far = max(far, d)
			}
			now, next = next, now
		}
	}
	if o.Progress != nil {
		o.Progress(far, 0)
	}
	return scores, ScoreInfo{Method: "harmonic centrality, exact by breadth-first search", Iterations: far, Converged: true}, nil
}

// hyperBall keeps for each node a counter of the nodes that reach it within t links;
// one step unites it with those of its inlinks' sources.
func (g *Graph) hyperBall(ctx context.Context, o RankOptions, p int) ([]float64, ScoreInfo, error) {
	m := 1 << p
	info := ScoreInfo{
		Method: fmt.Sprintf("harmonic centrality, HyperBall with %d registers a node", m),
		Error:  1.04 / math.Sqrt(float64(m)),
	}
	n := int(g.Meta.Nodes)
	now, next := make([]byte, n*m), make([]byte, n*m)
	scores := make([]float64, n)
	e := newEstimator(m)
	for i := range n {
		h := mix(uint64(i))
		now[i*m+int(h>>(64-p))] = byte(bits.LeadingZeros64(h<<p|1<<(p-1))) + 1
	}
	for {
		changed, err := g.grow(ctx, m, now, next, func(i int, before, after []byte) {
			if d := e.count(after) - e.count(before); d > 0 {
				scores[i] += d / float64(info.Iterations+1)
			}
		})
		if err != nil {
			return nil, info, err
		}
		if changed == 0 {
			info.Converged = true
			return scores, info, nil
		}
		info.Iterations++
		info.Change = float64(changed) / float64(n)
		if o.Progress != nil {
			o.Progress(info.Iterations, info.Change)
		}
		now, next = next, now
	}
}

// grow makes next the counters one step on and calls f for those that changed.
func (g *Graph) grow(ctx context.Context, m int, now, next []byte, f func(i int, before, after []byte)) (changed int, err error) {
	off, adj := section(g.inOff), section(g.inAdj)
	from := off.u64()
	for i := range int(g.Meta.Nodes) {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		to := off.u64()
		before, after := now[i*m:(i+1)*m], next[i*m:(i+1)*m]
		copy(after, before)
		differs := false
		for ; from < to && adj.err == nil; from++ {
			v := int(adj.u32() &^ passed)
			if v >= int(g.Meta.Nodes) {
				return 0, fmt.Errorf("the graph in %s is damaged; build it anew: crawler webgraph", g.dir)
			}
			for j, r := range now[v*m : (v+1)*m] {
				if r > after[j] {
					after[j], differs = r, true
				}
			}
		}
		if err := errors.Join(off.err, adj.err); err != nil {
			return 0, err
		}
		if differs {
			changed++
			f(i, before, after)
		}
	}
	return changed, nil
}

// mix is the finalizer of SplitMix64: it spreads numbers over 64 bits.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// estimator is HyperLogLog's (Flajolet and others, 2007), with linear counting for
// small sets.
type estimator struct {
	alpha float64 // α m²
	pow   [65]float64
	m     float64
}

func newEstimator(m int) *estimator {
	e := &estimator{m: float64(m)}
	alpha := 0.7213 / (1 + 1.079/e.m)
	switch m {
	case 16:
		alpha = 0.673
	case 32:
		alpha = 0.697
	case 64:
		alpha = 0.709
	}
	e.alpha = alpha * e.m * e.m
	for i := range e.pow {
		e.pow[i] = math.Ldexp(1, -i)
	}
	return e
}

func (e *estimator) count(regs []byte) float64 {
	sum, zero := 0.0, 0
	for _, r := range regs {
		sum += e.pow[r]
		if r == 0 {
			zero++
		}
	}
	v := e.alpha / sum
	if v <= 2.5*e.m && zero > 0 {
		return e.m * math.Log(e.m/float64(zero))
	}
	return v
}
