package urlnormalizerquerystring_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	querystring "github.com/gonutch/crawler/plugins/urlnormalizer-querystring"

	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func normalize(t testing.TB, url string) urlnormalizer.Result {
	t.Helper()
	r, err := querystring.Normalizer{}.NormalizeURL(context.Background(), urlnormalizer.ScopeDefault, url)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The cases follow nutch.md 2.3 (urlnormalizer-querystring: sorts the & separated
// parameters).
func TestNormalizeURL(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"http://a/?b=1&a=2", "http://a/?a=2&b=1"},
		{"http://a/?a=2&b=1", "http://a/?a=2&b=1"},
		{"http://a/?c&b&a", "http://a/?a&b&c"},
		{"http://a/", "http://a/"},
		{"http://a/?", "http://a/?"},
		{"http://a/?b", "http://a/?b"},
		{"http://a?z=1&y=2", "http://a?y=2&z=1"},
		{"http://a/p/q?z=1&y=2#x&a", "http://a/p/q?y=2&z=1#x&a"},
		{"http://a/#z&a", "http://a/#z&a"},
		{"http://u:p@a:8080/?b&a", "http://u:p@a:8080/?a&b"},
		{"http://a/?a=2&a=1", "http://a/?a=1&a=2"},
		{"http://a/?a=10&a=9", "http://a/?a=10&a=9"}, // texts, not numbers
		{"http://a/?b=1&B=1", "http://a/?B=1&b=1"},
		{"http://a/?b&&a&", "http://a/?a&b"},
		{"http://a/?&", "http://a/?"},
		{"http://a/?b=x?y&a=/z", "http://a/?a=/z&b=x?y"},
		{"http://a/?b=%26&a=%3D", "http://a/?a=%3D&b=%26"},
		{"http://a/?b;a&c", "http://a/?b;a&c"},
		{"http://a/&b&a", "http://a/&b&a"},
		{"http://a/?b=ü&a=\xff", "http://a/?a=\xff&b=ü"},
		{"ftp://a/?b&a", "ftp://a/?a&b"},
		{"mailto:x@a?subject=b&body=c", "mailto:x@a?subject=b&body=c"},
		{"?b&a", "?b&a"},
		{"", ""},
	} {
		if r := normalize(t, c.in); r.URL != c.want || c.want == "" && r.Reason == "" {
			t.Errorf("%q = %+v; want %q", c.in, r, c.want)
		}
	}
}

func TestManyParameters(t *testing.T) {
	var up, down strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&up, "&p%05d", i)
		fmt.Fprintf(&down, "&p%05d", 9999-i)
	}
	if r := normalize(t, "http://a/?"+down.String()[1:]); r.URL != "http://a/?"+up.String()[1:] {
		t.Errorf("got %.60s…", r.URL)
	}
}

func TestConformance(t *testing.T) { plugintest.Run(t, querystring.Plugin(), plugintest.Options{}) }

// FuzzIdempotent: what was normalized once stays as it is.
func FuzzIdempotent(f *testing.F) {
	f.Add("http://a/?b&&a&#c")
	f.Add("http://a/?&")
	f.Fuzz(func(t *testing.T, url string) {
		once := normalize(t, url)
		if once.URL == "" {
			return
		}
		if twice := normalize(t, once.URL); twice.URL != once.URL {
			t.Errorf("%q → %q → %q", url, once.URL, twice.URL)
		}
	})
}

func BenchmarkNormalizeURL(b *testing.B) {
	for b.Loop() {
		normalize(b, "https://www.example.org/docs/current/list.html?x=1&sort=date&page=2")
	}
}
