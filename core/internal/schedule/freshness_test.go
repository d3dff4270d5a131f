package schedule

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gonutch/crawler/sdk/model"
)

// TestEstimate compares the kept rate with the published estimator at a constant
// interval: −ln((n−X+0.5)/(n+0.5))/T.
func TestEstimate(t *testing.T) {
	for _, changes := range []string{"1", "0", "0000000000", "1111111111", "0100100010", "1011101111"} {
		var h model.ChangeHistory
		x := 0.0
		for _, c := range changes {
			if c == '1' {
				x++
			}
			h = observe(h, c == '1', 6*time.Hour)
		}
		n := float64(len(changes))
		want := -math.Log((n-x+0.5)/(n+0.5)) / 0.25
		if got := h.RatePerDay(); math.Abs(got-want) > 1e-4 || h.Checks != len(changes) {
			t.Errorf("%s: %v changes a day by %d visits, want %v", changes, got, h.Checks, want)
		}
	}
	// What is known at one interval is evidence at another.
	var h model.ChangeHistory
	for range 5 {
		h = observe(h, false, time.Hour)
	}
	h = observe(h, true, 100*day)
	if r := h.RatePerDay(); !(r > 0 && r < 0.01) {
		t.Errorf("one change in 100 days: %v a day", r)
	}
}

// TestExpectedAge compares the formula with the sum it stands for.
func TestExpectedAge(t *testing.T) {
	for _, rate := range []float64{1e-6, 0.01, 0.5, 3, 100} {
		for _, interval := range []time.Duration{time.Hour, day, 30 * day} {
			sum, steps := 0.0, 20_000
			i := float64(interval) / perDay
			for k := range steps {
				at := (float64(k) + 0.5) * i / float64(steps)
				sum += at - -math.Expm1(-rate*at)/rate
			}
			want := sum / float64(steps) * perDay
			got := float64(ExpectedAge(rate, interval))
			if math.Abs(got-want) > 1e-3*want+1e4 {
				t.Errorf("rate %v, interval %v: %v, want %v", rate, interval, time.Duration(got), time.Duration(want))
			}
		}
	}
}

func TestLongest(t *testing.T) {
	target := Target{Age: 6 * time.Hour, Min: time.Hour, Max: 60 * day}
	before := target.Max
	for _, rate := range []float64{0, 1e-5, 0.001, 0.1, 1, 5, 24, 1e4} {
		i := Longest(rate, target)
		if i > before || i < target.Min {
			t.Errorf("rate %v: interval %v after %v of a lower one", rate, i, before)
		}
		before = i
		if age := ExpectedAge(rate, i); age > target.Age || i < target.Max && age < target.Age*999/1000 {
			t.Errorf("rate %v: age %v at %v", rate, age, i)
		}
	}
	if i := Longest(1e4, target); i < 2*target.Age || i > 2*target.Age+time.Hour {
		t.Errorf("a page that changes all the time: %v, want a little more than twice the age", i)
	}
	if i := Longest(1e4, Target{Age: time.Minute, Min: time.Hour, Max: day}); i != time.Hour {
		t.Errorf("an age that the shortest interval can't reach: %v", i)
	}
}

// simWeb is a web of pages that change at random, and a crawler that visits them by
// a schedule, over simulated time.
type simWeb struct {
	s      Schedule
	target Target
	rnd    *rand.Rand
	pages  []*simPage
	demand float64 // the sum that the CrawlDB keeps

	from   time.Time // what is before does not count
	visits int
}

type simPage struct {
	d      model.CrawlDatum
	rate   float64   // true changes a day
	change time.Time // first one after the last visit
	age    float64   // days × days
}

func (w *simWeb) Len() int           { return len(w.pages) }
func (w *simWeb) Less(i, j int) bool { return w.pages[i].d.FetchTime.Before(w.pages[j].d.FetchTime) }
func (w *simWeb) Swap(i, j int)      { w.pages[i], w.pages[j] = w.pages[j], w.pages[i] }
func (w *simWeb) Push(any)           {}
func (w *simWeb) Pop() any           { return nil }

func newSimWeb(t *testing.T, n int, target Target, least, most float64) *simWeb {
	t.Helper()
	s := mustNew(t, func(c *Config) {
		c.Name, c.Targets = Freshness, map[string]Target{DefaultTarget: {Age: 7 * day, Min: time.Hour, Max: 90 * day}, "sim": target}
	})
	w := &simWeb{s: s, target: target, rnd: rand.New(rand.NewPCG(7, 11))}
	for range n {
		p := &simPage{rate: least * math.Exp(w.rnd.Float64()*math.Log(most/least))}
		p.d = w.s.Initialize(p.d, t0.Add(time.Duration(w.rnd.Float64()*float64(day))))
		w.pages = append(w.pages, p)
	}
	heap.Init(w)
	return w
}

