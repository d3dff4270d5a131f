package e2e

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/testweb"
)

// killWeb is a web on which nothing depends on how often a URL is asked for.
func killWeb() testweb.Config {
	cfg := testweb.DefaultConfig()
	cfg.Hosts, cfg.Pages, cfg.Shares, cfg.MaxPerHost, cfg.Delay = 30, 900, testweb.Stable(), 1, 20*time.Millisecond
	if soak() {
		cfg.Hosts, cfg.Pages = 60, 6000
	}
	return cfg
}

const killSite = `
fetcher {
  server_delay = "25ms"
}
cycle {
  overlap = false
}
generate {
  top_n = 400
}
`

// outcome is what a finished crawl in dir looks like.
func outcome(t *testing.T, dir, addr string) []string {
	t.Helper()
	l := openLocal(t, dir, addr)
	defer l.close(t)
	if c, err := l.DB.Check(t.Context()); err != nil || c.Total != 0 {
		t.Errorf("CrawlDB is inconsistent: %v %+v", err, c)
	}
	return l.records(t)
}

var calm struct {
	sync.Mutex
	records []string
}

// undisturbed returns what a crawl of killWeb that is left alone comes to. It is done
// once.
func undisturbed(t *testing.T) []string {
	t.Helper()
	calm.Lock()
	defer calm.Unlock()
	if calm.records != nil {
		return calm.records
	}
	_, addr := serveWeb(t, killWeb())
	dir := filepath.Join(t.TempDir(), "crawl")
	mustRun(t, "run", "--config", site(t, addr, killSite), "--dir", dir, "--seeds", "http://host0.test/")
	want := outcome(t, dir, addr)
	if len(want) < 500 {
		t.Fatalf("the undisturbed crawl knows only %d URLs", len(want))
	}
	calm.records = want
	return want
}

func sameRecords(t *testing.T, want, got []string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		lines := strings.Split(d, "\n")
		t.Errorf("CrawlDB differs (-undisturbed +disturbed):\n%.4000s", strings.Join(lines[:min(len(lines), 60)], "\n"))
	}
}

// TestKillCore kills the crawler with SIGKILL at random moments, resumes it
// each time, and compares the CrawlDB with that of an undisturbed crawl.
func TestKillCore(t *testing.T) {
	kills := 5
	if soak() {
		kills = 25
	}
	want := undisturbed(t)
	web, addr := serveWeb(t, killWeb())
	dir := filepath.Join(t.TempDir(), "crawl")
	config := site(t, addr, killSite)
	args := []string{"run", "--config", config, "--dir", dir, "--seeds", "http://host0.test/"}
	rng := rand.New(rand.NewPCG(1, 2))
	done := 0
	for done < kills {
		cmd := command(context.Background(), t, args...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		exited := make(chan error, 1)
		go func() { exited <- cmd.Wait() }()
		// Count from the first request of this process, so that most kills meet work.
		before := web.Report().Requests
		start := time.Now()
		for web.Report().Requests == before && time.Since(start) < 20*time.Second {
			time.Sleep(5 * time.Millisecond)
		}
		select {
		case err := <-exited:
			if err != nil && cmd.ProcessState.ExitCode() != 3 {
				t.Fatalf("after %d kills: %v\n%s", done, err, out.String())
			}
			t.Logf("the crawl ended after %d kills", done)
			done = kills
			continue
		case <-time.After(time.Duration(rng.IntN(1200)) * time.Millisecond):
		}
		_ = cmd.Process.Signal(syscall.SIGKILL)
		<-exited
		done++
		eventually(t, 5*time.Second, "all processes of the killed crawler are gone", func() bool { return len(processes(t)) == 0 })
	}
	out, errOut, code := run(t, args...)
	if code != 0 && code != 3 {
		t.Fatalf("last run: exit code %d\n%s\n%s", code, out, errOut)
	}
	sameRecords(t, want, outcome(t, dir, addr))
	rep := web.Report()
	if !rep.Polite() {
		t.Errorf("impolite across kills: %+v", rep.Violations[:min(len(rep.Violations), 5)])
	}
	repeats := 0
	web.EachRequested(func(url func() string, n int) bool {
		if n > 1+kills {
			t.Errorf("%s was asked for %d times in %d lives", url(), n, kills+1)
		}
		if !strings.HasSuffix(url(), "/robots.txt") {
			repeats += n - 1
		}
		return true
	})
	// In flight: at most one per host, plus what the hosts answered in 200 ms.
	cfg := killWeb()
	most := kills * (cfg.Hosts + cfg.Hosts*int(200*time.Millisecond/cfg.Delay))
	if repeats > most {
		t.Errorf("%d pages were asked for again, want at most %d", repeats, most)
	}
	t.Logf("%d kills, %d repeated requests (at most %d), %d records", kills, repeats, most, len(want))
}

// TestKillPlugins kills a random plugin process every second (in the short form every 300 ms,
// 60 times) and compares the CrawlDB with that of an undisturbed crawl.
func TestKillPlugins(t *testing.T) {
	want := undisturbed(t)
	_, addr := serveWeb(t, killWeb())
	dir := filepath.Join(t.TempDir(), "crawl")
	every, most := 300*time.Millisecond, 60
	if soak() {
		every, most = time.Second, math.MaxInt
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	kills := 0
	wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for kills < most {
			select {
			case <-stop:
				return
			case <-tick.C:
				for _, pid := range pluginProcesses(t) { // map order is random enough
					if syscall.Kill(pid, syscall.SIGKILL) == nil {
						kills++
					}
					break
				}
			}
		}
	})
	out, errOut, code := run(t, "run", "--config", site(t, addr, killSite), "--dir", dir, "--seeds", "http://host0.test/")
	close(stop)
	wg.Wait()
	if code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errOut)
	}
	if kills < 3 {
		t.Errorf("only %d plugins were killed", kills)
	}
	sameRecords(t, want, outcome(t, dir, addr))
	t.Logf("%d plugins killed", kills)
}
