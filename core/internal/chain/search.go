package chain

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/core/internal/pluginhost"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
)

// Search queries what the opened writer of that name has written.
func (c *Chains) Search(ctx context.Context, writer string, q *searcher.Query) (*searcher.Result, error) {
	c.writers.mu.Lock()
	var w *Writer
	for _, o := range c.writers.open {
		if o.conf.Name == writer {
			w = o
		}
	}
	c.writers.mu.Unlock()
	switch {
	case w == nil:
		return nil, fault.Errorf(fault.Invalid, "search: writer %q is not open", writer)
	case len(w.m.provides(manifest.Searcher)) == 0:
		return nil, fault.Errorf(fault.Invalid, "search: plugin %s of writer %q can't be searched", w.m.id, writer)
	}
	res, err := w.search(ctx, q)
	if pluginhost.IsLost(err) {
		res, err = w.search(ctx, q)
	}
	if err != nil {
		return nil, fmt.Errorf("search writer %s: %w", writer, named(w.m.id, err))
	}
	return res, nil
}

func (w *Writer) search(ctx context.Context, q *searcher.Query) (res *searcher.Result, err error) {
	w.m.calls.Add(1)
	if w.m.proc == nil {
		if err := w.ensureOpen(ctx, 1, w.m.local.IndexWriter); err != nil {
			return nil, err
		}
		return w.m.local.Searcher.Search(ctx, w.conf.Name, q)
	}
	err = w.m.proc.Do(ctx, 1, func(ctx context.Context, cc grpc.ClientConnInterface) (err error) {
		if err := w.ensureOpen(ctx, generation(cc), indexwriter.NewClient(cc)); err != nil {
			return err
		}
		res, err = searcher.NewClient(cc).Search(ctx, w.conf.Name, q)
		return err
	})
	return res, err
}
