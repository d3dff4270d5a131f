package crawldb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
)

func openFS(t testing.TB, fsys store.FS, o Options) (*store.Store, *DB) {
	t.Helper()
	s, err := store.Open("crawl", store.Options{FS: fsys, MemTableSize: 1 << 20, CacheSize: 8 << 20})
	must(t, err)
	o.Reducers = testReducers
	db, err := Open(context.Background(), s, o)
	must(t, err)
	return s, db
}

func putDue(t testing.TB, db *DB, urls ...string) {
	t.Helper()
	must(t, db.Update(context.Background(), func(tx *Tx) error {
		for _, u := range urls {
			tx.Put(urlkey.FromURL(u), &Record{Sort: model.Micro, Datum: model.CrawlDatum{
				Status: model.StatusDBUnfetched, FetchTime: t0, Interval: time.Hour,
			}})
		}
		return nil
	}))
}

func wantClean(t testing.TB, db *DB) {
	t.Helper()
	rep, err := db.Check(context.Background())
	must(t, err)
	if rep.Total != 0 {
		t.Fatalf("check: %v", rep.Problems)
	}
}

func generate(t testing.TB, db *DB, o GenerateOptions) GenerateResult {
	t.Helper()
	if o.Now.IsZero() {
		o.Now = t0
	}
	res, err := db.Generate(context.Background(), o)
	must(t, err)
	return res
}

func TestGenerateSaysWhyNot(t *testing.T) {
	s, db := openFS(t, store.NewMemFS(), Options{})
	defer s.Close()
	put := func(url string, r Record) {
		must(t, db.Update(context.Background(), func(tx *Tx) error { tx.Put(urlkey.FromURL(url), &r); return nil }))
	}
	rec := func(st model.Status, due time.Time, sort int64, interval time.Duration) Record {
		return Record{Sort: sort, Datum: model.CrawlDatum{Status: st, FetchTime: due, Interval: interval}}
	}
	put("http://a.test/ok", rec(model.StatusDBUnfetched, t0, 1000, time.Hour))
	put("http://a.test/ok2", rec(model.StatusDBUnfetched, t0, 1000, time.Hour))
	put("http://a.test/low", rec(model.StatusDBUnfetched, t0, 997, time.Hour))
	put("http://a.test/status", rec(model.StatusDBGone, t0, 1000, time.Hour))
	put("http://a.test/interval", rec(model.StatusDBUnfetched, t0, 1000, 9*time.Hour))
	put("http://a.test/soon", rec(model.StatusDBUnfetched, t0.Add(20*time.Second), 1000, time.Hour))
	put("http://a.test/later", rec(model.StatusDBUnfetched, t0.Add(48*time.Hour), 1000, time.Hour))
	put("http://b.test/held", rec(model.StatusDBUnfetched, t0, 1000, time.Hour))
	put("http://c.test/1", rec(model.StatusDBUnfetched, t0, 1000, time.Hour))
	put("http://c.test/2", rec(model.StatusDBUnfetched, t0, 1000, time.Hour))
	put("http://c.test/3", rec(model.StatusDBUnfetched, t0, 1000, time.Hour))
	res := generate(t, db, GenerateOptions{
		Segment: "s1", MaxCount: 2, MinSort: 999, HasMinSort: true, MaxInterval: 2 * time.Hour, Status: model.StatusDBUnfetched,
		Held: func(q string) bool { return q == "b.test" },
	})
	// a.test is full after ok and ok2; what it hides is passed over unread.
	want := GenerateResult{Selected: 4, Queues: 2, NextDue: t0.Add(48 * time.Hour), Rejected: res.Rejected}
	if d := cmp.Diff(want, res); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	if res.Rejected[RejectHeld] != 1 || res.Rejected[RejectCount] == 0 {
		t.Fatalf("rejected %v", res.Rejected)
	}
	res = generate(t, db, GenerateOptions{
		Segment: "s2", MinSort: 999, HasMinSort: true, MaxInterval: 2 * time.Hour, Status: model.StatusDBUnfetched,
		Held: func(q string) bool { return q != "a.test" },
	})
	wantRej := map[string]int64{RejectSchedule: 1, RejectScore: 1, RejectStatus: 1, RejectInterval: 1, RejectHeld: 2}
	if d := cmp.Diff(wantRej, res.Rejected); d != "" {
		t.Fatalf("rejected (-want +got):\n%s", d)
	}
	if res.Selected != 0 || !res.NextDue.Equal(t0.Add(20*time.Second)) {
		t.Fatalf("got %+v", res)
	}
	if _, ok, err := segment.GetMeta(s, "s2"); ok || err != nil {
		t.Fatal("an empty fetch list made a segment", err)
	}
	wantClean(t, db)
}

