package cli

import (
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{number(0), "0"},
		{number(999), "999"},
		{number(1000), "1,000"},
		{number(-1234567), "-1,234,567"},
		{number(int64(-100)), "-100"},
		{size(0), "0 B"},
		{size(1023), "1023 B"},
		{size(1024), "1.0 KiB"},
		{size(1536), "1.5 KiB"},
		{size(1<<20 - 1), "1.0 MiB"},
		{size(5 << 30), "5.0 GiB"},
		{size(1<<63 - 1), "8.0 EiB"},
		{perSecond(0), "0.0/s"},
		{perSecond(9.94), "9.9/s"},
		{perSecond(9.96), "10/s"},
		{perSecond(1234.5), "1,235/s"},
		{clock(0), "0:00:00"},
		{clock(-time.Second), "0:00:00"},
		{clock(59*time.Minute + 59500*time.Millisecond), "1:00:00"},
		{clock(100 * time.Hour), "100:00:00"},
		{span(0), "0s"},
		{span(12345 * time.Microsecond), "12ms"},
		{span(1234 * time.Millisecond), "1.2s"},
		{span(59990 * time.Millisecond), "1m"},
		{span(61 * time.Second), "1m 1s"},
		{span(3599700 * time.Millisecond), "1h"},
		{span(2*time.Hour + 30*time.Minute), "2h 30m"},
		{span(30*24*time.Hour - time.Second), "30d"},
		{span(49 * time.Hour), "2d 1h"},
		{plural(1, "page"), "1 page"},
		{plural(0, "page"), "0 pages"},
		{plural(1200, "page"), "1,200 pages"},
		{cut("short", 5), "short"},
		{cut("größer", 4), "grö…"},
		{cut("x", 0), "…"},
		{moment(time.Time{}), "?"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestDue(t *testing.T) {
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{now, "now"}, {now.Add(-time.Hour), "now"}, {now.Add(90 * time.Minute), "in 1h 30m (2024-05-01 13:30:00 UTC)"},
	} {
		if got := due(c.at, now); got != c.want {
			t.Errorf("due %v: %q, want %q", c.at, got, c.want)
		}
	}
}

func TestCounts(t *testing.T) {
	m := map[string]int64{"http_404": 20, "network": 1000, "http_410": 20, "none": 0, "gone": 3}
	for limit, want := range map[int]string{
		10: "network 1,000, http_404 20, http_410 20, gone 3",
		3:  "network 1,000, http_404 20, http_410 20, gone 3", // "1 other" is no shorter
		2:  "network 1,000, http_404 20, 2 others 23",
		1:  "network 1,000, 3 others 43",
	} {
		if got := counts(m, limit); got != want {
			t.Errorf("limit %d: %q, want %q", limit, got, want)
		}
	}
	if got := counts(nil, 3); got != "" {
		t.Errorf("no counts: %q", got)
	}
}

// TestPrintable: what a page's author wrote must not steer the terminal.
func TestPrintable(t *testing.T) {
	if got := printable("a\x1b[31mb\x07\r\nc\td\u202ee\x80f \u00e9 日"); got != "a[31mb c def é 日" {
		t.Errorf("%q", got)
	}
	if got := printableLines("a\x1bb\nc\n"); got != "ab\nc\n" {
		t.Errorf("%q", got)
	}
}
