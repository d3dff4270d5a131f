package export

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/core/internal/segment"
)

// maxRequest bounds what is read of a member to see whether it is the request of the one before.
const maxRequest = 1 << 20

// source reads members of the segments' WARC files; one file stays open.
type source struct {
	dir  string // crawl directory
	name string
	file *os.File
}

func (s *source) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

func (s *source) open(seg, file string) error {
	name := filepath.Join(s.dir, "segments", seg, file)
	if s.name == name && s.file != nil {
		return nil
	}
	err := s.close()
	f, oerr := os.Open(name)
	if err := errors.Join(err, oerr); err != nil {
		return err
	}
	s.file, s.name = f, name
	return nil
}

// member is a record as it lies in a file and what is in it.
type member struct {
	packed []byte
	*segment.Record
}

func (s *source) member(seg, file string, offset, length int64) (member, error) {
	fail := func(err error) (member, error) {
		return member{}, fmt.Errorf("segment %s, file %s at %d: %w", seg, file, offset, err)
	}
	if err := s.open(seg, file); err != nil {
		return fail(err)
	}
	m := member{packed: make([]byte, length)}
	if _, err := s.file.ReadAt(m.packed, offset); err != nil {
		return fail(err)
	}
	zr, err := gzip.NewReader(bytes.NewReader(m.packed))
	if err != nil {
		return fail(err)
	}
	raw, err := io.ReadAll(zr)
	if err != nil {
		return fail(err)
	}
	if m.Record, err = segment.ParseRecord(raw); err != nil {
		return fail(err)
	}
	return m, nil
}

// request returns the request record that follows the record with id, which ends at offset, or
// false when another follows or none.
func (s *source) request(offset int64, id string) (member, bool) {
	in := &counter{r: bufio.NewReader(io.NewSectionReader(s.file, offset, maxRequest))}
	zr, err := gzip.NewReader(in)
	if err != nil {
		return member{}, false
	}
	zr.Multistream(false)
	raw, err := io.ReadAll(io.LimitReader(zr, maxRequest))
	if err != nil {
		return member{}, false
	}
	r, err := segment.ParseRecord(raw)
	if err != nil || r.Get("WARC-Type") != "request" || r.Get("WARC-Concurrent-To") != id {
		return member{}, false
	}
	m := member{packed: make([]byte, in.n), Record: r}
	_, err = s.file.ReadAt(m.packed, offset)
	return m, err == nil
}

// counter counts the bytes taken from r; as it reads single bytes, too, gzip takes no more than
// it needs.
type counter struct {
	r *bufio.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *counter) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

// all returns the records of a capture: the answer first, then its request and attachments.
func (s *source) all(c *query.Capture) ([]member, error) {
	f := c.Fetch
	first, err := s.member(c.Segment, f.WARC, f.Offset, f.Length)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.URL, err)
	}
	out := []member{first}
	if m, ok := s.request(f.Offset+f.Length, first.Get("WARC-Record-ID")); ok {
		out = append(out, m)
	}
	keys := f.Metadata.Keys()
	slices.Sort(keys)
	for _, k := range keys {
		if !strings.HasPrefix(k, segment.MetaAttachment) {
			continue
		}
		p, err := segment.ParsePlace(f.Metadata.First(k))
		if err != nil {
			return nil, err
		}
		m, err := s.member(c.Segment, p.File, p.Offset, p.Length)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.URL, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// whole is a file that appears under its name when it is whole.
type whole struct {
	name string
	tmp  *os.File
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
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return &whole{name: name, tmp: tmp, w: bufio.NewWriterSize(tmp, 1<<16)}, nil
}

func (o *whole) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	o.n += int64(n)
	return n, err
}

// finish gives the file its name.
func (o *whole) finish() error {
	const mode = 0o644 // as os.Create with the usual umask
	err := errors.Join(o.w.Flush(), o.tmp.Chmod(mode), o.tmp.Sync(), o.tmp.Close())
	if err == nil {
		err = os.Rename(o.tmp.Name(), o.name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", o.name, errors.Join(err, os.Remove(o.tmp.Name())))
	}
	return nil
}

// drop throws the file away.
func (o *whole) drop() { _ = errors.Join(o.tmp.Close(), os.Remove(o.tmp.Name())) }
