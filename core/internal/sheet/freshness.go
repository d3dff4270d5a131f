package sheet

import (
	"regexp"
	"time"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/schedule"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/setting"
)

// Targets are the targets of the freshness schedule and which pages are theirs. They
// never change; a nil one has none.
type Targets struct {
	m        matcher
	names    []string
	patterns []pattern // in the order in which they are written
	targets  map[string]schedule.Target
}

type pattern struct {
	re   *regexp.Regexp
	rule int
}

// Of returns the name of the target that a URL belongs to: of the first one with a
// pattern that matches, else of the most specific one for its host, else
// schedule.DefaultTarget; "" when there are no targets.
func (t *Targets) Of(url string) string {
	if t == nil {
		return ""
	}
	for _, p := range t.patterns {
		if p.re.MatchString(url) {
			return t.names[p.rule]
		}
	}
	if found := t.m.find(urlkey.Host(url)); len(found) > 0 {
		return t.names[found[0]]
	}
	return schedule.DefaultTarget
}

// All returns the targets by name. The caller doesn't change them.
func (t *Targets) All() map[string]schedule.Target {
	if t == nil {
		return nil
	}
	return t.targets
}

// loadTargets reads the targets when the schedule is the freshness one, and else
// only checks them.
func loadTargets(c *config.Config) (*Targets, error) {
	var d struct {
		Schedule string           `hcl:"fetch_schedule"`
		Most     setting.Duration `hcl:"fetch_interval_max"`
		Age      setting.Duration `hcl:"fetch_schedule_freshness_age"`
		Budget   float64          `hcl:"fetch_schedule_freshness_budget"`
		Min      setting.Duration `hcl:"fetch_schedule_freshness_min_interval"`
		Max      setting.Duration `hcl:"fetch_schedule_freshness_max_interval"`
	}
	if err := c.Decode("db", &d); err != nil {
		return nil, err
	}
	t := &Targets{m: newMatcher(), targets: map[string]schedule.Target{
		schedule.DefaultTarget: {Age: d.Age.D(), Budget: max(d.Budget, 0), Min: d.Min.D(), Max: min(d.Max.D(), d.Most.D())},
	}}
	var ps hclconf.Problems
	for n, r := range c.Rules("freshness") {
		x := struct {
			Hosts    []string         `hcl:"hosts"`
			Domains  []string         `hcl:"domains"`
			Patterns []string         `hcl:"patterns"`
			Age      setting.Duration `hcl:"age"`
			Budget   float64          `hcl:"budget"`
			Min      setting.Duration `hcl:"min_interval"`
			Max      setting.Duration `hcl:"max_interval"`
		}{Age: d.Age, Budget: -1, Min: d.Min, Max: min(d.Max, d.Most)}
		if err := r.Decode(&x); err != nil {
			return nil, err
		}
		before := len(ps)
		if r.Name == schedule.DefaultTarget {
			ps = append(ps, r.Problem("", -1, "what holds for all other pages is set in db { fetch_schedule_freshness_age = ... }"))
		}
		if len(x.Hosts)+len(x.Domains)+len(x.Patterns) == 0 {
			ps = append(ps, r.Problem("", -1, "which pages is it for? write hosts, domains or patterns = [\"^https?://[^/]+/news/\"]"))
		}
		ps = append(ps, t.m.read(r, n, x.Hosts, x.Domains)...)
		for i, text := range x.Patterns {
			re, err := regexp.Compile(text)
			if err != nil {
				ps = append(ps, r.Problem("patterns", i, "%v", err))
				continue
			}
			t.patterns = append(t.patterns, pattern{re, n})
		}
		ps = append(ps, bounds(r, x.Min.D(), x.Max.D(), d.Most.D())...)
		if len(ps) > before {
			continue
		}
		t.names = append(t.names, r.Name)
		t.targets[r.Name] = schedule.Target{Age: x.Age.D(), Budget: max(x.Budget, 0), Min: x.Min.D(), Max: x.Max.D()}
	}
	if d.Schedule != schedule.Freshness {
		return nil, ps.Err()
	}
	return t, ps.Err()
}

// bounds checks the bounds of intervals.
func bounds(r config.Rule, least, most, ceiling time.Duration) (ps hclconf.Problems) {
	if most > ceiling {
		ps = append(ps, r.Problem("max_interval", -1, "%v is above db.fetch_interval_max, %v", most, ceiling))
	}
	if least > most {
		at := "min_interval"
		if !r.Has(at) {
			at = "max_interval"
		}
		ps = append(ps, r.Problem(at, -1, "the shortest interval, %v, is above the longest, %v", least, most))
	}
	return ps
}