func TestGenerateIsDeterministic(t *testing.T) {
	var lists [2][]string
	for i := range lists {
		s, db := openFS(t, store.NewMemFS(), Options{})
		var urls []string
		for n := range 300 {
			urls = append(urls, fmt.Sprintf("http://h%d.test/%d", n%17, n))
		}
		rand.Shuffle(len(urls), func(a, b int) { urls[a], urls[b] = urls[b], urls[a] })
		putDue(t, db, urls...)
		generate(t, db, GenerateOptions{Segment: "s", TopN: 50, MaxCount: 4, Seed: 42})
		must(t, db.Generated(context.Background(), "s", func(k urlkey.Key, _ FetchHint) error {
			lists[i] = append(lists[i], string(k))
			return nil
		}))
		must(t, s.Close())
	}
	if d := cmp.Diff(lists[0], lists[1]); d != "" || len(lists[0]) != 50 {
		t.Fatal(d)
	}
}

func TestGenerateReachesEveryQueue(t *testing.T) {
	s, db := openFS(t, store.NewMemFS(), Options{})
	defer s.Close()
	const hosts = 3000
	must(t, db.promote(context.Background(), t0))
	must(t, db.Update(context.Background(), func(tx *Tx) error {
		for i := range 3 * hosts {
			k := urlkey.FromURL(fmt.Sprintf("http://h%d.test/%d", i%hosts, i))
			tx.Put(k, &Record{Sort: int64(1000 + i%7*100), Datum: model.CrawlDatum{Status: model.StatusDBUnfetched, FetchTime: t0}})
		}
		return nil
	}))
	for round := range 3 {
		res := generate(t, db, GenerateOptions{Segment: fmt.Sprint(round), MaxCount: 1, Seed: uint64(round)})
		if res.Selected != hosts || res.Queues != hosts {
			t.Fatalf("round %d: %d of %d queues", round, res.Selected, hosts)
		}
	}
	if res := generate(t, db, GenerateOptions{Segment: "4", MaxCount: 1}); res.Selected != 0 {
		t.Fatalf("%d are left", res.Selected)
	}
}

func TestUnfinishedGenerateIsReleased(t *testing.T) {
	fsys := store.NewMemFS()
	s, db := openFS(t, fsys, Options{})
	putDue(t, db, "http://a.test/1", "http://a.test/2")
	generate(t, db, GenerateOptions{Segment: "s1"})
	must(t, segment.Change(context.Background(), s, "s1", func(m *segment.Meta) { m.State = segment.StateGenerating }))
	must(t, s.Close())
	s, db = openFS(t, fsys, Options{})
	defer s.Close()
	if n := db.LeasedCount("s1"); n != 0 {
		t.Fatalf("%d still leased", n)
	}
	wantClean(t, db)
	if res := generate(t, db, GenerateOptions{Segment: "s2"}); res.Selected != 2 {
		t.Fatalf("%+v", res)
	}
}

