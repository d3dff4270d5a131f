package hadoop

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// block is a block of records: four streams with the lengths of keys, the keys, the lengths of values, the values.
type block struct {
	left    int64 // records
	packed  [4][]byte
	streams [4]*bufio.Reader
	key     []byte
}

// Streams of a block.
const (
	keyLengths = iota
	keys
	valueLengths
	values
)

// nextInBlock reads a record of a block.
func (f *File) nextInBlock() (key, value []byte, err error) {
	for f.block.left == 0 {
		if err := f.nextBlock(); err != nil {
			return nil, nil, f.failed(err)
		}
	}
	b := &f.block
	b.left--
	if b.key, err = f.part(keyLengths, keys, f.o.MaxRecord, b.key); err == nil {
		f.value, err = f.part(valueLengths, values, f.o.MaxRecord-int64(len(b.key)), f.value)
	}
	if err == nil && b.left == 0 {
		err = f.endBlock()
	}
	if err != nil {
		return nil, nil, f.failed(unpacking(err))
	}
	return b.key, f.value, nil
}

// part reads a key or value.
func (f *File) part(lengths, stream int, limit int64, into []byte) ([]byte, error) {
	n, _, err := readVInt(f.block.streams[lengths])
	if err != nil {
		return into, err
	}
	if n < 0 {
		return into, fmt.Errorf("%w: a part of the record has %d bytes", ErrCorrupt, n)
	}
	if n > limit {
		return into, &limitError{limit}
	}
	return readN(f.block.streams[stream], n, into)
}

func (f *File) nextBlock() error {
	f.start = f.at
	if f.at == f.size {
		return f.end()
	}
	n, err := f.int32()
	if err != nil {
		return err
	}
	if n != escape {
		return fmt.Errorf("%w: no sync mark before a block", ErrCorrupt)
	}
	if err := f.mark(); err != nil {
		return err
	}
	if f.at == f.size {
		return f.end() // a mark at the end, as a writer that was asked for one leaves it
	}
	if n, err = f.vint(); err != nil {
		return err
	}
	if n < 0 {
		return fmt.Errorf("%w: a block of %d records", ErrCorrupt, n)
	}
	for i := range f.block.packed {
		length, err := f.vint()
		if err != nil {
			return err
		}
		if f.block.packed[i], err = f.read(length, f.block.packed[i]); err != nil {
			return err
		}
		r, err := f.codecs[i].reset(bytes.NewReader(f.block.packed[i]))
		if err != nil {
			return unpacking(err)
		}
		if f.block.streams[i] == nil {
			f.block.streams[i] = bufio.NewReaderSize(nil, 16<<10)
		}
		f.block.streams[i].Reset(r)
	}
	f.block.left = n
	return nil
}

// endBlock makes sure that the streams end with the last record; what codecs have as checksums is compared then.
func (f *File) endBlock() error {
	for _, s := range f.block.streams {
		switch _, err := s.ReadByte(); {
		case err == nil:
			return fmt.Errorf("%w: the block has more bytes than its records", ErrCorrupt)
		case !errors.Is(err, io.EOF):
			return err
		}
	}
	return nil
}
