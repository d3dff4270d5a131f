package importnutch_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/hadoop"
	"github.com/gonutch/crawler/core/internal/importnutch"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

const site = "http://www.nutch.test/"

// segmentNames are the segments of the crawl "plain", oldest first.
func segmentNames(t testing.TB, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "segments"))
	must(t, err)
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func get(t testing.TB, dst *importnutch.Target, url string) *crawldb.Record {
	t.Helper()
	r, err := dst.DB.Get(urlkey.FromURL(url))
	must(t, err)
	if r == nil {
		t.Fatalf("%s is missing", url)
	}
	return r
}

// TestRelations looks at what records and segments have to do with each other. In the crawl "plain" the first and second segment were
// updated, the third was parsed, the fourth generated.
func TestRelations(t *testing.T) {
	dir := unpack(t, "plain")
	segs := segmentNames(t, dir)
	dst, rep := imported(t, dir)
	states := map[string]string{}
	for _, s := range rep.Segments {
		states[s.ID] = s.State
	}
	if d := cmp.Diff(map[string]string{segs[0]: "inverted", segs[1]: "inverted", segs[2]: "parsed", segs[3]: "left out"}, states); d != "" {
		t.Error(d)
	}
	for url, want := range map[string]string{
		"":              segs[1], // not modified, and fetched again in the third, which is not applied
		"about.html":    segs[1],
		"copy.html":     segs[1], // a duplicate
		"deep/two.html": segs[0],
		"data.bin":      "", // no parse
		"gone.html":     "",
		"new.html":      "",
	} {
		r := get(t, dst, site+url)
		if r.Datum.Segment != want {
			t.Errorf("%s: its document is in segment %q, want %q", url, r.Datum.Segment, want)
		}
		if want != "" && r.Datum.Metadata.First("Content-Type") != "text/html" {
			t.Errorf("%s: %v", url, r.Datum.Metadata)
		}
	}
	if r := get(t, dst, site+"news.html"); r.Datum.ETag != `"n1"` || r.Datum.LastModified != "Wed, 01 Jan 2020 00:00:00 GMT" {
		t.Errorf("validators %q, %q", r.Datum.ETag, r.Datum.LastModified)
	}
	if r := get(t, dst, site+"about.html"); r.Datum.Fields["opic_history"] != r.Datum.Score || r.Sort != 0 {
		t.Errorf("score %+v", r)
	}
	if r := get(t, dst, site+"new.html"); r.Datum.Fields["opic_cash"] != r.Datum.Score || r.Sort != r.Datum.Score {
		t.Errorf("score %+v", r)
	}
	leased := map[string]bool{}
	must(t, dst.DB.Leased(context.Background(), segs[2], func(k urlkey.Key) error {
		url, err := urlkey.ToURL(k)
		leased[url] = true
		return err
	}))
	want := map[string]bool{site: true, "http://other.test/landing.html": true, site + "new.html": true, site + "deep/one.html": true}
	if d := cmp.Diff(want, leased); d != "" || rep.Segments[2].Open != int64(len(want)) {
		t.Errorf("open pages (-want +got):\n%s%+v", d, rep.Segments[2])
	}
	dirty := 0
	must(t, dst.DB.DirtyForIndex(context.Background(), func(urlkey.Key) error { dirty++; return nil }))
	if dirty != 6 {
		t.Errorf("%d pages wait for the index step, want 6", dirty)
	}
	content, err := dst.Segs.GetContent(segs[1], urlkey.FromURL(site+"news.html"))
	must(t, err)
	if content.Headers.First("Server") != "heron/1.0" || content.Headers.First("Etag") != `"n1"` {
		t.Errorf("headers of a stored head: %v", content.Headers)
	}
	content, err = dst.Segs.GetContent(segs[1], urlkey.FromURL(site+"about.html"))
	must(t, err)
	if content.Headers.First("Server") != "heron/1.0" || content.ContentType != "text/html; charset=utf-8" || content.MIMEType != "text/html" {
		t.Errorf("headers of a head that was made: %+v", content)
	}
	p, err := dst.Segs.GetParse(segs[0], urlkey.FromURL(site+"deep/two.html"), segment.Want{})
	must(t, err)
	if p == nil || p.Robots != (model.RobotsMeta{NoFollow: true, NoArchive: true}) || p.Charset != "utf-8" {
		t.Errorf("parse %+v", p)
	}
	f, err := dst.Segs.GetFetch(segs[1], urlkey.FromURL(site+"old.html"))
	must(t, err)
	if f == nil || f.Location != site+"new.html" || f.Status != model.StatusFetchRedirTemp {
		t.Errorf("redirect %+v", f)
	}
}

