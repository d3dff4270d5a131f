package chain

import (
	"context"
	"sync"
	"time"
)

// collector gathers the items of many callers into batches. An item waits at
// most linger for company.
//
// A batch runs until it is done or all callers that wait for it have gone.
type collector[I, O any] struct {
	run    batchFunc[I, O]
	size   func(*I) int
	items  int
	bytes  int
	linger time.Duration // negative: a caller's items go as they are

	mu  sync.Mutex
	cur *gathering[I, O]
}

type gathering[I, O any] struct {
	in      []I
	bytes   int
	waiting int // callers, guarded by the collector's mu
	cancel  context.CancelFunc
	ctx     context.Context //nolint:containedctx // the batch's own, ended by its last caller
	timer   *time.Timer
	done    chan struct{}
	// set before done is closed
	out  []O
	errs []error
	err  error
}

type share[I, O any] struct {
	g        *gathering[I, O]
	from, to int // in g
}

// do runs in together with what others bring.
func (c *collector[I, O]) do(ctx context.Context, in []I) ([]O, []error, error) {
	if len(in) == 0 {
		return nil, nil, nil
	}
	shares := c.add(ctx, in)
	a := answers[I, O]{out: make([]O, len(in))}
	at := 0
	for i, s := range shares {
		select {
		case <-s.g.done:
		case <-ctx.Done():
			c.leave(shares[i:])
			return nil, nil, ctx.Err()
		}
		if s.g.err != nil {
			c.leave(shares[i+1:])
			return nil, nil, s.g.err
		}
		var errs []error
		if s.g.errs != nil {
			errs = s.g.errs[s.from:s.to]
		}
		a.put(at, s.g.out[s.from:s.to], errs)
		at += s.to - s.from
	}
	return a.out, a.errs, nil
}

func (c *collector[I, O]) add(ctx context.Context, in []I) []share[I, O] {
	c.mu.Lock()
	defer c.mu.Unlock()
	var shares []share[I, O]
	for i := range in {
		size := c.size(&in[i])
		if c.cur != nil && (len(c.cur.in) >= c.items || c.cur.bytes+size > c.bytes) {
			c.seal()
		}
		if c.cur == nil {
			c.open(ctx)
		}
		g := c.cur
		if n := len(shares); n == 0 || shares[n-1].g != g {
			g.waiting++
			shares = append(shares, share[I, O]{g: g, from: len(g.in)})
		}
		g.in = append(g.in, in[i])
		g.bytes += size
		shares[len(shares)-1].to = len(g.in)
	}
	if c.cur != nil && (c.linger < 0 || len(c.cur.in) >= c.items || c.cur.bytes >= c.bytes) {
		c.seal()
	}
	return shares
}

// open starts a new batch; called with mu held.
func (c *collector[I, O]) open(ctx context.Context) {
	g := &gathering[I, O]{done: make(chan struct{})}
	g.ctx, g.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.cur = g
	if c.linger >= 0 {
		g.timer = time.AfterFunc(c.linger, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.cur == g {
				c.seal()
			}
		})
	}
}

// seal sends the current batch off; called with mu held.
func (c *collector[I, O]) seal() {
	g := c.cur
	c.cur = nil
	if g.timer != nil {
		g.timer.Stop()
	}
	go func() {
		defer g.cancel()
		defer close(g.done)
		g.out, g.errs, g.err = c.run(g.ctx, g.in)
	}()
}

// leave gives up waiting for shares.
func (c *collector[I, O]) leave(shares []share[I, O]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range shares {
		if s.g.waiting--; s.g.waiting > 0 {
			continue
		}
		s.g.cancel()
		if c.cur == s.g { // not sent off yet: nobody may join it any more
			c.cur = nil
			if s.g.timer != nil {
				s.g.timer.Stop()
			}
		}
	}
}
