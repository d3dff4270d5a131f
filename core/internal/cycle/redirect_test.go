package cycle

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/step/inject"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/model"
)

func redirects() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/":     page("root", "/r1", "/loop1", "/self", "/known", "/far1", "/two1", "/two2", "/two"),
		"/two1": moved("/two"), "/two2": moved("/two"), "/two": page("two"), // all in one fetch list
		"/r1": moved("/r2"), "/r2": moved("/t"), "/t": page("target"),
		"/loop1": moved("/loop2"), "/loop2": moved("/loop1"),
		"/self":  moved("/self"),
		"/known": moved("/"),
		"/far1":  moved("/far2"), "/far2": moved("/far3"), "/far3": moved("/far4"), "/far4": page("far"),
	}
}

// TestRedirects: followed at once or in later rounds, everything ends in the same
// place; loops and known targets end.
func TestRedirects(t *testing.T) {
	want := map[string]string{
		"/": "db_fetched", "/r1": "db_redir_perm", "/r2": "db_redir_perm", "/t": "db_fetched", "/loop1": "db_redir_perm", "/loop2": "db_redir_perm",
		"/self": "db_redir_perm", "/known": "db_redir_perm", "/far1": "db_redir_perm", "/far2": "db_redir_perm", "/far3": "db_redir_perm", "/far4": "db_fetched",
		"/two1": "db_redir_perm", "/two2": "db_redir_perm", "/two": "db_fetched",
	}
	for _, c := range []struct {
		max    string
		rounds int
	}{{"0", 5}, {"2", 3}, {"9", 2}} {
		t.Run(c.max, func(t *testing.T) {
			w := newWorld(t, redirects(), "http.redirect_max="+c.max)
			rep := w.run()
			if d := cmp.Diff(want, w.statuses()); d != "" {
				t.Error(d)
			}
			if rep.Rounds != c.rounds || w.leased() != 0 {
				t.Errorf("%d rounds, want %d; %d leased", rep.Rounds, c.rounds, w.leased())
			}
			for p := range want {
				if n := w.site.count(p); n != 1 {
					t.Errorf("%s was asked for %d times", p, n)
				}
			}
			if rep.Dropped["redirect_self"] != 1 {
				t.Errorf("dropped %v", rep.Dropped)
			}
		})
	}
}

// TestFetchFollows: "crawler fetch" follows redirects as the run does.
func TestFetchFollows(t *testing.T) {
	run := newWorld(t, redirects(), "http.redirect_max=9")
	run.run()
	w := newWorld(t, redirects(), "http.redirect_max=9")
	w.steps()
	if d := cmp.Diff(run.final(), w.final()); d != "" {
		t.Errorf("(-run +steps):\n%s", d)
	}
	metas, err := w.cycle.Segments(t.Context())
	if err != nil || len(metas) != 2 {
		t.Errorf("%d segments, want 2; %v", len(metas), err)
	}
	c, err := w.Hosts.Counts("127.0.0.1")
	if err != nil || c.Requests != 16 || c.Bytes == 0 || c.Failures != 0 { // 15 pages and robots.txt
		t.Errorf("%+v %v", c, err)
	}
}

// TestRedirectExceededSkip: a chain that is too long is not gone on with.
func TestRedirectExceededSkip(t *testing.T) {
	w := newWorld(t, redirects(), "http.redirect_max=2", "http.redirect_max_exceeded_skip=true")
	rep := w.run()
	if _, ok := w.statuses()["/far4"]; ok || rep.Dropped["redirect_exceeded"] != 1 || w.site.count("/far4") != 0 {
		t.Errorf("%v, dropped %v", w.statuses(), rep.Dropped)
	}
}

// TestRobotsKept: with fetcher.store_robotstxt nothing else changes.
func TestRobotsKept(t *testing.T) {
	plain, kept := newWorld(t, redirects()), newWorld(t, redirects(), "fetcher.store_robotstxt=true")
	plain.run()
	rep := kept.run()
	if d := cmp.Diff(plain.final(), kept.final()); d != "" {
		t.Error(d)
	}
	if rep.Fetched != 15 {
		t.Errorf("%d pages fetched", rep.Fetched)
	}
}

func refresh(seconds int, target string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(rw, `<html><head><meta http-equiv="refresh" content="%d;url=%s"><title>old</title></head><body>x <a href="/link">l</a></body></html>`, seconds, target)
	}
}

