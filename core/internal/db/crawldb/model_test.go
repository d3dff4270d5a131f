package crawldb

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var testReducers = map[string]manifest.Reducer{
	"cash": manifest.Add, "depth": manifest.Min, "peak": manifest.Max, "origin": manifest.First,
}

// testScore is a scoring chain: the sort value is the cash, the score adds depth.
func testScore(_ context.Context, in []scoring.ScoreInput) ([]scoring.ScoreOutput, error) {
	out := make([]scoring.ScoreOutput, len(in))
	for i := range in {
		f := in[i].Fields
		out[i] = scoring.ScoreOutput{Score: f["cash"] + f["depth"], Sort: f["cash"], Set: model.Fields{"scored": 1}}
	}
	return out, nil
}

type effect struct {
	source urlkey.Key
	fields model.Fields
	meta   model.Metadata
}

// naive is the CrawlDB as maps and loops.
type naive struct {
	recs    map[urlkey.Key]Record
	effects map[urlkey.Key][]effect
	leases  map[urlkey.Key]string
}

func (n *naive) fold(now time.Time) (made int) {
	for k, es := range n.effects {
		r, ok := n.recs[k]
		if !ok {
			made++
			r = Record{Datum: model.CrawlDatum{Status: model.StatusDBUnfetched, FetchTime: now, Interval: 30 * 24 * time.Hour}}
			slices.SortFunc(es, func(a, b effect) int {
				if a.source != b.source {
					return cmpStrings(a.source, b.source)
				}
				return cmpStrings(urlkey.Key(fmt.Sprint(a.meta)), urlkey.Key(fmt.Sprint(b.meta)))
			})
			for _, e := range es {
				if len(e.meta) > 0 {
					r.Datum.Metadata = e.meta
					break
				}
			}
		}
		f := model.Fields{}
		for name, v := range r.Datum.Fields {
			f[name] = v
		}
		naiveReduce(f, es)
		f["scored"] = 1
		r.Datum.Fields, r.Datum.Score, r.Sort = f, f["cash"]+f["depth"], f["cash"]
		n.recs[k] = r
	}
	clear(n.effects)
	return made
}

func cmpStrings(a, b urlkey.Key) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// naiveReduce applies es to f one by one, except that of "first" operands the
// one of the smallest source is picked before.
func naiveReduce(f model.Fields, es []effect) {
	_, hadOrigin := f["origin"]
	var first *effect
	for i := range es {
		e := &es[i]
		for name, v := range e.fields {
			old, has := f[name]
			switch testReducers[name] {
			case manifest.Min:
				if !has || v < old {
					f[name] = v
				}
			case manifest.Max:
				if !has || v > old {
					f[name] = v
				}
			case manifest.First:
				if first == nil || e.source < first.source || e.source == first.source && v < first.fields["origin"] {
					first = e
				}
			default:
				f[name] = old + v
			}
		}
	}
	if first != nil && !hadOrigin {
		f["origin"] = first.fields["origin"]
	}
}

// modelTest drives a DB and its model with the same random operations.
type modelTest struct {
	t   *testing.T
	r   *rand.Rand
	fs  store.FS
	s   *store.Store
	db  *DB
	n   naive
	now time.Time
	seg int

	small bool // tiny portions, so that their ends show
}

func (m *modelTest) open() {
	m.t.Helper()
	s, err := store.Open("crawl", store.Options{FS: m.fs, MemTableSize: 256 << 10, CacheSize: 4 << 20})
	if err != nil {
		m.t.Fatal(err)
	}
	db, err := Open(context.Background(), s, Options{Reducers: testReducers})
	if err != nil {
		m.t.Fatal(err)
	}
	if m.small {
		db.size = portions{promote: 5, generate: 7, fold: 3, dedup: 4}
	}
	m.s, m.db = s, db
}

func (m *modelTest) key() urlkey.Key {
	host := m.r.IntN(6)
	if m.r.IntN(2) == 0 {
		host = 0
	}
	return urlkey.FromURL(fmt.Sprintf("http://host%d.test/p%d", host, m.r.IntN(60)))
}

