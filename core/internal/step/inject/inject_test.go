package inject

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/db/crawldb"
	"github.com/gonutch/crawler/core/internal/db/transition"
	"github.com/gonutch/crawler/core/internal/schedule"
	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/core/internal/urlkey"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/model"
)

func TestReadForms(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	file := write("list.txt", "\ufeff  # comment\n\nhttp://a/\tnutch.score=2.5\tnutch.fetchInterval=60\ttopic=x\ttopic=y=z\n\r\n http://b/ \t\r\nhttp://c/\tnutch.fetchInterval.fixed=9\tnutch.fetchInterval=7")
	write("folder/2.txt", "http://e/\n")
	write("folder/1.txt", "http://d/\n")
	write("folder/.hidden", "http://no/\n")
	write("folder/sub/3.txt", "http://no/\n")
	got, err := Read([]string{file, filepath.Join(dir, "folder"), "-", "http://g/"}, strings.NewReader("http://f/"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Seed{
		{URL: "http://a/", Where: file + ":3", Seed: transition.Seed{
			Score: 2_500_000, ScoreSet: true, Interval: time.Minute, Metadata: model.Metadata{"topic": {"x", "y=z"}},
		}},
		{URL: "http://b/", Where: file + ":5"},
		{URL: "http://c/", Where: file + ":6", Seed: transition.Seed{Interval: 9 * time.Second, FixedInterval: true}},
		{URL: "http://d/", Where: filepath.Join(dir, "folder/1.txt") + ":1"},
		{URL: "http://e/", Where: filepath.Join(dir, "folder/2.txt") + ":1"},
		{URL: "http://f/", Where: "standard input:1"},
		{URL: "http://g/", Where: "command line"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestReadFaults: every fault is told with its place, all at once, and nothing is
// returned.
func TestReadFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"http://a/\tnutch.score=x", "standard input:1: nutch.score=x"},
		{"http://a/\tnutch.score=NaN", "standard input:1: nutch.score=NaN"},
		{"http://a/\tnutch.score=-1", "standard input:1: nutch.score=-1"},
		{"\nhttp://a/\tnutch.fetchInterval=0", "standard input:2: nutch.fetchInterval=0"},
		{"http://a/\tnutch.fetchInterval=99999999999999999999", "number of seconds"},
		{"http://a/\tword", `"word" after the URL is not key=value`},
		{"http://a/\t=word", "is not key=value"},
		{"http://a/" + strings.Repeat("x", maxLine), "token too long"},
		{"# nothing\n\n", "no seeds in -"},
	} {
		got, err := Read([]string{"-"}, strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || got != nil {
			t.Errorf("%.60q: %v, %v; want %q", c.text, got, err, c.want)
		}
	}
	_, err := Read([]string{"/does/not/exist", "-"}, strings.NewReader("http://a/\tx\nhttp://b/\ty"))
	for _, want := range []string{"/does/not/exist", "standard input:1", "standard input:2"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add("http://a/\tnutch.score=1e3\tk=v")
	f.Fuzz(func(t *testing.T, line string) {
		s, err := parseLine(line)
		if err == nil && (s.Score < 0 || s.Interval < 0) {
			t.Errorf("%+v", s)
		}
	})
}

// plugins drop what has "drop" in it or no scheme, and put "/" behind hosts.
type plugins struct{ err error }

func (p plugins) NormalizeFilter(_ context.Context, scope urlnormalizer.Scope, urls []string) ([]chain.URLResult, error) {
	if scope != urlnormalizer.ScopeInject {
		return nil, errors.New("wrong scope")
	}
	out := make([]chain.URLResult, len(urls))
	for i, u := range urls {
		switch {
		case strings.Contains(u, "drop"), !strings.Contains(u, "://"):
			out[i] = chain.URLResult{Dropped: true, Plugin: "urlfilter-test", Reason: "rule 1"}
		case strings.Contains(u, "fail"):
			out[i] = chain.URLResult{Err: errors.New("boom")}
		default:
			out[i].URL = strings.ToLower(u)
		}
	}
	return out, p.err
}

func (p plugins) Normalize(ctx context.Context, scope urlnormalizer.Scope, urls []string) ([]chain.URLResult, error) {
	return p.NormalizeFilter(ctx, scope, urls)
}

func (p plugins) Filter(ctx context.Context, urls []string) ([]chain.URLResult, error) {
	return p.NormalizeFilter(ctx, urlnormalizer.ScopeInject, urls)
}

func (p plugins) Injected(_ context.Context, in []scoring.InjectInput) ([]model.Fields, []error, error) {
	out := make([]model.Fields, len(in))
	for i := range in {
		out[i] = model.Fields{"cash": in[i].Score}
	}
	return out, nil, nil
}

func openDB(t *testing.T) *crawldb.DB {
	s, err := store.Open("crawl", store.Options{FS: store.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	db, err := crawldb.Open(t.Context(), s, crawldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func rules(t *testing.T) transition.Rules {
	s, err := schedule.New(schedule.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	r := transition.DefaultRules(s)
	r.InjectedScore = model.Micro
	return r
}

func seeds(lines ...string) Seeds {
	list, err := Read([]string{"-"}, strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		panic(err)
	}
	return list
}

func TestRun(t *testing.T) {
	db := openDB(t)
	now := time.Now()
	run := func(mode transition.InjectMode, lines ...string) Report {
		t.Helper()
		rep, err := Run(t.Context(), db, plugins{}, seeds(lines...), Options{Mode: mode, Rules: rules(t), Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	get := func(url string) *crawldb.Record {
		t.Helper()
		rec, err := db.Get(urlkey.FromURL(url))
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	rep := run(transition.InjectNew, "http://A/", "http://b/\tnutch.score=3", "http://a/", "http://drop/")
	want := Report{Seeds: 4, Added: 2, Ignored: 1, RejectedTotal: 1, Rejected: []Rejected{{URL: "http://drop/", Where: "standard input:4", Plugin: "urlfilter-test", Reason: "rule 1"}}}
	if d := cmp.Diff(want, rep); d != "" {
		t.Error(d)
	}
	if r := get("http://b/"); r.Datum.Score != 3*model.Micro || r.Datum.Fields["cash"] != 3*model.Micro || r.Datum.Status != model.StatusDBUnfetched {
		t.Errorf("%+v", r)
	}
	if r := get("http://a/"); r.Datum.Score != model.Micro {
		t.Errorf("%+v", r)
	}
	if rep = run(transition.InjectNew, "http://b/\tnutch.score=9"); rep.Ignored != 1 || get("http://b/").Datum.Score != 3*model.Micro {
		t.Errorf("%+v", rep)
	}
	if rep = run(transition.InjectUpdate, "http://b/\tk=v"); rep.Updated != 1 || get("http://b/").Datum.Score != 3*model.Micro || get("http://b/").Datum.Metadata.First("k") != "v" {
		t.Errorf("%+v %+v", rep, get("http://b/"))
	}
	if rep = run(transition.InjectOverwrite, "http://b/"); rep.Overwritten != 1 || get("http://b/").Datum.Score != model.Micro || get("http://b/").Datum.Metadata.First("k") != "" {
		t.Errorf("%+v %+v", rep, get("http://b/"))
	}
	if c, err := db.Check(t.Context()); err != nil || c.Total != 0 {
		t.Errorf("%+v %v", c, err)
	}
}

// TestAllOrNothing: with one bad seed nothing is injected.
func TestAllOrNothing(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		skip  bool
		want  string // in the error; "" for none
	}{
		"no URL":          {lines: []string{"http://a/", "nonsense"}, want: `standard input:2: seed "nonsense" is no URL`},
		"no URL, skipped": {lines: []string{"http://a/", "nonsense"}, skip: true},
		"plugin fails":    {lines: []string{"http://a/", "http://fail/"}, want: "standard input:2: seed http://fail/: boom"},
		"all rejected":    {lines: []string{"http://drop/1", "http://drop/2"}, want: "none of the 2 seeds"},
	} {
		t.Run(name, func(t *testing.T) {
			db := openDB(t)
			_, err := Run(t.Context(), db, plugins{}, seeds(c.lines...), Options{Rules: rules(t), SkipInvalid: c.skip, Now: time.Now()})
			st, serr := db.Stats(t.Context())
			if serr != nil {
				t.Fatal(serr)
			}
			switch {
			case c.want == "" && (err != nil || st.Total != 1):
				t.Errorf("%v, %d records", err, st.Total)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || st.Total != 0):
				t.Errorf("%v, %d records", err, st.Total)
			}
		})
	}
	boom := errors.New("boom")
	if _, err := Run(t.Context(), openDB(t), plugins{boom}, seeds("http://a/"), Options{Rules: rules(t), Now: time.Now()}); !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
}

// TestAllowPrivate: seeds that name an address or localhost open that very host and
// port, and nothing else does.
func TestAllowPrivate(t *testing.T) {
	db := openDB(t)
	_, err := Run(t.Context(), db, plugins{}, seeds("http://LOCALHOST/", "https://127.0.0.1/x", "http://[::1]:81/", "http://10.0.0.1:8080/", "http://intra.example/",
		"ftp://10.0.0.9/", "s3://10.0.0.8/x", "http://127.0.0.1.evil.example/"), Options{Rules: rules(t), Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	got, err := AllowPrivate(t.Context(), db.Store())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"localhost:80": true, "127.0.0.1:443": true, "[::1]:81": true, "10.0.0.1:8080": true, "10.0.0.9:21": true}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// counting are plugins that count how many URLs they are asked about at once.
type counting struct {
	plugins
	most int
}

func (c *counting) NormalizeFilter(ctx context.Context, scope urlnormalizer.Scope, urls []string) ([]chain.URLResult, error) {
	c.most = max(c.most, len(urls))
	return c.plugins.NormalizeFilter(ctx, scope, urls)
}

// endless is a list of n seeds that are made as they are asked for.
type endless struct {
	n   int
	bad int // this one is no URL; 0 is none
}

func (e endless) Each(_ context.Context, f func(Seed) error) error {
	for i := 1; i <= e.n; i++ {
		s := Seed{URL: fmt.Sprintf("http://h%d/%d", i%100, i), Where: fmt.Sprint(i)}
		switch {
		case i == e.bad:
			s.URL = "nonsense"
		case i%10 == 0:
			s.URL += "drop"
		}
		if err := f(s); err != nil {
			return err
		}
	}
	return nil
}

// TestLongList: a list longer than a batch is injected in batches, and a fault anywhere in it keeps
// all of it out.
func TestLongList(t *testing.T) {
	db := openDB(t)
	const n = 3*batchSeeds + 7
	p := &counting{}
	o := Options{Rules: rules(t), Now: time.Now()}
	if _, err := Run(t.Context(), db, p, endless{n: n, bad: n - 1}, o); err == nil || !strings.Contains(err.Error(), `nothing was injected`) || !strings.Contains(err.Error(), `seed "nonsense" is no URL`) {
		t.Errorf("a fault near the end: %v", err)
	}
	if st, err := db.Stats(t.Context()); err != nil || st.Total != 0 {
		t.Errorf("%d records, %v", st.Total, err)
	}
	var told []int64
	o.Progress = func(n int64) { told = append(told, n) }
	rep, err := Run(t.Context(), db, p, endless{n: n}, o)
	if err != nil || rep.Seeds != n || rep.Added != n-n/10 || rep.RejectedTotal != n/10 || len(rep.Rejected) != maxRejected || p.most != batchSeeds || len(told) != 4 {
		t.Errorf("%v: %d seeds, %d added, %d rejected, %d of them named, %d at once, told %v", err, rep.Seeds, rep.Added, rep.RejectedTotal, len(rep.Rejected), p.most, told)
	}
	rep, err = Run(t.Context(), db, p, endless{n: n, bad: 3}, Options{Rules: rules(t), Now: time.Now(), SkipInvalid: true})
	if err != nil || rep.Added != 0 || rep.Ignored != n-n/10-1 {
		t.Errorf("once more, faults passed over: %v %+v", err, rep.Ignored)
	}
	if c, err := db.Check(t.Context()); err != nil || c.Total != 0 {
		t.Errorf("%+v %v", c, err)
	}
}

// TestMemory: a seed list of a million lines takes no more memory than one of 50,000.
func TestMemory(t *testing.T) {
	list := func(n int) *Sources {
		name := filepath.Join(t.TempDir(), "seeds")
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		w := bufio.NewWriter(f)
		for i := range n {
			fmt.Fprintf(w, "http://host%d.example.org/path/of/page/%d\tnutch.score=2\ttopic=%d\n", i%1000, i, i%7)
		}
		if err := errors.Join(w.Flush(), f.Close()); err != nil {
			t.Fatal(err)
		}
		l, err := Open([]string{name}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	peak := func(n int) uint64 {
		l := list(n)
		var most uint64
		sample := func() {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
		runtime.GC()
		seeds := 0
		err := l.Each(t.Context(), func(Seed) error {
			if seeds++; seeds%10_000 == 0 {
				sample()
			}
			return nil
		})
		if err != nil || seeds != n {
			t.Fatalf("%d seeds, %v", seeds, err)
		}
		return most
	}
	small, large := peak(50_000), peak(1_000_000)
	t.Logf("heap at most: %d KiB with 50,000 seeds, %d KiB with 1,000,000", small>>10, large>>10)
	if large > small+16<<20 {
		t.Errorf("the heap grows with the list: %d KiB, %d KiB", small>>10, large>>10)
	}
}
