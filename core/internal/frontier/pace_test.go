package frontier

import (
	"testing"
	"time"
)

// TestPace: what a sheet sets for a host holds for its queue, and only for it.
func TestPace(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cfg := Config{Delay: time.Second, MinCrawlDelay: time.Second, ThreadsPerQueue: 1, StartDelay: true, ClearAfter: time.Hour}
	slow, fast := &Pace{Delay: 5 * time.Second, HasDelay: true}, &Pace{Delay: 100 * time.Millisecond, HasDelay: true, Threads: 2}
	for _, c := range []struct {
		name   string
		pace   []*Pace         // of the items, in order
		robots time.Duration   // Crawl-delay, 0 for none
		want   []time.Duration // when each is given; each takes 10 ms
	}{
		{"none", []*Pace{nil, nil, nil}, 0, []time.Duration{1000, 2010, 3020}},
		{"slower", []*Pace{slow, slow, slow}, 0, []time.Duration{5000, 10010, 15020}},
		{"the slowest of a queue", []*Pace{fast, slow, fast}, 0, []time.Duration{5000, 10010, 15020}},
		{"faster, two at once", []*Pace{fast, fast, fast}, 0, []time.Duration{100, 210, 320}},
		{"robots.txt asks for more", []*Pace{slow, slow}, 7 * time.Second, []time.Duration{7000, 14010}},
		{"robots.txt asks for less", []*Pace{slow, slow}, 2 * time.Second, []time.Duration{5000, 10010}},
		{"robots.txt is ignored with two threads", []*Pace{fast, fast}, 7 * time.Second, []time.Duration{100, 210}},
	} {
		f := New[int](cfg, start)
		for i, p := range c.pace {
			f.Add(start, Item[int]{URL: "u", Queue: "q", Pace: p, Payload: i})
		}
		f.Add(start, Item[int]{URL: "u", Queue: "other", Payload: -1})
		if c.robots > 0 {
			f.SetDelay("q", c.robots, start)
		}
		now := start
		var got []time.Duration
		for len(got) < len(c.want) {
			it, ok, wait := f.Next(now)
			if !ok {
				if wait <= 0 || wait == Never {
					t.Fatalf("%s: nothing comes after %v", c.name, got)
				}
				now = now.Add(wait)
				continue
			}
			if it.Payload < 0 {
				if d := now.Sub(start); d < time.Second || d > 1100*time.Millisecond {
					t.Errorf("%s: the other queue waits %v", c.name, d)
				}
			} else {
				got = append(got, now.Sub(start)/time.Millisecond)
			}
			now = now.Add(10 * time.Millisecond)
			f.Done(it, now, Answered)
		}
		for i := range c.want {
			if d := got[i] - c.want[i]; d < -20 || d > 20 {
				t.Errorf("%s: given at %v ms, want %v", c.name, got, c.want)
				break
			}
		}
	}
}

// TestPaceThreads lets as many requests of a host be under way as its sheet says.
func TestPaceThreads(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f := New[int](Config{ThreadsPerQueue: 2}, start)
	for i := range 4 {
		f.Add(start, Item[int]{URL: "u", Queue: "three", Pace: &Pace{Threads: 3}, Payload: i}, Item[int]{URL: "u", Queue: "one", Pace: &Pace{Threads: 1}, Payload: i},
			Item[int]{URL: "u", Queue: "two", Payload: i})
	}
	given := map[string]int{}
	for {
		it, ok, _ := f.Next(start)
		if !ok {
			break
		}
		given[it.Queue]++
	}
	if given["three"] != 3 || given["one"] != 1 || given["two"] != 2 {
		t.Errorf("under way at once: %v", given)
	}
}
