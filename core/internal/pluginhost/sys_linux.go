package pluginhost

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// selfExe is the running program, also when its file was replaced since.
func selfExe() string { return "/proc/self/exe" }

// procAttr puts a plugin into a session and process group of its own, and lets
// the kernel kill it when the thread that started it ends.
func procAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// dataSlack is what runtimes map and hardly touch.
const dataSlack = 256 << 20

// restrict bounds what a started process may take. RLIMIT_DATA is well above
// the limit: it stops what grows too fast for the watch. (RLIMIT_AS would hit
// runtimes that only reserve address space.) When memory of the machine runs
// out, the kernel takes plugins before the core.
func restrict(pid int, memory int64) error {
	if memory > 0 {
		data := uint64(memory)*2 + dataSlack
		if err := unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: data, Max: data}, nil); err != nil {
			return fmt.Errorf("limit memory of process %d: %w", pid, err)
		}
	}
	core := &unix.Rlimit{}
	_ = unix.Prlimit(pid, unix.RLIMIT_CORE, core, nil)
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("500"), 0)
	return nil
}

// awaitExit blocks until the child pid has ended, and leaves it unreaped: as
// long as it is a zombie, its process group can't be somebody else's. It
// reports whether it could do so.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// procStat is what is needed of /proc/PID/stat.
type procStat struct {
	pid, ppid     int
	pgrp, session int
	state         byte
	ticks         uint64 // user and system time, waited-for children included
	started       uint64 // clock ticks since the machine started
	rssPages      int64
}

func readStat(pid int) (procStat, bool) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return procStat{}, false
	}
	var buf [1024]byte // one read: these files are short, and every process is looked at
	n, err := unix.Read(fd, buf[:])
	_ = unix.Close(fd)
	if err != nil {
		return procStat{}, false
	}
	return parseStat(buf[:n])
}

// parseStat reads a line of /proc/PID/stat; see proc_pid_stat(5). The name in
// parentheses may hold anything.
func parseStat(b []byte) (procStat, bool) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return procStat{}, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:open])))
	f := strings.Fields(string(b[end+1:]))
	if err != nil || len(f) < 22 || len(f[0]) != 1 {
		return procStat{}, false
	}
	num := func(i int) int64 { n, _ := strconv.ParseInt(f[i], 10, 64); return n }
	return procStat{
		pid: pid, state: f[0][0], ppid: int(num(1)), started: uint64(num(19)), pgrp: int(num(2)), session: int(num(3)),
		ticks: uint64(num(11) + num(12) + num(13) + num(14)), rssPages: num(21),
	}, true
}

// started returns when the process was started, in clock ticks; 0 when there
// is none.
func started(pid int) uint64 {
	st, _ := readStat(pid)
	return st.started
}

// ticksPerSecond is USER_HZ, which Linux fixes at 100 on all Go platforms.
const ticksPerSecond = 100

func pids() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = d.Close() }()
	names, _ := d.Readdirnames(-1)
	out := make([]int, 0, len(names))
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// usage sums what the processes of each session take, by session.
func usage(sessions map[int]bool) map[int]Usage {
	out := make(map[int]Usage, len(sessions))
	page := int64(os.Getpagesize())
	for _, pid := range pids() {
		st, ok := readStat(pid)
		if !ok || !sessions[st.session] || st.state == 'Z' {
			continue
		}
		u := out[st.session]
		u.Processes++
		u.RSS += st.rssPages * page
		u.ticks += st.ticks
		out[st.session] = u
	}
	return out
}

// proportional sums the session's memory with shared pages counted in parts.
func proportional(session int) int64 {
	var sum int64
	for _, pid := range pids() {
		if st, ok := readStat(pid); !ok || st.session != session {
			continue
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
				kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
				sum += kb << 10
			}
		}
	}
	return sum
}

// kernelThreads is the parent of all threads of the kernel.
const kernelThreads = 2

// killAll kills every process that is in one of the sessions or groups or bears
// the mark: its environment has envRun=mark, or mark with a dot and a number
// after it. The mark is looked for in processes that were started since then,
// in clock ticks. It returns how many it found alive. The caller itself is
// spared.
func killAll(groups map[int]bool, mark string, since uint64) int {
	self, n := os.Getpid(), 0
	want := []byte(envRun + "=" + mark)
	for _, pid := range pids() {
		if pid == self || pid == 1 {
			continue
		}
		st, ok := readStat(pid)
		if !ok || st.state == 'Z' {
			continue
		}
		if !groups[st.session] && !groups[st.pgrp] && (st.started < since || st.ppid == kernelThreads || !marked(pid, want)) {
			continue
		}
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			n++
		}
	}
	return n
}

func marked(pid int, want []byte) bool {
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return false
	}
	for len(env) > 0 {
		v, rest, _ := bytes.Cut(env, []byte{0})
		if tail, ok := bytes.CutPrefix(v, want); ok && (len(tail) == 0 || tail[0] == '.') {
			return true
		}
		env = rest
	}
	return false
}
