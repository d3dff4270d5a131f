package cycle

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/urlkey"
)

// orphanWorld has a page that /old alone links to, one that two pages link to, and
// one that only a page links to which goes away itself.
func orphanWorld(t *testing.T, sets ...string) *world {
	w := newWorld(t, map[string]http.HandlerFunc{
		"/": page("root", "/a", "/b", "/gone"), "/a": page("a", "/lost", "/kept", "/"), "/b": page("b", "/kept", "/"),
		"/lost": page("lost"), "/kept": page("kept"), "/gone": page("gone", "/child"), "/child": page("child"),
	}, append([]string{
		`plugin.add=["scoring-orphan"]`, "plugin.scoring-orphan.mark_gone_after=10d", "plugin.scoring-orphan.mark_orphan_after=20d",
		"index_writer.main.plugin=indexer-bleve",
	}, sets...)...)
	w.run()
	if n := len(w.idx.docs); n != 7 {
		t.Fatalf("%d documents", n)
	}
	return w
}

// pass lets time go by.
func (w *world) pass(d time.Duration) {
	now := w.cycle.d.now
	w.cycle.d.now = func() time.Time { return now().Add(d) }
}

// changes drops links to /lost and, once, to /kept; /gone and with it the link to
// /child goes away.
func (w *world) changes() {
	w.site.set("/a", page("changed a")) // its ETag goes by the title
	w.site.set("/gone", nil)
}

func (w *world) wantOrphans(step string, statuses map[string]string, indexed ...string) {
	w.t.Helper()
	got := w.statuses()
	for path, want := range statuses {
		if got[path] != want {
			w.t.Errorf("%s: %s is %s, want %s", step, path, got[path], want)
		}
	}
	for _, path := range indexed {
		if _, ok := w.indexed()[path]; !ok {
			w.t.Errorf("%s: %s is not in the index", step, path)
		}
	}
	for path, status := range got {
		if _, ok := w.indexed()[path]; ok && (status == "db_gone" || status == "db_orphan") {
			w.t.Errorf("%s: %s is %s and in the index", step, path, status)
		}
	}
}

// TestOrphans: a page without inlinks becomes db_gone and db_orphan after the set times,
// whether or not anything is fetched, leaves the index, and comes back with a link.
func TestOrphans(t *testing.T) {
	w := orphanWorld(t, "db.fetch_interval_default=90d")
	w.changes()
	w.again()
	linked := map[string]string{"/kept": "db_notmodified", "/": "db_notmodified", "/b": "db_notmodified"}
	w.wantOrphans("just lost", map[string]string{"/lost": "db_notmodified", "/child": "db_notmodified", "/gone": "db_gone"}, "/lost", "/child", "/kept")

	w.pass(9 * 24 * time.Hour)
	w.run()
	w.wantOrphans("after 9 days", map[string]string{"/lost": "db_notmodified", "/child": "db_notmodified"}, "/lost", "/child")

	w.pass(2 * 24 * time.Hour)
	rep := w.run() // nothing is due for fetching
	w.wantOrphans("after 11 days", map[string]string{"/lost": "db_gone", "/child": "db_gone"}, "/kept")
	if d := cmp.Diff(map[string]int64{"db_gone": 2}, rep.Orphaned); d != "" || rep.Deleted != 2 || rep.Fetched != 0 {
		t.Errorf("%d deleted, %d fetched, orphaned %s", rep.Deleted, rep.Fetched, d)
	}
	w.wantOrphans("after 11 days", linked)

	w.again() // a fetch that succeeds does not bring it back
	w.wantOrphans("fetched while gone", map[string]string{"/lost": "db_gone", "/child": "db_gone"}, "/kept")

	w.site.set("/b", page("changed b", "/kept", "/child", "/"))
	w.again()
	w.again() // the link brings it back with its next fetch
	w.wantOrphans("linked again", map[string]string{"/lost": "db_gone", "/child": "db_notmodified"}, "/child", "/kept")

	w.pass(10 * 24 * time.Hour)
	w.run()
	w.wantOrphans("after 21 days", map[string]string{"/lost": "db_orphan"}, "/child", "/kept")

	for { // what is noted ends some time
		due, err := w.DB.DueOrphans(t.Context(), w.cycle.d.now().Add(1000*24*time.Hour), 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(due) == 0 {
			break
		}
		w.pass(30 * 24 * time.Hour)
		if err := w.cycle.d.orphans(t.Context(), w.cycle.d.newSummary()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPurgeOrphans: with db.update_purge_orphans they leave the CrawlDB, their own
// links the LinkDB.
func TestPurgeOrphans(t *testing.T) {
	w := orphanWorld(t, "db.update_purge_orphans=true")
	w.site.set("/lost", page("other lost", "/kept"))
	w.changes()
	w.again()
	w.pass(21 * 24 * time.Hour)
	w.run()
	for _, path := range []string{"/lost", "/child"} {
		if s, ok := w.statuses()[path]; ok {
			t.Errorf("%s is still there, %s", path, s)
		}
		if _, ok := w.indexed()[path]; ok {
			t.Errorf("%s is in the index", path)
		}
	}
	for _, l := range w.links() {
		if l == "/lost > /kept to /kept" {
			t.Error("a purged page still links")
		}
	}
}

// TestOrphansBySteps: the single commands do the same.
func TestOrphansBySteps(t *testing.T) {
	w := orphanWorld(t)
	w.changes()
	w.cycle.SetAddDays(100)
	seg, _, err := w.cycle.Generate(t.Context())
	if err == nil {
		_, err = w.cycle.Fetch(t.Context(), seg, nil)
	}
	if err == nil {
		_, err = w.cycle.Update(t.Context(), seg)
	}
	if err == nil {
		_, err = w.cycle.Invert(t.Context(), seg)
	}
	w.pass(11 * 24 * time.Hour)
	if err == nil {
		_, err = w.cycle.Invert(t.Context(), seg)
	}
	if err == nil {
		_, err = w.cycle.Index(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	w.wantOrphans("after 11 days", map[string]string{"/lost": "db_gone", "/child": "db_gone"}, "/kept")
}

// TestOrphansOff: without a plugin that judges orphans nothing is noted.
func TestOrphansOff(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{"/": page("root", "/a"), "/a": page("a")})
	w.run()
	w.site.set("/", page("root without link"))
	w.again()
	due, err := w.DB.DueOrphans(t.Context(), w.cycle.d.now().Add(time.Hour), 10)
	if err != nil || len(due) != 0 {
		t.Errorf("%v %v", due, err)
	}
	if has, err := w.Links.HasInlinks(urlkey.FromURL(w.site.URL + "/a")); has || err != nil {
		t.Errorf("%v %v", has, err)
	}
}
