// Package schedule owns the rules that say when a page is fetched next:
// Nutch's default and adaptive fetch schedules, corrected where Nutch's
// arithmetic is wrong, and one that keeps pages as fresh as wanted. The rules are pure: a record and times go in, a record
// comes out. The package must not know the store, statuses other than as
// data, or plugins.
//
// The receiver of a returned record shares maps and slices with the argument;
// no rule changes them.
package schedule

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gonutch/crawler/sdk/model"
)

const day = 24 * time.Hour

// Names of the schedules, for Config.Name.
const (
	Default  = "default"
	Adaptive = "adaptive"
	// MIMEAdaptive is Adaptive with rates by the record's type of content.
	MIMEAdaptive = "mime-adaptive"
)

// Config holds the settings of a schedule. The comments name the Nutch
// property each stands for.
type Config struct {
	Name            string        // Default or Adaptive (db.fetch.schedule.class), MIMEAdaptive or Freshness
	DefaultInterval time.Duration // of new records (db.fetch.interval.default)
	// MaxInterval is the ceiling: no record waits longer than this for its
	// next visit, fixed interval or not (db.fetch.interval.max).
	MaxInterval time.Duration
	RetryDelay  time.Duration // after a transient failure; one day in Nutch

	// The rest is for Adaptive and MIMEAdaptive (db.fetch.schedule.adaptive.*).

	IncRate       float64       // growth of the interval when a page did not change: × (1+IncRate)
	DecRate       float64       // shrinking when it did: × (1−DecRate)
	AdaptiveMin   time.Duration // bounds of the adapted interval
	AdaptiveMax   time.Duration
	SyncDelta     bool    // pull the next visit towards the time of change
	SyncDeltaRate float64 // by this fraction of the page's age

	// MIMERates hold IncRate and DecRate by type of content, for MIMEAdaptive; other
	// types have the common ones (db.fetch.schedule.mime.file).
	MIMERates map[string]Rates

	// Targets are Freshness' by name, DefaultTarget among them.
	Targets map[string]Target
}

// DefaultConfig returns Nutch's shipped settings with the default schedule.
func DefaultConfig() Config {
	return Config{
		Name:            Default,
		DefaultInterval: 30 * day,
		MaxInterval:     90 * day,
		RetryDelay:      day,
		IncRate:         0.4,
		DecRate:         0.2,
		AdaptiveMin:     time.Minute,
		AdaptiveMax:     365 * day,
		SyncDelta:       true,
		SyncDeltaRate:   0.3,
	}
}

// Validate returns every fault of c, joined, or nil.
func (c Config) Validate() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.Name == Default || c.Name == Freshness || c.adapts(), "fetch schedule %q: want %q, %q, %q or %q", c.Name, Default, Adaptive, MIMEAdaptive, Freshness)
	bad(c.DefaultInterval > 0, "default fetch interval %v: must be positive", c.DefaultInterval)
	bad(c.MaxInterval > 0, "maximum fetch interval %v: must be positive", c.MaxInterval)
	bad(c.DefaultInterval <= c.MaxInterval, "default fetch interval %v is above the maximum %v", c.DefaultInterval, c.MaxInterval)
	bad(c.RetryDelay > 0, "retry delay %v: must be positive", c.RetryDelay)
	if c.adapts() {
		bad(c.IncRate >= 0 && !math.IsInf(c.IncRate, 0), "adaptive increase rate %v: must be at least 0", c.IncRate)
		bad(c.DecRate >= 0 && c.DecRate < 1, "adaptive decrease rate %v: must be in [0,1)", c.DecRate)
		bad(c.SyncDeltaRate >= 0 && c.SyncDeltaRate < 1, "adaptive sync rate %v: must be in [0,1)", c.SyncDeltaRate)
		bad(c.AdaptiveMin > 0, "adaptive minimum interval %v: must be positive", c.AdaptiveMin)
		bad(c.AdaptiveMin <= c.AdaptiveMax, "adaptive minimum interval %v is above the adaptive maximum %v", c.AdaptiveMin, c.AdaptiveMax)
		bad(c.AdaptiveMin <= c.MaxInterval, "adaptive minimum interval %v is above the maximum fetch interval %v", c.AdaptiveMin, c.MaxInterval)
	}
	if c.Name == Freshness {
		_, has := c.Targets[DefaultTarget]
		bad(has, "freshness schedule: there is no target %q", DefaultTarget)
		for _, name := range slices.Sorted(maps.Keys(c.Targets)) {
			if err := c.Targets[name].validate(name); err != nil {
				errs = append(errs, err)
			}
			bad(c.Targets[name].Max <= c.MaxInterval, "freshness %q: maximum interval %v is above the maximum fetch interval %v", name, c.Targets[name].Max, c.MaxInterval)
		}
	}
	return errors.Join(errs...)
}

