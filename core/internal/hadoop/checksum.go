package hadoop

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// checked compares what is read with a checksum file, as Hadoop's ChecksumFileSystem writes it: "crc\0", how many bytes each sum is of, and a CRC-32 of
// each portion.
type checked struct {
	in   io.Reader
	sums *bufio.Reader
	buf  []byte // one portion
	left []byte // of it, not handed out yet
	at   int64
}

const maxPortion = 1 << 20

func newChecked(in, sums io.Reader) (*checked, error) {
	c := &checked{in: in, sums: bufio.NewReader(sums)}
	var head [8]byte
	if _, err := io.ReadFull(c.sums, head[:]); err != nil {
		return nil, fmt.Errorf("%w: read checksums: %w", ErrCorrupt, noEOF(err))
	}
	n := binary.BigEndian.Uint32(head[4:])
	if string(head[:4]) != "crc\x00" || n == 0 || n > maxPortion {
		return nil, fmt.Errorf("%w: it is no checksum file; remove it when it is of something else", ErrCorrupt)
	}
	c.buf = make([]byte, n)
	return c, nil
}

func (c *checked) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		if err := c.portion(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (c *checked) portion() error {
	n, err := io.ReadFull(c.in, c.buf)
	if n == 0 {
		if _, more := c.sums.ReadByte(); more == nil && errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: it ends at byte %d, and the file beside it (.crc) has checksums of more", ErrCorrupt, c.at)
		}
		return err
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	var sum [4]byte
	if _, err := io.ReadFull(c.sums, sum[:]); err != nil {
		return fmt.Errorf("%w: the checksum file has none for bytes from %d on", ErrCorrupt, c.at)
	}
	if crc32.ChecksumIEEE(c.buf[:n]) != binary.BigEndian.Uint32(sum[:]) {
		return fmt.Errorf("%w: bytes %d to %d have another checksum than the file beside it (.crc) says", ErrCorrupt, c.at, c.at+int64(n))
	}
	c.left = c.buf[:n]
	c.at += int64(n)
	return nil
}
