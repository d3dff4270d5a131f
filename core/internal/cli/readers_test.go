package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/parquet-go/parquet-go"

	"github.com/gonutch/crawler"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/control"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/frontier"
	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/core/internal/step/inject"
	"github.com/gonutch/crawler/plugins"
	"github.com/gonutch/crawler/sdk/testsite"
)

// outcome is what a command printed and how it ended.
type outcome struct {
	code     int
	out, err string
}

// command runs a command line with the agent set.
func runLine(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	return runApp(t, stdin, false, args...)
}

// runApp is runLine; local has checkers run plugins inside this process.
func runApp(t *testing.T, stdin string, local bool, args ...string) outcome {
	t.Helper()
	var out, errs strings.Builder
	app := &App{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Defaults: crawler.Defaults(), Builtins: plugins.Builtins(), Version: "test",
		Environ: []string{"CRAWLER_HTTP__AGENT_NAME=tester", "CRAWLER_HTTP__AGENT_URL=http://example.org/"}, Interrupts: make(chan struct{}), local: local,
	}
	code := Run(t.Context(), app, args)
	return outcome{code, out.String(), errs.String()}
}

// wants checks an outcome: the exit code, and what standard output (or with
// "!", standard error) matches.
func (o outcome) wants(t *testing.T, code int, patterns ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d\n%s%s", o.code, code, o.out, o.err)
	}
	for _, p := range patterns {
		text, where := o.out, "standard output"
		if strings.HasPrefix(p, "!") {
			p, text, where = p[1:], o.err, "standard error"
		}
		if !regexp.MustCompile("(?m)" + p).MatchString(text) {
			t.Errorf("%s does not match %s:\n%s", where, p, text)
		}
	}
}

// smallCrawl crawls a small site into dir and returns its root without the final
// slash.
func smallCrawl(t *testing.T, dir string, sets ...string) string {
	t.Helper()
	site := testsite.Start(t, testsite.Options{}).Site()
	site.Page("/", `<title>Start</title><p>Welcome aboard. <a href=/blue>blue page</a> <a href=/gone>gone</a>`)
	site.Page("/blue", `<title>Blue whales</title><p>The blue whale is large. <a href=/>home</a>`)
	site.Status("/gone", http.StatusNotFound)
	root := strings.TrimSuffix(site.URL("/"), "/")
	crawlSeeds(t, dir, []string{root + "/"}, append(sets, fmt.Sprintf("http.allow_private=[%q]", strings.TrimPrefix(root, "http://")))...)
	return root
}

// crawlSeeds crawls into dir, with the plugins in this process.
func crawlSeeds(t *testing.T, dir string, seeds []string, sets ...string) {
	t.Helper()
	c := openLocal(t, dir, append(sets, "fetcher.server_delay=0s", "http.store_request=true")...)
	settings, err := cycle.LoadConfig(c.Config, c.Rules)
	if err != nil {
		t.Fatal(err)
	}
	cy, err := cycle.New(c, settings)
	if err != nil {
		t.Fatal(err)
	}
	var list []inject.Seed
	for _, u := range seeds {
		list = append(list, inject.Seed{URL: u})
	}
	_, err = cy.Inject(t.Context(), list, transition.InjectNew, false)
	if err == nil {
		_, err = cy.NewRunner().Run(t.Context())
	}
	if err = errors.Join(err, cy.Close(), c.Close(context.Background())); err != nil {
		t.Fatal(err)
	}
}

