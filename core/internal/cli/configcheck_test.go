package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestConfigCheckTogether: mistakes that different parts of the program find are told by one run, each once, in order of
// their lines; what only follows from others is not told.
func TestConfigCheckTogether(t *testing.T) {
	check := func(text string, args ...string) []string {
		t.Helper()
		dir := t.TempDir()
		file := filepath.Join(dir, "site.hcl")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		o := runLine(t, "", append([]string{"config", "check", "--config", file}, args...)...)
		if o.code != ExitUsage {
			t.Errorf("exit code %d\n%s%s", o.code, o.out, o.err)
		}
		var out []string
		for line := range strings.Lines(o.err) {
			if m := regexp.MustCompile(`^(?:.*/site\.hcl:(\d+:\d+)|(-D [\w.]+)): (.{0,46})`).FindStringSubmatch(line); m != nil {
				out = append(out, strings.TrimSpace(m[1]+m[2]+" "+m[3]))
			}
		}
		return out
	}
	got := check(`http {
  agent_nam = "me"
}
plugin "urlfilter-regex" {
  rules = ["no rule"]
}
plugin "parse-html" {
  nothing = 1
}
urlfilter {
  order = ["urlfilter-regex", "urlfilter-nope"]
}
generate {
  expr            = "url =~"
  restrict_status = "db_none"
}
dedup {
  compare_order = ["score", "beauty"]
}
sheet "x" {
  hosts = ["a:80"]
}
sheet "y" {
  hosts = 5
}
exchange "e" {
  plugin  = "exchange-jexl"
  expr    = "doc.x =="
  writers = ["bad", "main"]
}
index_writer "bad" {
  plugin = 5
}
index_writer "odd" {
  plugin = "indexer-csv"
  colour = "red"
}
`, "-D", "fetcher.threads_fetch=many")
	want := []string{
		`2:3 there is no setting agent_nam in http`, `5:11 plugin "urlfilter-regex": rules[0]`, `8:3 there is no setting nothing in plugin parse-ht`,
		`11:31 urlfilter.order: no urlfilter is called "urlf`, `14:21 generate.expr:`, `15:21 generate.restrict_status: there is no status`,
		`18:29 dedup.compare_order: there is no criterion "b`, `21:12 sheet.x.hosts: "a:80": want a host without por`, `24:11 sheet.y.hosts:`,
		`28:13 exchange "e" (plugin exchange-jexl): ex`, `32:12 index_writer.bad.plugin:`, `36:3 there is no setting colour in index_writer "od`,
		`-D fetcher.threads_fetch want a whole number`,
	}
	for i, w := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], w) {
			t.Errorf("mistake %d: want %s", i, w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d mistakes, want %d", len(got), len(want))
	}
	if t.Failed() {
		t.Logf("told:\n%s", strings.Join(got, "\n"))
	}

	// Nobody knows which plugins were wanted, but the rest is judged.
	got = check("plugin {\n  add = \"urlfilter-prefix\"\n}\nurlfilter {\n  order = [\"urlfilter-prefix\"]\n}\nsheet \"x\" {\n  hosts = [\"a:80\"]\n}\n")
	if len(got) != 2 || !strings.HasPrefix(got[0], "2:9 plugin.add: ") || !strings.HasPrefix(got[1], "8:12 sheet.x.hosts: ") {
		t.Errorf("%q", got)
	}
	// Of a file that is no HCL only that is told.
	got = check("http {\n  agent_name = \"x\n}\nsheet \"x\" {\n  hosts = [\"a:80\"]\n}\n")
	for _, g := range got {
		if !strings.Contains(g, "a quote is missing") {
			t.Errorf("%q", got)
		}
	}
	// The agent is missing.
	got = check("sheet \"x\" {\n  hosts = [\"a:80\"]\n}\n", "-D", "http.agent_name=", "-D", "http.agent_url=")
	if len(got) != 2 || !strings.HasPrefix(got[1], "-D http.agent_name ") || !strings.HasPrefix(got[0], "2:12") {
		t.Errorf("%q", got)
	}
}
