package sheet

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	crawler "github.com/gonutch/crawler"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/sdk/hclconf"
)

// load reads text as site.hcl.
func load(t *testing.T, text string, sets ...string) *config.Config {
	t.Helper()
	name := filepath.Join(t.TempDir(), "site.hcl")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Options{Defaults: crawler.Defaults(), Files: []string{name}, Sets: sets})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const sheets = `
sheet "all-shops" {
  domains     = ["shop.example", "Bücher.example"]
  crawl_delay = "5s"
  threads     = 3
  headers     = { "x-partner" = "general", "X-Other" = "yes" }
}
sheet "big" {
  hosts     = ["www.shop.example", "*.big.shop.example", "[2001:DB8::1]"]
  threads   = 1
  max_count = 0
  headers   = { X-Partner = "special" }
}
sheet "bigger" {
  hosts         = ["*.very.big.shop.example"]
  threads       = 2
  content_limit = "2MiB"
  interval      = "1d"
}
`

func TestOf(t *testing.T) {
	s, err := loadSheets(load(t, sheets, "sheet.bigger.max_count=9"))
	if err != nil {
		t.Fatal(err)
	}
	shops, big, bigger := Value[int]{3, "all-shops"}, Value[int]{1, "big"}, Value[int]{2, "bigger"}
	delay := Value[time.Duration]{5 * time.Second, "all-shops"}
	other := Header{"X-Other", "yes", "all-shops"}
	general, special := Header{"X-Partner", "general", "all-shops"}, Header{"X-Partner", "special", "big"}
	for host, want := range map[string]*Settings{
		"shop.example":             {CrawlDelay: delay, Threads: shops, Headers: []Header{other, general}},
		"a.b.shop.example":         {CrawlDelay: delay, Threads: shops, Headers: []Header{other, general}},
		"xn--bcher-kva.example":    {CrawlDelay: delay, Threads: shops, Headers: []Header{other, general}},
		"www.shop.example":         {CrawlDelay: delay, Threads: big, MaxCount: Value[int]{0, "big"}, Headers: []Header{other, special}},
		"x.big.shop.example":       {CrawlDelay: delay, Threads: big, MaxCount: Value[int]{0, "big"}, Headers: []Header{other, special}},
		"big.shop.example":         {CrawlDelay: delay, Threads: shops, Headers: []Header{other, general}},
		"[2001:db8::1]":            {Threads: big, MaxCount: Value[int]{0, "big"}, Headers: []Header{special}},
		"x.very.big.shop.example":  {CrawlDelay: delay, Threads: bigger, MaxCount: Value[int]{9, "bigger"}, Interval: Value[time.Duration]{24 * time.Hour, "bigger"}, ContentLimit: Value[int64]{2 << 20, "bigger"}, Headers: []Header{other, special}},
		"notshop.example":          nil,
		"example":                  nil,
		"":                         nil,
		"www.shop.example.evil.it": nil,
	} {
		if diff := cmp.Diff(want, s.Of(host)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", host, diff)
		}
	}
	if s.OfURL("https://WWW.shop.example:8443/x?y") == nil || s.OfURL("file:///x") != nil {
		t.Error("OfURL does not go by the URL's host")
	}
	var none *Sheets
	if none.OfURL("http://shop.example/") != nil || none.Any() {
		t.Error("no sheets set something")
	}
}

