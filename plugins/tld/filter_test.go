package tld_test

import (
	"testing"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/plugins/tld"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
)

// Nutch's rule: nutch.md 2.7, tld; the suffixes: publicsuffix.org.
func TestFilterDocument(t *testing.T) {
	for _, c := range []struct{ url, want, private string }{
		{"http://www.example.org/x", "org", "org"},
		{"http://example.org./", "org", "org"},
		{"https://WWW.Example.CO.UK:8080/", "co.uk", "co.uk"},
		{"http://co.uk/", "co.uk", "co.uk"},
		{"http://me.github.io/", "io", "github.io"},
		{"http://a.b.kawasaki.jp/", "b.kawasaki.jp", "b.kawasaki.jp"},
		{"http://city.kawasaki.jp/", "kawasaki.jp", "kawasaki.jp"},
		{"http://bücher.example.рф/", "xn--p1ai", "xn--p1ai"},
		{"http://127.0.0.1/", "", ""},
		{"http://[::1]/", "", ""},
		{"http://localhost/", "", ""},
		{"http://intranet.corp.internal/", "", ""},
		{"file:///etc/motd", "", ""},
		{"http://%zz/", "", ""},
		{"", "", ""},
	} {
		for own, want := range map[string]string{``: c.want, `{"private_suffixes": true}`: c.private} {
			p := libtest.FilterDocument(t, tld.Plugin(), own, &indexingfilter.Input{URL: c.url})
			got := ""
			if len(p.Set["tld"]) > 0 {
				got = p.Set["tld"][0]
			}
			if got != want {
				t.Errorf("%s %s: got %q, want %q", c.url, own, got, want)
			}
		}
	}
}

func FuzzSuffix(f *testing.F) {
	f.Add("http://www.example.co.uk/")
	f.Add("http://xn--zz\xff..io./")
	p := libtest.Must(f, tld.Plugin(), "").IndexingFilter
	f.Fuzz(func(t *testing.T, url string) {
		if patch, err := p.FilterDocument(t.Context(), &indexingfilter.Input{URL: url}); err != nil || patch != nil && patch.Set["tld"][0] == "" {
			t.Errorf("%q: %v, %v", url, patch, err)
		}
	})
}
