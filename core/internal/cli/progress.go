package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/term"

	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/sdk/setting"
)

// lineWriter lets log lines and status lines share a terminal: what is written
// scrolls above the status lines, which stay at the bottom. Without a terminal
// it only keeps writes apart. It is safe for concurrent use.
type lineWriter struct {
	w        io.Writer
	terminal bool
	columns  func() int

	mu     sync.Mutex
	status []string // that are wanted
	shown  int      // lines that are on the screen, the cursor behind the last
	open   bool     // something was written that has no line end yet
}

func newLineWriter(w io.Writer, terminal bool) *lineWriter {
	return &lineWriter{w: w, terminal: terminal, columns: func() int {
		if f, ok := w.(*os.File); ok {
			if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 { //nolint:gosec // a file descriptor
				return n
			}
		}
		return 80
	}}
}

// Write implements io.Writer.
func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.terminal {
		return l.w.Write(p)
	}
	var b bytes.Buffer
	l.erase(&b)
	before := b.Len()
	b.Write(p)
	if len(p) > 0 {
		l.open = p[len(p)-1] != '\n'
	}
	l.draw(&b)
	n, err := l.w.Write(b.Bytes())
	return max(0, min(n-before, len(p))), err
}

// show replaces the status lines; none takes them away.
func (l *lineWriter) show(lines ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b bytes.Buffer
	l.erase(&b)
	l.status = lines
	l.draw(&b)
	_, _ = l.w.Write(b.Bytes()) // a status that can't be shown is not worth an error
}

// clear takes the status lines away from a terminal.
func (l *lineWriter) clear() {
	if l.terminal {
		l.show()
	}
}

func (l *lineWriter) erase(b *bytes.Buffer) {
	if l.shown == 0 {
		return
	}
	b.WriteString("\r\x1b[K")
	for range l.shown - 1 {
		b.WriteString("\x1b[1A\x1b[K")
	}
	l.shown = 0
}

func (l *lineWriter) draw(b *bytes.Buffer) {
	if l.open || len(l.status) == 0 {
		return
	}
	b.WriteString(strings.Join(l.status, "\n"))
	l.shown = len(l.status)
}

// Times of the display.
const (
	redrawEvery = 250 * time.Millisecond
	rateWindow  = 5 * time.Second
)

// watchProgress shows the progress of a run until stop is called: in place on
// a terminal, else as a line every cycle.progress_interval.
func watchProgress(out *lineWriter, cfg *config.Config, get func() cycle.Progress) (stop func()) {
	every, window := redrawEvery, rateWindow
	if !out.terminal {
		every = 10 * time.Second
		if d, err := setting.ParseDuration(cfg.String("cycle.progress_interval")); err == nil {
			every = d
		}
		window = every
	}
	start := time.Now()
	m := newMeter(window)
	begun := get()
	m.rate(start, begun.Report.Fetched, begun.Report.Bytes)
	show := func(now time.Time) {
		p := get()
		r := m.rate(now, p.Report.Fetched, p.Report.Bytes)
		if out.terminal {
			out.show(progressLines(&p, r, now.Sub(start), out.columns()-1)...)
		} else {
			_, _ = fmt.Fprintln(out, progressLine(&p, r, now.Sub(start))) // as for a log line
		}
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case now := <-t.C:
				show(now)
			case <-done:
				return
			}
		}
	})
	var once sync.Once
	return func() {
		once.Do(func() {
			close(done)
			wg.Wait()
			out.clear()
		})
	}
}

// counting shows how far long work on many things of one kind is: in place on a terminal,
// until out.clear, else as a line of the log every ten seconds. share, from 0 to 1, is
// about how much of all of it is done; with 0 nobody knows. It is for one goroutine.
func counting(log hclog.Logger, out *lineWriter, work, what string) func(done int64, share float64) {
	every := 10 * time.Second
	if out.terminal {
		every = redrawEvery
	}
	start := time.Now()
	last := start
	return func(n int64, share float64) {
		now := time.Now()
		if now.Sub(last) < every {
			return
		}
		last = now
		left, known := timeLeft(now.Sub(start), share)
		if out.terminal {
			line := fmt.Sprintf("%s: %s %s", work, number(n), what)
			if known {
				line += fmt.Sprintf(" (%.0f %%), done in about %s", 100*share, span(left)) //nolint:mnd // per cent
			}
			out.show(cut(line, out.columns()-1))
			return
		}
		args := []any{what, n}
		if known {
			args = append(args, "percent", int(100*share), "left", span(left)) //nolint:mnd // as above
		}
		log.Info(work, args...)
	}
}

// timeLeft guesses how long work goes on of which a share took so long.
func timeLeft(took time.Duration, share float64) (time.Duration, bool) {
	if share <= 0.001 || share > 1 {
		return 0, false
	}
	return time.Duration(float64(took) * (1 - share) / share), true
}

// counting is counting for a command that has the crawl open.
func (s *session) counting(work, what string) func(done int64, share float64) {
	return counting(s.log, s.out, work, what)
}

