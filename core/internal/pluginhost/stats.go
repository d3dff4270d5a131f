package pluginhost

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Usage is what a plugin and all processes it started take.
type Usage struct {
	Processes int   `json:"processes"`
	RSS       int64 `json:"rss"` // bytes, shared pages counted in each process
	ticks     uint64
}

// Stats tells of one plugin since the host was made.
type Stats struct {
	ID          string           `json:"id"`
	PID         int              `json:"pid,omitempty"` // 0 when none is running
	Build       string           `json:"build,omitempty"`
	Calls       int64            `json:"calls"`
	Records     int64            `json:"records"` // completed
	Errors      int64            `json:"errors"`  // calls that failed
	Deaths      map[string]int64 `json:"deaths,omitempty"`
	Starts      int64            `json:"starts"`
	Quarantined int64            `json:"quarantined"` // records done alone
	Poisonous   int64            `json:"poisonous"`
	Latency     time.Duration    `json:"latency"`     // of all calls together
	LatencyMax  time.Duration    `json:"latency_max"` // of the slowest call
	CPU         time.Duration    `json:"cpu"`         // of all its processes, ended ones included
	Usage
	PSS int64 `json:"pss,omitempty"` // bytes, shared pages counted in parts; 0 when not known
}

type counters struct {
	calls, records, errors         atomic.Int64
	starts, quarantined, poisonous atomic.Int64
	latency, latencyMax            atomic.Int64
	mu                             sync.Mutex
	deaths                         map[string]int64
	cpu                            time.Duration // of ended processes
}

func (c *counters) call(d time.Duration, n int, err error) {
	c.calls.Add(1)
	c.latency.Add(int64(d))
	for {
		old := c.latencyMax.Load()
		if int64(d) <= old || c.latencyMax.CompareAndSwap(old, int64(d)) {
			break
		}
	}
	if err != nil {
		c.errors.Add(1)
		return
	}
	c.records.Add(int64(n))
}

func (c *counters) died(pr *process, lost *LostError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deaths == nil {
		c.deaths = map[string]int64{}
	}
	c.deaths[lost.Reason]++
	if pr.runner != nil && pr.runner.state != nil {
		c.cpu += pr.runner.state.UserTime() + pr.runner.state.SystemTime()
	}
}

// Stats returns figures of every plugin that was started, by id.
func (h *Host) Stats() []Stats {
	procs := h.processes()
	sessions := make(map[int]bool)
	for _, prs := range procs {
		for _, pr := range prs {
			sessions[pr.runner.pid] = true
		}
	}
	used := usage(sessions)
	var out []Stats
	for _, id := range slices.Sorted(maps.Keys(h.plugins)) {
		p := h.plugins[id]
		if p.stats.starts.Load() == 0 {
			continue
		}
		s := p.stats.snapshot(id)
		for i, pr := range procs[p] {
			if i == 0 {
				s.PID, s.Build = pr.runner.pid, pr.build
			}
			u := used[pr.runner.pid]
			s.Processes += u.Processes
			s.RSS += u.RSS
			s.CPU += time.Duration(u.ticks) * time.Second / ticksPerSecond
			s.PSS += proportional(pr.runner.pid)
		}
		out = append(out, s)
	}
	return out
}

func (c *counters) snapshot(id string) Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{
		ID: id, Calls: c.calls.Load(), Records: c.records.Load(), Errors: c.errors.Load(),
		Deaths: maps.Clone(c.deaths), Starts: c.starts.Load(), Quarantined: c.quarantined.Load(),
		Poisonous: c.poisonous.Load(), Latency: time.Duration(c.latency.Load()),
		LatencyMax: time.Duration(c.latencyMax.Load()), CPU: c.cpu,
	}
}

// processes returns the running processes that the host started, by plugin,
// the main one first.
func (h *Host) processes() map[*Plugin][]*process {
	h.live.mu.Lock()
	defer h.live.mu.Unlock()
	out := map[*Plugin][]*process{}
	for pr, p := range h.live.all {
		if !pr.isGone() {
			out[p] = append(out[p], pr)
		}
	}
	for _, prs := range out {
		slices.SortFunc(prs, func(a, b *process) int { return cmp.Compare(a.conn.generation, b.conn.generation) })
	}
	return out
}

// register notes a process for the watch and for Stats until it is gone.
func (l *liveSet) register(p *Plugin, pr *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[*process]*Plugin{}
	}
	for old := range l.all {
		if old.isGone() {
			delete(l.all, old)
		}
	}
	l.all[pr] = p
}

type liveSet struct {
	mu  sync.Mutex
	all map[*process]*Plugin
}

// watchShare bounds what the watch takes: after a look it rests for so many
// times as long. On machines with thousands of processes a look takes a while.
const watchShare = 50

// watch looks at the memory of all plugins every Options.WatchInterval.
func (h *Host) watch() {
	var next time.Time
	h.every(h.opts.WatchInterval, func(now time.Time) {
		if now.Before(next) {
			return
		}
		begun := time.Now()
		h.checkMemory()
		next = now.Add(watchShare * time.Since(begun))
	})
}

// sweep ends idle quarantine processes.
func (h *Host) sweep() {
	h.every(idleCell/4, func(now time.Time) {
		for _, p := range h.plugins {
			p.jail.sweep(now)
		}
	})
}

// every calls f again and again until the host is closed.
func (h *Host) every(d time.Duration, f func(now time.Time)) {
	t := time.NewTicker(d)
	defer t.Stop()
	for {
		select {
		case <-h.life.Done():
			return
		case now := <-t.C:
			f(now)
		}
	}
}
