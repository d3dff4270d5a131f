package memtest

import (
	"os"
	"runtime"
	"testing"
)

func TestOwnMemory(t *testing.T) {
	if _, err := os.Stat("/proc/self/smaps_rollup"); err != nil {
		t.Skip("this test needs /proc")
	}
	before := PeakKiB(os.Getpid())
	b := make([]byte, 64<<20)
	for i := 0; i < len(b); i += 4096 {
		b[i] = byte(i)
	}
	if after := PeakKiB(os.Getpid()); before == 0 || after < 64<<10 || after < before {
		t.Errorf("peak %d KiB, then %d", before, after)
	}
	if n := ShareKiB(os.Getpid()); n < 60<<10 {
		t.Errorf("%d KiB with 64 MiB in use", n)
	}
	runtime.KeepAlive(b)
	if n := PeakKiB(1 << 30); n != 0 {
		t.Errorf("a process that is not there has %d KiB", n)
	}
}