func (m *modelTest) record() Record {
	statuses := model.DBStatuses()
	r := Record{Sort: m.r.Int64N(1 << uint(1+m.r.IntN(30)))}
	r.Datum = model.CrawlDatum{
		Status: statuses[m.r.IntN(len(statuses))], FetchTime: m.now.Add(time.Duration(m.r.IntN(600)-300) * time.Second),
		Interval: time.Duration(m.r.IntN(1000)) * time.Second, Retries: m.r.IntN(3), Score: m.r.Int64N(1000),
	}
	if m.r.IntN(3) == 0 {
		r.Datum.Fields = model.Fields{"cash": m.r.Int64N(1000)}
	}
	if m.r.IntN(3) == 0 {
		r.Datum.ETag, r.Datum.LastModified = "etag", "lm"
	}
	if m.r.IntN(2) == 0 {
		r.Datum.Signature = []byte{byte(m.r.IntN(4)), 0, 7}
	}
	return r
}

func (m *modelTest) update() {
	n := 1 + m.r.IntN(20)
	must(m.t, m.db.Update(context.Background(), func(tx *Tx) error {
		for range n {
			k := m.key()
			switch m.r.IntN(10) {
			case 0:
				tx.Delete(k)
				delete(m.n.recs, k)
				delete(m.n.leases, k)
				delete(m.n.effects, k)
			case 1, 2, 3, 4:
				if err := m.put(tx, k); err != nil {
					return err
				}
			default:
				m.effect(tx, k)
			}
		}
		return nil
	}))
}

func (m *modelTest) put(tx *Tx, k urlkey.Key) error {
	got, err := tx.Get(k)
	if err != nil {
		return err
	}
	want, ok := m.n.recs[k]
	if ok != (got != nil) {
		m.t.Fatalf("get %q in a Tx: got %v, want known %v", k, got, ok)
	}
	if ok {
		if d := cmp.Diff(want, *got, cmpopts.EquateEmpty()); d != "" {
			m.t.Fatalf("get %q in a Tx (-want +got):\n%s", k, d)
		}
	}
	r := m.record()
	if seg, leased := m.n.leases[k]; leased && m.r.IntN(2) == 0 {
		if !tx.Lease(seg, k) {
			m.t.Fatalf("%q is not leased in %s", k, seg)
		}
		tx.Unlease(seg, k)
		if tx.Lease(seg, k) {
			m.t.Fatalf("%q is leased after Unlease", k)
		}
		delete(m.n.leases, k)
	}
	c := r
	tx.Put(k, &c)
	m.n.recs[k] = r
	return nil
}

func (m *modelTest) effect(tx *Tx, k urlkey.Key) {
	e := effect{source: m.key(), fields: model.Fields{}}
	for name := range testReducers {
		if m.r.IntN(2) == 0 {
			e.fields[name] = m.r.Int64N(200) - 100
		}
	}
	if m.r.IntN(4) == 0 {
		e.meta = model.Metadata{"from": {string(e.source)}}
	}
	tx.Effect(k, Effect{Fields: e.fields, Source: e.source, Metadata: e.meta})
	m.n.effects[k] = append(m.n.effects[k], e)
}

func (m *modelTest) fold() {
	st, err := m.db.Fold(context.Background(), m.now, testScore)
	must(m.t, err)
	dirty := len(m.n.effects)
	made := m.n.fold(m.now)
	if st.Folded != dirty || st.New != made {
		m.t.Fatalf("fold: got %+v, want %d folded, %d new", st, dirty, made)
	}
}

func (m *modelTest) generate() {
	m.seg++
	o := GenerateOptions{
		Segment: fmt.Sprintf("20260101%06d", m.seg), TopN: 1 + m.r.IntN(60), MaxCount: m.r.IntN(15),
		Now: m.now, Seed: m.r.Uint64(),
	}
	if m.r.IntN(3) == 0 {
		o.Held = func(q string) bool { return q == "host0.test" }
	}
	if m.r.IntN(5) == 0 {
		o.Now = o.Now.Add(5 * time.Minute) // --adddays
	}
	res, err := m.db.Generate(context.Background(), o)
	must(m.t, err)
	m.checkGenerated(o, res)
}

