package refilter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/linkdb"
	"github.com/gonutch/crawler/core/internal/db/outlinks"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// rules drop, change and fail by what is in the URL.
type rules struct {
	name string
	keep bool // drop nothing
}

func (r rules) Fingerprint() string { return r.name }

func (r rules) NormalizeFilter(ctx context.Context, scope urlnormalizer.Scope, urls []string) ([]chain.URLResult, error) {
	out, err := r.Normalize(ctx, scope, urls)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].Err == nil {
			f, _ := r.Filter(ctx, []string{out[i].URL})
			out[i] = f[0]
		}
	}
	return out, nil
}

func (r rules) Normalize(ctx context.Context, scope urlnormalizer.Scope, urls []string) ([]chain.URLResult, error) {
	if scope != urlnormalizer.ScopeCrawlDB {
		return nil, fmt.Errorf("scope %s", scope)
	}
	out := make([]chain.URLResult, len(urls))
	for i, u := range urls {
		out[i] = chain.URLResult{URL: strings.ReplaceAll(u, "/old/", "/new/")}
		if strings.Contains(u, "grow") {
			out[i].URL += "w"
		}
		if strings.Contains(u, "fail") {
			out[i] = chain.URLResult{URL: u, Plugin: "n", Err: errors.New("boom")}
		}
	}
	return out, ctx.Err()
}

func (r rules) Filter(ctx context.Context, urls []string) ([]chain.URLResult, error) {
	out := make([]chain.URLResult, len(urls))
	for i, u := range urls {
		out[i] = chain.URLResult{URL: u}
		if !r.keep && (strings.HasSuffix(u, ".zip") || strings.HasSuffix(u, "7.html")) {
			out[i] = chain.URLResult{URL: u, Dropped: true, Plugin: "f", Reason: "rules.txt:" + u[len(u)-1:]}
		}
	}
	return out, ctx.Err()
}

type bench struct {
	t     *testing.T
	db    *crawldb.DB
	segs  *segment.Segments
	links outlinks.Links
	now   time.Time
}

const seg = "20260101000000"