// TestMistakes wants each mistake with its place, all at once.
func TestMistakes(t *testing.T) {
	_, err := Load(load(t, `sheet "a" {
  hosts   = ["www.example.org", "http://x.example/", "y.example:80"]
  domains = ["*.example.org", ""]
  headers = { "Bad Name" = "v", Host = "h" }
}
sheet "b" {
  threads = 2
}
sheet "c" {
  hosts    = ["c.example"]
  interval = "400d"
}
`))
	var ps hclconf.Problems
	if !errors.As(err, &ps) {
		t.Fatalf("%v", err)
	}
	text := err.Error()
	for _, want := range []string{
		`site.hcl:2:33: sheet.a.hosts: "http://x.example/": want a host without scheme`, `site.hcl:2:54: sheet.a.hosts: "y.example:80": want a host without port`,
		`site.hcl:3:14: sheet.a.domains: "*.example.org": a domain stands for all`, `site.hcl:3:31: sheet.a.domains: "" is no host`,
		`"Bad Name" is no name of a header`, `site.hcl:4:13: sheet.a.headers: Host can't be set`,
		`site.hcl:7:3`, `which hosts is it for?`, `site.hcl:11:14: sheet.c.interval: 9600h0m0s is above db.fetch_interval_max`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestWords wants what is written wrongly to be said where it stands.
func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		`sheet "a" { crawldelay = "1s" }`:                          `did you mean "crawl_delay"?`,
		`sheet "a" { crawl_delay = 5 }`:                            `site.hcl:1:27`,
		`sheet { crawl_delay = "5s" }`:                             `sheet needs a name`,
		`sheet "*" { crawl_delay = "5s" }`:                         `want a name of letters`,
		`sheet "a" {}`:                                             `says nothing`,
		`sheets "a" { crawl_delay = "5s" }`:                        `did you mean "sheet"?`,
		"sheet \"a\" { threads = 1 }\nsheet \"a\" { threads = 2 }": `written before`,
		`sheet "a" { threads = 0 }`:                                `threads`,
		`freshness "a" { ages = "5s" }`:                            `did you mean "age"?`,
	} {
		name := filepath.Join(t.TempDir(), "site.hcl")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(config.Options{Defaults: crawler.Defaults(), Files: []string{name}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestHeadersAreHidden(t *testing.T) {
	c := load(t, `sheet "a" {
  hosts   = ["a.example"]
  headers = { Authorization = "Bearer s3cret" }
}`)
	v, ok := c.Get("sheet.a.headers")
	if !ok || !v.Redacted || strings.Contains(v.Text, "s3cret") {
		t.Errorf("%+v, %v", v, ok)
	}
}

const targets = `
db {
  fetch_schedule               = "freshness"
  fetch_schedule_freshness_age = "3d"
}
freshness "news" {
  patterns = ["^https?://[^/]+/news/"]
  age      = "6h"
  budget   = 1000
}
freshness "slow" {
  domains = ["slow.example"]
  age     = "30d"
}
freshness "one" {
  hosts        = ["www.slow.example"]
  min_interval = "2h"
}
`

func TestTargets(t *testing.T) {
	x, err := loadTargets(load(t, targets))
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"http://www.slow.example/news/1": "news", "http://www.slow.example/": "one", "http://a.slow.example/": "slow",
		"https://other.example/": "default", "file:///x": "default",
	} {
		if got := x.Of(url); got != want {
			t.Errorf("%s belongs to %s, want %s", url, got, want)
		}
	}
	all := x.All()
	if n := all["news"]; n.Age != 6*time.Hour || n.Budget != 1000 || n.Min != time.Hour || n.Max != 90*24*time.Hour {
		t.Errorf("news: %+v", n)
	}
	if d := all["default"]; d.Age != 72*time.Hour || d.Budget != 0 {
		t.Errorf("default: %+v", d)
	}
	if o := all["one"]; o.Age != 72*time.Hour || o.Min != 2*time.Hour {
		t.Errorf("one: %+v", o)
	}
	other, err := loadTargets(load(t, targets, "db.fetch_schedule=adaptive"))
	if err != nil || other.Of("http://www.slow.example/") != "" || other.All() != nil {
		t.Errorf("targets with another schedule: %v, %v", other, err)
	}
}

func TestTargetMistakes(t *testing.T) {
	_, err := loadTargets(load(t, `freshness "a" {
  patterns = ["ok", "("]
}
freshness "b" {
  age = "1d"
}
freshness "default" {
  hosts        = ["x.example"]
  max_interval = "100d"
  min_interval = "101d"
}
`))
	for _, want := range []string{`site.hcl:2:21: freshness.a.patterns`, `which pages is it for`, `fetch_schedule_freshness_age`, `site.hcl:9:18`, `site.hcl:10:18`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}
