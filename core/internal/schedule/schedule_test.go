package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk/model"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func mustNew(t *testing.T, change func(*Config)) Schedule {
	t.Helper()
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func adaptive(c *Config) { c.Name = Adaptive }

func TestValidate(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"name", func(c *Config) { c.Name = "mime" }, `"mime"`},
		{"zero default", func(c *Config) { c.DefaultInterval = 0 }, "must be positive"},
		{"default above max", func(c *Config) { c.DefaultInterval = 91 * day }, "above the maximum"},
		{"retry", func(c *Config) { c.RetryDelay = -1 }, "retry delay"},
		{"dec", func(c *Config) { adaptive(c); c.DecRate = 1 }, "decrease rate 1"},
		{"inc", func(c *Config) { adaptive(c); c.IncRate = -0.1 }, "increase rate"},
		{"sync", func(c *Config) { adaptive(c); c.SyncDeltaRate = 1 }, "sync rate"},
		{"bounds", func(c *Config) { adaptive(c); c.AdaptiveMin = 2 * c.AdaptiveMax }, "above the adaptive maximum"},
	} {
		cfg := DefaultConfig()
		c.change(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
	two := DefaultConfig()
	two.Name, two.RetryDelay = "x", 0
	if err := two.Validate(); err == nil || len(strings.Split(err.Error(), "\n")) != 2 {
		t.Errorf("want both faults, got %v", err)
	}
}

func TestSetFetched(t *testing.T) {
	for _, c := range []struct {
		name     string
		cfg      func(*Config)
		interval time.Duration
		fixed    bool
		modified time.Time
		change   Change
		wantInt  time.Duration
		wantNext time.Duration // after t0
		wantMod  time.Time
		forced   bool
	}{
		{"default keeps the interval", nil, 7 * day, false, time.Time{}, Unknown, 7 * day, 7 * day, t0, false},
		{"default, no interval", nil, 0, false, time.Time{}, Unknown, 30 * day, 30 * day, t0, false},
		{"default, not modified keeps time", nil, 7 * day, false, t0.Add(-day), NotModified, 7 * day, 7 * day, t0.Add(-day), false},
		{"default, not modified and unknown", nil, 7 * day, false, time.Time{}, NotModified, 7 * day, 7 * day, time.Time{}, false},
		{"default, modified", nil, 7 * day, false, t0.Add(-day), Modified, 7 * day, 7 * day, t0, false},
		{"modified in the future", nil, 7 * day, false, t0.Add(day), NotModified, 7 * day, 7 * day, t0, false},
		{"default, at the ceiling", nil, 90 * day, false, time.Time{}, Unknown, 90 * day, 90 * day, t0, false},
		{"default, above the ceiling", nil, 91 * day, false, t0.Add(-day), NotModified, 81 * day, 81 * day, time.Time{}, true},
		{"fixed above the ceiling", adaptive, 365 * day, true, t0.Add(-day), NotModified, 365 * day, 81 * day, time.Time{}, true},
		{"fixed below adaptive minimum", adaptive, time.Second, true, t0.Add(-day), NotModified, time.Second, time.Second, t0.Add(-day), false},
		{"adaptive, unknown", adaptive, 10 * day, false, time.Time{}, Unknown, 10 * day, 10 * day, t0, false},
		{"adaptive, modified", adaptive, 10 * day, false, t0.Add(-5 * day), Modified, 8 * day, 8 * day, t0, false},
		// 10 d × 1.4 = 14 d, pulled forward by 0.3 × 5 d
		{"adaptive, not modified", adaptive, 10 * day, false, t0.Add(-5 * day), NotModified, 14 * day, 14*day - 36*time.Hour, t0.Add(-5 * day), false},
		// age 20 d > 14 d becomes the interval; offset 6 d
		{"adaptive, age above interval", adaptive, 10 * day, false, t0.Add(-20 * day), NotModified, 20 * day, 14 * day, t0.Add(-20 * day), false},
		{"adaptive, no sync", func(c *Config) { adaptive(c); c.SyncDelta = false }, 10 * day, false, t0.Add(-20 * day), NotModified, 14 * day, 14 * day, t0.Add(-20 * day), false},
		{"adaptive, lower bound", adaptive, 10 * time.Second, false, t0, Modified, time.Minute, time.Minute, t0, false},
		// Nutch: offset 0.3 × 80 d = 24 d > max 20 d, scaled to 0 by integers; meant is 0.3 × 20 d.
		{"adaptive, offset scaled", func(c *Config) { adaptive(c); c.AdaptiveMax = 20 * day }, 10 * day, false, t0.Add(-80 * day), NotModified, 20 * day, 14 * day, t0.Add(-80 * day), false},
		// Nutch: offset 0.3 × 66 d = 19.8 d ≤ 20 d is not scaled and would make the page due 0.2 d later.
		{"adaptive, offset just below max", func(c *Config) { adaptive(c); c.AdaptiveMax = 20 * day }, 10 * day, false, t0.Add(-66 * day), NotModified, 20 * day, 14 * day, t0.Add(-66 * day), false},
		// 1.4 d pulled forward by 0.9 × 1.4 d would be above the rate of visits allowed.
		{"adaptive, pull stops at the minimum", func(c *Config) { adaptive(c); c.AdaptiveMin, c.SyncDeltaRate = day, 0.9 }, day, false, t0.Add(-33 * time.Hour), NotModified, 33*time.Hour + 36*time.Minute, day, t0.Add(-33 * time.Hour), false},
		{"adaptive, ten years old", adaptive, 10 * day, false, t0.AddDate(-10, 0, 0), NotModified, 81 * day, 81 * day, time.Time{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustNew(t, c.cfg)
			in := model.CrawlDatum{
				Status: model.StatusDBFetched, Interval: c.interval, FixedInterval: c.fixed, ModifiedTime: c.modified,
				Retries: 2, Signature: []byte{1}, ETag: `"e"`, LastModified: "lm",
			}
			want := in
			want.Interval, want.FetchTime, want.ModifiedTime, want.Retries = c.wantInt, t0.Add(c.wantNext), c.wantMod, 0
			if c.forced {
				want.ETag, want.LastModified = "", ""
			}
			if d := cmp.Diff(want, s.SetFetched(in, t0, c.change)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestGoneRetryInitialize(t *testing.T) {
	s := mustNew(t, nil)
	for _, c := range []struct {
		interval time.Duration
		fixed    bool
		want     time.Duration
		next     time.Duration
	}{
		{30 * day, false, 45 * day, 45 * day},
		{45 * day, false, 67*day + 12*time.Hour, 67*day + 12*time.Hour},
		{60 * day, false, 81 * day, 81 * day}, // × 1.5 would reach the ceiling
		{81 * day, false, 81 * day, 81 * day},
		{400 * day, false, 81 * day, 81 * day},
		{0, false, 45 * day, 45 * day},
		{10 * day, true, 10 * day, 10 * day},
		{400 * day, true, 400 * day, 81 * day},
	} {
		got := s.SetGone(model.CrawlDatum{Interval: c.interval, FixedInterval: c.fixed, Retries: 3}, t0)
		want := model.CrawlDatum{Interval: c.want, FixedInterval: c.fixed, FetchTime: t0.Add(c.next), Retries: 3}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("gone after %v: %s", c.interval, d)
		}
	}
	got := s.SetRetry(model.CrawlDatum{Interval: day, Retries: 1}, t0)
	if d := cmp.Diff(model.CrawlDatum{Interval: day, Retries: 2, FetchTime: t0.Add(day)}, got); d != "" {
		t.Errorf("retry: %s", d)
	}
	got = s.Initialize(model.CrawlDatum{Score: 7, Retries: 9, Interval: 1, FixedInterval: true}, t0)
	if d := cmp.Diff(model.CrawlDatum{Score: 7, Interval: 30 * day, FetchTime: t0}, got); d != "" {
		t.Errorf("initialize: %s", d)
	}
}

func TestShouldFetchAndForce(t *testing.T) {
	s := mustNew(t, nil)
	for _, c := range []struct {
		name     string
		in, want model.CrawlDatum
		due      bool
	}{
		{"due", model.CrawlDatum{FetchTime: t0}, model.CrawlDatum{FetchTime: t0}, true},
		{"not yet", model.CrawlDatum{FetchTime: t0.Add(time.Second)}, model.CrawlDatum{FetchTime: t0.Add(time.Second)}, false},
		{"at the ceiling", model.CrawlDatum{FetchTime: t0.Add(90 * day)}, model.CrawlDatum{FetchTime: t0.Add(90 * day)}, false},
		{"too far", model.CrawlDatum{FetchTime: t0.Add(91 * day), Interval: 120 * day}, model.CrawlDatum{FetchTime: t0, Interval: 81 * day}, true},
		{"too far, fixed", model.CrawlDatum{FetchTime: t0.Add(91 * day), Interval: 120 * day, FixedInterval: true}, model.CrawlDatum{FetchTime: t0, Interval: 120 * day, FixedInterval: true}, true},
	} {
		got, due := s.ShouldFetch(c.in, t0)
		if d := cmp.Diff(c.want, got); d != "" || due != c.due {
			t.Errorf("%s: due %v, %s", c.name, due, d)
		}
	}
	in := model.CrawlDatum{
		Status: model.StatusDBFetched, Signature: []byte{1}, ModifiedTime: t0, ETag: "e", LastModified: "l",
		Interval: 100 * day, Retries: 2, FetchTime: t0.Add(5 * day),
	}
	want := in
	want.ModifiedTime, want.ETag, want.LastModified, want.Interval, want.Retries = time.Time{}, "", "", 81*day, 0
	if d := cmp.Diff(want, s.ForceRefetch(in, t0, false)); d != "" {
		t.Errorf("force: %s", d)
	}
	want.FetchTime = t0
	if d := cmp.Diff(want, s.ForceRefetch(in, t0, true)); d != "" {
		t.Errorf("force asap: %s", d)
	}
}

// A page changing every cycle days, first seen at age, must always be due
// again between the lower bound and the ceiling after a visit, and its
// interval must stay inside the bounds (the settings of Nutch's TestAdaptiveFetchSchedule among them).
func TestAdaptiveStaysInBounds(t *testing.T) {
	for _, c := range []struct{ start, lo, hi, cycle, age time.Duration }{
		{2 * day, day, 7 * day, 3 * day, 30 * day},
		{day, day, 2 * day, day, 10 * day},
		{2 * day, day, 10 * day, 3 * day, 180 * day},
		{30 * day, time.Minute, 365 * day, 8 * time.Hour, 0},
		{30 * day, time.Minute, 365 * day, 100 * 365 * day, 50 * 365 * day},
	} {
		s := mustNew(t, func(cfg *Config) { adaptive(cfg); cfg.AdaptiveMin, cfg.AdaptiveMax = c.lo, c.hi })
		now, end := t0, t0.AddDate(100, 0, 0)
		changed := t0.Add(-c.age) // last real change
		d := model.CrawlDatum{Interval: c.start, ModifiedTime: changed}
		visits := 0
		for ; now.Before(end) && visits < 200_000; visits++ {
			change := NotModified
			if n := now.Sub(changed) / c.cycle; n > 0 {
				changed, change = changed.Add(n*c.cycle), Modified
			}
			d = s.SetFetched(d, now, change)
			if d.Interval < c.lo || d.Interval > min(c.hi, 90*day) {
				t.Fatalf("%+v: visit %d: interval %v out of bounds", c, visits, d.Interval)
			}
			if wait := d.FetchTime.Sub(now); wait < c.lo || wait > min(c.hi, 90*day) {
				t.Fatalf("%+v: visit %d: next visit after %v", c, visits, wait)
			}
			now = d.FetchTime
		}
		if visits < 300 {
			t.Errorf("%+v: only %d visits in 100 years", c, visits)
		}
	}
}
