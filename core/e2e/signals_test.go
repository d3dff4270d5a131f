package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gonutch/crawler/core/internal/cycle"
	"github.com/gonutch/crawler/core/internal/testweb"
)

// running is a crawler that runs in a process group of its own, as a shell starts
// it.
type running struct {
	cmd    *exec.Cmd
	out    bytes.Buffer
	errOut bytes.Buffer
	exited chan error
}

func start(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{cmd: command(context.Background(), t, args...), exited: make(chan error, 1)}
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.errOut
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.exited <- r.cmd.Wait() }()
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	return r
}

// interrupt does what a terminal does on Ctrl-C: every process of the group gets
// SIGINT.
func (r *running) interrupt(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(-r.cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
}

// end waits for the end and returns the exit code.
func (r *running) end(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case err := <-r.exited:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
	case <-time.After(within):
		t.Fatalf("the crawler did not end within %v", within)
	}
	return r.cmd.ProcessState.ExitCode()
}

// TestInterrupt: the first Ctrl-C finishes requests under way, commits and exits 0 with every
// plugin alive to the end; two stop at once. Both crawls resume to the CrawlDB of one that
// was left alone.
func TestInterrupt(t *testing.T) {
	want, step := undisturbed(t), uint64(300)
	if soak() {
		step = 50
	}
	for _, signals := range []int{1, 2} {
		t.Run(fmt.Sprint(signals), func(t *testing.T) {
			web, addr := serveWeb(t, killWeb())
			dir := filepath.Join(t.TempDir(), "crawl")
			args := []string{"run", "--config", site(t, addr, killSite), "--dir", dir, "--seeds", "http://host0.test/", "--json"}
			stops := 0
			for at := uint64(150); at <= 450; at += step {
				stops++
				r := start(t, args...)
				eventually(t, time.Minute, "the crawler fetches", func() bool { return web.Report().Requests > at || len(r.exited) > 0 })
				before := pluginProcesses(t)
				r.interrupt(t)
				if signals == 2 {
					eventually(t, 10*time.Second, "the first signal is heard", func() bool { return len(r.exited) > 0 || strings.Contains(r.errOut.String(), "stopping") })
					r.interrupt(t)
				}
				samePlugins(t, r, before)
				code := r.end(t, 30*time.Second)
				text := r.errOut.String()
				switch {
				case code != 0 && signals == 1:
					t.Errorf("exit code %d\n%s", code, text)
				case strings.Contains(text, "[ERROR]"):
					t.Errorf("errors:\n%s", text)
				}
				if len(before) == 0 && code == 0 && web.Report().Requests <= at {
					t.Error("the crawl was over before it was interrupted")
				}
				if signals == 1 {
					rep := reported(t, r.out.String())
					if rep.Stopped == "" {
						t.Errorf("the report does not say that the run was stopped: %+v", rep)
					}
				}
				eventually(t, 5*time.Second, "all processes are gone", func() bool { return len(processes(t)) == 0 })
				if l := openLocal(t, dir, addr); l != nil {
					if c, err := l.DB.Check(t.Context()); err != nil || c.Total != 0 {
						t.Errorf("CrawlDB is inconsistent: %v %+v", err, c)
					}
					l.close(t)
				}
			}
			mustRun(t, args...)
			sameRecords(t, want, outcome(t, dir, addr))
			if rep := web.Report(); !rep.Polite() {
				t.Errorf("impolite: %+v", rep.Violations[:min(len(rep.Violations), 5)])
			}
			repeats := 0
			web.EachRequested(func(url func() string, n int) bool {
				if !strings.HasSuffix(url(), "/robots.txt") {
					repeats += n - 1
				}
				return true
			})
			if signals == 1 && repeats > 0 {
				t.Errorf("%d pages were fetched again although their requests were finished", repeats)
			}
			if most := stops * (killWeb().Hosts + killWeb().Hosts*int(200*time.Millisecond/killWeb().Delay)); repeats > most {
				t.Errorf("%d pages were fetched again, want at most %d", repeats, most)
			}
			t.Logf("%d times stopped, %d repeated requests", stops, repeats)
		})
	}
}

