package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/step/refilter"
	"github.com/gonutch/crawler/core/internal/testweb"
)

// TestRefilterCommand: a changed rules file, a dry run, the change, the index.
func TestRefilterCommand(t *testing.T) {
	cfg := testweb.DefaultConfig()
	cfg.Hosts, cfg.Pages, cfg.Shares, cfg.Delay = 3, 40, testweb.Stable(), 0
	_, addr := serveWeb(t, cfg)
	folder := t.TempDir()
	dir, rules := filepath.Join(folder, "crawl"), writeFile(t, folder, "rules.txt", "+.\n")
	config := site(t, addr, "fetcher {\n  server_delay = \"0s\"\n}\nplugin \"urlfilter-regex\" {\n  file = \""+rules+"\"\n}\n")
	mustRun(t, "run", "--config", config, "--dir", dir, "--seeds", "http://host0.test/")
	call := func(code int, args ...string) refilter.Report {
		t.Helper()
		out, errOut, got := run(t, append([]string{"db", "refilter", "--config", config, "--dir", dir, "--json"}, args...)...)
		var rep refilter.Report
		if err := json.Unmarshal([]byte(out), &rep); got != code || err != nil {
			t.Fatalf("%v: exit code %d, want %d; %v\n%s%s", args, got, code, err, out, errOut)
		}
		return rep
	}
	if rep := call(3); rep.URLs < 20 || rep.Removed != 0 {
		t.Errorf("no change: %+v", rep)
	}
	writeFile(t, folder, "rules.txt", "# no pages with a 1\n-/[^/]*1[^/]*$\n+.\n")
	dry := call(0)
	if dry.Removed == 0 || dry.Documents == 0 || dry.Documents > dry.Removed || !strings.HasPrefix(dry.Plugins[0].Rules[0].Reason, rules+":2") {
		t.Errorf("dry run: %+v", dry)
	}
	applied := call(0, "--apply")
	if applied.Removed != dry.Removed || applied.Documents != dry.Documents || !applied.Applied || dry.Applied {
		t.Errorf("applied %+v, dry run %+v", applied, dry)
	}
	if rep := call(3, "--apply"); rep.URLs != dry.URLs-dry.Removed {
		t.Errorf("after it: %+v", rep)
	}
	var indexed cycle.Report
	if out := mustRun(t, "index", "--config", config, "--dir", dir, "--json"); json.Unmarshal([]byte(out), &indexed) != nil || indexed.Deleted != dry.Documents {
		t.Errorf("index: %s", out)
	}
}
