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
	drop  map[string]bool     // URLs an indexing filter drops
	fail  map[string]bool     // URLs a plugin fails on
	route map[string][]string // URL → writers; nil map: no exchange is configured
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
		out[i] = chain.Route{Writers: p.route[d.ID], Default: p.route == nil}
	}
	return out, nil
}

// writer is an index writer whose calls fail by script.
type writer struct {
	name    string
	errs    []error // of the next calls of Write; nil works
	commits []error // the same for Commit
	refuse  map[string]bool
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
		Delete: true, DeleteNoIndex: true, DeleteSkipped: true, BatchSize: 3, BatchBytes: 1 << 20, CommitSize: 7, Retries: 2, RetryDelay: time.Microsecond,
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
		segment.PutParse(tx.Tx, seg, k, &p)
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
				if rep.Indexed != 0 || rep.Pending["w"] != 20 || b.marked() != 20 {
					t.Errorf("%+v, %d marked", rep, b.marked())
				}
				w.errs, w.commits = nil, nil
				rep = b.run()
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
		if d := cmp.Diff(c.want, c.target.mapped(doc).Fields); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if fmt.Sprint(doc) != before {
			t.Errorf("%s changed its argument", name)
		}
	}
}