// TestWithoutLinkDB leaves the links to the invert step.
func TestWithoutLinkDB(t *testing.T) {
	dir := unpack(t, "plain")
	must(t, os.RemoveAll(filepath.Join(dir, "linkdb")))
	segs := segmentNames(t, dir)
	dst, rep := imported(t, dir)
	if rep.Segments[1].State != "updated" || rep.Inlinks != 0 {
		t.Errorf("%+v", rep)
	}
	n := 0
	must(t, dst.Segs.EachApplied(context.Background(), segs[1], func(k urlkey.Key, before, now string) error {
		if before != "" {
			t.Errorf("%s: before %q", k, before)
		}
		if now != "" {
			n++
		}
		return nil
	}))
	if n != 5 {
		t.Errorf("%d pages have links to invert, want 5", n)
	}
}

func TestDryRun(t *testing.T) {
	dir := unpack(t, "plain")
	src, err := importnutch.Find(dir, "", "", "")
	must(t, err)
	rep, err := importnutch.Run(context.Background(), src, nil, importnutch.Options{})
	must(t, err)
	if rep.Records != 16 || rep.Inlinks != 18 || len(rep.Segments) != 4 || rep.Segments[1].Documents == 0 || rep.Checked == 0 {
		t.Errorf("%+v", rep)
	}
}

// TestDamagedFile damages each file in turn; the error must name it.
func TestDamagedFile(t *testing.T) {
	dir := unpack(t, "plain")
	var names []string
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(p, ".crc") && !strings.Contains(p, "crawl_parse") && !strings.Contains(p, "/old/") && regexp.MustCompile(`/(data|index|part-r-\d+)$`).MatchString(p) {
			names = append(names, p)
		}
		return err
	}))
	if len(names) < 40 {
		t.Fatal(names)
	}
	src, err := importnutch.Find(dir, "", "", "")
	must(t, err)
	run := func() error {
		_, err := importnutch.Run(context.Background(), src, nil, importnutch.Options{})
		return err
	}
	for _, name := range names {
		whole, err := os.ReadFile(name)
		must(t, err)
		must(t, os.WriteFile(name, whole[:len(whole)-1], 0o600))
		if err := run(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is short: %v", name, err)
		}
		// Without checksums, too, a cut record is seen.
		sums := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".crc")
		crc, _ := os.ReadFile(sums)
		os.Remove(sums)
		must(t, os.WriteFile(name, whole[:len(whole)-1], 0o600))
		if err := run(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is short and has no checksums: %v", name, err)
		}
		must(t, os.WriteFile(name, whole, 0o600))
		if crc != nil {
			must(t, os.WriteFile(sums, crc, 0o600))
		}
	}
	must(t, run())
}

func TestLimitsAndLocks(t *testing.T) {
	dir := unpack(t, "block-snappy")
	src, err := importnutch.Find(dir, "", "", "")
	must(t, err)
	_, err = importnutch.Run(context.Background(), src, nil, importnutch.Options{Hadoop: hadoop.Options{MaxRecord: 100}})
	if err == nil || !strings.Contains(err.Error(), "unpacks to more than the limit of") {
		t.Error(err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "crawldb", ".locked"), nil, 0o600))
	_, err = importnutch.Run(context.Background(), src, nil, importnutch.Options{})
	if err == nil || !strings.Contains(err.Error(), "is locked (.locked)") {
		t.Error(err)
	}
	_, err = importnutch.Run(context.Background(), src, nil, importnutch.Options{Force: true})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := importnutch.Run(ctx, src, target(t), importnutch.Options{Force: true}); err == nil {
		t.Error("an import that was stopped ends without an error")
	}
}

