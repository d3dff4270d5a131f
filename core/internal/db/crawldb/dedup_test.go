package crawldb

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

func page(t testing.TB, db *DB, url, sig string, score int64) {
	t.Helper()
	must(t, db.Update(context.Background(), func(tx *Tx) error {
		tx.Put(urlkey.FromURL(url), &Record{Datum: model.CrawlDatum{
			Status: model.StatusDBFetched, FetchTime: t0, Score: score, Signature: []byte(sig), Segment: "s1",
		}})
		return nil
	}))
}

// duplicates returns "url > winner" of every duplicate.
func duplicates(t testing.TB, db *DB) []string {
	t.Helper()
	var out []string
	must(t, db.Scan(context.Background(), "", func(k urlkey.Key, r *Record) error {
		u, err := urlkey.ToURL(k)
		if (r.Datum.Status == model.StatusDBDuplicate) != (r.Datum.DuplicateOf != "") {
			t.Errorf("%s: %s, duplicate of %q", u, r.Datum.Status, r.Datum.DuplicateOf)
		}
		if r.Datum.DuplicateOf != "" {
			out = append(out, u+" > "+r.Datum.DuplicateOf)
		}
		return err
	}))
	return out
}

func dedup(t testing.TB, db *DB, o DedupOptions) DedupStats {
	t.Helper()
	st, err := db.Dedup(context.Background(), o)
	must(t, err)
	return st
}

func TestDedupOrder(t *testing.T) {
	host := urlkey.ByHost
	domain := urlkey.ByDomain
	for _, c := range []struct {
		name  string
		pages []string // "url score"
		o     DedupOptions
		want  string // winner of all
		dups  int
	}{
		{"score", []string{"http://a.test/long/path 5", "http://b.test/ 4"}, DedupOptions{}, "http://a.test/long/path", 1},
		{"length", []string{"http://a.test/long 5", "http://b.test/ 5"}, DedupOptions{}, "http://b.test/", 1},
		{"decoded length", []string{"http://a.test/%41%42 5", "http://a.test/xyz 5"}, DedupOptions{}, "http://a.test/%41%42", 1},
		{"key", []string{"http://b.test/ 5", "http://a.test/ 5"}, DedupOptions{}, "http://a.test/", 1},
		{"length first", []string{"http://a.test/long 9", "http://b.test/ 5"}, DedupOptions{Order: []string{ByURLLength}}, "http://b.test/", 1},
		{"https", []string{"http://a.test/ 9", "https://a.test/ 5"}, DedupOptions{Order: []string{ByHTTPS, ByScore}}, "https://a.test/", 1},
		{"by host", []string{"http://a.test/1 9", "http://b.test/1 5", "http://a.test/2 5"}, DedupOptions{Group: &host}, "http://a.test/1", 1},
		{"by domain", []string{"http://a.x.org/1 9", "http://b.x.org/1 5", "http://y.org/ 5"}, DedupOptions{Group: &domain}, "http://a.x.org/1", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, db := openFS(t, store.NewMemFS(), Options{})
			defer s.Close()
			for _, p := range c.pages {
				var u string
				var score int64
				_, err := fmt.Sscan(p, &u, &score)
				must(t, err)
				page(t, db, u, "sig", score)
			}
			page(t, db, "http://other.test/", "another", 1)
			dedup(t, db, c.o)
			got := duplicates(t, db)
			if len(got) != c.dups || !strings.HasSuffix(got[0], " > "+c.want) {
				t.Fatalf("duplicates %v, want %d of %s", got, c.dups, c.want)
			}
			if st := dedup(t, db, c.o); (st != DedupStats{}) {
				t.Fatalf("a second dedup did %+v", st)
			}
			wantClean(t, db)
		})
	}
}

func TestDedupBadOrder(t *testing.T) {
	s, db := openFS(t, store.NewMemFS(), Options{})
	defer s.Close()
	for order, says := range map[string]string{"size": "unknown criterion", ByFetchTime: "without watching"} {
		if _, err := db.Dedup(context.Background(), DedupOptions{Order: []string{order}}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", order, err)
		}
	}
}

