package urlnormalizerregex_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	regex "github.com/gonutch/crawler/plugins/urlnormalizer-regex"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
)

func builtin(t testing.TB) *regex.Normalizer {
	src, err := os.ReadFile("regex-normalize.xml")
	if err != nil {
		t.Fatal(err)
	}
	n, err := regex.Parse("regex-normalize.xml", src, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The cases follow nutch.md section 4 (regex-normalize.xml).
func TestBuiltinRules(t *testing.T) {
	n := builtin(t)
	for _, c := range []struct{ in, want string }{
		{"http://example.org/", "http://example.org/"},
		{"http://example.org/a?b=c", "http://example.org/a?b=c"},
		{"http://example.org/a;jsessionid=0123ABC", "http://example.org/a"},
		{"http://example.org/a;JSESSIONID=0123ABC?x=1", "http://example.org/a?x=1"},
		{"http://example.org/a;jsessionid=1/b", "http://example.org/a/b"},
		{"http://example.org/a?PHPSESSID=123", "http://example.org/a"},
		{"http://example.org/a?x=1&PHPSESSID=123", "http://example.org/a?x=1"},
		{"http://example.org/a?PHPSESSID=123&x=1", "http://example.org/a?x=1"},
		{"http://example.org/a?x=1&sid=123&y=2", "http://example.org/a?x=1&y=2"},
		{"http://example.org/a?x=1&aspsessionidqq=12&y=2", "http://example.org/a?x=1&y=2"},
		{"http://example.org/a?BV_SessionID=@@1&BV_EngineID=2", "http://example.org/a"},
		{"http://example.org/a?inside=1", "http://example.org/a?inside=1"},
		{"http://example.org/a?mysid=1", "http://example.org/a?mysid=1"},
		{"http://example.org/sid=1", "http://example.org/sid=1"},
		{"http://example.org/a?&x=1", "http://example.org/a?x=1"},
		{"http://example.org/a?x=1&&&y=2", "http://example.org/a?x=1&y=2"},
		{"http://example.org/a?", "http://example.org/a"},
		{"http://example.org/a?x=1&", "http://example.org/a?x=1"},
		{"http://example.org/a?&&", "http://example.org/a"},
		{"http://example.org/a?sid=1&cfid=2&cftoken=3", "http://example.org/a"},
	} {
		r, err := n.NormalizeURL(t.Context(), urlnormalizer.ScopeDefault, c.in)
		if err != nil || r.URL != c.want {
			t.Errorf("%q = %+v, %v; want %q", c.in, r, err, c.want)
		}
	}
}

func TestInline(t *testing.T) {
	n, err := regex.Inline([]string{"s|/index\\.html?$|/|", `s#(?<!:)/{2,}#/#`, "s,^http:,https:,"}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	r, err := n.NormalizeURL(t.Context(), urlnormalizer.ScopeDefault, "http://a//b/index.html")
	if want := "https://a/b/"; err != nil || r.URL != want {
		t.Errorf("got %+v, %v, want %q", r, err, want)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"<regex-normalize><regex><pattern>(</pattern></regex>\n<regex><substitution>x</substitution></regex></regex-normalize>", "r.xml:2: rule without <pattern>"},
		{"<regex-normalize><regex><pattern>(</pattern></regex></regex-normalize>", "r.xml:1: "},
		{"<regex-normalize>\n<rule/></regex-normalize>", "r.xml:2:8: element <rule>"},
		{"<regex-normalize>", "r.xml:1:"},
		{"", "no <regex-normalize>"},
	} {
		_, err := regex.Parse("r.xml", []byte(c.src), time.Second)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.src, err, c.want)
		}
	}
	if _, err := regex.Inline([]string{"a|b|c|"}, 0); err == nil || !strings.Contains(err.Error(), "rules[0]") {
		t.Errorf("inline: error %v", err)
	}
}

func TestTimeLimitDropsTheURL(t *testing.T) {
	n, err := regex.Inline([]string{`s|^(a+)+\1$|x|`}, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	r, err := n.NormalizeURL(t.Context(), urlnormalizer.ScopeDefault, strings.Repeat("a", 60)+"!")
	if err != nil || r.URL != "" || !strings.Contains(r.Reason, "time limit") {
		t.Errorf("got %+v, %v", r, err)
	}
}

// FuzzIdempotent: the built-in rules leave what they made as it is.
func FuzzIdempotent(f *testing.F) {
	f.Add("http://a/?sid=1&&sid=2&?x")
	n := builtin(f)
	f.Fuzz(func(t *testing.T, url string) {
		once, _ := n.NormalizeURL(context.Background(), urlnormalizer.ScopeDefault, url)
		if once.URL == "" {
			return
		}
		twice, err := n.NormalizeURL(context.Background(), urlnormalizer.ScopeDefault, once.URL)
		if err != nil || twice.URL != once.URL {
			t.Errorf("%q → %q → %q, %v", url, once.URL, twice.URL, err)
		}
	})
}

func BenchmarkBuiltinRules(b *testing.B) {
	n := builtin(b)
	for b.Loop() {
		_, _ = n.NormalizeURL(context.Background(), urlnormalizer.ScopeOutlink, "https://www.example.org/docs/current/tutorial-window.html?x=1")
	}
}
