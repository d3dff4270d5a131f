package config

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/manifest"
)

// smallDefaults has a setting of each type, so that a run is quick.
const smallDefaults = `
plugin {
  # Ids.
  includes = "a|b"
}
http {
  # Name.
  # Nutch: http.agent.name
  agent_name = ""
  # Limit.
  # Type: size, min 0, or -1
  # Nutch: http.content.limit (bytes)
  content_limit = "1MiB"
  # Time.
  # Type: duration, min 1s
  # Nutch: http.timeout (ms)
  timeout = "5s"
  # Password.
  # Type: string, secret
  proxy_password = ""
  # Number.
  # Type: int, min 1, max 9
  threads = 5
  # Fraction.
  rate = 0.5
  # Flag.
  http2 = true
  # File.
  # Type: file
  mime = ""
  # Mode.
  # Type: one of default, adaptive
  # Nutch: db.fetch.schedule.class (DefaultFetchSchedule=default)
  mode = "default"
}
urlfilter {
  # Order.
  order = ["x"]
  # Scopes.
  scopes = {}
}
index_writer "m" {
  plugin = "indexer-bleve"
}
`

// FuzzLoad feeds files, environment and command line at once. Whatever comes,
// there is an error that says something, or every value has its type, shows
// itself as HCL that reads back, and can be decoded.
func FuzzLoad(f *testing.F) {
	f.Add("http {\n  agent_name = \"x\"\n}", "CRAWLER_HTTP__AGENT_NAME=y", "http.timeout=5000")
	f.Add("plugin \"a-b\" {\n  x = [1, {y = \"z\"}]\n}", "CRAWLER_PLUGIN__A_B__X=1", "plugin.a-b.x=2")
	f.Add("index_writer \"m\" {\n  plugin = env(\"P\")\n}", "P=indexer-bleve", "index_writer.m.path=/x")
	f.Add("urlfilter {\n  order = [\"${upper(1)}\", <<E\nx\nE\n]\n}", "CRAWLER_=", "=")
	f.Add("urlfilter {\n  scopes = { \"a/b\" = \"c\" }\n}", "CRAWLER_URLFILTER__ORDER=a,b", "urlfilter.scopes=a=b,c")
	f.Add("http {\n  timeout = \"1d2h\"\n threads = 1e1\n rate = 1\n}", "x", "http.rate=1e400")
	f.Fuzz(func(t *testing.T, file, env, set string) {
		name := filepath.Join(t.TempDir(), "site.hcl")
		if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(Options{Defaults: []byte(smallDefaults), Files: []string{name}, Environ: []string{env}, Sets: []string{set}})
		if err != nil {
			var ps hclconf.Problems
			if !errors.As(err, &ps) || len(ps) == 0 || ps.Error() == "" {
				t.Fatalf("an error that says nothing: %#v", err)
			}
			return
		}
		_ = c.ValidatePlugins(nil) // any answer will do, as long as it comes
		checkValues(t, c)
	})
}

func checkValues(t *testing.T, c *Config) {
	t.Helper()
	for _, v := range c.All() {
		e := c.entry(v.Key)
		if e.setting == nil || v.Redacted {
			if v.Text != hidden {
				t.Fatalf("%s shows %s", v.Key, v.Text)
			}
			continue
		}
		f, body, ps := hclconf.Parse("shown.hcl", []byte("x = "+v.Text+"\n"))
		if ps != nil {
			t.Fatalf("%s shows %q: %v", v.Key, v.Text, ps)
		}
		back, ps := f.Eval(body.Attributes["x"].Expr, nil)
		if ps != nil {
			t.Fatalf("%s shows %q: %v", v.Key, v.Text, ps)
		}
		checked, err := e.setting.Check(back)
		if err != nil || manifest.Literal(checked) != v.Text {
			t.Fatalf("%s shows %q, which reads back as %v, %v", v.Key, v.Text, checked, err)
		}
	}
}

// FuzzAlternatives checks that expanding groups neither loses nor adds a match.
func FuzzAlternatives(f *testing.F) {
	f.Add("urlfilter-(regex|validator)|index-(basic|more)?", "urlfilter-regex")
	f.Add("a(b|c(d|e))f|[|]g", "acdf")
	f.Fuzz(func(t *testing.T, re, id string) {
		whole, err := fullMatch(re)
		if err != nil || strings.Contains(re, "(?") {
			return // flags reach over the rest of a group; such groups are only split where it does no harm
		}
		any := false
		for _, a := range alternatives(re) {
			part, err := regexp.Compile(`^(?:` + a.text + `)$`)
			if err != nil {
				t.Fatalf("%q: alternative %q: %v", re, a.text, err)
			}
			any = any || part.MatchString(id)
		}
		if any != whole.MatchString(id) {
			t.Fatalf("%q matches %q: %v, its alternatives: %v", re, id, !any, any)
		}
	})
}
