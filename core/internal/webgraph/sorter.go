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
	"slices"
)

const (
	maxRuns   = 128       // that are open at a time
	runBuffer = 64 << 10  // bytes, of a run that is read
	outBuffer = 256 << 10 // bytes, of a file that is written
)

// codec says how records of one kind are ordered and stored.
type codec[T any] struct {
	compare func(a, b T) int
	append  func([]byte, T) []byte
	read    func(*bufio.Reader) (T, error) // io.EOF at the end
	size    func(T) int                    // bytes in memory
}

// sorter sorts more records than memory holds: sorted runs on disk, merged when
// they are read. Equal records are kept once. It is not safe for concurrent use.
type sorter[T any] struct {
	codec[T]
	dir    string
	limit  int // bytes of records in memory
	recs   []T
	bytes  int
	runs   []string
	made   int
	buf    []byte
	closed bool
}

func newSorter[T any](dir string, limit int, c codec[T]) *sorter[T] {
	return &sorter[T]{codec: c, dir: dir, limit: limit}
}

func (s *sorter[T]) add(v T) error {
	n := s.size(v)
	if s.bytes+n > s.limit && len(s.recs) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	if s.recs == nil { // of fixed size: no growing by copies
		s.recs = make([]T, 0, min(s.limit/max(n, 1), 1<<16))
	}
	s.recs = append(s.recs, v)
	s.bytes += n
	return nil
}

func (s *sorter[T]) sortMemory() {
	slices.SortFunc(s.recs, s.compare)
	s.recs = slices.CompactFunc(s.recs, func(a, b T) bool { return s.compare(a, b) == 0 })
}

func (s *sorter[T]) spill() error {
	s.sortMemory()
	i := 0
	err := s.writeRun(func() (v T, err error) {
		if i == len(s.recs) {
			return v, io.EOF
		}
		i++
		return s.recs[i-1], nil
	})
	clear(s.recs)
	s.recs, s.bytes = s.recs[:0], 0
	if err != nil || len(s.runs) < maxRuns {
		return err
	}
	old := s.runs
	m, err := s.merge(old)
	if err != nil {
		return err
	}
	s.runs = nil
	if err := errors.Join(s.writeRun(m.next), m.close()); err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("remove sorted run: %w", err)
		}
	}
	return nil
}

func (s *sorter[T]) writeRun(next func() (T, error)) (err error) {
	s.made++
	name := filepath.Join(s.dir, fmt.Sprintf("run-%d", s.made))
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write sorted run: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s.runs = append(s.runs, name)
	w := bufio.NewWriterSize(f, outBuffer)
	for {
		v, err := next()
		if err == io.EOF { //nolint:errorlint // our own functions return it bare
			return w.Flush()
		}
		if err != nil {
			return err
		}
		s.buf = s.append(s.buf[:0], v)
		if _, err := w.Write(s.buf); err != nil {
			return fmt.Errorf("write sorted run: %w", err)
		}
	}
}

// each calls f with the records in order, once, and removes what is on disk.
func (s *sorter[T]) each(f func(T) error) (err error) {
	next, done, err := s.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	for {
		v, err := next()
		if err == io.EOF { //nolint:errorlint // as above
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(v); err != nil {
			return err
		}
	}
}

// open starts reading. done must be called.
func (s *sorter[T]) open() (next func() (T, error), done func() error, err error) {
	if len(s.runs) == 0 {
		s.sortMemory()
		i := 0
		return func() (v T, err error) {
			if i == len(s.recs) {
				return v, io.EOF
			}
			i++
			return s.recs[i-1], nil
		}, s.close, nil
	}
	if len(s.recs) > 0 {
		if err := s.spill(); err != nil {
			return nil, nil, err
		}
	}
	s.recs = nil
	m, err := s.merge(s.runs)
	if err != nil {
		return nil, nil, err
	}
	return m.next, func() error { return errors.Join(m.close(), s.close()) }, nil
}

// close forgets everything; it is safe to call twice.
func (s *sorter[T]) close() error {
	var errs error
	if !s.closed {
		for _, name := range s.runs {
			errs = errors.Join(errs, os.Remove(name))
		}
	}
	s.closed, s.recs, s.runs = true, nil, nil
	return errs
}

// merger reads sorted runs as one; heads is a heap.
type merger[T any] struct {
	c     *codec[T]
	files []*os.File
	heads []head[T]
	last  T
	begun bool
}

type head[T any] struct {
	v T
	r *bufio.Reader
}

func (s *sorter[T]) merge(names []string) (*merger[T], error) {
	m := &merger[T]{c: &s.codec}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read sorted run: %w", err), m.close())
		}
		m.files = append(m.files, f)
		h := head[T]{r: bufio.NewReaderSize(f, runBuffer)}
		if h.v, err = s.read(h.r); err != nil {
			return nil, errors.Join(fmt.Errorf("read sorted run %s: %w", name, err), m.close())
		}
		m.heads = append(m.heads, h)
	}
	for i := len(m.heads)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	return m, nil
}

