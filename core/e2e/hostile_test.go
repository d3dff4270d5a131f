package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/sdk/testsite"
)

// TestHostileRuleAndURLs crawls a page whose links are hostile to the plugins that
// judge them: one on which a rule takes exponential time, one of 1 MiB, bytes that are
// no UTF-8, 10,000 parameters. Each costs that link only, and the page's record says by
// whom it was dropped.
func TestHostileRuleAndURLs(t *testing.T) {
	site := testsite.Start(t, testsite.Options{}).Site()
	var (
		slow       = "/" + strings.Repeat("x", 60) // time of the rule of urlfilter-regex grows as 2^60
		slowToo    = "/" + strings.Repeat("z", 60) // the same for urlfilter-fast
		long       = "/long" + strings.Repeat("a", 1<<20)
		parameters = "/parameters?" + strings.Repeat("p=1&", 10_000)
		page       strings.Builder
	)
	page.WriteString("<title>Start</title>")
	for _, l := range []string{"/first", slow, slowToo, long, "/bytes\xff\xfe", "/redirect", parameters, "/last"} {
		fmt.Fprintf(&page, "<a href=\"%s\">x</a>\n", strings.ReplaceAll(l, "&", "&amp;"))
	}
	site.Page("/", page.String())
	site.Page("/first", "<title>First</title>")
	site.Page("/last", "<title>Last</title>")
	site.RawText("/redirect", "HTTP/1.1 302 Found\r\nLocation: /raw\xff\xfe\r\nContent-Length: 0\r\n\r\n")
	dir := t.TempDir()
	crawl := filepath.Join(dir, "crawl")
	conf := writeFile(t, dir, "site.hcl", `
http {
  agent_name = "testbot"
  agent_url  = "http://example.org/bot"
}
fetcher { server_delay = "0s" }
store { low_water = "0" }
# The parser drops the URL of 1 MiB, the plugins judge the rest.
db { max_outlink_length = 65536 }
plugin "parse-html" { outlinks_max_length = "64KiB" }
plugin { add = ["urlnormalizer-ajax", "urlnormalizer-querystring", "urlfilter-fast", "urlfilter-automaton", "urlfilter-suffix"] }
plugin "urlfilter-regex" {
  rules      = ["-^http://[^/]+/(x+x+)+\\1y$", "+."]
  time_limit = "50ms"
}
plugin "urlfilter-automaton" { rules = ["+@"] }
plugin "urlfilter-suffix" { rules = ["+P", ".zip"] }
plugin "urlfilter-fast" {
  rules      = ["Domain .", "DenyPath (z+z+)+\\1y$"]
  time_limit = "50ms"
}
`)
	root := site.URL("/")
	t.Log(mustRun(t, "run", "--config", conf, "--dir", crawl, "--seeds", root, "--rounds", "2"))
	for _, path := range []string{"/first", "/last"} {
		if out := mustRun(t, "readdb", "--dir", crawl, "--config", conf, "--url", site.URL(path)); !strings.Contains(out, "db_fetched") {
			t.Errorf("%s was not fetched:\n%s", path, out)
		}
	}
	segments, err := filepath.Glob(filepath.Join(crawl, "segments", "*"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("segments %v, %v", segments, err)
	}
	raw := mustRun(t, "readseg", "--dir", crawl, "--config", conf, "--get", "--nocontent", "--json", filepath.Base(segments[0]), root)
	var got query.PageAnswer
	if err := json.Unmarshal([]byte(raw), &got); err != nil || got.ParseData == nil {
		t.Fatalf("%v in %.4000s", err, raw)
	}
	want := map[string]int64{"urlfilter-regex": 1, "urlfilter-fast": 1, "urlfilter-validator": 1, "too_long": 1}
	if d := cmp.Diff(want, got.ParseData.Dropped); d != "" {
		t.Errorf("dropped links (-want +got):\n%s", d)
	}
	if n := len(got.ParseData.Outlinks); n != 4 { // first, last, redirect, the bytes as U+FFFD
		t.Errorf("%d links kept: %+v", n, got.ParseData.Outlinks)
	}
	// One line for each, and the rules that ran out of time are named.
	lines := filepath.Join(dir, "urls.txt")
	text := strings.Join([]string{"/first", slow, long, "/bytes\xff", parameters, slowToo, "/last"}, "\n"+site.URL(""))
	if err := os.WriteFile(lines, []byte(site.URL("")+text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for checker, want := range map[string][]string{
		"filterchecker": {
			"+" + site.URL("/first"), "(time limit)", "longer than max_length", "invalid UTF-8", "longer than max_length", "(time limit)", "+" + site.URL("/last"),
		},
		"normalizerchecker": {site.URL("/first"), slow, "/longaaaa", "/bytes%FF", "/parameters?p=1&p=1", slowToo, site.URL("/last")},
	} {
		got := checkLines(t, conf, checker, lines)
		if len(got) != len(want) {
			t.Errorf("%s: %d lines for %d URLs", checker, len(got), len(want))
			continue
		}
		for i := range want {
			if !strings.Contains(got[i], want[i]) {
				t.Errorf("%s: line %d is %.200s … %s, want %s in it", checker, i+1, got[i], got[i][max(0, len(got[i])-200):], want[i])
			}
		}
	}
}

// checkLines returns the lines that a checker prints for those of a file.
func checkLines(t *testing.T, conf, checker, file string) []string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	cmd := command(t.Context(), t, checker, "--config", conf, "--stdin")
	cmd.Stdin = f
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", checker, err)
	}
	return slices.Collect(strings.Lines(string(out)))
}
