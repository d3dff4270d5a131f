package store

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// Merging is associative and commutative in every key space, so that neither
// the order of commits nor the moment of a compaction shows in a value. Sums wrap
// around (saturating would depend on the order).
//
// Counter spaces (b, h, n, l) hold a vector of counts by id. The effect space
// (E) holds an Operand. The operator's name is stored in every table and must
// never change.
const mergerName = "crawler.merge.v1"

func mergeValues(key, older, newer []byte) ([]byte, error) {
	if len(key) == 0 {
		return nil, fmt.Errorf("merge: empty key")
	}
	switch key[0] {
	case PrefixCounter, PrefixHostCount, PrefixSegCount, PrefixLinkCount:
		return mergeCounts(key, older, newer)
	case PrefixEffect:
		var a, b Operand
		if err := a.decode(key, older); err != nil {
			return nil, err
		}
		if err := b.decode(key, newer); err != nil {
			return nil, err
		}
		a.Merge(&b)
		return a.Append(make([]byte, 0, len(older)+len(newer))), nil
	}
	return nil, fmt.Errorf("merge: key space %q does not merge", key[:1])
}

// merger is Pebble's view of mergeValues.
func merger() *pebble.Merger {
	return &pebble.Merger{
		Name: mergerName,
		Merge: func(key, value []byte) (pebble.ValueMerger, error) {
			return &valueMerger{key: bytes.Clone(key), value: bytes.Clone(value)}, nil
		},
	}
}

type valueMerger struct{ key, value []byte }

func (m *valueMerger) MergeNewer(value []byte) (err error) {
	m.value, err = mergeValues(m.key, m.value, value)
	return err
}

func (m *valueMerger) MergeOlder(value []byte) (err error) {
	m.value, err = mergeValues(m.key, value, m.value)
	return err
}

func (m *valueMerger) Finish(bool) ([]byte, io.Closer, error) { return m.value, nil, nil }

// Count is a change of, or the value of, one counter of a vector.
type Count struct {
	ID uint64
	N  int64
}

// AppendCounts appends a vector; cs is in ascending order of ID.
func AppendCounts(b []byte, cs ...Count) []byte {
	b = AppendUint(b, uint64(len(cs)))
	for _, c := range cs {
		b = AppendInt(AppendUint(b, c.ID), c.N)
	}
	return b
}

// DecodeCounts returns the vector stored under key, in ascending order of ID.
// A nil value is an empty vector.
func DecodeCounts(key, value []byte) ([]Count, error) {
	if value == nil {
		return nil, nil
	}
	d := RawDecoder(value)
	cs := make([]Count, d.Count(2))
	for i := range cs {
		cs[i] = Count{d.Uint(), d.Int()}
	}
	if err := d.Finish(key); err != nil {
		return nil, err
	}
	return cs, nil
}

func mergeCounts(key, older, newer []byte) ([]byte, error) {
	a, err := DecodeCounts(key, older)
	if err != nil {
		return nil, err
	}
	b, err := DecodeCounts(key, newer)
	if err != nil {
		return nil, err
	}
	out := make([]Count, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].ID < b[0].ID:
			out, a = append(out, a[0]), a[1:]
		case len(a) == 0 || b[0].ID < a[0].ID:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, Count{a[0].ID, a[0].N + b[0].N})
			a, b = a[1:], b[1:]
		}
	}
	return AppendCounts(nil, out...), nil
}

// FieldEffect is what happens to one score field.
type FieldEffect struct {
	Name    string
	Reducer manifest.Reducer
	Value   int64
	Source  string // URL key the value came from; kept for the reducer first only
}

// Operand is the merged effects on one record.
type Operand struct {
	Fields   []FieldEffect // in ascending order of Name
	Source   string        // smallest source with metadata
	Metadata model.Metadata
}

const operandVersion = 1

// reducerCode is the stored form of r; an unknown reducer adds.
func reducerCode(r manifest.Reducer) byte {
	switch r {
	case manifest.Min:
		return 1
	case manifest.Max:
		return 2
	case manifest.First:
		return 3
	}
	return 0
}

