package crawldb

import (
	"strings"
	"testing"
	"time"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

// TestRepair: whatever is broken of what is derived from the records, Check finds it
// and Repair puts it right.
func TestRepair(t *testing.T) {
	s, err := store.Open("crawl", store.Options{FS: store.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	db, err := Open(t.Context(), s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	page := urlkey.FromURL
	a, b := page("http://a.example/1"), page("http://b.example/2")
	err = db.Update(t.Context(), func(tx *Tx) error {
		for _, k := range []urlkey.Key{a, b, page("http://a.example/3")} {
			tx.Put(k, &Record{Datum: model.CrawlDatum{Status: model.StatusDBFetched, FetchTime: time.Unix(1e9, 0), Signature: []byte("sig"), Segment: "s1"}})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := db.Get(a)
	if err != nil {
		t.Fatal(err)
	}
	one := store.AppendCounts(nil, store.Count{ID: 2, N: 7})
	for _, c := range []struct {
		name  string
		spoil func(*store.Tx)
		want  RepairReport
	}{
		{"nothing", func(*store.Tx) {}, RepairReport{}},
		{"index entry lost", func(tx *store.Tx) { tx.Delete(db.indexKey(a, rec)) }, RepairReport{}},
		{"index entry of nothing", func(tx *store.Tx) { tx.Set(waitKey(5, "nothing"), nil) }, RepairReport{}},
		{"signature lost", func(tx *store.Tx) { tx.Delete(signatureKey(store.PrefixSignature, []byte("sig"), a)) }, RepairReport{Signatures: 1}},
		{"signature of nothing", func(tx *store.Tx) { tx.Set(signatureKey(store.PrefixSignature, []byte("x"), a), nil) }, RepairReport{Signatures: 1}},
		{"status count", func(tx *store.Tx) { tx.Merge(store.Key(store.PrefixCounter, counterStatus), one) }, RepairReport{Counters: 1}},
		{"retry count", func(tx *store.Tx) { tx.Merge(store.Key(store.PrefixCounter, counterRetry), one) }, RepairReport{Counters: 1}},
		{"host count", func(tx *store.Tx) { tx.Merge(store.Key(store.PrefixHostCount, hostOf(b)), one) }, RepairReport{Counters: 1}},
		{"count of no host", func(tx *store.Tx) { tx.Merge(store.Key(store.PrefixHostCount, "example.c"), one) }, RepairReport{Counters: 1}},
		{"segment count", func(tx *store.Tx) { tx.Merge(segCounter("s1"), store.AppendCounts(nil, store.Count{N: 1})) }, RepairReport{Counters: 1}},
		{"count of no segment", func(tx *store.Tx) { tx.Merge(segCounter("s2"), store.AppendCounts(nil, store.Count{N: 1})) }, RepairReport{Counters: 1}},
		{"lease of nothing", func(tx *store.Tx) { tx.Set(leaseKey("s1", "nothing"), nil) }, RepairReport{Leases: 1}},
	} {
		err := s.Update(t.Context(), func(tx *store.Tx) error { c.spoil(tx); return nil })
		if err != nil {
			t.Fatal(err)
		}
		rep, err := db.Check(t.Context())
		if err != nil || (rep.Total > 0) != (c.name != "nothing") {
			t.Errorf("%s: check: %+v %v", c.name, rep, err)
		}
		got, err := db.Repair(t.Context(), nil)
		c.want.Records = 3
		if err != nil || got != c.want {
			t.Errorf("%s: repaired %+v, want %+v; %v", c.name, got, c.want, err)
		}
		if rep, err := db.Check(t.Context()); err != nil || rep.Total != 0 || rep.Records != 3 {
			t.Errorf("%s: after repair: %+v %v", c.name, rep, err)
		}
	}
	err = s.Update(t.Context(), func(tx *store.Tx) error { tx.Set(recordKey(b), []byte{0xff}); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if got, err := db.Repair(t.Context(), nil); err != nil || got.Records != 2 || got.Unreadable != 1 {
		t.Errorf("unreadable record: %+v %v", got, err)
	}
	if rep, err := db.Check(t.Context()); err != nil || rep.Records != 2 || len(rep.Problems) == 0 || !strings.Contains(rep.Problems[0], "b") {
		t.Errorf("unreadable record: %+v %v", rep, err)
	}
}
