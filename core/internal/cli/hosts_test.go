package cli

import (
	"encoding/json"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/sdk/testsite"
)

// TestHosts goes from a crawl over updatehostdb to expressions and sheets, each by its
// command.
func TestHosts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	root := smallCrawl(t, dir)
	u, err := url.Parse(root)
	if err != nil {
		t.Fatal(err)
	}
	host := u.Hostname()
	file := func(name, text string) string {
		t.Helper()
		name = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}

	runLine(t, "", "updatehostdb", "--dir", dir, "--no-check").wants(t, ExitDone, "^1 host$", "looked up +0 of them; 1 not asked for")
	runLine(t, "", "updatehostdb", "-crawldb", filepath.Join(dir, "crawldb"), "-hostdb", "x", "-checkNew").wants(t, ExitDone, "looked up +1 of them", "new +1 have an address")
	runLine(t, "", "updatehostdb", "--dir", dir).wants(t, ExitDone, "looked up +0 of them; 1 not asked for or not due")
	runLine(t, "", "updatehostdb", "--dir", dir, "--check-known", "--force", "--tophosts", file("top", "# best\n"+host+"\t2.5\nother\t1\n")).
		wants(t, ExitDone, "known +1 still have an address", "scores +1 were given")
	runLine(t, "", "updatehostdb", "--dir", dir, "--tophosts", file("bad", host+"\t1\nwithout\n")).wants(t, ExitUsage, `!bad:2: "without": want a host, a tab and its score`)
	runLine(t, "", "updatehostdb", "--dir", dir, "-D", "hostdb.percentiles=50,half").wants(t, ExitUsage, `!"half": want a number from 0 to 100`)

	runLine(t, "", "readhostdb", "--dir", dir, "--expr", "avg._rs_ >= 0 && score == 2.5 && lastCheck > 0 && dnsFailures == 0").wants(t, ExitDone, "\\Q"+host+"\\E\t")
	runLine(t, "", "readhostdb", "--dir", dir, "--homepages").wants(t, ExitDone, "^\\Q"+root+"\\E/$")
	runLine(t, "", "readhostdb", "--dir", dir, "--expr", "pct7._rs_ > 1").wants(t, ExitUsage, "!expr at \\Q"+host+"\\E")

	generate := func(args ...string) outcome {
		t.Helper()
		return runLine(t, "", append([]string{"generate", "--dir", dir, "--adddays", "200"}, args...)...)
	}
	generate("--hostdb-expr", "score > 3").wants(t, ExitNothing, "!1 hosts are refused by generate.hostdb_expr")
	generate("--expr", `url =$ "nowhere"`).wants(t, ExitNothing, "!URLs are refused by generate.expr")
	generate("--expr", "missing > 3").wants(t, ExitNothing, "!URLs are refused by generate.expr")
	generate("--expr", "url =~").wants(t, ExitUsage, "!-D generate.expr: ")
	generate("-D", "generate.max.count.expr=1 +").wants(t, ExitUsage, "!generate.max")
	site := file("site.hcl", `sheet "mine" {
  hosts       = ["`+host+`"]
  crawl_delay = "7s"
  max_count   = 0
  headers     = { X-Key = "s3cret" }
}
`)
	generate("--config", site).wants(t, ExitNothing, "!1 hosts have a sheet with max_count = 0")
	runLine(t, "", "explain", "--dir", dir, "--config", site, root+"/").
		wants(t, ExitDone, `^Sheet mine: +crawl_delay = 7s \(.*site.hcl:3:3\)`, `^Sheet mine: +headers = X-Key: \(hidden\)`)
	runLine(t, "", "config", "check", "--config", file("odd.hcl", "sheet \"x\" {\n  hosts = [\"a:80\"]\n}\n")).wants(t, ExitUsage, "!odd.hcl:2:12: sheet.x.hosts: \"a:80\"")
	runLine(t, "", "readdb", "--dir", dir, "--stats", "-D", "db.fetch_schedule=freshness").wants(t, ExitDone, "^freshness default: +nothing measured yet, wanted 7d")
	generate("--max-count-expr", "fetched > 0 ? 1 : 0", "--expr", `url !$ "nowhere"`).wants(t, ExitDone, "!1 URLs? selected")
}

