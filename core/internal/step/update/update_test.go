package update

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/schedule"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/model"
)

// scorer gives each target 10 of the page's cash and takes it from the page.
type scorer struct {
	err  error           // of the chain
	fail map[string]bool // pages it fails on
	drop map[string]bool // targets it drops
	seen []scoring.DistributeInput
}

func (s *scorer) Distribute(_ context.Context, in []scoring.DistributeInput) ([]chain.Distributed, []error, error) {
	if s.err != nil {
		return nil, nil, s.err
	}
	s.seen = append(s.seen, in...)
	out, errs := make([]chain.Distributed, len(in)), make([]error, len(in))
	for i, p := range in {
		if s.fail[p.URL] {
			errs[i] = errors.New("boom")
			continue
		}
		n := len(p.Targets)
		out[i].Columns = []scoring.Column{{Field: "cash", Values: slices.Repeat([]int64{10}, n)}}
		out[i].Self = model.Fields{"cash": int64(-10 * n)}
		for _, t := range p.Targets {
			if s.drop != nil {
				out[i].Drop = append(out[i].Drop, s.drop[t.URL])
			}
			if s.drop[t.URL] {
				out[i].DroppedBy = map[string]int64{"scoring-test": 1}
			}
		}
	}
	return out, errs, nil
}

type bench struct {
	t    *testing.T
	s    *store.Store
	db   *crawldb.DB
	segs *segment.Segments
	cfg  Config
	now  time.Time
	scorer
}

