package urlfilterdomain_test

import (
	"context"
	"strings"
	"testing"

	domain "github.com/gonutch/crawler/plugins/urlfilter-domain"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func filter(t testing.TB, rules string) *domain.Filter {
	t.Helper()
	f, err := domain.New(librule.Split("d", rules))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The cases follow nutch.md 2.2 (urlfilter-domain) and 6.22.
func TestFilterURL(t *testing.T) {
	f := filter(t, "# names\nexample.org\nwww.Example.COM\nac.uk\nmünchen.example\n192.0.2.7\n[2001:db8::1]\nintranet\n\nnet.\r\n")
	for _, c := range []struct {
		url  string
		want bool
	}{
		{"http://example.org/", true},
		{"http://www.example.org/a", true},
		{"http://a.b.EXAMPLE.org:8080/a", true},
		{"http://example.org./", true},
		{"https://user@www.example.org/", true},
		{"http://notexample.org/", false},
		{"http://example.org.other.com/", false},
		{"http://www.example.com/", true},
		{"http://example.com/", false},
		{"http://a.www.example.com/", false},
		{"http://www.ox.ac.uk/", true},
		{"http://ac.uk/", true},
		{"http://www.example.co.uk/", false},
		{"http://xn--mnchen-3ya.example/", true},
		{"http://MÜNCHEN.example/", true},
		{"http://192.0.2.7:80/", true},
		{"http://192.0.2.8/", false},
		{"http://[2001:DB8::1]/", true},
		{"http://intranet/wiki", true},
		{"http://a.intranet/wiki", false},
		{"http://anything.net/", true},
		{"ftp://ftp.example.org/pub", true},
		{"file:///example.org", false},
		{"mailto:a@example.org", false},
		{"example.org", false},
		{"", false},
		{"http://\xff/", false},
		{"http:///a", false},
	} {
		if v, err := f.FilterURL(t.Context(), c.url); err != nil || v.Accept != c.want {
			t.Errorf("%q: %+v, %v; want %v", c.url, v, err, c.want)
		}
	}
	if v, _ := f.FilterURL(t.Context(), "http://www.example.org/"); v.Reason != "d:2: example.org" {
		t.Errorf("reason = %q", v.Reason)
	}
}

func TestEmptyAcceptsAll(t *testing.T) {
	for _, url := range []string{"http://example.org/", "nonsense", ""} {
		if v, err := filter(t, "# nothing\n").FilterURL(t.Context(), url); err != nil || !v.Accept {
			t.Errorf("%q: %+v, %v", url, v, err)
		}
	}
}

func TestErrors(t *testing.T) {
	if _, err := domain.New(librule.Split("d", "org\nhttp://example.org/")); err == nil || !strings.Contains(err.Error(), "d:2: ") {
		t.Errorf("error %v", err)
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, domain.Plugin(), plugintest.Options{Settings: `{"rules": ["example.org", "bücher.example"]}`})
}

func FuzzFilter(f *testing.F) {
	f.Add("http://a.b.co.uk:1/")
	f.Add("http://xn--/")
	flt := filter(f, "example.org\nuk\n")
	f.Fuzz(func(t *testing.T, url string) {
		if _, err := flt.FilterURL(context.Background(), url); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkFilterURL(b *testing.B) {
	f := filter(b, "example.com\nexample.org\nac.uk\n")
	for b.Loop() {
		_, _ = f.FilterURL(context.Background(), "https://www.example.org/docs/current/tutorial-window.html?x=1")
	}
}
