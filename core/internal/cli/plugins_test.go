package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestPluginCommands(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	page := filepath.Join(dir, "page.html")
	if err := os.WriteFile(page, []byte("<title>Tea</title><a href=/x>more</a>"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		stdin string
		args  []string
		code  int
		want  []string
	}{
		{
			"filter", "",
			[]string{"call", "urlfilter-regex", "http://a.test/", "http://a.test/x.gif"},
			ExitDone,
			[]string{`^http://a.test/\t.*"Accept":true`, `^http://a.test/x.gif\t.*"Accept":false`},
		},
		{"items on standard input", "http://a.test/b/../c\n\n", []string{"call", "urlnormalizer-basic", "-"}, ExitDone, []string{`"URL":"http://a.test/c"`}},
		{"settings of the command line", "", []string{"call", "urlfilter-regex", "-D", "plugin.urlfilter-regex.rules=-.", "http://a.test/"}, ExitDone, []string{`"Accept":false`}},
		{"a file for a parser", "", []string{"call", "parse-html", page}, ExitDone, []string{`"Title":"Tea"`, `http://example.org/x`}},
		{"an object", "", []string{"call", "scoring-opic", `{"URL":"http://a.test/","Fields":{"opic_cash":1000000},"Targets":[{"URL":"http://a.test/b"}]}`}, ExitDone, []string{`opic`}},
		{"a writer", "", []string{"call", "indexer-bleve", `{"ID":"http://a.test/","Fields":{"title":["x"]}}`}, ExitDone, nil},
		{"JSON", "", []string{"call", "urlfilter-regex", "http://a.test/", "--json"}, ExitDone, []string{`"answer"`}},
		{"no such plugin", "", []string{"call", "urlfilter-regexp", "x"}, ExitUsage, []string{`!did you mean "urlfilter-regex"`}},
		{"no such point", "", []string{"call", "urlfilter-regex", "--point", "parser", page}, ExitUsage, []string{`!it provides urlfilter`}},
		{"wrong item", "", []string{"call", "scoring-opic", "http://a.test/"}, ExitUsage, []string{`!want a scoring.DistributeInput, such as`}},
		{"broken JSON", "", []string{"call", "scoring-opic", "{"}, ExitUsage, []string{`!item 1 is no JSON`}},
		{"unknown field", "", []string{"call", "scoring-opic", `{"Colour":1}`}, ExitUsage, []string{`!unknown field "Colour"`}},
		{"no items", "", []string{"call", "urlfilter-regex"}, ExitUsage, []string{`!no items given; an item is a URL`}},
		{"check", "", []string{"check", "urlnormalizer-pass"}, ExitDone, []string{`^ok       base/describe$`, `^plugin urlnormalizer-pass: all is well$`}},
		{"check a folder without plugin", "", []string{"check", "./nothing"}, ExitUsage, []string{`!nothing`}},
		{"no verb", "", nil, ExitUsage, []string{`!plugin list, check, new or call`}},
		{"wrong verb", "", []string{"chek", "x"}, ExitUsage, []string{`!did you mean "check"`}},
		{"id without point", "", []string{"new", "mine"}, ExitUsage, []string{`!begin it with one of protocol- `}},
		{"new", "", []string{"new", "urlfilter-mine", "--folder", "made"}, ExitDone, []string{`made/urlfilter-mine/plugin.hcl`, `go build`, `crawler plugin call made/urlfilter-mine http://example.org/a.gif$`}},
		{"new again", "", []string{"new", "urlfilter-mine", "--folder", "made"}, ExitUsage, []string{`!exists`}},
		{"not built yet", "", []string{"call", "made/urlfilter-mine", "x"}, ExitUsage, []string{`!not built yet`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			runLine(t, c.stdin, append([]string{"plugin"}, c.args...)...).wants(t, c.code, c.want...)
		})
	}
}

func TestConfigCommands(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	site := filepath.Join(dir, "site.hcl")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(site, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("http {\n  read_timeout = \"7s\"\n  auth_password_secret = env(\"SECRET\")\n}\n")
	runLine(t, "", "config", "check", "--config", "site.hcl").wants(t, ExitUsage, `!site.hcl:3:3: .*auth_password_secret`)
	write("http {\n  read_timeout = \"7s\"\n}\nplugin \"urlfilter-regex\" {\n  rules = [\"+.\"]\n}\n")
	runLine(t, "", "config", "check", "--config", "site.hcl").wants(t, ExitDone, `^The configuration is fine: `)
	runLine(t, "", "config", "check", "--config", "site.hcl", "-D", "http.agent_name=").wants(t, ExitUsage, `!http.agent_name is empty`)
	show := func(args ...string) outcome {
		return runLine(t, "", append([]string{"config", "show", "--config", "site.hcl"}, args...)...)
	}
	show("--origin", "http.read_timeout").wants(t, ExitDone, `^http.read_timeout = "7s" +# site.hcl:2:\d+$`)
	show("--origin", "http.agent.name").wants(t, ExitDone, `^http.agent_name = "tester" +# environment CRAWLER_HTTP__AGENT_NAME$`)
	show("--origin", "urlfilter-regex").wants(t, ExitDone, `^plugin.urlfilter-regex.rules = \["\+\."\] +# site.hcl:5:\d+$`,
		`^plugin.urlfilter-regex.time_limit = "100ms" +# urlfilter-regex/plugin.hcl:\d+:1$`)
	show("--meaning", "db.fetch.interval.default").wants(t, ExitDone, `^# Nutch: db.fetch.interval.default$`, `^db.fetch_interval_default = "30d"$`)
	show("http.read_t").wants(t, ExitDone, `^http.read_timeout = `)
	show("http.nothing").wants(t, ExitUsage, `!there is no setting "http.nothing"`)
	show("--changed").wants(t, ExitDone, `\Ahttp.agent_name = .*\nhttp.agent_url = .*\nhttp.read_timeout = "7s"\nplugin.urlfilter-regex.rules = .*\n\z`)
	var values []shownValue
	if o := show("--json"); json.Unmarshal([]byte(o.out), &values) != nil || len(values) < 200 {
		t.Errorf("%d values: %s%.200s", len(values), o.err, o.out)
	}
	seen := map[string]bool{}
	for _, v := range values {
		if seen[v.Key] {
			t.Errorf("%s is there twice", v.Key)
		}
		seen[v.Key] = true
	}
	runLine(t, "", "config", "shw").wants(t, ExitUsage, `!did you mean "show"`)
	runLine(t, "", "config").wants(t, ExitUsage, `!config show`)
}
