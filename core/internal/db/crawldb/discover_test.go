package crawldb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gonutch/crawler/core/internal/memtest"
	"github.com/gonutch/crawler/core/internal/urlkey"
)

// BenchmarkDiscover finds b.N new URLs by effects in group commits and folds
// them, and reports the CPU time of each and the process's peak memory.
func BenchmarkDiscover(b *testing.B) {
	s, db := benchOpen(b, filepath.Join(b.TempDir(), "crawl"))
	defer s.Close()
	ctx := context.Background()
	const group = 3000 // targets of a group commit of 100 pages
	c0 := cpuNow()
	folded := 0
	for i := 0; i < b.N; i += group {
		must(b, db.UpdateNoSync(ctx, func(tx *Tx) error {
			targets := make([]urlkey.Key, min(group, b.N-i))
			cash := make([]int64, len(targets))
			for j := range targets {
				n := (i + j) * 2654435761 % (1 << 31)
				targets[j] = urlkey.FromURL(fmt.Sprintf("http://www.host%d.example/section/%d/page-%d.html", n%5000, n%37, i+j))
				cash[j] = int64(n)
			}
			return tx.Effects("source:http/", targets, []Column{{"cash", cash}}, nil)
		}))
		if i/group%100 == 99 || i+group >= b.N {
			st, err := db.Fold(ctx, t0, testScore)
			must(b, err)
			folded += st.New
		}
	}
	if folded != b.N {
		b.Fatalf("%d of %d", folded, b.N)
	}
	b.ReportMetric(float64((cpuNow()-c0).Microseconds())/float64(b.N), "cpu-us/url")
	b.ReportMetric(float64(memtest.PeakKiB(os.Getpid()))/1024, "peak-MiB")
}
