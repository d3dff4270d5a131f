package cli

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/gonutch/crawler/core/internal/control"
	"github.com/gonutch/crawler/core/internal/query"
)

// TestExplainOddURLs: whatever is asked about gets an answer, as text that does nothing to a terminal and as JSON.
func TestExplainOddURLs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	set := func(args ...string) outcome {
		return runLine(t, "", append(args, "--dir", dir, "-D", "store.low_water=0", "-D", "http.agent_name=testbot")...)
	}
	set("inject", "http://known.test/", "http://müller.test/ä").wants(t, ExitDone)
	set("readdb", "--stats").wants(t, ExitDone, `^next due: +now$`)
	set("explain", "--idle").wants(t, ExitDone, `^Limited by: .*URLs are due$`, `100.0 % +due +2 URLs, 2 hosts$`, `^Next due: +now$`)
	c := openLocal(t, dir) // so that the plugins start once
	srv, err := control.Serve(t.Context(), dir, query.Verbs(c, nil, true), control.Options{Command: "crawler run"})
	if err != nil {
		t.Fatal(err)
	}
	const never, asked = `it never gets into the CrawlDB`, `/robots\.txt is asked for first`
	for _, c := range []struct{ url, want string }{
		{"http://known.test/", `it is due: 0 URLs with a better score go before it, 1 are equal`},
		{"http://müller.test/ä", `links to it become links to http://xn--mller-kva\.test/%C3%A4\n.*it is due`},
		{"http://xn--mller-kva.test/%C3%A4", `^ *it is due`},
		{"http://unknown.test/", `no crawled page links to it.*\n.*` + asked},
		{"http://known.test/a b", `become links to http://known\.test/a%20b\n.*no crawled page links to it`},
		{"https://user:secret@known.test/", `become links to https://known\.test/\n`},
		{"not a url", `urlnormalizer-basic \(no scheme\): ` + never},
		{"known.test", `urlnormalizer-basic \(no scheme\): ` + never},
		{"//known.test/", `urlnormalizer-basic \(no scheme\): ` + never},
		{"http:///x", `urlnormalizer-basic \(no host\): ` + never},
		{"http://[::1", `urlnormalizer-basic \(invalid IPv6 address\): ` + never},
		{"http://a.test:99999/", `urlnormalizer-basic \(invalid port "99999"\): ` + never},
		{"http://bad\xff.test/\xfe", `invalid character in the host name\): ` + never},
		{"http://1.2.3.4.5/", `looks like an IPv4 address but is none\): ` + never},
		{"ftp://known.test/x", `urlfilter-regex \(no rule matches\): ` + never},
		{"javascript:alert(1)", `urlfilter-regex \(no rule matches\): ` + never},
		{"http://known.test/" + strings.Repeat("a", 70_000), `URL of 70018 bytes is longer than max_length = 4KiB\): ` + never},
		{"http://known.test/\x1b[31m\x01\u202e\nx\u0085", `become links to http://known\.test/%1B%5B31m%01%E2%80%AE%0Ax%C2%85\n`},
	} {
		name := c.url[:min(len(c.url), 40)]
		re := regexp.MustCompile(`(?m)` + c.want)
		o := set("explain", c.url)
		o.wants(t, ExitDone)
		if !re.MatchString(o.out) {
			t.Errorf("%q: want %s in\n%.3000s", name, c.want, o.out)
		}
		if bad := func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }; !utf8.ValidString(o.out) || strings.ContainsFunc(o.out, bad) {
			t.Errorf("%q: what a terminal would not show as text in %.3000q", name, o.out)
		}
		j := set("explain", c.url, "--json")
		j.wants(t, ExitDone)
		var x query.Explanation
		if err := json.Unmarshal([]byte(j.out), &x); err != nil || !re.MatchString(strings.Join(x.Will, "\n")+"\n") {
			t.Errorf("%q: %v, want %s in %q of\n%.3000s", name, err, c.want, x.Will, j.out)
		}
	}
	if err := errors.Join(srv.Close(), c.Close(context.Background())); err != nil {
		t.Error(err)
	}
	set("explain", "").wants(t, ExitError, "!no URL given")
	set("explain").wants(t, ExitUsage, "!URL")
	set("explain", "http://known.test/", "--idle").wants(t, ExitUsage)
}
