package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Temp is a file or folder in the making: under a hidden name beside the place that it is for, so
// that what appears there is whole. What a killed process leaves of it goes when the next one for
// the same place is made.
type Temp struct {
	Path string
	// File is the file, open for writing; of a folder it only holds the lock by which others
	// see that somebody works on it.
	File *os.File
}

// TempFile begins a file that will be at target.
func TempFile(target string) (*Temp, error) { return newTemp(target, os.CreateTemp) }

// TempDir begins a folder that will be at target.
func TempDir(target string) (*Temp, error) {
	return newTemp(target, func(dir, pattern string) (*os.File, error) {
		path, err := os.MkdirTemp(dir, pattern)
		if err != nil {
			return nil, err
		}
		return os.Open(path)
	})
}

func newTemp(target string, create func(dir, pattern string) (*os.File, error)) (*Temp, error) {
	dir, prefix := filepath.Dir(target), "."+filepath.Base(target)+".partial-"
	sweep(dir, prefix)
	const tries = 10
	for range tries {
		f, err := create(dir, prefix+"*")
		if err != nil {
			return nil, err
		}
		t := &Temp{Path: f.Name(), File: f}
		if t.hold() {
			return t, nil
		}
		if err := t.Remove(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("others take away what is made for %s", target)
}

// hold locks t. It is false when a sweep came before it.
func (t *Temp) hold() bool {
	if err := unix.Flock(int(t.File.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) { //nolint:gosec // a file descriptor
		return false // file systems without locks are not swept
	}
	there, err := os.Stat(t.Path)
	mine, merr := t.File.Stat()
	return err == nil && merr == nil && os.SameFile(there, mine)
}

// sweep removes what nobody holds any more. What can't be removed stays: it is in nobody's way.
func sweep(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil { //nolint:gosec // a file descriptor
			_ = os.RemoveAll(path)
		}
		_ = f.Close()
	}
}

// Done ends the work on what has been moved to its place. A file may be closed before.
func (t *Temp) Done() error {
	if err := t.File.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Remove takes t away.
func (t *Temp) Remove() error { return errors.Join(os.RemoveAll(t.Path), t.Done()) }
