package update

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/schedule"
)

// goal returns what the schedule has to know of a page: the interval of its sheet, its
// freshness target, and how much the target's budget lengthens intervals. The
// last goes by the sums that are committed: sums of effects that may come in any
// order.
func (a *Applier) goal(url string) (schedule.Goal, error) {
	var g schedule.Goal
	if s := a.cfg.Sheets.OfURL(url); s != nil {
		g.Default = s.Interval.V
	}
	g.Target = a.cfg.Targets.Of(url)
	t := a.cfg.Targets.All()[g.Target]
	if t.Budget <= 0 {
		return g, nil
	}
	sums, err := a.db.Freshness(g.Target)
	g.Stretch = Stretch(t, sums.PerDay)
	return g, err
}

// Stretch returns the factor by which the intervals of a target's pages are lengthened
// so that visits that keep them as fresh as wanted keep its budget, too.
func Stretch(t schedule.Target, perDay float64) float64 {
	if t.Budget <= 0 {
		return 1
	}
	return max(perDay/t.Budget, 1)
}

// TargetReport is what a freshness target wants and what is reached.
type TargetReport struct {
	Target  string        `json:"target"`
	Wanted  time.Duration `json:"wanted_age_ns"`
	Budget  float64       `json:"budget_per_day,omitempty"`
	Pages   int64         `json:"pages"`             // that were fetched
	PerDay  float64       `json:"visits_per_day"`    // that reach the wanted age
	Stretch float64       `json:"stretch,omitempty"` // by what factor the budget lengthens intervals; not there when it doesn't
	// Age is the mean over pages that were visited twice or more of the expected age of
	// the copy between the two last visits; Measured is how many these are.
	Age      time.Duration `json:"age_ns"`
	Measured int64         `json:"measured"`
}

// Freshness reports what the targets have reached, by name; nil with another schedule.
func (c *Config) Freshness(ctx context.Context, db *crawldb.DB) ([]TargetReport, error) {
	if c.Targets == nil {
		return nil, nil
	}
	sums, err := db.AllFreshness(ctx)
	if err != nil {
		return nil, err
	}
	var out []TargetReport
	for _, name := range slices.Sorted(maps.Keys(c.Targets.All())) {
		t, sum := c.Targets.All()[name], sums[name]
		r := TargetReport{Target: name, Wanted: t.Age, Budget: t.Budget, Pages: sum.Pages, PerDay: sum.PerDay, Age: sum.Age, Measured: sum.Measured}
		if f := Stretch(t, sum.PerDay); f > 1 {
			r.Stretch = f
		}
		out = append(out, r)
	}
	return out, nil
}
