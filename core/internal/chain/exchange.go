package chain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/exchange"
	"github.com/gonutch/crawler/sdk/model"
)

// ExchangeConfig is one configured exchange: documents that match go to the
// writers it lists. A default exchange is not asked: it takes the documents
// that no other takes.
type ExchangeConfig struct {
	Name    string
	Plugin  string
	Writers []string
	Params  exchange.Params
	Default bool
}

// Route says which writers a document goes to. With Default set no exchange
// took it, or none is configured, and the caller's rule for such documents
// holds.
type Route struct {
	Writers []string
	Default bool
	Err     error // an exchange failed on the document; it goes to those that did match
}

type exchangeEntry struct {
	conf  ExchangeConfig
	stage *stage[*model.Document, bool]
	open  func(context.Context) error
}

// newExchange returns the entry of one configured exchange; it is opened in
// every process before it is asked there.
func newExchange(m *member, conf ExchangeConfig, l limits) exchangeEntry {
	var mu sync.Mutex
	opened := map[uint64]bool{}
	open := func(ctx context.Context, b exchange.Batch, gen uint64) error {
		mu.Lock()
		defer mu.Unlock()
		if opened[gen] {
			return nil
		}
		if err := b.Open(ctx, conf.Name, conf.Params); err != nil {
			return err
		}
		opened[gen] = true
		return nil
	}
	match := func(b exchange.Batch, gen uint64) batchFunc[*model.Document, bool] {
		return func(ctx context.Context, docs []*model.Document) ([]bool, []error, error) {
			if err := open(ctx, b, gen); err != nil {
				return nil, nil, err
			}
			return b.MatchDocuments(ctx, conf.Name, docs)
		}
	}
	s := &stage[*model.Document, bool]{
		m: m, what: m.id + ": match documents", limits: l,
		size: func(d **model.Document) int { return 32 + len((*d).ID) + sizeMeta((*d).Fields) },
	}
	if m.local != nil {
		s.local = match(exchange.Local(m.local.Exchange), 0)
	} else {
		s.remote = func(cc grpc.ClientConnInterface) batchFunc[*model.Document, bool] {
			return match(exchange.NewClient(cc), generation(cc))
		}
	}
	e := exchangeEntry{conf: conf, stage: s}
	e.open = func(ctx context.Context) error {
		if m.local != nil {
			return open(ctx, exchange.Local(m.local.Exchange), 0)
		}
		return m.proc.Do(ctx, 0, func(ctx context.Context, cc grpc.ClientConnInterface) error {
			return open(ctx, exchange.NewClient(cc), generation(cc))
		})
	}
	return e
}

// OpenExchanges opens the configured exchanges, so that a parameter that can't be
// used shows before anything is sent. All errors are reported, each as InstanceError.
func (c *Chains) OpenExchanges(ctx context.Context) error {
	var errs []error
	c.EachExchange(ctx, func(conf *ExchangeConfig, err error) {
		if err != nil {
			errs = append(errs, &InstanceError{"exchange", conf.Name, conf.Plugin, err})
		}
	})
	return errors.Join(errs...)
}

// EachExchange opens the configured exchanges and tells f how that went.
func (c *Chains) EachExchange(ctx context.Context, f func(conf *ExchangeConfig, err error)) {
	for i := range c.exchanges {
		if e := &c.exchanges[i]; !e.conf.Default {
			f(&e.conf, e.open(ctx))
		}
	}
}

// Routed reports whether exchanges are configured.
func (c *Chains) Routed() bool { return len(c.exchanges) > 0 }

// Route asks every configured exchange about every document. The routes are as
// many as the documents, in their order.
func (c *Chains) Route(ctx context.Context, docs []*model.Document) ([]Route, error) {
	out := make([]Route, len(docs))
	for _, e := range c.exchanges {
		if e.conf.Default {
			continue
		}
		match, errs, err := e.stage.run(ctx, docs)
		if err != nil {
			return nil, fmt.Errorf("exchange %s: %w", e.conf.Name, err)
		}
		for i := range docs {
			if errs != nil && errs[i] != nil {
				out[i].Err = fmt.Errorf("exchange %s: %w", e.conf.Name, named(e.stage.m.id, errs[i]))
				continue
			}
			if !match[i] {
				continue
			}
			out[i].add(e.conf.Writers)
		}
	}
	for i := range out {
		if len(out[i].Writers) > 0 || out[i].Err != nil {
			continue
		}
		for _, e := range c.exchanges {
			if e.conf.Default {
				out[i].add(e.conf.Writers)
			}
		}
		out[i].Default = len(out[i].Writers) == 0
	}
	return out, nil
}

func (r *Route) add(writers []string) {
	for _, w := range writers {
		if !slices.Contains(r.Writers, w) {
			r.Writers = append(r.Writers, w)
		}
	}
}
