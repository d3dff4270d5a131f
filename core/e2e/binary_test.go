package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// soak reports whether the long tests are to run (make soak).
func soak() bool { return os.Getenv("CRAWLER_SOAK") != "" }

var build struct {
	once sync.Once
	dir  string
	err  error
}

// binary returns the path of the crawler, built once for all tests.
func binary(t testing.TB) string {
	t.Helper()
	build.once.Do(func() {
		build.dir, build.err = os.MkdirTemp("", "crawler-e2e-")
		if build.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(build.dir, "crawler"), "github.com/gonutch/crawler/core/cmd/crawler")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			build.err = fmt.Errorf("build crawler: %w\n%s", err, out)
		}
	})
	if build.err != nil {
		t.Fatal(build.err)
	}
	return filepath.Join(build.dir, "crawler")
}

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == chaosArg {
		serveChaos()
		return
	}
	code := m.Run()
	if build.dir != "" {
		_ = os.RemoveAll(build.dir)
	}
	os.Exit(code)
}

// site writes a site.hcl that crawls through the proxy addr.
func site(t testing.TB, addr, more string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "site.hcl")
	text := fmt.Sprintf(`
http {
  agent_name = "testbot"
  agent_url  = "http://example.org/bot"
  proxy_host = %q
  proxy_port = %s
}
store {
  low_water = "0"
}
%s`, host, port, more)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// command returns the crawler with arguments, in a folder of its own.
func command(ctx context.Context, t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, binary(t), args...)
	cmd.Dir = t.TempDir()
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs the crawler and returns what it printed and its exit code.
func run(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return runIn(t, t.TempDir(), args...)
}

// runIn is run in the working directory dir.
func runIn(t testing.TB, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	cmd := command(ctx, t, args...)
	cmd.Dir = dir
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("crawler %s: %v\n%s", strings.Join(args, " "), err, errOut.String())
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// mustRun is run for commands that must succeed.
func mustRun(t testing.TB, args ...string) string {
	t.Helper()
	out, errOut, code := run(t, args...)
	if code != 0 {
		t.Fatalf("crawler %s: exit code %d\n%s\n%s", strings.Join(args, " "), code, out, errOut)
	}
	return out
}

// process is a running process of the crawler's binary.
type process struct {
	pid  int
	args []string
}

// processes lists those of the built binary, plugins included.
func processes(t testing.TB) []process {
	t.Helper()
	want := binary(t)
	var out []process
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("this test needs /proc")
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		exe, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe"))
		if err != nil || exe != want {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if len(line) == 0 {
			continue // a zombie
		}
		out = append(out, process{pid, strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")})
	}
	return out
}

// plugins of the running crawler: id → pid.
func pluginProcesses(t testing.TB) map[string]int {
	out := map[string]int{}
	for _, p := range processes(t) {
		if len(p.args) == 4 && p.args[2] == "serve" {
			out[p.args[3]] = p.pid
		}
	}
	return out
}

// eventually waits until f holds.
func eventually(t testing.TB, within time.Duration, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", within, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
