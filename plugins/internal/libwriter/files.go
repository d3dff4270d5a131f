package libwriter

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gonutch/crawler/sdk/fault"
)

// Files writes a sequence of files into a folder: what is written since the last
// Commit stands in temporary files, and Commit gives them their names,
// <number>.<ext>, in order. So each file is whole whatever happens, and what was
// not committed is gone after a crash. The numbers go on where an earlier
// process stopped. Not safe for concurrent use; one process owns a folder.
type Files struct {
	dir     string
	ext     string
	max     int64
	zip     bool
	next    int
	pending []string // temporary files that are written and synced
	f       *os.File
	buf     *bufio.Writer
	gz      *gzip.Writer
	size    int64 // bytes in f before compression
}

const tempSuffix = ".part"

// OpenFiles makes the folder, and removes temporary files that a crash left. A
// file is ended once it has limit bytes (before compression); 0 is no bound.
func OpenFiles(dir, ext string, limit int64, zip bool) (*Files, error) {
	if zip {
		ext += ".gz"
	}
	w := &Files{dir: dir, ext: ext, max: limit, zip: zip, next: 1}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, folderError(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, folderError(err)
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, tempSuffix) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return nil, folderError(err)
			}
			continue
		}
		if n, err := strconv.Atoi(strings.TrimSuffix(name, "."+ext)); err == nil {
			w.next = max(w.next, n+1)
		}
	}
	return w, nil
}

// folderError gives an error its kind: a folder that can't be used is a mistake, a
// full disk passes.
func folderError(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, fs.ErrExist) {
		return fault.New(fault.Invalid, err)
	}
	return fault.New(fault.Transient, err)
}

// Dir returns the folder.
func (w *Files) Dir() string { return w.dir }

// Begin makes sure that a file is open and reports whether it is a new one. A file
// that is full is ended first.
func (w *Files) Begin() (fresh bool, err error) {
	if w.Full() {
		if err := w.End(); err != nil {
			return false, err
		}
	}
	if w.f != nil {
		return false, nil
	}
	w.f, err = os.OpenFile(w.path(w.next+len(w.pending))+tempSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		w.f = nil
		return false, fault.New(fault.Transient, err)
	}
	w.size = 0
	w.buf = bufio.NewWriterSize(w.f, 1<<16)
	if w.zip {
		w.gz = gzip.NewWriter(w.buf)
	}
	return true, nil
}

// Write implements io.Writer on the file that Begin opened.
func (w *Files) Write(p []byte) (int, error) {
	var to io.Writer = w.buf
	if w.zip {
		to = w.gz
	}
	n, err := to.Write(p)
	w.size += int64(n)
	if err != nil {
		return n, fault.New(fault.Transient, err)
	}
	return n, nil
}

func (w *Files) path(n int) string { return filepath.Join(w.dir, fmt.Sprintf("%08d.%s", n, w.ext)) }

// Full reports whether the open file has reached its bound.
func (w *Files) Full() bool { return w.f != nil && w.max > 0 && w.size >= w.max }

// End syncs and closes the open file, if there is one; Begin opens another.
func (w *Files) End() error {
	if w.f == nil {
		return nil
	}
	var err error
	if w.zip {
		err = w.gz.Close()
	}
	err = errors.Join(err, w.buf.Flush(), w.f.Sync(), w.f.Close())
	name := w.f.Name()
	w.f, w.buf, w.gz = nil, nil, nil
	if err != nil {
		return fault.New(fault.Transient, fmt.Errorf("write %s: %w", name, err))
	}
	w.pending = append(w.pending, name)
	return nil
}

// Commit gives what was written its name. After an error nothing of it counts.
func (w *Files) Commit() error {
	if err := w.End(); err != nil {
		return errors.Join(err, w.Discard())
	}
	if len(w.pending) == 0 {
		return nil
	}
	for len(w.pending) > 0 {
		name := w.pending[0]
		if err := os.Rename(name, strings.TrimSuffix(name, tempSuffix)); err != nil {
			return fault.New(fault.Transient, err)
		}
		w.next++
		w.pending = w.pending[1:]
	}
	return syncDir(w.dir)
}

// Discard drops what is not committed.
func (w *Files) Discard() error {
	var errs []error
	if w.f != nil {
		errs = append(errs, w.f.Close(), os.Remove(w.f.Name()))
		w.f, w.buf, w.gz = nil, nil, nil
	}
	for _, name := range w.pending {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	w.pending = nil
	return errors.Join(errs...)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fault.New(fault.Transient, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fault.New(fault.Transient, err)
	}
	return nil
}

// Folder returns where an instance's files go: path, or a folder of the instance's
// name in the plugin's data folder.
func Folder(path, dataDir, name string) (string, error) {
	switch {
	case path != "":
		return path, nil
	case dataDir == "":
		return "", fault.Errorf(fault.Invalid, "no folder to write to: set path")
	}
	return filepath.Join(dataDir, name), nil
}
