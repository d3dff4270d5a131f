package cycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/step/index"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
)

// Clean is "crawler clean": it deletes the documents of pages that are gone,
// redirected or duplicates.
func (c *Cycle) Clean(ctx context.Context) (Report, error) {
	return c.withIndexer(ctx, func(x *index.Indexer) (index.Report, error) { return x.Clean(ctx) })
}

// Pending is "crawler index --pending": it sends the writers what they could not
// take before.
func (c *Cycle) Pending(ctx context.Context) (Report, error) {
	return c.withIndexer(ctx, func(x *index.Indexer) (index.Report, error) { return x.Pending(ctx) })
}

// RetryRefused is "crawler index --retry-rejected": it sends again what writers
// refused.
func (c *Cycle) RetryRefused(ctx context.Context, writers []string) (Report, error) {
	names, err := c.writerNames(writers)
	if err != nil {
		return Report{}, err
	}
	for _, name := range names {
		if _, err := c.d.DB.RetryRefused(ctx, name); err != nil {
			return Report{}, err
		}
	}
	return c.Pending(ctx)
}

// Reindex is "crawler reindex": it sends the named writers, all when there are
// none, every document, made anew from the segments. One that was interrupted
// goes on, unless restart is set.
func (c *Cycle) Reindex(ctx context.Context, writers []string, restart bool) (Report, error) {
	names, err := c.writerNames(writers)
	if err != nil {
		return Report{}, err
	}
	return c.withIndexer(ctx, func(x *index.Indexer) (index.Report, error) {
		resumed, err := x.Mark(ctx, names, restart)
		if err != nil {
			return index.Report{}, err
		}
		if resumed {
			c.d.Log.Info("going on with the reindex that was not finished; --restart begins anew")
		}
		return x.Pending(ctx)
	})
}

// Forget is "crawler index --forget": it drops what is known of a writer that is
// not configured any more. It returns how many documents that were.
func (c *Cycle) Forget(ctx context.Context, writer string) (int64, error) {
	for _, in := range c.d.Instances {
		if in.Name == writer {
			return 0, fault.Errorf(fault.Invalid, "index_writer %q is configured; to send it everything again: crawler reindex --writer %s", writer, writer)
		}
	}
	return c.d.DB.ForgetWriter(ctx, writer)
}

// withIndexer opens the writers and reports what f did.
func (c *Cycle) withIndexer(ctx context.Context, f func(*index.Indexer) (index.Report, error)) (Report, error) {
	sum := c.d.newSummary()
	start := c.d.now()
	if err := c.d.openWriters(ctx); err != nil {
		return sum.Report(), err
	}
	c.d.health.Wake() // somebody asks for it
	rep, err := f(c.d.indexer())
	sum.indexed(rep)
	sum.change(func(r *Report) { r.Elapsed = c.d.now().Sub(start) })
	return sum.Report(), err
}

// writerNames checks names of writers; none stands for all.
func (c *Cycle) writerNames(names []string) ([]string, error) {
	var known []string
	for _, in := range c.d.Instances {
		known = append(known, in.Name)
	}
	if len(known) == 0 {
		return nil, index.ErrNoWriter
	}
	if len(names) == 0 {
		return known, nil
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fault.Errorf(fault.Invalid, "there is no index_writer %q; there is %s", n, strings.Join(known, ", "))
		}
	}
	return names, nil
}

// WriterCheck is what "crawler index --check" found out about a writer.
type WriterCheck struct {
	Name   string `json:"name"`
	Plugin string `json:"plugin"`
	indexwriter.Description
	Error   string `json:"error,omitempty"` // why it can't be opened or asked
	Held    int64  `json:"held"`
	Pending int64  `json:"pending"`
	Refused int64  `json:"refused"`
	Lacks   bool   `json:"incomplete,omitempty"` // it came later and was not sent everything
	// Down is since when steps found that it takes nothing; zero when the last one did not.
	Down time.Time `json:"down_since,omitzero"`
	// Remapped says that its mapping changed since it was sent every document.
	Remapped bool `json:"remapped,omitempty"`
	// Configured is false for a writer that only the crawl knows.
	Configured bool `json:"configured"`
}

// OK reports whether nothing is wrong with the writer.
func (w *WriterCheck) OK() bool { return w.Error == "" && len(w.Problems) == 0 }

// sampleDocs is how many documents writers are asked about.
const sampleDocs = 50

// CheckWriters opens each configured writer by itself and asks what it is and what
// would go wrong. It writes nothing. An exchange that can't be opened is an error.
func (c *Cycle) CheckWriters(ctx context.Context) ([]WriterCheck, error) {
	d := c.d
	if len(d.Instances) == 0 {
		return nil, index.ErrNoWriter
	}
	if err := d.OpenExchanges(ctx); err != nil {
		return nil, err
	}
	counts, err := d.DB.DocCounts(ctx)
	if err != nil {
		return nil, err
	}
	x := d.indexer()
	var out []WriterCheck
	for i, conf := range d.WriterConfigs() {
		w := WriterCheck{Name: conf.Name, Plugin: conf.Plugin, Configured: true}
		if err := d.checkWriter(ctx, x, i, conf, &w); err != nil {
			return out, err
		}
		for k := range out {
			if same := &out[k]; same.Plugin == w.Plugin && same.Server == w.Server && w.Server != "" {
				w.Problems = append(w.Problems, fmt.Sprintf("it writes to the same place as %s: a document that one deletes is gone for both", same.Name))
			}
		}
		out = append(out, w)
	}
	var others []string
	for name := range counts {
		if !slices.ContainsFunc(out, func(w WriterCheck) bool { return w.Name == name }) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	for _, name := range others {
		out = append(out, WriterCheck{Name: name})
	}
	for i := range out {
		n := counts[out[i].Name]
		out[i].Held, out[i].Pending, out[i].Refused = n.Held, n.Pending, n.Refused
		info, err := d.DB.WriterInfo(out[i].Name)
		if err != nil {
			return out, err
		}
		if info != nil {
			out[i].Lacks, out[i].Down, out[i].Remapped = !info.Complete, info.Down, info.Remapped
		}
	}
	return out, nil
}

func (d *deps) checkWriter(ctx context.Context, x *index.Indexer, i int, conf chain.WriterConfig, w *WriterCheck) error {
	opened, err := d.OpenWriters(ctx, []chain.WriterConfig{conf})
	if err == nil {
		err = opened[0].Open(ctx)
	}
	if err != nil {
		w.Error, _, _ = strings.Cut(err.Error(), "\n") // without the line of the configuration
		return ctx.Err()
	}
	t := target(opened[0], &d.Instances[i])
	docs, err := x.Sample(ctx, &t, sampleDocs)
	if err != nil {
		return err
	}
	desc, err := opened[0].Describe(ctx, docs)
	if err != nil {
		w.Error = err.Error()
		return ctx.Err()
	}
	w.Description = *desc
	if len(docs) > 0 {
		plain, err := x.Sample(ctx, &index.Target{}, sampleDocs)
		if err != nil {
			return err
		}
		w.Problems = append(w.Problems, t.Unused(plain)...)
	}
	return nil
}
