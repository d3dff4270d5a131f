package webgraph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gonutch/crawler/core/internal/memtest"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// TestSize builds and ranks a graph whose inlinks are as uneven as the web's: a few pages have
// very many. The long form (CRAWLER_SOAK) has 5 million pages and 50 million links, and the whole test
// must stay under 1 GiB.
func TestSize(t *testing.T) {
	pages, links := 20_000, 10
	long := os.Getenv("CRAWLER_SOAK") != ""
	if long {
		pages = 5_000_000
	}
	const perHost = 200
	key := func(i int) urlkey.Key {
		return urlkey.FromURL(fmt.Sprintf("http://www.host%06d.example/page-%03d.html", i/perHost, i%perHost))
	}
	dir := filepath.Join(t.TempDir(), "webgraph")
	b, err := NewBuilder(dir, Options{Memory: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same graph each time
	start := time.Now()
	out := make([]urlkey.Key, links)
	for i := range pages {
		for l := range out {
			out[l] = key(int(float64(pages) * math.Pow(rnd.Float64(), 3)))
		}
		if err := b.AddPage(key(i), out); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	built := time.Since(start)
	g := reopen(t, dir)
	if n := int(g.Meta.Links); n < pages*links*9/10 { // some are doubles or links to the page itself
		t.Errorf("%d links, want most of %d", n, pages*links)
	}
	for _, name := range []string{LinkRank, PageRank} {
		start := time.Now()
		info, err := g.Rank(t.Context(), name, RankOptions{Iterations: 10, Initial: 1, Damping: 0.85, Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d iterations in %v", name, info.Iterations, time.Since(start).Round(time.Millisecond))
	}
	peak := memtest.PeakKiB(os.Getpid()) >> 10
	t.Logf("%d pages, %d links: built in %v; at most %d MiB", pages, g.Meta.Links, built.Round(time.Millisecond), peak)
	if long && (peak == 0 || peak > 1<<10) {
		t.Errorf("%d MiB, want at most 1024", peak)
	}
}
