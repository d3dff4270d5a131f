package setting

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

const day = 24 * time.Hour

func TestParseDuration(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want time.Duration
		err  string // "" for none
	}{
		{"5s", 5 * time.Second, ""},
		{"500ms", 500 * time.Millisecond, ""},
		{"1.5s", 1500 * time.Millisecond, ""},
		{"1h30m", 90 * time.Minute, ""},
		{"30d", 30 * day, ""},
		{"2w", 14 * day, ""},
		{"1w2d3h4m5s", 9*day + 3*time.Hour + 4*time.Minute + 5*time.Second, ""},
		{"0.5d", 12 * time.Hour, ""},
		{"-1", -1, ""},
		{" 5s ", 5 * time.Second, ""},
		{"0", 0, ""},
		{"0s", 0, ""},
		{"5", 0, `write it as "5s"`},
		{"5.0", 0, `write it as "5.0s"`},
		{"-5", 0, "no unit"},
		{"", 0, "want a number and a unit"},
		{"s", 0, "want a number and a unit"},
		{"d", 0, "want a number and a unit"},
		{"5 s", 0, "want a number and a unit"},
		{"5S", 0, "want a number and a unit"},
		{"5 seconds", 0, "want a number and a unit"},
		{"5d5", 0, "want a number and a unit"},
		{"-5s", 0, "negative"},
		{"-1d", 0, "negative"},
		{"1d-2h", 0, "negative"},
		{"NaNd", 0, "want a number and a unit"},
		{"NaN", 0, "want a number and a unit"},
		{"infd", 0, "want a number and a unit"},
		{"inf", 0, "want a number and a unit"},
		{"0x10d", 0, "want a number and a unit"},
		{"1e3d", 0, "want a number and a unit"},
		{"200000d", 0, "too long"},
		{strings.Repeat("100000d", 3), 0, "too long"},
		{"99999999999999h", 0, "want a number and a unit"},
	} {
		got, err := ParseDuration(tc.in)
		if tc.err == "" && (err != nil || got != tc.want) {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", tc.in, got, err, tc.want)
		}
		if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("ParseDuration(%q) = %v, %v; want an error with %q", tc.in, got, err, tc.err)
		}
	}
}

func TestParseSize(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want int64
		err  string
	}{
		{"64KiB", 64 << 10, ""},
		{"10MiB", 10 << 20, ""},
		{"1GiB", 1 << 30, ""},
		{"2TiB", 2 << 40, ""},
		{"1kB", 1000, ""},
		{"1KB", 1000, ""},
		{"1MB", 1e6, ""},
		{"1.5GB", 1.5e9, ""},
		{"10 MiB", 10 << 20, ""},
		{"512B", 512, ""},
		{"0", 0, ""},
		{"0B", 0, ""},
		{"-1", -1, ""},
		{"5", 0, "want a number and a unit"},
		{"", 0, "want a number and a unit"},
		{"MiB", 0, "want a number and a unit"},
		{"-2", 0, "want a number and a unit"},
		{"-5MiB", 0, "want a number and a unit"},
		{"10 megs", 0, "want a number and a unit"},
		{"10mib", 0, "want a number and a unit"},
		{"NaNB", 0, "want a number and a unit"},
		{"1e3B", 0, "want a number and a unit"},
		{"0x10B", 0, "want a number and a unit"},
		{"99999999999TiB", 0, "too large"},
	} {
		got, err := ParseSize(tc.in)
		if tc.err == "" && (err != nil || got != tc.want) {
			t.Errorf("ParseSize(%q) = %v, %v; want %v", tc.in, got, err, tc.want)
		}
		if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("ParseSize(%q) = %v, %v; want an error with %q", tc.in, got, err, tc.err)
		}
	}
}

func TestText(t *testing.T) {
	for _, tc := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0s"},
		{-1, "-1"},
		{30 * day, "30d"},
		{25 * time.Hour, "25h"},
		{90 * time.Minute, "1h30m"},
		{time.Minute, "1m"},
		{5 * time.Second, "5s"},
		{250 * time.Millisecond, "250ms"},
		{time.Hour + time.Second, "1h0m1s"},
	} {
		if got := Duration(tc.d).String(); got != tc.want {
			t.Errorf("Duration(%d).String() = %q, want %q", tc.d, got, tc.want)
		}
	}
	for _, tc := range []struct {
		z    int64
		want string
	}{
		{-1, "-1"},
		{0, "0"},
		{1, "1B"},
		{1000, "1000B"},
		{1 << 10, "1KiB"},
		{10 << 20, "10MiB"},
		{1 << 30, "1GiB"},
		{1025, "1025B"},
		{3 << 40, "3TiB"},
	} {
		if got := Size(tc.z).String(); got != tc.want {
			t.Errorf("Size(%d).String() = %q, want %q", tc.z, got, tc.want)
		}
	}
}

func TestJSON(t *testing.T) {
	type settings struct {
		Delay Duration `json:"delay"`
		Limit Size     `json:"limit"`
	}
	var s settings
	if err := json.Unmarshal([]byte(`{"delay":"1m30s","limit":"64KiB"}`), &s); err != nil {
		t.Fatal(err)
	}
	if s.Delay.D() != 90*time.Second || s.Limit != 64<<10 {
		t.Errorf("got %+v", s)
	}
	out, err := json.Marshal(s)
	if err != nil || string(out) != `{"delay":"1m30s","limit":"64KiB"}` {
		t.Errorf("Marshal = %s, %v", out, err)
	}
	for _, bad := range []string{`{"delay":5}`, `{"delay":"5"}`, `{"limit":1024}`, `{"limit":"1024"}`} {
		if err := json.Unmarshal([]byte(bad), &settings{}); err == nil {
			t.Errorf("Unmarshal(%s) went through", bad)
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"5s", "30d", "1w2d3h", "-1", "0", "1h30m0s", "NaNd", "1e300w", "µs", "1d-1h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err != nil {
			return
		}
		if d < -1 {
			t.Fatalf("ParseDuration(%q) = %d", s, d)
		}
		again, err := ParseDuration(Duration(d).String())
		if err != nil || again != d {
			t.Fatalf("ParseDuration(%q) = %v, written %q, read back %v, %v", s, d, Duration(d), again, err)
		}
	})
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"64KiB", "1.5GB", "-1", "0", "1B", "NaNB", "1e300TiB", "0x1p4B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		z, err := ParseSize(s)
		if err != nil {
			return
		}
		if z < -1 || z > math.MaxInt64/2 {
			t.Fatalf("ParseSize(%q) = %d", s, z)
		}
		again, err := ParseSize(Size(z).String())
		if err != nil || again != z {
			t.Fatalf("ParseSize(%q) = %d, written %q, read back %d, %v", s, z, Size(z), again, err)
		}
	})
}
