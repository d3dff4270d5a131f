package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/cycle"
)

func busyProgress() cycle.Progress {
	return cycle.Progress{
		Round: 3, Segment: "20240501120000", Step: "fetch", Queued: 8766, InFlight: 50, Hosts: 412, HostsHeld: 35,
		Report: cycle.Report{
			Fetched: 12345, Bytes: 1 << 30, New: 23000, Indexed: 11000,
			Failures: map[string]int64{"http_404": 200, "network": 40, "http_500": 3, "robots_denied": 5, "http_410": 1},
		},
	}
}

func TestProgressLines(t *testing.T) {
	p, r := busyProgress(), rate{52.3, 1.2 * (1 << 20)}
	elapsed := 2*time.Hour + 31*time.Minute + 5*time.Second
	for width, want := range map[int][]string{
		200: {
			"round 3 fetch  12,345 pages  52/s  1.2 MiB/s  2:31:05  round done in about 2m 48s",
			"  queue 8,766  412 hosts (35 held)  50 in flight  failed 249 (http_404 200, network 40, robots_denied 5, 2 others 4)  new 23,000  indexed 11,000",
		},
		79: {
			"round 3 fetch  12,345 pages  52/s  1.2 MiB/s  2:31:05",
			"  queue 8,766  412 hosts (35 held)  50 in flight  failed 249  new 23,000",
		},
		30: {"round 3 fetch  12,345 pages", "  queue 8,766  412 hosts"},
		8:  {"round 3…", "  queue…"},
	} {
		got := progressLines(&p, r, elapsed, width)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("width %d: %s", width, diff)
		}
	}
	sends := cycle.Progress{Round: 2, Step: "index", Indexing: 1250, Report: cycle.Report{Fetched: 3000, Bytes: 1 << 20}}
	if diff := cmp.Diff([]string{"round 2 index (1,250 pages so far)  3,000 pages  0.0/s  0 B/s  0:00:01", "  queue empty"}, progressLines(&sends, rate{}, time.Second, 79)); diff != "" {
		t.Error(diff)
	}
	quiet := cycle.Progress{Step: "starting"}
	if diff := cmp.Diff([]string{"starting  0 pages  0.0/s  0 B/s  0:00:01", "  queue empty"}, progressLines(&quiet, rate{}, time.Second, 79)); diff != "" {
		t.Error(diff)
	}
}

// TestProgressWidth: no width makes a line too long, which would wrap and leave
// rubbish.
func TestProgressWidth(t *testing.T) {
	p := busyProgress()
	for width := 1; width < 200; width++ {
		for _, l := range progressLines(&p, rate{1e9, 1e15}, 1e6*time.Hour, width) {
			if n := len([]rune(l)); n > width {
				t.Errorf("width %d: %d columns: %q", width, n, l)
			}
		}
	}
}

func TestProgressLine(t *testing.T) {
	p := busyProgress()
	want := "round 3 fetch: 12,345 pages, 52/s, 1.2 MiB/s, queue 8,766, 412 hosts (35 held), 50 in flight, " +
		"failed 249 (http_404 200, network 40, robots_denied 5, 2 others 4), new 23,000, indexed 11,000, elapsed 0:02:31"
	if got := progressLine(&p, rate{52.3, 1.2 * (1 << 20)}, 151*time.Second); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestCounting: work that is long shows how far it is and, when that is known, what is left.
func TestCounting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		out := newLineWriter(&b, true)
		told := counting(hclog.NewNullLogger(), out, "mergedb", "records")
		want := func(want string) {
			t.Helper()
			if got := strings.Join(out.status, "\n"); got != want {
				t.Errorf("shown %q, want %q", got, want)
			}
		}
		told(1, 0)
		want("")
		time.Sleep(10 * time.Second)
		told(2000, 0)
		want("mergedb: 2,000 records")
		told(2001, 0)
		want("mergedb: 2,000 records")
		time.Sleep(20 * time.Second)
		told(6000, 0.25)
		want("mergedb: 6,000 records (25 %), done in about 1m 30s")
		time.Sleep(time.Second)
		told(7000, 1)
		want("mergedb: 7,000 records (100 %), done in about 0s")
		out.clear()
		want("")
	})
}

func TestMeter(t *testing.T) {
	m, start := newMeter(5*time.Second), time.Unix(1_700_000_000, 0)
	at := func(sec float64, pages, bytes int64) rate {
		return m.rate(start.Add(time.Duration(sec*float64(time.Second))), pages, bytes)
	}
	if r := at(0, 0, 0); r != (rate{}) {
		t.Errorf("first sample: %v", r)
	}
	for i := 1; i <= 10; i++ {
		if r := at(float64(i), int64(i*10), int64(i*1000)); r != (rate{10, 1000}) {
			t.Errorf("steady at %ds: %v", i, r)
		}
	}
	// A pause shows within the window and is over after it.
	for i := 11; i <= 15; i++ {
		at(float64(i), 100, 10_000)
	}
	if r := at(16, 100, 10_000); r != (rate{}) {
		t.Errorf("after a pause longer than the window: %v", r)
	}
	if len(m.samples) > 10 {
		t.Errorf("%d samples kept", len(m.samples))
	}
	if r := at(16, 200, 10_000); r.pages <= 0 || r.pages > 100 {
		t.Errorf("twice at one moment: %v", r)
	}
}

