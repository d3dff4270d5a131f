package store

import (
	"github.com/cockroachdb/pebble/v2/vfs"
)

// tableBuffer is how many bytes of a table are written at once.
const tableBuffer = 64 << 10

// tableFile collects what Pebble writes to a table, which it hands over block by
// block: a table is written once, from front to end, and counts for nothing
// until it was synced, so nobody can tell when its bytes went out. Not safe for
// concurrent use, which Pebble makes none of.
type tableFile struct {
	vfs.File
	buf []byte
}

func (f *tableFile) Write(p []byte) (int, error) {
	if len(f.buf)+len(p) > tableBuffer {
		if err := f.flush(); err != nil {
			return 0, err
		}
	}
	if len(p) >= tableBuffer {
		return f.File.Write(p)
	}
	if f.buf == nil {
		f.buf = make([]byte, 0, tableBuffer)
	}
	f.buf = append(f.buf, p...)
	return len(p), nil
}

func (f *tableFile) flush() error {
	if len(f.buf) == 0 {
		return nil
	}
	_, err := f.File.Write(f.buf)
	f.buf = f.buf[:0]
	return err
}

func (f *tableFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f *tableFile) Stat() (vfs.FileInfo, error) {
	if err := f.flush(); err != nil {
		return nil, err
	}
	return f.File.Stat()
}

func (f *tableFile) Sync() error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *tableFile) SyncData() error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.SyncData()
}

func (f *tableFile) SyncTo(length int64) (bool, error) {
	if err := f.flush(); err != nil {
		return false, err
	}
	return f.File.SyncTo(length)
}

func (f *tableFile) Close() error {
	if err := f.flush(); err != nil {
		_ = f.File.Close()
		return err
	}
	return f.File.Close()
}
