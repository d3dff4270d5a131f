package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/step/invert"
)

func TestReport(t *testing.T) {
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	many := map[string]int64{}
	for i := range 13 {
		many["urlfilter-regex rule "+string(rune('a'+i))] = int64(1000 - i)
	}
	for name, c := range map[string]struct {
		report cycle.Report
		want   string
	}{
		"a run": {cycle.Report{
			Rounds: 3, Generated: 13000, Fetched: 12345, Bytes: 1 << 30, Elapsed: 151 * time.Second,
			Status:    map[string]int64{"fetch_success": 11900, "fetch_redir_temp": 200, "fetch_gone": 205, "fetch_retry": 40},
			Failures:  map[string]int64{"http_404": 200, "network": 40, "robots_denied": 5},
			Examples:  map[string]cycle.Example{"network": {URL: "http://b.test/\x1b[1m", Message: "look up b.test: no such host"}},
			Truncated: map[string]int64{"length": 3}, Released: map[string]int64{"host_held": 600, "time_limit": 55},
			Parsed: 11888, ParseFails: map[string]int64{"parse-html failed(2,200)": 12}, Links: 345678,
			Dropped: map[string]int64{"urlfilter-regex": 20000, "max_outlinks": 3456, "external": 0},
			New:     23000, Indexed: 11500, Deleted: 20, Unchanged: 345, Duplicates: 23,
			Skipped: map[string]int64{"noindex": 200, "no content": 3}, Poisonous: []string{"http://a.test/\x1bbad"},
			NextDue: now.Add(time.Hour), Stopped: "a file .STOP is there",
		}, `
3 rounds in 2m 31s
  fetched      12,345 pages, 1.0 GiB (82/s, 6.8 MiB/s)
               fetch_success 11,900, fetch_gone 205, fetch_redir_temp 200, fetch_retry 40
  failed       245: http_404 200, network 40, robots_denied 5
               network: http://b.test/[1m: look up b.test: no such host
  truncated    3: length 3
  released     655: host_held 600, time_limit 55
               host_held: the host is left alone for a while; which and until when: crawler readdb --stats
               time_limit: the round took longer than fetcher.timelimit
  parsed       11,888 pages, 12 failed: parse-html failed(2,200) 12
  links        345,678 kept, 23,456 dropped:
               20,000  urlfilter-regex
                3,456  max_outlinks: more links than db.max_outlinks_per_page or a limit of the parser
  new URLs     23,000
  indexed      11,500 pages, 20 deleted, 345 unchanged, 23 duplicates
  not indexed  203: noindex 200, no content 3
  poisonous    1 URL that plugins died of:
               http://a.test/bad
  next due     in 1h (2024-05-01 13:00:00 UTC)
  ended early  a file .STOP is there
`},
		"all went well": {cycle.Report{Rounds: 1, Fetched: 1, Bytes: 100, Elapsed: time.Second, Status: map[string]int64{"fetch_success": 1}, Parsed: 1, Indexed: 1}, `
1 round in 1s
  fetched      1 page, 100 B (1.0/s, 100 B/s)
  parsed       1 page
  new URLs     0
  indexed      1 page
`},
		"long lists": {cycle.Report{Parsed: 5, Links: 1, Dropped: many, Poisonous: []string{"u1", "u2", "u3", "u4", "u5", "u6", "u7"}}, `
  parsed       5 pages
  links        1 kept, 12,922 dropped:
               1,000  urlfilter-regex rule a
                 999  urlfilter-regex rule b
                 998  urlfilter-regex rule c
                 997  urlfilter-regex rule d
                 996  urlfilter-regex rule e
                 995  urlfilter-regex rule f
                 994  urlfilter-regex rule g
                 993  urlfilter-regex rule h
                 992  urlfilter-regex rule i
                 991  urlfilter-regex rule j
               2,967  3 other reasons
  new URLs     0
  poisonous    7 URLs that plugins died of:
               u1
               u2
               u3
               u4
               u5
               and 2 more
`},
		"updatedb": {cycle.Report{Elapsed: 90 * time.Millisecond, Updated: map[string]int64{"db_fetched": 40, "db_gone": 2}, New: 12}, `
done in 90ms
  new URLs     12
  updated      42: db_fetched 40, db_gone 2
`},
		"only deleted": {cycle.Report{Deleted: 3}, `
  indexed      0 pages, 3 deleted
`},
	} {
		t.Run(name, func(t *testing.T) { compareReport(t, &c.report, now, c.want) })
	}
}

func compareReport(t *testing.T, r *cycle.Report, now time.Time, want string) {
	t.Helper()
	var b strings.Builder
	writeReport(&b, r, now)
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestNothingToDo(t *testing.T) {
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		report cycle.Report
		want   string
	}{
		"not due": {cycle.Report{Rejected: map[string]int64{"schedule": 3}, NextDue: now.Add(29*24*time.Hour + time.Hour)}, `
Nothing to do.
               3 URLs are not due yet
  next due     in 29d 1h (2024-05-30 13:00:00 UTC)
               to fetch it before: crawler run --adddays 30; to wait for it: crawler run -D cycle.wait=-1
`},
		"everything at once": {cycle.Report{
			Elapsed:  time.Second,
			Rejected: map[string]int64{"min_score": 1200, "held": 2, "max_count": 1, "status": 4, "interval": 5, "odd": 6}, NextDue: now,
		}, `
Nothing to do.
               1,200 URLs score less than generate.min_score
                 to take them: crawler run -D generate.min_score=0
               6 odd
               5 URLs have a longer fetch interval than generate.min_interval
                 to take them: crawler run -D generate.min_interval=-1
               4 URLs have another status than generate.restrict_status
                 to take all: crawler run -D generate.restrict_status=
               2 hosts are held back because they failed or asked for a pause
                 which and until when: crawler readdb --stats
               1 hosts have more URLs than generate.max_count
                 to take more: crawler run -D generate.max_count=-1
  next due     now
`},
		"empty": {cycle.Report{}, `
Nothing to do.
               The CrawlDB has no URL that could be fetched. Seeds are added by: crawler run --seeds FILE
`},
		"stopped before anything": {cycle.Report{Stopped: "stopped"}, `
Nothing to do.
  ended early  stopped
`},
	} {
		t.Run(name, func(t *testing.T) { compareReport(t, &c.report, now, c.want) })
	}
}

func TestStepsThatSelectNothing(t *testing.T) {
	var b strings.Builder
	printStep(&b, &cycle.Report{})
	printInverted(&b, invert.Report{Pages: 1, Added: 2, Removed: 3, Ignored: 1, Trimmed: 4, Orphaned: map[string]int64{"db_orphan": 5}})
	printInverted(&b, invert.Report{})
	want := `Nothing had to be changed.
  inverted     1 page, 2 inlinks added, 3 removed
  ignored      1 link, by linkdb.ignore_internal_links or linkdb.ignore_external_links
  trimmed      4 inlinks over linkdb.max_inlinks
  orphaned     5: db_orphan 5
  inverted     0 pages, 0 inlinks added, 0 removed
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
