package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/gonutch/crawler/core/internal/control"
	"github.com/gonutch/crawler/core/internal/query"
)

// internal has the graph take links within a host: the small crawl has no others.
func internal(args ...string) []string {
	for _, k := range []string{"internal_host", "internal_domain", "limit_page", "limit_domain"} {
		args = append(args, "-D", "link.ignore_"+k+"=false")
	}
	return args
}

// TestLinkGraph goes from a crawl over the graph back into the crawl, first with nobody
// else about, then while a process has the crawl open.
func TestLinkGraph(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	root := smallCrawl(t, dir)
	runLine(t, "", "linkrank", "--dir", dir).wants(t, ExitError, "!no link graph was built yet; build it: crawler webgraph")
	runLine(t, "", internal("webgraph", "--dir", dir)...).wants(t, ExitDone, `^nodes: +3$`, `^links: +3$`, `^nodes without outlinks: +1$`, `^hosts: +1$`)
	runLine(t, "", "nodedumper", "--dir", dir, "-scores").wants(t, ExitError, "!no linkrank scores; compute them: crawler linkrank")
	runLine(t, "", "linkrank", "--dir", dir).wants(t, ExitDone, "^linkrank of pages: +LinkRank", "^pagerank of hosts", "^harmonic of pages: .*exact")

	o := runLine(t, "", "nodereader", "--dir", dir, "--json", root+"/blue")
	o.wants(t, ExitDone)
	var f nodeFacts
	if err := json.Unmarshal([]byte(o.out), &f); err != nil {
		t.Fatal(err)
	}
	if f.Inlinks != 1 || f.Outlinks != 1 || f.From[0] != root+"/" || f.Scores["harmonic"] != 1 || len(f.Scores) != 3 {
		t.Errorf("%+v", f)
	}
	runLine(t, "", "nodereader", "--dir", dir, "-url", root+"/none").wants(t, ExitNothing, "!is not in the link graph")
	dumps(t, dir, root)

	// A scoring plugin that makes scores itself is told of, not overwritten in vain.
	runLine(t, "", "scoreupdater", "--dir", dir).wants(t, ExitUsage, "!choose scoring-link instead")
	link := []string{"-D", "plugin.add=scoring-link", "-D", "plugin.remove=scoring-opic"}
	runLine(t, "", append([]string{"scoreupdater", "-crawldb", filepath.Join(dir, "crawldb")}, link...)...).wants(t, ExitDone, "^3 URLs looked at: 3 with a score, 0 without; 3 changed")
	runLine(t, "", append([]string{"scoreupdater", "--dir", dir}, link...)...).wants(t, ExitDone, "; 0 changed")
	scores := strings.Fields(runLine(t, "", "nodedumper", "--dir", dir, "--scores", "-topn", "1").out)
	top := strings.Fields(runLine(t, "", "readdb", "--dir", dir, "--top-n", "1").out)
	if len(scores) != 2 || len(top) != 2 || scores[0] != top[1] || !strings.HasPrefix(scores[1], strings.TrimRight(top[0], "0123456789")) {
		t.Errorf("scores %q, CrawlDB %q", scores, top)
	}

	// What the graph does not have gets the score of link.score.updater.clear.score.
	runLine(t, "", internal("webgraph", "--dir", dir, "-D", "link.delete_gone=true")...).wants(t, ExitDone, `^nodes: +2$`, "gone 1")
	runLine(t, "", "linkrank", "--dir", dir, "--scores", "linkrank", "--graph", "pages").wants(t, ExitDone)
	runLine(t, "", append([]string{"scoreupdater", "--dir", dir, "-Dlink.score.updater.clear.score=7"}, link...)...).wants(t, ExitDone, "2 with a score, 1 without")
	runLine(t, "", "readdb", "--dir", dir, "--url", root+"/gone").wants(t, ExitDone, `^Score: +7`)

	t.Run("beside a run", func(t *testing.T) {
		c := openLocal(t, dir)
		defer func() {
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		s, err := control.Serve(t.Context(), dir, query.Verbs(c, nil, true), control.Options{Command: "crawler fetch"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		runLine(t, "", internal("webgraph", "--dir", dir)...).wants(t, ExitDone, `^nodes: +3$`)
		runLine(t, "", "linkrank", "--dir", dir).wants(t, ExitDone)
		runLine(t, "", append([]string{"scoreupdater", "--dir", dir}, link...)...).wants(t, ExitError, "!crawler fetch")
	})
}

func dumps(t *testing.T, dir, root string) {
	t.Helper()
	for _, tc := range []struct {
		args string
		want []string
	}{
		{"nodedumper -inlinks", []string{"/\t1", "/blue\t1", "/gone\t1"}},
		{"nodedumper -outlinks -topn 1", []string{"/\t2"}},
		{"nodedumper -outlinks --format csv", []string{"name,value", "/,2", "/blue,1", "/gone,0"}},
		{"nodedumper -outlinks --json -topn 1", []string{`{"name":"/","value":2}`}},
		{"linkdumper", []string{"source,target", "/,/blue", "/,/gone", "/blue,/"}},
		{"nodedumper -outlinks -group host max", []string{"HOST\t2"}},
		{"nodedumper -outlinks -group domain sum", []string{"HOST\t3"}},
	} {
		o := runLine(t, "", append(strings.Fields(tc.args), "--dir", dir)...)
		o.wants(t, ExitDone)
		host, _, _ := strings.Cut(strings.TrimPrefix(root, "http://"), ":")
		got := strings.NewReplacer(root, "", host, "HOST").Replace(o.out)
		if d := cmp.Diff(strings.Join(tc.want, "\n")+"\n", got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.args, d)
		}
	}
	file := filepath.Join(t.TempDir(), "links.parquet")
	runLine(t, "", "linkdumper", "--dir", dir, "--format", "parquet", "--output", file).wants(t, ExitDone)
	rows, err := parquet.ReadFile[edge](file)
	if err != nil {
		t.Fatal(err)
	}
	want := []edge{{root + "/", root + "/blue"}, {root + "/", root + "/gone"}, {root + "/blue", root + "/"}}
	if d := cmp.Diff(want, rows); d != "" {
		t.Errorf("parquet (-want +got):\n%s", d)
	}
	runLine(t, "", "linkdumper", "--dir", dir, "--hosts").wants(t, ExitNothing)
	for _, bad := range []string{
		"nodedumper", "nodedumper -inlinks -outlinks", "nodedumper -inlinks -group site", "nodedumper -scores --score rank",
		"nodedumper -inlinks sum", "linkrank --scores x", "linkrank --graph x", "linkdumper --format x", "nodereader", "webgraph x", "scoreupdater --score x",
	} {
		runLine(t, "", append(strings.Fields(bad), "--dir", dir)...).wants(t, ExitUsage)
	}
	if _, err := os.Stat(filepath.Join(dir, "webgraph", "scores.json")); err != nil {
		t.Error(err)
	}
}
