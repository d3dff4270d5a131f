package cli

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/gonutch/crawler/core/internal/step/prune"
)

// TestSegmentCommand: what is needed is refused, a dry run changes nothing.
func TestSegmentCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	smallCrawl(t, dir)
	list := func() prune.Report {
		t.Helper()
		o := runLine(t, "", "segment", "list", "--dir", dir, "--json")
		var r prune.Report
		if err := json.Unmarshal([]byte(o.out), &r); err != nil || o.code != 0 {
			t.Fatalf("%v\n%s%s", err, o.out, o.err)
		}
		return r
	}
	before := list()
	if len(before.Segments) != 2 || before.Segments[0].WARC == 0 || before.Segments[0].Records != 1 {
		t.Fatalf("%+v", before)
	}
	name := before.Segments[0].Segment
	runLine(t, "", "segment", "list", "--dir", dir).wants(t, 0, "^NAME +CREATED", name+".*content of 1 records")
	runLine(t, "", "segment", "prune", "--dir", dir, "--apply").wants(t, ExitNothing, "removed +none", "2 needed")
	runLine(t, "", "segment", "rm", "--dir", dir, name, "--apply").wants(t, ExitError, "!is needed: content of 1 records")
	runLine(t, "", "segment", "rm", filepath.Join(dir, "segments", name), "--force").wants(t, 0, "would go +1 segment.*--apply")
	if n := len(list().Segments); n != 2 {
		t.Errorf("the dry run removed something: %d left", n)
	}
	runLine(t, "", "segment", "rm", filepath.Join(dir, "segments", name), "--force", "--apply").wants(t, 0, "removed +1 segment")
	if n := len(list().Segments); n != 1 {
		t.Errorf("%d segments left", n)
	}
	for _, bad := range [][]string{
		{"segment"},
		{"segment", "purge"},
		{"segment", "rm"},
		{"segment", "prune", "x"},
		{"segment", "list", "--keep", "1"},
		{"segment", "prune", "--force"},
		{"segment", "prune", "--older-than", "3"},
		{"segment", "prune", "--budget", "no"},
		{"segment", "prune", "--keep", "-1"},
	} {
		if o := runLine(t, "", append(bad, "--dir", dir)...); o.code != ExitUsage {
			t.Errorf("%v: exit code %d\n%s", bad, o.code, o.err)
		}
	}
	runLine(t, "", "segment", "rm", "--dir", dir, "20000101000000").wants(t, ExitError, "!there is no segment")
}