// TestHostScores: hosts take their scores from the link graph, and a round may ask for them.
func TestHostScores(t *testing.T) {
	addrs := []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"}
	srv := testsite.Start(t, testsite.Options{Addrs: addrs})
	var sites []*testsite.Site
	var roots, private []string
	for _, a := range addrs {
		s := srv.Host(a)
		sites, roots = append(sites, s), append(roots, s.URL("/"))
		private = append(private, strconv.Quote(strings.TrimSuffix(strings.TrimPrefix(s.URL("/"), "http://"), "/")))
	}
	for i, s := range sites { // the last one is what the others link to
		links := "no links"
		if i < 2 {
			links = "<a href=" + roots[2] + ">last</a>"
		}
		s.Page("/", "<title>Page</title>"+links)
	}
	dir := filepath.Join(t.TempDir(), "crawl")
	runLine(t, "", "run", "--dir", dir, "-D", "fetcher.server_delay=0s", "-D", "store.low_water=0", "-D", "indexer.enabled=false",
		"-D", "http.allow_private=["+strings.Join(private, ",")+"]", "--seeds", roots[0], "--seeds", roots[1]).wants(t, ExitDone)
	host := func(i int) string {
		u, err := url.Parse(roots[i])
		if err != nil {
			t.Fatal(err)
		}
		return u.Hostname()
	}
	take := []string{"updatehostdb", "--dir", dir, "--no-check", "--score", "pagerank"}
	runLine(t, "", take...).wants(t, ExitError, "!no link graph was built yet; build it: crawler webgraph")
	runLine(t, "", "webgraph", "--dir", dir).wants(t, ExitDone, "^hosts: +3$")
	runLine(t, "", take...).wants(t, ExitError, "!no pagerank scores; compute them: crawler linkrank")
	runLine(t, "", "linkrank", "--dir", dir).wants(t, ExitDone)
	runLine(t, "", take...).wants(t, ExitDone, "scores +3 were given")
	runLine(t, "", "updatehostdb", "--dir", dir, "--score", "pageranks").wants(t, ExitUsage, `!did you mean "pagerank"`)

	rank := strings.Fields(runLine(t, "", "nodedumper", "--dir", dir, "--hosts", "--scores", "--score", "pagerank", "--topn", "1").out)
	if len(rank) != 2 || rank[0] != host(2) {
		t.Fatalf("the best host is %q, want %s", rank, host(2))
	}
	share, err := strconv.ParseFloat(rank[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	var row query.HostRow
	if o := runLine(t, "", "readhostdb", "--dir", dir, "--get", host(2), "--json"); json.Unmarshal([]byte(o.out), &row) != nil || math.Abs(row.Score-3*share) > 1e-5 {
		t.Errorf("score %g of %s, want three times its share %g\n%s", row.Score, host(2), share, o.out)
	}
	o := runLine(t, "", "readhostdb", "--dir", dir, "--expr", "score > 1.1", "--hostnames")
	if o.code != ExitDone || o.out != host(2)+"\n" {
		t.Errorf("hosts with a score above the mean: %q %s", o.out, o.err)
	}
	runLine(t, "", "generate", "--dir", dir, "--adddays", "200", "--hostdb-expr", "score > 1.1").wants(t, ExitDone, "!1 URLs selected")
	runLine(t, "", "fetch", "--dir", dir, "-D", "http.allow_private=["+strings.Join(private, ",")+"]").wants(t, ExitDone, "fetched +1")

	top := filepath.Join(t.TempDir(), "top")
	if err := os.WriteFile(top, []byte(host(1)+"\t9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	runLine(t, "", append(take, "--tophosts", top)...).wants(t, ExitDone)
	runLine(t, "", "readhostdb", "--dir", dir, "--expr", "score == 9", "--hostnames").wants(t, ExitDone, "^\\Q"+host(1)+"\\E$")
	runLine(t, "", "updatehostdb", "--dir", dir, "--no-check", "-filter", "-D", `plugin.urlfilter-regex.rules=["-nothing","-^http"]`).wants(t, ExitDone, "rejected +3 URLs")
	runLine(t, "", "readhostdb", "--dir", dir, "--expr", "numRecords == 0", "--json").wants(t, ExitDone, `"total":0.*"passedAt":`)
	runLine(t, "", "updatehostdb", "--dir", dir, "--no-check", "-urlLimit", "2").wants(t, ExitDone, "left out +3 with fewer URLs")
	runLine(t, "", "updatehostdb", "--dir", dir, "--no-check").wants(t, ExitDone, "^3 hosts$")
	runLine(t, "", "readhostdb", "--dir", dir, "--expr", "numRecords == 0").wants(t, ExitNothing)
}
