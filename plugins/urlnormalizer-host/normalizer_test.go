package urlnormalizerhost_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	host "github.com/gonutch/crawler/plugins/urlnormalizer-host"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func normalizer(t testing.TB, rules string) *host.Normalizer {
	t.Helper()
	n, err := host.New(librule.Split("h", rules))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const rules = "# host target\nwww.apache.example apache.example\n*.example.org www.example.org\ndocs.example.org\tdocs.example.net\n" +
	"*.deep.example.org   deep.example.com\r\nm\u00fcnchen.example munich.example\n192.0.2.7 [2001:db8::7]\na b\nb c\n"

// The cases follow nutch.md 2.3 (urlnormalizer-host) and 12 (a tab as separator
// broke the whole file).
func TestNormalizeURL(t *testing.T) {
	n := normalizer(t, rules)
	for _, c := range []struct{ in, want string }{
		{"http://www.apache.example/", "http://apache.example/"},
		{"http://apache.example/", "http://apache.example/"},
		{"http://WWW.Apache.example./a", "http://apache.example/a"},
		{"https://u:p@www.apache.example:8443/a/b?c=d#e", "https://u:p@apache.example:8443/a/b?c=d#e"},
		{"http://www.apache.example?q", "http://apache.example?q"},
		{"http://www.apache.example", "http://apache.example"},
		{"http://example.org/", "http://www.example.org/"},
		{"http://x.y.example.org/", "http://www.example.org/"},
		{"http://www.example.org/", "http://www.example.org/"},
		{"http://WWW.example.org/", "http://WWW.example.org/"},
		{"http://docs.example.org/a", "http://docs.example.net/a"}, // exact wins; tab
		{"http://x.docs.example.org/a", "http://www.example.org/a"},
		{"http://a.deep.example.org/", "http://deep.example.com/"},
		{"http://deep.example.org/", "http://deep.example.com/"},
		{"http://notexample.org/", "http://notexample.org/"},
		{"http://example.org.other/", "http://example.org.other/"},
		{"http://other/?u=http://www.apache.example/", "http://other/?u=http://www.apache.example/"},
		{"http://www.apache.example@other/", "http://www.apache.example@other/"},
		{"http://xn--mnchen-3ya.example/", "http://munich.example/"},
		{"http://192.0.2.7:81/", "http://[2001:db8::7]:81/"},
		{"http://a/", "http://c/"},
		{"http://b/", "http://c/"},
		{"mailto:x@www.apache.example", "mailto:x@www.apache.example"},
		{"www.apache.example/", "www.apache.example/"},
		{"file:///a", "file:///a"},
		{"", ""},
		{"http://\xff/", "http://\xff/"},
	} {
		r, err := n.NormalizeURL(t.Context(), urlnormalizer.ScopeDefault, c.in)
		if err != nil || r.URL != c.want || (c.want == "") != (r.URL == "" && r.Reason != "") {
			t.Errorf("%q = %+v, %v; want %q", c.in, r, err, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ rules, want string }{
		{rules + "*.self.example *.self.example2", "h:10: \"*.self.example2\" is no host name"},
		{"a\nb c d", "h:1: 1 words"},
		{"a\nb c d", "h:2: 3 words"},
		{"http://a/ b", `h:1: "http://a/" is no host name`},
		{"a b:80", `h:1: "b:80" is no host name`},
		{"a b\nb c\nc a", "h:1: the rules lead in a circle: b → c → a"},
		{"*.x a.x\na.x y.x", "circle"},
	} {
		if _, err := host.New(librule.Split("h", c.rules)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.rules, err, c.want)
		}
	}
}

// TestInstancesAreIndependent: in Nutch the first configuration of a process
// wins (nutch.md 2.3).
func TestInstancesAreIndependent(t *testing.T) {
	one, two := normalizer(t, "a one"), normalizer(t, "a two")
	for n, want := range map[*host.Normalizer]string{one: "http://one/", two: "http://two/"} {
		if r, _ := n.NormalizeURL(t.Context(), urlnormalizer.ScopeDefault, "http://a/"); r.URL != want {
			t.Errorf("got %q, want %q", r.URL, want)
		}
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, host.Plugin(), plugintest.Options{Settings: `{"rules": ["*.example.org www.example.org", "192.0.2.7\texample.net"]}`})
}

// FuzzIdempotent: whatever the rules, what was normalized once stays as it is.
func FuzzIdempotent(f *testing.F) {
	f.Add("a b\nb c", "http://a/")
	f.Add("*.x y.x\nz q.x", "HTTP://z:80/?#")
	f.Fuzz(func(t *testing.T, text, url string) {
		n, err := host.New(librule.Split("f", text))
		if err != nil {
			return
		}
		once, err := n.NormalizeURL(context.Background(), urlnormalizer.ScopeDefault, url)
		if err != nil || once.URL == "" {
			return
		}
		twice, err := n.NormalizeURL(context.Background(), urlnormalizer.ScopeDefault, once.URL)
		if err != nil || twice.URL != once.URL {
			t.Errorf("%q: %q → %q → %q, %v", text, url, once.URL, twice.URL, err)
		}
	})
}

func BenchmarkThousandHosts(b *testing.B) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "*.d%d.example d%d.example\nh%d.example g%d.example\n", i, i, i, i)
	}
	n := normalizer(b, text.String())
	for b.Loop() {
		_, _ = n.NormalizeURL(context.Background(), urlnormalizer.ScopeOutlink, "https://www.d77.example/docs/current/tutorial-window.html?x=1")
	}
}
