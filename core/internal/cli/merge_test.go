package cli

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/gonutch/crawler/core/internal/step/merge"
)

// TestMergeCrawls brings two crawls of two sites into a third one: records, links and content.
func TestMergeCrawls(t *testing.T) {
	tmp := t.TempDir()
	a, b, out := filepath.Join(tmp, "a"), filepath.Join(tmp, "b"), filepath.Join(tmp, "out")
	keepLinks := "linkdb.ignore_internal_links=false"
	rootA, rootB := smallCrawl(t, a, keepLinks), smallCrawl(t, b, keepLinks)
	line := func(args ...string) outcome {
		return runLine(t, "", append(args, "-D", "store.low_water=0", "-D", keepLinks)...)
	}

	line("mergedb", out, a+"/crawldb", b).wants(t, 0, "^.*/a: 3 records$", "^.*/b: 3 records$", "added +3$")
	line("readdb", "--stats", "--dir", out).wants(t, 0, "^TOTAL urls: +6$", `db_fetched\): +4$`, `db_gone\): +2$`)
	line("readdb", "--url", rootA+"/blue", "--dir", out).wants(t, 0, `^Status: +2 \(db_fetched\)`, "^Signature: +[0-9a-f]{32}$")
	if o := line("readdb", "--url", rootA+"/blue", "--dir", out, "--json"); jsonHas(t, o.out, "segment") {
		t.Errorf("the record names a segment of another crawl: %s", o.out)
	}
	line("mergedb", "--dir", out, a).wants(t, 0, "added +0$", "kept +3$")
	line("db", "check", "--dir", out).wants(t, 0, "0 problems")

	line("mergelinkdb", out, a, b).wants(t, 0, "/a: 3 links", "/b: 3 links", "added +3")
	line("mergelinkdb", out, a).wants(t, 0, "added +0$", "kept +3$")
	line("readlinkdb", "--url", rootB+"/blue", "--dir", out).wants(t, 0, "blue page")

	o := line("mergesegs", "--dir", out, a+"/segments", b+"/segments", "--json")
	o.wants(t, 0)
	var rep merge.SegmentReport
	if err := json.Unmarshal([]byte(o.out), &rep); err != nil || rep.Merged != 4 || rep.Fetches != 6 || rep.Copied != 4 || rep.Attached != 4 || rep.Unneeded != 2 || rep.Leased != 0 || len(rep.Segments) != 1 {
		t.Fatalf("%v %+v", err, rep)
	}
	line("readseg", "--get", rep.Segments[0], rootB+"/blue", "--dir", out).wants(t, 0, "The blue whale is large", "^Crawl Generate::", "^ParseText::")
	line("invertlinks", rep.Segments[0], "--dir", out).wants(t, 0)
	line("index", "--dir", out).wants(t, 0)
	line("search", "whale", "--dir", out).wants(t, 0, "of 2 results")
	line("warc", "list", "--dir", out).wants(t, 0, rep.Segments[0]+".*"+rootA+"/blue")
	line("db", "check", "--dir", out).wants(t, 0, "0 problems")
	line("mergesegs", "--dir", out, a+"/segments").wants(t, ExitNothing, "not needed +3")
}