// visit lets the page that is due next be fetched.
func (w *simWeb) visit() time.Time {
	p := w.pages[0]
	at := p.d.FetchTime
	last := p.d.PrevFetchTime
	change := Unknown
	if !last.IsZero() {
		change = NotModified
		if p.change.Before(at) {
			change = Modified
		}
		if from := later(p.change, w.from); from.Before(at) && w.from.Before(at) {
			a, b := from.Sub(p.change), at.Sub(p.change)
			p.age += (float64(b)*float64(b) - float64(a)*float64(a)) / 2 / perDay / perDay
		}
	}
	if at.After(w.from) {
		w.visits++
	}
	stretch := 1.0
	if w.target.Budget > 0 {
		stretch = max(w.demand/w.target.Budget, 1)
	}
	before := p.d.History.Wanted
	p.d.PrevFetchTime, p.d.Signature = at, []byte("x")
	p.d = w.s.For(Goal{Target: "sim", Stretch: stretch, Last: last}).SetFetched(p.d, at, change)
	if before > 0 {
		w.demand -= float64(day) / float64(before)
	}
	w.demand += float64(day) / float64(p.d.History.Wanted)
	p.change = at.Add(time.Duration(w.rnd.ExpFloat64() / p.rate * perDay))
	heap.Fix(w, 0)
	return at
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// run crawls for warm and then for measured, and returns the mean age in the second
// and how many visits a day it took.
func (w *simWeb) run(warm, measured time.Duration) (age time.Duration, perDayVisits float64) {
	w.from = t0.Add(warm)
	end := w.from.Add(measured)
	for w.pages[0].d.FetchTime.Before(end) {
		w.visit()
	}
	sum := 0.0
	for _, p := range w.pages {
		if p.change.Before(end) { // the open interval
			a, b := later(p.change, w.from).Sub(p.change), end.Sub(p.change)
			p.age += (float64(b)*float64(b) - float64(a)*float64(a)) / 2 / perDay / perDay
		}
		sum += p.age
	}
	days := float64(measured) / perDay
	return time.Duration(sum / days / float64(len(w.pages)) * perDay), float64(w.visits) / days
}

// TestFreshnessReachesTheWantedAge crawls webs of pages that change at rates a hundred times
// apart: the true mean age, which no crawler sees, is the wanted one.
func TestFreshnessReachesTheWantedAge(t *testing.T) {
	for _, c := range []struct {
		age         time.Duration
		least, most float64 // changes a day
	}{{day, 0.03, 3}, {6 * time.Hour, 0.1, 10}, {3 * day, 0.02, 2}} {
		w := newSimWeb(t, 300, Target{Age: c.age, Min: 10 * time.Minute, Max: 90 * day}, c.least, c.most)
		age, visits := w.run(200*day, 400*day)
		var told time.Duration
		for _, p := range w.pages {
			told += p.d.History.Age / time.Duration(len(w.pages))
		}
		t.Logf("wanted %v: age %v, told %v, %.1f visits a day", c.age, age, told, visits)
		if r := float64(age) / float64(c.age); r < 0.8 || r > 1.2 {
			t.Errorf("wanted %v: the mean age is %v", c.age, age)
		}
		if r := float64(told) / float64(age); r < 0.8 || r > 1.2 {
			t.Errorf("wanted %v: the crawler says %v, the truth is %v", c.age, told, age)
		}
		// A page that changes more rarely is visited more rarely.
		var slow, fast time.Duration
		for _, p := range w.pages {
			if p.rate < c.least*2 {
				slow = max(slow, p.d.Interval)
			}
			if p.rate > c.most/2 {
				fast = max(fast, p.d.Interval)
			}
		}
		if slow < 2*fast {
			t.Errorf("wanted %v: intervals up to %v for slow pages and %v for fast ones", c.age, slow, fast)
		}
	}
}

// TestFreshnessKeepsTheBudget wants more than the budget allows: visits keep it, and
// not by far less.
func TestFreshnessKeepsTheBudget(t *testing.T) {
	free := newSimWeb(t, 300, Target{Age: day, Min: 10 * time.Minute, Max: 90 * day}, 0.03, 3)
	_, need := free.run(200*day, 200*day)
	for _, share := range []float64{0.5, 0.2} {
		budget := need * share
		w := newSimWeb(t, 300, Target{Age: day, Budget: budget, Min: 10 * time.Minute, Max: 90 * day}, 0.03, 3)
		age, visits := w.run(200*day, 300*day)
		t.Logf("budget %.1f of %.1f: %.1f visits a day, age %v", budget, need, visits, age)
		if visits > 1.05*budget || visits < 0.8*budget {
			t.Errorf("budget %.1f: %.1f visits a day", budget, visits)
		}
		if age < day {
			t.Errorf("budget %.1f: mean age %v although the budget is too small", budget, age)
		}
	}
	// One that is large enough changes nothing.
	w := newSimWeb(t, 300, Target{Age: day, Budget: 2 * need, Min: 10 * time.Minute, Max: 90 * day}, 0.03, 3)
	if _, visits := w.run(200*day, 200*day); math.Abs(visits-need) > 0.05*need {
		t.Errorf("with a large budget %.1f visits a day, without one %.1f", visits, need)
	}
}
