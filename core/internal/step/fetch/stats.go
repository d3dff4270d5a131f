package fetch

import (
	"maps"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/gonutch/crawler/core/internal/frontier"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
)

// Stats count what the engine did. Counters only grow.
type Stats struct {
	Requests atomic.Int64 // pages asked for
	Robots   atomic.Int64 // robots.txt requests, redirect hops included
	Bytes    atomic.Int64 // of page bodies, decoded
	Denied   atomic.Int64 // URLs that robots.txt forbids

	mu        sync.Mutex
	status    map[model.Status]int64
	failures  map[string]int64
	released  map[string]int64
	truncated map[string]int64
}

// Fetched counts one answer.
func (s *Stats) Fetched(status model.Status, r *protocol.Response) {
	s.Requests.Add(1)
	s.Bytes.Add(int64(len(r.Body)))
	s.mu.Lock()
	defer s.mu.Unlock()
	inc(&s.status, status)
	if r.Truncated != "" {
		inc(&s.truncated, r.Truncated)
	}
	if status == model.StatusFetchRetry || status == model.StatusFetchGone {
		inc(&s.failures, failure(r.Status))
	}
}

// Released counts a URL given back.
func (s *Stats) Released(why Release) {
	s.mu.Lock()
	defer s.mu.Unlock()
	inc(&s.released, string(why))
}

// Snapshot is a copy of the counters.
type Snapshot struct {
	Requests  int64                  `json:"requests"`
	Robots    int64                  `json:"robots_requests"`
	Bytes     int64                  `json:"bytes"`
	Denied    int64                  `json:"robots_denied"`
	Status    map[model.Status]int64 `json:"-"`
	Failures  map[string]int64       `json:"failures,omitempty"`
	Released  map[string]int64       `json:"released,omitempty"`
	Truncated map[string]int64       `json:"truncated,omitempty"`
}

// Snapshot returns the counters as they are now.
func (s *Stats) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Snapshot{
		Requests: s.Requests.Load(), Robots: s.Robots.Load(), Bytes: s.Bytes.Load(), Denied: s.Denied.Load(),
		Status: maps.Clone(s.status), Failures: maps.Clone(s.failures), Released: maps.Clone(s.released), Truncated: maps.Clone(s.truncated),
	}
}

func inc[K comparable](m *map[K]int64, k K) {
	if *m == nil {
		*m = make(map[K]int64)
	}
	(*m)[k]++
}

// failure names the kind of a failed attempt for reports.
func failure(p model.ProtocolStatus) string {
	switch {
	case p.HTTP >= 400:
		return "http_" + strconv.Itoa(p.HTTP)
	case p.Code == model.ProtocolException:
		return "network"
	}
	return p.Code.String()
}

// Failure names why a fetch failed, or "" when it did not.
func Failure(f *segment.Fetch) string {
	if f.Status != model.StatusFetchRetry && f.Status != model.StatusFetchGone {
		return ""
	}
	return failure(f.Protocol)
}

// Counts returns the frontier's counts.
func (e *Engine) Counts() frontier.Counts { return e.front.Counts(e.deps.Now()) }

// Waits tells what the queued URLs wait for.
func (e *Engine) Waits() []frontier.Wait { return e.front.Waits(e.deps.Now()) }

// Threads is how many requests may be under way.
func (e *Engine) Threads() int { return e.cfg.Threads }

// Busiest returns the n queues with most URLs.
func (e *Engine) Busiest(n int) []frontier.QueueState { return e.front.Busiest(n, e.deps.Now()) }

// Held returns the queues that are held.
func (e *Engine) Held() []frontier.QueueState { return e.front.Held(e.deps.Now()) }
