//go:build linux

package e2e

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gonutch/crawler/sdk/testsite"
)

// nobody is the user who runs Chromium when the tests run as root, who can't use its
// sandbox.
const nobody = 65534

// TestSandbox shows a page as a user who is not root, with the sandbox that is on by default: the
// process that has the page is locked in by namespaces and seccomp.
func TestSandbox(t *testing.T) {
	needsBrowser(t)
	uid := os.Getuid()
	home, err := os.MkdirTemp("", "crawler-sandbox-") // t.TempDir is for this user only
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	bin := filepath.Join(home, "crawler")
	if err := os.Link(binary(t), bin); err != nil {
		t.Skipf("the binary can't be put where others may run it: %v", err)
	}
	config := writeFile(t, home, "site.hcl", `
http {
  agent_name = "testbot"
  agent_url  = "http://example.org/bot"
}
plugin { add = ["protocol-browser"] }
protocol { rules = ["protocol-browser ^http"] }
`)
	s := testsite.Start(t, testsite.Options{})
	var once sync.Once
	var locked, open []string
	s.Site().Page("/", `<title>t</title><p>shown<script src="/probe.js"></script>`)
	s.Site().Handle("/probe.js", func(http.ResponseWriter, *http.Request) {
		once.Do(func() { locked, open = renderers(t) })
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := command(ctx, t, "parsechecker", "--config", config, s.Site().URL("/"))
	cmd.Path, cmd.Dir = bin, home
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home)
	if uid == 0 {
		uid = nobody
		for _, f := range []string{home, config} {
			if err := os.Chown(f, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		if strings.Contains(errOut.String(), "sandbox can't be used on this machine") {
			t.Skipf("user %d can't use Chromium's sandbox here, which the plugin says: %s", uid, errOut.String())
		}
		t.Fatalf("%v\n%s\n%s", err, out.String(), errOut.String())
	}
	if !strings.Contains(out.String(), "success(1)") || len(locked) == 0 || len(open) > 0 {
		t.Errorf("pages of processes %v are locked in, of %v not:\n%s\n%s", locked, open, out.String(), errOut.String())
	}
}

// renderers are the processes of Chromium that have pages, by whether they are locked in.
func renderers(t *testing.T) (locked, open []string) {
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		t.Error(err)
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		dir := filepath.Dir(file)
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, []byte("--type=renderer")) || !ofSandboxTest(line) {
			continue
		}
		status, _ := os.ReadFile(filepath.Join(dir, "status"))
		ns, err := os.Readlink(filepath.Join(dir, "ns", "user"))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if bytes.Contains(status, []byte("Seccomp:\t2\n")) && (err != nil || ns != own) { // it may be unreadable to other users
			locked = append(locked, strconv.Itoa(pid))
		} else {
			open = append(open, strconv.Itoa(pid))
		}
	}
	return locked, open
}

// ofSandboxTest tells the browser of this test from others on the machine.
func ofSandboxTest(cmdline []byte) bool { return bytes.Contains(cmdline, []byte("crawler-sandbox-")) }