func (c Config) adapts() bool { return c.Name == Adaptive || c.Name == MIMEAdaptive }

// Schedule applies one configuration. Its methods are pure and safe for
// concurrent use.
type Schedule struct {
	cfg  Config
	goal Goal // of the page; see For
}

// New returns the schedule of cfg, or what Validate says against it.
func New(cfg Config) (Schedule, error) {
	if err := cfg.Validate(); err != nil {
		return Schedule{}, fmt.Errorf("fetch schedule: %w", err)
	}
	return Schedule{cfg: cfg}, nil
}

// Change says what a fetch told about the page since the fetch before.
type Change uint8

// The knowledge a fetch can bring.
const (
	Unknown     Change = iota // first fetch, redirect, nothing to compare with
	Modified                  // signature differs
	NotModified               // signature equal, or the server said so
)

// Initialize makes d a record that is due at now, with the default interval.
func (s Schedule) Initialize(d model.CrawlDatum, now time.Time) model.CrawlDatum {
	d.FetchTime = now
	d.Interval = s.cfg.DefaultInterval
	d.FixedInterval = false
	d.Retries = 0
	return d
}

// SetFetched schedules d after an answer at fetched. d.ModifiedTime is the
// last known change of the page, zero when unknown; it is set to fetched when
// change is Modified or nothing was known, and otherwise kept.
//
// When the interval is above the ceiling the page is put on 0.9 × ceiling and
// its next fetch made unconditional (validators dropped), as ForceRefetch does. Unlike Nutch's
// forced refetch this leaves status and signature alone.
func (s Schedule) SetFetched(d model.CrawlDatum, fetched time.Time, change Change) model.CrawlDatum {
	d.Retries = 0
	if d.Interval <= 0 {
		d.Interval, d.FixedInterval = s.cfg.DefaultInterval, false
	}
	if s.goal.Default > 0 && !d.FixedInterval && (s.cfg.Name == Default || s.goal.Last.IsZero()) {
		d.Interval = s.cfg.DefaultInterval
	}
	if change == Modified || d.ModifiedTime.IsZero() && change == Unknown || d.ModifiedTime.After(fetched) {
		d.ModifiedTime = fetched
	}
	ref := fetched
	switch {
	case s.cfg.Name != Freshness:
		d.History = model.ChangeHistory{}
	case s.goal.Target != "":
		d = s.fresh(d, fetched, change)
	}
	if s.cfg.adapts() && !d.FixedInterval {
		var offset time.Duration
		d.Interval, offset = s.adapt(s.rates(d), d.Interval, d.ModifiedTime, fetched, change)
		ref = fetched.Add(-offset)
	}
	if d.Interval > s.cfg.MaxInterval {
		d = s.capped(d)
		d.FetchTime = fetched.Add(min(d.Interval, s.ceiling()))
		return d
	}
	d.FetchTime = ref.Add(d.Interval)
	return d
}