func TestCountModeChange(t *testing.T) {
	fsys := store.NewMemFS()
	s, db := openFS(t, fsys, Options{})
	putDue(t, db, "http://a.x.test/", "http://b.x.test/", "http://a.example.org/", "http://b.example.org/")
	if db.Rebuilt() {
		t.Fatal("a new CrawlDB was rebuilt")
	}
	must(t, s.Close())
	s, db = openFS(t, fsys, Options{CountMode: urlkey.ByDomain})
	defer s.Close()
	if !db.Rebuilt() {
		t.Fatal("indexes were not rebuilt")
	}
	wantClean(t, db)
	if res := generate(t, db, GenerateOptions{Segment: "s", MaxCount: 1}); res.Queues != res.Selected || res.Selected != 3 {
		t.Fatalf("%+v", res) // example.org is one queue, the unlisted .test hosts are two
	}
}

func TestFoldBesideUpdates(t *testing.T) {
	s, db := openFS(t, store.NewMemFS(), Options{})
	defer s.Close()
	ctx := context.Background()
	const keys, few, writers, rounds = 2000, 50, 3, 80
	key := func(i int) urlkey.Key { return urlkey.Key(fmt.Sprintf("test.h%d:http/", i)) }
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 5))
			for range rounds {
				if err := db.UpdateNoSync(ctx, func(tx *Tx) error {
					for range 5 {
						// some keys are dirty nearly always, others in between
						tx.Effect(key(r.IntN([]int{few, keys}[r.IntN(2)])), Effect{Fields: model.Fields{"cash": 1}})
					}
					k := key(r.IntN(few))
					rec, err := tx.Get(k)
					if err == nil && rec != nil { // a lost update would lose this count
						rec.Datum.Retries++
						tx.Put(k, rec)
						tx.Count("touched", 1)
					}
					return err
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for finished := false; !finished; {
		select {
		case <-done:
			finished = true
		default:
		}
		_, err := db.Fold(ctx, t0, testScore)
		must(t, err)
	}
	var cash, touched int64
	must(t, db.Scan(ctx, "", func(_ urlkey.Key, r *Record) error {
		cash += r.Datum.Fields["cash"]
		touched += int64(r.Datum.Retries)
		return nil
	}))
	c, err := s.Counters(ctx)
	must(t, err)
	if cash != writers*rounds*5 || touched != c["touched"] {
		t.Fatalf("cash %d of %d, changes %d of %d", cash, writers*rounds*5, touched, c["touched"])
	}
	wantClean(t, db)
}

// TestPromotePortion stops a promotion within a minute: where an entry is must
// follow from the watermark.
func TestPromotePortion(t *testing.T) {
	s, db := openFS(t, store.NewMemFS(), Options{})
	defer s.Close()
	db.size.promote = 2
	urls := []string{"http://a.test/", "http://b.test/", "http://c.test/", "http://d.test/", "http://e.test/"}
	putDue(t, db, urls...)
	for range 2 {
		more := false
		must(t, s.Update(context.Background(), func(tx *store.Tx) error {
			return db.promoteSome(tx, endOfMinute(minuteOf(t0)), &more)
		}))
		if !more {
			t.Fatal("the portion was the last")
		}
		wantClean(t, db)
		putDue(t, db, urls...)
		putDue(t, db, "http://c.test/new", "http://a.test/new")
		wantClean(t, db)
	}
	if res := generate(t, db, GenerateOptions{Segment: "s"}); res.Selected != len(urls)+2 {
		t.Fatalf("%+v", res)
	}
}

func TestFoldErrors(t *testing.T) {
	s, db := openFS(t, store.NewMemFS(), Options{NoAdditions: true})
	defer s.Close()
	ctx := context.Background()
	putDue(t, db, "http://a.test/")
	known, unknown := urlkey.FromURL("http://a.test/"), urlkey.FromURL("http://b.test/")
	must(t, db.Update(ctx, func(tx *Tx) error {
		tx.Rescore(known)
		tx.Effect(unknown, Effect{Fields: model.Fields{"cash": 1}})
		return nil
	}))
	boom := errors.New("boom")
	_, err := db.Fold(ctx, t0, func(context.Context, []scoring.ScoreInput) ([]scoring.ScoreOutput, error) { return nil, boom })
	if !errors.Is(err, boom) {
		t.Fatal(err)
	}
	_, err = db.Fold(ctx, t0, func(_ context.Context, in []scoring.ScoreInput) ([]scoring.ScoreOutput, error) {
		return make([]scoring.ScoreOutput, len(in)+1), nil
	})
	if err == nil || !strings.Contains(err.Error(), "answers") {
		t.Fatal(err)
	}
	st, err := db.Fold(ctx, t0, testScore) // nothing was lost
	must(t, err)
	if (st != FoldStats{Folded: 2, Changed: 1, Dropped: 1}) {
		t.Fatalf("%+v", st)
	}
	if r, _ := db.Get(unknown); r != nil {
		t.Fatal("an unknown target was added")
	}
}

func TestCheckFindsDamage(t *testing.T) {
	a, b := urlkey.FromURL("http://a.test/1"), urlkey.FromURL("http://a.test/2")
	for _, c := range []struct {
		name string
		do   func(*DB, *store.Tx)
		want string
	}{
		{"index entry gone", func(db *DB, tx *store.Tx) {
			r, _ := db.Get(a)
			tx.Delete(db.indexKey(a, r))
		}, "not in the index"},
		{"index entry too many", func(_ *DB, tx *store.Tx) {
			tx.Set(readyKey(nil, 7, 7, "test.x:http/"), nil)
		}, "entries in the ready and wait indexes"},
		{"index entry stale", func(db *DB, tx *store.Tx) {
			r, _ := db.Get(a)
			tx.Set(db.indexKey(a, r), appendHint(nil, &Record{}))
		}, "differs"},
		{"record damaged", func(_ *DB, tx *store.Tx) { tx.Set(recordKey(a), []byte{1, 2}) }, "corrupt"},
		{"record of the future", func(_ *DB, tx *store.Tx) { tx.Set(recordKey(a), []byte{99}) }, "version"},
		{"record gone", func(_ *DB, tx *store.Tx) { tx.Delete(recordKey(a)) }, "counter"},
		{"counter off", func(_ *DB, tx *store.Tx) {
			tx.Merge(store.Key(store.PrefixCounter, counterStatus), store.AppendCounts(nil, store.Count{ID: 1, N: 1}))
		}, "counter"},
		{"host counter off", func(_ *DB, tx *store.Tx) {
			tx.Merge(store.Key(store.PrefixHostCount, "test.a"), store.AppendCounts(nil, store.Count{ID: 2, N: 1}))
		}, "counter"},
		{"signature gone", func(_ *DB, tx *store.Tx) {
			tx.Delete(signatureKey(store.PrefixSignature, []byte("sig"), b))
		}, "signature index"},
		{"signature too many", func(_ *DB, tx *store.Tx) {
			tx.Set(signatureKey(store.PrefixSignature, []byte("sig"), a), nil)
		}, "signature index"},
		{"lease without memory", func(_ *DB, tx *store.Tx) { tx.Set(leaseKey("s1", b), nil) }, "lease"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, db := openFS(t, store.NewMemFS(), Options{})
			defer s.Close()
			putDue(t, db, "http://a.test/1", "http://a.test/2", "http://b.test/")
			must(t, db.Update(context.Background(), func(tx *Tx) error {
				r, err := tx.Get(b)
				r.Datum.Status, r.Datum.Signature = model.StatusDBFetched, []byte("sig")
				tx.Put(b, r)
				return err
			}))
			wantClean(t, db)
			must(t, s.Update(context.Background(), func(tx *store.Tx) error { c.do(db, tx); return nil }))
			rep, err := db.Check(context.Background())
			must(t, err)
			if rep.Total == 0 || !strings.Contains(strings.Join(rep.Problems, "\n"), c.want) {
				t.Fatalf("found %q, want %q", rep.Problems, c.want)
			}
		})
	}
}

func TestBuckets(t *testing.T) {
	last := byte(255)
	for _, v := range []int64{-5, 0, 1, 2, 3, 4, 5, 6, 7, 8, 1000, model.Micro, 1 << 20, 1<<20 + 1<<18, 1 << 40, math.MaxInt64} {
		b := bucketOf(v)
		if b > last {
			t.Errorf("bucket of %d is worse than of less", v)
		}
		last = b
		if bucketMax(b) < v {
			t.Errorf("bucket %d of %d ends at %d", b, v, bucketMax(b))
		}
	}
	for b := range 255 {
		if bucketMax(byte(b)) < bucketMax(byte(b+1)) {
			t.Errorf("bucket %d ends below %d", b, b+1)
		}
	}
}

func TestDocState(t *testing.T) {
	s, db := openFS(t, store.NewMemFS(), Options{})
	defer s.Close()
	ctx := context.Background()
	k := urlkey.FromURL("http://a.test/")
	want := &DocState{Writers: []WriterState{
		{Name: "w1", Held: true, Hash: []byte{1}, Segment: "s"},
		{Name: "w2", Held: true, Hash: []byte{2}, Segment: "r", Refused: &Refusal{At: time.Unix(5, 0).UTC(), Reason: "no", Hash: []byte{3}, Segment: "s"}},
		{Name: "w3", Pending: true, Why: "down"},
	}}
	must(t, db.Update(ctx, func(tx *Tx) error { tx.IndexDirty(k); return tx.SetDocState(k, want) }))
	got, err := db.DocState(k)
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	count := func() (n int) {
		must(t, db.DirtyForIndex(ctx, func(urlkey.Key) error { n++; return nil }))
		return n
	}
	if count() != 1 {
		t.Fatal("not dirty")
	}
	lists := func() string {
		counts, err := db.DocCounts(ctx)
		must(t, err)
		out := ""
		for _, w := range []string{"w1", "w2", "w3"} {
			var pending, refused int64
			must(t, db.PendingFor(ctx, w, func(urlkey.Key) error { pending++; return nil }))
			must(t, db.RefusedBy(ctx, w, func(urlkey.Key) error { refused++; return nil }))
			if c := counts[w]; c.Pending != pending || c.Refused != refused {
				t.Errorf("%s: counts %+v, listed %d and %d", w, c, pending, refused)
			}
			out += fmt.Sprint(counts[w])
		}
		return out
	}
	if got := lists(); got != "{1 0 0}{1 0 1}{0 1 0}" {
		t.Error(got)
	}
	must(t, db.Update(ctx, func(tx *Tx) error { // twice in one batch
		st, err := tx.DocState(k)
		must(t, err)
		must(t, tx.SetDocState(k, st.With(WriterState{Name: "w3"}).With(WriterState{Name: "w1", Held: true, Pending: true})))
		st, err = tx.DocState(k)
		must(t, err)
		return tx.SetDocState(k, st.With(WriterState{Name: "w2", Held: true, Hash: []byte{3}}))
	}))
	if got := lists(); got != "{0 1 0}{1 0 0}{0 0 0}" {
		t.Error(got)
	}
	must(t, db.Update(ctx, func(tx *Tx) error { tx.ClearIndexDirty(k); return tx.SetDocState(k, nil) }))
	if got := lists(); got != "{0 0 0}{0 0 0}{0 0 0}" {
		t.Error(got)
	}
	if got, err = db.DocState(k); got != nil || err != nil || count() != 0 {
		t.Fatal("still there", got, err)
	}
}

// TestPowerCuts cuts the power while a CrawlDB works: each time it opens, is
// consistent, and holds what was committed.
func TestPowerCuts(t *testing.T) {
	cuts := 20
	if v := os.Getenv("CRAWLER_SOAK_CUTS"); v != "" {
		var err error
		cuts, err = strconv.Atoi(v)
		must(t, err)
	}
	for cut := 0; cut < cuts; cut += 10 {
		powerCuts(t, cut, min(10, cuts-cut))
	}
}

func powerCuts(t *testing.T, from, cuts int) {
	ctx := context.Background()
	fsys := store.NewCrashFS()
	s, db := openFS(t, fsys, Options{})
	r := rand.New(rand.NewPCG(uint64(from), 8))
	for cut := range cuts {
		var sum int64
		for round := range 5 {
			must(t, db.Update(ctx, func(tx *Tx) error {
				for range 30 {
					tx.Effect(urlkey.Key(fmt.Sprintf("test.h%d:http/%d", r.IntN(9), r.IntN(80))), Effect{Fields: model.Fields{"cash": 1}})
				}
				tx.Count("committed", 30)
				return nil
			}))
			if r.IntN(2) == 0 {
				_, err := db.Fold(ctx, t0, testScore)
				must(t, err)
			}
			if r.IntN(3) == 0 {
				seg := fmt.Sprintf("%d-%d-%d", from, cut, round)
				generate(t, db, GenerateOptions{Segment: seg, TopN: 40, MaxCount: 9, Seed: r.Uint64()})
				_, err := db.ReleaseAll(ctx, seg)
				must(t, err)
			}
		}
		after, adb := openFS(t, fsys.Cut(r.IntN(101), uint64(from+cut)), Options{})
		wantClean(t, adb)
		_, err := adb.Fold(ctx, t0, testScore)
		must(t, err)
		wantClean(t, adb)
		must(t, adb.Scan(ctx, "", func(_ urlkey.Key, r *Record) error { sum += r.Datum.Fields["cash"]; return nil }))
		want, err := s.Counters(ctx)
		must(t, err)
		if sum != want["committed"] {
			t.Fatalf("cut %d: cash %d, committed %d", from+cut, sum, want["committed"])
		}
		must(t, after.Close())
	}
	must(t, s.Close())
}

func FuzzRecord(f *testing.F) {
	r := Record{Sort: 5, Datum: model.CrawlDatum{
		Status: model.StatusDBFetched, FetchTime: t0, PrevFetchTime: t0, ModifiedTime: t0, Retries: 2, Interval: time.Hour, FixedInterval: true,
		Score: -7, Fields: model.Fields{"a": 1, "b": -2}, Signature: []byte{1}, PrevSignature: []byte{2},
		ProtocolStatus: model.ProtocolStatus{Code: model.ProtocolSuccess, HTTP: 200, Message: "m"},
		ETag:           "e", LastModified: "l", ReprURL: "r", DuplicateOf: "d", Segment: "s", Metadata: model.Metadata{"k": {"v", ""}},
	}}
	var got Record
	must(f, decodeRecord(nil, appendRecord(nil, &r), &got))
	if d := cmp.Diff(r, got); d != "" {
		f.Fatal(d)
	}
	var h FetchHint
	must(f, decodeHint(nil, appendHint(nil, &r), &h))
	if d := cmp.Diff(r.Hint(), h); d != "" {
		f.Fatal(d)
	}
	f.Add(appendRecord(nil, &r))
	f.Add(appendRecord(nil, &Record{}))
	f.Add(appendHint(nil, &r))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r, again Record
		if err := decodeRecord([]byte("C"), b, &r); err == nil {
			must(t, decodeRecord(nil, appendRecord(nil, &r), &again))
			if d := cmp.Diff(r, again, cmpopts.EquateEmpty()); d != "" {
				t.Fatal(d)
			}
		} else if !errors.Is(err, store.ErrCorrupt) {
			t.Fatal(err)
		}
		var h FetchHint
		_ = decodeHint([]byte("R"), b, &h)
		_, _ = decodeDocState([]byte("I"), b)
	})
}

