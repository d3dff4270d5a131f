package cli

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/gonutch/crawler/sdk/testsite"
)

func TestRobotsParserCases(t *testing.T) {
	dir := t.TempDir()
	datadriven.RunTest(t, "testdata/robotsparser", func(t *testing.T, d *datadriven.TestData) string {
		name := dir + "/robots.txt"
		if d.Cmd == "check" {
			name = dir + "/urls"
		}
		if err := os.WriteFile(name, []byte(d.Input+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if d.Cmd != "check" {
			return ""
		}
		args := []string{"robotsparser", dir + "/robots.txt", dir + "/urls", "-D", "http.robots_rules_allowlist=listed.example"}
		for _, a := range d.CmdArgs {
			if a.Key == "agents" {
				args = append(args, strings.Join(a.Vals, ","))
			} else {
				args = append(args, "--"+a.Key)
			}
		}
		o := runLine(t, "", args...)
		if o.code == ExitUsage {
			return o.err
		}
		if o.code != ExitDone {
			t.Errorf("exit code %d", o.code)
		}
		return o.err + o.out
	})
}

// TestRobotsParserFetches asks a host, over a redirect, and reads URLs from standard input.
func TestRobotsParserFetches(t *testing.T) {
	sites := testsite.Start(t, testsite.Options{})
	site := sites.Site()
	site.Redirect("/moved.txt", http.StatusMovedPermanently, "/robots.txt")
	site.Robots("User-agent: tester\nDisallow: /a\n")
	for _, from := range []string{site.URL("/moved.txt"), strings.TrimSuffix(site.URL("/"), "/")} {
		runApp(t, "http://h/a\nhttp://h/b\n", true, "robotsparser", from, "-").wants(t, ExitDone,
			"^not allowed:\thttp://h/a\tline 2: Disallow: /a$", "^allowed:\thttp://h/b\tno rule matches$", "!group for tester applies")
	}
	runApp(t, "", true, "robotsparser", site.URL("/nothing.txt"), "http://h/a").wants(t, ExitDone, "^allowed:\thttp://h/a", "!robots.txt is missing")
	site.Status("/broken.txt", http.StatusServiceUnavailable)
	runApp(t, "", true, "robotsparser", site.URL("/broken.txt"), "http://h/a").wants(t, ExitDone, "^not allowed:\thttp://h/a\tunreachable", "!robots.txt is unreachable")
	runLine(t, "", "robotsparser", "x").wants(t, ExitUsage, "!want a robots.txt")
	runLine(t, "", "robotsparser", t.TempDir()+"/none", "http://h/").wants(t, ExitError, "!read robots.txt: .*no such file")
	runLine(t, "", "robotsparser", "x", "http://h/", "-D", "http.agent_name=").wants(t, ExitUsage, "!no agent")
}
