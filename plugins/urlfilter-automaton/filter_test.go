package urlfilterautomaton_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gonutch/crawler/plugins/internal/librule"
	automaton "github.com/gonutch/crawler/plugins/urlfilter-automaton"
	"github.com/gonutch/crawler/sdk/plugintest"
)

// accepts judges url by rules, one a line.
func accepts(t *testing.T, rules, url string) bool {
	t.Helper()
	f, err := automaton.New(librule.Split("r", rules))
	if err != nil {
		t.Fatalf("%q: %v", rules, err)
	}
	v, err := f.FilterURL(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return v.Accept
}

// The cases follow nutch.md 2.2 (urlfilter-automaton: same file syntax as
// urlfilter-regex, full match) and the grammar in the documentation of
// dk.brics.automaton.RegExp.
func TestExpressions(t *testing.T) {
	for _, c := range []struct {
		expr, url string
		want      bool
	}{
		{"http://a/.*", "http://a/b", true},
		{"a/", "http://a/", false}, // full match
		{"http://a/", "http://a/b", false},
		{"http://(a|b)/", "http://b/", true},
		{".*[?*!@=].*", "http://a/?b", true},
		{".*[?*!@=].*", "http://a/b", false},
		{`.*\.gif`, "http://a/x.gif", true},
		{`.*\.gif`, "http://a/xAgif", false},
		{`http://a/\d`, "http://a/d", true}, // no classes
		{`http://a/\d`, "http://a/1", false},
		{"^http://a/$", "http://a/", false}, // no anchors
		{"^a$", "^a$", true},
		{"http://a/x?y*z+", "http://a/xyyz", true},
		{"http://a/x?y*z+", "http://a/xxz", false},
		{"a{2}b{1,}c{1,2}", "aabbbcc", true},
		{"a{2}b{1,}c{1,2}", "aabccc", false},
		{"[^/]+", "abc", true},
		{"[^/]+", "a/c", false},
		{"[]a]+", "a]", true},
		{"[a-]+", "a-", true},
		{`[\]\-]+`, "]-", true},
		{"[a-cx-z]+", "bxz", true},
		{"[a-cx-z]+", "d", false},
		{"http://a/@", "http://a/any/thing", true},
		{"http://a/\\@", "http://a/@", true},
		{`"http://a/?x=[1]"`, "http://a/?x=[1]", true},
		{"#|a", "a", true},
		{"b#", "b", false},
		{"a()b", "ab", true},
		{"http://a/<1-31>", "http://a/31", true},
		{"http://a/<1-31>", "http://a/031", true}, // bounds of different length: zeros may lead
		{"http://a/<1-31>", "http://a/32", false},
		{"http://a/<01-31>", "http://a/07", true},
		{"http://a/<01-31>", "http://a/7", false}, // bounds of one length: just that length
		{"http://a/<31-1>", "http://a/12", true},
		{"@a@&@b@", "xbya", true},
		{"@a@&@b@", "xa", false},
		{"~(@private@)", "http://a/b", true},
		{"~(@private@)", "http://a/private/b", false},
		{"http://a/@&~(@x@)|http://b/@", "http://b/x", true},
		{"http://a/@&~(@x@)|http://b/@", "http://a/x", false},
		{"~~a", "a", true},
		{"*a", "*a", true}, // an operator with nothing before it is a character
		{".*", "line\nbreak", true},
		{"http://a/ä.", "http://a/äö", true},
	} {
		if got := accepts(t, "+"+c.expr, c.url); got != c.want {
			t.Errorf("%s on %s = %v, want %v", c.expr, c.url, got, c.want)
		}
	}
}

func TestIntervals(t *testing.T) {
	for _, c := range []struct{ low, high int }{{0, 0}, {0, 9}, {7, 7}, {3, 12}, {10, 99}, {99, 100}, {38, 462}, {100, 999}, {1, 1000}, {199, 201}} {
		f, err := automaton.New(librule.Split("r", fmt.Sprintf("+<%d-%d>", c.low, c.high)))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 1200 {
			v, _ := f.FilterURL(t.Context(), fmt.Sprint(i))
			if want := i >= c.low && i <= c.high; v.Accept != want {
				t.Errorf("<%d-%d> on %d = %v", c.low, c.high, i, v.Accept)
			}
		}
	}
}

func TestRules(t *testing.T) {
	rules := "# comment\n-.*\\.gif\n> example.org\n-.*/private/.*\n<\n+http://.*"
	for url, want := range map[string]bool{
		"http://a/x.gif": false, "http://www.example.org/private/": false, "http://other/private/": true, "ftp://a/": false,
	} {
		if got := accepts(t, rules, url); got != want {
			t.Errorf("%s = %v, want %v", url, got, want)
		}
	}
}

func TestBuiltinRules(t *testing.T) {
	b, err := os.ReadFile("automaton-urlfilter.txt")
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]bool{
		"http://example.org/": true, "https://example.org/a?b=c": true, "http://example.org/a.PNG": false, "http://example.org/png": true,
		"mailto:a@example.org": false, "http://example.org/a.js": false, "http://example.org/a.js?x": true, "http://example.org/a.pdf": true,
	} {
		if got := accepts(t, string(b), url); got != want {
			t.Errorf("%s = %v, want %v", url, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ rules, want string }{
		{"+.*\n+(", "r:2: expression \"(\": character 2"},
		{"+a(b&c)d", "r:1: expression \"a(b&c)d\": character 3: an intersection & must stand around whole alternatives"},
		{"+a~b", "character 2: a complement ~"},
		{"+(a&b)*", "intersection"},
		{"+<name>", "names an automaton"},
		{"+<1-x>", "two whole numbers"},
		{"+<1", "has no >"},
		{"+\"a", "has no second one"},
		{"+a{", "a number must follow {"},
		{"+a{1", "} is missing"},
		{"+a{2000}", "invalid repeat count"},
		{"+[a", "] is missing"},
		{"+[z-a]", "range z-a is empty"},
		{"+a)", "unexpected ')'"},
		{"+a|", "the expression ends"},
		{"+a\\", "the expression ends"},
		{"+" + strings.Repeat("(", 1000), "nested more than"},
		{"+" + strings.Repeat("~", 1000), "nested more than"},
		{"http://a/", "r:1: line starts with"},
		{"# nothing", "r: no rules"},
	} {
		_, err := automaton.New(librule.Split("r", c.rules))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: error %.200v, want %q", c.rules, err, c.want)
		}
	}
}

// TestHostileRuleIsLinear: an expression that makes back-tracking engines take
// for ever, and a URL of a mebibyte.
func TestHostileRuleIsLinear(t *testing.T) {
	start := time.Now()
	if accepts(t, "+(x+)+(x+)+y", strings.Repeat("x", 1<<20)) {
		t.Error("accepted")
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, automaton.Plugin(), plugintest.Options{Settings: `{"rules": ["-.*\\.GIF", "+http.*&~(@user@)"]}`})
}

func FuzzFilter(f *testing.F) {
	f.Add("a(b|c)*[x-z]<1-99>", "abc")
	f.Add("~(@a@)&\"q\"", "q")
	f.Fuzz(func(t *testing.T, expr, url string) {
		flt, err := automaton.New(librule.Split("f", "+"+expr))
		if err != nil {
			return
		}
		if _, err := flt.FilterURL(context.Background(), url); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkBuiltinRules(b *testing.B) {
	rules, err := os.ReadFile("automaton-urlfilter.txt")
	if err != nil {
		b.Fatal(err)
	}
	f, err := automaton.New(librule.Split("r", string(rules)))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_, _ = f.FilterURL(context.Background(), "https://www.example.org/docs/current/tutorial-window.html?x=1")
	}
}