func TestDump(t *testing.T) {
	s, db := openFS(t, store.NewMemFS(), Options{})
	defer s.Close()
	putDue(t, db, "http://b.test/", "http://a.test/")
	var b bytes.Buffer
	must(t, db.Dump(context.Background(), &b))
	want := "http://a.test/\tdb_unfetched\t0\t1h0m0s\t0\t\t\nhttp://b.test/\tdb_unfetched\t0\t1h0m0s\t0\t\t\n"
	if b.String() != want {
		t.Fatal(b.String())
	}
}

// TestDue: what is due is known before a fetch list is made, and what a list for a later time
// made ready is not due.
func TestDue(t *testing.T) {
	s, db := openFS(t, store.NewMemFS(), Options{})
	defer s.Close()
	put := func(url string, due time.Time, sort int64) {
		must(t, db.Update(context.Background(), func(tx *Tx) error {
			tx.Put(urlkey.FromURL(url), &Record{Sort: sort, Datum: model.CrawlDatum{Status: model.StatusDBUnfetched, FetchTime: due, Interval: time.Hour}})
			return nil
		}))
	}
	held := func(q string) bool { return q == "b.test" }
	wants := func(now time.Time, want Due, next time.Time) {
		t.Helper()
		d, err := db.Due(now, 1000, held)
		must(t, err)
		got, err := db.NextDue(now)
		must(t, err)
		if diff := cmp.Diff(want, d); diff != "" || !got.Equal(next) {
			t.Errorf("due at %v (-want +got): %s, next %v, want %v", now, diff, got, next)
		}
	}
	wants(t0, Due{}, time.Time{})
	put("http://a.test/1", t0, 1000)
	put("http://a.test/2", t0.Add(20*time.Second), 9000)
	put("http://b.test/1", t0, 2000)
	put("http://c.test/1", t0.Add(48*time.Hour), 1000)
	wants(t0.Add(-time.Second), Due{}, t0)
	wants(t0, Due{Records: 2, Held: 1, Queues: 2}, t0) // nothing was promoted yet
	must(t, db.Promote(context.Background(), t0))
	wants(t0, Due{Records: 2, Held: 1, Queues: 2}, t0)
	generate(t, db, GenerateOptions{Segment: "s1", TopN: 1, Held: func(q string) bool { return q != "a.test" }}) // takes /1
	wants(t0, Due{Records: 1, Held: 1, Queues: 1}, t0)
	wants(t0.Add(time.Hour), Due{Records: 2, Held: 1, Queues: 2}, t0.Add(20*time.Second)) // one that is due is enough
	must(t, db.Promote(context.Background(), t0.Add(100*time.Hour)))
	wants(t0, Due{Records: 1, Held: 1, Queues: 1}, t0)
	wants(t0.Add(-time.Hour), Due{}, t0)
	if d, err := db.Due(t0, 2, held); err != nil || !d.More {
		t.Errorf("of three, two are looked at: %+v %v", d, err)
	}

	at := t0.Add(time.Minute)
	put("http://a.test/late", at, 1000)
	position := func(url string, now time.Time, want Position) {
		t.Helper()
		if p, err := db.Position(urlkey.FromURL(url), now, 1000); err != nil || p != want {
			t.Errorf("%s at %v: %+v %v, want %+v", url, now, p, err, want)
		}
	}
	position("http://a.test/late", t0, Position{})
	position("http://a.test/late", at, Position{Ready: true, Ahead: 2, Queue: 1})
	position("http://b.test/1", at, Position{Ready: true, Ahead: 1})
	position("http://a.test/1", at, Position{}) // in a list
	must(t, db.demote(context.Background(), t0))
	position("http://a.test/late", at, Position{Ready: true, Ahead: 2, Queue: 1}) // waits for its promotion
	position("http://c.test/1", t0.Add(50*time.Hour), Position{Ready: true, Ahead: 2, Equal: 1})
	wantClean(t, db)
}
