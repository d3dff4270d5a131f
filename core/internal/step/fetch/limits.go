package fetch

import (
	"context"
	"sync"
	"time"
)

// limits end the fetch of a round early: by time, or because too little comes
// through (Nutch's fetcher.timelimit.mins and fetcher.throughput.threshold).
type limits struct {
	mu      sync.Mutex
	hit     Release // why the round ended early, or ""
	started time.Time
	checked time.Time // the throughput was looked at last
	pages   int64     // requests by then
	low     int       // checks in a row below the threshold
}

func (l *limits) restart(now time.Time, pages int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hit, l.started, l.checked, l.pages, l.low = "", now, now, pages, 0
}

func (l *limits) reason() Release {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hit
}

// check returns the limit that has been reached by now, if any.
func (l *limits) check(cfg *Config, now time.Time, pages int64) (why Release, rate float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.hit != "":
	case cfg.TimeLimit >= 0 && now.Sub(l.started) > cfg.TimeLimit:
		l.hit = ReleasedTime
	case cfg.MinPagesPerSec < 0 || now.Sub(l.started) < cfg.MinPagesAfter || now.Sub(l.checked) < time.Second:
	default:
		rate = float64(pages-l.pages) / now.Sub(l.checked).Seconds()
		l.pages, l.checked = pages, now
		if rate >= cfg.MinPagesPerSec {
			l.low = 0
		} else if l.low++; l.low > cfg.MinPagesRetries {
			l.hit = ReleasedThroughput
		}
	}
	return l.hit, rate
}

// StartRound restarts the clocks of the time limit and the throughput.
func (e *Engine) StartRound() { e.limits.restart(e.deps.Now(), e.Stats.Requests.Load()) }

// checkLimits releases what is queued when a limit has been reached.
func (e *Engine) checkLimits(ctx context.Context) error {
	queued, _ := e.front.Len()
	if queued == 0 {
		return nil // nothing could be released, and nothing is slow
	}
	before := e.limits.reason()
	why, rate := e.limits.check(&e.cfg, e.deps.Now(), e.Stats.Requests.Load())
	if why == "" {
		return nil
	}
	if before == "" && why == ReleasedThroughput {
		e.deps.Log.Warn("throughput stayed below the limit; releasing what is left", "pages_per_second", rate, "limit", e.cfg.MinPagesPerSec)
	}
	return e.Drop(ctx, time.Time{})
}
