package cycle

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/step/inject"
	"github.com/gonutch/crawler/core/internal/step/prune"
	"github.com/gonutch/crawler/core/internal/step/refilter"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// TestDuplicates runs testdata/duplicates/*: stories of pages with equal content. Commands:
//
//	pages     "path text" sets a page (the first command: the root that links to all of them),
//	          "path 404" or "path 503" an answer without one
//	run       crawls what is due
//	again     fetches everything that is known once more, and crawls on
//	fetch     fetches these paths only, due or not
//	settings  goes on as a new process with other settings, one a line
//	refilter  applies changed rules, and crawls on
//	prune     removes the segments that nothing needs
//	dedup     runs the single step
//
// All but pages show the CrawlDB, and what is in the index.
func TestDuplicates(t *testing.T) {
	datadriven.Walk(t, "testdata/duplicates", func(t *testing.T, path string) {
		var w *world
		pages := map[string]http.HandlerFunc{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "pages":
				for _, l := range strings.Split(d.Input, "\n") {
					p, text, _ := strings.Cut(l, " ")
					pages[p] = answer(text)
					if w != nil {
						w.site.set(p, pages[p])
					}
				}
				return ""
			case "run":
				if w == nil {
					links := slices.Sorted(maps.Keys(pages))
					pages["/"] = page("root", links...)
					w = newWorld(t, pages)
				}
				w.run()
			case "again":
				w.again()
			case "fetch":
				var list inject.Seeds
				for _, p := range strings.Fields(d.Input) {
					list = append(list, inject.Seed{URL: w.site.URL + p})
				}
				if _, _, err := w.cycle.FreeGenerate(t.Context(), list, inject.Options{}); err != nil {
					t.Fatal(err)
				}
				w.run()
			case "settings":
				w.reopen(strings.Split(d.Input, "\n")...)
				w.run()
			case "refilter":
				if _, err := w.cycle.Refilter(t.Context(), refilter.Options{Apply: true}); err != nil {
					t.Fatal(err)
				}
				w.run()
				for _, f := range []func() error{
					func() error { _, err := w.cycle.Dedup(t.Context()); return err },
					func() error { _, err := w.cycle.Index(t.Context()); return err },
				} {
					if err := f(); err != nil {
						t.Fatal(err)
					}
				}
			case "prune":
				rep, err := prune.Run(t.Context(), prune.Deps{DB: w.DB, Segs: w.Segs}, prune.Options{Apply: true}, w.cycle.d.now())
				if err != nil {
					t.Fatal(err)
				}
				w.run()
				return fmt.Sprintf("segments removed: %d\n%s", rep.Removed, w.story())
			case "dedup":
				rep, err := w.cycle.Dedup(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return fmt.Sprintf("%d more, %d lifted\n%s", rep.Duplicates, rep.Lifted, w.story())
			default:
				t.Fatalf("no command %s", d.Cmd)
			}
			return w.story()
		})
	})
}

func answer(text string) http.HandlerFunc {
	switch text {
	case "404":
		return http.NotFound
	case "503":
		return func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusServiceUnavailable) }
	}
	return page(text)
}

// story shows every record but the root, and the index.
func (w *world) story() string {
	w.t.Helper()
	if c, err := w.DB.Check(w.t.Context()); err != nil || c.Total != 0 {
		w.t.Fatalf("CrawlDB is inconsistent: %v %v", err, c.Problems)
	}
	var b strings.Builder
	err := w.DB.Scan(w.t.Context(), "", func(k urlkey.Key, r *crawldb.Record) error {
		u, err := urlkey.ToURL(k)
		path := strings.TrimPrefix(u, w.site.URL)
		if path == "/" {
			return err
		}
		fmt.Fprintf(&b, "%s %s", path, r.Datum.Status)
		if of := r.Datum.DuplicateOf; of != "" {
			fmt.Fprintf(&b, " of %s", strings.TrimPrefix(of, w.site.URL))
		}
		b.WriteByte('\n')
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	in := slices.DeleteFunc(slices.Sorted(maps.Keys(w.indexed())), func(p string) bool { return p == "/" })
	fmt.Fprintf(&b, "index: %s\n", strings.Join(in, " "))
	return b.String()
}
