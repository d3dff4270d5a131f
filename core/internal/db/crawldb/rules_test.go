package crawldb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// TestQueueRules: what is said of a queue holds for it alone, and each queue is asked
// about once however many URLs it has (Nutch lets values leak to the next host).
func TestQueueRules(t *testing.T) {
	s, db := openFS(t, store.NewMemFS(), Options{})
	defer s.Close()
	var urls []string
	for _, h := range []string{"none", "one", "all", "other"} {
		for i := range 5 {
			urls = append(urls, fmt.Sprintf("http://%s.test/%d", h, i))
		}
	}
	putDue(t, db, urls...)
	asked := map[string]int{}
	o := GenerateOptions{Segment: "s1", MaxCount: 2, Queue: func(q string) (QueueRule, error) {
		asked[q]++
		switch q {
		case "none.test":
			return QueueRule{Reject: RejectHostExpr}, nil
		case "one.test":
			return QueueRule{MaxCount: 1}, nil
		case "all.test":
			return QueueRule{MaxCount: -1}, nil
		}
		return QueueRule{}, nil
	}}
	res := generate(t, db, o)
	got := map[string]int{}
	must(t, db.Generated(context.Background(), "s1", func(k urlkey.Key, _ FetchHint) error { got[k.Host()]++; return nil }))
	if d := cmp.Diff(map[string]int{"one.test": 1, "all.test": 5, "other.test": 2}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]int64{RejectHostExpr: 1, RejectCount: 2}, res.Rejected); d != "" {
		t.Error(d)
	}
	for q, n := range asked {
		if n != 1 {
			t.Errorf("asked %d times about %s", n, q)
		}
	}
	o.Segment, o.Queue = "s2", func(string) (QueueRule, error) { return QueueRule{}, errors.New("boom") }
	o.Now = t0
	if _, err := db.Generate(context.Background(), o); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("error of a rule: %v", err)
	}
}

// TestMatch: an expression sees the record as the fetch list has it, and its signature
// when it asks for it.
func TestMatch(t *testing.T) {
	s, db := openFS(t, store.NewMemFS(), Options{})
	defer s.Close()
	must(t, db.Update(context.Background(), func(tx *Tx) error {
		for i := range 6 {
			tx.Put(urlkey.FromURL(fmt.Sprintf("http://a.test/%d", i)), &Record{Sort: int64(i) * 1000, Datum: model.CrawlDatum{
				Status: model.StatusDBFetched, FetchTime: t0, Interval: time.Hour, Score: int64(i) * model.Micro, Retries: i % 2,
				Signature: []byte{byte(i)}, Metadata: model.Metadata{"x-lang": {[]string{"de", "en"}[i%2]}},
			}})
		}
		return nil
	}))
	match := func(want string) func(urlkey.Key, *Record) (bool, error) {
		return func(k urlkey.Key, r *Record) (bool, error) {
			url, err := urlkey.ToURL(k)
			v := Variables(url, r)
			return fmt.Sprint(v["url"], " ", v["score"], " ", v["retries"], " ", v["x_lang"], " ", v["interval"], " ", v["status"], " ", v["signature"]) == want, err
		}
	}
	// Without Signatures the signature is empty.
	if res := generate(t, db, GenerateOptions{Segment: "s1", Match: match("http://a.test/3 3 1 en 3600 db_fetched ")}); res.Selected != 1 || res.Rejected[RejectExpr] != 5 {
		t.Errorf("%+v", res)
	}
	if res := generate(t, db, GenerateOptions{Segment: "s2", Signatures: true, Match: match("http://a.test/4 4 0 de 3600 db_fetched 04")}); res.Selected != 1 || res.Rejected[RejectExpr] != 4 {
		t.Errorf("%+v", res)
	}
	wantClean(t, db)
}

