package urlnormalizerslash_test

import (
	"context"
	"strings"
	"testing"

	slash "github.com/gonutch/crawler/plugins/urlnormalizer-slash"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func normalizer(t testing.TB, rules string) *slash.Normalizer {
	t.Helper()
	n, err := slash.New(librule.Split("s", rules))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const rules = "# host +|-\nplus.example +\nminus.example\t-\n*.example.org +\nno.example.org -\r\n"

// The cases follow nutch.md 2.3 (urlnormalizer-slash) and 12 (slash normalizer
// loses the port).
func TestNormalizeURL(t *testing.T) {
	n := normalizer(t, rules)
	for _, c := range []struct{ in, want string }{
		{"http://plus.example/a", "http://plus.example/a/"},
		{"http://plus.example/a/", "http://plus.example/a/"},
		{"http://PLUS.example./a", "http://PLUS.example./a/"},
		{"http://plus.example", "http://plus.example/"},
		{"http://plus.example?x=a", "http://plus.example/?x=a"},
		{"http://plus.example/a?x=/y", "http://plus.example/a/?x=/y"},
		{"http://plus.example:8080/a", "http://plus.example:8080/a/"}, // the port stays
		{"https://u:p@plus.example:8443/a?b#c", "https://u:p@plus.example:8443/a/?b#c"},
		{"http://plus.example/a#top", "http://plus.example/a/#top"}, // and the fragment
		{"http://plus.example/a.html", "http://plus.example/a.html"},
		{"http://plus.example/a.js", "http://plus.example/a.js"},
		{"http://plus.example/a.jsonld", "http://plus.example/a.jsonld/"},
		{"http://plus.example/.a", "http://plus.example/.a"},
		{"http://plus.example/v1.2/a", "http://plus.example/v1.2/a/"},
		{"http://minus.example/a/", "http://minus.example/a"},
		{"http://minus.example:81/a/?b#c", "http://minus.example:81/a?b#c"},
		{"http://minus.example/a", "http://minus.example/a"},
		{"http://minus.example/", "http://minus.example/"},
		{"http://minus.example", "http://minus.example"},
		{"http://minus.example/a//", "http://minus.example/a"},
		{"http://minus.example//", "http://minus.example/"},
		{"http://minus.example/?a/", "http://minus.example/?a/"},
		{"http://www.example.org/a", "http://www.example.org/a/"},
		{"http://example.org/a", "http://example.org/a/"},
		{"http://no.example.org/a/", "http://no.example.org/a"},
		{"http://other.example/a", "http://other.example/a"},
		{"http://other.example/a/", "http://other.example/a/"},
		{"plus.example/a", "plus.example/a"},
		{"mailto:x@plus.example", "mailto:x@plus.example"},
		{"", ""},
	} {
		r, err := n.NormalizeURL(t.Context(), urlnormalizer.ScopeDefault, c.in)
		if err != nil || r.URL != c.want || c.want == "" && r.Reason == "" {
			t.Errorf("%q = %+v, %v; want %q", c.in, r, err, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	_, err := slash.New(librule.Split("s", "a\na * \na + -\na/b +\n"))
	for _, want := range []string{"s:1: ", "s:2: ", "s:3: ", `s:4: "a/b" is no host name`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, slash.Plugin(), plugintest.Options{Settings: `{"rules": ["example.org +", "www.example.org -"]}`})
}

// FuzzIdempotent: what was normalized once stays as it is.
func FuzzIdempotent(f *testing.F) {
	f.Add("http://plus.example/a?b")
	f.Add("http://minus.example:1///#")
	n := normalizer(f, rules)
	f.Fuzz(func(t *testing.T, url string) {
		once, err := n.NormalizeURL(context.Background(), urlnormalizer.ScopeDefault, url)
		if err != nil || once.URL == "" {
			return
		}
		twice, err := n.NormalizeURL(context.Background(), urlnormalizer.ScopeDefault, once.URL)
		if err != nil || twice.URL != once.URL {
			t.Errorf("%q → %q → %q, %v", url, once.URL, twice.URL, err)
		}
	})
}

func BenchmarkNormalizeURL(b *testing.B) {
	n := normalizer(b, rules)
	for b.Loop() {
		_, _ = n.NormalizeURL(context.Background(), urlnormalizer.ScopeOutlink, "https://www.example.org/docs/current/tutorial-window?x=1")
	}
}
