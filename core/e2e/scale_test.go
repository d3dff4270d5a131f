package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/hashicorp/go-hclog"

	crawler "github.com/gonutch/crawler"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/linkdb"
	"github.com/gonutch/crawler/core/internal/memtest"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/plugins"
	"github.com/gonutch/crawler/sdk/model"
)

// scaleSizes are the CrawlDB sizes of TestScale, ascending: CRAWLER_SCALE, or 1 and 10 million
// in the long form, or few.
func scaleSizes(t *testing.T) []int {
	list := "3000,30000"
	if soak() {
		list = "1000000,10000000"
	}
	if v := os.Getenv("CRAWLER_SCALE"); v != "" {
		list = v
	}
	var sizes []int
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, n)
	}
	return sizes
}

const scaleLinks = 10 // links of a fetched page

func scaleURL(i, n int) string {
	hosts := max(n/500, 2)
	return fmt.Sprintf("http://www.host%d.example/section/%d/page-%d.html", i%hosts, i%37, i)
}

// fillScale makes a crawl directory with n records on n/500 hosts: three of five not fetched, one of five
// fetched, with outlinks in the LinkDB and in one of 20 segments, the others gone, moved or not modified.
func fillScale(t *testing.T, dir string, n int) {
	t.Helper()
	cfg, err := config.Load(config.Options{Defaults: crawler.Defaults(), Sets: []string{
		"crawl.dir=" + dir, "store.low_water=0", "http.agent_name=testbot", "http.agent_url=http://example.org/bot",
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := crawl.Open(t.Context(), crawl.Options{Config: cfg, Builtins: plugins.Builtins(), Log: hclog.NewNullLogger(), Local: true, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const chunk = 2000
	for from := 0; from < n && err == nil; from += chunk {
		err = c.DB.UpdateNoSync(t.Context(), func(tx *crawldb.Tx) error {
			for i := from; i < min(from+chunk, n); i++ {
				putScale(c, tx, i, n, at)
			}
			return nil
		})
	}
	if err == nil {
		err = c.Store.Sync(t.Context())
	}
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func putScale(c *crawl.Crawl, tx *crawldb.Tx, i, n int, at time.Time) {
	key := urlkey.FromURL(scaleURL(i, n))
	score := int64(model.Micro) / int64(1+(i*7919)%5000)
	rec := &crawldb.Record{Sort: score, Datum: model.CrawlDatum{
		Status: model.StatusDBUnfetched, FetchTime: at, Interval: 720 * time.Hour, Score: score, Fields: model.Fields{"opic.cash": score},
	}}
	d := &rec.Datum
	if i%5 > 2 {
		d.PrevFetchTime, d.FetchTime = at, at.Add(d.Interval)
	}
	switch {
	case i%5 == 3:
		d.Status = model.StatusDBFetched
		d.Signature = fmt.Appendf(nil, "%016d", i-i%50) // two of 50 have the same content
		d.Segment = fmt.Sprintf("202601010000%02d", i/5%20)
	case i%20 == 4:
		d.Status, d.ProtocolStatus = model.StatusDBGone, model.ProtocolStatus{Code: model.ProtocolGone}
	case i%20 == 9:
		d.Status, d.ReprURL = model.StatusDBRedirPerm, scaleURL(i/2, n)
	case i%5 == 4:
		d.Status = model.StatusDBNotModified
	}
	tx.Put(key, rec)
	if d.Segment == "" {
		return
	}
	p := segment.Parsed{Status: model.ParseStatus{Major: model.ParseSuccess}, Title: "A page", Text: strings.Repeat("some words of a page ", 10), AllLinks: scaleLinks}
	f := &segment.Fetch{URL: scaleURL(i, n), Status: model.StatusFetchSuccess, FetchTime: at, MIMEType: "text/html", Size: 6000}
	links := make([]linkdb.Link, scaleLinks)
	for l := range links {
		target := scaleURL((i*7+l*l*31)%n, n)
		links[l] = linkdb.Link{Target: urlkey.FromURL(target), Anchor: "a link to a page"}
		p.Outlinks = append(p.Outlinks, segment.Link{URL: target, Anchor: "a link to a page", Tag: "a"})
	}
	segment.PutFetch(tx.Tx, d.Segment, key, f)
	segment.PutParse(tx.Tx, d.Segment, key, &p, f)
	segment.PutMeta(tx.Tx, segment.Meta{ID: d.Segment, State: segment.StateIndexed, Created: at})
	c.Links.Replace(tx.Tx, key, nil, links)
}

// scaleRows are the commands of TestScale: what they are called with, and a word of their answer.
func scaleRows(n int, tmp, site string) [][]string {
	url := scaleURL(3, n)
	out := filepath.Join(tmp, "out")
	return [][]string{
		{"readdb", "--stats"},
		{"readdb", "--stats", "--sort", "--limit", "10"},
		{"readdb", "--stats", "--quantiles"},
		{"readdb", "--dump", out, "--format", "csv"},
		{"readdb", "--dump", out, "--format", "json", "--expr", "score > 0.5"},
		{"readdb", "--top-n", "1000"},
		{"readdb", "--url", url},
		{"explain", url},
		{"explain", "--idle"},
		{"readlinkdb", "--dump", out},
		{"readlinkdb", "--url", scaleURL(52%n, n)}, // page 3 links to it
		{"readhostdb", "--dump", out},
		{"domainstats", "host", "--out", out},
		{"domainstats", "domain", "--out", out},
		{"protocolstats"},
		{"crawlcomplete", "host", "--out", out},
		{"segment", "list"},
		{"readseg", "--list"},
		{"db", "check"},
		{"db", "refilter", "--config", site},
		{"db", "rescore", "--config", site},
		{"dedup", "--config", site},
		{"generate", "--config", site, "--top-n", "1000"},
		{"webgraph"},
		{"linkrank", "--scores", "linkrank"},
		{"nodedumper", "--scores", "--topn", "1000", "--output", out},
		{"scoreupdater", "--config", site},
		{"status"},
		{"segment", "prune", "--keep", "1"},
		{"backup", filepath.Join(tmp, "backup")},
		{"db", "repair"},
	}
}

// TestScale runs the commands that read or rewrite a whole crawl over crawls of several sizes. No
// command may take more memory because the crawl is larger, but for linkrank, which has 16 bytes a node.
// The long form prints the table of the README.
func TestScale(t *testing.T) {
	if testing.Short() {
		t.Skip("large crawls")
	}
	sizes := scaleSizes(t)
	took, peak := map[string][]time.Duration{}, map[string][]int64{}
	var names []string
	for i, n := range sizes {
		tmp := t.TempDir()
		dir := filepath.Join(tmp, "crawl")
		fillScale(t, dir, n)
		conf := site(t, "127.0.0.1:9", "plugin {\n  add    = [\"scoring-link\"]\n  remove = [\"scoring-opic\"]\n}\n")
		for _, row := range scaleRows(n, tmp, conf) {
			name := scaleName(row, tmp, conf)
			if i == 0 {
				names = append(names, name)
			}
			d, kib := runMeasured(t, append(row, "--dir", dir)...)
			took[name] = append(took[name], d)
			peak[name] = append(peak[name], kib>>10)
		}
		if err := os.RemoveAll(tmp); err != nil {
			t.Error(err)
		}
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, name := range names {
		fmt.Fprint(w, name)
		for i := range sizes {
			fmt.Fprintf(w, "\t%v\t%d MiB", took[name][i].Round(10*time.Millisecond), peak[name][i])
		}
		fmt.Fprintln(w)
		small, large := peak[name][0], peak[name][len(sizes)-1]
		allowed := max(small+small/4, 384) // caches, memtables and sort buffers fill up
		if strings.HasPrefix(name, "linkrank") {
			allowed += int64(sizes[len(sizes)-1]) * 32 >> 20
		}
		if large > allowed {
			t.Errorf("%s: %d MiB with %d records, %d MiB with %d", name, small, sizes[0], large, sizes[len(sizes)-1])
		}
	}
	_ = w.Flush()
	t.Logf("records: %v\n%s", sizes, b.String())
}

// runMeasured runs a command that must succeed or have nothing to do, and returns how long it took and the
// most memory that its core had, in KiB.
func runMeasured(t *testing.T, args ...string) (took time.Duration, kib int64) {
	t.Helper()
	cmd := command(t.Context(), t, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			kib = max(kib, memtest.PeakKiB(cmd.Process.Pid)) // rusage's has this process' share
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	err := cmd.Wait()
	took = time.Since(start)
	close(done)
	wg.Wait()
	if err != nil && cmd.ProcessState.ExitCode() != 3 {
		t.Fatalf("crawler %s: %v\n%.2000s", strings.Join(args, " "), err, out.String())
	}
	return took, kib
}

// scaleName is a row of scaleRows without paths.
func scaleName(row []string, tmp, conf string) string {
	var words []string
	for _, w := range row {
		switch {
		case strings.HasPrefix(w, tmp):
			w = filepath.Base(w)
		case w == conf || w == "--config":
			continue
		case strings.HasPrefix(w, "http://"):
			w = "URL"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}