// TestFreshnessSums: the sums follow every change of records, whatever its order, and a
// repair counts the same.
func TestFreshnessSums(t *testing.T) {
	s, db := openFS(t, store.NewMemFS(), Options{})
	defer s.Close()
	ctx := context.Background()
	put := func(url string, h model.ChangeHistory) {
		must(t, db.Update(ctx, func(tx *Tx) error {
			tx.Put(urlkey.FromURL(url), &Record{Datum: model.CrawlDatum{Status: model.StatusDBFetched, FetchTime: t0, Interval: time.Hour, History: h}})
			return nil
		}))
	}
	day := 24 * time.Hour
	put("http://a.test/1", model.ChangeHistory{Target: "news", Wanted: day})
	put("http://a.test/2", model.ChangeHistory{Target: "news", Wanted: day / 4, Checks: 3, Rate: 5, Age: 2 * time.Hour})
	put("http://b.test/3", model.ChangeHistory{Target: "news", Wanted: day / 2, Checks: 1, Age: 4 * time.Hour})
	put("http://b.test/4", model.ChangeHistory{Target: "other", Wanted: day})
	put("http://b.test/5", model.ChangeHistory{})
	want := map[string]Freshness{
		"news":  {Pages: 3, PerDay: 7, Measured: 2, Age: 3 * time.Hour},
		"other": {Pages: 1, PerDay: 1},
	}
	check := func() {
		t.Helper()
		got, err := db.AllFreshness(ctx)
		must(t, err)
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		wantClean(t, db)
	}
	check()
	// A record changes its target, one its figures, one goes.
	put("http://b.test/3", model.ChangeHistory{Target: "other", Wanted: day / 2})
	put("http://a.test/2", model.ChangeHistory{Target: "news", Wanted: day / 2, Checks: 4, Rate: 5, Age: time.Hour})
	must(t, db.Update(ctx, func(tx *Tx) error { tx.Delete(urlkey.FromURL("http://a.test/1")); return nil }))
	want = map[string]Freshness{"news": {Pages: 1, PerDay: 2, Measured: 1, Age: time.Hour}, "other": {Pages: 2, PerDay: 3}}
	check()
	one, err := db.Freshness("other")
	must(t, err)
	if one != want["other"] {
		t.Errorf("%+v", one)
	}
	// What is spoilt is found and put right.
	must(t, s.Update(ctx, func(tx *store.Tx) error {
		tx.Merge(freshCounter("news"), store.AppendCounts(nil, store.Count{ID: freshDemand, N: 5}))
		tx.Merge(freshCounter("gone"), store.AppendCounts(nil, store.Count{ID: freshPages, N: 1}))
		return nil
	}))
	if rep, err := db.Check(ctx); err != nil || rep.Total != 2 {
		t.Errorf("check of spoilt sums: %+v, %v", rep, err)
	}
	if rep, err := db.Repair(ctx, nil); err != nil || rep.Counters != 2 {
		t.Errorf("repair: %+v, %v", rep, err)
	}
	check()
}

// TestHistoryIsKept: a history survives the store, and a record from before there were
// any is read as it was.
func TestHistoryIsKept(t *testing.T) {
	want := Record{Datum: model.CrawlDatum{
		Status: model.StatusDBFetched, FetchTime: t0, Metadata: model.Metadata{"k": {"v"}},
		History: model.ChangeHistory{Target: "news", Checks: 7, Rate: 123456, Wanted: 90 * time.Minute, Age: 1234 * time.Millisecond},
	}}
	var got Record
	b := appendRecord(nil, &want)
	must(t, decodeRecord(nil, b, &got))
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	old := want
	old.Datum.History = model.ChangeHistory{}
	without := appendRecord(nil, &old)
	if n := len(b) - len(without); n > 24 {
		t.Errorf("a history takes %d bytes", n)
	}
	got = Record{}
	must(t, decodeRecord(nil, without, &got))
	if d := cmp.Diff(old, got); d != "" {
		t.Error(d)
	}
}

// TestGenerateKeepsWhatItRefuses: runs of selected neighbours are deleted as ranges,
// which begin at the queue's start when nothing before them was refused. Whatever is
// refused, first, in the middle or last in its queue, stays in the ready index,
// also when lists are written in portions that end anywhere.
func TestGenerateKeepsWhatItRefuses(t *testing.T) {
	const hosts, pages = 3, 4 * longRun
	for _, portion := range []int{50_000, longRun + 7} {
		for _, refused := range [][]int{nil, {0}, {1}, {longRun}, {longRun + 5, longRun + 6}, {pages - 1}, {0, pages / 2, pages - 1}} {
			t.Run(fmt.Sprint(portion, refused), func(t *testing.T) {
				s, db := openFS(t, store.NewMemFS(), Options{})
				defer s.Close()
				db.size.generate = portion
				var urls []string
				refuse := make(map[string]bool)
				for h := range hosts {
					for i := range pages {
						url := fmt.Sprintf("http://h%d.test/%04d", h, i)
						urls = append(urls, url)
						refuse[url] = slices.Contains(refused, i)
					}
				}
				putDue(t, db, urls...)
				match := func(k urlkey.Key, _ *Record) (bool, error) {
					url, err := urlkey.ToURL(k)
					return !refuse[url], err
				}
				total := 0
				for round := 0; ; round++ {
					seg := fmt.Sprintf("s%02d", round)
					res := generate(t, db, GenerateOptions{Segment: seg, MaxCount: longRun * 3 / 2, Match: match, Seed: uint64(round)})
					wantClean(t, db)
					if total += res.Selected; res.Selected == 0 {
						break
					}
				}
				left := hosts * len(refused)
				if want := hosts*pages - left; total != want {
					t.Errorf("%d selected, want %d", total, want)
				}
				if res := generate(t, db, GenerateOptions{Segment: "z"}); res.Selected != left {
					t.Errorf("%d of the refused are still there, want %d", res.Selected, left)
				}
				wantClean(t, db)
			})
		}
	}
}
