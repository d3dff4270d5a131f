package urlnormalizerajax_test

import (
	"context"
	"strings"
	"testing"

	ajax "github.com/gonutch/crawler/plugins/urlnormalizer-ajax"

	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func normalize(t testing.TB, scope urlnormalizer.Scope, url string) urlnormalizer.Result {
	t.Helper()
	r, err := ajax.Normalizer{}.NormalizeURL(context.Background(), scope, url)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The cases follow nutch.md 2.3 (urlnormalizer-ajax) and Google's "Making AJAX
// applications crawlable", specification, section on mapping URLs.
func TestNormalizeURL(t *testing.T) {
	const esc = "_escaped_fragment_="
	for _, c := range []struct {
		scope    urlnormalizer.Scope
		in, want string
	}{
		{"default", "http://a/#!x", "http://a/?" + esc + "x"},
		{"default", "http://a/#!", "http://a/?" + esc},
		{"default", "http://a#!x", "http://a?" + esc + "x"},
		{"default", "http://a/p?q=1#!x=y", "http://a/p?q=1&" + esc + "x=y"},
		{"default", "http://a/p?#!x", "http://a/p?" + esc + "x"},
		{"outlink", "https://u@a:81/p#!x", "https://u@a:81/p?" + esc + "x"},
		{"inject", "http://a/#!k=v&l=w", "http://a/?" + esc + "k=v%26l=w"},
		{"fetcher", "http://a/#!a+b c#d%20", "http://a/?" + esc + "a%2Bb%20c%23d%2520"},
		{"crawldb", "http://a/#!ä\xff", "http://a/?" + esc + "%C3%A4%FF"},
		{"default", "http://a/#!/x/?y", "http://a/?" + esc + "/x/?y"},
		{"default", "http://a/#x", "http://a/#x"},
		{"default", "http://a/#", "http://a/#"},
		{"default", "http://a/#x#!y", "http://a/#x#!y"},
		{"default", "http://a/?#x", "http://a/?#x"},
		{"default", "http://a/!x", "http://a/!x"},
		{"default", "http://a/?" + esc + "x", "http://a/?" + esc + "x"},
		{"default", "ftp://a/#!x", "ftp://a/#!x"},
		{"default", "a/#!x", "a/#!x"},
		{"default", "", ""},
		{"indexer", "http://a/?" + esc + "x", "http://a/#!x"},
		{"indexer", "http://a/?" + esc, "http://a/#!"},
		{"indexer", "http://a/p?q=1&" + esc + "x=y", "http://a/p?q=1#!x=y"},
		{"indexer", "http://a/p?" + esc + "x&q=1", "http://a/p?q=1#!x"},
		{"indexer", "http://a/?" + esc + "k=v%26l=w%2bx", "http://a/#!k=v&l=w+x"},
		{"indexer", "http://a/?" + esc + "%zz%2", "http://a/#!%zz%2"},
		{"indexer", "http://a/?" + esc + "x#top", "http://a/?" + esc + "x#top"},
		{"indexer", "http://a/?" + esc + "x&" + esc + "y", "http://a/?" + esc + "x&" + esc + "y"},
		{"indexer", "http://a/?x" + esc + "y", "http://a/?x" + esc + "y"},
		{"indexer", "http://a/#!x", "http://a/#!x"},
		{"indexer", "http://a/?q", "http://a/?q"},
		{"indexer", "ftp://a/?" + esc + "x", "ftp://a/?" + esc + "x"},
		{"indexer", "", ""},
	} {
		if r := normalize(t, c.scope, c.in); r.URL != c.want || c.want == "" && r.Reason == "" {
			t.Errorf("%s: %q = %+v; want %q", c.scope, c.in, r, c.want)
		}
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, ajax.Plugin(), plugintest.Options{URLs: []string{"http://a/#!x&y", "http://a/?_escaped_fragment_=x"}})
}

// FuzzIdempotent: what was normalized once stays as it is, in either direction.
func FuzzIdempotent(f *testing.F) {
	f.Add("http://a/?b#!c&%d")
	f.Add("http://a/?_escaped_fragment_=b&_escaped_fragment_=c")
	f.Fuzz(func(t *testing.T, url string) {
		for _, scope := range []urlnormalizer.Scope{urlnormalizer.ScopeDefault, urlnormalizer.ScopeIndexer} {
			once := normalize(t, scope, url)
			if once.URL == "" {
				continue
			}
			if twice := normalize(t, scope, once.URL); twice.URL != once.URL {
				t.Errorf("%s: %q → %q → %q", scope, url, once.URL, twice.URL)
			}
		}
	})
}

// FuzzInverse: in scope indexer people get back the URL that the page has.
func FuzzInverse(f *testing.F) {
	f.Add("k=v&l=+%20#ä")
	f.Fuzz(func(t *testing.T, state string) {
		url := "http://a/p?q#!" + state
		if strings.Contains(url, "_escaped_fragment_") {
			return
		}
		there := normalize(t, urlnormalizer.ScopeOutlink, url)
		if back := normalize(t, urlnormalizer.ScopeIndexer, there.URL); back.URL != url {
			t.Errorf("%q → %q → %q", url, there.URL, back.URL)
		}
	})
}

func BenchmarkHashBang(b *testing.B) {
	for b.Loop() {
		normalize(b, urlnormalizer.ScopeOutlink, "https://www.example.org/docs/current#!tutorial-window&x=1")
	}
}

func BenchmarkPlain(b *testing.B) {
	for b.Loop() {
		normalize(b, urlnormalizer.ScopeOutlink, "https://www.example.org/docs/current/tutorial-window.html?x=1")
	}
}