// countingOf is counting for work on total things.
func (s *session) countingOf(work, what string, total int64) func(done int64) {
	told := s.counting(work, what)
	return func(n int64) { told(n, min(float64(n)/float64(max(total, 1)), 1)) }
}

// ofRecords is countingOf for work on all records of the CrawlDB.
func (s *session) ofRecords(ctx context.Context, work string) func(done int64) {
	st, err := s.crawl.DB.Stats(ctx)
	if err != nil {
		s.log.Debug("the CrawlDB's totals can't be read; nobody knows how long it takes", "error", err)
	}
	return s.countingOf(work, "records", st.Total)
}

// rate is how fast things go.
type rate struct{ pages, bytes float64 } // per second

// meter finds the rate over the last window.
type meter struct {
	window  time.Duration
	samples []sample
}

type sample struct {
	at           time.Time
	pages, bytes int64
}

func newMeter(window time.Duration) *meter { return &meter{window: window} }

// rate notes the counts at a time and returns the rate since the newest sample
// that is at least a window old, or the oldest.
func (m *meter) rate(now time.Time, pages, bytes int64) rate {
	m.samples = append(m.samples, sample{now, pages, bytes})
	for len(m.samples) > 2 && now.Sub(m.samples[1].at) >= m.window {
		m.samples = m.samples[1:]
	}
	first := m.samples[0]
	s := now.Sub(first.at).Seconds()
	if s <= 0 {
		return rate{}
	}
	return rate{float64(pages-first.pages) / s, float64(bytes-first.bytes) / s}
}

// progressLines are the two lines of a terminal that is width columns wide.
func progressLines(p *cycle.Progress, r rate, elapsed time.Duration, width int) []string {
	rep := &p.Report
	first := []string{roundStep(p), plural(rep.Fetched, "page"), perSecond(r.pages), size(int64(r.bytes)) + "/s", clock(elapsed)}
	if eta, ok := roundETA(p, r); ok {
		first = append(first, "round done in about "+span(eta))
	}
	second := []string{"  queue " + number(p.Queued), hostsText(p), fmt.Sprintf("%d in flight", p.InFlight)}
	if p.Queued == 0 && p.InFlight == 0 {
		second = []string{"  queue empty"}
	}
	if n := total(rep.Failures); n > 0 {
		second = append(second, fmt.Sprintf("failed %s (%s)", number(n), counts(rep.Failures, 3)))
	}
	if rep.New > 0 {
		second = append(second, "new "+number(rep.New))
	}
	if rep.Indexed > 0 {
		second = append(second, "indexed "+number(rep.Indexed))
	}
	return []string{fit(first, "  ", width), fit(second, "  ", width)}
}

// progressLine is a line of a log.
func progressLine(p *cycle.Progress, r rate, elapsed time.Duration) string {
	rep := &p.Report
	parts := []string{
		roundStep(p) + ": " + plural(rep.Fetched, "page"), perSecond(r.pages), size(int64(r.bytes)) + "/s",
		"queue " + number(p.Queued), hostsText(p), fmt.Sprintf("%d in flight", p.InFlight),
	}
	if n := total(rep.Failures); n > 0 {
		parts = append(parts, fmt.Sprintf("failed %s (%s)", number(n), counts(rep.Failures, 3)))
	}
	parts = append(parts, "new "+number(rep.New), "indexed "+number(rep.Indexed), "elapsed "+clock(elapsed))
	return strings.Join(parts, ", ")
}

func roundStep(p *cycle.Progress) string {
	step := p.Step
	if p.Indexing > 0 {
		step += fmt.Sprintf(" (%s so far)", plural(p.Indexing, "page"))
	}
	if p.Round == 0 {
		return step
	}
	return fmt.Sprintf("round %d %s", p.Round, step)
}

func hostsText(p *cycle.Progress) string {
	s := plural(int64(p.Hosts), "host")
	if p.HostsHeld > 0 {
		s += fmt.Sprintf(" (%s held)", number(p.HostsHeld))
	}
	return s
}

// roundETA guesses when what is queued will have been fetched.
func roundETA(p *cycle.Progress, r rate) (time.Duration, bool) {
	left := p.Queued + p.InFlight
	if left == 0 || r.pages < 0.1 || p.Step != "fetch" {
		return 0, false
	}
	s := min(float64(left)/r.pages, 1e9)
	return time.Duration(s) * time.Second, true
}

// fit joins the parts that width columns hold, in order; one that is too long
// goes without what it has in brackets, or is left out. The first is cut if need
// be.
func fit(parts []string, sep string, width int) string {
	s := cut(parts[0], width)
	room := func(p string) bool { return utf8.RuneCountInString(s+sep+p) <= width }
	for _, p := range parts[1:] {
		if !room(p) {
			p, _, _ = strings.Cut(p, " (")
		}
		if !room(p) {
			break
		}
		s += sep + p
	}
	return s
}
