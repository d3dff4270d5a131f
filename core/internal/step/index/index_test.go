package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/linkdb"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

const seg = "20260101000000"

// plugins are chains that copy title and text into the document.
type plugins struct {
	drop       map[string]bool     // URLs an indexing filter drops
	fail       map[string]bool     // URLs a plugin fails on
	route      map[string][]string // URL → writers; nil map: no exchange is configured
	unroutable map[string]error
}

func (p *plugins) Needs() manifest.Needs { return manifest.Needs{} }

func (p *plugins) FilterDocuments(_ context.Context, in []*indexingfilter.Input) ([]chain.Indexed, error) {
	out := make([]chain.Indexed, len(in))
	for i, x := range in {
		switch {
		case p.drop[x.URL]:
			out[i] = chain.Indexed{Dropped: "not wanted", Plugin: "index-test"}
		case p.fail[x.URL]:
			out[i] = chain.Indexed{Err: errors.New("boom"), Plugin: "index-test"}
		default:
			d := x.Doc
			d.Fields["title"], d.Fields["content"] = []string{x.Parse.Title}, []string{x.Parse.Text}
			out[i].Doc = &d
		}
	}
	return out, nil
}

func (p *plugins) Boost(_ context.Context, in []scoring.IndexInput) ([]float64, []error, error) {
	return slices.Repeat([]float64{1}, len(in)), nil, nil
}

func (p *plugins) Route(_ context.Context, docs []*model.Document) ([]chain.Route, error) {
	out := make([]chain.Route, len(docs))
	for i, d := range docs {
		out[i] = chain.Route{Writers: p.route[d.ID], Default: p.route == nil, Err: p.unroutable[d.ID]}
	}
	return out, nil
}

// writer is an index writer whose calls fail by script.
type writer struct {
	name    string
	errs    []error // of the next calls of Write; nil works
	commits []error // the same for Commit
	refuse  map[string]bool
	later   map[string]bool
	pending []indexwriter.Op
	docs    map[string]model.Document
	writes  int
}

func newWriter(name string) *writer { return &writer{name: name, docs: map[string]model.Document{}} }

func (w *writer) Name() string { return w.name }

func pop(list *[]error) error {
	if len(*list) == 0 {
		return nil
	}
	err := (*list)[0]
	*list = (*list)[1:]
	return err
}

func (w *writer) Write(_ context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	w.writes++
	if err := pop(&w.errs); err != nil {
		if lost(err) {
			w.pending = nil
		}
		return nil, err
	}
	out := make([]indexwriter.Result, len(ops))
	for i, op := range ops {
		if w.refuse[op.Doc.ID] {
			out[i].Rejected = "no"
			continue
		}
		if w.later[op.Doc.ID] {
			out[i] = indexwriter.Result{Rejected: "busy", Later: true}
			continue
		}
		w.pending = append(w.pending, op)
	}
	return out, nil
}

func lost(err error) bool {
	var l *chain.LostWritesError
	return errors.As(err, &l)
}

func (w *writer) Commit(context.Context) error {
	if err := pop(&w.commits); err != nil {
		if lost(err) {
			w.pending = nil
		}
		return err
	}
	for _, op := range w.pending {
		if op.Kind == indexwriter.Delete {
			delete(w.docs, op.Doc.ID)
		} else {
			w.docs[op.Doc.ID] = op.Doc
		}
	}
	w.pending = nil
	return nil
}

func (w *writer) ids() []string { return slices.Sorted(maps.Keys(w.docs)) }

// bench is a crawl directory in memory.
type bench struct {
	t    *testing.T
	s    *store.Store
	db   *crawldb.DB
	segs *segment.Segments
	plugins
	cfg     Config
	targets []Target
}

