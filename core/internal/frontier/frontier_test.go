package frontier

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/urlkey"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func sec(n float64) time.Time { return t0.Add(time.Duration(n * float64(time.Second))) }

func item(queue, name string) Item[int] {
	u := "http://" + queue + "/" + name
	return Item[int]{URL: u, Key: urlkey.FromURL(u), Queue: queue, Bytes: 10}
}

func build(change func(*Config)) *Frontier[int] {
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	return New[int](cfg, t0)
}

// script is a frontier at a time with short ways to say what happens and what must come.
type script struct {
	*testing.T
	f   *Frontier[int]
	now time.Time
}

func (s *script) at(seconds float64) *script { s.now = sec(seconds); return s }

func (s *script) add(items ...Item[int]) *script {
	s.Helper()
	if back := s.f.Add(s.now, items...); len(back) > 0 {
		s.Fatalf("given back: %v", back)
	}
	return s
}

func (s *script) next(url string) Item[int] {
	s.Helper()
	it, ok, wait := s.f.Next(s.now)
	if !ok || it.URL != url {
		s.Fatalf("at %v: got %q, %v, wait %v; want %q", s.now.Sub(t0), it.URL, ok, wait, url)
	}
	if it.Key != urlkey.FromURL(url) || it.Bytes != 10 {
		s.Fatalf("item changed: %+v", it)
	}
	return it
}

func (s *script) wait(want time.Duration) *script {
	s.Helper()
	if it, ok, wait := s.f.Next(s.now); ok || wait != want {
		s.Fatalf("at %v: got %q, wait %v; want wait %v", s.now.Sub(t0), it.URL, wait, want)
	}
	return s
}

func (s *script) done(it Item[int], r Result) []Released[int] { return s.f.Done(it, s.now, r) }

func urls(back []Released[int]) (out []string) {
	for _, b := range back {
		out = append(out, fmt.Sprintf("%s %s", b.Reason, b.Item.URL))
	}
	return out
}

func (s *script) back(got []Released[int], want ...string) {
	s.Helper()
	if d := cmp.Diff(want, urls(got)); d != "" {
		s.Fatalf("given back (-want +got):\n%s", d)
	}
}

func TestDelayFromEndOfRequest(t *testing.T) {
	s := &script{t, build(nil), t0}
	s.wait(0)
	s.add(item("a", "1"), item("a", "2"), item("b", "1"))
	a := s.next("http://a/1")
	b := s.next("http://b/1")
	s.wait(Never) // a/2 waits for the slot of a
	s.at(5).done(a, Answered)
	s.wait(time.Second)
	s.at(5.5).wait(500 * time.Millisecond)
	s.at(6)
	s.done(s.next("http://a/2"), Answered)
	s.done(b, Answered)
	s.wait(0)
}

func TestQueuesServedInOrderOfReadiness(t *testing.T) {
	s := &script{t, build(nil), t0}
	s.add(item("a", "1"), item("a", "2"), item("b", "1"), item("b", "2"), item("c", "1"), item("c", "2"))
	a, b, c := s.next("http://a/1"), s.next("http://b/1"), s.next("http://c/1")
	s.at(3).done(c, Answered)
	s.at(4).done(a, Answered)
	s.at(5).done(b, Answered)
	s.at(10)
	s.next("http://c/2")
	s.next("http://a/2")
	s.next("http://b/2")
}

func TestThreadsPerQueueUseMinDelay(t *testing.T) {
	s := &script{t, build(func(c *Config) { c.ThreadsPerQueue, c.MinDelay = 2, 100*time.Millisecond }), t0}
	s.add(item("a", "1"), item("a", "2"), item("a", "3"))
	s.f.SetDelay("a", time.Minute, s.now) // ignored with several threads
	first := s.next("http://a/1")
	s.wait(100 * time.Millisecond)
	s.at(0.1).next("http://a/2")
	s.wait(Never)
	s.at(9).done(first, Answered)
	s.wait(100 * time.Millisecond)
	s.at(9.1).next("http://a/3")
}

