package cycle

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/step/update"
)

func threeLevels() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/":  page("root", "/a", "/b", "/r", "/none"),
		"/a": page("a", "/b", "/c"),
		"/b": page("b", "/", "/c"),
		"/c": page("c", "/a"),
		"/r": moved("/c"),
	}
}

// final is everything that a crawl left, but for times.
type final struct {
	DB    string
	Links []string
	Index map[string]string
}

func (w *world) final() final {
	w.t.Helper()
	var b bytes.Buffer
	if err := w.DB.Dump(w.t.Context(), &b); err != nil {
		w.t.Fatal(err)
	}
	return final{strings.ReplaceAll(b.String(), w.site.URL, ""), w.links(), w.indexed()}
}

// TestResume: a round left after any step is finished by the next run, and the
// crawl ends as if nothing had happened.
func TestResume(t *testing.T) {
	undisturbed := newWorld(t, threeLevels())
	undisturbed.run()
	want := undisturbed.final()
	if len(want.Index) != 4 || len(want.Links) < 8 {
		t.Fatalf("%+v", want)
	}
	steps := []struct {
		name string
		do   func(w *world, seg string) error
	}{
		{"generate", func(*world, string) error { return nil }},
		{"fetch", func(w *world, seg string) error { _, err := w.cycle.Fetch(w.t.Context(), seg, nil); return err }},
		{"parse", func(w *world, seg string) error { _, err := w.cycle.Parse(w.t.Context(), seg); return err }},
		{"updatedb", func(w *world, seg string) error { _, err := w.cycle.Update(w.t.Context(), seg); return err }},
		{"invertlinks", func(w *world, seg string) error { _, err := w.cycle.Invert(w.t.Context(), seg); return err }},
		{"dedup", func(w *world, _ string) error { _, err := w.cycle.Dedup(w.t.Context()); return err }},
		{"index", func(w *world, _ string) error { _, err := w.cycle.Index(w.t.Context()); return err }},
	}
	for round := 1; round <= 2; round++ {
		for n := range steps {
			t.Run(fmt.Sprintf("round %d, %s", round, steps[n].name), func(t *testing.T) {
				w := newWorld(t, threeLevels())
				if round == 2 {
					w.cycle.d.cfg.Rounds = 1
					w.run()
				}
				seg, _, err := w.cycle.Generate(t.Context())
				if err != nil || seg == "" {
					t.Fatalf("%q %v", seg, err)
				}
				for _, s := range steps[:n+1] {
					if err := s.do(w, seg); err != nil {
						t.Fatalf("%s: %v", s.name, err)
					}
				}
				w.reopen()
				w.run()
				if d := cmp.Diff(want, w.final()); d != "" {
					t.Errorf("(-undisturbed +resumed):\n%s", d)
				}
				for p := range threeLevels() {
					if got := w.site.count(p); got != 1 {
						t.Errorf("%s was asked for %d times", p, got)
					}
				}
				metas, err := segment.List(t.Context(), w.Store)
				if err != nil {
					t.Fatal(err)
				}
				for i, m := range metas {
					if m.State != segment.StateIndexed || m.Round != i+1 {
						t.Errorf("segment %s of round %d is %s", m.ID, m.Round, m.State)
					}
				}
			})
		}
	}
}

// TestStepsTwice: a step that is run again changes nothing and takes no state back.
func TestStepsTwice(t *testing.T) {
	w := newWorld(t, threeLevels())
	seg, _, err := w.cycle.Generate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, f := range []func() error{
			func() error { _, err := w.cycle.Fetch(t.Context(), seg, nil); return err },
			func() error { _, err := w.cycle.Parse(t.Context(), seg); return err },
			func() error { _, err := w.cycle.Update(t.Context(), seg); return err },
			func() error { _, err := w.cycle.Invert(t.Context(), seg); return err },
			func() error { _, err := w.cycle.Index(t.Context()); return err },
		} {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		}
		m, _, err := segment.GetMeta(w.Store, seg)
		if err != nil || m.State != segment.StateIndexed {
			t.Errorf("%s %v", m.State, err)
		}
	}
	if n := w.idx.adds[w.site.URL+"/"]; n != 1 {
		t.Errorf("sent %d times", n)
	}
	if n := w.site.count("/"); n != 1 {
		t.Errorf("asked for %d times", n)
	}
}