// TestMetaRefresh: its target is followed at once as far as redirects are, and is a
// link like others beyond that. The page stays fetched; loops end; addresses that
// are not for the crawler are refused on this way, too.
func TestMetaRefresh(t *testing.T) {
	pages := map[string]http.HandlerFunc{
		"/": refresh(0, "/a"), "/a": refresh(9, "/b"), "/b": moved("/c"), "/c": refresh(0, "/"), "/link": page("link"),
	}
	want := map[string]string{"/": "db_fetched", "/a": "db_fetched", "/b": "db_redir_perm", "/c": "db_fetched", "/link": "db_fetched"}
	for max, rounds := range map[string]int{"0": 4, "1": 2, "9": 2} {
		w := newWorld(t, pages, "http.redirect_max="+max)
		rep := w.run()
		if d := cmp.Diff(want, w.statuses()); d != "" {
			t.Errorf("redirect_max %s: %s", max, d)
		}
		if rep.Rounds != rounds || w.leased() != 0 {
			t.Errorf("redirect_max %s: %d rounds, want %d; %d leased", max, rep.Rounds, rounds, w.leased())
		}
		for p := range want {
			if n := w.site.count(p); n != 1 {
				t.Errorf("redirect_max %s: %s was asked for %d times", max, p, n)
			}
		}
	}
	w := newWorld(t, map[string]http.HandlerFunc{"/": refresh(0, "/a"), "/a": refresh(0, "/b"), "/b": page("b")}, "http.redirect_max=1", "http.redirect_max_exceeded_skip=true")
	if rep := w.run(); rep.Dropped["refresh_exceeded"] != 1 || w.site.count("/b") != 0 {
		t.Errorf("dropped %v, statuses %v", rep.Dropped, w.statuses())
	}
}

// TestRounds: the number of rounds is kept to, and the next run continues the count.
func TestRounds(t *testing.T) {
	w := newWorld(t, redirects(), "cycle.rounds=2")
	rep := w.run()
	if rep.Rounds != 2 {
		t.Errorf("%d rounds", rep.Rounds)
	}
	if n := len(w.statuses()); n != 12 {
		t.Errorf("%d URLs", n)
	}
	if time.Until(rep.NextDue) > time.Minute {
		t.Errorf("URLs are left for the next round, but the next is said to be due at %v", rep.NextDue)
	}
	w.run()
	metas, err := w.cycle.Segments(t.Context())
	if err != nil || len(metas) != 4 || metas[3].Round != 4 {
		t.Errorf("%+v %v", metas, err)
	}
}

// TestRedirectKeepsPlace: a redirect is no step for scoring-depth, and what pages
// inherit from their seed passes through it, however it is followed; links at the limit are
// counted as dropped by the plugin.
func TestRedirectKeepsPlace(t *testing.T) {
	pages := map[string]http.HandlerFunc{
		"/": page("root", "/r1"), "/r1": moved("/r2"), "/r2": moved("/t"), "/t": page("target", "/u"), "/u": page("last", "/v", "/w"), "/v": page("too far"),
	}
	settings := []string{
		`plugin.add=["scoring-depth","urlmeta"]`, `plugin.scoring-depth.max=3`, `plugin.scoring-depth.unknown=drop`, `plugin.urlmeta.tags=["topic"]`,
	}
	depth := map[string]int64{"/": 1, "/r1": 2, "/r2": 2, "/t": 2, "/u": 3}
	for _, c := range []struct{ name, max string }{{"later rounds", "0"}, {"at once", "9"}, {"steps", "9"}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, pages, append(settings, "http.redirect_max="+c.max)...)
			seed := inject.Seed{URL: w.site.URL + "/", Where: "test", Seed: transition.Seed{Metadata: model.Metadata{"topic": {"news"}}}}
			if _, err := w.cycle.Inject(t.Context(), []inject.Seed{seed}, transition.InjectOverwrite, false); err != nil {
				t.Fatal(err)
			}
			var rep Report
			if c.name == "steps" {
				rep = w.steps()
			} else {
				rep = w.run()
			}
			got := map[string]int64{}
			err := w.DB.Scan(t.Context(), "", func(k urlkey.Key, r *crawldb.Record) error {
				u, err := urlkey.ToURL(k)
				path := strings.TrimPrefix(u, w.site.URL)
				got[path] = r.Datum.Fields["depth"]
				if r.Datum.Metadata.First("topic") != "news" {
					t.Errorf("%s lost what it inherits: %v", path, r.Datum.Metadata)
				}
				return err
			})
			if d := cmp.Diff(depth, got); d != "" || err != nil {
				t.Errorf("%v depth (-want +got):\n%s", err, d)
			}
			if n := rep.Dropped["scoring-depth"]; n != 2 {
				t.Errorf("dropped %v", rep.Dropped)
			}
		})
	}
}

// steps runs the single commands until nothing is left, and returns the report of the
// last updatedb.
func (w *world) steps() Report {
	w.t.Helper()
	var rep Report
	for {
		seg, _, err := w.cycle.Generate(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if seg == "" {
			return rep
		}
		_, err = w.cycle.Fetch(w.t.Context(), seg, nil)
		if err == nil {
			rep, err = w.cycle.Update(w.t.Context(), seg)
		}
		if err == nil {
			_, err = w.cycle.Invert(w.t.Context(), seg)
		}
		if err == nil {
			_, err = w.cycle.Index(w.t.Context())
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}
