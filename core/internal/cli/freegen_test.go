package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gonutch/crawler/sdk/testsite"
)

// TestFreegen fetches a list, known and unknown URLs, due or not.
func TestFreegen(t *testing.T) {
	tmp := t.TempDir()
	dir := filepath.Join(tmp, "crawl")
	root := smallCrawl(t, dir)
	site := testsite.Start(t, testsite.Options{}).Site()
	site.Page("/new", "<title>New</title>")
	site.Status("/gone", http.StatusNotFound)
	other := strings.TrimSuffix(site.URL("/"), "/")
	allow := fmt.Sprintf("http.allow_private=[%q,%q]", strings.TrimPrefix(root, "http://"), strings.TrimPrefix(other, "http://"))
	line := func(args ...string) outcome {
		return runLine(t, "", append(args, "--dir", dir, "-D", "store.low_water=0", "-D", "fetcher.server_delay=0s", "-D", allow)...)
	}
	list := filepath.Join(tmp, "list")
	if err := os.WriteFile(list, []byte(other+"/new\ttopic=x\n"+other+"/new\n"+root+"/blue\n"+other+"/secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := line("freegen", list, "--filter", "-D", `plugin.urlfilter-regex.rules=["-secret","+."]`)
	o.wants(t, 0, `^\d{14}(-\d+)?$`, "!2 URLs in its fetch list, 1 of them new; 1 rejected", "!rejected .*/secret")
	seg := strings.TrimSpace(o.out)
	line("readseg", "--list", seg).wants(t, 0, "^"+seg+" +2 .*generated, 2 to do")
	line("freegen", other+"/new").wants(t, ExitNothing, "!1 in the fetch lists of other segments already")
	line("fetch", seg).wants(t, 0)
	line("updatedb", seg).wants(t, 0)
	line("readdb", "--url", other+"/new").wants(t, 0, `^Status: +2 \(db_fetched\)`, "topic=x")
	line("readdb", "--url", root+"/blue").wants(t, 0, `^Status: +6 \(db_notmodified\)`)
	line("db", "check").wants(t, 0, "0 problems")
	line("freegen").wants(t, ExitUsage, "!no URLs")
	line("freegen", "nonsense").wants(t, ExitError, "!there is no file nonsense")
	if err := os.WriteFile(list, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	line("freegen", list).wants(t, ExitError, "!no URL that can be fetched")
	// Nutch's order of arguments, and a crawl that is new.
	runLine(t, "", "freegen", other+"/new", tmp, "-D", "store.low_water=0", "--json").wants(t, 0, `"listed": 1`)
}