func openLocal(t *testing.T, dir string, sets ...string) *crawl.Crawl {
	t.Helper()
	cfg, err := config.Load(config.Options{Defaults: crawler.Defaults(), Sets: append([]string{"crawl.dir=" + dir, "store.low_water=0", "http.agent_name=tester", "http.agent_url=http://example.org/"}, sets...)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := crawl.Open(t.Context(), crawl.Options{Config: cfg, Builtins: plugins.Builtins(), Log: hclog.NewNullLogger(), Local: true, Command: "crawler fetch"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestReaders asks a crawl that nobody has open, and the same crawl while a
// process has it open and serves the socket.
func TestReaders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	root := smallCrawl(t, dir)
	t.Run("alone", func(t *testing.T) { askAll(t, dir, root) })

	c := openLocal(t, dir)
	srv, err := control.Serve(t.Context(), dir, query.Verbs(c, nil, true), control.Options{Command: "crawler fetch"})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("by the socket", func(t *testing.T) {
		askAll(t, dir, root)
		runLine(t, "", "status", "--dir", dir).wants(t, ExitDone, "only answers questions")
		runLine(t, "", "stop", "--dir", dir).wants(t, ExitError, "!does nothing that could be stopped")
	})
	if err := errors.Join(srv.Close(), c.Close(context.Background())); err != nil {
		t.Fatal(err)
	}
}

// TestNextDue: what is due already is due now, however late the next record's time comes.
func TestNextDue(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	smallCrawl(t, dir)
	runLine(t, "", "inject", "http://localhost:2/", "--dir", dir, "-D", "store.low_water=0").wants(t, ExitDone)
	runLine(t, "", "readdb", "--stats", "--dir", dir).wants(t, ExitDone, `^next due: +now$`)
}

func askAll(t *testing.T, dir, root string) {
	host := regexp.QuoteMeta(strings.TrimPrefix(root, "http://"))
	line := func(args ...string) outcome { return runLine(t, "", append(args, "--dir", dir)...) }
	line("readdb", "--stats").wants(t, ExitDone, `^TOTAL urls: +3$`, `^status 2 \(db_fetched\): +2$`, `^status 3 \(db_gone\): +1$`, `^retry 0: +3$`, `^next due: +in `)
	line("readdb", "-stats", "-sort", "-quantiles").wants(t, ExitDone, `^score quantile 0.5: +\d`, `^min score: `, `TOTAL +fetched +gone +HOST`, ` 3 +2 +1 +127`)
	// Nutch's way to name the CrawlDB.
	runLine(t, "", "readdb", dir+"/crawldb", "-url", root+"/blue").wants(t, ExitDone,
		`^URL: http://`+host+`/blue$`, `^Status: +2 \(db_fetched\)$`, `^Retry interval: +2592000 seconds \(30 days\)$`, `^Signature: +[0-9a-f]{32}$`,
		`^Protocol status: +success\(1\)`, `^Index main: +document`, `^Host: +127`)
	line("readdb", "--url", root+"/nope").wants(t, ExitNothing, `^not found$`)
	line("readdb").wants(t, ExitUsage, `!--stats, --url URL`)
	line("readdb", "--stats", "--url", "x").wants(t, ExitUsage, `!--stats, --url URL`)

	var segs query.SegmentsAnswer
	o := line("readseg", "--list", "--json")
	if err := json.Unmarshal([]byte(o.out), &segs); err != nil || len(segs.Segments) != 2 {
		t.Fatalf("%v\n%s%s", err, o.out, o.err)
	}
	id := segs.Segments[1].Name
	line("readseg", "-list").wants(t, ExitDone, `^NAME +GENERATED +FETCHER START +FETCHER END +FETCHED +PARSED`, `^`+id+` +2 .* indexed$`)
	runLine(t, "", "readseg", "-list", "-dir", dir+"/segments").wants(t, ExitDone, `^`+id+` `)
	runLine(t, "", "readseg", "-get", dir+"/segments/"+id, root+"/blue").wants(t, ExitDone,
		`^Crawl Fetch::$`, `^Content::$`, `The blue whale is large`, `^ParseData::$`, `^Title: +Blue whales$`, `outlink: toUrl: .*/ anchor: home`, `^ParseText::$`)
	line("readseg", "-get", id, root+"/nope").wants(t, ExitNothing, `not found in segment`)
	line("readseg", "-dump", id).wants(t, ExitDone, `^Recno:: 0$`, `^Recno:: 1$`, `^URL:: http://`+host+`/blue$`, `^Crawl Generate::$`, `^Crawl Fetch::$`, `^Content::$`, `^ParseData::$`, `The blue whale is large`)
	if o := line("readseg", "-dump", id, "-nocontent", "-nofetch", "-nogenerate", "-noparsedata"); strings.Contains(o.out, "Crawl") || strings.Contains(o.out, "ParseData") || !strings.Contains(o.out, "ParseText::") || strings.Contains(o.out, "/gone") {
		t.Errorf("only the text of a segment: %s", o.out)
	}
	if o := line("readseg", "-dump", id, "-noparse", "-noparsetext"); strings.Contains(o.out, "outlink:") || strings.Contains(o.out, "ParseText") || !strings.Contains(o.out, "ParseData::") {
		t.Errorf("a segment without links and text: %s", o.out)
	}
	file := filepath.Join(t.TempDir(), "dump")
	line("readseg", "--dump", "--json", id, file).wants(t, ExitDone, `!^2 URLs in .*dump$`)
	if b, err := os.ReadFile(file); err != nil || strings.Count(string(b), "\n") != 2 || !strings.Contains(string(b), `"parseText":"`) {
		t.Errorf("%v: %s", err, b)
	}
	line("readseg", "-dump", "20200101000000").wants(t, ExitUsage, `!there is no segment "20200101000000"`)
	line("readseg", "-dump").wants(t, ExitUsage, `!--dump takes`)
	line("readdb", "--dump", filepath.Join(file, "x")).wants(t, ExitError, `!write .*dump/x: not a directory$`)
	line("readdb", "--dump", dir).wants(t, ExitError, `!write .*: it is a folder$`)
	askParquet(t, root, line)
	line("readseg", "-list", "20200101000000").wants(t, ExitError, `!there is no segment "20200101000000"`)

	line("search", "whale").wants(t, ExitDone, `^1\. Blue whales$`, `^   http://.*/blue$`, `blue whale is large`, `^1 to 1 of 1 result \(`)
	line("search", "zebra").wants(t, ExitDone, `^no results`)
	line("search", "whale", "--facet", "host").wants(t, ExitDone, `^host:$`, `^ +1  127\.`)
	line("search", "whale", "--offset", "5").wants(t, ExitDone, `^no results after the first 1 `)
	line("search", "whale", "--writer", "nope").wants(t, ExitError, `!there is no index writer "nope"; there is main`)
	line("search").wants(t, ExitUsage, `!say what to search for`)
	line("plugin", "list").wants(t, ExitDone, `^urlfilter +urlfilter-regex > urlfilter-validator$`, `^indexer-bleve +1`)

	for _, args := range [][]string{{"readdb", "--stats"}, {"readdb", "--url", root + "/blue"}, {"readseg", "--get", id, root + "/blue"}, {"search", "whale"}, {"plugin", "list"}} {
		if o := line(append(args, "--json")...); !json.Valid([]byte(o.out)) || o.code != ExitDone {
			t.Errorf("%v --json: %d %s%s", args, o.code, o.out, o.err)
		}
	}
}

func askParquet(t *testing.T, root string, line func(...string) outcome) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "records.parquet")
	line("readdb", "--dump", file, "--format", "parquet").wants(t, ExitDone, `!^3 records in `)
	rows, err := parquet.ReadFile[parquetRecord](file)
	if err != nil || len(rows) != 3 {
		t.Fatalf("%v %+v", err, rows)
	}
	for _, r := range rows {
		if r.URL != root+"/blue" {
			continue
		}
		if r.StatusName != "db_fetched" || r.StatusCode != 2 || r.IntervalSeconds != 30*24*3600 || len(r.Signature) != 32 || r.PrevFetchTime == nil || r.HTTP != 200 || !slices.Contains(r.Metadata, parquetPair{"Content-Type", "text/html"}) || r.FetchTime.Sub(*r.PrevFetchTime).Round(time.Hour) != 30*24*time.Hour {
			t.Errorf("%+v", r)
		}
		return
	}
	t.Errorf("no %s/blue: %+v", root, rows)
}

// TestLockedWithoutSocket: a process that has the crawl open and answers no
// questions is named, after a wait that is not silent.
func TestLockedWithoutSocket(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	c := openLocal(t, dir)
	o := runLine(t, "", "readdb", "--stats", "--dir", dir)
	o.wants(t, ExitError, `!waiting up to 2s: .*in use by process `+fmt.Sprint(os.Getpid())+` \(crawler fetch\)`, `!(?s)waiting.*in use by process`)
	if n := strings.Count(o.err, "waiting"); n != 1 {
		t.Errorf("it says %d times that it waits", n)
	}
	// When the other one ends meanwhile, the command goes on.
	closed := make(chan error, 1)
	go func() { closed <- c.Close(context.Background()) }()
	runLine(t, "", "readdb", "--stats", "--dir", dir).wants(t, ExitDone, `^TOTAL urls: +0$`)
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestNoCrawl(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nothing")
	for _, args := range [][]string{{"readdb", "--stats"}, {"readseg", "--list"}, {"search", "x"}} {
		runLine(t, "", append(args, "--dir", dir)...).wants(t, ExitError, `!there is no crawl in .*nothing; .*--dir.*crawler run --seeds`)
	}
	for _, args := range [][]string{{"status"}, {"stop"}, {"stop", "--wait"}} {
		runLine(t, "", append(args, "--dir", dir)...).wants(t, ExitNothing, `no crawl is running in `)
	}
	runLine(t, "", "status", "--json", "--dir", dir).wants(t, ExitNothing, `"running": false`)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading made the directory: %v", err)
	}
}

// stoppable is a run that ends when it is told to.
type stoppable struct{ stop chan struct{} }

func (s *stoppable) Progress() cycle.Progress      { return busyProgress() }
func (s *stoppable) Waits() ([]frontier.Wait, int) { return nil, 0 }
func (s *stoppable) Stop()                         { close(s.stop) }

func TestStatusAndStop(t *testing.T) {
	dir, run := t.TempDir(), &stoppable{make(chan struct{})}
	srv, err := control.Serve(t.Context(), dir, query.Verbs(&crawl.Crawl{}, run, false), control.Options{Command: "crawler run"})
	if err != nil {
		t.Fatal(err)
	}
	runLine(t, "", "status", "--dir", dir).wants(t, ExitDone, `^crawler run, process \d+, for `, `round 3 fetch  12,345 pages`, `412 hosts \(35 held\)`, `failed 249`)
	runLine(t, "", "status", "--json", "--dir", dir).wants(t, ExitDone, `"command": "crawler run"`, `"fetched": 12345`)
	followed := make(chan outcome, 1)
	go func() { followed <- runLine(t, "", "status", "--follow", "--dir", dir) }()
	runLine(t, "", "stop", "--dir", dir).wants(t, ExitDone, `finishes what is under way`)
	select {
	case <-run.stop:
	case <-time.After(time.Minute):
		t.Fatal("the run was not stopped")
	}
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	// It may have come before or after the end.
	if o := <-followed; o.code == ExitDone {
		o.wants(t, ExitDone, `the crawl has ended`)
	} else {
		o.wants(t, ExitNothing, `no crawl is running`)
	}
}
