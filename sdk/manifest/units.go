package manifest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gonutch/crawler/sdk/setting"
)

// noUnit explains the bare number n, written as shown, and how it was most
// likely meant.
func (s *Setting) noUnit(shown string, n float64) error {
	t := strconv.FormatFloat(n, 'f', -1, 64)
	switch {
	case n < 0 && !s.Off:
		return fmt.Errorf("%s is negative: want %q or more", shown, s.atLeast())
	case n < -1:
		return fmt.Errorf("%s is negative: for no limit write \"-1\"", shown)
	case n == 0 || n == -1:
		return fmt.Errorf("%s must stand in quotes: write %q", shown, t)
	}
	if out := s.fromNutch(t); out != t {
		return fmt.Errorf("%s has no unit; write %q (Nutch counts this in %s)", shown, out, nutchUnitName(s.NutchUnit))
	}
	if s.Type == Size {
		return fmt.Errorf("%s has no unit; write %q, %q or %q", shown, t+"B", t+"KiB", t+"MiB")
	}
	return fmt.Errorf("%s has no unit; write %q, %q or %q", shown, t+"ms", t+"s", t+"m")
}

func nutchUnitName(u string) string {
	names := map[string]string{"s": "seconds", "ms": "milliseconds", "min": "minutes", "h": "hours", "d": "days"}
	if n, ok := names[u]; ok {
		return n
	}
	return u
}

// fromNutch rewrites a value in Nutch's spelling; what it does not know stays.
func (s *Setting) fromNutch(text string) string {
	t := strings.TrimSpace(text)
	switch s.Type {
	case Duration:
		n, err := strconv.ParseFloat(t, 64)
		unit := map[string]time.Duration{
			"s": time.Second, "ms": time.Millisecond, "min": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
		}[s.NutchUnit]
		if err != nil || unit == 0 || math.IsNaN(n) || math.Abs(n)*float64(unit) > math.MaxInt64/2 {
			return text
		}
		if n < 0 {
			return "-1"
		}
		return setting.Duration(n * float64(unit)).String()
	case Size:
		n, err := strconv.ParseInt(t, 10, 64)
		switch {
		case err != nil || s.NutchUnit != "bytes" && s.NutchUnit != "kbit/s":
			return text
		case s.NutchUnit == "kbit/s" && n > 0 && n < math.MaxInt64/1000:
			n = max(n*1000/8, 1)
		}
		return setting.Size(max(n, -1)).String()
	case String:
		last := t[strings.LastIndexByte(t, '.')+1:]
		for _, pair := range strings.Split(s.NutchUnit, ",") {
			if k, v, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && k == last {
				return v
			}
		}
	}
	return text
}