func TestStartDelay(t *testing.T) {
	s := &script{t, build(func(c *Config) { c.StartDelay = true }), t0}
	s.at(0.25).add(item("a", "1"), item("b", "1"))
	s.f.SetDelay("b", 3*time.Second, s.now)
	s.wait(750 * time.Millisecond)
	s.at(1).next("http://a/1")
	s.wait(2 * time.Second)
	s.at(3).next("http://b/1")
	s.at(60).add(item("c", "1"))
	s.next("http://c/1") // long after the start nothing is owed
}

// The robots.txt of a host is fetched in the slot of its first item, which then waits its turn.
func TestRobotsTakeASlotAndCount(t *testing.T) {
	s := &script{t, build(nil), t0}
	s.add(item("a", "1"), item("a", "2"))
	it := s.next("http://a/1")
	s.wait(Never) // no second request while robots.txt is fetched
	s.at(2)
	s.f.SetDelay("a", 10*time.Second, s.now)
	s.back(s.f.PushBack(it, s.now, true))
	s.wait(10 * time.Second)
	s.at(12)
	s.done(s.next("http://a/1"), Answered)
	s.f.SetDelay("a", time.Millisecond, s.now) // robots.txt can't ask for less than MinCrawlDelay
	s.at(22)
	s.done(s.next("http://a/2"), Answered)
	s.add(item("a", "3"))
	s.wait(time.Second)
}

// Nutch blocks a host whose robots.txt is deferred until the task is killed.
func TestRobotsDeferralFreesTheSlot(t *testing.T) {
	s := &script{t, build(nil), t0}
	s.add(item("a", "1"), item("a", "2"), item("b", "1"))
	it := s.next("http://a/1")
	s.at(1)
	s.f.Hold("a", sec(301), "robots 503", s.now)
	s.back(s.f.PushBack(it, s.now, true))
	s.done(s.next("http://b/1"), Answered)
	s.wait(300 * time.Second)
	if d := cmp.Diff([]QueueState{{Name: "a", Queued: 2, Given: 1, Delay: time.Second, Next: sec(2), Held: "robots 503", Until: sec(301)}}, s.f.Held(s.now)); d != "" {
		t.Error(d)
	}
	want := Counts{Queued: 2, Bytes: 20, Queues: 1, Held: 1, Known: 2}
	if d := cmp.Diff(want, s.f.Counts(s.now)); d != "" {
		t.Error(d)
	}
	s.f.Hold("a", sec(100), "shorter", s.now) // does not shorten
	s.wait(300 * time.Second)
	s.at(301).next("http://a/1")
}

func TestReleaseKeepsOrderAndHold(t *testing.T) {
	s := &script{t, build(nil), t0}
	s.add(item("a", "1"), item("a", "2"), item("b", "1"))
	s.f.AddFront(s.now, item("a", "0"))
	s.f.Hold("a", sec(50), "429", s.now)
	s.back(s.f.Release("a", s.now), "released http://a/0", "released http://a/1", "released http://a/2")
	s.back(s.f.Release("nobody", s.now))
	s.add(item("a", "3"))
	s.done(s.next("http://b/1"), Answered)
	s.wait(50 * time.Second)
	s.f.Unhold("a", s.now)
	s.next("http://a/3")
}

func TestReleaseAll(t *testing.T) {
	s := &script{t, build(nil), t0}
	s.add(item("slow", "1"), item("slow", "2"), item("held", "1"), item("ok", "1"))
	s.f.Hold("held", sec(99), "503", s.now)
	s.f.SetDelay("slow", 30*time.Second, s.now)
	s.done(s.next("http://slow/1"), Answered)
	got := map[string]bool{}
	for _, u := range urls(s.f.ReleaseAll(sec(30), s.now)) {
		got[u] = true
	}
	if d := cmp.Diff(map[string]bool{"released http://slow/2": true, "released http://held/1": true}, got); d != "" {
		t.Error(d)
	}
	s.back(s.f.ReleaseAll(time.Time{}, s.now), "released http://ok/1")
	s.wait(0)
}

