package urlfilterdomaindenylist_test

import (
	"context"
	"strings"
	"testing"

	deny "github.com/gonutch/crawler/plugins/urlfilter-domaindenylist"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func filter(t testing.TB, rules string) *deny.Filter {
	t.Helper()
	f, err := deny.New(librule.Split("d", rules))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The cases follow nutch.md 2.2 (urlfilter-domaindenylist: reject if found) and
// 6.22.
func TestFilterURL(t *testing.T) {
	f := filter(t, "# names\nexample.org\nwww.Example.COM\nac.uk\nmünchen.example\n192.0.2.7\nads\n")
	for _, c := range []struct {
		url  string
		want bool
	}{
		{"http://example.org/", false},
		{"http://www.example.org/a", false},
		{"http://a.b.EXAMPLE.org:8080/a", false},
		{"http://example.org./", false},
		{"http://other.com/?u=example.org", true},
		{"http://example.org@other.com/", true},
		{"http://notexample.org/", true},
		{"http://www.example.com/", false},
		{"http://example.com/", true},
		{"http://a.www.example.com/", true},
		{"http://www.ox.ac.uk/", false},
		{"http://www.example.co.uk/", true},
		{"http://xn--mnchen-3ya.example/", false},
		{"http://192.0.2.7/", false},
		{"http://192.0.2.70/", true},
		{"http://[2001:db8::1]/", true},
		{"http://ads/x", false},
		{"http://ads.other.com/", true},
		{"file:///etc", true},
		{"http:///a", true},
		{"example.com", false},
		{"", false},
	} {
		if v, err := f.FilterURL(t.Context(), c.url); err != nil || v.Accept != c.want {
			t.Errorf("%q: %+v, %v; want %v", c.url, v, err, c.want)
		}
	}
	if v, _ := f.FilterURL(t.Context(), "http://www.example.org/"); v.Reason != "d:2: example.org" {
		t.Errorf("reason = %q", v.Reason)
	}
	if v, _ := filter(t, "").FilterURL(t.Context(), "http://example.org/"); !v.Accept {
		t.Error("an empty list rejects")
	}
}

func TestErrors(t *testing.T) {
	if _, err := deny.New(librule.Split("d", "org\n.com")); err == nil || !strings.Contains(err.Error(), "d:2: ") {
		t.Errorf("error %v", err)
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, deny.Plugin(), plugintest.Options{Settings: `{"rules": ["example.org", "bücher.example"]}`})
}

func FuzzFilter(f *testing.F) {
	f.Add("http://a.b.co.uk:1/")
	flt := filter(f, "example.org\nuk\n")
	f.Fuzz(func(t *testing.T, url string) {
		if _, err := flt.FilterURL(context.Background(), url); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkFilterURL(b *testing.B) {
	f := filter(b, "example.com\nexample.net\nac.uk\n")
	for b.Loop() {
		_, _ = f.FilterURL(context.Background(), "https://www.example.org/docs/current/tutorial-window.html?x=1")
	}
}
