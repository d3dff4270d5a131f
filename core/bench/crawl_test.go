package bench

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gonutch/crawler/core/internal/testweb"
)

// programs builds the crawler and the baseline as they are released.
func programs(b *testing.B) (crawler, baseline string) {
	b.Helper()
	dir := b.TempDir()
	crawler, baseline = filepath.Join(dir, "crawler"), filepath.Join(dir, "baseline")
	for out, pkg := range map[string]string{crawler: "core/cmd/crawler", baseline: "core/bench/baseline"} {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, "github.com/gonutch/crawler/"+pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if msg, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("build %s: %v\n%s", pkg, err, msg)
		}
	}
	return crawler, baseline
}

// benchPages is how many pages the simulated web of BenchmarkCrawl has:
// CRAWLER_BENCH_PAGES, or few.
func benchPages(b *testing.B) int {
	v := os.Getenv("CRAWLER_BENCH_PAGES")
	if v == "" {
		return 4000
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// measured runs a command to its end; the processor time is that of the whole
// process tree.
func measured(b *testing.B, name string, args ...string) (out string, cpu, wall time.Duration) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), name, args...)
	cmd.Dir = b.TempDir()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), time.Since(start)
}

// BenchmarkCrawl crawls a simulated web of good pages with the released binary
// and with the baseline, a process that only fetches and extracts links, in one
// run: pages a second and processor time per page of the whole process tree
// (the web is served by this process and not counted), without and with the
// index, with default settings and with the fastest ones (no WARC files, no crawl.log). It
// fails when the promise is not kept: at most 3.5 times the baseline's time without the
// index. On a busy machine the comparison says little: the baseline sleeps and wakes less there.
func BenchmarkCrawl(b *testing.B) {
	crawler, baseline := programs(b)
	for _, size := range []testweb.PageSize{testweb.Size6KB, testweb.Size50KB} {
		pages := benchPages(b)
		if size == testweb.Size50KB {
			pages = max(pages/4, 1)
		}
		cfg := testweb.DefaultConfig()
		cfg.Hosts, cfg.Pages, cfg.PageSize, cfg.Shares, cfg.MaxPerHost = max(pages/50, 1), pages, size, testweb.Plain(), 0
		for _, v := range []struct {
			name     string
			sets     []string
			promised bool
		}{
			{"default", []string{"indexer.enabled=false"}, true},
			{"fastest", []string{"indexer.enabled=false", "fetcher.store_content=false", "log.crawl_log=false"}, true},
			{"indexed", nil, false},
		} {
			b.Run(fmt.Sprintf("%s/%s", size, v.name), func(b *testing.B) {
				for b.Loop() {
					times := crawlOnce(b, crawler, baseline, cfg, v.sets)
					if v.promised && times > maxTimes {
						b.Errorf("missed: %.2f times the baseline's processor time, promised are %.1f", times, maxTimes)
					}
				}
			})
		}
	}
}

// maxTimes is how often the baseline's processor time a page may take.
const maxTimes = 3.5

// crawlOnce returns how often the baseline's processor time a page took.
func crawlOnce(b *testing.B, crawler, baseline string, cfg testweb.Config, sets []string) float64 {
	web, err := testweb.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- web.Serve(ctx, l) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			b.Error(err)
		}
	}()
	out, _, _ := measured(b, baseline, "-proxy", "http://"+l.Addr().String())
	var pages, size int
	var seconds, base float64
	if _, err := fmt.Sscanf(out, "pages=%d bytes=%d seconds=%f cpu_us_per_page=%f", &pages, &size, &seconds, &base); err != nil || pages != cfg.Pages {
		b.Fatalf("baseline fetched %d of %d pages: %v: %s", pages, cfg.Pages, err, out)
	}
	host, port, _ := net.SplitHostPort(l.Addr().String())
	args := []string{
		"run", "--json", "--dir", filepath.Join(b.TempDir(), "crawl"), "--seeds", "http://host0.test/", "-D", "http.agent_name=bench",
		"-D", "http.agent_url=http://host0.test/", "-D", "http.proxy_host=" + host, "-D", "http.proxy_port=" + port, "-D", "fetcher.server_delay=0s",
	}
	for _, s := range sets {
		args = append(args, "-D", s)
	}
	out, cpu, wall := measured(b, crawler, args...)
	if want := fmt.Sprintf("\"fetched\": %d", cfg.Pages); !strings.Contains(out, want) {
		b.Fatalf("the crawler did not fetch %d pages:\n%s", cfg.Pages, out)
	}
	perPage := float64(cpu.Microseconds()) / float64(cfg.Pages)
	b.ReportMetric(perPage, "cpu-µs/page")
	b.ReportMetric(base, "baseline-µs/page")
	b.ReportMetric(perPage/base, "times-baseline")
	b.ReportMetric(float64(cfg.Pages)/wall.Seconds(), "pages/s")
	b.ReportMetric(0, "ns/op")
	return perPage / base
}