// TestDedupHistory changes pages in random order with dedups between, in small and
// in large groups, and compares with a dedup of the same pages from scratch.
func TestDedupHistory(t *testing.T) {
	for _, n := range []int{6, 60} {
		for seed := range uint64(8) {
			t.Run(fmt.Sprint(n, "/", seed), func(t *testing.T) { dedupHistory(t, n, seed) })
		}
	}
}

func dedupHistory(t *testing.T, n int, seed uint64) {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	ctx := context.Background()
	s, db := openFS(t, store.NewMemFS(), Options{})
	defer s.Close()
	db.size.dedup = 5
	o := DedupOptions{}
	if seed%2 == 1 {
		host := urlkey.ByHost
		o.Group = &host
	}
	url := func() string { return fmt.Sprintf("http://h%d.test/%0*d", r.IntN(3), 1+r.IntN(3), r.IntN(n)) }
	for range 40 {
		for range 1 + r.IntN(n/2) {
			u := url()
			switch r.IntN(8) {
			case 0:
				must(t, db.Update(ctx, func(tx *Tx) error { tx.Delete(urlkey.FromURL(u)); return nil }))
			case 1: // gone
				must(t, db.Update(ctx, func(tx *Tx) error {
					rec, err := tx.Get(urlkey.FromURL(u))
					if rec != nil {
						rec.Datum.Status, rec.Datum.DuplicateOf = model.StatusDBGone, ""
						tx.Put(urlkey.FromURL(u), rec)
					}
					return err
				}))
			case 2: // a retry: it stands for its content until it is given up
				must(t, db.Update(ctx, func(tx *Tx) error {
					rec, err := tx.Get(urlkey.FromURL(u))
					if rec != nil && rec.Datum.Segment != "" {
						rec.Datum.Status, rec.Datum.DuplicateOf = model.StatusDBUnfetched, ""
						tx.Put(urlkey.FromURL(u), rec)
					}
					return err
				}))
			case 3: // another score
				must(t, db.Update(ctx, func(tx *Tx) error {
					rec, err := tx.Get(urlkey.FromURL(u))
					if rec != nil {
						rec.Datum.Score = int64(r.IntN(5))
						tx.Put(urlkey.FromURL(u), rec)
					}
					return err
				}))
			default:
				page(t, db, u, []string{"same", "same", "same", "rare"}[r.IntN(4)], int64(r.IntN(5)))
			}
		}
		dedup(t, db, o)
		wantClean(t, db)
		if want, got := dedupFromScratch(t, db, o), duplicates(t, db); !slices.Equal(want, got) {
			t.Fatalf("history matters (-from scratch +got):\n%s", cmp.Diff(want, got))
		}
	}
}

func dedupFromScratch(t *testing.T, db *DB, o DedupOptions) []string {
	s2, fresh := openFS(t, store.NewMemFS(), Options{})
	defer s2.Close()
	must(t, fresh.Update(context.Background(), func(tx *Tx) error {
		return db.Scan(context.Background(), "", func(k urlkey.Key, r *Record) error {
			if r.Datum.Status == model.StatusDBDuplicate {
				r.Datum.Status, r.Datum.DuplicateOf = model.StatusDBFetched, ""
			}
			tx.Put(k, r)
			return nil
		})
	}))
	dedup(t, fresh, o)
	return duplicates(t, fresh)
}

// TestDedupRulesChange: another order or group judges small and large groups anew.
func TestDedupRulesChange(t *testing.T) {
	host := urlkey.ByHost
	for _, n := range []int{2, 40} {
		s, db := openFS(t, store.NewMemFS(), Options{})
		for i := range n {
			page(t, db, fmt.Sprintf("http://h%d.test/%0*d", i%2, n-i, i), "sig", int64(n-i))
		}
		for _, o := range []DedupOptions{{}, {Group: &host}, {Order: []string{ByURLLength}}, {Order: []string{ByURLLength}, Group: &host}, {}} {
			dedup(t, db, o)
			if want, got := dedupFromScratch(t, db, o), duplicates(t, db); !slices.Equal(want, got) {
				t.Errorf("%d pages, %+v (-from scratch +got):\n%s", n, o, cmp.Diff(want, got))
			}
			if st := dedup(t, db, o); (st != DedupStats{}) {
				t.Errorf("%d pages: a second dedup did %+v", n, st)
			}
		}
		wantClean(t, db)
		must(t, s.Close())
	}
}