// TestStepsTell: each single step tells how far it is; of a fetch Progress does.
func TestStepsTell(t *testing.T) {
	w := newWorld(t, threeLevels())
	seg, _, err := w.cycle.Generate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.cycle.Fetch(t.Context(), seg, nil); err != nil {
		t.Fatal(err)
	}
	if p := w.cycle.Progress(); p.Step != "fetch" || p.Segment != seg || p.Report.Fetched != 1 {
		t.Errorf("%+v", p)
	}
	for _, step := range []struct {
		name string
		do   func() error
		want [2]float64 // pages, share
	}{
		{"parse", func() error { _, err := w.cycle.Parse(t.Context(), seg); return err }, [2]float64{1, 1}},
		{"update", func() error { _, err := w.cycle.Update(t.Context(), seg); return err }, [2]float64{1, 1}},
		{"invert", func() error { _, err := w.cycle.Invert(t.Context(), seg); return err }, [2]float64{1, 0}},
		{"dedup", func() error { _, err := w.cycle.Dedup(t.Context()); return err }, [2]float64{1, 0}},
		{"index", func() error { _, err := w.cycle.Index(t.Context()); return err }, [2]float64{1, 0}},
	} {
		var got [2]float64
		w.cycle.Tell(func(pages int64, share float64) { got = [2]float64{float64(pages), share} })
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if got != step.want {
			t.Errorf("%s told of %v pages, share %v, want %v", step.name, got[0], got[1], step.want)
		}
	}
}

// TestIndexLater: what was crawled without an index is indexed by the first run with one.
func TestIndexLater(t *testing.T) {
	w := newWorld(t, threeLevels(), "indexer.enabled=false")
	w.run()
	if len(w.idx.docs) != 0 {
		t.Fatalf("%v", w.indexed())
	}
	w.reopen()
	if rep := w.run(); rep.Indexed != 4 || rep.Fetched != 0 {
		t.Errorf("%+v", rep)
	}
	if d := cmp.Diff([]string{"/", "/a", "/b", "/c"}, keys(w.indexed())); d != "" {
		t.Error(d)
	}
}

// TestContentNotStored: a page whose bytes were not kept is fetched again when
// the process ended before it was parsed.
func TestContentNotStored(t *testing.T) {
	w := newWorld(t, threeLevels(), "fetcher.store_content=false")
	seg, _, err := w.cycle.Generate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.cycle.Fetch(t.Context(), seg, nil); err != nil {
		t.Fatal(err)
	}
	w.reopen("fetcher.store_content=false")
	w.run()
	if d := cmp.Diff(map[string]string{"/": "root", "/a": "a", "/b": "b", "/c": "c"}, w.indexed()); d != "" {
		t.Error(d)
	}
	if n := w.site.count("/"); n != 2 {
		t.Errorf("asked for %d times", n)
	}
}

// TestHeldHostDoesNotHoldUpTheRound: what can't be asked for long is released, the
// round is completed, and the next run knows when to go on.
func TestHeldHostDoesNotHoldUpTheRound(t *testing.T) {
	for _, overlap := range []string{"true", "false"} {
		pages := threeLevels()
		pages["/a"] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		}
		w := newWorld(t, pages, "cycle.overlap="+overlap)
		start := time.Now()
		rep := w.run()
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("the run took %v", took)
		}
		if in := time.Until(rep.NextDue); in < 50*time.Minute || in > 61*time.Minute {
			t.Errorf("next URL due in %v", in)
		}
		if w.leased() != 0 || rep.Released["host_held"]+int64(w.site.count("/b")+w.site.count("/r")+w.site.count("/none")) != 3 {
			t.Errorf("%d leased, released %v", w.leased(), rep.Released)
		}
		if _, ok := w.indexed()["/"]; !ok {
			t.Error("the round was not indexed")
		}
		w.reopen()
		if rep := w.run(); rep.Fetched != 0 || rep.Rounds != 0 {
			t.Errorf("the next run fetched: %+v", rep)
		}
	}
}

