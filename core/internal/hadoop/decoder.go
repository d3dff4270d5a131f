package hadoop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf16"
)

// ErrCorrupt is in the chain of errors about bytes that are not what they should be.
var ErrCorrupt = errors.New("damaged")

// Decoder takes a serialized Writable apart, as java.io.DataInput does: numbers are big-endian. After the first failure every
// method returns a zero value; ask Err once at the end.
type Decoder struct {
	b   []byte
	at  int
	err error
}

// NewDecoder returns a decoder of b, which it does not copy.
func NewDecoder(b []byte) *Decoder { return &Decoder{b: b} }

// Err returns the first failure.
func (d *Decoder) Err() error { return d.err }

// Fail makes err the decoder's failure unless it has one.
func (d *Decoder) Fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// Left returns how many bytes are left.
func (d *Decoder) Left() int { return len(d.b) - d.at }

// Finish returns the first failure; bytes that are left over are one.
func (d *Decoder) Finish() error {
	if d.err == nil && d.Left() > 0 {
		d.err = fmt.Errorf("%w: %d bytes too many after byte %d", ErrCorrupt, d.Left(), d.at)
	}
	return d.err
}

// Bytes returns the next n bytes, which are not copied.
func (d *Decoder) Bytes(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n < 0 || n > d.Left() {
		d.err = fmt.Errorf("%w: %d bytes wanted at byte %d, there are %d", ErrCorrupt, n, d.at, d.Left())
		return nil
	}
	b := d.b[d.at : d.at+n : d.at+n]
	d.at += n
	return b
}

// Byte reads a byte.
func (d *Decoder) Byte() byte {
	if b := d.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// Int8 reads a byte with its sign.
func (d *Decoder) Int8() int8 { return int8(d.Byte()) } //nolint:gosec // Java's bytes have a sign

// Bool reads a boolean.
func (d *Decoder) Bool() bool { return d.Byte() != 0 }

// Int16 reads a short.
func (d *Decoder) Int16() int16 {
	if b := d.Bytes(2); b != nil {
		return int16(binary.BigEndian.Uint16(b)) //nolint:gosec // with its sign
	}
	return 0
}

// Int32 reads an int.
func (d *Decoder) Int32() int32 {
	if b := d.Bytes(4); b != nil {
		return int32(binary.BigEndian.Uint32(b)) //nolint:gosec // with its sign
	}
	return 0
}

// Int64 reads a long.
func (d *Decoder) Int64() int64 {
	if b := d.Bytes(8); b != nil {
		return int64(binary.BigEndian.Uint64(b)) //nolint:gosec // with its sign
	}
	return 0
}

// Float32 reads a float.
func (d *Decoder) Float32() float32 { return math.Float32frombits(uint32(d.Int32())) } //nolint:gosec // bits

// Float64 reads a double.
func (d *Decoder) Float64() float64 { return math.Float64frombits(uint64(d.Int64())) } //nolint:gosec // bits

// Count reads an int that says how many things follow, each of which takes at least size bytes.
func (d *Decoder) Count(size int) int {
	n := int(d.Int32())
	if d.err == nil && (n < 0 || n > d.Left()/max(size, 1)) {
		d.err = fmt.Errorf("%w: %d things are said to follow byte %d, there are %d bytes", ErrCorrupt, n, d.at, d.Left())
	}
	if d.err != nil {
		return 0
	}
	return n
}

// VInt64 reads a number of one to nine bytes (WritableUtils.writeVLong).
func (d *Decoder) VInt64() int64 {
	first := d.Int8()
	n, negative := vintLength(first)
	if n == 0 {
		return int64(first)
	}
	var v int64
	for _, c := range d.Bytes(n) {
		v = v<<8 | int64(c)
	}
	if negative {
		return ^v
	}
	return v
}

// vintLength returns how many bytes follow the first one of a VInt, 0 when it is the number itself.
func vintLength(first int8) (n int, negative bool) {
	switch {
	case first >= -112:
		return 0, false
	case first < -120:
		return -120 - int(first), true
	}
	return -112 - int(first), false
}

// length reads a VInt that says how many bytes follow.
func (d *Decoder) length() int {
	n := d.VInt64()
	if d.err == nil && (n < 0 || n > int64(d.Left())) {
		d.err = fmt.Errorf("%w: %d bytes are said to follow byte %d, there are %d", ErrCorrupt, n, d.at, d.Left())
	}
	if d.err != nil {
		return 0
	}
	return int(n)
}

// Text reads a Text: its length in bytes as a VInt and UTF-8.
func (d *Decoder) Text() string { return string(d.Bytes(d.length())) }

// UTF reads what DataOutput.writeUTF wrote, and the class UTF8: a length of two bytes and modified UTF-8, which writes NUL with two bytes and
// characters beyond the basic plane as two surrogates of three bytes each.
func (d *Decoder) UTF() string {
	b := d.Bytes(int(uint16(d.Int16()))) //nolint:gosec // the length has no sign
	ascii := true
	for _, c := range b {
		ascii = ascii && c < 0x80
	}
	if ascii {
		return string(b)
	}
	var units []uint16
	for i := 0; i < len(b); {
		c := b[i]
		switch {
		case c < 0x80:
			units = append(units, uint16(c))
			i++
		case c>>5 == 0b110 && i+1 < len(b):
			units = append(units, uint16(c&0x1f)<<6|uint16(b[i+1]&0x3f))
			i += 2
		case c>>4 == 0b1110 && i+2 < len(b):
			units = append(units, uint16(c&0x0f)<<12|uint16(b[i+1]&0x3f)<<6|uint16(b[i+2]&0x3f))
			i += 3
		default:
			d.Fail(fmt.Errorf("%w: no modified UTF-8 before byte %d", ErrCorrupt, d.at))
			return ""
		}
	}
	return string(utf16.Decode(units))
}
