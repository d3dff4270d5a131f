//go:build unix && !linux

package pluginhost

import (
	"os"
	"syscall"
)

// selfExe is the running program.
func selfExe() string {
	p, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return p
}

func procAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// restrict does nothing: only Linux can limit a process from outside. Go
// plugins still obey GOMEMLIMIT.
func restrict(int, int64) error { return nil }

// awaitExit leaves the waiting to the caller.
func awaitExit(int) bool { return false }

// started is not known here.
func started(int) uint64 { return 0 }

func usage(map[int]bool) map[int]Usage { return nil }

func proportional(int) int64 { return 0 }

const ticksPerSecond = 100

func killAll(groups map[int]bool, _ string, _ uint64) int {
	for pgid := range groups {
		_ = syscall.Kill(-pgid, syscall.SIGKILL)
	}
	return 0
}
