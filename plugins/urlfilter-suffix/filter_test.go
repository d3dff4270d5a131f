package urlfiltersuffix_test

import (
	"context"
	"os"
	"strings"
	"testing"

	suffix "github.com/gonutch/crawler/plugins/urlfilter-suffix"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func filter(t testing.TB, rules string) *suffix.Filter {
	t.Helper()
	f, err := suffix.New(librule.Split("s", rules))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The cases follow nutch.md 2.2 (urlfilter-suffix): twelve URLs under each mode;
// y accepts.
func TestModes(t *testing.T) {
	const list = "\n# suffixes\n.gif\n.JPG\r\n .html \n\n"
	urls := []string{
		"http://a/x.gif", "http://a/x.GIF", "http://a/x.jpg", "http://a/x.JPG", "http://a/x.html", "http://a/x.htm",
		"http://a/x.gif?q=1", "http://a/x?q=1.gif", "http://a.gif", "x.gif", "http://a/x.gif#top", "",
	}
	for _, c := range []struct{ before, after, want string }{
		{"", "", "ynnyynnyyynn"},
		{"-", "", "ynnyynnyyynn"},
		{"+", "", "nyynnyynnnyy"},
		{"-P", "", "ynnyynynnyyn"},
		{"+P", "", "nyynnynyynny"},
		{"-I", "", "yyyyynnyyynn"},
		{"+I", "", "nnnnnyynnnyy"},
		{"-PI", "", "yyyyynynnyyn"},
		{"+ P I", "", "nnnnnynyynny"},
		{"+P", "+I", "nnnnnynyynny"}, // flags add up
		{"-P", "+I", "nnnnnynyynny"}, // the last mode line wins
		{"+", "-", "ynnyynnyyynn"},
	} {
		f := filter(t, c.before+list+c.after)
		got := ""
		for _, url := range urls {
			v, err := f.FilterURL(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			got += map[bool]string{true: "y", false: "n"}[v.Accept]
		}
		if got != c.want {
			t.Errorf("%q … %q: got %s, want %s for %v", c.before, c.after, got, c.want, urls)
		}
	}
	if v, _ := filter(t, "+"+list).FilterURL(t.Context(), urls[0]); v.Reason != "s:3: .gif" {
		t.Errorf("reason = %q", v.Reason)
	}
}

func TestBuiltinRules(t *testing.T) {
	b, err := os.ReadFile("suffix-urlfilter.txt")
	if err != nil {
		t.Fatal(err)
	}
	f := filter(t, string(b))
	for url, want := range map[string]bool{
		"http://example.org/": true, "http://example.org/a.pdf": true, "http://example.org/a.PNG?x=1": false, "http://example.org/a.tar.gz": false,
		"http://example.org/a?b=c.png": true, "http://example.zip": true,
	} {
		if v, err := f.FilterURL(t.Context(), url); err != nil || v.Accept != want {
			t.Errorf("%s: %+v, %v; want %v", url, v, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ rules, want string }{
		{"# c\n", "s: no suffixes"},
		{"-\n", "s: no suffixes"},
		{".gif\n+Pi", "s:2: mode line with 'i' in it"},
		{".gif\n-.jpg", "s:2: mode line with '.' in it"},
	} {
		if _, err := suffix.New(librule.Split("s", c.rules)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.rules, err, c.want)
		}
	}
	filter(t, "+") // accepts everything: that is what it says
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, suffix.Plugin(), plugintest.Options{Settings: `{"rules": ["-PI", "/", ".html", ".gif"]}`})
}

func FuzzFilter(f *testing.F) {
	f.Add("+PI\n.gif", "http://a/x.gif?y")
	f.Add("-\nä", "Ä")
	f.Fuzz(func(t *testing.T, rules, url string) {
		flt, err := suffix.New(librule.Split("f", rules))
		if err != nil {
			return
		}
		if _, err := flt.FilterURL(context.Background(), url); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkBuiltinRules(b *testing.B) {
	rules, err := os.ReadFile("suffix-urlfilter.txt")
	if err != nil {
		b.Fatal(err)
	}
	f := filter(b, string(rules))
	for b.Loop() {
		_, _ = f.FilterURL(context.Background(), "https://www.example.org/docs/current/tutorial-window.html?x=1")
	}
}