// Nutch adds to the count for ever and blocks a host after five failures however many successes lie between.
func TestBackoffResetBySuccess(t *testing.T) {
	s := &script{t, build(func(c *Config) { c.MaxExceptions = 4; c.MaxBackoff = 3 * time.Second }), t0}
	for i := range 9 {
		s.add(item("a", fmt.Sprint(i)))
	}
	now := 0.0
	fail := func(i int, r Result, wait float64) {
		t.Helper()
		s.at(now)
		s.back(s.done(s.next(fmt.Sprintf("http://a/%d", i)), r))
		s.wait(time.Duration(wait * float64(time.Second)))
		now += wait
	}
	fail(0, Failed, 1+1)
	fail(1, Failed, 1+2)
	fail(2, Failed, 1+3) // 4 s capped
	fail(3, Answered, 1)
	fail(4, Failed, 1+1)
	fail(5, Failed, 1+2)
	fail(6, Failed, 1+3)
	s.at(now)
	s.back(s.done(s.next("http://a/7"), Failed), "exceptions http://a/8")
	s.wait(0)
	s.back(s.f.Add(s.now, item("a", "9")), "blocked http://a/9")
	s.at(now + 1800).add(item("a", "10"))
	s.next("http://a/10")
}

func TestPushBackIntoBlockedQueue(t *testing.T) {
	s := &script{t, build(func(c *Config) { c.ThreadsPerQueue, c.MaxExceptions = 2, 1 }), t0}
	s.add(item("a", "1"), item("a", "2"))
	one, two := s.next("http://a/1"), s.next("http://a/2")
	s.done(one, Failed)
	s.back(s.f.PushBack(two, s.now, false), "blocked http://a/2")
	if _, inFlight := s.f.Len(); inFlight != 0 {
		t.Errorf("%d in flight", inFlight)
	}
}

// A queue that ran empty still knows its last request when a longer delay is set later.
func TestIdleQueueRemembersItsLastRequest(t *testing.T) {
	s := &script{t, build(nil), t0}
	s.add(item("a", "1"))
	s.done(s.next("http://a/1"), Answered)
	s.at(2).wait(0)
	s.add(item("a", "2"))
	s.f.SetDelay("a", 5*time.Second, s.now)
	s.wait(3 * time.Second)
}

// Nutch lets a redirect followed at once skip the target host's delay.
func TestRedirectWaitsItsTurnInFront(t *testing.T) {
	s := &script{t, build(nil), t0}
	s.add(item("a", "1"), item("b", "1"), item("b", "2"), item("b", "3"))
	a := s.next("http://a/1")
	s.done(s.next("http://b/1"), Answered)
	s.done(a, Answered)
	s.back(s.f.AddFront(s.now, item("b", "target")))
	s.wait(time.Second)
	s.at(1)
	s.done(s.next("http://b/target"), Answered)
	s.at(2)
	s.next("http://b/2")
}

// URLs that robots.txt forbids cost the host no request, so no delay; other hosts still come in between.
func TestNotAskedCostsNoDelay(t *testing.T) {
	s := &script{t, build(nil), t0}
	s.add(item("a", "1"), item("a", "2"), item("a", "3"), item("a", "4"), item("b", "1"))
	s.done(s.next("http://a/1"), Answered)
	s.at(0.5)
	s.done(s.next("http://b/1"), Answered)
	s.at(1)
	s.done(s.next("http://a/2"), NotAsked)
	s.done(s.next("http://a/3"), NotAsked)
	s.done(s.next("http://a/4"), Answered)
	s.add(item("a", "5"), item("c", "1"))
	s.next("http://c/1")
	s.wait(time.Second)
}

