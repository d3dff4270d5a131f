package webgraph

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
)

// column writes a file of numbers or keys. After an error it writes nothing, and
// close returns the error.
type column struct {
	f   *os.File
	w   *bufio.Writer
	buf [8]byte
	n   uint64 // bytes
	err error
}

func createColumn(dir, name string) (*column, error) {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("write graph: %w", err)
	}
	return &column{f: f, w: bufio.NewWriterSize(f, outBuffer)}, nil
}

func (c *column) bytes(b []byte) {
	if c.err == nil {
		_, c.err = c.w.Write(b)
	}
	c.n += uint64(len(b))
}

func (c *column) text(s string) {
	if c.err == nil {
		_, c.err = c.w.WriteString(s)
	}
	c.n += uint64(len(s))
}

func (c *column) u32(v uint32) {
	binary.LittleEndian.PutUint32(c.buf[:], v)
	c.bytes(c.buf[:4])
}

func (c *column) u64(v uint64) {
	binary.LittleEndian.PutUint64(c.buf[:], v)
	c.bytes(c.buf[:])
}

func (c *column) f64(v float64) { c.u64(math.Float64bits(v)) }

// close makes the file durable.
func (c *column) close() error {
	err := c.err
	if err == nil {
		err = c.w.Flush()
	}
	if err == nil {
		err = c.f.Sync()
	}
	if err = errors.Join(err, c.f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", c.f.Name(), err)
	}
	return nil
}

func closeAll(cs ...*column) error {
	var errs error
	for _, c := range cs {
		if c != nil {
			errs = errors.Join(errs, c.close())
		}
	}
	return errs
}

// stream reads a column from its beginning. The first error stays and ends it.
type stream struct {
	f   *os.File
	r   *bufio.Reader
	err error
}

func openStream(dir, name string) (*stream, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("read graph: %w", err)
	}
	return &stream{f: f, r: newReader(f)}, nil
}

func (s *stream) take(n int) []byte {
	if s.err != nil {
		return nil
	}
	b, err := s.r.Peek(n)
	if len(b) < n {
		s.err = fmt.Errorf("%s is cut short: %w; build the graph anew: crawler webgraph", s.f.Name(), err)
		return nil
	}
	_, s.err = s.r.Discard(n)
	return b
}

func (s *stream) u32() uint32 {
	if b := s.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (s *stream) u64() uint64 {
	if b := s.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (s *stream) f64() float64 { return math.Float64frombits(s.u64()) }

// key reads up to the next NUL; ok is false at the end of the file and on errors.
func (s *stream) key() (k string, ok bool) {
	if s.err != nil {
		return "", false
	}
	k, err := s.r.ReadString(0)
	switch {
	case err == nil:
		return k[:len(k)-1], true
	case !errors.Is(err, io.EOF) || k != "":
		s.err = fmt.Errorf("read %s: %w", s.f.Name(), noEOF(err))
	}
	return "", false
}

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, outBuffer) }

func (s *stream) close() error { return s.f.Close() }

// rows writes one direction of a graph: links must come by ascending node.
type rows struct {
	off, adj *column
	next     uint32 // node whose row has not begun
	links    uint64
}

func createRows(dir, name string) (*rows, error) {
	off, err := createColumn(dir, name+".off")
	if err != nil {
		return nil, err
	}
	adj, err := createColumn(dir, name+".adj")
	if err != nil {
		return nil, errors.Join(err, off.close())
	}
	return &rows{off: off, adj: adj}, nil
}

func (r *rows) link(node, other uint32) {
	for r.next <= node {
		r.off.u64(r.links)
		r.next++
	}
	r.adj.u32(other)
	r.links++
}

// close ends the rows of a graph of n nodes.
func (r *rows) close(n uint32) error {
	for r.next <= n {
		r.off.u64(r.links)
		r.next++
	}
	return closeAll(r.off, r.adj)
}
