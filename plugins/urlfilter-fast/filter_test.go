package urlfilterfast_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	fast "github.com/gonutch/crawler/plugins/urlfilter-fast"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func noLimits() fast.Limits { return fast.Limits{URL: -1, Path: -1, Query: -1} }

func filter(t testing.TB, text string, limits fast.Limits) *fast.Filter {
	t.Helper()
	r, err := fast.Parse(librule.Split("f", text), 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	return fast.New(r, limits, hclog.NewNullLogger())
}

const rules = `# a comment
Host www.Example.org
  DenyPath /private/
	DenyPathQuery  ^/list\?.*sort=   # behind white space: a comment
DenyPath ^/a b/c$
Domain example.com
DenyPath .*
Host keep.example.net
DenyPath ^/x#y
DenyPath ^/(?!ok)n
Domain .
DenyPathQuery [?&]sid=
DenyPath \.EXE$
`

// The cases follow nutch.md 2.2 (urlfilter-fast) and 12 (fast filter: # inside
// an expression, spaces).
func TestFilterURL(t *testing.T) {
	f := filter(t, rules, noLimits())
	for _, c := range []struct{ url, reason string }{
		{"http://www.example.org/", ""},
		{"http://www.example.org/private/a", "f:3: DenyPath /private/"},
		{"http://WWW.example.org.:80/x/private/a", "f:3: "},
		{"http://www.example.org/?/private/", ""},
		{"http://www.example.org/private", ""},
		{"http://example.org/private/", ""},
		{"http://a.www.example.org/private/", ""},
		{"http://www.example.org/list?sort=1", "f:4: "},
		{"http://www.example.org/list?a=1&sort=1", "f:4: "},
		{"http://www.example.org/list", ""},
		{"http://www.example.org/list?a#sort=", ""},
		{"http://www.example.org/a b/c", "f:5: DenyPath ^/a b/c$"}, // spaces in an expression
		{"http://www.example.org/a/c", ""},
		{"http://example.com/", "f:7: DenyPath .*"},
		{"http://a.b.example.com/x", "f:7: "},
		{"http://notexample.com/", ""},
		{"http://keep.example.net/x", ""}, // Nutch reads ^/x and a comment
		{"http://keep.example.net/n", "f:10: "},
		{"http://keep.example.net/okn", ""},
		{"http://other.org/?sid=1", "f:12: "},
		{"http://other.org/?a=1&sid=1", "f:12: "},
		{"http://other.org/sid=1", ""},
		{"http://other.org/a.EXE", "f:13: "},
		{"http://other.org/a.EXE?q", "f:13: "},
		{"file:///a.EXE", "f:13: "},
		{"file:///a", ""},
		{"ftp://www.example.org/private/", "f:3: "},
		{"other.org/a", "not a URL"},
		{"", "not a URL"},
		{"http://\xff/", ""},
	} {
		v, err := f.FilterURL(t.Context(), c.url)
		if err != nil || v.Accept != (c.reason == "") || !strings.HasPrefix(v.Reason, c.reason) {
			t.Errorf("%q: %+v, %v; want %q", c.url, v, err, c.reason)
		}
	}
}

func TestHashIsPartOfAnExpression(t *testing.T) {
	f := filter(t, "Host a\nDenyPathQuery [?#]x=|%23|a#b", noLimits())
	for url, want := range map[string]bool{"http://a/?x=1": false, "http://a/%23": false, "http://a/": true} {
		if v, _ := f.FilterURL(t.Context(), url); v.Accept != want {
			t.Errorf("%s: %+v, want %v", url, v, want)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		url    string
		limits fast.Limits
		reason string
	}{
		{"http://a/bc", fast.Limits{URL: 11, Path: -1, Query: -1}, ""},
		{"http://a/bcd", fast.Limits{URL: 11, Path: -1, Query: -1}, "12 bytes are more than url_max_length = 11B"},
		{"http://a/bc?d", fast.Limits{URL: -1, Path: 3, Query: -1}, ""},
		{"http://a/bcd", fast.Limits{URL: -1, Path: 3, Query: -1}, "4 bytes are more than url_path_max_length"},
		{"http://a/?bcd", fast.Limits{URL: -1, Path: -1, Query: 3}, ""},
		{"http://a/?bcde#f", fast.Limits{URL: -1, Path: -1, Query: 3}, "4 bytes are more than url_query_max_length"},
		{"http://a/?", fast.Limits{URL: -1, Path: -1, Query: 0}, ""},
		{"http://a/", fast.Limits{URL: -1, Path: -1, Query: 0}, ""},
	} {
		v, err := filter(t, "", c.limits).FilterURL(t.Context(), c.url)
		if err != nil || v.Accept != (c.reason == "") || !strings.HasPrefix(v.Reason, c.reason) {
			t.Errorf("%q: %+v, %v; want %q", c.url, v, err, c.reason)
		}
	}
}

func TestErrorsAreCollected(t *testing.T) {
	_, err := fast.Parse(librule.Split("f", "DenyPath a\nHost h\nDenyPath (\nDeny x\nhost h\nDomain a/b\nDenyPath x\nDenyPath\nHost #x"), 0)
	for _, want := range []string{
		"f:1: the rule stands before", "f:3: regular expression", `f:4: "Deny" is no keyword`, `f:5: "host" is no keyword`,
		`f:6: "a/b" is no host name`, "f:8: DenyPath stands alone", "f:9: Host stands alone",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}

func TestIdleBlocks(t *testing.T) {
	r, err := fast.Parse(librule.Split("f", "Host a\nHost b\nDenyPath (a)\\1\nDomain c"), 0)
	if err != nil || len(r.Idle) != 2 || r.Idle[0].At != "f:1" || r.Idle[1].At != "f:4" || len(r.BackTracking) != 1 || r.Len() != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestHostileRuleCostsThatURLOnly(t *testing.T) {
	f := filter(t, "Domain .\nDenyPath ^/(x+)+\\1$", noLimits())
	v, err := f.FilterURL(t.Context(), "http://a/"+strings.Repeat("x", 50)+"!")
	if err != nil || v.Accept || !strings.Contains(v.Reason, "time limit") {
		t.Errorf("verdict = %+v, %v, want rejection for the time limit", v, err)
	}
	if v, err := f.FilterURL(t.Context(), "http://a/y"); err != nil || !v.Accept {
		t.Errorf("next URL: %+v, %v", v, err)
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, fast.Plugin(), plugintest.Options{Settings: `{"rules": ["Host example.org", "DenyPath /a/", "Domain .", "DenyPath \\.gif"], "url_max_length": "2KiB"}`})
}

func FuzzFilter(f *testing.F) {
	f.Add(rules, "http://www.example.org/a?b#c")
	f.Fuzz(func(t *testing.T, text, url string) {
		r, err := fast.Parse(librule.Split("f", text), 10*time.Millisecond)
		if err != nil {
			return
		}
		if _, err := fast.New(r, noLimits(), hclog.NewNullLogger()).FilterURL(context.Background(), url); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkTenThousandHosts(b *testing.B) {
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "Host host%d.example.org\nDenyPath ^/private/\nDomain d%d.example.org\nDenyPath ^/private/\n", i, i)
	}
	f := filter(b, text.String(), noLimits())
	for b.Loop() {
		_, _ = f.FilterURL(context.Background(), "https://host777.example.org/docs/current/tutorial-window.html?x=1")
	}
}
