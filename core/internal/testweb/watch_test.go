package testweb

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// script drives the watch with made-up times.
type script struct {
	w   *Web
	now time.Duration
}

// do is one request of u that takes 10 ms, after a pause.
func (s *script) do(pause time.Duration, u string) {
	v := s.begin(pause, u)
	s.now += 10 * time.Millisecond
	s.end(v, u)
}

// begin and end are those of ServeHTTP, at the script's time instead of now's.
func (s *script) begin(pause time.Duration, u string) *visit {
	s.now += pause
	r := s.w.parse(u)
	path := string(s.w.appendPath(nil, r))
	v := &visit{ref: r, host: "x", path: path}
	s.w.watch.begin(v)
	return v
}

func (s *script) end(v *visit, u string) {
	var a answer
	s.w.answer(&a, v.ref, v.n, ask{})
	v.endAt(s.w.watch, &a, a.status, int64(s.now))
}

func TestViolations(t *testing.T) {
	const delay, ok, soon = 20 * time.Millisecond, 20 * time.Millisecond, 20*time.Millisecond - 1
	odd := func(c *Config) {
		c.Delay, c.CrawlDelay, c.RetryAfter = delay, 2*delay, 5*time.Second
		c.Shares.RobotsSome, c.Shares.RobotsDelay, c.Shares.RobotsError, c.Shares.TooMany, c.Shares.Abrupt = 0.3, 0.2, 0.1, 0.05, 0.2
	}
	w0 := newWeb(t, odd)
	find := func(match func(r ref, pg page) bool) string {
		for _, r := range allRefs(w0) {
			if r.kind == kindPage && w0.hosts[r.host].death == alive && match(r, w0.page(r.host, r.a)) {
				return w0.url(r)
			}
		}
		t.Fatal("no such page")
		return ""
	}
	robotsOf := func(u string) string {
		before, _, _ := strings.Cut(u, ".test")
		return before + ".test/robots.txt"
	}
	denied := find(func(r ref, _ page) bool { return w0.denied(r) })
	retry := find(func(r ref, pg page) bool {
		return pg.fate == fateTooMany && !w0.denied(r) && w0.hosts[r.host].robots != robotsFlaky && w0.hosts[r.host].robots != robotsError
	})
	slow := find(func(r ref, _ page) bool { return w0.hosts[r.host].robots == robotsDelay && r.a == 0 })
	baiting := find(func(r ref, pg page) bool { return pg.bait && w0.hosts[r.host].robots <= robotsSome })
	bait := w0.parse(baiting)
	bait.kind = kindBait
	held := find(func(r ref, _ page) bool { return w0.hosts[r.host].robots == robotsError })
	broken := ""
	for i := range w0.hosts {
		if w0.hosts[i].death == abrupt {
			broken = w0.url(ref{kind: kindRobots, host: int32(i)})
		}
	}
	const root, page, r0 = "http://host0.test/", "http://host0.test/s0/p1.html", "http://host0.test/robots.txt"

	tests := []struct {
		name string
		run  func(s *script)
		want map[ViolationKind]uint64
	}{
		{"polite", func(s *script) { s.do(0, r0); s.do(ok, root); s.do(ok, page); s.do(ok, page) }, nil},
		{"other hosts don't wait", func(s *script) { s.do(0, r0); s.do(0, robotsOf(slow)) }, nil},
		{"repeat of what broke without a byte", func(s *script) {
			s.do(0, broken)
			s.do(0, broken)
			if r := s.w.Report(); r.Repeats != 1 {
				t.Errorf("%d repeats", r.Repeats)
			}
		}, nil},
		{"gap", func(s *script) { s.do(0, r0); s.do(ok, root); s.do(soon, page) }, map[ViolationKind]uint64{ViolationGap: 1}},
		{"gap after robots", func(s *script) { s.do(0, r0); s.do(soon, root) }, map[ViolationKind]uint64{ViolationGap: 1}},
		{"gap is counted from the end", func(s *script) {
			s.do(0, r0)
			v := s.begin(ok, root)
			s.now += delay
			s.end(v, root)
			s.do(soon, page)
		}, map[ViolationKind]uint64{ViolationGap: 1}},
		{"crawl delay", func(s *script) { s.do(0, robotsOf(slow)); s.do(ok, slow); s.do(ok, slow) }, map[ViolationKind]uint64{ViolationGap: 1}},
		{"concurrent", func(s *script) {
			s.do(0, r0)
			v := s.begin(ok, root)
			s.do(ok, page)
			s.end(v, root)
		}, map[ViolationKind]uint64{ViolationConcurrent: 1}},
		{"retry after", func(s *script) { s.do(0, robotsOf(retry)); s.do(ok, retry); s.do(ok, retry) }, map[ViolationKind]uint64{ViolationRetryAfter: 1}},
		{"robots denied", func(s *script) { s.do(0, robotsOf(denied)); s.do(ok, denied) }, map[ViolationKind]uint64{ViolationRobotsDenied: 1}},
		{"robots not asked", func(s *script) { s.do(0, root) }, map[ViolationKind]uint64{ViolationRobotsUnknown: 1}},
		{"robots 5xx", func(s *script) { s.do(0, robotsOf(held)); s.do(ok, held) }, map[ViolationKind]uint64{ViolationRobotsUnknown: 1}},
		{"nofollow", func(s *script) { s.do(0, robotsOf(baiting)); s.do(ok, w0.url(bait)) }, map[ViolationKind]uint64{ViolationNoFollow: 1}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := &script{w: newWeb(t, odd)}
			s.w.watch.now = func() int64 { return int64(s.now) }
			tc.run(s)
			r := s.w.Report()
			if len(r.ViolationsBy) != len(tc.want) {
				t.Fatalf("got %v, want %v: %+v", r.ViolationsBy, tc.want, r.Violations)
			}
			for k, n := range tc.want {
				if r.ViolationsBy[k] != n || r.Violations[0].Kind != k {
					t.Errorf("got %v, want %v", r.ViolationsBy, tc.want)
				}
			}
			if r.Polite() != (tc.want == nil) {
				t.Errorf("polite is %v", r.Polite())
			}
			if tc.name == "gap" {
				v := r.Violations[0]
				if v.Before != root || v.URL != page || v.Wanted != delay || v.Gap != soon || r.MinGap != v.Gap {
					t.Errorf("violation is %+v, least gap %s", v, r.MinGap)
				}
			}
		})
	}
}

