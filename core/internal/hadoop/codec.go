package hadoop

import (
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// codec decompresses one stream after another.
type codec interface {
	// reset begins with a stream. What it returns is valid until the next call.
	reset(r io.Reader) (io.Reader, error)
	close()
}

const codecPackage = "org.apache.hadoop.io.compress."

// newCodec returns the codec of a Java class. limit bounds what a block of it can ask for.
func newCodec(class string, limit int64) (codec, error) {
	all := map[string]func() codec{
		"DefaultCodec":   func() codec { return new(zlibCodec) },
		"DeflateCodec":   func() codec { return new(zlibCodec) },
		"GzipCodec":      func() codec { return new(gzipCodec) },
		"BZip2Codec":     func() codec { return bzip2Codec{} },
		"ZStandardCodec": func() codec { return &zstdCodec{limit: limit} },
		"SnappyCodec":    func() codec { return &framed{unpack: unpackSnappy} },
		"Lz4Codec":       func() codec { return &framed{unpack: unpackLZ4} },
	}
	name, ok := strings.CutPrefix(class, codecPackage)
	if make1 := all[name]; ok && make1 != nil {
		return make1(), nil
	}
	return nil, fmt.Errorf("it is compressed with %s, which can't be read; write it again with one of %s of %s", class,
		strings.Join(slices.Sorted(maps.Keys(all)), ", "), strings.TrimSuffix(codecPackage, "."))
}

type zlibCodec struct{ r io.ReadCloser }

func (c *zlibCodec) reset(r io.Reader) (_ io.Reader, err error) {
	if again, ok := c.r.(zlib.Resetter); ok {
		return c.r, again.Reset(r, nil)
	}
	c.r, err = zlib.NewReader(r)
	return c.r, err
}

func (*zlibCodec) close() {}

type gzipCodec struct{ r gzip.Reader }

func (c *gzipCodec) reset(r io.Reader) (io.Reader, error) { return &c.r, c.r.Reset(r) }
func (*gzipCodec) close()                                 {}

type bzip2Codec struct{}

func (bzip2Codec) reset(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }
func (bzip2Codec) close()                               {}

// minWindow is the window that Zstandard may have whatever the limit of records is, in bytes.
const minWindow = 64 << 20

type zstdCodec struct {
	limit int64
	r     *zstd.Decoder
}

func (c *zstdCodec) reset(r io.Reader) (_ io.Reader, err error) {
	if c.r != nil {
		return c.r, c.r.Reset(r)
	}
	c.r, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(uint64(max(c.limit, minWindow)))) //nolint:gosec // positive
	return c.r, err
}

func (c *zstdCodec) close() {
	if c.r != nil {
		c.r.Close()
	}
}

// unpackSnappy unpacks src into space or more, when it has at most room bytes.
func unpackSnappy(src, space []byte, room int64) ([]byte, error) {
	n, err := s2.DecodedLen(src)
	if err != nil {
		return nil, err
	}
	if int64(n) > room {
		return nil, errTooLong
	}
	return s2.Decode(space[:cap(space)], src)
}

func unpackLZ4(src, space []byte, room int64) ([]byte, error) {
	room = min(room, 255*int64(len(src))+64) // the best that LZ4 can do
	if int64(cap(space)) < room {
		space = make([]byte, room)
	}
	n, err := lz4.UncompressBlock(src, space[:room])
	if err != nil {
		return nil, err
	}
	return space[:n], nil
}

// maxChunk is the most that a chunk may unpack to, in bytes; Hadoop's writers make chunks of 256 KiB.
const maxChunk = 64 << 20

var errTooLong = errors.New("a chunk is longer than its block, or than 64 MiB")

// framed reads Hadoop's framing of codecs without a stream format (BlockCompressorStream): blocks of the length when unpacked, four bytes, and
// chunks of the length when packed, four bytes, and the chunk, until they make up the block.
type framed struct {
	unpack func(src, space []byte, room int64) ([]byte, error)

	in     io.Reader
	block  int64  // bytes that are left of the block
	out    []byte // unpacked and not handed out yet
	packed []byte
	space  []byte
}

func (c *framed) reset(r io.Reader) (io.Reader, error) {
	c.in, c.block, c.out = r, 0, nil
	return c, nil
}

func (*framed) close() {}

func (c *framed) Read(p []byte) (int, error) {
	for len(c.out) == 0 {
		if err := c.chunk(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.out)
	c.out = c.out[n:]
	return n, nil
}

// chunk unpacks the next chunk; it is io.EOF behind the last block.
func (c *framed) chunk() error {
	if c.block == 0 {
		n, err := c.number()
		if err != nil {
			return err
		}
		if n == 0 {
			return io.EOF // how a stream without content is written
		}
		c.block = n
	}
	n, err := c.number()
	if err != nil {
		return noEOF(err)
	}
	if c.packed, err = readN(c.in, n, c.packed); err != nil {
		return err
	}
	if c.space, err = c.unpack(c.packed, c.space, min(c.block, maxChunk)); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	c.out, c.block = c.space, c.block-int64(len(c.space))
	return nil
}

func (c *framed) number() (int64, error) {
	var b [4]byte
	if _, err := io.ReadFull(c.in, b[:]); err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint32(b[:])), nil
}

// noEOF makes the end of a stream an unexpected one.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readN reads n bytes into b or more. Room is made as bytes come, so that a wrong n costs nothing.
func readN(r io.Reader, n int64, b []byte) ([]byte, error) {
	const step = 1 << 20
	b = b[:0]
	for int64(len(b)) < n {
		from, more := len(b), int(min(n-int64(len(b)), max(step, int64(len(b)))))
		b = slices.Grow(b, more)[:from+more]
		if _, err := io.ReadFull(r, b[from:]); err != nil {
			return b, noEOF(err)
		}
	}
	return b, nil
}
