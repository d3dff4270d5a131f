package e2e

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/core/internal/testweb"
)

// explanations are what an explanation must hold for each thing that the truth says of a URL. The
// fates that time decides have two readings.
func explanations() map[string]string {
	const later = `its last fetch failed, \d+ in a row \(exception\(16\): %s|fetched .*, interval 30 days|it is due|held back until|is gone`
	const broken = `its host failed \d+ times in a row|its host is held back|`
	failing := func(what string) string { return strings.Replace(later, "%s", what, 1) }
	return map[string]string{
		"page":                `its document is in main`,
		"may have duplicates": `its document is in main|it has the content of http://host\d+\.test/\S+, which is kept`,
		"plain text":          `its document is in main`,
		"nofollow":            `its document is in main|not in the index: noindex`,
		"meta refresh":        `its document is in main|redirects to http://`,
		"wrong content type":  `its document is in main|not in the index: |held back until`,
		"truncated":           `its document is in main|failed|not in the index|held back`,
		"301":                 `it redirects to http://host\d+\.test/\S*, which is a page of its own`,
		"302":                 `it redirects to http://host\d+\.test/\S*, which is a page of its own`,
		"303":                 `it redirects to http://host\d+\.test/\S*, which is a page of its own`,
		"307":                 `it redirects to http://host\d+\.test/\S*, which is a page of its own`,
		"308":                 `it redirects to http://host\d+\.test/\S*, which is a page of its own`,
		"401":                 `it is gone \(access_denied\(17\): 401 Unauthorized\)`,
		"403 for ever":        `it is gone \(access_denied\(17\): 403 Forbidden\)`,
		"404":                 `it is gone \(notfound\(14\): 404 Not Found\)`,
		"410":                 `it is gone \(gone\(11\): 410 Gone\)`,
		"robots denied":       `robots\.txt:\d+ forbids it: (?i:disallow): ?/`,
		"500 for ever":        failing("500 Internal Server Error"),
		"500 at first":        failing("500 Internal Server Error"),
		"502 for ever":        failing("502 Bad Gateway"),
		"502 at first":        failing("502 Bad Gateway"),
		"503 for ever":        failing("503 Service Unavailable"),
		"503 at first":        failing("503 Service Unavailable"),
		"504 for ever":        failing("504 Gateway Timeout"),
		"504 at first":        failing("504 Gateway Timeout"),
		"429 at first":        failing("429 Too Many Requests"),
		"429 for ever":        failing("429 Too Many Requests"),
		"connection broken":   broken + failing(".*broken"),
	}
}

// TestExplain crawls a web and lets explain tell of URLs of every kind: what it says must be what
// the web knows of them.
func TestExplain(t *testing.T) {
	cfg := testweb.DefaultConfig()
	cfg.Hosts, cfg.Pages, cfg.MaxPerHost = 40, 1000, 1
	web, addr := serveWeb(t, cfg)
	dir := filepath.Join(t.TempDir(), "crawl")
	l := openLocal(t, dir, addr, "linkdb.ignore_internal_links=false", "http.retry_after_default=1s", "cycle.rounds=6", "fetcher.release_after=1s")
	l.inject(t, "http://host0.test/")
	if _, err := l.cycle.NewRunner().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	target := query.Target{Source: &query.Source{Crawl: l.Crawl}}
	ask := func(url string) *query.Explanation {
		t.Helper()
		x, err := query.Ask(t.Context(), target, query.Explain(), query.ExplainQuery{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}

	want, told := explanations(), map[string]int{}
	for e := range web.Truth(testweb.Options{OnePass: true}).Each {
		re := want[e.Why]
		if told[e.Why] == 2 || re == "" {
			continue
		}
		x := ask(e.URL)
		if x.Record == nil {
			continue // not reached yet
		}
		told[e.Why]++
		will := strings.Join(x.Will, "\n")
		if !regexp.MustCompile(re).MatchString(will) {
			t.Errorf("%s, %s: want %s in\n%s", e.URL, e.Why, re, will)
		}
		if e.NoRequest != (x.Robots != nil && !x.Robots.Allowed && x.Robots.State == "found") {
			t.Errorf("%s, %s: robots say %+v", e.URL, e.Why, x.Robots)
		}
		if x.Record.StatusName == "db_fetched" {
			last := len(x.History) - 1
			if last < 0 || x.History[last].Fetch.WARC == "" || x.History[last].Parse == nil || x.Document == nil {
				t.Errorf("%s, %s: fetch, parse or document is missing", e.URL, e.Why)
			}
		}
	}
	kinds := 0
	for range told {
		kinds++
	}
	if kinds < 22 {
		t.Errorf("only %d kinds of URLs: %v", kinds, told)
	}

	for _, c := range []struct{ url, want string }{
		{"http://host0.test/never.html", `no crawled page links to it`},
		{"http://other.test/", `no crawled page links to it.*\n.*http://other\.test/robots\.txt is asked for first`},
		{"HTTP://HOST0.TEST:80/a/../never.html#x", `links to it become links to http://host0\.test/never\.html`},
		{"http://host0.test/x.gif", `dropped by urlfilter-regex \(built-in rules:\d+: .*gif`},
		{"http://host0.test/a/a/a/a/", `dropped by urlfilter-validator \(path repeats /a 4 times in a row\)`},
		{"mailto:a@example.org", `dropped by url`},
		{"words", `dropped by urlnormalizer-basic \(no scheme\)`},
		{"http://", `dropped by urlnormalizer-basic \(no host\)`},
	} {
		if will := strings.Join(ask(c.url).Will, "\n"); !regexp.MustCompile(c.want).MatchString(will) {
			t.Errorf("%s: want %s in\n%s", c.url, c.want, will)
		}
	}
	if x := ask("HTTP://HOST0.TEST:80/#top"); x.URL != "http://host0.test/" || x.Record == nil || x.Steps[0].Plugin != "urlnormalizer-basic" || x.Steps[0].Verdict != "changed" {
		t.Errorf("another spelling is not recognised: %+v", x.Steps)
	}

	idle, err := query.Ask(t.Context(), target, query.Idle(), query.IdleQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, s := range idle.Records {
		sum += s.Share
	}
	if idle.Limit == "" || idle.Working || sum < 0.999 || sum > 1.001 {
		t.Errorf("idle: %+v", idle)
	}
}