func newBench(t *testing.T, writers ...*writer) *bench {
	s, err := store.Open("crawl", store.Options{FS: store.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, s: s, cfg: Config{
		Delete: true, DeleteNoIndex: true, DeleteSkipped: true, BatchSize: 3, BatchBytes: 1 << 20, CommitSize: 7, Retries: 2, RetryDelay: time.Microsecond, Restarts: 10,
	}}
	if b.db, err = crawldb.Open(t.Context(), s, crawldb.Options{}); err != nil {
		t.Fatal(err)
	}
	if b.segs, err = segment.Open(t.Context(), s, segment.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, w := range writers {
		b.targets = append(b.targets, Target{Writer: w})
	}
	t.Cleanup(func() {
		if err := errors.Join(b.segs.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

func url(n int) string { return fmt.Sprintf("http://a/%02d", n) }

// put stores a page as updatedb leaves it, marked for the index.
func (b *bench) put(n int, text string, change ...func(*model.CrawlDatum, *segment.Parsed)) {
	b.t.Helper()
	k := urlkey.FromURL(url(n))
	d := model.CrawlDatum{Status: model.StatusDBFetched, Segment: seg, Signature: []byte(text), FetchTime: time.Now().Add(time.Hour)}
	p := segment.Parsed{Status: model.ParseStatus{Major: model.ParseSuccess}, Title: "t", Text: text}
	for _, f := range change {
		f(&d, &p)
	}
	err := b.db.Update(b.t.Context(), func(tx *crawldb.Tx) error {
		segment.PutFetch(tx.Tx, seg, k, &segment.Fetch{URL: url(n), Status: model.StatusFetchSuccess})
		segment.PutParse(tx.Tx, seg, k, &p, nil)
		rec, err := tx.Get(k)
		if err != nil {
			return err
		}
		if rec == nil {
			rec = &crawldb.Record{}
		}
		rec.Datum = d
		tx.Put(k, rec)
		tx.IndexDirty(k)
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func status(s model.Status) func(*model.CrawlDatum, *segment.Parsed) {
	return func(d *model.CrawlDatum, _ *segment.Parsed) { d.Status = s }
}

func (b *bench) indexer() *Indexer {
	return New(b.cfg, Deps{
		DB: b.db, Segs: b.segs, Links: linkdb.Open(b.s, linkdb.Options{}), Plugins: &b.plugins, Targets: b.targets, Log: hclog.NewNullLogger(),
	})
}

func (b *bench) run() Report {
	b.t.Helper()
	rep, err := b.indexer().Run(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return rep
}

func (b *bench) marked() int {
	b.t.Helper()
	n := 0
	if err := b.db.DirtyForIndex(b.t.Context(), func(urlkey.Key) error { n++; return nil }); err != nil {
		b.t.Fatal(err)
	}
	return n
}

func (b *bench) counts(writer string) crawldb.DocCounts {
	b.t.Helper()
	c, err := b.db.DocCounts(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return c[writer]
}

func ids(from, to int) []string {
	var out []string
	for n := from; n < to; n++ {
		out = append(out, url(n))
	}
	return out
}

func down() error { return fault.New(fault.Transient, errors.New("connection refused")) }

func lostWrites() error { return &chain.LostWritesError{Writer: "w", Cause: errors.New("died")} }

// TestDelivery: whatever a writer does in between, in the end it has every document,
// or the pages stay marked.
func TestDelivery(t *testing.T) {
	for name, c := range map[string]struct {
		errs, commits []error
		pending       bool
	}{
		"works":                           {},
		"down for a moment":               {errs: []error{nil, down(), down()}},
		"lost writes":                     {errs: []error{nil, nil, lostWrites()}},
		"lost writes twice":               {errs: []error{nil, lostWrites(), nil, lostWrites()}},
		"lost at commit":                  {commits: []error{lostWrites()}},
		"lost at commit and in the write": {errs: []error{nil, nil, nil, lostWrites()}, commits: []error{lostWrites()}},
		"commit fails for a moment":       {commits: []error{down()}},
		"down for good":                   {errs: []error{down(), down(), down()}, pending: true},
		"commit fails for good":           {commits: []error{errors.New("disk full")}, pending: true},
		"no retry of what can't help":     {errs: []error{errors.New("bad mapping")}, pending: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, other := newWriter("w"), newWriter("other")
			w.errs, w.commits = c.errs, c.commits
			b := newBench(t, w, other)
			for n := range 20 {
				b.put(n, fmt.Sprint("text ", n))
			}
			rep := b.run()
			if d := cmp.Diff(ids(0, 20), other.ids()); d != "" {
				t.Errorf("the other writer: %s", d)
			}
			if c.pending {
				if n := b.counts("w"); rep.Indexed != 20 || rep.Pending["w"] != 20 || b.marked() != 0 || n.Pending != 20 || n.Held != 0 {
					t.Errorf("%+v, %d marked, %+v", rep, b.marked(), n)
				}
				writes := other.writes
				w.errs, w.commits = nil, nil
				rep = b.run()
				if other.writes != writes {
					t.Error("the writer that was up got its documents again")
				}
			}
			if d := cmp.Diff(ids(0, 20), w.ids()); d != "" {
				t.Error(d)
			}
			if rep.Indexed != 20 || len(rep.Pending) != 0 || b.marked() != 0 {
				t.Errorf("%+v, %d marked", rep, b.marked())
			}
			if rep := b.run(); rep.Indexed+rep.Unchanged+rep.Deleted != 0 {
				t.Errorf("a second run: %+v", rep)
			}
		})
	}
}

func TestNoWriter(t *testing.T) {
	b := newBench(t)
	b.put(1, "x")
	if _, err := b.indexer().Run(t.Context()); !errors.Is(err, ErrNoWriter) || b.marked() != 1 {
		t.Errorf("%v, %d marked", err, b.marked())
	}
}

// TestUnchanged: a marked page whose document is the same is not sent again.
func TestUnchanged(t *testing.T) {
	w := newWriter("w")
	b := newBench(t, w)
	b.put(1, "same")
	b.put(2, "old")
	b.run()
	writes := w.writes
	b.put(1, "same", func(d *model.CrawlDatum, _ *segment.Parsed) { d.Score = 99 })
	b.put(2, "new")
	rep := b.run()
	if rep.Indexed != 1 || rep.Unchanged != 1 || w.writes != writes+1 || w.docs[url(2)].Fields["content"][0] != "new" {
		t.Errorf("%+v after %d writes: %v", rep, w.writes-writes, w.docs)
	}
}

func TestRefused(t *testing.T) {
	w := newWriter("w")
	w.refuse, w.errs = map[string]bool{url(1): true}, []error{nil, lostWrites()}
	b := newBench(t, w)
	for n := range 5 {
		b.put(n, "x")
	}
	rep := b.run()
	if rep.Rejected["w"] != 1 || len(w.docs) != 4 || b.marked() != 0 {
		t.Errorf("%+v, %v", rep, w.ids())
	}
}

// TestFates goes through the reasons why a page is in the index or not (nutch.md
// 6.13). Every page is indexed before it changes.
func TestFates(t *testing.T) {
	noindex := func(_ *model.CrawlDatum, p *segment.Parsed) { p.Robots.NoIndex = true }
	unparsed := func(_ *model.CrawlDatum, p *segment.Parsed) { p.Status.Major = model.ParseFailed }
	nothing := func(d *model.CrawlDatum, _ *segment.Parsed) { d.Segment = "" }
	change := func(f ...func(*model.CrawlDatum, *segment.Parsed)) func(*bench) {
		return func(b *bench) { b.put(1, "new", f...) }
	}
	for name, c := range map[string]struct {
		cfg  func(*Config)
		then func(*bench)
		want string // content in the index, "" when it left it
	}{
		"fetched":                 {then: change(), want: "new"},
		"not modified":            {then: change(status(model.StatusDBNotModified)), want: "new"},
		"gone":                    {then: change(status(model.StatusDBGone))},
		"moved":                   {then: change(status(model.StatusDBRedirPerm))},
		"moved for now":           {then: change(status(model.StatusDBRedirTemp))},
		"duplicate":               {then: change(status(model.StatusDBDuplicate))},
		"orphan":                  {then: change(status(model.StatusDBOrphan))},
		"parse failed, deleted":   {then: change(status(model.StatusDBParseFailed))},
		"parse failed":            {then: change(unparsed), want: "old"},
		"gone without delete":     {cfg: func(c *Config) { c.Delete = false }, then: change(status(model.StatusDBGone)), want: "old"},
		"to be retried":           {then: change(status(model.StatusDBUnfetched)), want: "old"},
		"noindex":                 {then: change(noindex)},
		"noindex, allowed":        {cfg: func(c *Config) { c.DeleteNoIndex = false }, then: change(noindex), want: "new"},
		"without content":         {then: change(nothing), want: "old"},
		"dropped":                 {then: func(b *bench) { b.drop = map[string]bool{url(1): true}; b.put(1, "new") }},
		"dropped, but not delete": {cfg: func(c *Config) { c.DeleteSkipped = false }, then: func(b *bench) { b.drop = map[string]bool{url(1): true}; b.put(1, "new") }, want: "old"},
		"a plugin fails":          {then: func(b *bench) { b.fail = map[string]bool{url(1): true}; b.put(1, "new") }, want: "old"},
		"no exchange takes it":    {then: func(b *bench) { b.route = map[string][]string{}; b.put(1, "new") }},
		"deleted from the CrawlDB": {then: func(b *bench) {
			err := b.db.Update(b.t.Context(), func(tx *crawldb.Tx) error {
				tx.IndexDirty(urlkey.FromURL(url(1)))
				tx.Delete(urlkey.FromURL(url(1)))
				return nil
			})
			if err != nil {
				b.t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWriter("w")
			b := newBench(t, w)
			if c.cfg != nil {
				c.cfg(&b.cfg)
			}
			b.put(1, "old")
			b.run()
			c.then(b)
			rep := b.run()
			got := ""
			if d, ok := w.docs[url(1)]; ok {
				got = d.Fields["content"][0]
			}
			if got != c.want || b.marked() != 0 {
				t.Errorf("the index holds %q, want %q; %d marked; %+v", got, c.want, b.marked(), rep)
			}
			if want := int64(1); c.want == "" && rep.Deleted != want || c.want == "old" && len(rep.Skipped) != 1 {
				t.Errorf("%+v", rep)
			}
			// And back again.
			b.drop, b.fail, b.route = nil, nil, nil
			b.put(1, "back")
			b.run()
			if d := w.docs[url(1)]; d.Fields == nil || d.Fields["content"][0] != "back" {
				t.Errorf("it did not come back: %+v", d)
			}
		})
	}
}

// TestRoutes: a document that moves from one writer to another leaves the first.
func TestRoutes(t *testing.T) {
	x, y := newWriter("x"), newWriter("y")
	b := newBench(t, x, y)
	b.route = map[string][]string{url(1): {"x"}, url(2): {"x", "y"}}
	b.put(1, "one")
	b.put(2, "two")
	b.run()
	if d := cmp.Diff([][]string{ids(1, 3), ids(2, 3)}, [][]string{x.ids(), y.ids()}); d != "" {
		t.Error(d)
	}
	b.route = map[string][]string{url(1): {"y"}, url(2): {"y", "x"}}
	b.put(1, "one")
	b.put(2, "two")
	rep := b.run()
	if d := cmp.Diff([][]string{ids(2, 3), ids(1, 3)}, [][]string{x.ids(), y.ids()}); d != "" {
		t.Error(d)
	}
	if rep.Indexed != 1 || rep.Unchanged != 1 {
		t.Errorf("%+v", rep)
	}
	// A writer that is configured no more gets nothing.
	b.targets = b.targets[1:]
	b.put(2, "two", status(model.StatusDBGone))
	b.run()
	if d := cmp.Diff([][]string{ids(2, 3), ids(1, 2)}, [][]string{x.ids(), y.ids()}); d != "" {
		t.Error(d)
	}
}

func TestClean(t *testing.T) {
	w := newWriter("w")
	b := newBench(t, w)
	b.cfg.Delete = false
	for n := range 10 {
		b.put(n, fmt.Sprint(n))
	}
	b.run()
	b.put(3, "3", status(model.StatusDBGone))
	b.put(4, "4", status(model.StatusDBRedirPerm))
	b.put(5, "5", status(model.StatusDBDuplicate))
	b.run()
	if len(w.docs) != 10 {
		t.Fatalf("%v", w.ids())
	}
	rep, err := b.indexer().Clean(t.Context())
	if err != nil || rep.Deleted != 3 {
		t.Errorf("%+v %v", rep, err)
	}
	if d := cmp.Diff(append(ids(0, 3), ids(6, 10)...), w.ids()); d != "" {
		t.Error(d)
	}
	if rep, err = b.indexer().Clean(t.Context()); err != nil || rep.Deleted != 0 {
		t.Errorf("again: %+v %v", rep, err)
	}
}

// TestChangedMeanwhile: a page that is updated between its document and the commit
// keeps its mark.
func TestChangedMeanwhile(t *testing.T) {
	w := newWriter("w")
	b := newBench(t, w)
	b.put(1, "first")
	b.targets[0].Writer = &meddler{writer: w, do: func() {
		b.put(1, "second", func(d *model.CrawlDatum, _ *segment.Parsed) { d.PrevFetchTime = time.Unix(1, 0) })
	}}
	b.run()
	if b.marked() != 1 {
		t.Errorf("%d marked", b.marked())
	}
	b.run()
	if got := w.docs[url(1)].Fields["content"][0]; got != "second" || b.marked() != 0 {
		t.Errorf("%q, %d marked", got, b.marked())
	}
}

// meddler does something once while it commits.
type meddler struct {
	*writer
	do func()
}

func (m *meddler) Commit(ctx context.Context) error {
	if m.do != nil {
		m.do()
		m.do = nil
	}
	return m.writer.Commit(ctx)
}

func TestMapped(t *testing.T) {
	doc := model.Document{ID: "x", Fields: map[string][]string{"a": {"1"}, "b": {"2"}, "c": {"3"}, "d": {"4"}}}
	for name, c := range map[string]struct {
		target Target
		want   map[string][]string
	}{
		"nothing": {Target{}, doc.Fields},
		"copy":    {Target{Copy: map[string][]string{"a": {"b", "e"}}}, map[string][]string{"a": {"1"}, "b": {"2", "1"}, "c": {"3"}, "d": {"4"}, "e": {"1"}}},
		"swap":    {Target{Rename: map[string]string{"a": "b", "b": "a"}}, map[string][]string{"a": {"2"}, "b": {"1"}, "c": {"3"}, "d": {"4"}}},
		"merge":   {Target{Rename: map[string]string{"a": "z", "b": "z"}}, map[string][]string{"z": {"1", "2"}, "c": {"3"}, "d": {"4"}}},
		"all": {
			Target{Copy: map[string][]string{"a": {"e"}}, Rename: map[string]string{"a": "f"}, Remove: []string{"b", "e"}},
			map[string][]string{"f": {"1"}, "c": {"3"}, "d": {"4"}},
		},
	} {
		before := fmt.Sprint(doc)
		if d := cmp.Diff(c.want, c.target.Mapped(doc).Fields); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if fmt.Sprint(doc) != before {
			t.Errorf("%s changed its argument", name)
		}
	}
}

// TestBacklog: what a writer could not take is sent later, by a delete if the page
// is gone by then, and without asking the other writers again.
func TestBacklog(t *testing.T) {
	w, other := newWriter("w"), newWriter("other")
	b := newBench(t, w, other)
	for n := range 6 {
		b.put(n, fmt.Sprint("text ", n))
	}
	b.run()
	w.errs = slices.Repeat([]error{down()}, 3)
	b.put(1, "changed")
	b.put(2, "text 2", status(model.StatusDBGone))
	b.put(6, "added")
	if rep := b.run(); rep.Pending["w"] != 3 || rep.Indexed != 2 || rep.Deleted != 1 || len(rep.Down) != 1 {
		t.Errorf("%+v", rep)
	}
	if d := cmp.Diff(ids(0, 6), w.ids()); d != "" || w.docs[url(1)].Fields["content"][0] != "text 1" {
		t.Error("the writer that is down:", d)
	}
	b.put(6, "added", status(model.StatusDBGone)) // before it got there
	b.put(3, "text 3", status(model.StatusDBGone))
	writes := other.writes
	rep, err := b.indexer().Pending(t.Context())
	if err != nil || rep.Indexed != 1 || rep.Deleted != 2 || b.counts("w") != (crawldb.DocCounts{Held: 5}) {
		t.Errorf("%+v %v %+v", rep, err, b.counts("w"))
	}
	if other.writes != writes+1 { // of 6, which is gone meanwhile
		t.Errorf("%d writes to the other", other.writes-writes)
	}
	if rep := b.run(); rep.Deleted != 1 || rep.Indexed != 0 {
		t.Errorf("%+v", rep)
	}
	want := []string{url(0), url(1), url(4), url(5)}
	if d := cmp.Diff([][]string{want, want}, [][]string{w.ids(), other.ids()}); d != "" || w.docs[url(1)].Fields["content"][0] != "changed" {
		t.Error(d)
	}
}

// TestCrashAfterWrite: what reached a writer although nothing was noted of it is
// replaced or deleted all the same.
func TestCrashAfterWrite(t *testing.T) {
	for name, then := range map[string]func(b *bench){
		"gone":       func(b *bench) { b.put(1, "new", status(model.StatusDBGone)) },
		"as it was":  func(b *bench) { b.put(1, "old") },
		"never mind": func(*bench) {},
	} {
		for _, held := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", held), func(t *testing.T) {
				w := newWriter("w")
				b := newBench(t, w)
				if held {
					b.put(1, "old")
					b.run()
				}
				b.put(1, "new")
				ctx, cancel := context.WithCancel(t.Context())
				b.targets[0].Writer = &crasher{writer: w, cancel: cancel}
				if _, err := b.indexer().Run(ctx); err == nil {
					t.Fatal("it did not stop")
				}
				if len(w.docs) != 1 || b.marked() != 1 {
					t.Fatalf("%v, %d marked", w.ids(), b.marked())
				}
				b.targets[0].Writer = w
				then(b)
				b.run()
				got := ""
				if d, ok := w.docs[url(1)]; ok {
					got = d.Fields["content"][0]
				}
				if want := map[string]string{"gone": "", "as it was": "old", "never mind": "new"}[name]; got != want {
					t.Errorf("the index holds %q, want %q", got, want)
				}
			})
		}
	}
}

// crasher commits and then ends the step.
type crasher struct {
	*writer
	cancel func()
}

func (c *crasher) Commit(ctx context.Context) error {
	if err := c.writer.Commit(ctx); err != nil {
		return err
	}
	c.cancel()
	return context.Canceled
}

// TestRefusedVersion: the version before a refused one stays, is listed, and is
// replaced once the writer takes the new one.
func TestRefusedVersion(t *testing.T) {
	w := newWriter("w")
	b := newBench(t, w)
	b.put(1, "old")
	b.run()
	w.refuse = map[string]bool{url(1): true}
	b.put(1, "new")
	if rep := b.run(); rep.Rejected["w"] != 1 || rep.Indexed != 0 {
		t.Errorf("%+v", rep)
	}
	st, err := b.db.DocState(urlkey.FromURL(url(1)))
	if err != nil {
		t.Fatal(err)
	}
	if s := st.Writer("w"); s.Refused == nil || s.Refused.Reason != "no" || !s.Held || s.Segment != seg || s.Pending {
		t.Errorf("%+v", s)
	}
	writes := w.writes
	b.put(1, "new") // the same again: no use
	if rep := b.run(); rep.Unchanged != 1 || w.writes != writes {
		t.Errorf("%+v, %d writes", rep, w.writes-writes)
	}
	b.put(1, "old") // as it was: nothing to send, nothing refused
	if rep := b.run(); rep.Unchanged != 1 || w.writes != writes || b.counts("w") != (crawldb.DocCounts{Held: 1}) {
		t.Errorf("%+v, %d writes, %+v", rep, w.writes-writes, b.counts("w"))
	}
	b.put(1, "new")
	b.run()
	w.refuse = nil
	if n, err := b.db.RetryRefused(t.Context(), "w"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if rep, err := b.indexer().Pending(t.Context()); rep.Indexed != 1 || err != nil || w.docs[url(1)].Fields["content"][0] != "new" || b.counts("w") != (crawldb.DocCounts{Held: 1}) {
		t.Errorf("%+v %v %+v", rep, err, b.counts("w"))
	}
	// A refused delete leaves the document, listed; the next change tries again.
	w.refuse = map[string]bool{url(1): true}
	b.put(1, "new", status(model.StatusDBGone))
	b.run()
	if len(w.docs) != 1 || b.counts("w") != (crawldb.DocCounts{Held: 1, Refused: 1}) {
		t.Errorf("%v %+v", w.ids(), b.counts("w"))
	}
	w.refuse = nil
	if rep, err := b.indexer().Clean(t.Context()); rep.Deleted != 1 || err != nil || b.counts("w") != (crawldb.DocCounts{}) {
		t.Errorf("%+v %v %+v", rep, err, b.counts("w"))
	}
}

// TestLater: a document that the writer can't take now does not hold up the others.
func TestLater(t *testing.T) {
	w := newWriter("w")
	w.later = map[string]bool{url(2): true}
	b := newBench(t, w)
	for n := range 5 {
		b.put(n, "x")
	}
	if rep := b.run(); rep.Indexed != 4 || rep.Pending["w"] != 1 || len(rep.Down) != 0 || len(w.docs) != 4 {
		t.Errorf("%+v %v", rep, w.ids())
	}
	w.later = nil
	if rep := b.run(); rep.Indexed != 1 || len(w.docs) != 5 || b.counts("w") != (crawldb.DocCounts{Held: 5}) {
		t.Errorf("%+v %v", rep, w.ids())
	}
}

// TestReindex: a writer that came later, or lost everything, gets everything, also
// when it goes down in the middle.
func TestReindex(t *testing.T) {
	w, late := newWriter("w"), newWriter("late")
	b := newBench(t, w)
	for n := range 40 {
		b.put(n, fmt.Sprint("text ", n))
	}
	b.put(40, "gone", status(model.StatusDBGone))
	b.run()
	b.targets = append(b.targets, Target{Writer: late})
	if rep := b.run(); len(late.docs) != 0 || !slices.Equal(rep.Late, []string{"late"}) {
		t.Errorf("%+v %v", rep, late.ids())
	}
	writes := w.writes
	late.errs = []error{nil, nil, down(), down(), down()}
	x := b.indexer()
	if resumed, err := x.Mark(t.Context(), []string{"late"}, false); resumed || err != nil {
		t.Fatal(resumed, err)
	}
	if rep, err := x.Pending(t.Context()); err != nil || len(rep.Down) != 1 || b.counts("late").Pending < 30 {
		t.Errorf("%+v %v %+v", rep, err, b.counts("late"))
	}
	before := late.writes
	if resumed, err := x.Mark(t.Context(), []string{"late"}, false); !resumed || err != nil {
		t.Fatal(resumed, err)
	}
	if rep, err := x.Pending(t.Context()); err != nil || len(rep.Down)+len(rep.Late) != 0 {
		t.Errorf("%+v %v", rep, err)
	}
	if d := cmp.Diff(ids(0, 40), late.ids()); d != "" || w.writes != writes || late.writes == before {
		t.Errorf("%s; %d writes to the other", d, w.writes-writes)
	}
	if rep := b.run(); len(rep.Late) != 0 || rep.Indexed != 0 {
		t.Errorf("%+v", rep)
	}
	clear(w.docs) // somebody emptied it
	if _, err := x.Mark(t.Context(), []string{"w"}, false); err != nil {
		t.Fatal(err)
	}
	if rep, err := x.Pending(t.Context()); err != nil || rep.Indexed != 40 || len(w.docs) != 40 {
		t.Errorf("%+v %v", rep, err)
	}
}

// TestRenamed: a writer that got another name is filled by a reindex, which deletes what the old
// name was sent and is gone since.
func TestRenamed(t *testing.T) {
	w := newWriter("old")
	b := newBench(t, w)
	for n := range 5 {
		b.put(n, fmt.Sprint("text ", n))
	}
	b.run()
	w.name = "new"
	b.put(4, "gone", status(model.StatusDBGone))
	if rep := b.run(); !slices.Equal(rep.Late, []string{"new"}) || len(w.docs) != 5 {
		t.Errorf("%+v %v", rep, w.ids())
	}
	x := b.indexer()
	if _, err := x.Mark(t.Context(), []string{"new"}, false); err != nil {
		t.Fatal(err)
	}
	if rep, err := x.Pending(t.Context()); err != nil || len(rep.Late)+len(rep.Waiting) != 0 || rep.Indexed != 4 {
		t.Errorf("%+v %v", rep, err)
	}
	if d := cmp.Diff(ids(0, 4), w.ids()); d != "" {
		t.Error(d)
	}
	if n, err := b.db.ForgetWriter(t.Context(), "old"); err != nil || n != 5 {
		t.Errorf("%d, %v", n, err)
	}
	if rep := b.run(); rep.Indexed+rep.Deleted != 0 || b.counts("new") != (crawldb.DocCounts{Held: 4}) {
		t.Errorf("%+v %+v", rep, b.counts("new"))
	}
}

// TestRemapped: a change of the mapping is known until the writer was sent everything again.
func TestRemapped(t *testing.T) {
	w := newWriter("w")
	b := newBench(t, w)
	b.put(1, "text")
	check := func(step string, remapped bool, field string) {
		t.Helper()
		info, err := b.db.WriterInfo("w")
		if err != nil || info.Remapped != remapped || w.docs[url(1)].Fields[field] == nil {
			t.Errorf("%s: %+v, %v, %v", step, info, err, w.docs[url(1)].Fields)
		}
	}
	b.run()
	check("first", false, "content")
	b.targets[0].Rename = map[string]string{"content": "body"}
	b.run()
	b.run()
	check("changed", true, "content")
	x := b.indexer()
	if _, err := x.Mark(t.Context(), []string{"w"}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Pending(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("sent again", false, "body")
}

// TestExchangeFails: what an exchange fails on stays as it is and is looked at again.
func TestExchangeFails(t *testing.T) {
	w := newWriter("w")
	b := newBench(t, w)
	b.put(1, "one")
	b.put(2, "two")
	b.unroutable = map[string]error{url(2): errors.New("bad expression")}
	if rep := b.run(); rep.Skipped["exchange error"] != 1 || !slices.Equal(w.ids(), []string{url(1)}) || b.marked() != 1 {
		t.Errorf("%+v, %v, %d marked", rep, w.ids(), b.marked())
	}
	b.unroutable = nil
	if rep := b.run(); rep.New != 1 || rep.Unchanged != 0 || len(w.docs) != 2 || b.marked() != 0 {
		t.Errorf("%+v, %v, %d marked", rep, w.ids(), b.marked())
	}
}

// TestUnrouted: a document that no exchange takes is counted, or an error.
func TestUnrouted(t *testing.T) {
	w := newWriter("w")
	b := newBench(t, w)
	b.route = map[string][]string{url(1): {"w"}}
	b.put(1, "x")
	b.put(2, "x")
	if rep := b.run(); rep.Indexed != 1 || rep.Skipped["no exchange takes it"] != 1 {
		t.Errorf("%+v", rep)
	}
	b.cfg.UnroutedError = true
	b.put(2, "y")
	if _, err := b.indexer().Run(t.Context()); err == nil || b.marked() != 1 {
		t.Errorf("%v, %d marked", err, b.marked())
	}
}

// TestHash: only what the writer gets counts, and neither boost nor times.
func TestHash(t *testing.T) {
	doc := func(k, v string) *model.Document {
		return &model.Document{ID: "x", Fields: map[string][]string{"a": {"1"}, "boost": {"1"}, "tstamp": {"t"}, k: {v}}}
	}
	target := Target{Rename: map[string]string{"tstamp": "indexed", "boost": "b"}, Remove: []string{"secret"}}
	h := target.hash(doc("a", "1"))
	for _, same := range []*model.Document{doc("boost", "2"), doc("tstamp", "later"), doc("secret", "s"), doc("segment", "s")} {
		if string(target.hash(same)) != string(h) {
			t.Errorf("%v counts as a change", same.Fields)
		}
	}
	if string(target.hash(doc("a", "2"))) == string(h) || string(target.hash(doc("n", ""))) == string(h) {
		t.Error("a change does not count")
	}
}

func TestUnused(t *testing.T) {
	target := Target{Copy: map[string][]string{"a": {"b"}, "x": {"y"}}, Rename: map[string]string{"b": "c", "z": "a"}, Remove: []string{"c", "w"}}
	got := target.Unused([]model.Document{{Fields: map[string][]string{"a": {"1"}}}})
	want := []string{`mapping: copy names "x", which none of 1 sample documents has`, `mapping: rename names "z", which none of 1 sample documents has`, `mapping: remove names "w", which none of 1 sample documents has`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