// screen is a terminal that knows what lineWriter uses.
type screen struct {
	lines []string
	row   int
	col   int
}

func (s *screen) Write(p []byte) (int, error) {
	for text := string(p); text != ""; {
		switch {
		case strings.HasPrefix(text, "\x1b[K"):
			s.line(func(l string) string { return l[:min(s.col, len(l))] })
			text = text[3:]
		case strings.HasPrefix(text, "\x1b[1A"):
			s.row--
			text = text[4:]
		case text[0] == '\r':
			s.col, text = 0, text[1:]
		case text[0] == '\n':
			s.row, s.col, text = s.row+1, 0, text[1:]
		case text[0] == 0x1b:
			return 0, fmt.Errorf("escape %q is not known here", text)
		default:
			s.line(func(l string) string {
				for len(l) < s.col {
					l += " "
				}
				return l[:s.col] + text[:1] + l[min(s.col+1, len(l)):]
			})
			s.col, text = s.col+1, text[1:]
		}
	}
	return len(p), nil
}

func (s *screen) line(f func(string) string) {
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, "")
	}
	s.lines[s.row] = f(s.lines[s.row])
}

func (s *screen) String() string { return strings.TrimRight(strings.Join(s.lines, "\n"), "\n") }

func TestLineWriter(t *testing.T) {
	var s screen
	l := newLineWriter(&s, true)
	write := func(text string) {
		t.Helper()
		if n, err := io.WriteString(l, text); n != len(text) || err != nil {
			t.Errorf("wrote %d of %d: %v", n, len(text), err)
		}
	}
	want := func(text string) {
		t.Helper()
		if diff := cmp.Diff(text, s.String()); diff != "" {
			t.Error(diff)
		}
	}
	write("log one\n")
	l.show("status 1 is long", "more 1")
	want("log one\nstatus 1 is long\nmore 1")
	write("log two\nlog three\n")
	want("log one\nlog two\nlog three\nstatus 1 is long\nmore 1")
	l.show("status 2")
	want("log one\nlog two\nlog three\nstatus 2")
	write("half a ")
	want("log one\nlog two\nlog three\nhalf a ")
	l.show("status 3", "more 3")
	write("line\n")
	want("log one\nlog two\nlog three\nhalf a line\nstatus 3\nmore 3")
	write("")
	l.show()
	want("log one\nlog two\nlog three\nhalf a line")
	write("report\n")
	want("log one\nlog two\nlog three\nhalf a line\nreport")
}

func TestLineWriterWithoutTerminal(t *testing.T) {
	var b bytes.Buffer
	l := newLineWriter(&b, false)
	if _, err := io.WriteString(l, "half"); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != "half" {
		t.Errorf("%q", got)
	}
	if l.columns() != 80 {
		t.Errorf("%d columns", l.columns())
	}
}

// syncBuffer is a buffer that tells of each write.
type syncBuffer struct {
	mu    sync.Mutex
	b     bytes.Buffer
	wrote chan struct{}
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.wrote <- struct{}{}:
	default:
	}
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestFirstRate: the first line tells the rate since the start.
func TestFirstRate(t *testing.T) {
	cfg, err := config.Load(config.Options{Defaults: crawler.Defaults(), Sets: []string{"cycle.progress_interval=100ms"}})
	if err != nil {
		t.Fatal(err)
	}
	b := &syncBuffer{wrote: make(chan struct{}, 1)}
	asked := false
	stop := watchProgress(newLineWriter(b, false), cfg, func() cycle.Progress {
		p := busyProgress()
		if !asked {
			p.Report.Fetched, p.Report.Bytes = 0, 0
		}
		asked = true
		return p
	})
	<-b.wrote
	stop()
	if first, _, _ := strings.Cut(b.String(), "\n"); first == "" || strings.Contains(first, " 0.0/s") || strings.Contains(first, " 0 B/s") {
		t.Errorf("%q", first)
	}
}

func TestWatchProgress(t *testing.T) {
	cfg, err := config.Load(config.Options{Defaults: crawler.Defaults(), Sets: []string{"cycle.progress_interval=100ms"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, terminal := range []bool{false, true} {
		b := &syncBuffer{wrote: make(chan struct{}, 1)}
		stop := watchProgress(newLineWriter(b, terminal), cfg, busyProgress)
		<-b.wrote
		<-b.wrote
		stop()
		stop()
		got := b.String()
		if !strings.Contains(got, "round 3 fetch") || strings.Contains(got, "\x1b") != terminal {
			t.Errorf("terminal %v: %q", terminal, got)
		}
		if terminal && !strings.HasSuffix(got, "\r\x1b[K\x1b[1A\x1b[K") {
			t.Errorf("status lines are left: %q", got)
		}
		if !terminal && strings.Count(got, "\n") < 2 {
			t.Errorf("no whole lines: %q", got)
		}
	}
}
