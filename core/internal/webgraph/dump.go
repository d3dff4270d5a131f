package webgraph

import (
	"context"
	"errors"
	"math"

	"github.com/gonutch/crawler/core/internal/urlkey"
)

// What a Dump tells of nodes.
const (
	DumpInlinks  = "inlinks"
	DumpOutlinks = "outlinks"
	DumpScores   = "scores"
)

// DumpOptions say what is dumped.
type DumpOptions struct {
	What   string // DumpInlinks, DumpOutlinks: their number; DumpScores
	Score  string // with DumpScores: its name
	TopN   int64  // entries; 0 is all
	Group  string // "", or "host" or "domain": one entry for each
	Max    bool   // with Group: the greatest value, else the sum
	Memory int64  // bytes of sort buffers; 0 is 128 MiB
	Dir    string // folder for what memory does not hold; the caller removes it
}

// Dump calls f with names and values, the greatest first, equals in key order.
func (g *Graph) Dump(ctx context.Context, o DumpOptions, f func(name string, value float64) error) (err error) {
	if o.Memory == 0 {
		o.Memory = 128 << 20
	}
	if o.Group != "" {
		return g.dumpGroups(ctx, o.Dir, o, f)
	}
	order, err := sorterIn(o.Dir, "order", o.Memory, tripleCodec())
	if err != nil {
		return err
	}
	err = g.values(ctx, o, func(node uint32, _ string, v float64) error {
		return order.add(triple{g: descending(v), a: 0, b: node})
	})
	if err != nil {
		return errors.Join(err, order.close())
	}
	return upTo(order, o.TopN, func(t triple) error {
		name, err := g.Name(t.b)
		if err != nil {
			return err
		}
		return f(name, ascending(t.g))
	})
}

var errEnough = errors.New("enough")

func upTo[T any](s *sorter[T], n int64, f func(T) error) error {
	i := int64(0)
	err := s.each(func(v T) error {
		if n > 0 && i == n {
			return errEnough
		}
		i++
		return f(v)
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// descending is a number that is the smaller the greater v is, and ascending its
// inverse.
func descending(v float64) uint64 {
	b := math.Float64bits(v)
	if b>>63 == 0 {
		return ^(b | 1<<63)
	}
	return b
}

func ascending(u uint64) float64 {
	if u>>63 == 0 {
		return math.Float64frombits(^u &^ (1 << 63))
	}
	return math.Float64frombits(u)
}

// values calls f with every node's value, in key order.
func (g *Graph) values(ctx context.Context, o DumpOptions, f func(node uint32, key string, v float64) error) error {
	if o.What == DumpScores {
		return g.EachScore(o.Score, func(node uint32, key string, v float64) error {
			if node%checkEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			return f(node, key, v)
		})
	}
	keys, off := section(g.keys), section(g.outOff)
	if o.What == DumpInlinks {
		off = section(g.inOff)
	}
	from := off.u64()
	for i := range g.Meta.Nodes {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		k, _ := keys.key()
		to := off.u64()
		if err := errors.Join(keys.err, off.err); err != nil {
			return err
		}
		if err := f(i, k, float64(to-from)); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// dumpGroups sorts the values by group, sums them, and sorts the groups.
func (g *Graph) dumpGroups(ctx context.Context, dir string, o DumpOptions, f func(string, float64) error) error {
	byGroup, err := sorterIn(dir, "groups", o.Memory/2, namedValueCodec())
	if err != nil {
		return err
	}
	hostKey, group, sum, nodes := "", "", 0.0, uint64(0)
	flush := func() error {
		if nodes == 0 {
			return nil
		}
		return byGroup.add(namedValue{named{group, nodes}, sum})
	}
	err = g.values(ctx, o, func(node uint32, key string, v float64) error {
		if h := HostKey(key); nodes == 0 || h != hostKey {
			if err := flush(); err != nil {
				return err
			}
			hostKey, group, sum = h, HostName(h), 0
			if o.Group == "domain" {
				group = urlkey.DomainOf(group)
			}
			if o.Max {
				sum = v
			}
			nodes = uint64(node) + 1 // makes entries of one group differ
		}
		sum = o.join(sum, v)
		return nil
	})
	if err = errors.Join(err, flush()); err != nil {
		return errors.Join(err, byGroup.close())
	}
	order, err := sorterIn(dir, "order", o.Memory/2, namedCodec())
	if err != nil {
		return errors.Join(err, byGroup.close())
	}
	if err := o.joinGroups(byGroup, order); err != nil {
		return errors.Join(err, order.close())
	}
	return upTo(order, o.TopN, func(v named) error { return f(v.key[8:], ascending(v.n)) })
}

func (o *DumpOptions) join(a, b float64) float64 {
	if o.Max {
		return max(a, b)
	}
	return a + b
}

// joinGroups makes one entry of each group, in the order of values.
func (o *DumpOptions) joinGroups(in *sorter[namedValue], out *sorter[named]) error {
	var last namedValue
	begun := false
	flush := func() error {
		if !begun {
			return nil
		}
		d := descending(last.v)
		return out.add(named{string(bigEndian(d)) + last.key, d})
	}
	err := in.each(func(v namedValue) error {
		if begun && v.key == last.key {
			last.v = o.join(last.v, v.v)
			return nil
		}
		err := flush()
		last, begun = v, true
		return err
	})
	return errors.Join(err, flush())
}
