package pluginhost

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// drainTime is how long output is still read after a process and its group
// have ended: a process that left the group may hold the pipes open for ever.
const drainTime = 250 * time.Millisecond

// handshakeLine bounds the one line of standard output that go-plugin reads.
const handshakeLine = 64 << 10

// runner is one plugin process for go-plugin: its RunnerFunc returns it.
type runner struct {
	name   string
	memory int64
	mark   string
	cmd    *exec.Cmd
	spawn  *spawner
	guard  *guard
	logs   *stderrLog

	pid            int
	outR, errR     *os.File
	lifeline       *os.File // write end; the process sees its end when it closes
	hello          *io.PipeReader
	readers        sync.WaitGroup
	exited         chan struct{} // closed when the process is reaped and its group killed
	mu             sync.Mutex
	reaped, killed bool
	greeting       []byte           // first line of standard output, nil before it came
	state          *os.ProcessState // after exited
}

// newRunner takes over cmd, whose Path, Args, Dir and Env are set.
func newRunner(h *Host, name string, memory int64, mark string, cmd *exec.Cmd, logs *stderrLog) *runner {
	return &runner{
		name: name, memory: memory, mark: mark, cmd: cmd, spawn: h.spawn, guard: h.guard, logs: logs,
		exited: make(chan struct{}),
	}
}

// Start implements go-plugin's Runner.
func (r *runner) Start(context.Context) error {
	var files [6]*os.File
	for i := 0; i < len(files); i += 2 {
		var err error
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			closeFiles(files[:i])
			return fmt.Errorf("make pipes: %w", err)
		}
	}
	outR, outW, errR, errW, lifeR, lifeW := files[0], files[1], files[2], files[3], files[4], files[5]
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = nil, outW, errW // nil is the null device
	r.cmd.ExtraFiles = []*os.File{lifeR}
	r.cmd.SysProcAttr = procAttr()
	r.mu.Lock()
	var err error
	if r.killed {
		err = errors.New("given up before it was started")
	} else if err = r.spawn.start(r.cmd); err == nil {
		r.pid = r.cmd.Process.Pid
	}
	r.mu.Unlock()
	closeFiles([]*os.File{outW, errW, lifeR})
	if err != nil {
		closeFiles([]*os.File{outR, errR, lifeW})
		if errors.Is(err, syscall.ENOEXEC) {
			err = fmt.Errorf("%w: it is neither a program for this system nor a script that starts with \"#!\"", err)
		}
		return err
	}
	r.outR, r.errR, r.lifeline = outR, errR, lifeW
	r.guard.add(r.pid)
	err = restrict(r.pid, r.memory)
	if errors.Is(err, syscall.ESRCH) {
		err = nil // already ended; reported by what follows
	}
	hello, helloW := io.Pipe()
	r.hello = hello
	r.readers.Add(1)
	go func() { defer r.readers.Done(); r.readStdout(helloW) }()
	go r.wait()
	if err != nil {
		_ = r.Kill(context.Background())
		<-r.exited
	}
	return err
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// readStdout hands the first line to go-plugin and the rest to the log: some
// plugins print, and a full pipe would stop them.
func (r *runner) readStdout(hello *io.PipeWriter) {
	br := bufio.NewReaderSize(r.outR, handshakeLine)
	line, err := br.ReadSlice('\n')
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) && len(line) == 0 {
		_ = hello.Close()
		return
	}
	line = bytes.Clone(line)
	r.mu.Lock()
	r.greeting = line
	r.mu.Unlock()
	go func() {
		_, _ = hello.Write(line)
		_ = hello.Close()
	}()
	r.logs.read(br, "stdout")
}

// sweeps and sweepPause bound the search for what a process leaves behind.
const (
	sweeps     = 100
	sweepPause = 10 * time.Millisecond
)

// wait ends everything the process leaves behind, then reaps it.
func (r *runner) wait() {
	if !awaitExit(r.pid) {
		_ = r.cmd.Wait()
	}
	since := started(r.pid)
	_ = syscall.Kill(-r.pid, syscall.SIGKILL) // a zombie keeps its group's number
	r.mu.Lock()
	_ = r.cmd.Wait() // a second Wait only fails
	r.reaped = true
	r.state = r.cmd.ProcessState
	r.mu.Unlock()
	// One look at all processes can miss one that is just being started, so looks go on until nothing is found.
	for n := 0; n < sweeps && killAll(map[int]bool{r.pid: true}, r.mark, since) > 0; n++ {
		time.Sleep(sweepPause)
	}
	r.guard.remove(r.pid)
	_ = r.lifeline.Close()
	deadline := time.Now().Add(drainTime)
	_ = r.outR.SetReadDeadline(deadline)
	_ = r.errR.SetReadDeadline(deadline)
	close(r.exited)
	r.readers.Wait()
	_ = r.outR.Close()
}

// endedItself returns how the process ended, such as "exit status 4", and ""
// when it was killed. It is called after exited.
func (r *runner) endedItself() string {
	ws, ok := r.state.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL {
		return ""
	}
	return r.state.String()
}

// greeted returns the first line of standard output, and whether it is of the form of
// go-plugin's handshake.
func (r *runner) greeted() (line string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line = string(bytes.TrimSpace(r.greeting))
	fields := strings.Split(line, "|")
	_, err := strconv.Atoi(fields[0])
	return line, err == nil && len(fields) >= 4 //nolint:mnd // CORE|APP|NETWORK|ADDRESS and more
}

// Kill implements go-plugin's AttachedRunner: SIGKILL to the process group. It
// does not wait.
func (r *runner) Kill(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.killed = true
	if r.pid == 0 || r.reaped {
		return nil
	}
	_ = syscall.Kill(-r.pid, syscall.SIGKILL)
	_ = r.cmd.Process.Kill()
	return nil
}

// Wait implements go-plugin's AttachedRunner.
func (r *runner) Wait(context.Context) error {
	<-r.exited
	_ = r.errR.Close()
	return nil
}

// Stdout implements go-plugin's Runner.
func (r *runner) Stdout() io.ReadCloser { return r.hello }

// Stderr implements go-plugin's Runner.
func (r *runner) Stderr() io.ReadCloser { return r.errR }

// Name implements go-plugin's Runner.
func (r *runner) Name() string { return r.name }

// ID implements go-plugin's AttachedRunner.
func (r *runner) ID() string { return strconv.Itoa(r.pid) }

// Diagnose implements go-plugin's Runner.
func (r *runner) Diagnose(context.Context) string { return "" }

// PluginToHost implements go-plugin's AddrTranslator.
func (r *runner) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, nil
}

// HostToPlugin implements go-plugin's AddrTranslator.
func (r *runner) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}
