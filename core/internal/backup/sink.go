package backup

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gonutch/crawler/core/internal/store"
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
	if !strings.HasSuffix(to, ".tar") {
		tmp, err := store.TempDir(to)
		if err != nil {
			return nil, err
		}
		return &folder{dir: tmp.Path, tmp: tmp, to: to, made: map[string]bool{}}, nil
	}
	tmp, err := store.TempFile(to)
	if err != nil {
		return nil, err
	}
	return &archive{tmp: tmp, w: tar.NewWriter(tmp.File), to: to}, nil
}

type folder struct {
	dir, to string
	tmp     *store.Temp // dir's; nil when others see to it
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

// sync makes the folder's entries durable.
func (s *folder) sync() (err error) {
	for dir := range s.made {
		err = errors.Join(err, syncDir(dir))
	}
	return err
}

func (s *folder) commit() error {
	err := errors.Join(os.Chmod(s.dir, 0o755), s.sync())
	if err == nil {
		err = os.Rename(s.dir, s.to) // fails on a folder with content
	}
	if err != nil {
		return errors.Join(err, s.abort())
	}
	return errors.Join(s.tmp.Done(), syncDir(filepath.Dir(s.to)))
}

func (s *folder) abort() error { return s.tmp.Remove() }

type archive struct {
	tmp *store.Temp
	w   *tar.Writer
	to  string
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
		err = s.tmp.File.Sync()
	}
	if err == nil {
		err = os.Link(s.tmp.Path, s.to) // unlike a rename it replaces nothing
	}
	if err = errors.Join(err, s.tmp.Remove()); err != nil {
		return err
	}
	return syncDir(filepath.Dir(s.to))
}

func (s *archive) abort() error { return s.tmp.Remove() }

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