func jsonHas(t *testing.T, text, key string) bool {
	t.Helper()
	var v struct {
		Record map[string]any `json:"record"`
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil || v.Record == nil {
		t.Fatalf("%v: %s", err, text)
	}
	_, ok := v.Record[key]
	return ok
}

// TestMergeFiltered: filters and normalizers judge what comes from elsewhere.
func TestMergeFiltered(t *testing.T) {
	tmp := t.TempDir()
	a, out := filepath.Join(tmp, "a"), filepath.Join(tmp, "out")
	root := smallCrawl(t, a, "linkdb.ignore_internal_links=false")
	line := func(args ...string) outcome {
		return runLine(t, "", append(args, "--dir", out, "-D", "store.low_water=0", "-D", "linkdb.ignore_internal_links=false", "-D", `plugin.urlfilter-regex.rules=["-/blue$","+."]`)...)
	}
	line("mergedb", a, "--filter", "--normalize").wants(t, 0, "added +2", "rejected +urlfilter-regex 1")
	line("readdb", "--url", root+"/blue").wants(t, ExitNothing)
	line("mergelinkdb", a, "--filter").wants(t, 0, "/a: 3 links", "added +1", "rejected +urlfilter-regex")
	line("mergesegs", a+"/segments", "--filter").wants(t, 0, "copied +1,", "rejected +urlfilter-regex 1")
}

// TestMergeSegmentsToUpdate: pages of another crawl that are not known here are brought in by updatedb.
func TestMergeSegmentsToUpdate(t *testing.T) {
	tmp := t.TempDir()
	a, out := filepath.Join(tmp, "a"), filepath.Join(tmp, "out")
	root := smallCrawl(t, a)
	line := func(args ...string) outcome {
		return runLine(t, "", append(args, "--dir", out, "-D", "store.low_water=0")...)
	}
	o := line("mergesegs", a+"/segments", "--slice", "2", "--json")
	var rep merge.SegmentReport
	if err := json.Unmarshal([]byte(o.out), &rep); err != nil || rep.Copied != 3 || rep.Leased != 3 || len(rep.Segments) != 2 {
		t.Fatalf("%v %+v %s", err, rep, o.err)
	}
	line("readseg", "--list").wants(t, 0, rep.Segments[0]+" +2 .*2 to do", rep.Segments[1]+" +1 ")
	line("updatedb", rep.Segments[0]).wants(t, 0)
	line("updatedb", rep.Segments[1]).wants(t, 0)
	line("readdb", "--stats").wants(t, 0, "^TOTAL urls: +3$", `db_fetched\): +2$`, `db_gone\): +1$`)
	line("readdb", "--url", root+"/blue").wants(t, 0, "^Segment: +"+rep.Segments[0])
	line("invertlinks", "--all").wants(t, 0)
	line("index").wants(t, 0)
	line("search", "whale").wants(t, 0, "of 1 result")
	line("db", "check").wants(t, 0, "0 problems")
}

// TestMergeOwnSegments: after it nothing needs the old segments, and everything is in the new one.
func TestMergeOwnSegments(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	root := smallCrawl(t, dir)
	line := func(args ...string) outcome {
		return runLine(t, "", append(args, "--dir", dir, "-D", "store.low_water=0")...)
	}
	c := openLocal(t, dir)
	line("mergesegs").wants(t, ExitError, "!in use by process")
	if err := c.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	line("mergesegs").wants(t, 0, `^\d{14}(-\d+)?$`, "merged +2 segments, fetches 3", "copied +3", "content of 2 records is there now")
	line("segment", "prune", "--apply").wants(t, 0, "removed +2 segments")
	line("readseg", "--list").wants(t, 0, `(?s)NAME.*\n\d{14}\S* +3 .* indexed\n$`)
	line("reindex").wants(t, 0)
	line("search", "whale").wants(t, 0, "of 1 result")
	line("db", "check").wants(t, 0, "0 problems")
	line("mergesegs").wants(t, ExitNothing, "!no two segments")
	line("mergesegs", "20200101000000").wants(t, ExitError, "!there is no segment")
	line("warc", "export", filepath.Join(t.TempDir(), "w")).wants(t, 0, "2 answers|3 answers")
	line("explain", root+"/blue").wants(t, 0, "db_fetched")
}

func TestMergeBadInput(t *testing.T) {
	tmp := t.TempDir()
	a := filepath.Join(tmp, "a")
	smallCrawl(t, a)
	for _, args := range [][]string{
		{"mergedb"}, {"mergedb", a}, {"mergedb", a, a}, {"mergelinkdb", filepath.Join(tmp, "x"), a, a + "/linkdb"}, {"mergesegs", "--slice", "-1"},
	} {
		if o := runLine(t, "", args...); o.code != ExitUsage {
			t.Errorf("%v: exit code %d\n%s", args, o.code, o.err)
		}
	}
	runLine(t, "", "mergedb", filepath.Join(tmp, "x"), filepath.Join(tmp, "nothing")).wants(t, ExitError, "!there is no crawl in .*nothing")
}
