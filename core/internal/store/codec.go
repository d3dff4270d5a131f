package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gonutch/crawler/sdk/model"
)

// ErrCorrupt is in the chain of every error about a stored value that can't be
// decoded.
var ErrCorrupt = errors.New("corrupt record")

// Corrupt wraps err as damage of the value under key.
func Corrupt(key []byte, err error) error {
	return fmt.Errorf("%w: key %q: %w", ErrCorrupt, key, err)
}

var (
	errShort   = errors.New("value ends early")
	errTrail   = errors.New("bytes left over")
	errVarint  = errors.New("bad varint")
	errVersion = errors.New("unknown codec version")
	errCount   = errors.New("count larger than the value")
)

// The Append functions write the pieces that Decoder reads. Integers are
// varints, signed ones zigzag; texts are length and bytes; times are
// microseconds since 1970, 0 for the zero time.

// AppendUint appends v.
func AppendUint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

// AppendInt appends v.
func AppendInt(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

// AppendText appends s and its length.
func AppendText[S ~string | ~[]byte](b []byte, s S) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// AppendTime appends t with microsecond resolution.
func AppendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	us := t.UnixMicro()
	if us == 0 { // 0 is taken by the zero time
		us = 1
	}
	return binary.AppendVarint(b, us)
}

// AppendMetadata appends m in key order.
func AppendMetadata(b []byte, m model.Metadata) []byte {
	b = binary.AppendUvarint(b, uint64(len(m)))
	if len(m) == 0 {
		return b
	}
	for _, k := range m.Keys() {
		b = AppendText(b, k)
		b = binary.AppendUvarint(b, uint64(len(m[k])))
		for _, v := range m[k] {
			b = AppendText(b, v)
		}
	}
	return b
}

// Decoder reads what the Append functions wrote. The first failure sticks and
// makes all later reads return zero values; Finish reports it. A Decoder never
// reads past its slice, whatever the bytes are.
type Decoder struct {
	b   []byte
	err error
}

// NewDecoder returns a Decoder of b whose first byte must be a version from 1
// to newest; the version is returned.
func NewDecoder(b []byte, newest byte) (Decoder, byte) {
	d := Decoder{b: b}
	v := d.Byte()
	if d.err == nil && (v == 0 || v > newest) {
		d.fail(fmt.Errorf("%w %d", errVersion, v))
	}
	return d, v
}

// RawDecoder returns a Decoder of b without a version byte.
func RawDecoder(b []byte) Decoder { return Decoder{b: b} }

func (d *Decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.b = nil
}

// Len returns how many bytes are left.
func (d *Decoder) Len() int { return len(d.b) }

// Byte reads one byte.
func (d *Decoder) Byte() byte {
	if len(d.b) == 0 {
		d.fail(errShort)
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

// Uint reads an unsigned integer.
func (d *Decoder) Uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		if len(d.b) == 0 {
			d.fail(errShort)
		} else {
			d.fail(errVarint)
		}
		return 0
	}
	d.b = d.b[n:]
	return v
}

// Int reads a signed integer.
func (d *Decoder) Int() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		if len(d.b) == 0 {
			d.fail(errShort)
		} else {
			d.fail(errVarint)
		}
		return 0
	}
	d.b = d.b[n:]
	return v
}

// Count reads a number of things that take at least min bytes each, so that a
// damaged count can't ask for more memory than the value has bytes.
func (d *Decoder) Count(minBytes int) int {
	v := d.Uint()
	if v > uint64(len(d.b)/max(minBytes, 1)) || v > math.MaxInt32 {
		d.fail(errCount)
		return 0
	}
	return int(v)
}

// Bytes reads a text without copying it; the result shares the value's memory.
func (d *Decoder) Bytes() []byte {
	n := d.Uint()
	if n > uint64(len(d.b)) {
		d.fail(errShort)
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

// Text reads a text.
func (d *Decoder) Text() string { return string(d.Bytes()) }

// Blob reads a copy of a text, nil when it is empty.
func (d *Decoder) Blob() []byte {
	v := d.Bytes()
	if len(v) == 0 {
		return nil
	}
	return append([]byte(nil), v...)
}

// Rest reads everything that is left, without copying.
func (d *Decoder) Rest() []byte {
	v := d.b
	d.b = nil
	return v
}

// Time reads a time, in UTC.
func (d *Decoder) Time() time.Time {
	us := d.Int()
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// Metadata reads metadata; nil when empty.
func (d *Decoder) Metadata() model.Metadata {
	n := d.Count(2)
	if n == 0 {
		return nil
	}
	m := make(model.Metadata, n)
	for range n {
		k := d.Text()
		vs := make([]string, d.Count(1))
		for i := range vs {
			vs[i] = d.Text()
		}
		if d.err != nil {
			return nil
		}
		m[k] = vs
	}
	return m
}

// Finish returns the first failure, or an error when bytes are left over, as
// damage of the value under key.
func (d *Decoder) Finish(key []byte) error {
	if d.err == nil && len(d.b) > 0 {
		d.err = errTrail
	}
	if d.err != nil {
		return Corrupt(key, d.err)
	}
	return nil
}

// Err returns the first failure.
func (d *Decoder) Err() error { return d.err }
