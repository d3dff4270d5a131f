// Package memtest tells tests and benchmarks how much memory processes take. It owns reading
// /proc; it must not know what is measured.
package memtest

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// PeakKiB is the most memory (VmHWM) that a process had, in KiB; 0 where there is no /proc or no
// such process any more.
func PeakKiB(pid int) int64 { return field(pid, "status", "VmHWM") }

// ShareKiB is the memory that a process has now, in KiB; pages that it shares with others count
// in parts (PSS). 0 as for PeakKiB.
func ShareKiB(pid int) int64 { return field(pid, "smaps_rollup", "Pss") }

func field(pid int, file, name string) (n int64) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), name+":"); ok {
			_, _ = fmt.Sscan(rest, &n)
			break
		}
	}
	return n
}
