package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"
)

// FS is the file system that the database and the WARC files live on. The
// aliases let other packages use it without importing Pebble.
type (
	FS        = vfs.FS
	File      = vfs.File
	DiskUsage = vfs.DiskUsage
	Category  = vfs.DiskWriteCategory
)

// OSFS returns the operating system's file system.
func OSFS() FS { return vfs.Default }

// NewMemFS returns an empty file system in memory, for tests.
func NewMemFS() FS { return vfs.NewMem() }

// category labels the bytes written by the crawl's own files in Pebble's
// statistics.
const category = vfs.WriteCategoryUnspecified

// Create creates the named file for writing, replacing one that exists.
func Create(fs FS, name string) (File, error) { return fs.Create(name, category) }

// failure is the first failed write of a store.
type failure struct {
	mu     sync.Mutex
	err    error
	failed chan struct{} // closed when err is set
}

func (f *failure) fail(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
		close(f.failed)
	}
	return f.err
}

// Err returns the error that fail was first called with.
func (f *failure) Err() error {
	select {
	case <-f.failed:
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.err
	default:
		return nil
	}
}

// gate is the file system below everything: it passes calls on until a write
// fails, and from then on lets no change through (S3). The WARC writers' gate
// returns that first error. Pebble's does not return: parts of Pebble answer a failed
// write by ending the process, by a panic that nobody can recover because a lock is
// not held that will be unlocked, or by trying again without pause. So
// the goroutine that wrote is parked for the rest of the process, and for
// Pebble time stands still, as in a crash.
type gate struct {
	vfs.FS
	*failure
	park *atomic.Bool // park goroutines instead of returning errors
	// locked says that the crawl directory's lock, held by the store, covers
	// what would be locked, so that a failed store can be let go.
	locked bool
}

// newGates returns Pebble's gate and that of the other files of one store.
func newGates(fs vfs.FS) (pebbles, others *gate) {
	f := &failure{failed: make(chan struct{})}
	return &gate{fs, f, new(atomic.Bool), true}, &gate{fs, f, new(atomic.Bool), false}
}

// check runs op unless the gate is closed, and closes it when op fails.
func (g *gate) check(op func() error) error {
	if err := g.Err(); err != nil {
		return g.refuse(err)
	}
	if err := op(); err != nil {
		return g.refuse(g.fail(err))
	}
	return nil
}

func (g *gate) refuse(err error) error {
	if g.park.Load() {
		select {}
	}
	return err
}

func (g *gate) open(op func() (vfs.File, error)) (vfs.File, error) {
	var f vfs.File
	err := g.check(func() (err error) { f, err = op(); return err })
	if err != nil {
		return nil, err
	}
	return &gateFile{File: f, g: g}, nil
}

func (g *gate) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := g.open(func() (vfs.File, error) { return g.FS.Create(name, c) })
	if err == nil && strings.HasSuffix(name, ".sst") {
		f = &tableFile{File: f}
	}
	return f, err
}

func (g *gate) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return g.open(func() (vfs.File, error) { return g.FS.OpenReadWrite(name, c, opts...) })
}

func (g *gate) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.open(func() (vfs.File, error) { return g.FS.ReuseForWrite(oldname, newname, c) })
}

// OpenDir is for syncing the directory, so its Sync counts as a write.
func (g *gate) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &gateFile{File: f, g: g}, nil
}

func (g *gate) Rename(oldname, newname string) error {
	return g.check(func() error { return g.FS.Rename(oldname, newname) })
}

func (g *gate) MkdirAll(dir string, perm os.FileMode) error {
	return g.check(func() error { return g.FS.MkdirAll(dir, perm) })
}

// Link may fail because a file system knows no links; Pebble then copies. So
// its errors don't close the gate.
func (g *gate) Link(oldname, newname string) error {
	if err := g.Err(); err != nil {
		return g.refuse(err)
	}
	return g.FS.Link(oldname, newname)
}

func (g *gate) Remove(name string) error {
	return g.remove(func() error { return g.FS.Remove(name) })
}

func (g *gate) RemoveAll(name string) error {
	return g.remove(func() error { return g.FS.RemoveAll(name) })
}

func (g *gate) remove(op func() error) error {
	if err := g.Err(); err != nil {
		return g.refuse(err)
	}
	err := op()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return g.refuse(g.fail(err))
	}
	return err
}

// Lock implements FS.
func (g *gate) Lock(name string) (io.Closer, error) {
	if g.locked {
		return io.NopCloser(nil), nil
	}
	return g.FS.Lock(name)
}

func (g *gate) Unwrap() vfs.FS { return g.FS }

type gateFile struct {
	vfs.File
	g *gate
}

func (f *gateFile) Write(p []byte) (n int, err error) {
	err = f.g.check(func() (err error) { n, err = f.File.Write(p); return err })
	return n, err
}

func (f *gateFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.g.check(func() (err error) { n, err = f.File.WriteAt(p, off); return err })
	return n, err
}

func (f *gateFile) Sync() error     { return f.g.check(f.File.Sync) }
func (f *gateFile) SyncData() error { return f.g.check(f.File.SyncData) }

func (f *gateFile) SyncTo(length int64) (full bool, err error) {
	err = f.g.check(func() (err error) { full, err = f.File.SyncTo(length); return err })
	return full, err
}

func (f *gateFile) Preallocate(off, length int64) error {
	return f.g.check(func() error { return f.File.Preallocate(off, length) })
}

// SyncDir makes the entries of dir durable.
func SyncDir(fs FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// WriteFile replaces the named file by data, whole or not at all, durably.
func WriteFile(fs FS, name string, data []byte) error {
	tmp := name + ".tmp"
	f, err := fs.Create(tmp, category)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fs.Rename(tmp, name); err != nil {
		return err
	}
	return SyncDir(fs, fs.PathDir(name))
}

// ReadFile returns the content of the named file, at most limit bytes of it.
func ReadFile(fs FS, name string, limit int64) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, min(st.Size(), limit))
	if len(b) == 0 {
		return b, nil
	}
	if _, err := f.ReadAt(b, 0); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return b, nil
}

// Truncate shortens the named file to n bytes, durably.
func Truncate(fs FS, name string, n int64) error {
	f, err := fs.OpenReadWrite(name, category)
	if err != nil {
		return err
	}
	if fd := f.Fd(); fd != vfs.InvalidFd {
		err = unix.Ftruncate(int(fd), n) //nolint:gosec // a file descriptor is an int
		if err == nil {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return truncateByCopy(fs, name, n)
}

// truncateByCopy is for file systems without file descriptors.
func truncateByCopy(fs FS, name string, n int64) (err error) {
	from, err := fs.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	tmp := name + ".tmp"
	to, err := fs.Create(tmp, category)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, io.NewSectionReader(from, 0, n))
	if err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	if err := fs.Rename(tmp, name); err != nil {
		return err
	}
	return SyncDir(fs, fs.PathDir(name))
}
