package crawldb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

func benchOpen(b testing.TB, dir string) (*store.Store, *DB) {
	b.Helper()
	s, err := store.Open(dir, store.Options{})
	must(b, err)
	db, err := Open(context.Background(), s, Options{Reducers: testReducers})
	must(b, err)
	return s, db
}

func cpuNow() time.Duration { return processCPU() }

// BenchmarkPage is the store's share of a page: one of 100 in a group commit,
// with 30 outlinks, its parse and its counters, then the fold of its targets.
func BenchmarkPage(b *testing.B) {
	const links, group = 30, 100
	s, db := benchOpen(b, filepath.Join(b.TempDir(), "crawl"))
	defer s.Close()
	ctx := context.Background()
	text := strings.Repeat("some words of a page that was fetched and parsed ", 60)
	page := func(i int) urlkey.Key {
		return urlkey.FromURL(fmt.Sprintf("http://www.host%d.example/section/%d/page-%d.html", i%500, i%37, i))
	}
	b.ResetTimer()
	c0 := cpuNow()
	for i := 0; i < b.N; i += group {
		n := min(group, b.N-i)
		must(b, db.Update(ctx, func(tx *Tx) error {
			for j := range n {
				k := page(i + j)
				rec, err := tx.Get(k)
				if err != nil {
					return err
				}
				if rec == nil {
					rec = &Record{}
				}
				rec.Datum.Status = model.StatusDBFetched
				rec.Datum.FetchTime = t0.Add(720 * time.Hour)
				rec.Datum.Signature = []byte(fmt.Sprintf("%016d", i+j))
				rec.Datum.Segment = "20260101000000"
				rec.Datum.ETag = "\"0123456789abcdef\""
				tx.Put(k, rec)
				tx.IndexDirty(k)
				p := segment.Parsed{Status: model.ParseStatus{Major: model.ParseSuccess}, Title: "A page", Text: text, AllLinks: links}
				targets := make([]urlkey.Key, links)
				cash := make([]int64, links)
				for l := range targets {
					targets[l] = page((i+j)*7 + l*l*31)
					u, _ := urlkey.ToURL(targets[l])
					p.Outlinks = append(p.Outlinks, segment.Link{URL: u, Anchor: "a link to a page", Tag: "a"})
					cash[l] = 1000
				}
				segment.PutParse(tx.Tx, "20260101000000", k, &p, nil)
				segment.MarkApplied(tx.Tx, "20260101000000", k, "", "20260101000000")
				if err := tx.Effects(k, targets, []Column{{"cash", cash}}, nil); err != nil {
					return err
				}
				tx.Effect(k, Effect{Fields: model.Fields{"cash": -1000}, Source: k})
			}
			return nil
		}))
	}
	apply := cpuNow() - c0
	b.StopTimer()
	c0 = cpuNow()
	st, err := db.Fold(ctx, t0, testScore)
	must(b, err)
	fold := cpuNow() - c0
	b.ReportMetric(float64(apply.Microseconds())/float64(b.N), "cpu-us/page")
	b.ReportMetric(float64(fold.Microseconds())/float64(max(st.Folded, 1)), "cpu-us/folded")
	b.ReportMetric(float64(st.Folded)/float64(b.N), "folded/page")
}

// benchSizes are the CrawlDB sizes of BenchmarkGenerate: CRAWLER_BENCH_RECORDS, a
// comma-separated list, or a small default.
func benchSizes() []int {
	v := os.Getenv("CRAWLER_BENCH_RECORDS")
	if v == "" {
		return []int{100_000}
	}
	var ns []int
	for _, f := range strings.Split(v, ",") {
		n, err := strconv.Atoi(f)
		if err != nil {
			panic(err)
		}
		ns = append(ns, n)
	}
	return ns
}

// fillRecords makes n due records, share of them on one host and the others on
// hosts hosts.
func fillRecords(b testing.TB, db *DB, n, hosts int, share float64) {
	b.Helper()
	ctx := context.Background()
	must(b, db.promote(ctx, t0))
	big := int(float64(n) * share)
	const chunk = 5000
	for i := 0; i < n; i += chunk {
		must(b, db.UpdateNoSync(ctx, func(tx *Tx) error {
			for j := i; j < min(i+chunk, n); j++ {
				host := j % hosts
				if j < big {
					host = 0
				}
				k := urlkey.FromURL(fmt.Sprintf("http://www.host%d.example/section/%d/page-%d.html", host, j%37, j))
				sort := int64(model.Micro) / int64(1+(j*7919)%5000)
				tx.Put(k, &Record{Sort: sort, Datum: model.CrawlDatum{
					Status: model.StatusDBUnfetched, FetchTime: t0, Interval: 720 * time.Hour, Score: sort,
					Fields: model.Fields{"cash": sort},
				}})
			}
			return nil
		}))
	}
}

// BenchmarkGenerate makes 100 fetch lists of 10,000 URLs back to back and reports
// the slowest and the fastest; the times must not depend on the size.
func BenchmarkGenerate(b *testing.B) {
	for _, n := range benchSizes() {
		for _, c := range []struct {
			name  string
			share float64
		}{{"even", 0}, {"onehost", 0.9}} {
			b.Run(fmt.Sprintf("records=%d/%s", n, c.name), func(b *testing.B) { benchGenerate(b, n, c.share) })
		}
	}
}

func benchGenerate(b *testing.B, n int, share float64) {
	const hosts, topN = 5000, 10_000
	s, db := benchOpen(b, filepath.Join(b.TempDir(), "crawl"))
	defer s.Close()
	fillRecords(b, db, n, hosts, share)
	b.ResetTimer()
	for range b.N {
		c0, lists := cpuNow(), 0
		var fastest, slowest, total time.Duration
		selected := 0
		for round := range 100 {
			start := time.Now()
			res, err := db.Generate(context.Background(), GenerateOptions{
				Segment: fmt.Sprintf("%014d", round), TopN: topN, MaxCount: 100, Now: t0, Seed: uint64(round),
			})
			must(b, err)
			took := time.Since(start)
			if res.Selected < topN {
				break // used up
			}
			lists++
			selected += res.Selected
			total += took
			slowest = max(slowest, took)
			if fastest == 0 || took < fastest {
				fastest = took
			}
			if os.Getenv("CRAWLER_BENCH_VERBOSE") != "" {
				b.Logf("round %d: %v, %d selected, %d queues", round, took, res.Selected, res.Queues)
			}
		}
		b.ReportMetric(float64(fastest.Microseconds())/1000, "fastest-ms")
		b.ReportMetric(float64(slowest.Microseconds())/1000, "slowest-ms")
		b.ReportMetric(float64((cpuNow()-c0).Microseconds())/1000/float64(max(lists, 1)), "cpu-ms/list")
		b.ReportMetric(float64(lists), "lists")
		b.ReportMetric(float64(total.Microseconds())/float64(max(selected, 1)), "us/url")
	}
}
