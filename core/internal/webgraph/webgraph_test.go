package webgraph

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/urlkey"
)

// pages are URLs with the URLs they link to.
type pages map[string][]string

func build(t *testing.T, o Options, p pages, gone ...string) (*Graph, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "webgraph")
	b, err := NewBuilder(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	keys := map[urlkey.Key]string{}
	for u := range p {
		keys[urlkey.FromURL(u)] = u
	}
	for _, k := range sorted(keys) {
		var links []urlkey.Key
		for _, l := range p[keys[k]] {
			links = append(links, urlkey.FromURL(l))
		}
		if err := b.AddPage(k, links); err != nil {
			t.Fatal(err)
		}
	}
	goneKeys := map[urlkey.Key]string{}
	for _, u := range gone {
		goneKeys[urlkey.FromURL(u)] = u
	}
	for _, k := range sorted(goneKeys) {
		if err := b.AddGone(k); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return reopen(t, dir), dir
}

func reopen(t *testing.T, dir string) *Graph {
	t.Helper()
	g, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func sorted[V any](m map[urlkey.Key]V) []urlkey.Key {
	var keys []urlkey.Key
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// links lists a graph's links as "from > to", and checks that both directions agree.
func links(t *testing.T, g *Graph) []string {
	t.Helper()
	list := func(in bool) []string {
		out := []string{}
		err := g.EachLink(in, func(a, b uint32) error {
			if in {
				a, b = b, a
			}
			from, err := g.Name(a)
			to, err2 := g.Name(b)
			out = append(out, from+" > "+to)
			return errors.Join(err, err2)
		})
		if err != nil {
			t.Fatal(err)
		}
		sort.Strings(out)
		return out
	}
	out := list(false)
	if d := cmp.Diff(out, list(true)); d != "" {
		t.Errorf("outlinks and inlinks differ:\n%s", d)
	}
	return out
}

func TestRules(t *testing.T) {
	web := pages{
		"http://a.org/":    {"http://a.org/self", "http://a.org/", "http://www.a.org/", "http://b.org/x", "http://b.org/x", "http://b.org/x?q", "http://b.org/y", "http://c.org/"},
		"http://b.org/x":   {"http://a.org/", "http://c.org/"},
		"http://lonely.de": nil,
		"http://b.org/y":   {"http://a.org/"},
	}
	all := []string{
		"http://a.org/ > http://a.org/self", "http://a.org/ > http://b.org/x", "http://a.org/ > http://b.org/x?q", "http://a.org/ > http://b.org/y",
		"http://a.org/ > http://c.org/", "http://a.org/ > http://www.a.org/", "http://b.org/x > http://a.org/", "http://b.org/x > http://c.org/", "http://b.org/y > http://a.org/",
	}
	without := func(not ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(not, s) })
	}
	for _, tc := range []struct {
		name    string
		rules   Rules
		want    []string
		dropped map[string]int64
		counted uint64
	}{
		{"all", Rules{}, all, map[string]int64{"self": 1, "duplicate": 1}, 9},
		{"host", Rules{IgnoreInternalHost: true}, without(all[0]), map[string]int64{"self": 1, "duplicate": 1, "internal host": 1}, 8},
		{
			"domain",
			Rules{IgnoreInternalDomain: true},
			without(all[0], all[5]),
			map[string]int64{"self": 1, "duplicate": 1, "internal domain": 2},
			7,
		},
		{"page limit", Rules{LimitPage: true}, without(all[2]), map[string]int64{"self": 1, "duplicate": 1, "page limit": 1}, 8},
		// Of the two inlinks of a.org from b.org LinkRank counts one.
		{"domain limit", Rules{LimitDomain: true}, without(all[2], all[3], all[5]), map[string]int64{"self": 1, "duplicate": 1, "domain limit": 3}, 5},
		{"gone", Rules{DeleteGone: true}, without(all[4], all[7]), map[string]int64{"self": 1, "duplicate": 1, "gone": 2}, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, dir := build(t, Options{Rules: tc.rules}, web, "http://c.org/")
			if d := cmp.Diff(tc.want, links(t, g)); d != "" {
				t.Errorf("links (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.dropped, g.Meta.Dropped); d != "" {
				t.Errorf("dropped (-want +got):\n%s", d)
			}
			if g.Meta.Counted != tc.counted || g.Meta.Pages != 4 || g.Meta.Links != uint64(len(tc.want)) {
				t.Errorf("meta %+v", g.Meta)
			}
			if _, ok, err := g.Find(string(urlkey.FromURL("http://lonely.de"))); !ok || err != nil {
				t.Errorf("a page without links is no node: %v", err)
			}
			for _, left := range []string{newSuffix, oldSuffix} {
				if _, err := os.Stat(dir + left); err == nil {
					t.Errorf("%s%s is left", dir, left)
				}
			}
		})
	}
}

func TestHostGraph(t *testing.T) {
	_, dir := build(t, Options{}, pages{
		"http://a.org/1":         {"http://a.org/2", "http://b.org/1", "http://b.org/2", "http://[::1]/", "mailto:x@a.org"},
		"https://a.org/2":        {"http://b.org/1", "http://127.0.0.1:80/"},
		"http://b.org/1":         {"http://a.org/1"},
		"http://a.org0.example/": {"http://sub.a.org/"},
	})
	g := reopen(t, HostDir(dir))
	want := []string{
		" > a.org", "a.org > ", "a.org > 127.0.0.1", "a.org > [::1]", "a.org > b.org", "a.org0.example > sub.a.org", "b.org > a.org",
	}
	if d := cmp.Diff(want[1:], links(t, g)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// random makes a graph in which some pages are linked often, with dangling pages
// and several pages to a domain.
func random(seed uint64, n, links int) pages {
	r := rand.New(rand.NewPCG(seed, 1))
	url := func(i int) string { return fmt.Sprintf("http://w%d.d%d.org/p%d?%d", i%7, i%(n/5+1), i/2, i) }
	p := pages{}
	for i := range n {
		if i%10 != 9 {
			p[url(i)] = nil
		}
	}
	for range links {
		from := r.IntN(n)
		if from%10 >= 8 { // pages that link nowhere, and nodes that are no pages
			continue
		}
		to := int(float64(n) * math.Pow(r.Float64(), 3))
		p[url(from)] = append(p[url(from)], url(min(to, n-1)))
	}
	return p
}

// TestRanksAgainstReference compares with power iterations over a dense matrix, which
// share nothing with the package but the formulas.
func TestRanksAgainstReference(t *testing.T) {
	for _, drop := range []bool{false, true} {
		for _, rules := range []Rules{{}, {IgnoreInternalHost: true, IgnoreInternalDomain: true, LimitPage: true, LimitDomain: true}, {LimitPage: true}} {
			t.Run(fmt.Sprintf("%+v drop=%v", rules, drop), func(t *testing.T) {
				// Little memory, so that runs are spilled and merged.
				g, dir := build(t, Options{Rules: rules, Memory: 8 << 10}, random(3, 150, 1500))
				o := RankOptions{Iterations: 60, Initial: 1, Damping: 0.85, DropDangling: drop}
				check(t, g, LinkRank, o, denseLinkRank(t, g, rules, 60, 0.85, !drop))
				check(t, g, PageRank, o, densePageRank(t, g, 60, 0.85))
				check(t, g, Harmonic, o, floydHarmonic(t, g))
				h := reopen(t, HostDir(dir))
				check(t, h, PageRank, o, densePageRank(t, h, 60, 0.85))
				check(t, h, Harmonic, o, floydHarmonic(t, h))
				check(t, h, LinkRank, o, denseLinkRank(t, h, Rules{}, 60, 0.85, !drop))
			})
		}
	}
}

func check(t *testing.T, g *Graph, name string, o RankOptions, want []float64) {
	t.Helper()
	if _, err := g.Rank(t.Context(), name, o); err != nil {
		t.Fatal(err)
	}
	if len(want) < 50 {
		t.Errorf("a graph of %d nodes shows nothing", len(want))
	}
	spread := map[float64]bool{}
	err := g.EachScore(name, func(node uint32, key string, v float64) error {
		spread[v] = true
		if math.Abs(v-want[node]) > 1e-6*max(1, math.Abs(want[node])) {
			return fmt.Errorf("%s of %s is %g, want %g", name, key, v, want[node])
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if len(spread) < 10 {
		t.Errorf("%s: only %d different values", name, len(spread))
	}
}

// adjacency reads the links into a matrix: m[to][from].
func adjacency(t *testing.T, g *Graph) [][]bool {
	t.Helper()
	m := make([][]bool, g.Meta.Nodes)
	for i := range m {
		m[i] = make([]bool, g.Meta.Nodes)
	}
	for _, l := range links(t, g) {
		from, to, _ := strings.Cut(l, " > ")
		m[node(t, g, to)][node(t, g, from)] = true
	}
	return m
}

func node(t *testing.T, g *Graph, name string) uint32 {
	t.Helper()
	key := string(urlkey.FromURL(name))
	if !strings.Contains(name, "://") {
		key = string(urlkey.HostRange(name).Lo)
	}
	n, ok, err := g.Find(key)
	if !ok || err != nil {
		t.Fatalf("%s is no node: %v", name, err)
	}
	return n
}

func outdegrees(m [][]bool) []float64 {
	out := make([]float64, len(m))
	for to := range m {
		for from, is := range m[to] {
			if is {
				out[from]++
			}
		}
	}
	return out
}

func denseLinkRank(t *testing.T, g *Graph, rules Rules, iterations int, d float64, spread bool) []float64 {
	t.Helper()
	m := adjacency(t, g)
	out, n := outdegrees(m), float64(len(m))
	weights := make([][]float64, len(m))
	for to := range m {
		weights[to] = make([]float64, len(m))
		pages, domains := map[string]bool{}, map[string]bool{}
		for from, is := range m[to] {
			if !is {
				continue
			}
			url, err := g.Name(uint32(from))
			if err != nil {
				t.Fatal(err)
			}
			page, _, _ := strings.Cut(url, "?")
			domain := urlkey.Domain(url)
			if rules.LimitPage && pages[page] || rules.LimitDomain && domains[domain] {
				continue
			}
			pages[page], domains[domain] = true, true
			weights[to][from] = 1 / out[from]
		}
	}
	score := make([]float64, len(m))
	for i := range score {
		score[i] = 1
	}
	for range iterations {
		dangling := 0.0
		for i := range score {
			if out[i] == 0 && spread {
				dangling += score[i] / n
			}
		}
		next := make([]float64, len(m))
		for to := range m {
			sum := 1/n + dangling
			for from, w := range weights[to] {
				sum += w * score[from]
			}
			next[to] = 1 - d + d*sum
		}
		score = next
	}
	return score
}

func densePageRank(t *testing.T, g *Graph, iterations int, d float64) []float64 {
	t.Helper()
	m := adjacency(t, g)
	out, n := outdegrees(m), float64(len(m))
	score := make([]float64, len(m))
	for i := range score {
		score[i] = 1 / n
	}
	for range iterations {
		next := make([]float64, len(m))
		total := 0.0
		for to := range m {
			for from := range m {
				w := 0.0
				if out[from] == 0 {
					w = 1 / n
				} else if m[to][from] {
					w = 1 / out[from]
				}
				next[to] += d * w * score[from]
			}
			next[to] += (1 - d) / n
			total += next[to]
		}
		if math.Abs(total-1) > 1e-9 {
			t.Fatalf("the reference's sum is %g", total)
		}
		score = next
	}
	return score
}

func floydHarmonic(t *testing.T, g *Graph) []float64 {
	t.Helper()
	m := adjacency(t, g)
	n := len(m)
	const far = 1 << 20
	dist := make([][]int, n) // [from][to]
	for i := range dist {
		dist[i] = make([]int, n)
		for j := range dist[i] {
			switch {
			case i == j:
			case m[j][i]:
				dist[i][j] = 1
			default:
				dist[i][j] = far
			}
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				dist[i][j] = min(dist[i][j], dist[i][k]+dist[k][j])
			}
		}
	}
	score := make([]float64, n)
	for i := range n {
		for j := range n {
			if d := dist[i][j]; i != j && d < far {
				score[j] += 1 / float64(d)
			}
		}
	}
	return score
}

func TestHyperBall(t *testing.T) {
	g, _ := build(t, Options{}, random(5, 2000, 12000))
	exact, _, err := g.harmonicExact(t.Context(), RankOptions{})
	if err != nil {
		t.Fatal(err)
	}
	est, info, err := g.hyperBall(t.Context(), RankOptions{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	var wrong, sum float64
	for i := range exact {
		wrong += math.Abs(exact[i] - est[i])
		sum += exact[i]
	}
	if sum == 0 || wrong/sum > 3*info.Error || !info.Converged {
		t.Errorf("off by %g of %g; %+v", wrong, sum, info)
	}
}

func TestConvergence(t *testing.T) {
	g, _ := build(t, Options{}, random(4, 200, 2000))
	info, err := g.Rank(t.Context(), LinkRank, RankOptions{Iterations: 500, Initial: 1, Damping: 0.85, Tolerance: 1e-8})
	if err != nil || !info.Converged || info.Iterations < 5 || info.Iterations > 200 || info.Change > 1e-8 {
		t.Errorf("%+v %v", info, err)
	}
	info, err = g.Rank(t.Context(), LinkRank, RankOptions{Iterations: 3, Initial: 1, Damping: 0.85, Tolerance: 1e-8})
	if err != nil || info.Converged || info.Iterations != 3 {
		t.Errorf("%+v %v", info, err)
	}
}

func TestDump(t *testing.T) {
	g, _ := build(t, Options{}, pages{
		"http://a.org/":     {"http://b.org/", "http://x.b.org/", "http://c.org/"},
		"http://b.org/":     {"http://c.org/"},
		"http://x.b.org/":   {"http://c.org/"},
		"http://x.b.org/un": {"http://a.org/"},
	})
	dump := func(o DumpOptions) []string {
		t.Helper()
		out := []string{}
		if err := g.Dump(t.Context(), o, func(n string, v float64) error {
			out = append(out, fmt.Sprintf("%s %g", n, v))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, tc := range []struct {
		o    DumpOptions
		want []string
	}{
		{DumpOptions{What: DumpInlinks}, []string{"http://c.org/ 3", "http://a.org/ 1", "http://x.b.org/ 1", "http://b.org/ 1", "http://x.b.org/un 0"}},
		// Nutch's limit counts distinct values; ours counts lines.
		{DumpOptions{What: DumpInlinks, TopN: 2}, []string{"http://c.org/ 3", "http://a.org/ 1"}},
		{DumpOptions{What: DumpOutlinks, Group: "host"}, []string{"a.org 3", "x.b.org 2", "b.org 1", "c.org 0"}},
		{DumpOptions{What: DumpOutlinks, Group: "domain"}, []string{"a.org 3", "b.org 3", "c.org 0"}},
		{DumpOptions{What: DumpOutlinks, Group: "domain", Max: true, TopN: 2}, []string{"a.org 3", "b.org 1"}},
	} {
		for _, memory := range []int64{0, 100} {
			tc.o.Memory, tc.o.Dir = memory, t.TempDir()
			if d := cmp.Diff(tc.want, dump(tc.o)); d != "" {
				t.Errorf("%+v (-want +got):\n%s", tc.o, d)
			}
		}
	}
	if err := g.Dump(t.Context(), DumpOptions{What: DumpScores, Score: LinkRank, Dir: t.TempDir()}, nil); err == nil || !strings.Contains(err.Error(), "crawler linkrank") {
		t.Errorf("without scores: %v", err)
	}
}

func TestDescending(t *testing.T) {
	v := []float64{math.Inf(1), 1e9, 1, 0.5, math.SmallestNonzeroFloat64, 0, -1, -7, math.Inf(-1)}
	for i, x := range v {
		if ascending(descending(x)) != x {
			t.Errorf("%g does not come back", x)
		}
		if i > 0 && descending(v[i-1]) >= descending(x) {
			t.Errorf("%g is not before %g", v[i-1], x)
		}
	}
}

// TestSorter spills more runs than may be open at a time.
func TestSorter(t *testing.T) {
	for _, n := range []int{0, 1, 500, 20_000} {
		s := newSorter(t.TempDir(), 64*24, tripleCodec())
		want := map[triple]bool{}
		r := rand.New(rand.NewPCG(uint64(n), 2))
		for range n {
			v := triple{uint32(r.IntN(50)), uint64(r.IntN(20)), uint32(r.IntN(5))}
			want[v] = true
			if err := s.add(v); err != nil {
				t.Fatal(err)
			}
		}
		var last *triple
		got := 0
		err := s.each(func(v triple) error {
			if last != nil && s.compare(*last, v) >= 0 || !want[v] {
				return fmt.Errorf("%v after %v", v, last)
			}
			last = &v
			got++
			return nil
		})
		if err != nil || got != len(want) {
			t.Errorf("%d of %d: %v", got, len(want), err)
		}
		if left, _ := os.ReadDir(s.dir); len(left) > 0 {
			t.Errorf("%d files are left", len(left))
		}
	}
}

// TestReplacesGraphsOnly: a folder or file that is no graph stays as it is.
func TestReplacesGraphsOnly(t *testing.T) {
	tmp := t.TempDir()
	for name, text := range map[string]string{"folder/sub/file": "mine", "file": "mine", "other/meta.json": "{}", "graph.old/file": "mine", "graph.new/file": "mine"} {
		file := filepath.Join(tmp, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(tmp, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"folder": ErrOther, "folder/": ErrOther, "file": ErrOther, "other": ErrOther, "empty": nil, "graph": nil, "graph/": nil} {
		for range 2 { // the second one replaces what the first made
			b, err := NewBuilder(tmp+"/"+name, Options{})
			if !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
			if err != nil {
				continue
			}
			_, err = b.Finish(t.Context())
			if err := errors.Join(err, b.Close()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	var left []string
	err := filepath.WalkDir(tmp, func(p string, d os.DirEntry, err error) error {
		if b, rerr := os.ReadFile(p); rerr == nil && string(b) == "mine" {
			left = append(left, strings.TrimPrefix(p, tmp))
		}
		return err
	})
	slices.Sort(left)
	if d := cmp.Diff([]string{"/file", "/folder/sub/file", "/graph.new/file", "/graph.old/file"}, left); err != nil || d != "" {
		t.Errorf("%v; files that are left (-want +got):\n%s", err, d)
	}
}

func TestTrouble(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "webgraph")
	if _, err := Open(dir); !errors.Is(err, ErrNone) {
		t.Errorf("nothing built: %v", err)
	}
	b, err := NewBuilder(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewBuilder(dir, Options{}); !errors.Is(err, ErrBusy) {
		t.Errorf("two builders: %v", err)
	}
	for _, k := range []urlkey.Key{"b", "a"} {
		err = b.AddPage(k, nil)
	}
	if err == nil {
		t.Error("keys may descend")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = b.targets.add(named{"x", 0})
	if _, err := b.Finish(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(dir + "*"); len(left) != 1 { // the lock's file
		t.Errorf("left: %v", left)
	}
	g, dir := build(t, Options{}, random(1, 100, 300))
	if err := os.Truncate(filepath.Join(dir, "in.adj"), 8); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "build the graph anew") {
		t.Errorf("cut short: %v", err)
	}
	if _, err := g.Rank(t.Context(), LinkRank, RankOptions{Iterations: 1}); err == nil {
		t.Error("a graph that is cut short is ranked")
	}
}
