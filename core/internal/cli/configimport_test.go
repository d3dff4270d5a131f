package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/sdk/testsite"
)

// TestConfigImport: "file NAME" writes a file of Nutch's conf folder; "import" shows what became of
// it, and that "config check" takes the result; "crawl" crawls a small site with it and shows the
// records.
func TestConfigImport(t *testing.T) {
	datadriven.Walk(t, "testdata/configimport", func(t *testing.T, path string) {
		abs, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Chdir(t.TempDir())
		if err := os.Mkdir("conf", 0o700); err != nil {
			t.Fatal(err)
		}
		datadriven.RunTest(t, abs, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "file" {
				if err := os.WriteFile(filepath.Join("conf", d.CmdArgs[0].Key), []byte(d.Input+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				return ""
			}
			if d.Cmd == "crawl" {
				return crawlImported(t)
			}
			o := runLine(t, "", "config", "import", "conf/nutch-site.xml", "site.hcl")
			if o.code != ExitDone {
				return o.err
			}
			// Without a FILE the same goes to standard output, files by their whole paths.
			runLine(t, "", "config", "import", "conf/nutch-site.xml").wants(t, ExitDone, "^# Translated from nutch-site.xml")
			check := runLine(t, "", "config", "check", "--config", "site.hcl")
			b, err := os.ReadFile("site.hcl")
			if err != nil {
				t.Fatal(err)
			}
			if check.code != ExitDone {
				t.Errorf("config check: %s", check.err)
			}
			if n := strings.Count(o.err, "not translated: "); n != strings.Count(string(b), "\n#   ") {
				t.Errorf("standard error tells of %d things, the file of others:\n%s", n, o.err)
			}
			return string(b)
		})
	})
}

// crawlImported crawls a site with site.hcl and returns the records, without the site's address.
func crawlImported(t *testing.T) string {
	t.Helper()
	site := testsite.Start(t, testsite.Options{}).Site()
	root := strings.TrimSuffix(site.URL("/"), "/")
	site.Page("/", `<title>Welcome</title><p>Welcome aboard. <a href="/docs/a">a</a> <a href="/docs/a#part">part</a> <a href="/b;jsessionid=12">b</a> <a href="/c?q=1">query</a>
<a href="/pic.GIF">picture</a> <a href="/x/y/x/y/x/y/">loop</a> <a href="/gone">gone</a> <a href="/feed">feed</a> <a href="/plain">plain</a> <a href="mailto:me@example.org">mail</a>`)
	site.Page("/docs/a", `<title>A</title><p>A page of the docs.`)
	site.Page("/b", `<title>B</title><p>Another page. <a href="//`+strings.TrimPrefix(root, "http://")+`//docs///a">the same</a>`)
	site.File("/plain", "text/plain", []byte("plain text"))
	site.File("/feed", "application/rss+xml", []byte(`<rss version="2.0"><channel><title>News</title><item><title>One</title><link>`+root+`/docs/a</link></item></channel></rss>`))
	private := "http.allow_private=[" + strconv.Quote(strings.TrimPrefix(root, "http://")) + "]"
	run := runLine(t, "", "run", "--config", "site.hcl", "--dir", "crawl", "--seeds", root+"/", "-D", private, "-D", "fetcher.server_delay=0s", "-D", "store.low_water=0", "-D", "indexer.enabled=false")
	if run.code != ExitDone {
		t.Fatal(run.err)
	}
	o := runLine(t, "", "readdb", "--dir", "crawl", "--dump", "-", "--json")
	var b strings.Builder
	for line := range strings.Lines(o.out) {
		var r query.Row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s\n", strings.TrimPrefix(r.URL, root), r.StatusName)
	}
	return b.String()
}
