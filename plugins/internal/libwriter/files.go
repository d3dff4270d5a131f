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
	"syscall"

	"github.com/gonutch/crawler/sdk/fault"
)

// Files writes a sequence of files into a folder: what is written since the last
// Commit stands in temporary files, and Commit gives them their names,
// <number>.<ext>, in order. So each file is whole whatever happens, and what was
// not committed is gone after a crash. The numbers go on where an earlier
// process stopped. Not safe for concurrent use; the folder is locked until Close.
type Files struct {
	dir     string
	lock    *os.File
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
		return nil, FolderError(err)
	}
	if err := w.own(); err != nil {
		return nil, err
	}
	if err := w.tidy(); err != nil {
		return nil, errors.Join(FolderError(err), w.lock.Close())
	}
	return w, nil
}

// own locks the folder, so that no other writer takes the same names.
func (w *Files) own() error {
	d, err := os.Open(w.dir)
	if err != nil {
		return FolderError(err)
	}
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = d.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return fault.Param("path", "folder %s: another index_writer writes into it, of this crawl or another", w.dir)
		}
		return FolderError(err)
	}
	w.lock = d
	return nil
}

// tidy removes what a crash left and finds the next number.
func (w *Files) tidy() error {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, part := strings.CutSuffix(e.Name(), tempSuffix)
		digits, ours := strings.CutSuffix(name, "."+w.ext)
		n, err := strconv.Atoi(digits)
		switch {
		case !ours || err != nil: // somebody else's
		case !part:
			w.next = max(w.next, n+1)
		default:
			if err := os.Remove(filepath.Join(w.dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// OpenFolder is OpenFiles in the folder of an instance; see Folder.
func OpenFolder(path, dataDir, name, ext string, limit int64, zip bool) (*Files, error) {
	dir, err := Folder(path, dataDir, name)
	if err != nil {
		return nil, err
	}
	return OpenFiles(dir, ext, limit, zip)
}

// FolderError gives an error of the system about a writer's folder its kind: one that can't be used
// is a mistake, a full disk passes.
func FolderError(err error) error {
	for _, mistake := range []error{
		fs.ErrPermission, fs.ErrInvalid, fs.ErrExist, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.EROFS,
	} {
		if errors.Is(err, mistake) {
			return fault.Param("path", "%w", err)
		}
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
		return fault.New(fault.Transient, errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(name)))
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

// Close drops what is not committed and gives the folder free.
func (w *Files) Close() error {
	return errors.Join(w.Discard(), w.lock.Close())
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
		return "", fault.Param("path", "no folder to write to: set path")
	}
	return filepath.Join(dataDir, name), nil
}
