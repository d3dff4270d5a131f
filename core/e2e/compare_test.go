package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/testweb"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/model"
)

// recordLine is what two crawls of the same web must agree on.
func recordLine(url string, r *crawldb.Record) string {
	d := &r.Datum
	return fmt.Sprintf("%s %s retries=%d interval=%s score=%d signature=%x duplicate_of=%s", url, d.Status, d.Retries, d.Interval, d.Score, d.Signature, d.DuplicateOf)
}

func (l *local) records(t testing.TB) []string {
	t.Helper()
	var out []string
	err := l.DB.Scan(t.Context(), "", func(k urlkey.Key, r *crawldb.Record) error {
		u, err := urlkey.ToURL(k)
		out = append(out, recordLine(u, r))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (l *local) links(t testing.TB) []string {
	t.Helper()
	var out []string
	err := l.Links.Each(t.Context(), "", func(k urlkey.Key, in []model.Inlink) error {
		for _, i := range in {
			out = append(out, fmt.Sprintf("%s <- %s %q", k, i.From, i.Anchor))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// documents lists what the index holds, times left out.
func (l *local) documents(t testing.TB) []string {
	t.Helper()
	var out []string
	for offset := 0; ; offset += 500 {
		res, err := l.Chains.Search(t.Context(), "main", &searcher.Query{Limit: 500, Offset: offset})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range res.Hits {
			for _, f := range []string{"tstamp", "date", "segment", "boost"} {
				delete(h.Fields, f)
			}
			out = append(out, fmt.Sprintf("%s %v", h.ID, h.Fields))
		}
		if len(res.Hits) < 500 {
			break
		}
	}
	slices.Sort(out)
	return out
}

// TestPipelineEqualsSteps: "crawler run" without overlap and the single commands
// leave the same CrawlDB, LinkDB and index.
func TestPipelineEqualsSteps(t *testing.T) {
	cfg := testweb.DefaultConfig()
	cfg.Hosts, cfg.Pages, cfg.Shares, cfg.MaxPerHost = 15, 400, testweb.Stable(), 1
	sets := []string{"cycle.overlap=false", "linkdb.ignore_internal_links=false", "generate.top_n=120", "http.retry_after_default=1s"}
	type result struct{ records, links, documents []string }

	_, addr := serveWeb(t, cfg)
	p := openLocal(t, filepath.Join(t.TempDir(), "crawl"), addr, sets...)
	p.inject(t, "http://host0.test/")
	if _, err := p.cycle.NewRunner().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	pipeline := result{p.records(t), p.links(t), p.documents(t)}

	_, addr = serveWeb(t, cfg)
	s := openLocal(t, filepath.Join(t.TempDir(), "crawl"), addr, sets...)
	s.inject(t, "http://host0.test/")
	rounds := 0
	for ; ; rounds++ {
		seg, _, err := s.cycle.Generate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if seg == "" {
			break
		}
		steps := []func() error{
			func() error { _, err := s.cycle.Fetch(t.Context(), seg, nil); return err },
			func() error { _, err := s.cycle.Parse(t.Context(), seg); return err },
			func() error { _, err := s.cycle.Update(t.Context(), seg); return err },
			func() error { _, err := s.cycle.Invert(t.Context(), seg); return err },
			func() error { _, err := s.cycle.Dedup(t.Context()); return err },
			func() error { _, err := s.cycle.Index(t.Context()); return err },
		}
		for i, step := range steps {
			if err := step(); err != nil {
				t.Fatalf("round %d, step %d: %v", rounds, i, err)
			}
		}
	}
	steps := result{s.records(t), s.links(t), s.documents(t)}

	for _, c := range []struct {
		what string
		a, b []string
	}{{"CrawlDB", pipeline.records, steps.records}, {"LinkDB", pipeline.links, steps.links}, {"index", pipeline.documents, steps.documents}} {
		if len(c.a) < 100 {
			t.Errorf("%s has only %d entries", c.what, len(c.a))
		}
		if d := cmp.Diff(c.a, c.b); d != "" {
			lines := strings.Split(d, "\n")
			t.Errorf("%s differs (-pipeline +steps), %d and %d entries:\n%.3000s", c.what, len(c.a), len(c.b), strings.Join(lines[:min(len(lines), 40)], "\n"))
		}
	}
	if rounds < 3 {
		t.Errorf("only %d rounds", rounds)
	}
}
