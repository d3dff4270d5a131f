package segment

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/gonutch/crawler/core/internal/store"
	"github.com/gonutch/crawler/sdk/model"
)

// maxRequest bounds what is read of a member to see whether it is the request of the one before.
const maxRequest = 1 << 20

// Member is a WARC record as it lies in a file and what is in it.
type Member struct {
	Packed []byte // the gzip member
	*Record
	Attachment string // name, of what is kept with a document
}

// Reader reads WARC records out of segments' files, which need not be open as segments; one file
// stays open. It is not safe for concurrent use.
type Reader struct {
	fs   store.FS
	dir  string
	name string
	file store.File
}

// NewReader returns a reader of the segments in the folder dir.
func NewReader(fs store.FS, dir string) *Reader { return &Reader{fs: fs, dir: dir} }

// Close closes the file that is open.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

func (r *Reader) open(seg, file string) error {
	name := r.fs.PathJoin(r.dir, seg, file)
	if r.name == name && r.file != nil {
		return nil
	}
	err := r.Close()
	f, oerr := r.fs.Open(name)
	if err := errors.Join(err, oerr); err != nil {
		return err
	}
	r.file, r.name = f, name
	return nil
}

// Member returns the record at a place.
func (r *Reader) Member(seg string, at Place) (Member, error) {
	fail := func(err error) (Member, error) {
		return Member{}, fmt.Errorf("segment %s, file %s at %d: %w", seg, at.File, at.Offset, err)
	}
	if err := r.open(seg, at.File); err != nil {
		return fail(err)
	}
	m := Member{Packed: make([]byte, at.Length)}
	if _, err := r.file.ReadAt(m.Packed, at.Offset); err != nil {
		return fail(err)
	}
	zr, err := gzip.NewReader(bytes.NewReader(m.Packed))
	if err != nil {
		return fail(err)
	}
	raw, err := io.ReadAll(zr)
	if err != nil {
		return fail(err)
	}
	if m.Record, err = ParseRecord(raw); err != nil {
		return fail(err)
	}
	return m, nil
}

// All returns the records of a fetch: the answer, which is at a place, then its request when it was
// captured, then the attachments that the fetch's metadata name.
func (r *Reader) All(seg string, at Place, meta model.Metadata) ([]Member, error) {
	first, err := r.Member(seg, at)
	if err != nil {
		return nil, err
	}
	out := []Member{first}
	if m, ok := r.request(at.Offset+at.Length, first.Get("WARC-Record-ID")); ok {
		out = append(out, m)
	}
	keys := meta.Keys()
	slices.Sort(keys)
	for _, k := range keys {
		name, ok := strings.CutPrefix(k, MetaAttachment)
		if !ok {
			continue
		}
		p, err := ParsePlace(meta.First(k))
		if err != nil {
			return nil, err
		}
		m, err := r.Member(seg, p)
		if err != nil {
			return nil, err
		}
		m.Attachment = name
		out = append(out, m)
	}
	return out, nil
}

// request returns the request record that follows the record with id, which ends at offset, or
// false when another follows or none.
func (r *Reader) request(offset int64, id string) (Member, bool) {
	in := &counter{r: bufio.NewReader(io.NewSectionReader(r.file, offset, maxRequest))}
	zr, err := gzip.NewReader(in)
	if err != nil {
		return Member{}, false
	}
	zr.Multistream(false)
	raw, err := io.ReadAll(io.LimitReader(zr, maxRequest))
	if err != nil {
		return Member{}, false
	}
	rec, err := ParseRecord(raw)
	if err != nil || rec.Get("WARC-Type") != "request" || rec.Get("WARC-Concurrent-To") != id {
		return Member{}, false
	}
	m := Member{Packed: make([]byte, in.n), Record: rec}
	_, err = r.file.ReadAt(m.Packed, offset)
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
