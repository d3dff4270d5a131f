// Package setting holds the value types of configuration: durations and sizes
// with units. The core and plugins share them so that a text means the same on
// both sides. It must not know where texts come from.
package setting

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a time span written with units, such as "5s", "1h30m" or "30d".
// "d" is 24 hours and "w" seven days; "-1" means off where a setting says so.
// No other Duration is negative.
type Duration time.Duration

// ParseDuration reads a Duration. The number -1 stands for off; it is one
// nanosecond below zero and is compared, never waited for.
func ParseDuration(s string) (time.Duration, error) {
	t := strings.TrimSpace(s)
	if t == "-1" {
		return -1, nil
	}
	if n, ok := decimal(t); ok && n != 0 {
		return 0, fmt.Errorf("duration %q has no unit: write it as \"%ss\", \"%sms\" or with m, h, d, w", s, t, t)
	}
	if strings.Contains(t, "-") {
		return 0, fmt.Errorf("duration %q is negative", s)
	}
	var total time.Duration
	rest := t
	for {
		i := strings.IndexAny(rest, "dw")
		if i < 0 {
			break
		}
		n, ok := decimal(rest[:i])
		if !ok {
			return 0, fmt.Errorf("duration %q: want a number and a unit (ms, s, m, h, d, w)", s)
		}
		day := 24 * time.Hour
		if rest[i] == 'w' {
			day *= 7
		}
		if float64(total)+n*float64(day) > math.MaxInt64/2 {
			return 0, fmt.Errorf("duration %q is too long", s)
		}
		total += time.Duration(n * float64(day))
		rest = rest[i+1:]
	}
	if rest == "" && t != "" {
		return total, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil {
		return 0, fmt.Errorf("duration %q: want a number and a unit (ms, s, m, h, d, w)", s)
	}
	if d > math.MaxInt64/2-total {
		return 0, fmt.Errorf("duration %q is too long", s)
	}
	return total + d, nil
}

// decimal reads digits with an optional sign and fraction; strconv alone would
// take "NaN", "inf", "0x1p4" and "1e3" too.
func decimal(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "+-.0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := ParseDuration(string(b))
	if err != nil {
		return err
	}
	*d = Duration(v)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String writes d so that ParseDuration reads it back: whole days as "30d",
// else as Go does without zero minutes and seconds at the end.
func (d Duration) String() string {
	v := time.Duration(d)
	if v == -1 {
		return "-1"
	}
	const day = 24 * time.Hour
	if v != 0 && v%day == 0 {
		return strconv.FormatInt(int64(v/day), 10) + "d"
	}
	s := v.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// D returns d as a time.Duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// Size is a number of bytes written with a unit, such as "64KiB", "10MiB" or
// "1GB"; "-1" means no limit where a setting says so.
type Size int64

// ParseSize reads a Size. "0" needs no unit.
func ParseSize(s string) (int64, error) {
	t := strings.TrimSpace(s)
	if t == "-1" || t == "0" {
		return strconv.ParseInt(t, 10, 64)
	}
	i := len(t)
	for i > 0 && (t[i-1] < '0' || t[i-1] > '9') {
		i--
	}
	mult, ok := sizeUnit(strings.TrimSpace(t[i:]))
	n, isNumber := decimal(strings.TrimSpace(t[:i]))
	if !ok || !isNumber || n < 0 {
		return 0, fmt.Errorf("size %q: want a number and a unit (B, KiB, MiB, GiB, kB, MB, GB)", s)
	}
	if n*mult > math.MaxInt64/2 {
		return 0, fmt.Errorf("size %q is too large", s)
	}
	return int64(n * mult), nil
}

func sizeUnit(unit string) (float64, bool) {
	switch unit {
	case "B":
		return 1, true
	case "kB", "KB":
		return 1e3, true
	case "MB":
		return 1e6, true
	case "GB":
		return 1e9, true
	case "TB":
		return 1e12, true
	case "KiB":
		return 1 << 10, true
	case "MiB":
		return 1 << 20, true
	case "GiB":
		return 1 << 30, true
	case "TiB":
		return 1 << 40, true
	}
	return 0, false
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (z *Size) UnmarshalText(b []byte) error {
	v, err := ParseSize(string(b))
	if err != nil {
		return err
	}
	*z = Size(v)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (z Size) MarshalText() ([]byte, error) { return []byte(z.String()), nil }

// String writes z with the greatest binary unit that divides it.
func (z Size) String() string {
	v := int64(z)
	if v <= 0 {
		return strconv.FormatInt(v, 10)
	}
	for i, u := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if m := int64(1) << (40 - 10*i); v%m == 0 {
			return strconv.FormatInt(v/m, 10) + u
		}
	}
	return strconv.FormatInt(v, 10) + "B"
}
