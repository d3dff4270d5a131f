package cli

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/pluginhost"
	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/model"
)

// golden compares what f prints.
func golden(t *testing.T, want string, f func(io.Writer)) {
	t.Helper()
	var b strings.Builder
	f(&b)
	var got strings.Builder
	for l := range strings.Lines(b.String()) { // tables may end in blanks
		got.WriteString(strings.TrimRight(l, " \n") + "\n")
	}
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got.String()); diff != "" {
		t.Error(diff)
	}
}

func noon() time.Time { return time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC) }

func TestWriteStats(t *testing.T) {
	a := &query.StatsAnswer{
		Dir: "crawl", Total: 1234567, Leased: 50000, NextDue: noon().Add(time.Hour),
		Status:  []query.StatusCount{{Code: 1, Name: "db_unfetched", Count: 1000000}, {Code: 2, Name: "db_fetched", Count: 234567}},
		Retries: []query.RetryCount{{Retries: 0, Count: 1234000}, {Retries: 2, Count: 567}},
		Holds:   []query.Hold{{Queue: "slow.test", Until: noon().Add(2 * time.Hour), Reason: "http_503"}}, HoldsTotal: 1,
		HostsTotal: 12, Hosts: []query.HostCount{
			{Host: "big.test", Total: 5000, Status: map[string]int64{"db_unfetched": 4000, "db_fetched": 1000}},
			{Host: "b\x1bad.test", Total: 7, Status: map[string]int64{"db_fetched": 7}},
		},
		Scan: &query.ScanStats{
			ScoreMin: 0.001, ScoreAvg: 0.12345678, ScoreMax: 30, Quantiles: []query.Quantile{{Q: 0.5, Score: 0.02}},
			IntervalShortest: 3661, IntervalAvg: 2592000, IntervalLongest: 7776000,
			FetchEarliest: noon(), FetchAvg: noon().Add(time.Hour), FetchLatest: noon().Add(2 * time.Hour),
		},
	}
	golden(t, `
Statistics for CrawlDb: crawl
TOTAL urls:                  1,234,567
shortest fetch interval:     0 days, 01:01:01
avg fetch interval:          30 days, 00:00:00
longest fetch interval:      90 days, 00:00:00
earliest fetch time:         2024-05-01 12:00:00 UTC
avg of fetch times:          2024-05-01 13:00:00 UTC
latest fetch time:           2024-05-01 14:00:00 UTC
retry 0:                     1,234,000
retry 2:                     567
score quantile 0.5:          0.02
min score:                   0.001
avg score:                   0.123457
max score:                   30
status 1 (db_unfetched):     1,000,000
status 2 (db_fetched):       234,567
in fetch lists:              50,000
next due:                    in 1h (2024-05-01 13:00:00 UTC)
hosts held back:             1
  slow.test until 2024-05-01 14:00:00 UTC: http_503

  TOTAL  unfetched  fetched  HOST
  5,000      4,000    1,000  big.test
      7          0        7  bad.test
and 10 smaller hosts; --limit N shows more
`, func(w io.Writer) { writeStats(w, a, noon()) })
	golden(t, `
Statistics for CrawlDb: x
TOTAL urls:                  0
in fetch lists:              0
`, func(w io.Writer) {
		writeStats(w, &query.StatsAnswer{Dir: "x", Scan: &query.ScanStats{}}, noon())
	})
}

