package robots

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/temoto/robotstxt"
)

func parse(text string, agents ...string) *Rules {
	return Parse([]byte(text), Agents("foobot", agents))
}

// Each case: a robots.txt and what foobot may fetch ("+") and may not ("-").
func TestVerdicts(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "+/ +/x"},
		{"no group", "Disallow: /", "+/"},
		{"RFC 9309 5.1, foobot", "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n", "-/ -/publications/ +/example/page.html +/example/allowed.gif"},
		{"RFC 9309 5.2, longest match", "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n", "+/example/page/ -/example/page/disallowed.gif +/"},
		{"allow wins a tie", "User-agent: *\nDisallow: /page\nAllow: /page", "+/page"},
		{"allow wins a tie in any order", "User-agent: *\nAllow: /page\nDisallow: /page", "+/page"},
		{"order does not matter", "User-agent: *\nAllow: /\nDisallow: /a/", "-/a/b +/b"},
		{"empty disallow allows", "User-agent: foobot\nDisallow:\n\nUser-agent: *\nDisallow: /", "+/x"},
		{"group without rules", "User-agent: foobot\n\nUser-agent: *\nDisallow: /", "-/x"}, // one group of two agents
		{"case-insensitive names and keys", "uSeR-aGeNt: FooBot\ndIsAlLoW: /A", "-/A +/a"},
		{"name with version", "User-agent: foobot/2.1\nDisallow: /a", "-/a"},
		{"no match by prefix", "User-agent: foo\nDisallow: /a\nUser-agent: foobots\nDisallow: /b", "+/a +/b"},
		{"own group hides *", "User-agent: *\nDisallow: /a\nUser-agent: foobot\nDisallow: /b", "+/a -/b"},
		{"unknown group is not ours", "User-agent: other\nDisallow: /", "+/a"},
		{"groups of one agent merge", "User-agent: foobot\nDisallow: /a\nUser-agent: x\nDisallow: /\nUser-agent: FOOBOT\nDisallow: /b", "-/a -/b +/c"},
		{"several agents share rules", "User-agent: x\nUser-agent: foobot\nDisallow: /a", "-/a"},
		{"other records don't end a list of agents", "User-agent: foobot\nSitemap: http://a/s\nCrawl-delay: 1\nFoo: bar\nUser-agent: x\nDisallow: /a", "-/a"},
		{"blank lines and comments inside", "User-agent: foobot # us\n\n# c\n\nDisallow: /a # b\n", "-/a -/ab +/b"},
		{"CR line ends", "User-agent: foobot\rDisallow: /a\rDisallow: /b\r", "-/a -/b +/c"},
		{"CRLF, white space", "  User-agent :\tfoobot \r\n\tDisallow :  /a\t\r\n", "-/a +/b"},
		{"byte order mark", "\xef\xbb\xbfUser-agent: foobot\nDisallow: /a", "-/a"},
		{"missing colon", "User-agent foobot\nDisallow /a", "-/a"},
		{"star inside", "User-agent: *\nDisallow: /a*c", "-/abc -/ac -/a/x/cd +/ab +/x/abc"},
		{"leading star", "User-agent: *\nDisallow: *.gif", "-/x.gif -/x.gif?y +/x.png"},
		{"trailing star", "User-agent: *\nDisallow: /a*", "-/a -/ab +/b"},
		{"anchor", "User-agent: *\nDisallow: /*.php$", "-/a.php +/a.php?x +/a.php5"},
		{"anchored path", "User-agent: *\nDisallow: /$\n", "-/ +/a"},
		{"dollar inside is a character", "User-agent: *\nDisallow: /a$b", "-/a$b -/a%24b +/a"},
		{"star and anchor need the end twice", "User-agent: *\nDisallow: /*a*a$", "-/aa -/xaya +/a +/ab"},
		{"the anchor counts", "User-agent: *\nAllow: /a\nDisallow: /a$", "-/a +/ab"},
		{"specificity counts octets", "User-agent: *\nAllow: /p\nDisallow: /*.htm", "-/p.htm +/p"},
		{"escaped unreserved", "User-agent: *\nDisallow: /%7Ejoe/a%2Db", "-/~joe/a-b -/%7ejoe/a-b"},
		{"escaped reserved stays", "User-agent: *\nDisallow: /a%2fb", "-/a%2Fb +/a/b"},
		{"non-ASCII", "User-agent: *\nDisallow: /ツ\nDisallow: /%E3%83%86", "-/%E3%83%84 -/%e3%83%84x -/テ"},
		{"escaped star is literal", "User-agent: *\nDisallow: /f-%2A.html", "-/f-*.html +/f-x.html"},
		{"broken escapes", "User-agent: *\nDisallow: /a%zz\nDisallow: /b%", "-/a%25zz?x -/b%25 +/a +/b"},
		{"query", "User-agent: *\nDisallow: /a?b", "-/a?b=1 +/a +/a/?b"},
		{"path without slash", "User-agent: *\nDisallow: tmp/", "-/tmp/x +/x"},
		{"robots.txt itself", "User-agent: *\nDisallow: /", "+/robots.txt -/robots.txt?x -/a"},
		{"bad crawl-delay spoils nothing", "User-agent: *\nCrawl-delay: soon\nDisallow: /a", "-/a"},
		{"rules before agents", "Disallow: /b\nUser-agent: *\nDisallow: /a", "-/a +/b"},
		{"html", "<html><body>User-agent: *<br>Disallow: /</body></html>", "+/a"},
	} {
		r := parse(c.text)
		for _, w := range strings.Fields(c.want) {
			if got := r.Check("http://h" + w[1:]); got.Allowed != (w[0] == '+') {
				t.Errorf("%s: %s is allowed: %v (line %d %q)", c.name, w[1:], got.Allowed, got.Line, got.Rule)
			}
		}
	}
}

