package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/core/internal/backup"
	"github.com/gonutch/crawler/core/internal/control"
	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/core/internal/step/prune"
)

// dump is everything that the commands below compare: records and a document.
func dump(t *testing.T, dir, root string) string {
	t.Helper()
	c := openLocal(t, dir)
	var b bytes.Buffer
	err := c.DB.Dump(t.Context(), &b)
	if rep, cerr := c.DB.Check(t.Context()); cerr != nil || rep.Total != 0 {
		t.Errorf("%s: %v %v", dir, rep.Problems, cerr)
	}
	if cerr := c.Close(context.Background()); err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
	list := runLine(t, "", "readseg", "--list", "--dir", dir, "--json")
	var segs query.SegmentsAnswer
	if err := json.Unmarshal([]byte(list.out), &segs); err != nil {
		t.Fatal(err)
	}
	o := runLine(t, "", "readseg", "--get", segs.Segments[0].Name, root+"/", "--dir", dir)
	o.wants(t, 0, "Welcome aboard")
	return b.String() + o.out
}

// TestBackupRestore: both forms bring the crawl back, what is damaged or would overwrite something is refused.
func TestBackupRestore(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "crawl")
	root := smallCrawl(t, dir)
	want := dump(t, dir, root)
	for _, name := range []string{"saved", "saved.tar"} {
		saved, back := filepath.Join(base, name), filepath.Join(base, "back of "+name)
		runLine(t, "", "backup", saved, "--dir", dir).wants(t, 0, "saved +[0-9]+ files")
		runLine(t, "", "backup", saved, "--dir", dir).wants(t, ExitError, "!there already")
		runLine(t, "", "restore", "--check", saved).wants(t, 0, "sound +[0-9]+ files")
		runLine(t, "", "restore", saved, "--dir", back).wants(t, 0, "restored +[0-9]+ files", "crawler reindex")
		if d := cmp.Diff(want, dump(t, back, root)); d != "" {
			t.Errorf("%s (-crawl +restored):\n%s", name, d)
		}
		runLine(t, "", "restore", saved, "--dir", back).wants(t, ExitError, "!not overwritten")
	}
	damage(t, base)
	runLine(t, "", "backup", filepath.Join(dir, "inside"), "--dir", dir).wants(t, ExitError, "!inside the crawl directory")
	runLine(t, "", "backup", filepath.Join(base, "no", "such"), "--dir", dir).wants(t, ExitError)
	runLine(t, "", "backup", "--dir", dir).wants(t, ExitUsage)
	runLine(t, "", "restore", base, "--dir", filepath.Join(base, "x")).wants(t, ExitError, "!damaged")
	left, err := filepath.Glob(filepath.Join(base, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// damage breaks copies of the backup in base in different ways.
func damage(t *testing.T, base string) {
	t.Helper()
	tarred, err := os.ReadFile(filepath.Join(base, "saved.tar"))
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(tarred)
	flipped[bytes.Index(flipped, []byte("crawl directory of crawler"))] ^= 1
	for name, b := range map[string][]byte{"flipped.tar": flipped, "cut.tar": tarred[:len(tarred)/2], "empty.tar": nil} {
		if err := os.WriteFile(filepath.Join(base, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
		runLine(t, "", "restore", "--check", filepath.Join(base, name)).wants(t, ExitError, "!the backup is damaged")
		to := filepath.Join(base, "of "+name)
		runLine(t, "", "restore", filepath.Join(base, name), "--dir", to).wants(t, ExitError, "!the backup is damaged")
		if _, err := os.Stat(to); err == nil {
			t.Errorf("%s was restored", name)
		}
	}
	copied := filepath.Join(base, "copied")
	if err := os.CopyFS(copied, os.DirFS(filepath.Join(base, "saved"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(copied, "CRAWLER")); err != nil {
		t.Fatal(err)
	}
	runLine(t, "", "restore", copied, "--dir", filepath.Join(base, "of copied")).wants(t, ExitError, "!CRAWLER is missing")
}

// TestBackupOfRunning: the process that has the crawl open makes the backup; meanwhile no
// segment goes.
func TestBackupOfRunning(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "crawl")
	root := smallCrawl(t, dir)
	want := dump(t, dir, root)
	c := openLocal(t, dir)
	srv, err := control.Serve(t.Context(), dir, query.Verbs(c, nil, false), control.Options{Command: "crawler run", Version: "test", Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	o := runLine(t, "", "backup", filepath.Join(base, "saved"), "--dir", dir, "--json")
	o.wants(t, 0)
	var rep backup.Report
	if err := json.Unmarshal([]byte(o.out), &rep); err != nil || rep.Files == 0 || rep.Bytes == 0 || rep.Made.IsZero() {
		t.Errorf("%+v %v", rep, err)
	}
	d := prune.Deps{DB: c.DB, Segs: c.Segs}
	items, err := prune.List(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	release := c.Segs.Hold()
	force := query.PruneQuery{Options: prune.Options{Names: []string{items[0].Segment}, Force: true, Apply: true}}
	got, err := query.Ask(t.Context(), query.Target{Source: &query.Source{Crawl: c}}, query.Prune(), force)
	if err != nil || got.Removed != 0 || !strings.Contains(got.Segments[0].Needed, "being copied") {
		t.Errorf("pruned under a backup: %+v %v", got, err)
	}
	release()
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	runLine(t, "", "restore", filepath.Join(base, "saved"), "--dir", filepath.Join(base, "back")).wants(t, 0)
	if d := cmp.Diff(want, dump(t, filepath.Join(base, "back"), root)); d != "" {
		t.Errorf("(-crawl +restored):\n%s", d)
	}
}