func newBench(t *testing.T) *bench {
	s, err := store.Open("crawl", store.Options{FS: store.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, s: s, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	if b.db, err = crawldb.Open(t.Context(), s, crawldb.Options{}); err != nil {
		t.Fatal(err)
	}
	if b.segs, err = segment.Open(t.Context(), s, segment.Options{}); err != nil {
		t.Fatal(err)
	}
	sch, err := schedule.New(schedule.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	b.cfg = Config{Rules: transition.DefaultRules(sch), SkipNotModified: true}
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

// put makes records that are due, and generate leases all that are.
func (b *bench) put(status model.Status, urls ...string) {
	b.t.Helper()
	err := b.db.Update(b.t.Context(), func(tx *crawldb.Tx) error {
		for _, u := range urls {
			tx.Put(urlkey.FromURL(u), &crawldb.Record{Datum: model.CrawlDatum{Status: status, FetchTime: b.now, Fields: model.Fields{"cash": 100}}})
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) generate(seg string) {
	b.t.Helper()
	if _, err := b.db.Generate(b.t.Context(), crawldb.GenerateOptions{Segment: seg, Now: b.now}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) page(seg, url string, status model.Status, links ...string) Page {
	b.t.Helper()
	k := urlkey.FromURL(url)
	hint, _, err := b.db.Hint(seg, k)
	if err != nil {
		b.t.Fatal(err)
	}
	p := Page{Segment: seg, Key: k, URL: url, Hint: hint, Fetch: &segment.Fetch{URL: url, Status: status, FetchTime: b.now, Protocol: model.ProtocolStatus{HTTP: 200}}}
	if status == model.StatusFetchSuccess {
		p.StoreParse = true
		p.Parsed = &segment.Parsed{Status: model.ParseStatus{Major: model.ParseSuccess}, Signature: []byte(seg), AllLinks: len(links)}
		for _, l := range links {
			p.Parsed.Outlinks = append(p.Parsed.Outlinks, segment.Link{URL: l})
		}
	}
	return p
}

func (b *bench) apply(pages ...Page) Result {
	b.t.Helper()
	r, err := New(b.cfg, b.db, b.segs, &b.scorer, hclog.NewNullLogger()).Apply(b.t.Context(), pages, b.now)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) get(url string) *model.CrawlDatum {
	b.t.Helper()
	rec, err := b.db.Get(urlkey.FromURL(url))
	if err != nil {
		b.t.Fatal(err)
	}
	if rec == nil {
		return nil
	}
	return &rec.Datum
}

func (b *bench) fold() {
	b.t.Helper()
	_, err := b.db.Fold(b.t.Context(), b.now, func(_ context.Context, in []scoring.ScoreInput) ([]scoring.ScoreOutput, error) {
		return make([]scoring.ScoreOutput, len(in)), nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) dirty() []string {
	b.t.Helper()
	var out []string
	err := b.db.DirtyForIndex(b.t.Context(), func(k urlkey.Key) error {
		u, err := urlkey.ToURL(k)
		out = append(out, u)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

const (
	s1, s2  = "20260101000000", "20260102000000"
	a, x, y = "http://a/", "http://x/", "http://y/"
)

// TestOnce: a page is applied once, however often it is offered.
func TestOnce(t *testing.T) {
	b := newBench(t)
	b.put(model.StatusDBUnfetched, a)
	b.generate(s1)
	p := b.page(s1, a, model.StatusFetchSuccess, x, y)
	if r := b.apply(p, p); r.Applied != 1 || r.Skipped != 1 || r.ByStatus[model.StatusDBFetched] != 1 {
		t.Errorf("%+v", r)
	}
	if r := b.apply(p); r.Applied != 0 || r.Skipped != 1 {
		t.Errorf("%+v", r)
	}
	b.fold()
	if got := b.get(x); got == nil || got.Status != model.StatusDBUnfetched || got.Fields["cash"] != 10 {
		t.Errorf("target: %+v", got)
	}
	d := b.get(a)
	if d.Status != model.StatusDBFetched || d.Segment != s1 || d.Fields["cash"] != 80 {
		t.Errorf("page: %+v", d)
	}
	if b.db.LeasedCount(s1) != 0 {
		t.Error("still leased")
	}
	if diff := cmp.Diff([]string{a}, b.dirty()); diff != "" {
		t.Error(diff)
	}
	got, err := b.segs.GetParse(s1, p.Key, segment.Want{Outlinks: true})
	if err != nil || got == nil || len(got.Outlinks) != 2 {
		t.Errorf("%+v %v", got, err)
	}
	if meta, _, err := segment.GetMeta(b.s, s1); err != nil || meta.Counts.Updated != 1 || meta.Counts.Parsed != 1 {
		t.Errorf("%+v %v", meta.Counts, err)
	}
}

// TestScores: what a scoring plugin fails on or drops.
func TestScores(t *testing.T) {
	b := newBench(t)
	b.put(model.StatusDBUnfetched, a, "http://b/")
	b.generate(s1)
	b.fail, b.drop = map[string]bool{a: true}, map[string]bool{y: true}
	if r := b.apply(b.page(s1, a, model.StatusFetchSuccess, "http://from-a/"), b.page(s1, "http://b/", model.StatusFetchSuccess, x, y)); r.Applied != 2 || r.ScoreErrors != 1 || r.Dropped["scoring-test"] != 1 {
		t.Errorf("%+v", r)
	}
	b.fold()
	if d := b.get("http://from-a/"); d == nil || d.Fields["cash"] != 0 {
		t.Errorf("a link of a page whose score could not be handed on: %+v", d)
	}
	if b.get(x) == nil || b.get(y) != nil {
		t.Errorf("dropped targets: %+v %+v", b.get(x), b.get(y))
	}
	b.scorer.err = errors.New("no plugin any more")
	b.put(model.StatusDBUnfetched, "http://c/")
	b.generate(s2)
	if _, err := New(b.cfg, b.db, b.segs, &b.scorer, hclog.NewNullLogger()).Apply(t.Context(), []Page{b.page(s2, "http://c/", model.StatusFetchSuccess)}, b.now); !errors.Is(err, b.scorer.err) {
		t.Errorf("%v", err)
	}
	if b.get("http://c/").Status != model.StatusDBUnfetched || b.db.LeasedCount(s2) == 0 {
		t.Error("something was applied")
	}
}

// TestNotModified: a 304 keeps the content segment, hands scores on over the links of
// the last content, and is not indexed again.
func TestNotModified(t *testing.T) {
	b := newBench(t)
	b.put(model.StatusDBUnfetched, a)
	b.generate(s1)
	b.apply(b.page(s1, a, model.StatusFetchSuccess, x))
	b.fold()
	b.now = b.now.Add(40 * 24 * time.Hour)
	b.generate(s2)
	b.clearDirty()
	b.apply(b.page(s2, a, model.StatusFetchNotModified))
	b.fold()
	if d := b.get(a); d.Status != model.StatusDBNotModified || d.Segment != s1 {
		t.Errorf("%+v", d)
	}
	if d := b.get(x); d.Fields["cash"] != 20 {
		t.Errorf("target: %+v", d)
	}
	if got := b.dirty(); len(got) != 0 {
		t.Errorf("marked: %v", got)
	}
	err := b.segs.EachApplied(t.Context(), s2, func(k urlkey.Key, before, now string) error {
		if k == urlkey.FromURL(a) && (before != s1 || now != s1) {
			t.Errorf("content moved from %q to %q", before, now)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) clearDirty() {
	b.t.Helper()
	err := b.db.Update(b.t.Context(), func(tx *crawldb.Tx) error {
		for _, u := range b.dirty() {
			tx.ClearIndexDirty(urlkey.FromURL(u))
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestRetryAfter(t *testing.T) {
	b := newBench(t)
	b.put(model.StatusDBUnfetched, a, x)
	b.generate(s1)
	told := b.page(s1, a, model.StatusFetchRetry)
	told.Fetch.Metadata = model.Metadata{segment.MetaRetryAfter: {"600"}}
	b.apply(told, b.page(s1, x, model.StatusFetchRetry))
	if got := b.get(a).FetchTime.Sub(b.now); got != 10*time.Minute {
		t.Errorf("due in %v", got)
	}
	if got := b.get(x).FetchTime.Sub(b.now); got != 24*time.Hour {
		t.Errorf("without Retry-After: due in %v", got)
	}
}

func TestPurge(t *testing.T) {
	b := newBench(t)
	b.cfg.Purge404 = true
	b.put(model.StatusDBFetched, a, x)
	b.generate(s1)
	b.apply(b.page(s1, a, model.StatusFetchGone), b.page(s1, x, model.StatusFetchSuccess))
	if b.get(a) != nil || b.get(x) == nil || b.db.LeasedCount(s1) != 0 {
		t.Errorf("%+v %+v", b.get(a), b.get(x))
	}
	if d := cmp.Diff([]string{a, x}, b.dirty()); d != "" {
		t.Error(d)
	}
}

// TestFollow: when the target of a redirect is leased to be fetched at once.
func TestFollow(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*bench)
		leased  bool
	}{
		"unknown":       {leased: true},
		"known and due": {prepare: func(b *bench) { b.put(model.StatusDBGone, x) }, leased: true},
		"fetched not long ago": {prepare: func(b *bench) {
			now := b.now
			b.now = now.Add(time.Hour)
			b.put(model.StatusDBFetched, x)
			b.now = now
		}},
		"leased elsewhere": {prepare: func(b *bench) {
			b.put(model.StatusDBUnfetched, x)
			b.generate(s2)
		}},
		"no additions": {prepare: func(b *bench) { b.cfg.Rules.AdditionsAllowed = false }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.put(model.StatusDBUnfetched, a)
			b.generate(s1)
			if c.prepare != nil {
				c.prepare(b)
			}
			p := b.page(s1, a, model.StatusFetchRedirPerm)
			p.Target, p.Follow = x, true
			b.apply(p)
			if got := b.db.IsLeased(s1, urlkey.FromURL(x)); got != c.leased {
				t.Errorf("leased: %v", got)
			}
			if hint, ok, err := b.db.Hint(s1, urlkey.FromURL(x)); c.leased && (!ok || err != nil || hint.Status == 0) {
				t.Errorf("hint %+v %v", hint, err)
			}
			if d := b.get(a); d.Status != model.StatusDBRedirPerm || d.Segment != "" {
				t.Errorf("%+v", d)
			}
		})
	}
}

// TestRedirectRemembersSource: the target learns the representative URL.
func TestRedirectRemembersSource(t *testing.T) {
	const target = "http://a/deep/page"
	for _, follow := range []bool{false, true} {
		b := newBench(t)
		b.put(model.StatusDBUnfetched, a)
		b.generate(s1)
		p := b.page(s1, a, model.StatusFetchRedirPerm)
		p.Target, p.Follow = target, follow
		b.apply(p)
		b.fold()
		if d := b.get(target); d == nil || d.Metadata.First(MetaRepr) != a {
			t.Errorf("follow %v: %+v", follow, d)
		}
	}
}

// TestRefreshIsFollowed: where a meta refresh leads is leased, and learns the
// representative URL by Nutch's rule; the page stays fetched and its other links count.
func TestRefreshIsFollowed(t *testing.T) {
	const target, other = "http://a/deep/page", "http://a/other"
	for seconds, repr := range map[string]string{"0": "http://a/x", "5": ""} {
		for _, follow := range []bool{false, true} {
			b := newBench(t)
			b.put(model.StatusDBUnfetched, "http://a/x")
			b.generate(s1)
			p := b.page(s1, "http://a/x", model.StatusFetchSuccess)
			p.Parsed.Status = model.ParseStatus{Major: model.ParseSuccess, Minor: model.ParseSuccessRedirect, Args: []string{target, seconds}}
			p.Parsed.Outlinks = []segment.Link{{URL: other, Tag: "a"}, {URL: target, Tag: TagRefresh}}
			p.Follow = follow
			b.apply(p)
			b.fold()
			if b.get("http://a/x").Status != model.StatusDBFetched || b.get(other) == nil || b.get(other).Metadata.First(MetaRepr) != "" {
				t.Errorf("%s s, follow %v: %+v, %+v", seconds, follow, b.get("http://a/x"), b.get(other))
			}
			if d := b.get(target); d == nil || d.Metadata.First(MetaRepr) != repr || b.db.IsLeased(s1, urlkey.FromURL(target)) != follow {
				t.Errorf("%s s, follow %v: %+v", seconds, follow, d)
			}
		}
	}
}

func TestMetadata(t *testing.T) {
	b := newBench(t)
	b.cfg.ParseMeta, b.cfg.StoreIP, b.cfg.StoreResponseTime = []string{"lang", "none"}, true, true
	b.put(model.StatusDBUnfetched, a)
	b.generate(s1)
	p := b.page(s1, a, model.StatusFetchSuccess)
	p.Fetch.IP, p.Fetch.Elapsed, p.Fetch.Truncated = "192.0.2.1", 15*time.Millisecond, "length"
	p.Parsed.ParseMeta = model.Metadata{"lang": {"en"}, "other": {"x"}}
	b.apply(p)
	want := model.Metadata{"lang": {"en"}, "_ip_": {"192.0.2.1"}, "_rs_": {"15"}, "http.content.truncated.reason": {"length"}}
	if d := cmp.Diff(want, b.get(a).Metadata); d != "" {
		t.Error(d)
	}
}

func TestIndexable(t *testing.T) {
	for _, c := range []struct {
		old, next model.Status
		skip      bool
		want      bool
	}{
		{0, model.StatusDBFetched, true, true},
		{0, model.StatusDBNotModified, true, true},
		{model.StatusDBFetched, model.StatusDBNotModified, true, false},
		{model.StatusDBNotModified, model.StatusDBNotModified, true, false},
		{model.StatusDBNotModified, model.StatusDBNotModified, false, true},
		{model.StatusDBUnfetched, model.StatusDBNotModified, true, true},
		{model.StatusDBDuplicate, model.StatusDBNotModified, true, true},
		{model.StatusDBFetched, model.StatusDBGone, true, true},
		{model.StatusDBFetched, model.StatusDBFetched, true, true},
	} {
		var old *model.CrawlDatum
		if c.old != 0 {
			old = &model.CrawlDatum{Status: c.old}
		}
		x := &Applier{cfg: Config{SkipNotModified: c.skip}}
		if got := x.indexable(old, &model.CrawlDatum{Status: c.next}); got != c.want {
			t.Errorf("%s to %s, skip %v: %v", c.old, c.next, c.skip, got)
		}
	}
}

// TestFollowTogether: two redirects to one unknown page lease it once.
func TestFollowTogether(t *testing.T) {
	b := newBench(t)
	b.put(model.StatusDBUnfetched, a, y)
	b.generate(s1)
	p, q := b.page(s1, a, model.StatusFetchRedirPerm), b.page(s1, y, model.StatusFetchRedirTemp)
	p.Target, p.Follow, q.Target, q.Follow = x, true, x, true
	if r := b.apply(p, q); len(r.Leased) != 1 || !r.Leased[urlkey.FromURL(x)] {
		t.Errorf("%+v", r)
	}
	if n := b.db.LeasedCount(s1); n != 1 {
		t.Errorf("%d leased", n)
	}
}

// TestNotModifiedBringsUpNothing: a target that left the CrawlDB does not come back by
// a page that did not change.
func TestNotModifiedBringsUpNothing(t *testing.T) {
	b := newBench(t)
	b.put(model.StatusDBUnfetched, a)
	b.generate(s1)
	b.apply(b.page(s1, a, model.StatusFetchSuccess, x, y))
	b.fold()
	err := b.db.Update(t.Context(), func(tx *crawldb.Tx) error {
		tx.Delete(urlkey.FromURL(x))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.now = b.now.Add(40 * 24 * time.Hour)
	b.generate(s2)
	b.apply(b.page(s2, a, model.StatusFetchNotModified))
	b.fold()
	if b.get(x) != nil || b.get(y) == nil {
		t.Errorf("%+v %+v", b.get(x), b.get(y))
	}
}