func TestWriteURL(t *testing.T) {
	record := &query.Record{
		StatusCode: 1, StatusName: "db_unfetched", FetchTime: noon(), Retries: 2, IntervalSeconds: 86400, IntervalDays: 1, Score: 0.5, Sort: 0.25,
		FixedInterval: true, Fields: map[string]int64{"opic_cash": 250000}, Protocol: "exception(16): Http code=503", ETag: `"x"`,
		Metadata: model.Metadata{"Content-Type": {"text/html"}},
	}
	a := &query.URLAnswer{
		URL: "http://a.test/", Record: record, Next: "held", Pending: []query.Effect{{Field: "opic_cash", Reducer: "add", Value: 12}},
		Inlinks: []query.Inlink{{From: "http://b.test/", Anchor: "see\x1b[2J this"}}, More: true,
		Index: []query.Indexed{
			{Writer: "csv", Pending: true},
			{Writer: "main", Held: true, Hash: "0123456789abcdef0123", Segment: "20240501000000", Refused: "bad\x1b date", At: noon()},
			{Writer: "solr", Held: true, Pending: true, Why: "connection refused"},
		},
		Host: &query.HostState{
			HostCount: query.HostCount{Host: "a.test", Total: 3, Status: map[string]int64{"db_fetched": 2, "db_unfetched": 1}, Requests: 9, Failures: 1, Bytes: 2048}, FailuresInRow: 3, DelaySeconds: 1.5,
			Robots: []query.RobotsState{{Origin: "http://a.test", Status: 200, Bytes: 120, Fetched: noon(), Expires: noon().Add(24 * time.Hour), Error: "timeout"}},
			Holds:  []query.Hold{{Queue: "a.test", Until: noon().Add(time.Hour), Reason: "http_503"}},
		},
	}
	golden(t, `
URL: http://a.test/
Status:                1 (db_unfetched)
Fetch time:            2024-05-01 12:00:00 UTC
Modified time:         ?
Retries since fetch:   2
Retry interval:        86400 seconds (1 days, fixed by the seed)
Score:                 0.5
Sort value:            0.25
  opic_cash:           250000
Signature:             null
Protocol status:       exception(16): Http code=503
ETag:                  "x"
Metadata:
  Content-Type=text/html
Next:                  due, but a.test is held back until 2024-05-01 13:00:00 UTC: http_503
Pending effect:        opic_cash add 12
Index csv:             nothing; to be sent
Index main:            document 0123456789abcdef… from segment 20240501000000; refused what was sent 2024-05-01 12:00:00 UTC: bad date
Index solr:            perhaps a document; to be sent, which failed: connection refused
Inlinks:               1 and more (--limit N)
  from http://b.test/ anchor: see[2J this
Host:                  a.test: 3 URLs (db_fetched 2, db_unfetched 1)
  requests:            9, 1 without an answer, 2.0 KiB
  failures in a row:   3
  crawl delay:         1.5s
  robots:              http://a.test/robots.txt: status 200, 120 B, fetched 2024-05-01 12:00:00 UTC, kept until 2024-05-02 12:00:00 UTC, last attempt failed: timeout
  held back:           until 2024-05-01 13:00:00 UTC: http_503
`, func(w io.Writer) { writeURL(w, a, noon()) })

	for next, want := range map[string]string{
		"leased": "in the fetch list of segment 20240501", "due": "due; goes into a next fetch list", "waiting": "due in 1h (2024-05-01 13:00:00 UTC)",
	} {
		r := *record
		r.FetchTime = noon().Add(time.Hour)
		if got := nextText(&query.URLAnswer{Record: &r, Next: next, Leased: "20240501"}, noon()); got != want {
			t.Errorf("%s: %q", next, got)
		}
	}
	for want, a := range map[string]*query.URLAnswer{
		"URL: u\nnot found\n": {URL: "u"},
		"URL: u\nnot in the CrawlDB yet: it was found in pages, and is added before the next fetch list is made\nPending effect:        x add 1\n": {URL: "u", Pending: []query.Effect{{Field: "x", Reducer: "add", Value: 1}}},
		"URL: u\nnot in the CrawlDB, but pages link to it\nInlinks:               1\n  from v anchor:\n":                                           {URL: "u", Inlinks: []query.Inlink{{From: "v"}}},
	} {
		golden(t, want, func(w io.Writer) { writeURL(w, a, noon()) })
	}
}

func TestWriteSegments(t *testing.T) {
	golden(t, `
NAME            GENERATED  FETCHER START        FETCHER END          FETCHED  PARSED  FAILED  RELEASED  BYTES    ROUND  STATE
20240501120000  10,000     2024-05-01T12:00:00  2024-05-01T13:00:00  9,000    8,000   900     1,000     1.0 GiB  1      indexed
20240501130000  5          ?                    ?                    0        0       0       0         0 B      2      generated, 5 to do
`, func(w io.Writer) {
		writeSegments(w, []query.Segment{
			{Name: "20240501120000", Round: 1, State: "indexed", FetcherStart: noon(), FetcherEnd: noon().Add(time.Hour), Generated: 10000, Fetched: 9000, Parsed: 8000, Failed: 900, Released: 1000, Bytes: 1 << 30},
			{Name: "20240501130000", Round: 2, State: "generated", Generated: 5, Leased: 5},
		})
	})
}

