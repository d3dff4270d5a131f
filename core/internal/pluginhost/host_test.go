//go:build linux

package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
)

func TestDo(t *testing.T) {
	h, p := newHost(t, Options{}, nil)
	if err := h.Start(t.Context(), []string{"urlfilter-chaos"}); err != nil {
		t.Fatal(err)
	}
	var v []urlfilter.Verdict
	if err := p.Do(t.Context(), 2, filterCall([]string{"http://a/", "http://spam/"}, &v)); err != nil {
		t.Fatal(err)
	}
	if len(v) != 2 || !v[0].Accept || v[1].Accept {
		t.Errorf("got %+v", v)
	}
	s := h.Stats()
	if len(s) != 1 || s[0].PID == 0 || s[0].Calls != 1 || s[0].Records != 2 || s[0].RSS < 1<<20 || s[0].Processes != 1 {
		t.Errorf("stats: %+v", s)
	}
	if h.Plugin("other") != nil {
		t.Error("a plugin that was not chosen has a handle")
	}
	if err := h.Start(t.Context(), []string{"other"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("start of a plugin that was not chosen: %v", err)
	}
}

// TestLost shows what a call that ends its process returns, and that the next
// one is answered by a new process.
func TestLost(t *testing.T) {
	for _, c := range []struct{ url, reason, detail string }{
		{"crash:x", Crashed, "fatal error: chaos on crash:x"},
		{"panic:x", Crashed, "panic: chaos on panic:x"},
		{"hang:x", Hung, "no answer within 300ms"},
		{"stop:x", Hung, "no answer within 300ms"},
	} {
		t.Run(c.url, func(t *testing.T) {
			t.Parallel()
			_, p := newHost(t, Options{CallTimeout: 300 * time.Millisecond}, nil)
			before, err := ask(t.Context(), p, "pid:")
			if err != nil {
				t.Fatal(err)
			}
			_, err = ask(t.Context(), p, c.url)
			var lost *LostError
			if !errors.As(err, &lost) || lost.Reason != c.reason || !strings.Contains(lost.Detail, c.detail) || !fault.Is(err, fault.Shutdown) {
				t.Fatalf("got %v", err)
			}
			after, err := ask(t.Context(), p, "pid:")
			if err != nil || after == before {
				t.Errorf("process %s, then %s, %v", before, after, err)
			}
			if alive(before) {
				t.Errorf("process %s is alive", before)
			}
		})
	}
}

// TestConnectionLost: a process that lives but is not to be reached is ended, and the reason is told.
func TestConnectionLost(t *testing.T) {
	_, p := newHost(t, Options{}, nil)
	err := p.Do(t.Context(), 1, func(context.Context, grpc.ClientConnInterface) error { return fault.Errorf(fault.Shutdown, "go away") })
	var lost *LostError
	if !errors.As(err, &lost) || lost.Reason != Crashed || lost.Detail != "killed, connection lost: go away" {
		t.Errorf("got %v", err)
	}
	if _, err := ask(t.Context(), p, "x"); err != nil {
		t.Error(err)
	}
}

func TestMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector alone takes more memory than the limit")
	}
	for _, url := range []string{"hog:", "gulp:"} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			_, p := newHost(t, Options{MemoryLimit: 128 << 20, WatchInterval: 50 * time.Millisecond}, nil)
			_, err := ask(t.Context(), p, url)
			var lost *LostError
			if !errors.As(err, &lost) || lost.Reason != OutOfMemory {
				t.Fatalf("got %v", err)
			}
			if _, err := ask(t.Context(), p, "x"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNonsense shows that answers that make no sense are errors of the call
// and leave the process alone.
func TestNonsense(t *testing.T) {
	_, p := newHost(t, Options{MaxMessage: 8 << 20}, nil)
	before, err := ask(t.Context(), p, "pid:")
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"short:", "huge:"} {
		if _, err := ask(t.Context(), p, url); err == nil || IsLost(err) || !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", url, err)
		}
	}
	for range 3 {
		if _, err := ask(t.Context(), p, "stderr:"); err != nil {
			t.Errorf("hostile output: %v", err)
		}
	}
	if after, err := ask(t.Context(), p, "pid:"); err != nil || after != before {
		t.Errorf("process %s, then %s, %v", before, after, err)
	}
}

