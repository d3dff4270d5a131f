package hadoop

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
)

// Values of Writables, which print as Java prints them.
type (
	Text     string
	Int      int64 // of all widths
	Float    float32
	Double   float64
	Bool     bool
	Bytes    []byte
	Null     struct{}
	MD5      [16]byte
	MapValue []Entry
)

// Entry is one entry of a MapWritable.
type Entry struct{ Key, Value fmt.Stringer }

// String implements fmt.Stringer.
func (v Text) String() string { return string(v) }

// String implements fmt.Stringer.
func (v Int) String() string { return strconv.FormatInt(int64(v), 10) }

// String implements fmt.Stringer.
func (v Float) String() string { return javaFloat(float64(v), 32) }

// String implements fmt.Stringer.
func (v Double) String() string { return javaFloat(float64(v), 64) }

// String implements fmt.Stringer.
func (v Bool) String() string { return strconv.FormatBool(bool(v)) }

// String implements fmt.Stringer.
func (v Null) String() string { return "(null)" }

// String implements fmt.Stringer.
func (v MD5) String() string { return hex.EncodeToString(v[:]) }

// String returns the bytes as pairs of hexadecimal digits with blanks between.
func (v Bytes) String() string {
	var b strings.Builder
	for i, c := range v {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%02x", c)
	}
	return b.String()
}

// String implements fmt.Stringer.
func (v MapValue) String() string {
	var parts []string
	for _, e := range v {
		parts = append(parts, e.Key.String()+"="+e.Value.String())
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// javaFloat prints v as Float.toString and Double.toString do.
func javaFloat(v float64, bits int) string {
	switch abs := math.Abs(v); {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 0):
		return strings.TrimPrefix(strconv.FormatFloat(v, 'f', -1, bits), "+") + "inity"
	case abs != 0 && (abs < 1e-3 || abs >= 1e7):
		digits, exp, _ := strings.Cut(strconv.FormatFloat(v, 'E', -1, bits), "E")
		if !strings.Contains(digits, ".") {
			digits += ".0"
		}
		n, _ := strconv.Atoi(exp)
		return digits + "E" + strconv.Itoa(n)
	}
	s := strconv.FormatFloat(v, 'f', -1, bits)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// Read reads the value of a class.
type Read func(d *Decoder) fmt.Stringer

// Classes say how the values of Java classes are read, by their names.
type Classes map[string]Read

const ioPackage = "org.apache.hadoop.io."

// Standard returns the classes of org.apache.hadoop.io that can be values of a MapWritable.
func Standard() Classes {
	c := Classes{}
	for name, read := range map[string]Read{
		"Text":            func(d *Decoder) fmt.Stringer { return Text(d.Text()) },
		"UTF8":            func(d *Decoder) fmt.Stringer { return Text(d.UTF()) },
		"BooleanWritable": func(d *Decoder) fmt.Stringer { return Bool(d.Bool()) },
		"ByteWritable":    func(d *Decoder) fmt.Stringer { return Int(d.Int8()) },
		"ShortWritable":   func(d *Decoder) fmt.Stringer { return Int(d.Int16()) },
		"IntWritable":     func(d *Decoder) fmt.Stringer { return Int(d.Int32()) },
		"LongWritable":    func(d *Decoder) fmt.Stringer { return Int(d.Int64()) },
		"VIntWritable":    func(d *Decoder) fmt.Stringer { return Int(d.VInt64()) },
		"VLongWritable":   func(d *Decoder) fmt.Stringer { return Int(d.VInt64()) },
		"FloatWritable":   func(d *Decoder) fmt.Stringer { return Float(d.Float32()) },
		"DoubleWritable":  func(d *Decoder) fmt.Stringer { return Double(d.Float64()) },
		"NullWritable":    func(*Decoder) fmt.Stringer { return Null{} },
		"BytesWritable":   func(d *Decoder) fmt.Stringer { return Bytes(append([]byte(nil), d.Bytes(d.Count(1))...)) },
		"MD5Hash": func(d *Decoder) fmt.Stringer {
			var v MD5
			copy(v[:], d.Bytes(len(v)))
			return v
		},
	} {
		c[ioPackage+name] = read
	}
	return c
}

// With returns c and more; more wins.
func (c Classes) With(more Classes) Classes {
	c = maps.Clone(c)
	maps.Copy(c, more)
	return c
}

// UnknownClassError says that a value is of a class that Classes lack, so that nothing behind it can be read.
type UnknownClassError struct{ Class string }

// Error implements error.
func (e *UnknownClassError) Error() string { return "values of class " + e.Class + " can't be read" }

// numbered returns the class that a MapWritable names by a number without saying so, "" for another number.
func numbered(id int8) string {
	names := [...]string{
		"ArrayWritable", "BooleanWritable", "BytesWritable", "FloatWritable", "IntWritable", "LongWritable", "MapWritable", "MD5Hash",
		"NullWritable", "ObjectWritable", "SortedMapWritable", "Text", "TwoDArrayWritable", "VIntWritable", "VLongWritable",
	}
	if i := int(id) + 127; i >= 0 && i < len(names) {
		return ioPackage + names[i]
	}
	return ""
}

// maxDepth is how deep maps may lie in maps.
const maxDepth = 8

// Map reads a MapWritable. When a value's class is unknown, it returns what comes before, and the decoder fails with an UnknownClassError.
func (c Classes) Map(d *Decoder) MapValue { return c.mapAt(d, maxDepth) }

func (c Classes) mapAt(d *Decoder, depth int) MapValue {
	if depth == 0 {
		d.Fail(fmt.Errorf("%w: maps lie too deep in each other", ErrCorrupt))
		return nil
	}
	var own map[int8]string
	for range d.Int8() {
		if own == nil {
			own = make(map[int8]string)
		}
		id := d.Int8()
		own[id] = d.UTF()
	}
	var out MapValue
	for range d.Count(2) {
		var e Entry
		for _, v := range []*fmt.Stringer{&e.Key, &e.Value} {
			id := d.Int8()
			class := own[id]
			if class == "" {
				class = numbered(id)
			}
			if *v = c.value(d, class, id, depth); d.Err() != nil {
				return out
			}
		}
		out = append(out, e)
	}
	return out
}

func (c Classes) value(d *Decoder, class string, id int8, depth int) fmt.Stringer {
	read := c[class]
	switch {
	case d.Err() != nil:
		return nil
	case read != nil:
		return read(d)
	case class == ioPackage+"MapWritable", class == ioPackage+"SortedMapWritable":
		return c.mapAt(d, depth-1)
	case class == "":
		d.Fail(fmt.Errorf("%w: no class has number %d", ErrCorrupt, id))
	default:
		d.Fail(&UnknownClassError{class})
	}
	return nil
}
