package webgraph

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrBusy says that another process builds or ranks the graph.
var ErrBusy = errors.New("another process builds or ranks this graph; wait for it to end")

// Lock keeps other processes from building or ranking the graph in dir until
// unlock is called or the process ends. Readers need no lock: what is replaced
// stays there for who has it open.
func Lock(dir string) (unlock func() error, err error) {
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("lock graph: %w", err)
	}
	f, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock graph: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil { //nolint:gosec // a file descriptor
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrBusy
		}
		return nil, errors.Join(fmt.Errorf("lock graph %s: %w", dir, err), f.Close())
	}
	return f.Close, nil
}
