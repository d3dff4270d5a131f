package update

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	crawler "github.com/gonutch/crawler"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/sheet"
	"github.com/gonutch/crawler/sdk/model"
)

// use takes the settings of text, which is a site.hcl.
func (b *bench) use(text string) {
	b.t.Helper()
	name := filepath.Join(b.t.TempDir(), "site.hcl")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	c, err := config.Load(config.Options{Defaults: crawler.Defaults(), Files: []string{name}})
	if err != nil {
		b.t.Fatal(err)
	}
	rules, err := sheet.Load(c)
	if err != nil {
		b.t.Fatal(err)
	}
	if b.cfg, err = LoadConfig(c, rules); err != nil {
		b.t.Fatal(err)
	}
}

// TestFreshness follows pages through the steps: each belongs to its target, learns its rate, and
// together they keep a budget; the report says so.
func TestFreshness(t *testing.T) {
	b := newBench(t)
	b.use(`
db {
  fetch_schedule               = "freshness"
  fetch_schedule_freshness_age = "2d"
}
freshness "news" {
  patterns = ["/news/"]
  age      = "6h"
  budget   = 3
}`)
	var urls []string
	for i := range 10 {
		urls = append(urls, fmt.Sprintf("http://a.test/news/%d", i))
	}
	urls = append(urls, "http://a.test/other")
	b.put(model.StatusDBUnfetched, urls...)
	visit := func(n int) {
		t.Helper()
		seg := fmt.Sprintf("s%d", n)
		b.generate(seg)
		for _, u := range urls { // one by one: each sees what the ones before have summed up
			p := b.page(seg, u, model.StatusFetchSuccess)
			if u == "http://a.test/other" {
				p.Parsed.Signature = []byte("same")
			}
			b.apply(p)
		}
	}
	visit(1)
	first, last, other := b.get(urls[0]), b.get(urls[9]), b.get(urls[10])
	if first.History.Target != "news" || first.Interval != 12*time.Hour || other.History.Target != "default" || other.Interval != 96*time.Hour {
		t.Fatalf("first visits: %+v, %v; %+v, %v", first.History, first.Interval, other.History, other.Interval)
	}
	// Nine pages want 18 visits a day before the last one: its interval is 6 times as long.
	if last.Interval != 6*first.Interval || last.History.Wanted != first.Interval {
		t.Errorf("the last page: interval %v, %+v", last.Interval, last.History)
	}
	b.now = b.now.Add(100 * time.Hour)
	visit(2)
	first, other = b.get(urls[0]), b.get(urls[10])
	if h := first.History; h.Checks != 1 || h.Rate == 0 || h.Age == 0 {
		t.Errorf("a page that changed: %+v", h)
	}
	if h := other.History; h.Checks != 1 || h.Rate != 0 || other.Status != model.StatusDBNotModified || other.Interval <= 96*time.Hour {
		t.Errorf("a page that did not change: %+v, interval %v", h, other.Interval)
	}
	reports, err := b.cfg.Freshness(t.Context(), b.db)
	if err != nil || len(reports) != 2 {
		t.Fatalf("%+v, %v", reports, err)
	}
	d, n := reports[0], reports[1]
	if d.Target != "default" || d.Pages != 1 || d.Measured != 1 || d.Wanted != 48*time.Hour || d.Stretch != 0 {
		t.Errorf("%+v", d)
	}
	if n.Target != "news" || n.Pages != 10 || n.Measured != 10 || n.Budget != 3 || n.Stretch <= 1 || n.Age < 10*time.Hour || n.Age > 20*time.Hour {
		t.Errorf("%+v", n)
	}
	// What is gone from the CrawlDB does not count.
	b.cfg.Purge404 = true
	b.now = b.now.Add(1000 * time.Hour)
	b.generate("s3")
	b.apply(b.page("s3", urls[0], model.StatusFetchGone))
	if f, err := b.db.Freshness("news"); err != nil || f.Pages != 9 {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestSheetInterval: a sheet's interval holds for its hosts, but not over a seed's.
func TestSheetInterval(t *testing.T) {
	b := newBench(t)
	b.use(`sheet "fast" {
  domains  = ["a.test"]
  interval = "3h"
}`)
	urls := []string{"http://www.a.test/1", "http://b.test/1"}
	b.put(model.StatusDBUnfetched, urls...)
	b.generate("s1")
	b.apply(b.page("s1", urls[0], model.StatusFetchSuccess), b.page("s1", urls[1], model.StatusFetchSuccess))
	if a, other := b.get(urls[0]), b.get(urls[1]); a.Interval != 3*time.Hour || other.Interval != 30*24*time.Hour || !a.FetchTime.Equal(b.now.Add(3*time.Hour)) {
		t.Errorf("%v due %v, %v", a.Interval, a.FetchTime, other.Interval)
	}
}
