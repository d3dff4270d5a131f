package pluginhost

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
)

// guard is a small process of this binary that outlives the host for a moment.
// The kernel kills plugins when the host dies (Pdeathsig), but not what they
// started; a plugin could do that only by living longer than its host. So the
// guard holds a pipe to the host and knows the plugins' sessions; when the pipe
// ends without a goodbye it kills every process in them and every one that
// bears the run's mark, and removes the folder of sockets. It works for plugins
// in any language, stopped ones included. Only a process that leaves its session
// and wipes its environment as well is not found.
//
// A missing guard is reported and harmless until the host is killed.
type guard struct {
	mu    sync.Mutex
	pipe  *os.File
	cmd   *exec.Cmd
	gone  chan struct{}
	known map[int]bool
	log   hclog.Logger
}

// envGuard tells a guard that it is one.
const envGuard = "CRAWLER_GUARD"

const (
	guardBye     = "bye"
	guardTimeout = 5 * time.Second
)

// startGuard starts the guard of a run; mark names the run, dir its folder.
func startGuard(exe, mark, dir string, spawn *spawner, log hclog.Logger) *guard {
	g := &guard{known: map[int]bool{}, log: log}
	r, w, err := os.Pipe()
	if err == nil {
		cmd := exec.Command(exe, "plugin", "guard", mark, dir)
		cmd.Args[0] = "crawler"
		cmd.Env = []string{envGuard + "=1", "GOMAXPROCS=1"}
		cmd.Stdin = r
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err = spawn.start(cmd); err == nil {
			g.pipe, g.cmd, g.gone = w, cmd, make(chan struct{})
			go func() { defer close(g.gone); _ = cmd.Wait() }()
		} else {
			_ = w.Close()
		}
		_ = r.Close()
	}
	if err != nil {
		log.Warn("no guard: processes that plugins start may outlive a killed crawler", "error", err)
	}
	return g
}

func (g *guard) add(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known[pid] = true
	g.say(fmt.Sprintf("+%d", pid))
}

func (g *guard) remove(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.known, pid)
	g.say(fmt.Sprintf("-%d", pid))
}

// say is called with mu held.
func (g *guard) say(line string) {
	if g.pipe == nil {
		return
	}
	_ = g.pipe.SetWriteDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(g.pipe, line+"\n"); err != nil {
		g.log.Warn("the guard is gone: processes that plugins start may outlive a killed crawler", "error", err)
		_ = g.pipe.Close()
		g.pipe = nil
	}
}

// close ends the guard, which has nothing left to guard.
func (g *guard) close() {
	g.mu.Lock()
	g.say(guardBye)
	if g.pipe != nil {
		_ = g.pipe.Close()
		g.pipe = nil
	}
	g.mu.Unlock()
	if g.cmd == nil {
		return
	}
	select {
	case <-g.gone:
	case <-time.After(guardTimeout):
		_ = g.cmd.Process.Kill()
		<-g.gone
	}
}

// Guard is the main of "crawler plugin guard MARK DIR": it reads what a host
// says on in and, when that ends without a goodbye, ends everything the host's
// plugins left and removes dir. It returns when nothing is left to do.
func Guard(in io.Reader, mark, dir string) {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	groups := map[int]bool{}
	sc := bufio.NewScanner(in)
	for sc.Scan() {
		line := sc.Text()
		if line == guardBye {
			return
		}
		pid, err := strconv.Atoi(strings.TrimLeft(line, "+-"))
		switch {
		case err != nil || pid < 2:
		case line[0] == '+':
			groups[pid] = true
		default:
			delete(groups, pid)
		}
	}
	quiet := 0
	for end := time.Now().Add(guardTimeout); quiet < 3 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if killAll(groups, mark, 0) == 0 {
			quiet++
		} else {
			quiet = 0
		}
	}
	if dir != "" {
		_ = os.RemoveAll(dir)
	}
}
