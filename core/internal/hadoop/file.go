package hadoop

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Options bound what is read.
type Options struct {
	// MaxRecord is the longest record, key and value unpacked, in bytes; 0 is 256 MiB.
	MaxRecord int64
}

// FileError says where in which file something is wrong.
type FileError struct {
	File   string
	Offset int64 // of the record, or of the block with it
	Record int64 // number of the record, from 1; 0 in the head of the file
	Err    error
}

// Error implements error.
func (e *FileError) Error() string {
	where := "its head"
	if e.Record > 0 {
		where = fmt.Sprintf("record %d", e.Record)
	}
	return fmt.Sprintf("%s: %s, at byte %d: %v", e.File, where, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// File is an open SequenceFile.
type File struct {
	Name       string
	Version    int
	KeyClass   string
	ValueClass string
	Codec      string // Java class; empty when nothing is compressed
	Blocks     bool   // compressed in blocks of many records
	Metadata   map[string]string

	o      Options
	src    io.Closer
	in     *bufio.Reader
	at     int64 // bytes read
	size   int64 // of the file
	sync   [16]byte
	start  int64 // where the present record or block begins
	record int64 // records read
	codecs [4]codec
	raw    []byte // the record as it lies in the file
	value  []byte // unpacked
	block  block
}

// Open opens a SequenceFile on a local disk. When there is a checksum file beside it, every byte is compared with it.
func Open(name string, o Options) (*File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	var r io.Reader = f
	closers := closers{f}
	sums, err := os.Open(filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".crc"))
	switch {
	case err == nil:
		closers = append(closers, sums)
		if r, err = newChecked(f, sums); err != nil {
			return nil, errors.Join(&FileError{File: sums.Name(), Err: err}, closers.Close())
		}
	case !errors.Is(err, os.ErrNotExist):
		return nil, errors.Join(err, closers.Close())
	}
	file, err := newFile(name, r, st.Size(), o)
	if err != nil {
		return nil, errors.Join(err, closers.Close())
	}
	file.src = closers
	return file, nil
}

// newFile reads the head of a SequenceFile of size bytes.
func newFile(name string, r io.Reader, size int64, o Options) (*File, error) {
	if o.MaxRecord <= 0 {
		o.MaxRecord = 256 << 20
	}
	f := &File{Name: name, o: o, in: bufio.NewReaderSize(r, 64<<10), size: size}
	if err := f.head(); err != nil {
		return nil, &FileError{File: name, Offset: f.at, Err: noEOF(err)}
	}
	return f, nil
}

// Size returns the file's length, and how many bytes of it were read, in bytes.
func (f *File) Size() (total, read int64) { return f.size, f.at }

// Close closes the file.
func (f *File) Close() error {
	for _, c := range f.codecs {
		if c != nil {
			c.close()
		}
	}
	if f.src == nil {
		return nil
	}
	return f.src.Close()
}

// Next returns the next record, key and value as their classes wrote them, or io.EOF. They are valid until the next call.
// Other errors are FileErrors.
func (f *File) Next() (key, value []byte, err error) {
	if f.Blocks {
		key, value, err = f.nextInBlock()
	} else {
		key, value, err = f.next()
	}
	if err == nil {
		f.record++
		return key, value, nil
	}
	if errors.Is(err, errEnd) {
		return nil, nil, io.EOF
	}
	return nil, nil, f.Wrong(noEOF(err))
}

// Wrong returns an error about the record that Next returned last, or failed on.
func (f *File) Wrong(err error) error {
	var already *FileError
	if errors.As(err, &already) {
		return err
	}
	return &FileError{File: f.Name, Offset: f.start, Record: max(f.record, 1), Err: err}
}

// errEnd is the end of the file where a record may begin.
var errEnd = errors.New("end of file")

// read reads n bytes of the file.
func (f *File) read(n int64, b []byte) ([]byte, error) {
	if n < 0 || n > f.size-f.at {
		return b, fmt.Errorf("%w: %d bytes are wanted at byte %d, the file has %d", ErrCorrupt, n, f.at, f.size)
	}
	b, err := readN(f.in, n, b)
	f.at += int64(len(b))
	return b, err
}

func (f *File) int32() (int64, error) {
	var space [4]byte
	b, err := f.read(4, space[:0])
	if err != nil {
		return 0, err
	}
	return int64(NewDecoder(b).Int32()), nil
}

func (f *File) vint() (int64, error) {
	n, read, err := readVInt(f.in)
	f.at += int64(read)
	return n, err
}

// readVInt reads a VInt and says how many bytes it has.
func readVInt(r io.ByteReader) (int64, int, error) {
	var b [9]byte
	first, err := r.ReadByte()
	if err != nil {
		return 0, 0, noEOF(err)
	}
	b[0] = first
	n, _ := vintLength(int8(first)) //nolint:gosec // Java's bytes have a sign
	for i := range n {
		if b[1+i], err = r.ReadByte(); err != nil {
			return 0, 1 + i, noEOF(err)
		}
	}
	return NewDecoder(b[:1+n]).VInt64(), 1 + n, nil
}

// Versions of the format, by what they brought.
const (
	versionSync     = 2
	versionBlocks   = 4
	versionCodec    = 5
	versionMetadata = 6
)

func (f *File) head() error {
	magic, err := f.read(4, nil)
	if err != nil || string(magic[:3]) != "SEQ" {
		return fmt.Errorf("%w: it is no SequenceFile", ErrCorrupt)
	}
	if f.Version = int(magic[3]); f.Version < 1 || f.Version > versionMetadata {
		return fmt.Errorf("%w: it has version %d; 1 to %d can be read", ErrCorrupt, f.Version, versionMetadata)
	}
	for _, class := range []*string{&f.KeyClass, &f.ValueClass} {
		if *class, err = f.name(); err != nil {
			return err
		}
	}
	packed := false
	for i, on := range []*bool{&packed, &f.Blocks} {
		if f.Version > versionSync && (i == 0 || f.Version >= versionBlocks) {
			b, err := f.read(1, nil)
			if err != nil {
				return err
			}
			*on = b[0] != 0
		}
	}
	if f.Blocks && !packed {
		return fmt.Errorf("%w: it has blocks that are not compressed", ErrCorrupt)
	}
	if packed {
		f.Codec = codecPackage + "DefaultCodec"
		if f.Version >= versionCodec {
			if f.Codec, err = f.text(); err != nil {
				return err
			}
		}
		for i := range f.codecs {
			if f.codecs[i], err = newCodec(f.Codec, f.o.MaxRecord); err != nil {
				return err
			}
		}
	}
	if err := f.metadata(); err != nil || f.Version < versionSync {
		return err
	}
	sync, err := f.read(int64(len(f.sync)), nil)
	copy(f.sync[:], sync)
	return err
}

// name reads the name of a class.
func (f *File) name() (string, error) {
	if f.Version >= versionBlocks {
		return f.text()
	}
	length, err := f.read(2, nil)
	if err != nil {
		return "", err
	}
	length = bytes.Clone(length)
	b, err := f.read(int64(length[0])<<8|int64(length[1]), nil)
	if err != nil {
		return "", err
	}
	return NewDecoder(append(length, b...)).UTF(), nil
}

func (f *File) text() (string, error) {
	n, err := f.vint()
	if err != nil {
		return "", err
	}
	b, err := f.read(n, nil)
	return string(b), err
}

func (f *File) metadata() error {
	if f.Version < versionMetadata {
		return nil
	}
	n, err := f.int32()
	if err != nil {
		return err
	}
	if n < 0 || n > (f.size-f.at)/2 {
		return fmt.Errorf("%w: %d entries of metadata", ErrCorrupt, n)
	}
	f.Metadata = map[string]string{}
	for range n {
		k, err := f.text()
		if err != nil {
			return err
		}
		if f.Metadata[k], err = f.text(); err != nil {
			return err
		}
	}
	return nil
}

// escape stands before a sync mark, where the length of a record would be.
const escape = -1

// length reads the length of a record; before it there may be a sync mark.
func (f *File) length() (int64, error) {
	f.start = f.at
	if f.at == f.size {
		return 0, f.end()
	}
	n, err := f.int32()
	if err != nil || n != escape || f.Version < versionSync {
		return n, err
	}
	if err := f.mark(); err != nil {
		return 0, err
	}
	f.start = f.at
	if f.at == f.size {
		return 0, f.end()
	}
	return f.int32()
}

// end is errEnd, or what is found wrong when the file is read to its end.
func (f *File) end() error {
	if _, err := f.in.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return errEnd
}

// mark reads a sync mark.
func (f *File) mark() error {
	b, err := f.read(int64(len(f.sync)), nil)
	if err != nil {
		return err
	}
	if !bytes.Equal(b, f.sync[:]) {
		return fmt.Errorf("%w: there is no sync mark at byte %d", ErrCorrupt, f.at-int64(len(f.sync)))
	}
	return nil
}

// next reads a record that stands by itself.
func (f *File) next() (key, value []byte, err error) {
	n, err := f.length()
	if err != nil {
		return nil, nil, f.failed(err)
	}
	k, err := f.int32()
	if err != nil {
		return nil, nil, f.failed(err)
	}
	if n < 0 || k < 0 || k > n {
		return nil, nil, f.failed(fmt.Errorf("%w: the record has %d bytes, its key %d", ErrCorrupt, n, k))
	}
	if n > f.o.MaxRecord {
		return nil, nil, f.failed(tooLong(n, f.o.MaxRecord))
	}
	if f.raw, err = f.read(n, f.raw); err != nil {
		return nil, nil, f.failed(err)
	}
	key, value = f.raw[:k:k], f.raw[k:]
	if f.Codec != "" {
		r, err := f.codecs[0].reset(bytes.NewReader(value))
		if err == nil {
			f.value, err = readAll(r, f.o.MaxRecord-k, f.value)
		}
		if err != nil {
			return nil, nil, f.failed(unpacking(err))
		}
		value = f.value
	}
	return key, value, nil
}

// failed counts the record that could not be read, so that Wrong names it.
func (f *File) failed(err error) error {
	if !errors.Is(err, errEnd) {
		f.record++
	}
	return err
}

func tooLong(n, limit int64) error {
	return fmt.Errorf("the record has %d bytes, more than the limit of %d", n, limit)
}

// unpacking makes what a decompressor says an error about a damaged file.
func unpacking(err error) error {
	var long *limitError
	if errors.Is(err, ErrCorrupt) || errors.As(err, &long) {
		return err
	}
	return fmt.Errorf("%w: decompress: %w", ErrCorrupt, noEOF(err))
}

type limitError struct{ limit int64 }

func (e *limitError) Error() string {
	return fmt.Sprintf("the record unpacks to more than the limit of %d bytes", e.limit)
}

// readAll reads all of r into b or more, at most limit bytes.
func readAll(r io.Reader, limit int64, b []byte) ([]byte, error) {
	b = b[:0]
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if int64(len(b)) > limit {
			return b, &limitError{limit}
		}
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

type closers []io.Closer

func (c closers) Close() error {
	var errs []error
	for _, x := range c {
		errs = append(errs, x.Close())
	}
	return errors.Join(errs...)
}
