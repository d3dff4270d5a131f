package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestComplaints: what bad input gets to read says what is wrong and what is wanted, once.
func TestComplaints(t *testing.T) {
	tmp := t.TempDir()
	file := filepath.Join(tmp, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(tmp, "plugins", "no-plugin"), 0o750); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(tmp, "crawl")
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{ExitUsage, `there is no command "crawl"; what Nutch calls so is "crawler run" here`, []string{"crawl"}},
		{ExitUsage, `there is no command "dmozparser"\n`, []string{"dmozparser"}},
		{ExitUsage, `there is no "plugin x"; there are list, check, new and call\n`, []string{"plugin", "x"}},
		{ExitUsage, `there is no "plugin chek"; did you mean "check"\?\n`, []string{"plugin", "chek", "y"}},
		{ExitUsage, `there is no "db x"; there are check, repair, refilter, rescore and upgrade\n`, []string{"db", "x"}},
		{ExitUsage, `there is no "segment x"; there are list, rm and prune\n`, []string{"segment", "x"}},
		{ExitUsage, `there is no "warc x"; there are export and list\n`, []string{"warc", "x"}},
		{ExitUsage, `there is no "config x"; there are show, check and import\n`, []string{"config", "x"}},
		// All mistakes at once, whoever finds them.
		{ExitUsage, `-D foo: write(?s:.*)-D http.content.limit: (?s:.*)-D fetcher.dely: there is no setting(?s:.*)-D generate.expr: `, []string{
			"run", "--seeds", "http://a.test/", "--dir", dir, "-D", "fetcher.dely=1s", "-D", "foo", "-D", "http.content.limit=abc", "-D", "generate.expr=score >",
		}},
		{ExitUsage, `option --rounds: "x": want a whole number`, []string{"run", "--rounds", "x"}},
		{ExitUsage, `option --adddays: "x": want a number`, []string{"generate", "--adddays", "x"}},
		{ExitUsage, `option --apply: "x": want true or false`, []string{"db", "refilter", "--apply=x"}},
		{ExitUsage, `option --timeout: "5": want a duration, such as 10s`, []string{"resolveurls", "--timeout", "5", "x"}},
		{ExitUsage, `option --dir needs a value, and --stats after it is an option`, []string{"readdb", "--dir", "--stats"}},
		{ExitUsage, `option --top-n needs a value, and -adddays`, []string{"generate", "-topN", "-adddays", "3"}},
		{ExitUsage, `option --dir: its value is empty`, []string{"readdb", "--stats", "--dir", ""}},
		{ExitUsage, `option --seeds: its value is empty`, []string{"run", "--dir", dir, "--seeds="}},
		{ExitUsage, `--adddays NaN: want a number of days from 0 to 36500`, []string{"run", "--dir", dir, "--seeds", "http://a.test/", "--adddays", "NaN"}},
		{ExitUsage, `--adddays -5: want a number of days`, []string{"generate", "--dir", dir, "--adddays", "-5"}},
		{ExitUsage, `--adddays 1e\+300: want a number of days`, []string{"generate", "--dir", dir, "--adddays", "1e300"}},
		{ExitError, `there is no crawl in .*crawl; name another directory with --dir`, []string{"db", "check", "--dir", dir}},
		{ExitError, `there is no crawl in .*crawl; name another directory with --dir`, []string{"dedup", "--dir", dir}},
		{ExitError, `there is no crawl in .*crawl; name another directory with --dir`, []string{"db", "upgrade", "--dir", dir}},
		{ExitUsage, `-D crawl.dir: .*it is empty: name a folder`, []string{"readdb", "--stats", "-D", "crawl.dir="}},
		{ExitUsage, `which hosts is it for`, []string{"run", "--seeds", "http://a.test/", "--dir", dir, "-D", `sheet.a.hosts=[]`}},
		{ExitUsage, `generate.expr: score >`, []string{"run", "--seeds", "http://a.test/", "--dir", dir, "-D", "generate.expr=score >"}},
		{ExitError, `read .*file: there is no XML element in it`, []string{"config", "import", file}},
		{ExitError, `config: read [^ ]*: is a directory`, []string{"config", "import", tmp}},
		{ExitError, `open crawl directory .*file: it is a file; a crawl is a folder`, []string{"inject", "http://a.test/", "--dir", file}},
		{ExitError, `it is a file; a crawl is a folder`, []string{"readdb", "--stats", "--dir", file}},
		{ExitError, `"nonsense" is no URL: it begins with no scheme`, []string{"parsechecker", "nonsense"}},
		{ExitDone, `no plugin.hcl, so it is none: folder=.*no-plugin`, []string{"plugin", "list", "-D", `plugin.folders=["` + filepath.Join(tmp, "plugins") + `"]`}},
		{ExitUsage, `-D exchange.e.plugin: .*expr is missing`, []string{
			"run", "--seeds", "http://a.test/", "--dir", dir, "-D", "store.low_water=0", "-D", "plugin.add=exchange-jexl", "-D", "exchange.e.plugin=exchange-jexl", "-D", `exchange.e.writers=["main"]`,
		}},
		{ExitUsage, `-D plugin.urlfilter-regex.rules: .*rules\[0\]: line starts with "x"`, []string{"run", "--seeds", "http://a.test/", "--dir", dir, "-D", "store.low_water=0", "-D", `plugin.urlfilter-regex.rules=["x"]`}},
	} {
		o := runLine(t, "", c.args...)
		o.out, o.err = "", o.out+o.err
		o.wants(t, c.code, "!"+c.want)
		for _, once := range []string{`line starts with "x"`, "which hosts is it for"} {
			if n := strings.Count(o.err, once); n > 1 {
				t.Errorf("%v: it says %d times the same:\n%s", c.args, n, o.err)
			}
		}
	}
}
