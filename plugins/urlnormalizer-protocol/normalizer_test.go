package urlnormalizerprotocol_test

import (
	"context"
	"strings"
	"testing"

	protocol "github.com/gonutch/crawler/plugins/urlnormalizer-protocol"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func normalizer(t testing.TB, rules string) *protocol.Normalizer {
	t.Helper()
	n, err := protocol.New(librule.Split("p", rules))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const rules = "# host TAB protocol\nexample.org\thttps\n*.example.com\thttps\nold.example.com\thttp\nhttp.example HTTP\r\nmünchen.example https\n192.0.2.7\thttps\n[2001:db8::1] https\n"

// The cases follow nutch.md 2.3 (urlnormalizer-protocol).
func TestNormalizeURL(t *testing.T) {
	n := normalizer(t, rules)
	for _, c := range []struct{ in, want string }{
		{"http://example.org/", "https://example.org/"},
		{"https://example.org/", "https://example.org/"},
		{"HTTP://Example.org./a?b#c", "https://Example.org./a?b#c"},
		{"http://www.example.org/", "http://www.example.org/"},
		{"http://u:p@example.org/", "https://u:p@example.org/"},
		{"http://example.org", "https://example.org"},
		{"http://example.org:80/", "http://example.org:80/"}, // port given
		{"http://example.org:8080/", "http://example.org:8080/"},
		{"http://example.com/", "https://example.com/"},
		{"http://a.b.example.com/", "https://a.b.example.com/"},
		{"https://old.example.com/", "http://old.example.com/"},
		{"http://old.example.com/", "http://old.example.com/"},
		{"http://x.old.example.com/", "https://x.old.example.com/"},
		{"http://notexample.com/", "http://notexample.com/"},
		{"https://http.example/", "http://http.example/"},
		{"http://xn--mnchen-3ya.example/", "https://xn--mnchen-3ya.example/"},
		{"http://192.0.2.7/", "https://192.0.2.7/"},
		{"http://[2001:DB8::1]/", "https://[2001:DB8::1]/"},
		{"ftp://example.org/", "ftp://example.org/"},
		{"file://example.org/a", "file://example.org/a"},
		{"example.org/", "example.org/"},
		{"http:example.org", "http:example.org"},
		{"http://other/?http://example.org/", "http://other/?http://example.org/"},
		{"", ""},
	} {
		r, err := n.NormalizeURL(t.Context(), urlnormalizer.ScopeDefault, c.in)
		if err != nil || r.URL != c.want || c.want == "" && r.Reason == "" {
			t.Errorf("%q = %+v, %v; want %q", c.in, r, err, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	_, err := protocol.New(librule.Split("p", "a\na https x\na ftp\na/b http\n*. https"))
	for _, want := range []string{"p:1: 1 words", "p:2: 3 words", `p:3: protocol "ftp"`, `p:4: "a/b" is no host name`, "p:5: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, protocol.Plugin(), plugintest.Options{Settings: `{"rules": ["*.example.org https"]}`})
}

// FuzzIdempotent: what was normalized once stays as it is.
func FuzzIdempotent(f *testing.F) {
	f.Add("http://example.org/")
	f.Add("hTTps://a@old.example.com")
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
		_, _ = n.NormalizeURL(context.Background(), urlnormalizer.ScopeOutlink, "http://www.example.com/docs/current/tutorial-window.html?x=1")
	}
}
