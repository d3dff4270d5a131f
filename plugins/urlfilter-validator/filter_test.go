package urlfiltervalidator_test

import (
	"context"
	"strings"
	"testing"

	validator "github.com/gonutch/crawler/plugins/urlfilter-validator"
)

func defaults() validator.Config {
	return validator.Config{MaxLength: 4096, LocalNames: true, IPHosts: true, MaxLoops: 3}
}

// The cases follow nutch.md 2.2 (urlfilter-validator), RFC 3986 and RFC 1123.
func TestFilterURL(t *testing.T) {
	strict := defaults()
	strict.LocalNames, strict.IPHosts = false, false
	for _, c := range []struct {
		url    string
		cfg    validator.Config
		reason string // part of it; "" accepts
	}{
		{"http://example.org/", defaults(), ""},
		{"https://www.example.org:8443/a?b=c#d", defaults(), ""},
		{"http://localhost/", defaults(), ""},
		{"http://wiki/start", defaults(), ""},
		{"http://localhost/", strict, "one label"},
		{"http://192.0.2.7/a", defaults(), ""},
		{"http://192.0.2.7/a", strict, "ip_hosts"},
		{"http://[2001:db8::1]:8080/a", defaults(), ""},
		{"http://[2001:db8::1]/a", strict, "ip_hosts"},
		{"http://münchen.example/", defaults(), ""},
		{"http://xn--mnchen-3ya.example/", defaults(), ""},
		{"http://my_host.example.org/", defaults(), ""},
		{"http://example.org./", defaults(), ""},
		{"file:///srv/doc/a.html", defaults(), ""},
		{"file:/srv/doc/a.html", defaults(), ""},
		{"http://user:pw@example.org/", defaults(), ""},
		{"http://example.org/11/11/11/a", defaults(), ""},
		{"http://example.org/a/b/a/b/c", defaults(), ""},
		{"example.org/", defaults(), "scheme"},
		{"1http://example.org/", defaults(), "scheme"},
		{"http:/example.org/", defaults(), "no //"},
		{"mailto:a@example.org", defaults(), "no //"},
		{"http:///a", defaults(), "no host"},
		{"http://:80/a", defaults(), "no host"},
		{"http://example.org:0/", defaults(), "port"},
		{"http://example.org:65536/", defaults(), "port"},
		{"http://example.org:+80/", defaults(), "port"},
		{"http://example.org:/", defaults(), "port"},
		{"http://256.1.1.1/", defaults(), "IPv4"},
		{"http://1.2.3/", defaults(), "IPv4"},
		{"http://0x7f000001/", defaults(), "IPv4"},
		{"http://[::1/", defaults(), "without ]"},
		{"http://[1.2.3.4]/", defaults(), "IPv6"},
		{"http://[::1]x/", defaults(), "after the IPv6"},
		{"http://exa mple.org/", defaults(), "space"},
		{"http://example.org/a\nb", defaults(), "control"},
		{"http://example.org/\xff", defaults(), "UTF-8"},
		{"http://-a.example.org/", defaults(), "label"},
		{"http://a..example.org/", defaults(), "label"},
		{"http://exam!ple.org/", defaults(), "label"},
		{"http://" + strings.Repeat("a", 64) + ".org/", defaults(), "label"},
		{"http://example.org/../a", defaults(), "above the root"},
		{"http://example.org/a/../../b", defaults(), "above the root"},
		{"http://example.org/a/b/a/b/a/b/", defaults(), "repeats /a/b"},
		{"http://example.org/x/x/x/x/", defaults(), "repeats /x"},
		{"http://example.org/c/a/b/d/a/b/d/a/b/d", defaults(), "repeats"},
		{"http://example.org/?p=/a/b/a/b/a/b/", defaults(), ""},
		{"http://example.org/" + strings.Repeat("a", 5000), defaults(), "longer than max_length = 4KiB"},
	} {
		v, err := (&validator.Filter{Config: c.cfg}).FilterURL(t.Context(), c.url)
		if err != nil || v.Accept != (c.reason == "") || !strings.Contains(v.Reason, c.reason) {
			t.Errorf("%.80q: %+v, %v; want reason with %q", c.url, v, err, c.reason)
		}
	}
}

func FuzzFilterURL(f *testing.F) {
	f.Add("http://a/b")
	f.Add("http://[::1")
	flt := &validator.Filter{Config: defaults()}
	f.Fuzz(func(t *testing.T, url string) {
		if _, err := flt.FilterURL(context.Background(), url); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkFilterURL(b *testing.B) {
	flt := &validator.Filter{Config: defaults()}
	for b.Loop() {
		_, _ = flt.FilterURL(context.Background(), "https://www.example.org/docs/current/tutorial-window.html?x=1")
	}
}