// adapt returns the new interval, and how much earlier than that the next
// visit comes. A page unchanged for longer than its interval gets its age as
// interval; the visit is then pulled forward by SyncDeltaRate of the age. The age counts for the
// pull only up to AdaptiveMax (Nutch means to scale it so, but divides
// integers and gets 0 or, just below the limit, nearly the whole interval),
// hence interval − offset ≥ (1−SyncDeltaRate) × interval.
func (s Schedule) adapt(rates Rates, interval time.Duration, modified, fetched time.Time, change Change) (next, offset time.Duration) {
	f := float64(interval)
	switch change {
	case Modified:
		f *= 1 - rates.Dec
	case NotModified:
		f *= 1 + rates.Inc
	case Unknown:
	}
	if s.cfg.SyncDelta && !modified.IsZero() {
		age := fetched.Sub(modified)
		f = max(f, float64(age))
		offset = time.Duration(float64(min(age, s.cfg.AdaptiveMax)) * s.cfg.SyncDeltaRate).Round(time.Second)
	}
	f = min(max(f, float64(s.cfg.AdaptiveMin)), float64(s.cfg.AdaptiveMax))
	next = time.Duration(f).Round(time.Second)
	// Rounding must not push a visit below the lower bound.
	offset = max(min(offset, next-s.cfg.AdaptiveMin), 0)
	return next, offset
}

// SetGone schedules d after it was found gone at fetched: no page is gone for
// ever, so it is visited after an interval half as long again, at most 0.9 × ceiling. A fixed interval
// is kept.
func (s Schedule) SetGone(d model.CrawlDatum, fetched time.Time) model.CrawlDatum {
	if d.Interval <= 0 {
		d.Interval, d.FixedInterval = s.cfg.DefaultInterval, false
	}
	if !d.FixedInterval {
		if d.Interval < s.cfg.MaxInterval*2/3 {
			d.Interval = (d.Interval * 3 / 2).Round(time.Second)
		} else {
			d.Interval = s.ceiling()
		}
	}
	if s.cfg.Name == Freshness && s.goal.Target != "" {
		d.History.Target, d.History.Wanted = s.goal.Target, d.Interval.Round(time.Second)
	}
	d.FetchTime = fetched.Add(s.bounded(d.Interval))
	return d
}

// SetRetry schedules d after a transient failure at fetched: RetryDelay later,
// one more failure counted.
func (s Schedule) SetRetry(d model.CrawlDatum, fetched time.Time) model.CrawlDatum {
	d.FetchTime = fetched.Add(s.cfg.RetryDelay)
	d.Retries++
	return d
}

// ShouldFetch reports whether d is due at now. A record that would wait longer
// than the ceiling (after a change of settings, or with a wrong clock) is due
// at once; it is returned corrected, and else as it was.
func (s Schedule) ShouldFetch(d model.CrawlDatum, now time.Time) (model.CrawlDatum, bool) {
	if d.FetchTime.Sub(now) > s.cfg.MaxInterval {
		if d.Interval > s.cfg.MaxInterval && !d.FixedInterval {
			d.Interval = s.ceiling()
		}
		d.FetchTime = now
	}
	return d, !d.FetchTime.After(now)
}

// ForceRefetch makes the next fetch of d unconditional: validators and
// modification time are dropped, the retry count starts anew and the interval is capped. With asap it is due
// at now. Status and signature stay, so a fetched page stays fetched.
func (s Schedule) ForceRefetch(d model.CrawlDatum, now time.Time, asap bool) model.CrawlDatum {
	d = s.capped(d)
	d.Retries = 0
	if asap {
		d.FetchTime = now
	}
	return d
}

// capped drops validators and brings an interval above the ceiling below it.
func (s Schedule) capped(d model.CrawlDatum) model.CrawlDatum {
	if d.Interval > s.cfg.MaxInterval && !d.FixedInterval {
		d.Interval = s.ceiling()
	}
	d.ModifiedTime = time.Time{}
	d.ETag, d.LastModified = "", ""
	return d
}

// ceiling is Nutch's 0.9 × db.fetch.interval.max.
func (s Schedule) ceiling() time.Duration { return s.cfg.MaxInterval / 10 * 9 }

// bounded returns i, or the ceiling when i is above the maximum.
func (s Schedule) bounded(i time.Duration) time.Duration {
	if i > s.cfg.MaxInterval {
		return s.ceiling()
	}
	return i
}

// Bound returns an interval that someone asks for, or the ceiling when it is
// above the maximum.
func (s Schedule) Bound(i time.Duration) time.Duration { return s.bounded(i) }