func reducerOf(code byte) (manifest.Reducer, bool) {
	switch code {
	case 0:
		return manifest.Add, true
	case 1:
		return manifest.Min, true
	case 2:
		return manifest.Max, true
	case 3:
		return manifest.First, true
	}
	return "", false
}

// Append appends the coded operand to b.
func (o *Operand) Append(b []byte) []byte {
	b = append(b, operandVersion)
	b = AppendUint(b, uint64(len(o.Fields)))
	for i := range o.Fields {
		f := &o.Fields[i]
		c := reducerCode(f.Reducer)
		b = AppendText(b, f.Name)
		b = append(b, c)
		b = AppendInt(b, f.Value)
		if f.Reducer == manifest.First {
			b = AppendText(b, f.Source)
		}
	}
	if len(o.Metadata) > 0 {
		b = AppendText(b, o.Source)
		b = AppendMetadata(b, o.Metadata)
	}
	return b
}

// DecodeOperand returns the operand stored under key.
func DecodeOperand(key, value []byte) (Operand, error) {
	var o Operand
	err := o.decode(key, value)
	return o, err
}

func (o *Operand) decode(key, value []byte) error {
	d, _ := NewDecoder(value, operandVersion)
	n := d.Count(3)
	o.Fields = make([]FieldEffect, n)
	for i := range o.Fields {
		f := &o.Fields[i]
		f.Name = d.Text()
		c := d.Byte()
		var ok bool
		if f.Reducer, ok = reducerOf(c); !ok {
			d.fail(fmt.Errorf("unknown reducer %d", c))
			break
		}
		f.Value = d.Int()
		if f.Reducer == manifest.First {
			f.Source = d.Text()
		}
	}
	if d.err == nil && d.Len() > 0 {
		o.Source = d.Text()
		o.Metadata = d.Metadata()
	}
	return d.Finish(key)
}

// Merge folds b into o. b stays usable; o may share its metadata.
func (o *Operand) Merge(b *Operand) {
	if len(b.Metadata) > 0 && (len(o.Metadata) == 0 || b.before(o)) {
		o.Source, o.Metadata = b.Source, b.Metadata
	}
	for i := range b.Fields {
		o.Add(b.Fields[i])
	}
}

// before orders operands for "first wins": by source, ties by what they say, so
// that the choice never depends on order.
func (o *Operand) before(than *Operand) bool {
	if o.Source != than.Source {
		return o.Source < than.Source
	}
	return bytes.Compare(AppendMetadata(nil, o.Metadata), AppendMetadata(nil, than.Metadata)) < 0
}

// Add folds one field effect into o.
func (o *Operand) Add(f FieldEffect) {
	i, ok := slices.BinarySearchFunc(o.Fields, f.Name, func(x FieldEffect, name string) int {
		return strings.Compare(x.Name, name)
	})
	if !ok {
		o.Fields = slices.Insert(o.Fields, i, f)
		return
	}
	x := &o.Fields[i]
	if x.Reducer != f.Reducer { // settings changed between two commits
		if reducerCode(f.Reducer) < reducerCode(x.Reducer) {
			*x = f
		}
		return
	}
	switch x.Reducer {
	case manifest.Min:
		x.Value = min(x.Value, f.Value)
	case manifest.Max:
		x.Value = max(x.Value, f.Value)
	case manifest.First:
		if c := cmp.Or(strings.Compare(f.Source, x.Source), cmp.Compare(f.Value, x.Value)); c < 0 {
			*x = f
		}
	default:
		x.Value += f.Value
	}
}

// Reduce applies f to a record's present value of the field.
func (f *FieldEffect) Reduce(present int64, has bool) int64 {
	switch {
	case !has && f.Reducer != manifest.Add:
		return f.Value
	case f.Reducer == manifest.Min:
		return min(present, f.Value)
	case f.Reducer == manifest.Max:
		return max(present, f.Value)
	case f.Reducer == manifest.First:
		return present
	}
	return present + f.Value
}
