// Package setting holds the value types of configuration: durations and sizes
// with units. The core and plugins share them so that a text means the same on
// both sides.
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
type Duration time.Duration

// ParseDuration reads a Duration.
func ParseDuration(s string) (time.Duration, error) {
	t := strings.TrimSpace(s)
	if t == "-1" {
		return -1, nil
	}
	if n, err := strconv.ParseFloat(t, 64); err == nil && n != 0 {
		return 0, fmt.Errorf("duration %q has no unit: write it as \"%ss\", \"%sms\" or with m, h, d, w", s, t, t)
	}
	var total time.Duration
	rest := t
	for {
		i := strings.IndexAny(rest, "dw")
		if i < 0 {
			break
		}
		n, err := strconv.ParseFloat(rest[:i], 64)
		if err != nil {
			return 0, fmt.Errorf("duration %q: want a number and a unit (ms, s, m, h, d, w)", s)
		}
		day := 24 * time.Hour
		if rest[i] == 'w' {
			day *= 7
		}
		if math.Abs(n)*float64(day) > math.MaxInt64/2 {
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
	return total + d, nil
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

// String writes d with its greatest fitting units, days included.
func (d Duration) String() string {
	v := time.Duration(d)
	if v == -1 {
		return "-1"
	}
	const day = 24 * time.Hour
	if v != 0 && v%day == 0 {
		return strconv.FormatInt(int64(v/day), 10) + "d"
	}
	return v.String()
}

// D returns d as a time.Duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// Size is a number of bytes written with a unit, such as "64KiB", "10MiB" or
// "1GB"; "-1" means no limit where a setting says so.
type Size int64

// ParseSize reads a Size.
func ParseSize(s string) (int64, error) {
	t := strings.TrimSpace(s)
	if t == "-1" || t == "0" {
		return strconv.ParseInt(t, 10, 64)
	}
	i := len(t)
	for i > 0 && (t[i-1] < '0' || t[i-1] > '9') {
		i--
	}
	unit := strings.TrimSpace(t[i:])
	mult, ok := map[string]float64{
		"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	}[unit]
	if !ok {
		return 0, fmt.Errorf("size %q: want a number and a unit (B, KiB, MiB, GiB, kB, MB, GB)", s)
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(t[:i]), 64)
	if err != nil || n < 0 || n*mult > math.MaxInt64/2 {
		return 0, fmt.Errorf("size %q: want a number and a unit (B, KiB, MiB, GiB, kB, MB, GB)", s)
	}
	return int64(n * mult), nil
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
