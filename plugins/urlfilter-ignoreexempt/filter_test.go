package urlfilterignoreexempt_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	exempt "github.com/gonutch/crawler/plugins/urlfilter-ignoreexempt"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk/extension/urlexemption"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func filter(t testing.TB, rules string) *exempt.Filter {
	t.Helper()
	f, err := exempt.New(librule.Split("e", rules), 20*time.Millisecond, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The cases follow nutch.md 1.8, 2.2 (urlfilter-ignoreexempt: matches the target
// only) and 4 (syntax of regex-urlfilter.txt).
func TestExempt(t *testing.T) {
	f := filter(t, "# pictures\n-/ads/\n+(?i)\\.(jpg|png)$\n> cdn.example\n+/assets/\n<\n+^https://(?!www)static\\.\n-^http://last\n+^http://la(s)\\1")
	const from = "http://example.org/x.jpg"
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{from, "http://other/a.jpg", true},
		{from, "http://other/a.PNG", true},
		{from, "http://other/a.gif", false},
		{from, "http://other/a.jpg?x", false},
		{from, "http://other/ads/a.jpg", false},
		{from, "http://cdn.example/assets/a", true},
		{from, "http://a.CDN.example:80/assets/a", true},
		{from, "http://xcdn.example/assets/a", false},
		{from, "http://other/assets/a", false},
		{from, "http://other/?cdn.example/assets/", false},
		{from, "https://static.other/", true},
		{from, "http://static.other/", false},
		{from, "http://last", false},
		{from, "http://lass", true},
		{from, "http://las", false},
		{"http://other/page", "http://other2/page", false}, // the source makes no difference
		{"http://other/a.png", "http://other2/page", false},
		{"", "http://other/a.png", true},
		{from, "", false},
		{from, "\xff.png", true},
		{"\xff", "http://other/\xff", false},
		{from, from, true},
	} {
		if got, err := f.Exempt(t.Context(), urlexemption.Pair{From: c.from, To: c.to}); err != nil || got != c.want {
			t.Errorf("%q → %q = %v, %v; want %v", c.from, c.to, got, err, c.want)
		}
	}
	if got, _ := filter(t, "").Exempt(t.Context(), urlexemption.Pair{To: "http://a/"}); got {
		t.Error("exempt without a rule")
	}
}

func TestTimeLimitIsNoExemption(t *testing.T) {
	got, err := filter(t, `+^(a+)+\1$`).Exempt(t.Context(), urlexemption.Pair{To: strings.Repeat("a", 60) + "!"})
	if err != nil || got {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestErrors(t *testing.T) {
	_, err := exempt.New(librule.Split("e", "+(\n*.jpg"), 0, hclog.NewNullLogger())
	for _, want := range []string{"e:1: ", "e:2: line starts with"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, exempt.Plugin(), plugintest.Options{Settings: `{"rules": ["-ads", "+\\.png$"]}`})
}

func FuzzExempt(f *testing.F) {
	f.Add("+a", "http://a/")
	f.Fuzz(func(t *testing.T, rules, to string) {
		flt, err := exempt.New(librule.Split("f", rules), 10*time.Millisecond, hclog.NewNullLogger())
		if err != nil {
			return
		}
		if _, err := flt.Exempt(context.Background(), urlexemption.Pair{To: to}); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkExempt(b *testing.B) {
	f := filter(b, "-/ads/\n+(?i)\\.(jpg|png)$")
	for b.Loop() {
		_, _ = f.Exempt(context.Background(), urlexemption.Pair{To: "https://www.example.org/docs/current/tutorial-window.png"})
	}
}
