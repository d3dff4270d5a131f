package webgraph

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"
)

// Names of the scores.
const (
	LinkRank = "linkrank"
	PageRank = "pagerank"
	Harmonic = "harmonic"
)

// Names returns the names of all scores.
func Names() []string { return []string{LinkRank, PageRank, Harmonic} }

// RankOptions configure the computing of scores.
type RankOptions struct {
	Iterations int     // at most; of LinkRank and PageRank
	Initial    float64 // score that LinkRank starts with
	Damping    float64 // share of a score that links hand on
	Tolerance  float64 // ends when the scores change by less, relative to their sum; 0 never does
	// DropDangling loses what pages without outlinks have to hand on, as Nutch
	// does; else all nodes share it.
	DropDangling bool
	Memory       int64 // bytes for harmonic centrality's counters; 0 is 512 MiB
	Now          time.Time
	Progress     func(iteration int, change float64) // may be nil
}

// TooLittleMemory says that harmonic centrality needs more than RankOptions.Memory.
type TooLittleMemory struct{ Need, Have int64 }

func (e TooLittleMemory) Error() string {
	return fmt.Sprintf("harmonic centrality of this graph needs %d MiB for its counters, not %d; see link.analyze_memory", (e.Need+1<<20-1)>>20, e.Have>>20)
}

// Rank computes the scores called name and stores them. The caller holds Lock.
func (g *Graph) Rank(ctx context.Context, name string, o RankOptions) (ScoreInfo, error) {
	var (
		info   ScoreInfo
		scores []float64
		err    error
	)
	switch name {
	case LinkRank:
		scores, info, err = g.linkRank(ctx, o)
	case PageRank:
		scores, info, err = g.pageRank(ctx, o)
	case Harmonic:
		scores, info, err = g.harmonic(ctx, o)
	default:
		return info, fmt.Errorf("there is no score %q", name)
	}
	if err == nil {
		info.Computed = o.Now
		err = g.store(name, scores, info)
	}
	if err != nil {
		return info, fmt.Errorf("%s of %s: %w", name, g.dir, err)
	}
	return info, nil
}

// store replaces scores and what is told of them.
func (g *Graph) store(name string, scores []float64, info ScoreInfo) error {
	c, err := createColumn(g.dir, "scores."+name+".tmp")
	if err != nil {
		return err
	}
	for _, v := range scores {
		c.f64(v)
	}
	if err := c.close(); err != nil {
		return err
	}
	if err := os.Rename(c.f.Name(), filepath.Join(g.dir, "scores."+name)); err != nil {
		return err
	}
	f, err := openSized(g.dir, "scores."+name, 8*int64(g.Meta.Nodes))
	if err != nil {
		return err
	}
	if old := g.scores[name]; old != nil {
		_ = old.Close() // was only read
	}
	g.scores[name] = f
	if g.info == nil {
		g.info = Scores{}
	}
	g.info[name] = info
	return writeJSON(g.dir, "scores.json", g.info)
}

// iteration is one kind of power iteration: a node's score becomes
// base + damping × (every + dangling/N + Σ score(source)/outlinks(source)).
type iteration struct {
	base, every float64
	damping     float64
	dangling    bool // whether dangling nodes' scores are shared
	limited     bool // over counted inlinks only
	start       float64
}

// linkRank is Nutch's LinkRank (org.apache.nutch.scoring.webgraph.LinkRank): each
// node has (1-d) of its own and 1/N besides what its inlinks give.
func (g *Graph) linkRank(ctx context.Context, o RankOptions) ([]float64, ScoreInfo, error) {
	n := float64(max(g.Meta.Nodes, 1))
	s, info, err := g.iterate(ctx, o, iteration{
		base: 1 - o.Damping, every: 1 / n, damping: o.Damping, dangling: !o.DropDangling, limited: true, start: o.Initial,
	})
	info.Method = "LinkRank, power iteration"
	return s, info, err
}

// pageRank is the PageRank of Page, Brin, Motwani and Winograd (1999), whose sum is
// 1, over all links.
func (g *Graph) pageRank(ctx context.Context, o RankOptions) ([]float64, ScoreInfo, error) {
	n := float64(max(g.Meta.Nodes, 1))
	s, info, err := g.iterate(ctx, o, iteration{base: (1 - o.Damping) / n, damping: o.Damping, dangling: true, start: 1 / n})
	info.Method = "PageRank, power iteration"
	return s, info, err
}

func (g *Graph) iterate(ctx context.Context, o RankOptions, it iteration) ([]float64, ScoreInfo, error) {
	var info ScoreInfo
	scores := make([]float64, g.Meta.Nodes)
	shares := make([]float64, g.Meta.Nodes) // what a node gives along each link
	for i := range scores {
		scores[i] = it.start
	}
	for info.Iterations < o.Iterations {
		dangling, err := g.share(ctx, scores, shares)
		if err != nil {
			return nil, info, err
		}
		every := it.every
		if it.dangling && g.Meta.Nodes > 0 {
			every += dangling / float64(g.Meta.Nodes)
		}
		var change, sum float64
		err = g.pull(ctx, it.limited, shares, func(node uint32, got float64) {
			v := it.base + it.damping*(every+got)
			change += math.Abs(v - scores[node])
			sum += math.Abs(v)
			scores[node] = v
		})
		if err != nil {
			return nil, info, err
		}
		info.Iterations++
		if info.Change = 0; sum > 0 {
			info.Change = change / sum
		}
		if o.Progress != nil {
			o.Progress(info.Iterations, info.Change)
		}
		if info.Change <= o.Tolerance {
			info.Converged = true
			break
		}
	}
	return scores, info, nil
}

// share sets what each node hands on along a link, and returns the scores of those
// without links.
func (g *Graph) share(ctx context.Context, scores, shares []float64) (dangling float64, err error) {
	off := section(g.outOff)
	from := off.u64()
	for i := range scores {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		to := off.u64()
		if to > from {
			shares[i] = scores[i] / float64(to-from)
		} else {
			dangling += scores[i]
			shares[i] = 0
		}
		from = to
	}
	return dangling, off.err
}

// pull calls f for each node, in order, with the sum of what its inlinks give.
func (g *Graph) pull(ctx context.Context, limited bool, shares []float64, f func(node uint32, got float64)) error {
	off, adj := section(g.inOff), section(g.inAdj)
	from := off.u64()
	for i := range g.Meta.Nodes {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		to := off.u64()
		var got float64
		for ; from < to && adj.err == nil; from++ {
			v := adj.u32()
			if limited && v&passed != 0 {
				continue
			}
			v &^= passed
			if v >= g.Meta.Nodes {
				return fmt.Errorf("%s names node %d of %d; build the graph anew: crawler webgraph", adj.f.Name(), v, g.Meta.Nodes)
			}
			got += shares[v]
		}
		if err := errors.Join(off.err, adj.err); err != nil {
			return err
		}
		f(i, got)
	}
	return nil
}