func (m *modelTest) checkGenerated(o GenerateOptions, res GenerateResult) {
	queue := func(k urlkey.Key) string { return k.Host() }
	due := make(map[string][]urlkey.Key)
	for k, r := range m.n.recs {
		_, leased := m.n.leases[k]
		if !leased && !r.Datum.FetchTime.After(o.Now) && (o.Held == nil || !o.Held(queue(k))) {
			due[queue(k)] = append(due[queue(k)], k)
		}
	}
	want, maxCount := 0, o.MaxCount
	if maxCount == 0 {
		maxCount = math.MaxInt
	}
	for _, ks := range due {
		want += min(len(ks), maxCount)
	}
	want = min(want, o.TopN)
	got := make(map[urlkey.Key]bool)
	count := make(map[string]int)
	worst := byte(0)
	must(m.t, m.db.Generated(context.Background(), o.Segment, func(k urlkey.Key, h FetchHint) error {
		r := m.n.recs[k]
		if d := cmp.Diff(r.Hint(), h, cmpopts.EquateEmpty()); d != "" {
			m.t.Fatalf("hint of %q (-want +got):\n%s", k, d)
		}
		if !slices.Contains(due[queue(k)], k) {
			m.t.Fatalf("%q was selected but is not due, leased or held", k)
		}
		got[k] = true
		count[queue(k)]++
		worst = max(worst, bucketOf(r.Sort))
		return nil
	}))
	if len(got) != want || res.Selected != want || res.Queues != len(count) {
		m.t.Fatalf("generate %+v: selected %d (said %d, of %d queues), want %d", o, len(got), res.Selected, res.Queues, want)
	}
	for q, ks := range due {
		if count[q] > maxCount {
			m.t.Fatalf("queue %s: %d selected", q, count[q])
		}
		for _, k := range ks {
			if !got[k] && count[q] < maxCount && bucketOf(m.n.recs[k].Sort) < worst {
				m.t.Fatalf("%q was left out for a worse one", k)
			}
		}
	}
	for k := range got {
		m.n.leases[k] = o.Segment
	}
}

func (m *modelTest) release() {
	bySeg := make(map[string][]urlkey.Key)
	for k, seg := range m.n.leases {
		if m.r.IntN(2) == 0 {
			bySeg[seg] = append(bySeg[seg], k)
		}
	}
	for seg, keys := range bySeg {
		n, err := m.db.Release(context.Background(), seg, append(keys, "unknown:http/"))
		must(m.t, err)
		if n != len(keys) {
			m.t.Fatalf("released %d of %d", n, len(keys))
		}
		for _, k := range keys {
			delete(m.n.leases, k)
		}
	}
}

func (m *modelTest) check() {
	m.t.Helper()
	ctx := context.Background()
	got := make(map[urlkey.Key]Record)
	must(m.t, m.db.Scan(ctx, "", func(k urlkey.Key, r *Record) error {
		got[k] = *r
		return nil
	}))
	if d := cmp.Diff(m.n.recs, got, cmpopts.EquateEmpty()); d != "" {
		m.t.Fatalf("records (-want +got):\n%s", d)
	}
	leases := make(map[urlkey.Key]string)
	for _, seg := range m.db.LeasedSegments() {
		must(m.t, m.db.Leased(ctx, seg, func(k urlkey.Key) error {
			leases[k] = seg
			return nil
		}))
	}
	if d := cmp.Diff(m.n.leases, leases); d != "" {
		m.t.Fatalf("leases (-want +got):\n%s", d)
	}
	rep, err := m.db.Check(ctx)
	must(m.t, err)
	if rep.Total != 0 {
		m.t.Fatalf("check: %d problems: %v", rep.Total, rep.Problems)
	}
	st, err := m.db.Stats(ctx)
	must(m.t, err)
	if st.Total != int64(len(m.n.recs)) || st.Leased != int64(len(m.n.leases)) {
		m.t.Fatalf("stats %+v, want %d records, %d leased", st, len(m.n.recs), len(m.n.leases))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestModel runs random operations against the CrawlDB and a naive model of it.
func TestModel(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := &modelTest{t: t, r: rand.New(rand.NewPCG(seed, 1)), fs: store.NewMemFS(), now: t0, small: seed%2 == 1}
			m.n = naive{recs: map[urlkey.Key]Record{}, effects: map[urlkey.Key][]effect{}, leases: map[urlkey.Key]string{}}
			m.open()
			for i := range 400 {
				switch p := m.r.IntN(100); {
				case p < 55:
					m.update()
				case p < 68:
					m.fold()
				case p < 80:
					m.generate()
				case p < 88:
					m.release()
				case p < 96:
					m.now = m.now.Add(time.Duration(m.r.IntN(200)) * time.Second)
				case p < 98:
					must(t, m.s.Close())
					m.open()
				default:
					must(t, m.s.Compact(context.Background(), nil, nil))
				}
				if i%20 == 0 {
					m.check()
				}
			}
			m.check()
			must(t, m.s.Close())
		})
	}
}
