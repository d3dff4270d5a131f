package export

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/core/internal/segment"
	"github.com/gonutch/crawler/core/internal/store"
)

// source reads records of the segments' WARC files.
type source struct{ *segment.Reader }

func newSource(crawl string) source {
	return source{segment.NewReader(store.OSFS(), filepath.Join(crawl, "segments"))}
}

func place(f *query.Fetched) segment.Place {
	return segment.Place{File: f.WARC, Offset: f.Offset, Length: f.Length}
}

// all returns the records of a capture: the answer first, then its request and attachments.
func (s source) all(c *query.Capture) ([]segment.Member, error) {
	out, err := s.All(c.Segment, place(c.Fetch), c.Fetch.Metadata)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.URL, err)
	}
	return out, nil
}

// whole is a file that appears under its name when it is whole.
type whole struct {
	name string
	tmp  *store.Temp
	w    *bufio.Writer
	n    int64 // bytes written
}

// create begins a file. It fails when there is one of that name.
func create(name string) (*whole, error) {
	if _, err := os.Lstat(name); err == nil {
		return nil, fmt.Errorf("write %s: %w; remove it, or choose another place or prefix", name, fs.ErrExist)
	}
	return replace(name)
}

// replace is create for a file that takes the place of an older one.
func replace(name string) (*whole, error) {
	tmp, err := store.TempFile(name)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return &whole{name: name, tmp: tmp, w: bufio.NewWriterSize(tmp.File, 1<<16)}, nil
}

func (o *whole) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	o.n += int64(n)
	return n, err
}

// finish gives the file its name.
func (o *whole) finish() error {
	const mode = 0o644 // as os.Create with the usual umask
	err := errors.Join(o.w.Flush(), o.tmp.File.Chmod(mode), o.tmp.File.Sync())
	if err == nil {
		err = os.Rename(o.tmp.Path, o.name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", o.name, errors.Join(err, o.tmp.Remove()))
	}
	return o.tmp.Done()
}

// drop throws the file away.
func (o *whole) drop() { _ = o.tmp.Remove() }