func TestWritePage(t *testing.T) {
	golden(t, `
URL:: u

Crawl Fetch::
Status:                33 (fetch_success)
Protocol status:       success(1)
Fetch time:            2024-05-01 12:00:00 UTC
Elapsed:               1.5s
Size:                  12.0 KiB
HTTP status:           200
Truncated:             length
WARC record:           x.warc.gz, byte 340, 2698 bytes

Content::
start
(cut: the document has 12.0 KiB)

ParseData::
Status:                failed(2,202): truncated
Title:                 A title
Robots:                noindex nofollow
Outlinks:              1 of 1,200; 1,199 dropped: max_outlinks 1,199
  outlink: toUrl: http://b.test/ anchor: there
`, func(w io.Writer) {
		writePage(w, &query.PageAnswer{
			URL: "u", Segment: "s",
			Fetch:   &query.Fetched{StatusCode: 33, StatusName: "fetch_success", Protocol: "success(1)", HTTP: 200, FetchTime: noon(), ElapsedMillis: 1500, Size: 12288, Truncated: "length", WARC: "x.warc.gz", Offset: 340, Length: 2698},
			Content: &query.Content{Size: 12288, Text: "start", Cut: true},
			ParseData: &query.ParseData{
				Status: "failed(2,202): truncated", Title: "A title", NoIndex: true, NoFollow: true, AllLinks: 1200,
				Outlinks: []query.Outlink{{To: "http://b.test/", Anchor: "there"}}, Dropped: map[string]int64{"max_outlinks": 1199},
			},
		})
	})
	golden(t, "URL:: u\n\nContent::\n(2.0 KiB that are no text)\n", func(w io.Writer) {
		writePage(w, &query.PageAnswer{URL: "u", Content: &query.Content{Size: 2048, Binary: true}})
	})
}

func TestWriteHits(t *testing.T) {
	a := &query.SearchAnswer{Took: 12 * time.Millisecond, Result: searcher.Result{
		Total: 1234,
		Hits: []searcher.Hit{
			{ID: "http://a.test/", Fields: map[string][]string{"title": {"Blue  whales"}}, Snippets: map[string][]string{
				"title": {"\x01Blue\x02  whales"}, "content": {"the \x01blue\x02\n whale", "another \x01blue\x02", "third"},
			}},
			{ID: "http://b.test/\x1b", Snippets: map[string][]string{"anchor": {"\x01blue"}}},
		},
		Facets: map[string][]searcher.FacetValue{"host": {{Value: "a.test", Count: 1200}, {Value: "b.test", Count: 34}}, "type": nil},
	}}
	golden(t, `
11. Blue whales
   http://a.test/
   the blue whale … another blue

12. http://b.test/
   http://b.test/
   blue

host:
   1,200  a.test
      34  b.test

type:
  (none)

11 to 12 of 1,234 results (12ms)
`, func(w io.Writer) { writeHits(w, a, 10, false) })
	var b strings.Builder
	writeHits(&b, a, 10, true)
	for _, want := range []string{"11. \x1b[1mBlue\x1b[0m whales\n", "the \x1b[1mblue\x1b[0m whale", "   \x1b[1mblue\x1b[0m\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("in bold: no %q in %q", want, b.String())
		}
	}
}

func TestWritePlugins(t *testing.T) {
	a := &query.PluginsAnswer{
		Chains: []chain.PointChain{{Point: "parser", Plugins: []string{"parse-html", "parse-text"}}, {Point: "urlfilter", Plugins: []string{"urlfilter-regex", "urlfilter-mine"}}},
		Plugins: []query.Plugin{
			{ID: "parse-html", Version: "1.0.0", Points: []string{"parser"}, Chosen: true, Process: &pluginhost.Stats{
				ID: "parse-html", PID: 42, Calls: 1000, Records: 16000, Errors: 2, Deaths: map[string]int64{"killed": 1}, Starts: 2, Poisonous: 1,
				Latency: 1500 * time.Millisecond, CPU: 61 * time.Second, Usage: pluginhost.Usage{RSS: 64 << 20},
			}},
			{ID: "urlfilter-mine", Version: "0.1", Folder: "plugins/urlfilter-mine", Points: []string{"urlfilter"}},
		},
	}
	golden(t, `
POINT      PLUGINS IN THE ORDER THEY RUN
parser     parse-html, parse-text
urlfilter  urlfilter-regex > urlfilter-mine

PLUGIN          VERSION  FROM                    CHOSEN  PROVIDES
parse-html      1.0.0    built in                yes     parser
urlfilter-mine  0.1      plugins/urlfilter-mine  no      urlfilter

PROCESS OF  PID  MEMORY    CPU    CALLS  RECORDS  ERRORS  AVG CALL  RESTARTS  POISONOUS  DEATHS
parse-html  42   64.0 MiB  1m 1s  1,000  16,000   2       1.5ms     1         1          killed 1
`, func(w io.Writer) { writePlugins(w, a) })
}
