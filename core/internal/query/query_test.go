package query_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/control"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/db/hostdb"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/frontier"
	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/core/internal/step/inject"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/plugins"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/testsite"
)

// crawled crawls a small site with the built-in plugins inside this process and
// returns the open crawl and the site's root without the final slash.
func crawled(t *testing.T) (*crawl.Crawl, string) {
	t.Helper()
	srv := testsite.Start(t, testsite.Options{})
	site := srv.Site()
	site.Page("/", `<title>Start</title><p>Welcome aboard. <a href=/blue>blue page</a> <a href=/gone>gone</a> <a href=/bin>binary</a>`)
	site.Page("/blue", `<title>Blue whales</title><p>The blue whale is large. <a href=/>home</a>`)
	site.File("/bin", "text/plain", []byte("plain\xff\xfe\x00bytes"))
	site.Status("/gone", http.StatusNotFound)
	root := strings.TrimSuffix(site.URL("/"), "/")
	host := fmt.Sprintf("%q", strings.TrimPrefix(root, "http://"))
	c := open(t, "http.allow_private=["+host+"]")
	settings, err := cycle.LoadConfig(c.Config, c.Rules)
	if err != nil {
		t.Fatal(err)
	}
	cy, err := cycle.New(c, settings)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cy.Inject(t.Context(), []inject.Seed{{URL: root + "/"}}, transition.InjectNew, false); err != nil {
		t.Fatal(err)
	}
	rep, err := cy.NewRunner().Run(t.Context())
	if err = errors.Join(err, cy.Close()); err != nil {
		t.Fatal(err)
	}
	if rep.Fetched != 4 || rep.Indexed == 0 {
		t.Fatalf("the crawl itself went wrong: %+v", rep)
	}
	return c, root
}

