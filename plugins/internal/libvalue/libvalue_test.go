package libvalue_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libvalue"
)

func TestNumber(t *testing.T) {
	for _, c := range []struct{ in, decimal, want string }{
		{"42", "", "42"},
		{"$1,299.00", "", "1299"},
		{"1.299,50 €", "", "1299.5"},
		{"1 299,50 zł", "", "1299.5"},
		{"CHF 1'299.5", "", "1299.5"},
		{"1\u00a0234\u00a0567", "", "1234567"},
		{"1.234.567", "", "1234567"},
		{"1.299", "", "1299"},
		{"1.299", ".", "1.299"},
		{"1,299", ",", "1.299"},
		{"0.299", "", "0.299"},
		{"12.5 kg", "", "12.5"},
		{"4,7 of 5", "", "4.7"},
		{"-3.20", "", "-3.2"},
		{"\u22123", "", "-3"},
		{"model X-3", "", "3"},
		{".5", "", "0.5"},
		{"No. 5", "", "5"},
		{"007", "", "7"},
		{"-0", "", "0"},
		{"3 comments", "", "3"},
		{"1 5000", "", "1"},
		{"price on request", "", ""},
		{"", "", ""},
		{"1.", "", "1"},
		{"1..2", "", "1"},
	} {
		got, ok := libvalue.Number(c.in, c.decimal)
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%q: got %q, %t; want %q", c.in, got, ok, c.want)
		}
	}
}

func TestDate(t *testing.T) {
	for _, c := range []struct {
		in   string
		d    libvalue.Dates
		want string
	}{
		{in: "2026-03-04", want: "2026-03-04T00:00:00Z"},
		{in: "2026-03-04T05:06:07+02:00", want: "2026-03-04T03:06:07Z"},
		{in: "Sun, 06 Nov 1994 08:49:37 GMT", want: "1994-11-06T08:49:37Z"},
		{in: " March 4,\n 2026 ", want: "2026-03-04T00:00:00Z"},
		{in: "4 March 2026", want: "2026-03-04T00:00:00Z"},
		{in: "03/04/2026", want: "2026-03-04T00:00:00Z"},
		{in: "03/04/2026", d: libvalue.Dates{DayFirst: true}, want: "2026-04-03T00:00:00Z"},
		{in: "13/04/2026", want: "2026-04-13T00:00:00Z"},
		{in: "04.03.2026", d: libvalue.Dates{DayFirst: true}, want: "2026-03-04T00:00:00Z"},
		{in: "20260304", d: libvalue.Dates{Layouts: []string{"20060102"}}, want: "2026-03-04T00:00:00Z"},
		{in: "1299"},
		{in: "12.99"},
		{in: "yesterday"},
		{in: ""},
		{in: "2026-13-45"},
	} {
		got, ok := c.d.Date(c.in)
		if ok != (c.want != "") || ok && got.Format(time.RFC3339) != c.want {
			t.Errorf("%q: got %v, %t; want %q", c.in, got, ok, c.want)
		}
	}
}

func FuzzValues(f *testing.F) {
	for _, s := range []string{"1.299,50 €", "2026-03-04T05:06:07Z", "\xff-", "٣", "- .5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, ok := libvalue.Number(s, ""); ok {
			if _, err := strconv.ParseFloat(n, 64); err != nil {
				t.Errorf("%q: %q is no number", s, n)
			}
			if again, ok := libvalue.Number(n, "."); !ok || again != n {
				t.Errorf("%q: %q reads back as %q", s, n, again)
			}
		}
		if d, ok := (libvalue.Dates{}).Date(s); ok && (d.Year() < 1 || d.Year() > 9999) {
			t.Errorf("%q: %v", s, d)
		}
	})
}
