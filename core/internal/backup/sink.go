package backup

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// sink takes the files of a backup. After commit they are where they belong, after
// abort nothing is left.
type sink interface {
	// put stores the size bytes of r. With link it may use a link instead, and reads r
	// even so.
	put(name string, size int64, r io.Reader, link func(to string) error) (linked bool, err error)
	commit() error
	abort() error
}

func newSink(to string) (sink, error) {
	tmp := "." + filepath.Base(to) + ".*"
	if !strings.HasSuffix(to, ".tar") {
		dir, err := os.MkdirTemp(filepath.Dir(to), tmp)
		return &folder{dir: dir, to: to, made: map[string]bool{}}, err
	}
	f, err := os.CreateTemp(filepath.Dir(to), tmp)
	if err != nil {
		return nil, err
	}
	return &archive{f: f, w: tar.NewWriter(f), to: to}, nil
}

type folder struct {
	dir, to string
	made    map[string]bool
}

func (s *folder) put(name string, _ int64, r io.Reader, link func(string) error) (bool, error) {
	to := filepath.Join(s.dir, filepath.FromSlash(name))
	if dir := filepath.Dir(to); !s.made[dir] {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return false, err
		}
		s.made[dir] = true
	}
	if link != nil && link(to) == nil {
		_, err := io.Copy(io.Discard, r)
		return true, err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return false, err
	}
	_, err = io.Copy(f, r)
	if err == nil {
		err = f.Sync()
	}
	return false, errors.Join(err, f.Close())
}

func (s *folder) commit() error {
	err := os.Chmod(s.dir, 0o755)
	for dir := range s.made {
		err = errors.Join(err, syncDir(dir))
	}
	if err == nil {
		err = os.Rename(s.dir, s.to) // fails on a folder with content
	}
	if err != nil {
		return errors.Join(err, s.abort())
	}
	return syncDir(filepath.Dir(s.to))
}

func (s *folder) abort() error { return os.RemoveAll(s.dir) }

type archive struct {
	f  *os.File
	w  *tar.Writer
	to string
}

func (s *archive) put(name string, size int64, r io.Reader, _ func(string) error) (bool, error) {
	err := s.w.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o644, ModTime: time.Now().Truncate(time.Second), Format: tar.FormatPAX})
	if err == nil {
		_, err = io.Copy(s.w, r)
	}
	return false, err
}

func (s *archive) commit() error {
	err := s.w.Close()
	if err == nil {
		err = s.f.Sync()
	}
	if err = errors.Join(err, s.f.Close()); err == nil {
		err = os.Link(s.f.Name(), s.to) // unlike a rename it replaces nothing
	}
	err = errors.Join(err, os.Remove(s.f.Name()))
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(s.to))
}

func (s *archive) abort() error { return errors.Join(s.f.Close(), os.Remove(s.f.Name())) }

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