func TestWhatCountsOfAURL(t *testing.T) {
	r := parse("User-agent: *\nDisallow: /$\nDisallow: /?q")
	for u, want := range map[string]bool{
		"http://h": false, "http://h/": false, "http://h#f": false, "http://h?q": false, "http://h/#f": false,
		"http://h/a": true, "http://u:p@h:8/a?b#/": true, "http://h/%zz": false,
	} {
		if got := r.Check(u).Allowed; got != want {
			t.Errorf("%s: allowed %v", u, got)
		}
	}
}

// Nutch's TestRobotRulesParser: one agent, several merged, an unknown one.
func TestAgentsMerge(t *testing.T) {
	const text = "User-Agent: Agent1 #foo\nDisallow: /a\nDisallow: /b/a\n#Disallow: /c\n\n" +
		"User-Agent: Agent2 Agent3#foo\nUser-Agent: Agent4\nDisallow: /d\nDisallow: /e/d/\n\n" +
		"User-Agent: *\nDisallow: /foo/bar/\n" // CR variant below
	paths := []string{"/a", "/a/", "/b/a/c", "/c", "/d", "/e/d/x", "/foo/bar/x"}
	for _, c := range []struct {
		name   string
		others []string
		agent  string
		denied []string
	}{
		{"Agent1/1.0", nil, "agent1", []string{"/a", "/a/", "/b/a/c"}},
		{"AGENT4", []string{"agent1", "*", "agent4"}, "agent1", []string{"/a", "/a/", "/b/a/c", "/d", "/e/d/x"}},
		{"nobody", []string{"", "*"}, "*", []string{"/foo/bar/x"}},
	} {
		for _, eol := range []string{"\n", "\r", "\r\n"} {
			r := Parse([]byte(strings.ReplaceAll(text, "\n", eol)), Agents(c.name, c.others))
			var denied []string
			for _, p := range paths {
				if !r.Check("http://h" + p).Allowed {
					denied = append(denied, p)
				}
			}
			if d := cmp.Diff(c.denied, denied); d != "" || r.Agent != c.agent {
				t.Errorf("%s, %q: group of %q\n%s", c.name, eol, r.Agent, d)
			}
		}
	}
	if d := cmp.Diff([]string{"a", "b"}, Agents(" A/1 ", []string{"b", "*", "B/2", ""})); d != "" {
		t.Error(d)
	}
}

func TestVerdictNamesTheLine(t *testing.T) {
	r := parse("# hello\r\n\r\nUser-agent: *\r\nAllow: /a/b # shared\r\nDisallow: /a\r\n")
	for u, want := range map[string]Verdict{
		"http://h/a/b": {Allowed: true, Agent: "*", Line: 4, Rule: "Allow: /a/b # shared"},
		"http://h/a":   {Allowed: false, Agent: "*", Line: 5, Rule: "Disallow: /a"},
		"http://h/":    {Allowed: true, Agent: "*"},
	} {
		if d := cmp.Diff(want, r.Check(u)); d != "" {
			t.Errorf("%s: %s", u, d)
		}
	}
}

func TestCrawlDelayAndSitemaps(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Duration
	}{
		{"User-agent: foobot\nCrawl-delay: 2.5", 2500 * time.Millisecond},
		{"User-agent: foobot\nCrawl-delay: 3\nUser-agent: x\nCrawl-delay: 9", 9 * time.Second}, // x joins the group of foobot
		{"User-agent: foobot\nCrawl-delay: 3\nDisallow:\nUser-agent: x\nCrawl-delay: 9", 3 * time.Second},
		{"User-agent: foobot\nCrawl-delay: 3\nDisallow: /a\nUser-agent: foobot\nCrawl-delay: 7", 7 * time.Second},
		{"User-agent: *\nCrawl-delay: 3\nDisallow: /a\nUser-agent: foobot\nDisallow: /a", 0},
		{"User-agent: *\nCrawl-delay: -1", 0},
		{"User-agent: *\nCrawl-delay: NaN", 0},
		{"User-agent: *\nCrawl-delay: 1e300", maxCrawlDelay},
		{"User-agent: *\nCrawl-delay: +Inf", maxCrawlDelay},
		{"Crawl-delay: 5\nUser-agent: *\nDisallow: /", 0},
	} {
		if got := parse(c.text).CrawlDelay; got != c.want {
			t.Errorf("%q: %v, want %v", c.text, got, c.want)
		}
	}
	r := parse("Sitemap: http://a/1.xml\nUser-agent: x\nDisallow: /\nsitemap:http://a/2.xml#x\nSitemap: http://a/1.xml\nSitemap:\n")
	if d := cmp.Diff([]string{"http://a/1.xml", "http://a/2.xml"}, r.Sitemaps); d != "" {
		t.Error(d)
	}
}

