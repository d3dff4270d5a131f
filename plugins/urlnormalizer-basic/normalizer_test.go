package urlnormalizerbasic_test

import (
	"context"
	"testing"

	basic "github.com/gonutch/crawler/plugins/urlnormalizer-basic"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
)

func normalizer() *basic.Normalizer {
	return &basic.Normalizer{Config: basic.Config{HostIDN: "to_ascii", HostTrimTrailingDot: true}}
}

// The cases follow nutch.md 2.3 (urlnormalizer-basic) and RFC 3986 section 6;
// an empty want means the URL is dropped.
func TestNormalizeURL(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"http://example.org/", "http://example.org/"},
		{"  http://example.org/\r\n", "http://example.org/"},
		{"HTTP://EXAMPLE.org/A", "http://example.org/A"},
		{"http://example.org", "http://example.org/"},
		{"http://example.org?a=b", "http://example.org/?a=b"},
		{"http://example.org:80/", "http://example.org/"},
		{"https://example.org:443/", "https://example.org/"},
		{"https://example.org:80/", "https://example.org:80/"},
		{"http://example.org:/", "http://example.org/"},
		{"http://example.org:08080/", "http://example.org:8080/"},
		{"ftp://example.org:21/a", "ftp://example.org/a"},
		{"http://example.org/a#top", "http://example.org/a"},
		{"http://example.org#top", "http://example.org/"},
		{"http://user:pw@example.org/", "http://example.org/"},
		{"ftp://user:pw@example.org/", "ftp://user:pw@example.org/"},
		{"http://example.org/%7euser/%41%2d%2E%5f", "http://example.org/~user/A-._"},
		{"http://example.org/%2f%3a", "http://example.org/%2F%3A"},
		{"http://example.org/100%", "http://example.org/100%25"},
		{"http://example.org/%zz%1", "http://example.org/%25zz%251"},
		{"http://example.org/a b\"<>[]^`{|}", "http://example.org/a%20b%22%3C%3E%5B%5D%5E%60%7B%7C%7D"},
		{"http://example.org/ä?ö=ü", "http://example.org/%C3%A4?%C3%B6=%C3%BC"},
		{"http://example.org/\xe4", "http://example.org/%E4"},
		{"http://example.org/a/./b/../c", "http://example.org/a/c"},
		{"http://example.org/../../a", "http://example.org/a"},
		{"http://example.org/a/..", "http://example.org/"},
		{"http://example.org/a/b/.", "http://example.org/a/b/"},
		{"http://example.org/a/%2e%2e/b", "http://example.org/b"},
		{"http://example.org//a///b//", "http://example.org/a/b/"},
		{"http://example.org/a/..//../b", "http://example.org/b"},
		{"http://example.org/a?u=http://x//y/../z", "http://example.org/a?u=http://x//y/../z"},
		{"http://example.org/...", "http://example.org/..."},
		{"http://example.org/.well-known/a", "http://example.org/.well-known/a"},
		{"http://example.org/a;x=1,2@b!c$d&e='f'(g)*", "http://example.org/a;x=1,2@b!c$d&e='f'(g)*"},
		{"http://exa%6dple.org/", "http://example.org/"},
		{"http://example.org./a", "http://example.org/a"},
		{"http://MÜNCHEN.example/", "http://xn--mnchen-3ya.example/"},
		{"http://xn--MNCHEN-3ya.example/", "http://xn--mnchen-3ya.example/"},
		{"http://[2001:DB8::1]:80/a", "http://[2001:db8::1]/a"},
		{"file:///a/../b", "file:///b"},
		{"file:/a b", "file:///a%20b"},
		{"FILE://localhost/a", "file:///a"},
		{"mailto:A@example.org", "mailto:A@example.org"},
		{"JavaScript:alert(1)", "javascript:alert(1)"},
		{"", ""},
		{"/a/b", ""},
		{"example.org/a", ""},
		{"http:/example.org/", ""},
		{"http:///a", ""},
		{"http://:80/", ""},
		{"http://a b/", ""},
		{"http://a%2fb/", ""},
		{"http://example.org:99999/", ""},
		{"http://example.org:x/", ""},
		{"http://[::1/", ""},
	} {
		r, err := normalizer().NormalizeURL(t.Context(), urlnormalizer.ScopeDefault, c.in)
		if err != nil || r.URL != c.want || (c.want == "") != (r.Reason != "") {
			t.Errorf("%q = %+v, %v; want %q", c.in, r, err, c.want)
		}
	}
}

func TestToUnicode(t *testing.T) {
	n := &basic.Normalizer{Config: basic.Config{HostIDN: "to_unicode"}}
	r, err := n.NormalizeURL(t.Context(), urlnormalizer.ScopeDefault, "http://xn--mnchen-3ya.example./")
	if want := "http://münchen.example./"; err != nil || r.URL != want {
		t.Errorf("got %+v, %v, want %q", r, err, want)
	}
}

// FuzzIdempotent: what was normalized once stays as it is.
func FuzzIdempotent(f *testing.F) {
	for _, s := range []string{"http://a/b/../c%41", "HTTP://A:80//./%2e%2e/?%zz#f", "file:a//b/..", "http://ä/", "http://a/.%2e/x"} {
		f.Add(s)
	}
	n := normalizer()
	f.Fuzz(func(t *testing.T, url string) {
		once, err := n.NormalizeURL(context.Background(), urlnormalizer.ScopeDefault, url)
		if err != nil || once.URL == "" {
			return
		}
		twice, err := n.NormalizeURL(context.Background(), urlnormalizer.ScopeDefault, once.URL)
		if err != nil || twice.URL != once.URL {
			t.Errorf("%q → %q → %q (%s), %v", url, once.URL, twice.URL, twice.Reason, err)
		}
	})
}

func BenchmarkNormal(b *testing.B) {
	n := normalizer()
	for b.Loop() {
		_, _ = n.NormalizeURL(context.Background(), urlnormalizer.ScopeOutlink, "https://www.example.org/docs/current/tutorial-window.html?x=1")
	}
}

func BenchmarkRewritten(b *testing.B) {
	n := normalizer()
	for b.Loop() {
		_, _ = n.NormalizeURL(context.Background(), urlnormalizer.ScopeOutlink, "https://www.Example.org:443/docs/../current//tutorial-%7Ewindow.html?x=1#a")
	}
}