func (m *merger[T]) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(m.heads) {
			return
		}
		if c+1 < len(m.heads) && m.c.compare(m.heads[c+1].v, m.heads[c].v) < 0 {
			c++
		}
		if m.c.compare(m.heads[i].v, m.heads[c].v) <= 0 {
			return
		}
		m.heads[i], m.heads[c] = m.heads[c], m.heads[i]
		i = c
	}
}

func (m *merger[T]) next() (v T, err error) {
	for len(m.heads) > 0 {
		h := &m.heads[0]
		v = h.v
		h.v, err = m.c.read(h.r)
		switch {
		case err == io.EOF: //nolint:errorlint // codecs return it bare
			last := len(m.heads) - 1
			m.heads[0] = m.heads[last]
			m.heads = m.heads[:last]
		case err != nil:
			return v, fmt.Errorf("read sorted run: %w", err)
		}
		m.down(0)
		if m.begun && m.c.compare(m.last, v) == 0 {
			continue
		}
		m.last, m.begun = v, true
		return v, nil
	}
	return v, io.EOF
}

func (m *merger[T]) close() error {
	var errs error
	for _, f := range m.files {
		errs = errors.Join(errs, f.Close())
	}
	m.files = nil
	return errs
}

// named is a key with a number.
type named struct {
	key string
	n   uint64
}

func namedCodec() codec[named] {
	return codec[named]{
		compare: func(a, b named) int {
			if a.key != b.key {
				if a.key < b.key {
					return -1
				}
				return 1
			}
			return compareUint(a.n, b.n)
		},
		append: func(b []byte, v named) []byte {
			b = binary.AppendUvarint(b, uint64(len(v.key)))
			return binary.LittleEndian.AppendUint64(append(b, v.key...), v.n)
		},
		read: func(r *bufio.Reader) (v named, err error) {
			n, err := binary.ReadUvarint(r)
			if err != nil {
				return v, err
			}
			b := make([]byte, n+8)
			if _, err := io.ReadFull(r, b); err != nil {
				return v, noEOF(err)
			}
			return named{string(b[:n]), binary.LittleEndian.Uint64(b[n:])}, nil
		},
		size: func(v named) int { return len(v.key) + 40 },
	}
}

// namedValue is a named with a value that does not count in the order.
type namedValue struct {
	named
	v float64
}

func namedValueCodec() codec[namedValue] {
	c := namedCodec()
	return codec[namedValue]{
		compare: func(a, b namedValue) int { return c.compare(a.named, b.named) },
		append: func(b []byte, v namedValue) []byte {
			return binary.LittleEndian.AppendUint64(c.append(b, v.named), math.Float64bits(v.v))
		},
		read: func(r *bufio.Reader) (v namedValue, err error) {
			if v.named, err = c.read(r); err != nil {
				return v, err
			}
			var b [8]byte
			_, err = io.ReadFull(r, b[:])
			v.v = math.Float64frombits(binary.LittleEndian.Uint64(b[:]))
			return v, noEOF(err)
		},
		size: func(v namedValue) int { return c.size(v.named) + 8 },
	}
}

func bigEndian(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }

// triple is a number with two more: for inlinks the target, the group of the source
// and the source.
type triple struct {
	a uint32
	g uint64
	b uint32
}

func tripleCodec() codec[triple] {
	return codec[triple]{
		compare: func(x, y triple) int {
			switch {
			case x.a != y.a:
				return compareUint(uint64(x.a), uint64(y.a))
			case x.g != y.g:
				return compareUint(x.g, y.g)
			}
			return compareUint(uint64(x.b), uint64(y.b))
		},
		append: func(b []byte, v triple) []byte {
			b = binary.LittleEndian.AppendUint32(b, v.a)
			b = binary.LittleEndian.AppendUint64(b, v.g)
			return binary.LittleEndian.AppendUint32(b, v.b)
		},
		read: func(r *bufio.Reader) (v triple, err error) {
			b, err := r.Peek(16)
			if len(b) == 0 {
				return v, err
			}
			if len(b) < 16 {
				return v, noEOF(err)
			}
			v = triple{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[4:]), binary.LittleEndian.Uint32(b[12:])}
			_, err = r.Discard(16)
			return v, err
		},
		size: func(triple) int { return 24 },
	}
}

func compareUint(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// noEOF is err, but for a file that ends inside of a record.
func noEOF(err error) error {
	if err == io.EOF { //nolint:errorlint // from bufio
		return io.ErrUnexpectedEOF
	}
	return err
}
