package urlfilterprefix_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	prefix "github.com/gonutch/crawler/plugins/urlfilter-prefix"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func filter(t testing.TB, rules string) *prefix.Filter {
	t.Helper()
	f, err := prefix.New(librule.Split("p", rules))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The cases follow nutch.md 2.2 and 4 (prefix-urlfilter.txt: one prefix per
// line; a URL is accepted if a listed prefix matches).
func TestFilterURL(t *testing.T) {
	const shipped = "# comment\nhttp://\nhttps://\r\n\nftp://\nfile://\n"
	const many = "http://a/b\nhttp://a/\nhttp://a/c\nhttp://b\nhttp://d/e  \nz"
	for _, c := range []struct {
		rules, url string
		want       bool
	}{
		{shipped, "http://example.org/", true},
		{shipped, "https://example.org/", true},
		{shipped, "ftp://example.org/", true},
		{shipped, "file:///a", true},
		{shipped, "file:/a", false},
		{shipped, "mailto:a@example.org", false},
		{shipped, "HTTP://example.org/", false},
		{shipped, "http://", true},
		{shipped, "http:/", false},
		{shipped, "", false},
		{shipped, "# comment", false},
		{shipped, "\xff", false},
		{many, "http://a/", true},
		{many, "http://a/b", true},
		{many, "http://a/a", true},
		{many, "http://a/zzz", true},
		{many, "http://a", false},
		{many, "http://b", true},
		{many, "http://bb/", true},
		{many, "http://c/", false},
		{many, "http://d/e", true},
		{many, "http://d/", false},
		{many, "zebra", true},
		{many, "y", false},
		{many, "http://d/\xff", false},
	} {
		v, err := filter(t, c.rules).FilterURL(t.Context(), c.url)
		if err != nil || v.Accept != c.want {
			t.Errorf("%q: %+v, %v; want %v", c.url, v, err, c.want)
		}
	}
	if v, _ := filter(t, many).FilterURL(t.Context(), "http://a/b"); v.Reason != "p:2: http://a/" {
		t.Errorf("reason = %q", v.Reason)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ rules, want string }{
		{"# only a comment\n", "p: no prefixes"},
		{"http://\n https://\n\tx", "p:2: white space before"},
		{"http://\n https://\n\tx", "p:3: white space before"},
	} {
		if _, err := prefix.New(librule.Split("p", c.rules)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.rules, err, c.want)
		}
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, prefix.Plugin(), plugintest.Options{Settings: `{"rules": ["http://example.org/a", "ftp:"]}`})
}

// FuzzFilter compares with trying every prefix.
func FuzzFilter(f *testing.F) {
	f.Add("a\nab\nb", "abc")
	f.Add("http://a/\nhttp://", "http://b")
	f.Fuzz(func(t *testing.T, rules, url string) {
		lines := librule.Split("f", rules)
		flt, err := prefix.New(lines)
		if err != nil {
			return
		}
		want := false
		for _, l := range lines.Lines {
			want = want || !l.Empty() && strings.HasPrefix(url, strings.TrimRight(l.Text, " \t"))
		}
		if v, err := flt.FilterURL(context.Background(), url); err != nil || v.Accept != want {
			t.Errorf("%q on %q: %+v, %v; want %v", rules, url, v, err, want)
		}
	})
}

func BenchmarkThousandPrefixes(b *testing.B) {
	var rules strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&rules, "https://host%d.example.org/\n", i)
	}
	f := filter(b, rules.String())
	for b.Loop() {
		_, _ = f.FilterURL(context.Background(), "https://host777.example.org/docs/current/tutorial-window.html?x=1")
	}
}