func TestLimit(t *testing.T) {
	head := "User-agent: *\nDisallow: /first\n"
	fill := strings.Repeat("#", MaxBytes-len(head)-len("\nDisallow: /al"))
	text := head + fill + "\nDisallow: /allowed-because-cut\nDisallow: /late\n"
	r := parse(text)
	if !r.Truncated || r.Check("http://h/first").Allowed || !r.Check("http://h/al").Allowed || !r.Check("http://h/late").Allowed {
		t.Errorf("truncated %v, rules %v", r.Truncated, r.rules)
	}
	if r := parse(text[:MaxBytes]); r.Truncated {
		t.Error("a text of exactly the limit is truncated")
	}
	if r := parse(strings.Repeat("x", MaxBytes+1)); !r.Truncated || len(r.rules) > 0 {
		t.Error("one endless line")
	}
}

// The reasons for not using the library: what it does with vectors of the RFC.
// Should a later version pass them, look again.
func TestLibraryFallsShort(t *testing.T) {
	for _, c := range []struct{ why, text, agent, path string }{
		{"a rule before the first agent", "Disallow: /b\nUser-agent: *\nDisallow: /a", "foobot", "/a"},
		{"a bad crawl-delay", "User-agent: *\nCrawl-delay: soon\nDisallow: /a", "foobot", "/a"},
		{"patterns are not bound to the start", "User-agent: *\nDisallow: /a*c", "foobot", "/x/abc"},
		{"allow does not win a tie", "User-agent: *\nDisallow: /page\nAllow: /page", "foobot", "/page"},
		{"agents match by prefix", "User-agent: bot\nDisallow: /a", "bother", "/a"},
		{"octets are not compared", "User-agent: *\nDisallow: /%7Ejoe", "foobot", "/~joe"},
		{"a dollar inside ends", "User-agent: *\nDisallow: /a$b", "foobot", "/a$b"},
	} {
		ours := Parse([]byte(c.text), Agents(c.agent, nil)).Check("http://h" + c.path).Allowed
		lib, err := robotstxt.FromString(c.text)
		if err == nil && lib.TestAgent(c.path, c.agent) == ours {
			t.Errorf("%s: the library agrees (allowed %v)", c.why, ours)
		}
	}
}

// slowMatch is the definition of a pattern, by trying everything.
func slowMatch(p, s string, anchored bool) bool {
	switch {
	case p == "":
		return !anchored || s == ""
	case p[0] == '*':
		return slowMatch(p[1:], s, anchored) || s != "" && slowMatch(p, s[1:], anchored)
	}
	return s != "" && s[0] == p[0] && slowMatch(p[1:], s[1:], anchored)
}

func FuzzMatch(f *testing.F) {
	f.Add("/a*b$", "/aab")
	f.Add("*a*a", "/xaxa")
	f.Fuzz(func(t *testing.T, p, s string) {
		if p == "" || len(p) > 12 || len(s) > 24 {
			t.Skip()
		}
		r := newRule(p)
		path := normalize("/"+s, true)
		if got, want := r.matches(path), slowMatch(r.pattern, path, r.anchored); got != want {
			t.Fatalf("pattern %q on %q: %v, want %v", p, path, got, want)
		}
		if again := normalize(path, true); again != path {
			t.Fatalf("normal form of %q changes to %q", path, again)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a\rCrawl-delay: 1"), "http://h/a")
	f.Add([]byte("\xef\xbb\xbfuser-agent foobot\n\nallow: *$"), "http://h")
	f.Fuzz(func(t *testing.T, text []byte, u string) {
		r := Parse(text, []string{"foobot"})
		v := r.Check(u)
		lines := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' })
		if v.Line > 0 && !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, v.Rule) }) {
			t.Fatalf("rule %q is no line of the text", v.Rule)
		}
		if r.CrawlDelay < 0 || r.CrawlDelay > maxCrawlDelay {
			t.Fatalf("crawl delay %v", r.CrawlDelay)
		}
		if !slices.IsSortedFunc(r.rules, func(a, b rule) int { return b.octets - a.octets }) {
			t.Fatal("rules are not in order")
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	var s strings.Builder
	s.WriteString("User-agent: *\n")
	for i := range 500 {
		s.WriteString("Disallow: /dir" + strings.Repeat("x", i%40) + "/*/y\n")
	}
	r := parse(s.String())
	for b.Loop() {
		r.Check("http://host/some/page.html?query=1")
	}
}