// A host with many forbidden URLs takes turns with others although none of them costs it a delay.
func TestNotAskedTakesTurns(t *testing.T) {
	s := &script{t, build(nil), t0}
	s.add(item("a", "1"), item("a", "2"), item("a", "3"), item("b", "1"), item("b", "2"))
	s.done(s.next("http://a/1"), Answered)
	b := s.next("http://b/1")
	s.at(2).done(b, Answered)
	s.at(10)
	s.done(s.next("http://a/2"), NotAsked)
	s.done(s.next("http://b/2"), Answered)
	s.next("http://a/3")
}

func TestNotAskedKeepsBackoff(t *testing.T) {
	s := &script{t, build(func(c *Config) { c.ThreadsPerQueue = 2; c.BackoffDelay = 8 * time.Second }), t0}
	s.add(item("a", "1"), item("a", "2"), item("a", "3"))
	one, two := s.next("http://a/1"), s.next("http://a/2")
	s.done(one, Failed)
	s.done(two, NotAsked)
	s.wait(8 * time.Second)
}

func TestLimitAndForgetting(t *testing.T) {
	s := &script{t, build(func(c *Config) { c.MaxItems, c.ClearAfter = 2, 10*time.Second }), t0}
	s.back(s.f.Add(s.now, item("a", "1"), item("a", "2"), item("b", "1")), "full http://b/1")
	s.done(s.next("http://a/1"), Answered)
	for i := range 1000 { // hosts come and go
		s.at(float64(10 + 2*i))
		it := item(fmt.Sprintf("h%d", i), "1")
		s.f.AddFront(s.now, it)
		got, ok, _ := s.f.Next(s.now)
		if !ok {
			t.Fatal("nothing ready")
		}
		s.done(got, Answered)
	}
	if c := s.f.Counts(s.now); c.Known > 10 {
		t.Errorf("%d queues known after all are idle", c.Known)
	}
}

func TestChangedWakesTheWaiter(t *testing.T) {
	s := &script{t, build(nil), t0}
	awake := func() bool {
		select {
		case <-s.f.Changed():
			return true
		default:
			return false
		}
	}
	if awake() {
		t.Error("woken by nothing")
	}
	s.add(item("a", "1"), item("a", "2"))
	s.add(item("b", "1"))
	if !awake() || awake() {
		t.Error("want one wake-up after two adds")
	}
	s.done(s.next("http://a/1"), Answered)
	if !awake() {
		t.Error("not woken by Done")
	}
	s.f.Release("a", s.now)
	if !awake() {
		t.Error("not woken by Release")
	}
}

func TestBusiest(t *testing.T) {
	s := &script{t, build(nil), t0}
	for i, n := range []int{3, 1, 7, 7, 2} {
		for j := range n {
			s.add(item(string(rune('a'+i)), fmt.Sprint(j)))
		}
	}
	var got []string
	for _, q := range s.f.Busiest(3, s.now) {
		got = append(got, fmt.Sprintf("%s %d", q.Name, q.Queued))
	}
	if d := cmp.Diff([]string{"c 7", "d 7", "a 3"}, got); d != "" {
		t.Error(d)
	}
}

func TestMisuse(t *testing.T) {
	panics := func(name string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", name)
			}
		}()
		f()
	}
	panics("no threads", func() { build(func(c *Config) { c.ThreadsPerQueue = 0 }) })
	panics("negative", func() { build(func(c *Config) { c.Delay = -1 }) })
	panics("negative limit", func() { build(func(c *Config) { c.MaxItems = -1 }) })
	f := build(nil)
	panics("done without next", func() { f.Done(item("a", "1"), t0, Answered) })
	f.Add(t0, item("a", "1"))
	panics("done before next", func() { f.PushBack(item("a", "1"), t0, true) })
}
