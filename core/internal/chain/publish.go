package chain

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/sdk/extension/publisher"
)

// publishers hand events on. Each has a bounded queue of its own and a
// goroutine that empties it; what does not fit is dropped and counted.
type publishers struct {
	queues []*publishQueue
	stop   context.CancelFunc
	wg     sync.WaitGroup
	mu     sync.RWMutex // guards closed against senders
	closed bool
	once   sync.Once
}

type publishQueue struct {
	stage   *stage[publisher.Event, struct{}]
	events  chan publisher.Event
	dropped atomic.Int64
	log     hclog.Logger
}

func startPublishers(stages []*stage[publisher.Event, struct{}], size int, log hclog.Logger) *publishers {
	ctx, stop := context.WithCancel(context.Background())
	p := &publishers{stop: stop}
	for _, s := range stages {
		q := &publishQueue{stage: s, events: make(chan publisher.Event, size), log: log}
		p.queues = append(p.queues, q)
		p.wg.Go(func() { q.work(ctx) })
	}
	return p
}

// Publish tells the publishers of an event. It never waits: when a publisher's
// queue is full the event is dropped for it and counted. Events after Close are
// dropped.
func (c *Chains) Publish(ev publisher.Event) {
	p := c.publish
	if len(p.queues) == 0 {
		return
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, q := range p.queues {
		if p.closed {
			q.dropped.Add(1)
			continue
		}
		select {
		case q.events <- ev:
		default:
			q.dropped.Add(1)
		}
	}
}

func (q *publishQueue) work(ctx context.Context) {
	for ev := range q.events {
		batch := []publisher.Event{ev}
		for len(batch) < q.stage.limits.items {
			select {
			case ev, ok := <-q.events:
				if ok {
					batch = append(batch, ev)
					continue
				}
			default:
			}
			break
		}
		_, errs, err := q.stage.run(ctx, batch)
		if err != nil { // can't be told to anyone; the events are lost and counted
			q.dropped.Add(int64(len(batch)))
			q.log.Debug("events lost", "plugin", q.stage.m.id, "count", len(batch), "error", err)
		}
		for _, err := range errs {
			if err != nil {
				q.dropped.Add(1)
			}
		}
	}
}

// close sends what is queued, for as long as ctx allows.
func (p *publishers) close(ctx context.Context) {
	p.once.Do(func() {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		for _, q := range p.queues {
			close(q.events)
		}
		unhook := context.AfterFunc(ctx, p.stop)
		p.wg.Wait()
		unhook()
		p.stop()
		for _, q := range p.queues {
			if n := q.dropped.Load(); n > 0 {
				q.log.Warn("events were lost: the publisher could not keep up or failed", "plugin", q.stage.m.id, "count", n)
			}
		}
	})
}
