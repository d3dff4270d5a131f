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

// pace holds requests back so that pages bring no more than so many bytes a second
// on average (Nutch's fetcher.bandwidth.target, which changes the number of threads
// instead). The zero value holds nothing back.
type pace struct {
	mu    sync.Mutex
	until time.Time // when the average is kept again
}

// took notes a page of so many bytes, of which rate may come in a second; rate
// is not positive when there is no limit.
func (p *pace) took(bytes, rate int64, now time.Time) {
	if rate <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until.Before(now) {
		p.until = now
	}
	p.until = p.until.Add(time.Duration(float64(bytes) / float64(rate) * float64(time.Second)))
}

// pause returns how long no request is to be started.
func (p *pace) pause(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.until.Sub(now)
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
