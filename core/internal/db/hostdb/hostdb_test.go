package hostdb

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/sdk/model"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB) (*store.Store, *DB) {
	t.Helper()
	s, err := store.Open("crawl", store.Options{FS: store.NewMemFS()})
	must(t, err)
	return s, Open(s)
}

func update(t testing.TB, s *store.Store, f func(*store.Tx)) {
	t.Helper()
	must(t, s.Update(context.Background(), func(tx *store.Tx) error { f(tx); return nil }))
}

func TestRecord(t *testing.T) {
	s, db := open(t)
	defer s.Close()
	want := &Record{
		Failures: 3, HoldUntil: t0, HoldReason: "429", LastRequest: t0, Delay: time.Second, Metadata: model.Metadata{"k": {"v"}},
		DNSFailures: 2, Checked: t0, Score: 5, Homepage: "http://a.test/",
		Passed: &Passed{At: t0, URLs: map[model.Status]int64{model.StatusDBFetched: 3, model.StatusDBGone: 1}},
	}
	for _, o := range []string{"https://a.test", "http://a.test:81", "http://a.test"} {
		want.SetRobots(Robots{Origin: o, Status: 200, Body: []byte(o), Fetched: t0, Expires: t0.Add(time.Hour)})
	}
	want.SetRobots(Robots{Origin: "http://a.test", Status: 404, Error: "x"})
	if len(want.Robots) != 3 || want.RobotsOf("http://a.test").Status != 404 || want.RobotsOf("ftp://a.test") != nil || want.Robots[0].Origin != "http://a.test" {
		t.Fatalf("%+v", want.Robots)
	}
	update(t, s, func(tx *store.Tx) {
		Put(tx, "a.test", want)
		got, err := GetTx(tx, "a.test")
		must(t, err)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
	got, err := db.Get("a.test")
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	if r, err := db.Get("b.test"); r != nil || err != nil {
		t.Fatal(r, err)
	}
}

// TestCounted: filtered counts stand for the live ones, also when nothing passed.
func TestCounted(t *testing.T) {
	s, db := open(t)
	defer s.Close()
	live := Counts{URLs: map[model.Status]int64{model.StatusDBFetched: 9}, Requests: 2}
	update(t, s, func(tx *store.Tx) { Put(tx, "none.test", &Record{Passed: &Passed{URLs: map[model.Status]int64{}}}) })
	rec, err := db.Get("none.test")
	must(t, err)
	if c := rec.Counted(live); len(c.URLs) != 0 || c.Requests != 2 {
		t.Errorf("%+v", c)
	}
	if v := Variables("none.test", live, rec); v["fetched"] != int64(0) || v["requests"] != int64(2) {
		t.Errorf("%+v", v)
	}
	if c := (*Record)(nil).Counted(live); c.URLs[model.StatusDBFetched] != 9 {
		t.Errorf("%+v", c)
	}
}

func TestCountsAndEach(t *testing.T) {
	s, db := open(t)
	defer s.Close()
	update(t, s, func(tx *store.Tx) {
		AddCounts(tx, "b.x.test", Counts{Requests: 2, Bytes: 10})
		AddCounts(tx, "b.x.test", Counts{Requests: 1, Failures: 1, Millis: 5})
		AddCounts(tx, "a.test", Counts{Requests: 1})
		Put(tx, "b.x.test", &Record{Failures: 1})
		Put(tx, "only.record", &Record{Failures: 2})
		Put(tx, "[::1]", &Record{Failures: 3})
		// what package crawldb writes: URLs by status
		tx.Merge(store.Key(store.PrefixHostCount, "test.a"), store.AppendCounts(nil, store.Count{ID: uint64(model.StatusDBFetched), N: 4}))
	})
	c, err := db.Counts("b.x.test")
	must(t, err)
	if d := cmp.Diff(Counts{URLs: map[model.Status]int64{}, Requests: 3, Failures: 1, Bytes: 10, Millis: 5}, c); d != "" {
		t.Fatal(d)
	}
	type row struct {
		Host     string
		Requests int64
		Fetched  int64
		Failures int
	}
	var got []row
	must(t, db.Each(context.Background(), func(host string, c Counts, r *Record) error {
		x := row{host, c.Requests, c.URLs[model.StatusDBFetched], -1}
		if r != nil {
			x.Failures = r.Failures
		}
		got = append(got, x)
		return nil
	}))
	want := []row{{"[::1]", 0, 0, 3}, {"only.record", 0, 0, 2}, {"a.test", 1, 4, -1}, {"b.x.test", 3, 0, 1}}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
}

func TestHolds(t *testing.T) {
	s, db := open(t)
	defer s.Close()
	ctx := context.Background()
	update(t, s, func(tx *store.Tx) {
		PutHold(tx, Hold{"a.test", t0.Add(time.Minute), "429"})
		PutHold(tx, Hold{"b.test", t0, "503"})
		PutHold(tx, Hold{"c.test", t0.Add(time.Hour), "robots"})
		PutHold(tx, Hold{"c.test", t0.Add(2 * time.Hour), "robots again"})
		PutHold(tx, Hold{"d.test", t0.Add(time.Hour), "x"})
		DropHold(tx, "d.test")
	})
	held, next, err := db.Held(ctx, t0)
	must(t, err)
	for q, want := range map[string]bool{"a.test": true, "b.test": false, "c.test": true, "d.test": false} {
		if held(q) != want {
			t.Errorf("%s held: %v", q, !want)
		}
	}
	if !next.Equal(t0.Add(time.Minute)) {
		t.Errorf("next ends %v", next)
	}
	hs, err := db.Holds(ctx)
	must(t, err)
	want := []Hold{{"a.test", t0.Add(time.Minute), "429"}, {"c.test", t0.Add(2 * time.Hour), "robots again"}}
	if d := cmp.Diff(want, hs); d != "" {
		t.Fatal(d)
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte{1, 2, 2, 0, 2, 2, 1, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = decode([]byte("H"), b)
		_, _ = decodeCounts([]byte("h"), b)
	})
}

// TestVersion1: records written before there were look-ups are read.
func TestVersion1(t *testing.T) {
	s, db := open(t)
	defer s.Close()
	update(t, s, func(tx *store.Tx) {
		b := store.AppendInt([]byte{1}, 3)
		b = store.AppendTime(b, t0)
		b = store.AppendText(b, "429")
		b = store.AppendTime(b, t0)
		b = store.AppendInt(b, int64(time.Second))
		b = store.AppendUint(b, 0)
		tx.Set(hostKey("a.test"), store.AppendMetadata(b, model.Metadata{"k": {"v"}}))
	})
	got, err := db.Get("a.test")
	must(t, err)
	want := &Record{Failures: 3, HoldUntil: t0, HoldReason: "429", LastRequest: t0, Delay: time.Second, Metadata: model.Metadata{"k": {"v"}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
}