// samePlugins watches the plugins until the crawler ends: none is replaced.
func samePlugins(t *testing.T, r *running, before map[string]int) {
	t.Helper()
	for len(r.exited) == 0 {
		for id, pid := range pluginProcesses(t) {
			if was, ok := before[id]; ok && was != pid {
				t.Errorf("plugin %s did not survive Ctrl-C", id)
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestStopFile: with a file .STOP the run ends after the round and says why.
func TestStopFile(t *testing.T) {
	cfg := testweb.DefaultConfig()
	cfg.Hosts, cfg.Pages, cfg.Shares = 10, 300, testweb.Stable()
	_, addr := serveWeb(t, cfg)
	dir := filepath.Join(t.TempDir(), "crawl")
	args := []string{"run", "--config", site(t, addr, killSite), "--dir", dir, "--seeds", "http://host0.test/", "--json"}
	mustRun(t, append(args, "--rounds", "1")...)
	stop := filepath.Join(dir, ".STOP")
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, errOut, code := run(t, args...)
	rep := reported(t, out)
	if code != 0 || !strings.Contains(rep.Stopped, ".STOP") || rep.Rounds > 1 {
		t.Errorf("exit code %d, %+v\n%s", code, rep, errOut)
	}
	if err := os.Remove(stop); err != nil {
		t.Fatal(err)
	}
	if rep := reported(t, mustRun(t, args...)); rep.Fetched == 0 || rep.Stopped != "" {
		t.Errorf("without the file: %+v", rep)
	}
}

// TestRoundOptions: --rounds, --top-n, generate.max_count and --adddays.
func TestRoundOptions(t *testing.T) {
	web := &pages{hosts: 4, perHost: 10}
	addr := serve(t, web)
	dir := filepath.Join(t.TempDir(), "crawl")
	config := site(t, addr, "fetcher {\n  server_delay = \"0s\"\n}\ncycle {\n  overlap = false\n}\n")
	crawl := func(args ...string) (cycle.Report, int) {
		t.Helper()
		out, errOut, code := run(t, append([]string{"run", "--config", config, "--dir", dir, "--seeds", "http://h0.test/", "--json"}, args...)...)
		if code != 0 && code != 3 {
			t.Fatalf("exit code %d\n%s", code, errOut)
		}
		return reported(t, out), code
	}
	expect := func(what string, rep cycle.Report, rounds int, fetched int64) {
		t.Helper()
		if rep.Rounds != rounds || rep.Fetched != fetched {
			t.Errorf("%s: %d rounds and %d pages, want %d and %d", what, rep.Rounds, rep.Fetched, rounds, fetched)
		}
	}
	rep, _ := crawl("--rounds", "1")
	expect("the seed", rep, 1, 1) // it leads to 10 pages and 3 hosts
	rep, _ = crawl("--rounds", "2", "--top-n", "2")
	expect("--rounds 2 --top-n 2", rep, 2, 4)
	rep, _ = crawl("--rounds", "1", "-D", "generate.max_count=1")
	if rep.Rounds != 1 || rep.Fetched < 1 || rep.Fetched > 4 {
		t.Errorf("max_count 1: %d pages of 4 hosts in %d rounds", rep.Fetched, rep.Rounds)
	}
	before := int64(1+4) + rep.Fetched
	rep, _ = crawl()
	if before+rep.Fetched != int64(len(web.urls())) {
		t.Errorf("%d pages were fetched, and %d in the end: want %d in all", before, rep.Fetched, len(web.urls()))
	}
	rep, code := crawl()
	expect("everything is fetched", rep, 0, 0)
	if code != 3 || rep.NextDue.Before(time.Now().Add(29*24*time.Hour)) {
		t.Errorf("exit code %d, next due %v", code, rep.NextDue)
	}
	rep, _ = crawl("--adddays", "31", "--rounds", "1")
	expect("--adddays 31", rep, 1, int64(len(web.urls())))
}

// TestCommandsWhileACrawlRuns: others are answered by the running crawl, and
// "stop" ends it.
func TestCommandsWhileACrawlRuns(t *testing.T) {
	cfg := killWeb()
	web, addr := serveWeb(t, cfg)
	dir := filepath.Join(t.TempDir(), "crawl")
	config := site(t, addr, `
fetcher {
  server_delay = "200ms"
}
generate {
  top_n = 60
}
`)
	r := start(t, "run", "--config", config, "--dir", dir, "--seeds", "http://host0.test/", "--json")
	ask := func(args ...string) string {
		t.Helper()
		return mustRun(t, append(args, "--config", config, "--dir", dir)...)
	}
	var status struct {
		Running  bool
		Progress cycle.Progress
	}
	eventually(t, 2*time.Minute, "a round is indexed", func() bool {
		if len(r.exited) > 0 {
			t.Fatalf("the crawl ended: %s", r.errOut.String())
		}
		out, _, code := run(t, "status", "--config", config, "--dir", dir, "--json")
		return code == 0 && json.Unmarshal([]byte(out), &status) == nil && status.Progress.Report.Indexed > 0
	})
	var stats struct{ Total int64 }
	if out := ask("readdb", "--stats", "--json"); json.Unmarshal([]byte(out), &stats) != nil || stats.Total < 10 {
		t.Errorf("readdb --stats: %s", out)
	}
	if out := ask("readseg", "--list"); !strings.Contains(out, status.Progress.Segment[:8]) {
		t.Errorf("readseg --list: %s", out)
	}
	// The index is searched by the process that writes it; others ask that one.
	for range 3 {
		out := ask("search", "*", "--facet", "host", "--facet", "type", "--facet", "tstamp")
		for _, want := range []string{"http://host", "host:\n", "text/html", time.Now().UTC().Format("2006-")} {
			if !strings.Contains(out, want) {
				t.Errorf("search: no %q in\n%s", want, out)
			}
		}
	}
	if out := ask("readdb", "--url", "http://host0.test/"); !strings.Contains(out, "db_fetched") {
		t.Errorf("readdb --url: %s", out)
	}
	if out := ask("plugin", "list"); !strings.Contains(out, "parse-html") {
		t.Errorf("plugin list: %s", out)
	}
	if len(r.exited) > 0 || !status.Running {
		t.Fatalf("the crawl was over too early: %+v", status)
	}
	ask("stop")
	if code := r.end(t, 30*time.Second); code != 0 {
		t.Errorf("exit code %d after stop\n%s", code, r.errOut.String())
	}
	if rep := web.Report(); !rep.Polite() {
		t.Errorf("impolite: %+v", rep.Violations)
	}
}
