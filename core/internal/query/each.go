package query

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gonutch/crawler/core/internal/control"
)

// batchRows and batchBytes are how much travels together.
const (
	batchRows  = 256
	batchBytes = 1 << 20
)

// List is a question with many answers, which come in batches: as many as the
// crawl has, so that nobody holds them all.
type List[Q, A any] struct {
	Name string
	do   func(ctx context.Context, s *Source, q Q, f func(A) error) error
}

// Each asks t and calls f for each answer, in order, until f fails.
func Each[Q, A any](ctx context.Context, t Target, l List[Q, A], q Q, f func(A) error) error {
	if t.Client == nil {
		return l.do(ctx, t.Source, q, f)
	}
	raw, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("encode question: %w", err)
	}
	return t.Client.Stream(ctx, l.Name, raw, func(raw json.RawMessage) error {
		var batch []A
		if err := json.Unmarshal(raw, &batch); err != nil {
			return fmt.Errorf("the running process (version %s) answers %s in another form: %w", t.Client.Hello().Version, l.Name, err)
		}
		for _, a := range batch {
			if err := f(a); err != nil {
				return err
			}
		}
		return nil
	})
}

func addList[Q, A any](t control.Table, s *Source, l List[Q, A]) {
	t.Streams[l.Name] = func(ctx context.Context, raw json.RawMessage, send func(json.RawMessage) error) error {
		var q Q
		if err := decode(l.Name, raw, &q); err != nil {
			return err
		}
		var batch []json.RawMessage
		bytes := 0
		flush := func() error {
			if len(batch) == 0 {
				return nil
			}
			raw, err := json.Marshal(batch)
			batch, bytes = batch[:0], 0
			if err != nil {
				return err
			}
			return send(raw)
		}
		err := l.do(ctx, s, q, func(a A) error {
			row, err := json.Marshal(a)
			if err != nil {
				return err
			}
			batch = append(batch, row)
			if bytes += len(row); len(batch) < batchRows && bytes < batchBytes {
				return nil
			}
			return flush()
		})
		if err != nil {
			return err
		}
		return flush()
	}
}
