package sdk

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/handshake"
)

// closeGrace is how long a plugin may take to release things once its host is
// gone.
const closeGrace = time.Second

// watchLifeline starts the watch over the pipe that the host holds the other
// end of. Its end means that the host is gone, however it died: release what
// can be released at once, then kill the process group, so that processes
// which this one started go too. The watch lasts as long as the process.
func watchLifeline(release func()) error {
	v := os.Getenv(handshake.EnvLifelineFD)
	if v == "" {
		return nil // started by a host that watches by other means
	}
	fd, err := strconv.Atoi(v)
	if err != nil || fd < 3 {
		return fault.Errorf(fault.Invalid, "%s=%q: want the number of an inherited pipe", handshake.EnvLifelineFD, v)
	}
	closeOnExec(fd)
	f := os.NewFile(uintptr(fd), "lifeline")
	if _, err := f.Stat(); err != nil {
		return fault.New(fault.Invalid, fmt.Errorf("%s=%q: %w", handshake.EnvLifelineFD, v, err))
	}
	go func() {
		_, _ = io.Copy(io.Discard, f)
		done := make(chan struct{})
		go func() { defer close(done); release() }()
		select {
		case <-done:
		case <-time.After(closeGrace):
		}
		killGroup()
	}()
	return nil
}