func TestStartFailures(t *testing.T) {
	for _, c := range []struct {
		start, want string
		kind        fault.Kind
	}{
		{"slow", "no answer within", fault.Transient},
		{"exit", "it ended before it was ready (exit status 4)", fault.Transient},
		{"panic", "it ended before it was ready (exit status 2); it said: panic: no way to start", fault.Transient},
		{"refuse", "the colour is wrong", fault.Permanent},
	} {
		t.Run(c.start, func(t *testing.T) {
			t.Parallel()
			opts := Options{BackoffMin: time.Millisecond}
			if c.start == "slow" {
				opts.StartTimeout = 400 * time.Millisecond
			}
			h, p := newHost(t, opts, map[string]string{"start": c.start})
			err := h.Start(t.Context(), []string{"urlfilter-chaos"})
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, ErrStopped) || fault.KindOf(err) != c.kind {
				t.Errorf("got %v (%v)", err, fault.KindOf(err))
			}
			if _, err := ask(t.Context(), p, "x"); !errors.Is(err, ErrStopped) {
				t.Errorf("call afterwards: %v", err)
			}
		})
	}
}

// TestGreetings: what comes on standard output instead of the handshake line is shown, once, with
// what to do; nothing is tried again for it.
func TestGreetings(t *testing.T) {
	for name, c := range map[string]struct {
		script, want string
		kind         fault.Kind
	}{
		"words":      {"echo 'Hello, I am a plugin!'; sleep 600", `the first line of its standard output is "Hello, I am a plugin!"; nothing may come before the handshake line`, fault.Permanent},
		"no newline": {"printf 'ready '; echo '1|1|unix|/nosuch|grpc|'; sleep 600", `the first line of its standard output is "ready 1|1|unix|/nosuch|grpc|"`, fault.Permanent},
		"binary":     {"head -c 300000 /dev/zero; echo; sleep 600", `the first line of its standard output is "\x00\x00`, fault.Permanent},
		"silent":     {"sleep 600", "no answer within 400ms after the start (its standard output brought no handshake line)", fault.Transient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := fmt.Sprintf("id = \"urlfilter-shell\"\nname = \"Shell\"\nversion = \"1\"\napi = 1\ncommand = [\"sh\", \"-c\", %q]\nprovide \"urlfilter\" {}\n", c.script)
			m, err := manifest.Read(filepath.Join(t.TempDir(), "plugin.hcl"), []byte(source))
			if err != nil {
				t.Fatal(err)
			}
			opts := Options{BackoffMin: time.Millisecond}
			if name == "silent" {
				opts.StartTimeout = 400 * time.Millisecond
			}
			h, err := New(opts, list(m), chaosSettings(nil))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = h.Close(context.WithoutCancel(t.Context())) }()
			err = h.Start(t.Context(), []string{m.ID})
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1000 || fault.KindOf(err) != c.kind {
				t.Errorf("got %v (%v)", err, fault.KindOf(err))
			}
		})
	}
}

// TestStartAgain shows that a start that fails is tried again.
func TestStartAgain(t *testing.T) {
	once := filepath.Join(t.TempDir(), "once")
	h, p := newHost(t, Options{BackoffMin: 200 * time.Millisecond}, map[string]string{"start": "exit", "once": once})
	go func() { _ = os.WriteFile(once, nil, 0o600) }()
	if err := h.Start(t.Context(), []string{"urlfilter-chaos"}); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t.Context(), p, "x"); err != nil {
		t.Error(err)
	}
}

