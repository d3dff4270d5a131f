package cycle

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/step/prune"
)

func (w *world) prune(o prune.Options) prune.Report {
	w.t.Helper()
	rep, err := prune.Run(w.t.Context(), prune.Deps{DB: w.DB, Segs: w.Segs}, o, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return rep
}

// needed returns what is needed of each segment, oldest first.
func (w *world) needed() (out []string) {
	w.t.Helper()
	items, err := prune.List(w.t.Context(), prune.Deps{DB: w.DB, Segs: w.Segs})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, i := range items {
		out = append(out, i.Needed)
	}
	return out
}

func words(text string, links ...string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) { page(text, links...)(rw, r) }
}

// TestPrune: a segment goes when all its pages were fetched again or are gone, not before, and a
// reindex after it finds everything.
func TestPrune(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{"/": words("root", "/a", "/b"), "/a": words("a"), "/b": words("b")})
	w.run() // segment 1: the root, 2: a and b
	if d := cmp.Diff([]string{"content of 1 records: a reindex reads it", "content of 2 records: a reindex reads it"}, w.needed()); d != "" {
		t.Fatal(d)
	}
	if rep := w.prune(prune.Options{Apply: true}); rep.Removed != 0 || rep.Freed != 0 || rep.Left == 0 {
		t.Errorf("something needed went: %+v", rep)
	}
	w.site.set("/a", words("a changed"))
	w.site.set("/", words("root changed", "/a", "/b"))
	w.again() // segment 3: everything; b is not modified and stays where it was
	if d := cmp.Diff([]string{"", "content of 1 records: a reindex reads it", "content of 2 records: a reindex reads it"}, w.needed()); d != "" {
		t.Fatal(d)
	}
	for name, o := range map[string]prune.Options{
		"keep": {Keep: 3}, "age": {OlderThan: time.Hour}, "budget that holds": {Budget: 1 << 30},
	} {
		if rep := w.prune(o); rep.Removed != 0 {
			t.Errorf("%s: %+v", name, rep)
		}
	}
	dry := w.prune(prune.Options{Keep: 2})
	if dry.Removed != 1 || dry.Freed == 0 || dry.Applied || !dry.Segments[0].Removed {
		t.Errorf("dry run: %+v", dry)
	}
	first := dry.Segments[0].Segment
	if rep := w.prune(prune.Options{Budget: 1, Apply: true}); rep.Removed != 1 || rep.Freed != dry.Freed || rep.Over != rep.Left-1 {
		t.Errorf("budget: %+v", rep)
	}
	if names, _ := w.fs.List(w.fs.PathJoin(w.Store.SegmentsDir(), first)); len(names) > 0 {
		t.Errorf("files stay: %v", names)
	}
	w.reopen()
	if metas, err := segment.List(t.Context(), w.Store); err != nil || len(metas) != 2 {
		t.Errorf("segments: %v %v", metas, err)
	}
	clear(w.idx.docs)
	if _, err := w.cycle.d.DB.MarkAll(t.Context(), "mem"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.cycle.d.indexer().Pending(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"/": "root changed", "/a": "a changed", "/b": "b"}, w.indexed()); d != "" {
		t.Errorf("reindex (-want +got):\n%s", d)
	}
}

// TestPruneUnfinished: what is leased, or replaces content and is not inverted, keeps its
// segment and the one it replaces.
func TestPruneUnfinished(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{"/": words("root", "/a")})
	w.cycle.d.cfg.Rounds = 1
	w.run()
	w.site.set("/", words("other", "/b"))
	w.cycle.SetAddDays(100)
	seg, _, err := w.cycle.Generate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check := func(what, old, newer string) {
		t.Helper()
		if d := cmp.Diff([]string{old, newer}, w.needed()); d != "" {
			t.Errorf("%s:\n%s", what, d)
		}
		_, err := prune.Run(t.Context(), prune.Deps{DB: w.DB, Segs: w.Segs}, prune.Options{Names: []string{seg}, Force: true, Apply: true}, time.Now())
		if err == nil {
			t.Errorf("%s: an unfinished segment went", what)
		}
	}
	check("generated", "content of 1 records: a reindex reads it", "leased: 2 URLs of its fetch list are not done")
	if _, err := w.cycle.Fetch(t.Context(), seg, nil); err != nil {
		t.Fatal(err)
	}
	check("fetched", "content of 1 records: a reindex reads it", "leased: 2 URLs of its fetch list are not done")
	if _, err := w.cycle.Update(t.Context(), seg); err != nil {
		t.Fatal(err)
	}
	check("updated", "segment "+seg+" is not inverted yet and replaces pages of it", "unfinished: it is updated, not yet inverted")
	if rep := w.prune(prune.Options{Apply: true}); rep.Removed != 0 {
		t.Errorf("%+v", rep)
	}
	if _, err := w.cycle.Invert(t.Context(), seg); err != nil {
		t.Fatal(err)
	}
	if l := w.links(); len(l) != 1 || !strings.Contains(l[0], "/b") {
		t.Errorf("links: %v", l)
	}
	if rep := w.prune(prune.Options{Apply: true}); rep.Removed != 1 || !rep.Segments[0].Removed {
		t.Errorf("inverted: %+v", rep)
	}
	if rep := w.prune(prune.Options{Names: []string{seg}, Force: true, Apply: true}); rep.Removed != 1 || rep.Left != 0 {
		t.Errorf("forced: %+v", rep)
	}
	if c, err := w.DB.Check(t.Context()); err != nil || c.Total != 0 {
		t.Errorf("%v %v", c.Problems, err)
	}
}

// TestDiskBudget: a run removes old segments by itself and says so.
func TestDiskBudget(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{"/": words("one")}, "segment.disk_budget=1B")
	if rep := w.run(); rep.Pruned != 0 || rep.OverBudget == 0 {
		t.Errorf("needed: %+v", rep)
	}
	w.site.set("/", words("two"))
	w.cycle.SetAddDays(100)
	w.cycle.d.cfg.Rounds = 1
	if rep := w.run(); rep.Pruned != 1 || rep.PrunedBytes == 0 || rep.OverBudget == 0 {
		t.Errorf("replaced: %+v", rep)
	}
	if n := w.needed(); len(n) != 1 {
		t.Errorf("%d segments are left", len(n))
	}
}
