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

// TestConfigCheckAsks: "config check" says what only the plugins of writers and exchanges know, at
// the line where it stands, and asks no server.
func TestConfigCheckAsks(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, c := range map[string]struct {
		text string
		code int
		want []string
	}{
		"no server is asked": {`index_writer "a" {
  plugin = "indexer-solr"
  url    = ["http://127.0.0.1:1/solr"]
}
index_writer "b" {
  plugin = "indexer-kafka"
  brokers = ["127.0.0.1:1"]
  topic   = "docs"
}
`, ExitDone, []string{`^The configuration is fine`}},
		"every writer": {`index_writer "a" {
  plugin = "indexer-solr"
  url    = ["zookeeper:2181"]
}
index_writer "b" {
  plugin  = "indexer-kafka"
  brokers = ["127.0.0.1:1"]
}
index_writer "c" {
  plugin  = "indexer-csv"
  charset = "klingon"
}
index_writer "d" {
  plugin = "indexer-elastic"
  url    = ["http://127.0.0.1:1"]
  index  = "Pages"
}
index_writer "e" {
  plugin   = "indexer-bleve"
  analyzer = "klingon"
}
index_writer "f" {
  plugin = "indexer-parquet"
  fields = ["title", "title"]
}
index_writer "g" {
  plugin     = "indexer-rabbit"
  server_uri = "http://127.0.0.1"
}
index_writer "h" {
  plugin    = "indexer-webhook"
  url       = ["http://127.0.0.1:1/"]
  cert_file = "none.pem"
}
`, ExitUsage, []string{
			`!^site.hcl:3:12: index_writer "a" \(plugin indexer-solr\): url`, `!^site.hcl:6:13: index_writer "b" .*topic is missing`,
			`!^site.hcl:11:13: index_writer "c" .*charset = "klingon"`, `!^site.hcl:16:12: index_writer "d" .*want lower case`,
			`!^site.hcl:20:14: index_writer "e" .*analyzer = "klingon"`, `!^site.hcl:24:12: index_writer "f" .*"title" is empty or there twice`,
			`!^site.hcl:28:16: index_writer "g" .*server_uri`, `!^site.hcl:33:15: index_writer "h" .*cert_file`,
		}},
		"exchanges": {`plugin {
  add = ["exchange-jexl"]
}
exchange "x" {
  plugin  = "exchange-jexl"
  expr    = "doc.title =="
  writers = ["main"]
}
exchange "y" {
  plugin  = "exchange-jexl"
  writers = ["main"]
}
`, ExitUsage, []string{`!^site.hcl:6:13: exchange "x" .*expr: `, `!^site.hcl:10:13: exchange "y" .*expr is missing`}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile("site.hcl", []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			runApp(t, "", true, "config", "check", "--config", "site.hcl").wants(t, c.code, c.want...)
		})
	}
	// Over the wire, with a plugin whose settings are wrong.
	if err := os.WriteFile("site.hcl", []byte("plugin \"urlfilter-regex\" {\n  rules = [\"+(\"]\n}\nindex_writer \"c\" {\n  plugin  = \"indexer-csv\"\n  charset = \"klingon\"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	runLine(t, "", "config", "check", "--config", "site.hcl").wants(t, ExitUsage,
		`!^site.hcl:2:11: plugin "urlfilter-regex": .*missing closing`, `!^site.hcl:6:13: index_writer "c" \(plugin indexer-csv\): .*charset = "klingon"`)
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