func TestManifestDiffers(t *testing.T) {
	m := chaosRead()
	m.Source = []byte(strings.Replace(chaosManifest, `version     = "1"`, `version     = "2"`, 1))
	h, err := New(Options{}, list(m), chaosSettings(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close(t.Context()) }()
	err = h.Start(t.Context(), []string{m.ID})
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "another manifest") || !strings.Contains(err.Error(), "line 4") {
		t.Errorf("got %v", err)
	}
}

func TestStopAfterMaxCrashes(t *testing.T) {
	_, p := newHost(t, Options{MaxCrashes: 3, BackoffMin: time.Millisecond}, nil)
	for i := range 3 {
		if _, err := ask(t.Context(), p, "crash:"); !IsLost(err) {
			t.Fatalf("crash %d: %v", i, err)
		}
	}
	_, err := ask(t.Context(), p, "x")
	if !errors.Is(err, ErrStopped) || IsLost(err) || !strings.Contains(err.Error(), "3 times in a row") {
		t.Errorf("got %v", err)
	}
}

// TestProgress shows that a plugin that completes records between its deaths is
// never given up.
func TestProgress(t *testing.T) {
	h, p := newHost(t, Options{MaxCrashes: 2, BackoffMin: time.Minute}, nil)
	for i := range 6 {
		if _, err := ask(t.Context(), p, "x"); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		if _, err := ask(t.Context(), p, "crash:"); !IsLost(err) {
			t.Fatalf("crash %d: %v", i, err)
		}
	}
	if s := h.Stats(); s[0].Deaths[Crashed] < 5 {
		t.Errorf("stats: %+v", s[0])
	}
}

func TestQuarantine(t *testing.T) {
	h, p := newHost(t, Options{CallTimeout: 300 * time.Millisecond, BackoffMin: time.Millisecond}, nil)
	main, err := ask(t.Context(), p, "pid:")
	if err != nil {
		t.Fatal(err)
	}
	quarantine := func(url string) (string, error) {
		var v []urlfilter.Verdict
		if err := p.Quarantine(t.Context(), 0, filterCall([]string{url}, &v)); err != nil {
			return "", err
		}
		return v[0].Reason, nil
	}
	for _, c := range []struct{ url, want string }{
		{"crash:x", "poisonous: plugin urlfilter-chaos crashed 3 times on this record: fatal error: chaos on crash:x"},
		{"hang:x", "poisonous: plugin urlfilter-chaos hung 3 times on this record: no answer within 300ms"},
	} {
		_, err := quarantine(c.url)
		var poison *PoisonError
		if !errors.As(err, &poison) || err.Error() != c.want || !fault.Is(err, fault.Permanent) {
			t.Errorf("%s: got %v", c.url, err)
		}
	}
	if got, err := quarantine("good"); err != nil || got != "good" {
		t.Errorf("good record: %q, %v", got, err)
	}
	if other, err := quarantine("pid:"); err != nil || other == main {
		t.Errorf("quarantine in process %s, the main one is %s, %v", other, main, err)
	}
	if now, err := ask(t.Context(), p, "pid:"); err != nil || now != main {
		t.Errorf("the main process was %s, is %s, %v", main, now, err)
	}
	s := h.Stats()[0]
	if s.Poisonous != 2 || s.Deaths[Crashed] != 3 || s.Deaths[Hung] != 3 {
		t.Errorf("stats: %+v", s)
	}
}