// TestImpoliteClient is caught over real connections.
func TestImpoliteClient(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.Shares, c.Delay = Plain(), time.Minute })
	c := serve(t, w)
	for _, u := range []string{"http://host1.test/robots.txt", "http://host1.test/"} {
		if _, err := get(c, u); err != nil {
			t.Fatal(err)
		}
	}
	if r := w.Report(); r.ViolationsBy[ViolationGap] != 1 {
		t.Errorf("%+v", r)
	}
}

// TestPoliteClientIsNeverBlamed runs clients that keep a short delay exactly and leave the
// end of huge bodies unread: invariant 3 under load.
func TestPoliteClientIsNeverBlamed(t *testing.T) {
	const delay = time.Millisecond
	w := newWeb(t, func(c *Config) {
		c.Delay, c.CrawlDelay, c.SlowDelay, c.PageSize = delay, delay, 2*time.Millisecond, Size50KB
		c.Shares = Shares{RobotsHuge: 0.5, RobotsAllow: 0.5, Slow: 0.3, Gzip: 0.3, Truncated: 0.2}
	})
	c := serve(t, w)
	var all sync.WaitGroup
	for h := range w.hosts {
		all.Go(func() {
			part := make([]byte, 500<<10)
			for p := range min(12, w.hosts[h].size+1) {
				r := ref{kind: kindRobots, host: int32(h)}
				if p > 0 {
					r = ref{kind: kindPage, host: int32(h), a: p - 1}
				}
				if resp, err := c.Get(w.url(r)); err == nil {
					_, _ = io.ReadFull(resp.Body, part) // stops short of a huge robots.txt's end
					resp.Body.Close()
				}
				<-time.After(delay) // the politeness under test
			}
		})
	}
	all.Wait()
	r := w.Report()
	if !r.Polite() {
		t.Errorf("%v, such as %+v", r.ViolationsBy, r.Violations[0])
	}
	if r.ByStatus["200"] < 300 {
		t.Errorf("statuses %v", r.ByStatus)
	}
}

// TestGapAfterAbandonedRequest: when a client left is not known, so nobody is blamed for the gap.
func TestGapAfterAbandonedRequest(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.Delay, c.SlowDelay, c.Shares = time.Hour, time.Hour, Shares{Slow: 1} })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 2 {
		req := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://host9.test/robots.txt", nil)
		w.ServeHTTP(httptest.NewRecorder(), req)
	}
	if r := w.Report(); !r.Polite() || r.ByStatus["abandoned"] != 2 {
		t.Errorf("%v, %v", r.ByStatus, r.Violations)
	}
}

func TestReportAndLog(t *testing.T) {
	var log strings.Builder
	w := newWeb(t, func(c *Config) { c.Shares, c.Log = Plain(), &log })
	for _, u := range []string{"/robots.txt", "/", "/", "/nothing?x=1"} {
		request(w, "http://host5.test"+u)
	}
	request(w, "http://nowhere.test/")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	r := w.Report()
	if r.Requests != 5 || r.URLs != 3 || r.Hosts != 1 || r.Unknown != 2 || r.ByStatus["200"] != 2 || r.ByStatus["404"] != 3 ||
		r.MaxConcurrent != 1 || len(r.UnknownURLs) != 2 || r.MostRequested[0] != (URLCount{"http://host5.test/", 2}) {
		t.Errorf("%+v", r)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
	if len(lines) != 6 || lines[0]+"\n" != LogHeader {
		t.Fatalf("log:\n%s", log.String())
	}
	f := strings.Split(lines[3], "\t")
	if len(f) != strings.Count(LogHeader, "\t")+1 || f[3] != "2" || f[4] != "200" || f[6] != "http://host5.test/" {
		t.Errorf("line %q", lines[3])
	}
	recent := w.Recent()
	if len(recent) != 5 || recent[2].N != 2 || recent[2].URL != "http://host5.test/" || recent[2].End < recent[2].Start {
		t.Errorf("%+v", recent)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestLogThatCantBeWritten(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.Log = failing{} })
	request(w, "http://host0.test/")
	if err := w.Flush(); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("Flush: %v", err)
	}
}

// TestRecentIsBounded wraps the ring.
func TestRecentIsBounded(t *testing.T) {
	w := newWeb(t, func(c *Config) { c.Shares = Plain() })
	for n := range recentRequests + 10 {
		v := visit{ref: ref{kind: kindPage, host: 0, a: int32(n) % w.hosts[0].size}}
		w.watch.begin(&v)
		v.endAt(w.watch, &answer{}, 200, w.watch.now())
	}
	recent := w.Recent()
	if len(recent) != recentRequests {
		t.Fatalf("%d kept", len(recent))
	}
	for i := 1; i < len(recent); i++ {
		if recent[i].End < recent[i-1].End {
			t.Fatal("not in order of ends")
		}
	}
}