func open(t *testing.T, sets ...string) *crawl.Crawl {
	t.Helper()
	cfg, err := config.Load(config.Options{Defaults: crawler.Defaults(), Sets: append([]string{
		"crawl.dir=" + t.TempDir(), "http.agent_name=tester", "http.agent_url=http://example.org/", "fetcher.server_delay=0s", "store.low_water=0",
	}, sets...)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := crawl.Open(t.Context(), crawl.Options{Config: cfg, Builtins: plugins.Builtins(), Log: hclog.NewNullLogger(), Local: true, Command: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// fakeRun is a running crawl.
type fakeRun struct{ stopped, asked atomic.Int32 }

func (f *fakeRun) Progress() cycle.Progress {
	return cycle.Progress{Round: int(f.asked.Add(1)), Step: "fetch", Busiest: []cycle.HostLoad{{Host: "a.test", Queued: 7}}, Report: cycle.Report{Fetched: 3}}
}

func (f *fakeRun) Waits() ([]frontier.Wait, int) {
	return []frontier.Wait{{Reason: frontier.WaitDelay, Items: 6, Queues: 2}, {Reason: frontier.WaitReady, Items: 2, Queues: 1}}, 10
}
func (f *fakeRun) Stop() { f.stopped.Add(1) }

// targets answer the same questions: the crawl itself, and a client of its
// control socket.
func targets(t *testing.T, c *crawl.Crawl, run query.Running) (direct, socket query.Target) {
	t.Helper()
	srv, err := control.Serve(t.Context(), c.Dir, query.Verbs(c, run, false), control.Options{Command: "crawler run", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	client, err := control.Dial(t.Context(), c.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return query.Target{Source: &query.Source{Crawl: c, Running: run}}, query.Target{Client: client}
}

// both asks both targets, demands equal answers and returns one.
func both[Q, A any](t *testing.T, direct, socket query.Target, v query.Verb[Q, A], q Q) A {
	t.Helper()
	a, err := query.Ask(t.Context(), direct, v, q)
	if err != nil {
		t.Fatalf("%s, directly: %v", v.Name, err)
	}
	b, err := query.Ask(t.Context(), socket, v, q)
	if err != nil {
		t.Fatalf("%s, by the socket: %v", v.Name, err)
	}
	x, y := asJSON(t, a), asJSON(t, b)
	if diff := cmp.Diff(x, y); diff != "" {
		t.Errorf("%s: the socket answers differently: %s", v.Name, diff)
	}
	return b
}

func asJSON(t *testing.T, v any) map[string]any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	delete(m, "took_ns")
	return m
}

func TestVerbs(t *testing.T) {
	c, root := crawled(t)
	direct, socket := targets(t, c, nil)
	t.Run("stats", func(t *testing.T) { testStats(t, c, direct, socket) })
	t.Run("url", func(t *testing.T) { testURL(t, direct, socket, root) })
	t.Run("segments", func(t *testing.T) { testSegments(t, direct, socket, root) })
	t.Run("search", func(t *testing.T) { testSearch(t, direct, socket, root) })
	t.Run("plugins", func(t *testing.T) { testPlugins(t, direct, socket) })
}

func testStats(t *testing.T, c *crawl.Crawl, direct, socket query.Target) {
	now := time.Now()
	err := c.Store.Update(t.Context(), func(tx *store.Tx) error {
		hostdb.PutHold(tx, hostdb.Hold{Queue: "slow.test", Until: now.Add(time.Hour), Reason: "http_503"})
		hostdb.PutHold(tx, hostdb.Hold{Queue: "slower.test", Until: now.Add(2 * time.Hour), Reason: "robots_deferred"})
		hostdb.PutHold(tx, hostdb.Hold{Queue: "over.test", Until: now.Add(-time.Hour), Reason: "old"})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	a := both(t, direct, socket, query.Stats(), query.StatsQuery{})
	want := []query.StatusCount{{Code: 2, Name: "db_fetched", Count: 3}, {Code: 3, Name: "db_gone", Count: 1}}
	if diff := cmp.Diff(want, a.Status); diff != "" || a.Total != 4 || a.Leased != 0 || a.NextDue.Before(now) {
		t.Errorf("%+v %s", a, diff)
	}
	if diff := cmp.Diff([]query.RetryCount{{Retries: 0, Count: 4}}, a.Retries); diff != "" {
		t.Error(diff)
	}
	if len(a.Holds) != 2 || a.HoldsTotal != 2 || a.Holds[0].Queue != "slower.test" || a.Holds[1].Reason != "http_503" {
		t.Errorf("holds: %+v", a.Holds)
	}
	if a.Scan != nil || a.Hosts != nil {
		t.Error("figures that were not asked for")
	}
	a = both(t, direct, socket, query.Stats(), query.StatsQuery{Hosts: true, Scan: true, Quantiles: []float64{0, 0.5, 1}})
	if a.HostsTotal != 1 || len(a.Hosts) != 1 || a.Hosts[0].Total != 4 || a.Hosts[0].Status["db_gone"] != 1 {
		t.Errorf("hosts: %+v", a.Hosts)
	}
	s := a.Scan
	if s == nil || s.ScoreMin <= 0 || s.ScoreMin > s.ScoreAvg || s.ScoreAvg > s.ScoreMax || len(s.Quantiles) != 3 ||
		s.Quantiles[0].Score != s.ScoreMin || s.Quantiles[2].Score != s.ScoreMax ||
		s.IntervalShortest != 30*86400 || s.FetchEarliest.After(s.FetchLatest) {
		t.Errorf("scan: %+v", s)
	}
	if _, err := query.Ask(t.Context(), socket, query.Stats(), query.StatsQuery{Quantiles: []float64{1.5}}); !fault.Is(err, fault.Invalid) {
		t.Errorf("quantile 1.5: %v", err)
	}
}

func testURL(t *testing.T, direct, socket query.Target, root string) {
	a := both(t, direct, socket, query.URL(), query.URLQuery{URL: root + "/blue"})
	r := a.Record
	if !a.Found() || r == nil || r.StatusName != "db_fetched" || r.StatusCode != 2 || r.IntervalDays != 30 || r.Retries != 0 ||
		len(r.Signature) != 32 || r.Segment == "" || r.Protocol != "success(1)" || a.Next != "waiting" {
		t.Errorf("record: %+v, next %q", r, a.Next)
	}
	if len(a.Index) != 1 || a.Index[0].Writer != "main" || a.Index[0].Segment != r.Segment || !a.Index[0].Held {
		t.Errorf("index: %+v", a.Index)
	}
	if a.Host == nil || a.Host.Total != 4 || len(a.Host.Robots) != 1 || a.Host.Robots[0].Status != 404 {
		t.Errorf("host: %+v", a.Host)
	}
	a = both(t, direct, socket, query.URL(), query.URLQuery{URL: root + "/gone"})
	if a.Record == nil || a.Record.StatusName != "db_gone" || a.Record.HTTP != 404 || a.Index != nil {
		t.Errorf("gone: %+v", a.Record)
	}
	// As a user may type it.
	a = both(t, direct, socket, query.URL(), query.URLQuery{URL: strings.ToUpper(root[:4]) + root[4:] + "/x/../blue"})
	if a.URL != root+"/blue" || a.Record == nil {
		t.Errorf("not in normal form: %+v", a)
	}
	a = both(t, direct, socket, query.URL(), query.URLQuery{URL: "http://elsewhere.test/"})
	if a.Found() || a.Host != nil || a.Next != "" {
		t.Errorf("unknown: %+v", a)
	}
	if _, err := query.Ask(t.Context(), direct, query.URL(), query.URLQuery{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("no URL: %v", err)
	}
}

func testSegments(t *testing.T, direct, socket query.Target, root string) {
	all := both(t, direct, socket, query.Segments(), query.SegmentsQuery{}).Segments
	var fetched, parsed int64
	for _, s := range all {
		fetched, parsed = fetched+s.Fetched, parsed+s.Parsed
		if s.State != "indexed" || s.Leased != 0 || s.FetcherEnd.IsZero() {
			t.Errorf("segment: %+v", s)
		}
	}
	if len(all) < 2 || fetched != 4 || parsed != 3 {
		t.Errorf("%d segments, %d fetched, %d parsed", len(all), fetched, parsed)
	}
	one := both(t, direct, socket, query.Segments(), query.SegmentsQuery{Names: []string{"crawl/segments/" + all[1].Name + "/"}})
	if diff := cmp.Diff(all[1:2], one.Segments); diff != "" {
		t.Error(diff)
	}
	if _, err := query.Ask(t.Context(), socket, query.Segments(), query.SegmentsQuery{Names: []string{"19700101000000"}}); !fault.Is(err, fault.Invalid) {
		t.Errorf("unknown segment: %v", err)
	}
	q := query.PageQuery{Segment: all[1].Name, URL: root + "/blue"}
	p := both(t, direct, socket, query.Page(), q)
	if p.Generate == nil || p.Generate.StatusName != "db_unfetched" || p.Fetch == nil || p.Fetch.StatusName != "fetch_success" || p.Fetch.WARC == "" {
		t.Errorf("generate and fetch: %+v %+v", p.Generate, p.Fetch)
	}
	if p.Content == nil || !strings.Contains(p.Content.Text, "The blue whale is large.") || p.Content.Binary || p.Content.Cut {
		t.Errorf("content: %+v", p.Content)
	}
	if p.ParseData == nil || p.ParseData.Title != "Blue whales" || !cmp.Equal(p.ParseData.Outlinks, []query.Outlink{{To: root + "/", Anchor: "home"}}) ||
		!strings.Contains(p.ParseText, "The blue whale is large.") {
		t.Errorf("parse: %+v %q", p.ParseData, p.ParseText)
	}
	q.NoContent, q.NoFetch, q.NoGenerate, q.NoParseData, q.NoParseText = true, true, true, true, true
	if p := both(t, direct, socket, query.Page(), q); p.Found() {
		t.Errorf("parts that were not wanted: %+v", p)
	}
	p = both(t, direct, socket, query.Page(), query.PageQuery{Segment: all[1].Name, URL: root + "/bin"})
	if p.Content == nil || !p.Content.Binary || p.Content.Text != "" || p.Content.Size != 13 {
		t.Errorf("bytes: %+v", p.Content)
	}
	p = both(t, direct, socket, query.Page(), query.PageQuery{Segment: all[1].Name, URL: root + "/nope"})
	if p.Found() {
		t.Errorf("unknown: %+v", p)
	}
}

func testSearch(t *testing.T, direct, socket query.Target, root string) {
	a := both(t, direct, socket, query.Search(), query.SearchQuery{Text: "whale", Facets: []string{"host"}})
	if a.Writer != "main" || a.Total != 1 || len(a.Hits) != 1 || a.Hits[0].ID != root+"/blue" || len(a.Facets["host"]) != 1 {
		t.Errorf("%+v", a)
	}
	if got := fmt.Sprint(a.Hits[0].Snippets["content"]); !strings.Contains(got, "\x01whale\x02") {
		t.Errorf("snippet %q", got)
	}
	if a = both(t, direct, socket, query.Search(), query.SearchQuery{Text: "zebra"}); a.Total != 0 || a.Hits == nil {
		t.Errorf("%+v", a)
	}
	for _, q := range []query.SearchQuery{{Text: "x", Writer: "other"}, {Text: `field:"`}, {Text: "x", Limit: 1 << 20}} {
		if _, err := query.Ask(t.Context(), socket, query.Search(), q); !fault.Is(err, fault.Invalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

func testPlugins(t *testing.T, direct, socket query.Target) {
	a := both(t, direct, socket, query.Plugins(), query.PluginsQuery{})
	var ids []string
	for _, p := range a.Plugins {
		ids = append(ids, p.ID)
		if p.ID == "indexer-bleve" && (!slices.Equal(p.Points, []string{"indexwriter", "searcher"}) || !p.Chosen || p.Folder != "") {
			t.Errorf("%+v", p)
		}
	}
	if !slices.IsSorted(ids) || len(ids) != len(plugins.Builtins()) {
		t.Errorf("plugins: %v", ids)
	}
	found := false
	for _, c := range a.Chains {
		found = found || c.Point == "urlfilter" && slices.Equal(c.Plugins, []string{"urlfilter-regex", "urlfilter-validator"})
	}
	if !found {
		t.Errorf("chains: %+v", a.Chains)
	}
}

// TestReaderOpensIndex searches in a process that did not write the index.
func TestReaderOpensIndex(t *testing.T) {
	c := open(t)
	target := query.Target{Source: &query.Source{Crawl: c, OpensIndex: true}}
	for range 2 { // the second finds it open
		a, err := query.Ask(t.Context(), target, query.Search(), query.SearchQuery{Text: "whale"})
		if err != nil || a.Total != 0 {
			t.Errorf("empty index: %+v, %v", a, err)
		}
	}
	target.Source = &query.Source{Crawl: open(t, "index_writer.main.enabled=false"), OpensIndex: true}
	if _, err := query.Ask(t.Context(), target, query.Search(), query.SearchQuery{Text: "whale"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("without an index writer: %v", err)
	}
}

func TestRunning(t *testing.T) {
	c, run := open(t), new(fakeRun)
	_, socket := targets(t, c, run)
	st, err := query.Ask(t.Context(), socket, query.Status(), query.StatusQuery{})
	if err != nil || !st.Working || st.Progress.Step != "fetch" || st.Progress.Report.Fetched != 3 || len(st.Progress.Busiest) != 1 {
		t.Errorf("status: %+v, %v", st, err)
	}
	idle, err := query.Ask(t.Context(), socket, query.Idle(), query.IdleQuery{})
	want := []query.Share{{What: "delay", URLs: 6, Hosts: 2, Share: 0.75}, {What: "ready", URLs: 2, Hosts: 1, Share: 0.25}}
	if err != nil || !idle.Working || idle.Threads != 10 || !slices.Equal(idle.Queued, want) || !strings.Contains(idle.Limit, "server_delay") {
		t.Errorf("idle: %+v, %v", idle, err)
	}
	enough := errors.New("enough")
	var rounds []int
	err = query.Watch(t.Context(), socket.Client, time.Millisecond, func(p cycle.Progress) error {
		if rounds = append(rounds, p.Round); len(rounds) == 2 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || !slices.Equal(rounds, []int{3, 4}) {
		t.Errorf("watch: %v, %v", rounds, err)
	}
	a, err := query.Ask(t.Context(), socket, query.Stop(), query.StopQuery{})
	if err != nil || !a.Stopping || run.stopped.Load() != 1 {
		t.Errorf("stop: %+v, %v", a, err)
	}
}

func TestNothingRuns(t *testing.T) {
	_, socket := targets(t, open(t), nil)
	if st, err := query.Ask(t.Context(), socket, query.Status(), query.StatusQuery{}); err != nil || st.Working {
		t.Errorf("status: %+v, %v", st, err)
	}
	if _, err := query.Ask(t.Context(), socket, query.Stop(), query.StopQuery{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("stop: %v", err)
	}
	err := query.Watch(t.Context(), socket.Client, time.Second, func(cycle.Progress) error { return nil })
	if !fault.Is(err, fault.Invalid) {
		t.Errorf("watch: %v", err)
	}
	// A question of another version is refused, not half understood.
	if _, err := socket.Client.Call(t.Context(), "stats", json.RawMessage(`{"colour":"red"}`)); !fault.Is(err, fault.Invalid) {
		t.Errorf("unknown field: %v", err)
	}
}
