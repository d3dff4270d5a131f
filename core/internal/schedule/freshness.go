package schedule

import (
	"fmt"
	"math"
	"time"

	"github.com/gonutch/crawler/sdk/model"
)

// Freshness is the schedule that keeps pages no older than wanted: it learns how often each
// changes, and visits it as seldom as the wanted age allows.
//
// The age of a stored copy is how long ago the page changed first since it was
// fetched, 0 while it has not (Cho and Garcia-Molina, "Synchronizing a database to improve
// freshness", SIGMOD 2000). Changes are taken for a Poisson process.
const Freshness = "freshness"

// DefaultTarget is the name of the target of pages that no other is for.
const DefaultTarget = "default"

// Target is what is wanted of a group of pages.
type Target struct {
	Age    time.Duration // mean age of the stored copies
	Budget float64       // visits of all its pages a day; 0 is no limit
	Min    time.Duration // bounds of the interval
	Max    time.Duration
}

// validate returns what is wrong with t, called name.
func (t Target) validate(name string) error {
	switch {
	case t.Age <= 0:
		return fmt.Errorf("freshness %q: wanted age %v: must be positive", name, t.Age)
	case t.Budget < 0 || math.IsNaN(t.Budget) || math.IsInf(t.Budget, 0):
		return fmt.Errorf("freshness %q: budget %v: must be a number of requests a day", name, t.Budget)
	case t.Min <= 0:
		return fmt.Errorf("freshness %q: minimum interval %v: must be positive", name, t.Min)
	case t.Min > t.Max:
		return fmt.Errorf("freshness %q: minimum interval %v is above the maximum %v", name, t.Min, t.Max)
	}
	return nil
}

// Goal is what the caller knows of a page besides its record.
type Goal struct {
	Target  string        // name of the freshness target, "" for none
	Stretch float64       // by how much intervals are lengthened to keep its budget; below 1 is 1
	Last    time.Time     // when the page was fetched before; zero when never
	Default time.Duration // default interval of its host; 0 is the configured one
}

// For returns the schedule for one page.
func (s Schedule) For(g Goal) Schedule {
	s.goal = g
	if g.Default > 0 {
		s.cfg.DefaultInterval = min(g.Default, s.cfg.MaxInterval)
	}
	return s
}

// maxChecks bounds how many visits an estimate stands for, so that older ones are
// forgotten and a page may change its habits.
const maxChecks = 20

const perDay = float64(day)

// fresh is SetFetched by the freshness target, without the bounds that hold for all.
func (s Schedule) fresh(d model.CrawlDatum, fetched time.Time, change Change) model.CrawlDatum {
	t, ok := s.cfg.Targets[s.goal.Target]
	if !ok {
		t = s.cfg.Targets[DefaultTarget]
	}
	h := d.History
	h.Target = s.goal.Target
	between := d.Interval
	if last := s.goal.Last; !last.IsZero() && fetched.After(last) {
		between = fetched.Sub(last)
		if change != Unknown {
			h = observe(h, change == Modified, between)
		}
	}
	switch {
	case d.FixedInterval:
		h.Wanted = d.Interval
	case change == Unknown && len(d.Signature) == 0: // a redirect, or nothing to compare
		h.Wanted = s.cfg.DefaultInterval
	case h.Checks == 0:
		// As if it changed all the time; then a copy is half an interval old.
		h.Wanted = clamp(2*t.Age, t.Min, t.Max)
	default:
		h.Wanted = Longest(cautious(h, between), t)
	}
	h.Wanted = max(h.Wanted.Round(time.Second), time.Second)
	if !d.FixedInterval {
		d.Interval = s.stretched(h.Wanted)
	}
	d.History = h
	return d
}

// stretched lengthens an interval to keep the budget, as far as the ceiling of all
// intervals lets it.
func (s Schedule) stretched(i time.Duration) time.Duration {
	f := float64(i) * max(s.goal.Stretch, 1)
	if f > float64(s.cfg.MaxInterval) {
		return max(i, s.cfg.MaxInterval)
	}
	return time.Duration(f).Round(time.Second)
}

// observe adds a visit to what is known: after the time since the one before, the page
// had changed or not.
//
// The rate of n visits at an interval T of which X found a change is estimated as
// −ln((n−X+0.5)/(n+0.5))/T (Cho and Garcia-Molina, "Estimating frequency of
// change", ACM TOIT 3(3), 2003, section 4.2). So that visits may come at
// different intervals and only rate and n are kept, the earlier ones are told at each
// new interval t as the X that gives their rate: (n+0.5)·(1−e^(−rate·t)).
func observe(h model.ChangeHistory, changed bool, since time.Duration) model.ChangeHistory {
	n, t := float64(h.Checks)+0.5, float64(since)/perDay
	rate := h.RatePerDay()
	if changed {
		rate += math.Log((n+1)/n) / t
	} else {
		rate = -math.Log((n*math.Exp(-rate*t)+1)/(n+1)) / t
	}
	h.SetRate(rate)
	h.Checks = min(h.Checks+1, maxChecks)
	h.Age = ExpectedAge(h.RatePerDay(), since).Round(time.Millisecond)
	return h
}

// cautious is the rate that intervals are chosen by, a day: as if the next visit at
// the last interval found a change. An interval is as long as the wanted age allows only if the rate is
// not underestimated, and few visits underestimate it often.
func cautious(h model.ChangeHistory, between time.Duration) float64 {
	n := float64(h.Checks) + 0.5
	return h.RatePerDay() + math.Log((n+1)/n)/(float64(max(between, time.Second))/perDay)
}

// ExpectedAge returns the mean age of a copy of a page that changes rate times a day
// and is fetched every interval: interval/2 − 1/rate + (1−e^(−rate·interval))/(rate²·interval), the mean
// over the interval of the age t − (1−e^(−rate·t))/rate.
func ExpectedAge(rate float64, interval time.Duration) time.Duration {
	i := float64(interval) / perDay
	return time.Duration(expectedAge(rate, i) * perDay)
}

func expectedAge(rate, i float64) float64 {
	x := rate * i
	if x < 1e-3 {
		return i * x * (1.0/6 - x/24)
	}
	return i * (0.5 - 1/x - math.Expm1(-x)/(x*x))
}

// Longest returns the longest interval, within the bounds of t, at which a page that
// changes rate times a day is no older than t wants.
func Longest(rate float64, t Target) time.Duration {
	age := float64(t.Age) / perDay
	low, high := float64(t.Min)/perDay, float64(t.Max)/perDay
	if expectedAge(rate, high) <= age {
		return t.Max
	}
	if expectedAge(rate, low) >= age {
		return t.Min
	}
	for range 50 {
		mid := (low + high) / 2
		if expectedAge(rate, mid) <= age {
			low = mid
		} else {
			high = mid
		}
	}
	return time.Duration(low * perDay)
}

func clamp(d, least, most time.Duration) time.Duration { return min(max(d, least), most) }