func newBench(t *testing.T) *bench {
	s, err := store.Open("crawl", store.Options{FS: store.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	if b.db, err = crawldb.Open(t.Context(), s, crawldb.Options{Reducers: map[string]manifest.Reducer{"depth": manifest.Min}}); err != nil {
		t.Fatal(err)
	}
	if b.segs, err = segment.Open(t.Context(), s, segment.Options{}); err != nil {
		t.Fatal(err)
	}
	b.links = outlinks.Links{Segs: b.segs, DB: linkdb.Open(s, linkdb.Options{}), Orphans: true}
	t.Cleanup(func() {
		if c, err := b.db.Check(context.Background()); err != nil || c.Total != 0 {
			t.Errorf("CrawlDB is inconsistent: %v %v", err, c.Problems)
		}
		if err := errors.Join(b.segs.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// put stores fetched records that link to each other's next.
func (b *bench) put(urls ...string) {
	b.t.Helper()
	err := b.db.Update(b.t.Context(), func(tx *crawldb.Tx) error {
		for i, u := range urls {
			k := urlkey.FromURL(u)
			tx.Put(k, &crawldb.Record{Sort: 5, Datum: model.CrawlDatum{
				Status: model.StatusDBFetched, FetchTime: b.now, Interval: time.Hour, FixedInterval: true, Score: 7, Segment: seg,
				Fields: model.Fields{"cash": 10, "depth": int64(i)}, Metadata: model.Metadata{"k": {"v"}}, Signature: []byte(u),
			}})
			next := urls[(i+1)%len(urls)]
			segment.PutParse(tx.Tx, seg, k, &segment.Parsed{Outlinks: []segment.Link{{URL: next}}}, nil)
			now, err := b.links.Of(seg, k)
			if err != nil {
				return err
			}
			if now == nil { // the parse is not committed yet
				now = []linkdb.Link{{Target: urlkey.FromURL(next)}}
			}
			if _, err := b.links.Replace(tx, k, nil, now, b.now); err != nil {
				return err
			}
			if err := tx.SetDocState(k, (&crawldb.DocState{}).With(crawldb.WriterState{Name: "w", Held: true})); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) run(p Plugins, o Options) Report {
	b.t.Helper()
	o.Now = b.now
	rep, err := Run(b.t.Context(), Deps{DB: b.db, Links: b.links, Plugins: p}, o)
	if err != nil {
		b.t.Fatal(err)
	}
	return rep
}

func (b *bench) fold() {
	b.t.Helper()
	_, err := b.db.Fold(b.t.Context(), b.now, func(_ context.Context, in []scoring.ScoreInput) ([]scoring.ScoreOutput, error) {
		out := make([]scoring.ScoreOutput, len(in))
		for i := range in {
			out[i] = scoring.ScoreOutput{Score: in[i].Score, Sort: 5}
		}
		return out, nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// state is all that matters of the stores.
func (b *bench) state() string {
	b.t.Helper()
	b.fold()
	var out bytes.Buffer
	err := b.db.Dump(b.t.Context(), &out)
	if err == nil {
		err = b.db.DirtyForIndex(b.t.Context(), func(k urlkey.Key) error {
			_, err := fmt.Fprintf(&out, "dirty %s\n", k)
			return err
		})
	}
	if err == nil {
		err = b.links.DB.Each(b.t.Context(), "", func(k urlkey.Key, in []model.Inlink) error {
			_, err := fmt.Fprintf(&out, "%s < %v\n", k, in)
			return err
		})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return out.String()
}

func (b *bench) get(url string) *crawldb.Record {
	b.t.Helper()
	rec, err := b.db.Get(urlkey.FromURL(url))
	if err != nil {
		b.t.Fatal(err)
	}
	return rec
}

func small() []string {
	return []string{
		"http://a/1.html", "http://a/2.zip", "http://a/7.html", "http://a/fail", "http://a/grow", "http://a/new/known", "http://a/old/known", "http://a/old/unknown",
	}
}

// want is what a refilter of small does.
func want(applied bool) Report {
	return Report{
		Applied: applied, URLs: 8, Removed: 2, Renamed: 3, Merged: 1, Documents: 5, Failed: map[string]int64{"n": 1},
		Plugins: []Plugin{{Plugin: "f", URLs: 2, Rules: []Rule{
			{Reason: "rules.txt:p", URLs: 1, Samples: []string{"http://a/2.zip"}}, {Reason: "rules.txt:l", URLs: 1, Samples: []string{"http://a/7.html"}},
		}}},
		Renames: []Rename{
			{From: "http://a/grow", To: "http://a/groww"}, {From: "http://a/old/known", To: "http://a/new/known", Merged: true},
		},
		Failures: []string{"http://a/fail: boom"},
	}
}

// TestDryRun: it tells what would happen, links that are not folded included, and
// changes nothing.
func TestDryRun(t *testing.T) {
	b := newBench(t)
	b.put(small()...)
	before := b.state()
	if d := cmp.Diff(want(false), b.run(rules{name: "1"}, Options{Samples: 2})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(before, b.state()); d != "" {
		t.Errorf("changed:\n%s", d)
	}
	err := b.db.Update(t.Context(), func(tx *crawldb.Tx) error {
		tx.Effect(urlkey.FromURL("http://b/pending.zip"), crawldb.Effect{})
		tx.Effect(urlkey.FromURL("http://a/1.html"), crawldb.Effect{})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if rep := b.run(rules{name: "1"}, Options{}); rep.URLs != 9 || rep.Pending != 1 || rep.Removed != 3 {
		t.Errorf("%+v", rep)
	}
}

// TestApply: what leaves and what changes its URL.
func TestApply(t *testing.T) {
	b := newBench(t)
	b.put(small()...)
	if d := cmp.Diff(want(true), b.run(rules{name: "1"}, Options{Apply: true, Samples: 2})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	b.fold()
	for _, gone := range []string{"http://a/2.zip", "http://a/7.html", "http://a/old/known", "http://a/old/unknown", "http://a/grow", "http://a/growww"} {
		if b.get(gone) != nil {
			t.Errorf("%s is there", gone)
		}
	}
	moved := b.get("http://a/new/unknown")
	wantMoved := &crawldb.Record{Sort: 5, Datum: model.CrawlDatum{
		Status: model.StatusDBUnfetched, FetchTime: b.now, Interval: time.Hour, FixedInterval: true, Score: 7,
		Fields: model.Fields{"cash": 10, "depth": 7}, Metadata: model.Metadata{"k": {"v"}},
	}}
	if d := cmp.Diff(wantMoved, moved, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); d != "" {
		t.Errorf("new record (-want +got):\n%s", d)
	}
	merged := b.get("http://a/new/known")
	if d := merged.Datum; d.Status != model.StatusDBFetched || d.Fields["cash"] != 20 || d.Fields["depth"] != 5 {
		t.Errorf("merged: %+v", d)
	}
	state := b.state()
	for _, url := range []string{"http://a/2.zip", "http://a/7.html", "http://a/old/known", "http://a/old/unknown", "http://a/grow"} {
		if !strings.Contains(state, fmt.Sprintf("dirty %s\n", urlkey.FromURL(url))) {
			t.Errorf("%s is not marked for the index", url)
		}
		if strings.Contains(state, "{"+url+" ") {
			t.Errorf("%s still links", url)
		}
	}
	if strings.Contains(state, fmt.Sprintf("dirty %s\n", urlkey.FromURL("http://a/1.html"))) {
		t.Error("a page that stays is marked")
	}
	due, err := b.db.DueOrphans(t.Context(), b.now, 100)
	if err != nil || len(due) != 5 {
		t.Errorf("%d targets that lost a link, %v", len(due), err)
	}
	if rep := b.run(rules{name: "1", keep: true}, Options{Apply: true, NoNormalize: true}); rep.Removed+rep.Renamed != 0 || rep.URLs != 5 {
		t.Errorf("%+v", rep)
	}
}

// TestOneHalf: only normalizers, only filters.
func TestOneHalf(t *testing.T) {
	for _, c := range []struct {
		o                Options
		removed, renamed int64
	}{{Options{NoNormalize: true}, 2, 0}, {Options{NoFilter: true}, 0, 3}} {
		b := newBench(t)
		b.put(small()...)
		if rep := b.run(rules{name: "1"}, c.o); rep.Removed != c.removed || rep.Renamed != c.renamed {
			t.Errorf("%+v: %+v", c.o, rep)
		}
	}
}

// TestCutShort: a refilter that is stopped anywhere and run again does the same, and
// tells the same, as one that is not.
func TestCutShort(t *testing.T) {
	var urls []string
	for i := range 3 * portion {
		urls = append(urls, fmt.Sprintf("http://h%d/%s/%d.html", i%50, []string{"old", "x"}[i%2], i))
	}
	whole := newBench(t)
	whole.put(urls...)
	wantRep := whole.run(rules{name: "1"}, Options{Apply: true, Samples: 1})
	wantState := whole.state()
	b := newBench(t)
	b.put(urls...)
	for stops := 1; ; stops++ {
		ctx, cancel := context.WithCancel(t.Context())
		rep, err := Run(ctx, Deps{DB: b.db, Links: b.links, Plugins: rules{name: "1"}}, Options{
			Apply: true, Samples: 1, Now: b.now, Progress: func(int64) { cancel() },
		})
		cancel()
		if stops == 1 {
			if changed, err := Changed(t.Context(), b.db, "1"); err != nil || changed {
				t.Errorf("the rules of an unknown past: %v %v", changed, err)
			}
		}
		if err == nil {
			if stops < 3 || !rep.Resumed {
				t.Errorf("stopped %d times, resumed %v", stops-1, rep.Resumed)
			}
			rep.Resumed = false
			if d := cmp.Diff(wantRep, rep); d != "" {
				t.Errorf("report (-want +got):\n%s", d)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if got := b.state(); got != wantState {
		t.Errorf("state differs")
	}
}

func TestChanged(t *testing.T) {
	b := newBench(t)
	check := func(rules string, want bool) {
		t.Helper()
		if got, err := Changed(t.Context(), b.db, rules); got != want || err != nil {
			t.Errorf("rules %s: changed %v, want %v; %v", rules, got, want, err)
		}
	}
	check("1", false)
	check("2", false) // the CrawlDB is empty
	b.put("http://a/")
	check("2", false)
	check("3", true)
	b.run(rules{name: "3", keep: true}, Options{})
	check("3", true)
	b.run(rules{name: "3", keep: true}, Options{Apply: true, NoFilter: true})
	check("3", true)
	b.run(rules{name: "3", keep: true}, Options{Apply: true})
	check("3", false)
	check("2", true)
}