func TestCancel(t *testing.T) {
	_, p := newHost(t, Options{Concurrency: 1}, nil)
	if _, err := ask(t.Context(), p, "x"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 3 { // one is under way, the others wait for their turn
		wg.Go(func() {
			if _, err := ask(ctx, p, "sleep:2s"); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
	time.AfterFunc(20*time.Millisecond, cancel)
	start := time.Now()
	wg.Wait()
	if d := time.Since(start); d > time.Second {
		t.Errorf("cancelled calls took %v", d)
	}
}

func TestClose(t *testing.T) {
	for _, c := range []struct {
		name string
		own  map[string]string
		url  string
	}{
		{"good order", nil, "x"},
		{"ignores shutdown", map[string]string{"shutdown": "hang"}, "x"},
		{"stopped", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, p := newHost(t, Options{StopTimeout: 400 * time.Millisecond}, c.own)
			pid, err := ask(t.Context(), p, "pid:")
			if err != nil {
				t.Fatal(err)
			}
			if c.url == "" {
				n, _ := strconv.Atoi(pid)
				if err := syscall.Kill(n, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			start := time.Now()
			if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if d := time.Since(start); d > 3*time.Second {
				t.Errorf("Close took %v", d)
			}
			if alive(pid) {
				t.Errorf("process %s is alive", pid)
			}
			if _, err := os.Stat(h.dir.path); !os.IsNotExist(err) {
				t.Errorf("run folder: %v", err)
			}
			if _, err := ask(t.Context(), p, "x"); !errors.Is(err, ErrClosed) {
				t.Errorf("call after Close: %v", err)
			}
		})
	}
}

func TestCloseEndsCalls(t *testing.T) {
	h, p := newHost(t, Options{StopTimeout: 100 * time.Millisecond}, nil)
	if _, err := ask(t.Context(), p, "x"); err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 1)
	go func() { _, err := ask(context.Background(), p, "hang:"); errs <- err }()
	for p.host.Stats()[0].PID == 0 || callsOf(p) < 2 {
		time.Sleep(time.Millisecond)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-errs; !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func callsOf(p *Plugin) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cur == nil {
		return 0
	}
	return p.cur.called.Load()
}

// TestDescendants shows that what a plugin started dies with it, whatever
// group or session it is in.
func TestDescendants(t *testing.T) {
	for _, end := range []string{"close", "crash"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			h, p := newHost(t, Options{}, nil)
			kids, err := ask(t.Context(), p, "fork:")
			if err != nil || len(strings.Fields(kids)) != 6 {
				t.Fatalf("%q, %v", kids, err)
			}
			if s := h.Stats()[0]; s.Processes < 5 {
				t.Errorf("%d processes are watched, want those of the session", s.Processes)
			}
			if end == "close" {
				_ = h.Close(t.Context())
			} else if _, err := ask(t.Context(), p, "crash:"); !IsLost(err) {
				t.Fatal(err)
			}
			waitDead(t, strings.Fields(kids), 5*time.Second)
		})
	}
}

// TestHostKilled kills a host and looks for what its plugin started.
func TestHostKilled(t *testing.T) {
	dir := t.TempDir()
	if len(dir) > 40 {
		var err error
		if dir, err = os.MkdirTemp("", "h"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
	}
	cmd := exec.Command("/proc/self/exe", "plugin", "host", dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, err := out.Read(buf)
	pids := strings.Fields(strings.TrimSuffix(strings.TrimSpace(string(buf[:n])), "<nil>"))
	if err != nil || len(pids) != 7 {
		t.Fatalf("%q, %v", buf[:n], err)
	}
	for _, pid := range pids {
		if !alive(pid) {
			t.Fatalf("%s is not alive", pid)
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	waitDead(t, pids, 5*time.Second)
	for end := time.Now().Add(5 * time.Second); ; {
		left, err := os.ReadDir(dir)
		if err == nil && len(left) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("left in the run folder: %v, %v", left, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestInterrupt shows that a Ctrl-C at the terminal does not reach plugins.
func TestInterrupt(t *testing.T) {
	_, p := newHost(t, Options{}, nil)
	pid, err := ask(t.Context(), p, "pid:")
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(pid)
	if pgid, err := syscall.Getpgid(n); err != nil || pgid == syscall.Getpgrp() || pgid != n {
		t.Errorf("plugin is in group %d, this process in %d, %v", pgid, syscall.Getpgrp(), err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := syscall.Kill(-n, sig); err != nil {
			t.Fatal(err)
		}
	}
	if after, err := ask(t.Context(), p, "pid:"); err != nil || after != pid {
		t.Errorf("process %s, then %s, %v", pid, after, err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("CRAWLER_INDEX__PASSWORD", "secret")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("MY_OWN", "passed")
	t.Setenv("LANG", "C.UTF-8")
	_, p := newHost(t, Options{
		Env: map[string]string{"PLUGIN_SET": "1"}, PassEnv: []string{"MY_OWN"}, MaxProcs: 2, MemoryLimit: 1000 << 20,
	}, nil)
	env, err := ask(t.Context(), p, "env:")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(env, "secret") {
		t.Errorf("the plugin sees secrets:\n%s", env)
	}
	for _, want := range []string{"PLUGIN_SET=1", "MY_OWN=passed", "LANG=C.UTF-8", "GOMAXPROCS=2", "GOMEMLIMIT=838860800"} {
		if !strings.Contains(env, want+"\n") && !strings.HasSuffix(env, want) {
			t.Errorf("%s is missing in\n%s", want, env)
		}
	}
	if got, err := ask(t.Context(), p, "stdin:"); err != nil || got != "0 EOF" {
		t.Errorf("standard input: %s, %v", got, err)
	}
	limits, err := ask(t.Context(), p, "limits:")
	if err != nil || !strings.Contains(limits, "oom 500") || !maxData(limits, 2000<<20+dataSlack) {
		t.Errorf("limits: %v\n%s", err, limits)
	}
}

// maxData reports whether the text of /proc/PID/limits has that RLIMIT_DATA.
func maxData(limits string, want int) bool {
	for line := range strings.Lines(limits) {
		if rest, ok := strings.CutPrefix(line, "Max data size"); ok {
			return strings.Fields(rest)[0] == strconv.Itoa(want)
		}
	}
	return false
}

func TestHealth(t *testing.T) {
	h, p := newHost(t, Options{HealthInterval: 20 * time.Millisecond, HealthTimeout: 200 * time.Millisecond}, nil)
	pid, err := ask(t.Context(), p, "pid:")
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(pid)
	if err := syscall.Kill(n, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitDead(t, []string{pid}, 5*time.Second)
	after, err := ask(t.Context(), p, "pid:")
	if IsLost(err) { // dead, but not yet known to be
		after, err = ask(t.Context(), p, "pid:")
	}
	if err != nil || after == pid {
		t.Errorf("process %s, then %s, %v", pid, after, err)
	}
	if s := h.Stats()[0]; s.Deaths[Hung] != 1 {
		t.Errorf("stats: %+v", s)
	}
}

func TestAutoMTLS(t *testing.T) {
	_, p := newHost(t, Options{AutoMTLS: true}, nil)
	if got, err := ask(t.Context(), p, "x"); err != nil || got != "x" {
		t.Errorf("got %q, %v", got, err)
	}
}

// alive reports whether the process exists and is no zombie.
func alive(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return false
	}
	st, ok := readStat(n)
	return ok && st.state != 'Z'
}

func waitDead(t *testing.T, pids []string, limit time.Duration) {
	t.Helper()
	end := time.Now().Add(limit)
	for _, pid := range pids {
		for alive(pid) {
			if time.Now().After(end) {
				t.Fatalf("process %s is alive", pid)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// TestNoHostInPlugin shows that a binary that does not tell its parts apart
// can't start itself without end.
func TestNoHostInPlugin(t *testing.T) {
	t.Setenv(envGuard, "1")
	if h, err := New(Options{}, nil, nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("got %v, %v", h, err)
	}
}

// TestGuardIsSmall shows what the guard costs.
func TestGuardIsSmall(t *testing.T) {
	h, p := newHost(t, Options{}, nil)
	if _, err := ask(t.Context(), p, "x"); err != nil {
		t.Fatal(err)
	}
	st, ok := readStat(h.guard.cmd.Process.Pid)
	if rss := st.rssPages * int64(os.Getpagesize()); !ok || !raceEnabled && rss > 32<<20 {
		t.Errorf("the guard takes %d bytes, %v", rss, ok)
	} else {
		t.Logf("%d KiB", rss>>10)
	}
}
