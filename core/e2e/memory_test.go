package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/memtest"
	"github.com/gonutch/crawler/core/internal/testweb"
)

// TestMemory discovers URLs as fast as a web can name them and watches memory:
// the core's peak must stay under 512 MiB and all processes together under
// 2 GiB. The long form discovers two million URLs.
func TestMemory(t *testing.T) {
	cfg := testweb.DefaultConfig()
	cfg.Shares, cfg.Links, cfg.PageSize, cfg.MaxPerHost = testweb.Shares{UniformLinks: 1}, 60, testweb.Size6KB, 0
	cfg.Hosts, cfg.Pages = 200, 150_000
	discover, topN := int64(50_000), "2000"
	if soak() {
		cfg.Hosts, cfg.Pages = 3000, 3_000_000
		discover, topN = 2_000_000, "50000"
	}
	_, addr := serveWeb(t, cfg)
	dir := filepath.Join(t.TempDir(), "crawl")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	cmd := command(ctx, t, "run", "--json", "--config", site(t, addr, `
fetcher {
  server_delay = "0s"
}
indexer {
  enabled = false
}
`), "--dir", dir, "--seeds", "http://host0.test/", "--rounds", "5", "--top-n", topN)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var core, sum, most int64
	wg.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			core = max(core, memtest.PeakKiB(cmd.Process.Pid))
			sum = 0
			for _, p := range processes(t) {
				sum += memtest.ShareKiB(p.pid)
			}
			most = max(most, sum)
		}
	})
	err := cmd.Wait()
	close(stop)
	wg.Wait()
	if err != nil {
		t.Fatalf("%v\n%s", err, errOut.String())
	}
	var rep cycle.Report
	if err := json.Unmarshal(out.Bytes(), &rep); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d URLs discovered by %d pages in %v: core at most %d MiB (VmHWM), all processes %d MiB (PSS)",
		rep.New, rep.Fetched, rep.Elapsed.Round(time.Second), core>>10, most>>10)
	if rep.New < discover {
		t.Errorf("only %d URLs were discovered, want %d", rep.New, discover)
	}
	if core == 0 || core > 512<<10 {
		t.Errorf("the core's peak is %d KiB, want at most 512 MiB", core)
	}
	if most > 2<<20 {
		t.Errorf("all processes together take %d KiB, want at most 2 GiB", most)
	}
}
