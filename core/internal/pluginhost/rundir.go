package pluginhost

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// runPrefix begins the names of the folders that hold the sockets of one run.
// Paths of sockets may have about 100 bytes, so it is short.
const runPrefix = "crawler-run-"

// maxRunPath leaves room for "/plugin-dirNNNNNNNNNN/pluginNNNNNNNNNN" in the
// 107 bytes of a socket's path.
const maxRunPath = 68

// runDir is the private folder of one run. Its owner holds a lock on the file
// in it, so that folders of runs that were killed can be told from others.
type runDir struct {
	path string
	mark string // names the run
	lock *os.File
}

// newRunDir sweeps what killed runs left in parent and makes a new folder,
// readable by nobody else.
func newRunDir(parent string) (*runDir, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	sweep(parent, time.Now())
	var id [6]byte
	_, _ = rand.Read(id[:]) // never fails
	d := &runDir{mark: hex.EncodeToString(id[:])}
	d.path = filepath.Join(parent, runPrefix+d.mark)
	if len(d.path) > maxRunPath {
		return nil, fmt.Errorf("run folder %s: the path is too long for sockets: set TMPDIR to a shorter one", d.path)
	}
	if err := os.Mkdir(d.path, 0o700); err != nil {
		return nil, fmt.Errorf("make folder for plugin sockets: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(d.path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock folder for plugin sockets: %w", err), os.RemoveAll(d.path))
	}
	d.lock = lock
	return d, nil
}

func (d *runDir) remove() error {
	err := os.RemoveAll(d.path)
	_ = d.lock.Close()
	return err
}

// sweep removes the folders of runs whose owner is gone. Fresh folders are
// left alone: their owner may be about to lock them.
func sweep(parent string, now time.Time) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(parent, e.Name())
		info, err := e.Info()
		if err != nil || !e.IsDir() || !strings.HasPrefix(e.Name(), runPrefix) || now.Sub(info.ModTime()) < time.Minute {
			continue
		}
		f, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR, 0)
		if err != nil {
			if errors.Is(err, os.ErrNotExist) {
				_ = os.RemoveAll(path)
			}
			continue // another user's, perhaps
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(path)
		}
		_ = f.Close()
	}
}
