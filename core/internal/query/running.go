package query

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gonutch/crawler/core/internal/control"
	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/sdk/fault"
)

// StatusQuery asks for the state of the run.
type StatusQuery struct{}

// StatusAnswer is the state of the run.
type StatusAnswer struct {
	Working  bool           `json:"working"` // false: the process only answers questions
	Progress cycle.Progress `json:"progress"`
}

// Status is the verb of "crawler status".
func Status() Verb[StatusQuery, StatusAnswer] {
	return Verb[StatusQuery, StatusAnswer]{"status", func(_ context.Context, s *Source, _ StatusQuery) (StatusAnswer, error) {
		if s.Running == nil {
			return StatusAnswer{}, nil
		}
		return StatusAnswer{Working: true, Progress: s.Running.Progress()}, nil
	}}
}

// StopQuery asks the run to end gently.
type StopQuery struct{}

// StopAnswer says that it will.
type StopAnswer struct {
	Stopping bool `json:"stopping"`
}

// Stop is the verb of "crawler stop": requests under way are finished,
// everything is committed, and the same command goes on later.
func Stop() Verb[StopQuery, StopAnswer] {
	return Verb[StopQuery, StopAnswer]{"stop", func(_ context.Context, s *Source, _ StopQuery) (StopAnswer, error) {
		if s.Running == nil {
			return StopAnswer{}, fault.Errorf(fault.Invalid, "the process that has the crawl open does nothing that could be stopped")
		}
		s.Running.Stop()
		return StopAnswer{Stopping: true}, nil
	}}
}

const watchName = "watch"

// watchQuery asks for the state of the run again and again.
type watchQuery struct {
	EveryMillis int64 `json:"every_ms"`
}

// Watch calls f with the state of the run that client serves every so often,
// at least 50 ms apart, until the run ends, f fails or ctx ends.
func Watch(ctx context.Context, client *control.Client, every time.Duration, f func(cycle.Progress) error) error {
	raw, err := json.Marshal(watchQuery{every.Milliseconds()})
	if err != nil {
		return err
	}
	return client.Stream(ctx, watchName, raw, func(v json.RawMessage) error {
		var p cycle.Progress
		if err := json.Unmarshal(v, &p); err != nil {
			return fmt.Errorf("read progress: %w", err)
		}
		return f(p)
	})
}

func (s *Source) watch(ctx context.Context, raw json.RawMessage, send func(json.RawMessage) error) error {
	var q watchQuery
	if err := decode(watchName, raw, &q); err != nil {
		return err
	}
	if s.Running == nil {
		return fault.Errorf(fault.Invalid, "the process that has the crawl open only answers questions")
	}
	t := time.NewTicker(min(max(time.Duration(q.EveryMillis)*time.Millisecond, 50*time.Millisecond), time.Minute))
	defer t.Stop()
	for {
		b, err := json.Marshal(s.Running.Progress())
		if err != nil {
			return err
		}
		if err := send(b); err != nil {
			return err
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil
		}
	}
}