// TestStop: a gentle stop leaves everything committed, and the next run goes on.
func TestStop(t *testing.T) {
	undisturbed := newWorld(t, threeLevels())
	undisturbed.run()
	pages := threeLevels()
	asked, goOn := make(chan struct{}), make(chan struct{})
	inner := pages["/a"]
	first := true
	pages["/a"] = func(w http.ResponseWriter, r *http.Request) {
		if first {
			first = false
			close(asked)
			<-goOn
		}
		inner(w, r)
	}
	w := newWorld(t, pages)
	r := w.cycle.NewRunner()
	done := make(chan Report, 1)
	go func() {
		rep, err := r.Run(t.Context())
		if err != nil {
			t.Error(err)
		}
		done <- rep
	}()
	<-asked
	r.Stop()
	r.Stop()
	close(goOn)
	if rep := <-done; rep.Stopped == "" || rep.Status["fetch_success"] < 2 || rep.NextDue.IsZero() || time.Until(rep.NextDue) > time.Minute {
		t.Errorf("%+v", rep)
	}
	w.reopen()
	w.run()
	if d := cmp.Diff(undisturbed.final(), w.final()); d != "" {
		t.Error(d)
	}
	if n := w.site.count("/a"); n != 1 {
		t.Errorf("the page under way was asked for %d times", n)
	}
}

// TestStopBeforeRun: Stop may come before Run has begun.
func TestStopBeforeRun(t *testing.T) {
	w := newWorld(t, threeLevels())
	r := w.cycle.NewRunner()
	r.Stop()
	if rep, err := r.Run(t.Context()); err != nil || rep.Fetched != 0 {
		t.Errorf("%+v %v", rep, err)
	}
}

// TestStopFile: .STOP in the crawl directory ends the run after the round.
func TestStopFile(t *testing.T) {
	w := newWorld(t, threeLevels())
	dir := t.TempDir()
	w.cycle.d.Dir = dir
	if err := os.WriteFile(filepath.Join(dir, stopFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if rep := w.run(); rep.Fetched != 0 || !strings.Contains(rep.Stopped, stopFile) {
		t.Errorf("%+v", rep)
	}
}

// TestCancelled: the end of the context ends the run; all that was committed stays
// consistent, and the next run finishes.
func TestCancelled(t *testing.T) {
	w := newWorld(t, threeLevels())
	seg, _, err := w.cycle.Generate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.cycle.Fetch(t.Context(), seg, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.cycle.NewRunner().Run(ctx); err == nil {
		t.Error("no error")
	}
	w.run()
	if len(w.indexed()) != 4 {
		t.Errorf("%v", w.indexed())
	}
}

// TestFeedOutlivesStages: a feed that still sends while the stages end with ctx must
// not meet a closed channel.
func TestFeedOutlivesStages(t *testing.T) {
	w := newWorld(t, nil)
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		p := newPipeline(w.cycle.d, onlyUpdate, w.cycle.d.newSummary())
		err := p.run(ctx, func(ctx context.Context) error {
			cancel()
			time.Sleep(time.Millisecond) // lets the stages end
			// A stage that a busy machine has not ended yet may still take it.
			return send(ctx, p.toParse, &work{page: update.Page{Fetch: &segment.Fetch{}}})
		})
		if err == nil {
			t.Fatal("no error")
		}
	}
}
