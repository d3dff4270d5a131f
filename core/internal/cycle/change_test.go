package cycle

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSiteChanges: after every change of the site the next round leaves exactly the
// right documents in the index, and sends none that did not change.
func TestSiteChanges(t *testing.T) {
	noindex := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Robots-Tag", "noindex")
			page(text)(w, r)
		}
	}
	w := newWorld(t, map[string]http.HandlerFunc{
		"/":        page("root", "/same", "/changed", "/moved", "/gone", "/noindex", "/twin", "/denied"),
		"/same":    page("same"),
		"/changed": page("before"),
		"/moved":   page("moved"),
		"/gone":    page("gone", "/same"),
		"/noindex": page("open"),
		"/twin":    page("twin"),
		"/denied":  page("denied"),
		"/new":     page("new"),
	})
	check := func(step string, want map[string]string) {
		t.Helper()
		if d := cmp.Diff(want, w.indexed()); d != "" {
			t.Errorf("%s: index (-want +got):\n%s", step, d)
		}
	}
	w.run()
	want := map[string]string{
		"/": "root", "/same": "same", "/changed": "before", "/moved": "moved", "/gone": "gone", "/noindex": "open", "/twin": "twin", "/denied": "denied",
	}
	check("first", want)

	w.again()
	check("nothing changed", want)
	if n := w.idx.adds[w.site.URL+"/same"]; n != 1 {
		t.Errorf("an unchanged page was sent %d times", n)
	}
	if got := w.statuses()["/same"]; got != "db_notmodified" {
		t.Errorf("an unchanged page is %s", got)
	}

	w.site.set("/changed", page("after"))
	w.site.set("/moved", moved("/new"))
	w.site.set("/gone", nil)
	w.site.set("/noindex", noindex("shut"))
	w.site.set("/twin", page("same")) // the same bytes as /same, which is as long
	w.site.set("/robots.txt", func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = rw.Write([]byte("user-agent: *\ndisallow: /denied"))
	})
	w.reopen() // a new process has no robots.txt in memory
	forgetRobots(t, w)
	w.again()
	check("all kinds of changes", map[string]string{"/": "root", "/same": "same", "/changed": "after", "/new": "new"})
	wantStatus := map[string]string{
		"/": "db_notmodified", "/same": "db_notmodified", "/changed": "db_fetched", "/moved": "db_redir_perm", "/gone": "db_gone",
		"/noindex": "db_fetched", "/twin": "db_duplicate", "/denied": "db_gone", "/new": "db_fetched",
	}
	if d := cmp.Diff(wantStatus, w.statuses()); d != "" {
		t.Errorf("CrawlDB (-want +got):\n%s", d)
	}
	for _, l := range w.links() {
		if l == "/gone > /same to /same" {
			t.Error("a page that is gone still links")
		}
	}

	// Everything comes back.
	w.site.set("/moved", page("moved"))
	w.site.set("/gone", page("gone", "/same"))
	w.site.set("/noindex", page("open"))
	w.site.set("/twin", page("twin"))
	w.site.set("/robots.txt", nil)
	w.reopen()
	forgetRobots(t, w)
	w.again()
	want["/changed"], want["/new"] = "after", "new"
	check("all back", want)
	if n := w.idx.adds[w.site.URL+"/same"]; n > 3 {
		t.Errorf("an unchanged page was sent %d times", n)
	}
}

// TestNewAnchor: a page that did not change is sent again, once, when another page links to it with
// words of its own, and once more when that link goes; and not when nothing changed.
func TestNewAnchor(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{"/": page("root", "/a", "/b"), "/a": page("a"), "/b": page("b")})
	linked := func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		_, _ = rw.Write([]byte(`<title>b</title><p>b</p><a href="/a">the other one</a>`))
	}
	check := func(step string, sent int, anchors ...string) {
		t.Helper()
		id := w.site.URL + "/a"
		if d := cmp.Diff(anchors, w.idx.docs[id].Fields["anchor"]); d != "" || w.idx.adds[id] != sent {
			t.Errorf("%s: sent %d times, want %d; anchors (-want +got):\n%s", step, w.idx.adds[id], sent, d)
		}
	}
	w.run()
	check("first", 1, "to /a")
	w.again()
	check("nothing changed", 1, "to /a")
	w.site.set("/b", linked)
	w.again()
	check("a new link", 2, "to /a", "the other one")
	w.again()
	check("nothing changed since", 2, "to /a", "the other one")
	w.site.set("/b", page("b"))
	w.again()
	check("the link is gone", 3, "to /a")
	if got := w.statuses()["/a"]; got != "db_notmodified" {
		t.Errorf("the page is %s", got)
	}
}

// forgetRobots makes the next run ask for robots.txt again.
func forgetRobots(t *testing.T, w *world) {
	t.Helper()
	rec, err := w.Hosts.Get("127.0.0.1")
	if err != nil || rec == nil {
		t.Fatalf("no host record: %v", err)
	}
	rec.Robots = nil
	putHost(t, w, "127.0.0.1", rec)
}

// TestNoIndexAllowed: indexer.delete_robots_noindex = false indexes such pages.
func TestNoIndexAllowed(t *testing.T) {
	for _, on := range []string{"true", "false"} {
		w := newWorld(t, map[string]http.HandlerFunc{"/": func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("X-Robots-Tag", "noindex")
			page("root")(rw, r)
		}}, "indexer.delete_robots_noindex="+on)
		w.run()
		if got := len(w.idx.docs) == 1; got != (on == "false") {
			t.Errorf("delete_robots_noindex = %s: indexed %v", on, got)
		}
	}
}

// TestPurge404: a gone page leaves the CrawlDB and the index.
func TestPurge404(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{"/": page("root", "/gone"), "/gone": page("gone")}, "db.update_purge_404=true")
	w.run()
	w.site.set("/gone", nil)
	w.site.set("/", page("root without link"))
	w.again()
	if d := cmp.Diff([]string{"/"}, keys(w.statuses())); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"/": "root without link"}, w.indexed()); d != "" {
		t.Error(d)
	}
	if l := w.links(); len(l) != 0 {
		t.Errorf("links: %v", l)
	}
}

// TestParseFails: a page that can't be parsed any more keeps the document and the
// links of its last good parse, and gets new ones with the next good one.
func TestParseFails(t *testing.T) {
	broken := func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/x-nobody-parses-this")
		_, _ = rw.Write([]byte{0, 1, 2})
	}
	w := newWorld(t, map[string]http.HandlerFunc{"/": page("root", "/p"), "/p": page("one", "/q", "/r"), "/q": page("q"), "/r": page("r")})
	w.run()
	w.site.set("/p", broken)
	w.again()
	want := map[string]string{"/": "root", "/p": "one", "/q": "q", "/r": "r"}
	if d := cmp.Diff(want, w.indexed()); d != "" {
		t.Error(d)
	}
	links := []string{"/ > /p to /p", "/p > /q to /q", "/p > /r to /r"}
	if d := cmp.Diff(links, w.links()); d != "" {
		t.Error(d)
	}
	w.site.set("/p", page("two", "/q", "/s"))
	w.site.set("/s", page("s"))
	w.again()
	want["/p"], want["/s"] = "two", "s"
	if d := cmp.Diff(want, w.indexed()); d != "" {
		t.Error(d)
	}
	links[2] = "/p > /s to /s"
	if d := cmp.Diff(links, w.links()); d != "" {
		t.Error(d)
	}
}