func TestFind(t *testing.T) {
	dir := unpack(t, "block-snappy")
	seg := filepath.Join(dir, "segments", segmentNames(t, dir)[0])
	empty := t.TempDir()
	for _, c := range []struct {
		name, dir, crawldb, linkdb, segments, err string
		want                                      importnutch.Source
	}{
		{name: "all", dir: dir, want: importnutch.Source{CrawlDB: filepath.Join(dir, "crawldb"), LinkDB: filepath.Join(dir, "linkdb"), Segments: []string{seg}}},
		{name: "one segment", dir: empty, segments: seg, want: importnutch.Source{Segments: []string{seg}}},
		{name: "elsewhere", dir: empty, crawldb: filepath.Join(dir, "crawldb"), want: importnutch.Source{CrawlDB: filepath.Join(dir, "crawldb")}},
		{name: "nothing", dir: empty, err: "has no crawldb, linkdb or segments"},
		{name: "not there", dir: empty, linkdb: filepath.Join(empty, "x"), err: "no such file"},
		{name: "a file", dir: empty, crawldb: filepath.Join(dir, "crawldb", "current", "part-r-00000", "data"), err: "is no folder"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := importnutch.Find(c.dir, c.crawldb, c.linkdb, c.segments)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got %v, want %s", err, c.err)
				}
				return
			}
			must(t, err)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestSegmentHere imports the segment that is the working directory.
func TestSegmentHere(t *testing.T) {
	dir := unpack(t, "block-lz4")
	name := segmentNames(t, dir)[0]
	t.Chdir(filepath.Join(dir, "segments", name))
	src, err := importnutch.Find("nowhere", "", "", ".")
	must(t, err)
	rep, err := importnutch.Run(context.Background(), src, target(t), importnutch.Options{})
	must(t, err)
	if len(rep.Segments) != 1 || rep.Segments[0].ID != name {
		t.Errorf("%+v", rep.Segments)
	}
}

// TestSegmentsOnly takes documents although nothing is known of their URLs, and says so.
func TestSegmentsOnly(t *testing.T) {
	dir := unpack(t, "block-snappy")
	must(t, os.RemoveAll(filepath.Join(dir, "crawldb")))
	_, rep := imported(t, dir)
	found := false
	for _, l := range rep.Left {
		found = found || strings.Contains(l.Why, "the CrawlDb has no record of it") && l.Count == rep.Segments[0].Fetched
	}
	if !found || rep.Segments[0].Documents != 2 {
		t.Errorf("%+v", rep)
	}
}

// TestOneStructure imports each structure without the others.
func TestOneStructure(t *testing.T) {
	for _, only := range []string{"crawldb", "linkdb", "segments"} {
		dir := unpack(t, "plain")
		must(t, os.Mkdir(filepath.Join(dir, "webgraphdb"), 0o755))
		for _, name := range []string{"crawldb", "linkdb", "segments"} {
			if name != only {
				must(t, os.RemoveAll(filepath.Join(dir, name)))
			}
		}
		_, rep := imported(t, dir)
		got := []bool{rep.Records > 0, rep.Inlinks > 0, len(rep.Segments) > 0}
		want := []bool{only == "crawldb", only == "linkdb", only == "segments"}
		if d := cmp.Diff(want, got); d != "" || !strings.Contains(fmt.Sprint(rep.Left), "webgraphdb") {
			t.Errorf("%s: %+v", only, rep)
		}
	}
}

// TestTwice imports a part twice: what a URL has twice is counted once.
func TestTwice(t *testing.T) {
	dir := unpack(t, "plain")
	current := filepath.Join(dir, "crawldb", "current")
	must(t, os.CopyFS(filepath.Join(current, "part-r-00007"), os.DirFS(filepath.Join(current, "part-r-00000"))))
	dst, rep := imported(t, dir)
	stats, err := dst.DB.Stats(context.Background())
	must(t, err)
	if stats.Total != 16 || rep.Records != 16 || len(rep.Left) < 2 {
		t.Errorf("%d records, report %+v", stats.Total, rep)
	}
	var sum int64
	for _, n := range rep.ByStatus {
		sum += n
	}
	if sum != 16 {
		t.Errorf("%v", rep.ByStatus)
	}
}
