package wire

import (
	"fmt"

	"github.com/gonutch/crawler/sdk/internal/pb/modelv1"
	"github.com/gonutch/crawler/sdk/model"
)

// ValuesList packs named lists of texts.
func ValuesList(m map[string][]string) []*modelv1.Values {
	if len(m) == 0 {
		return nil
	}
	backing := make([]modelv1.Values, len(m))
	out := make([]*modelv1.Values, 0, len(m))
	for k, v := range m {
		e := &backing[len(out)]
		e.Name, e.Values = Bytes(k), BytesList(v)
		out = append(out, e)
	}
	return out
}

// ValuesListFrom is the inverse of ValuesList; a name that comes twice keeps
// all its values.
func ValuesListFrom(in []*modelv1.Values) map[string][]string {
	if len(in) == 0 {
		return nil
	}
	m := make(map[string][]string, len(in))
	for _, e := range in {
		k := Text(e.GetName())
		if old, ok := m[k]; ok {
			m[k] = append(old, TextList(e.GetValues())...)
		} else {
			m[k] = TextList(e.GetValues())
		}
	}
	return m
}

// Metadata packs m; nil when it is empty.
func Metadata(m model.Metadata) *modelv1.Metadata {
	if len(m) == 0 {
		return nil
	}
	return &modelv1.Metadata{Entries: ValuesList(m)}
}

// MetadataFrom is the inverse of Metadata.
func MetadataFrom(m *modelv1.Metadata) model.Metadata { return ValuesListFrom(m.GetEntries()) }

// SparseMetadata packs the metadata of n items, leaving out the empty ones.
func SparseMetadata(n int, at func(i int) model.Metadata) []*modelv1.ItemMetadata {
	var out []*modelv1.ItemMetadata
	for i := range n {
		if m := at(i); len(m) > 0 {
			out = append(out, &modelv1.ItemMetadata{Index: uint32(i), Metadata: Metadata(m)})
		}
	}
	return out
}

// SparseMetadataFrom is the inverse of SparseMetadata for n items.
func SparseMetadataFrom(in []*modelv1.ItemMetadata, n int, set func(i int, m model.Metadata)) error {
	for _, e := range in {
		if int(e.GetIndex()) >= n {
			return fmt.Errorf("metadata of item %d of %d", e.GetIndex(), n)
		}
		set(int(e.GetIndex()), MetadataFrom(e.GetMetadata()))
	}
	return nil
}

// Names numbers the score fields of a message from 0. The zero Names is ready
// for use.
type Names struct {
	seen map[string]uint32
	list [][]byte
}

// Index returns the number of name.
func (n *Names) Index(name string) uint32 {
	i, ok := n.seen[name]
	if !ok {
		if n.seen == nil {
			n.seen = make(map[string]uint32)
		}
		i = uint32(len(n.list))
		n.seen[name] = i
		n.list = append(n.list, Bytes(name))
	}
	return i
}

// List returns the names in the order of their numbers.
func (n *Names) List() [][]byte { return n.list }

// Fields packs f; nil when it is empty.
func (n *Names) Fields(f model.Fields) *modelv1.Fields {
	if len(f) == 0 {
		return nil
	}
	out := &modelv1.Fields{Names: make([]uint32, 0, len(f)), Values: make([]int64, 0, len(f))}
	for k, v := range f {
		out.Names = append(out.Names, n.Index(k))
		out.Values = append(out.Values, v)
	}
	return out
}

// FieldsFrom is the inverse of Names.Fields, with the list of names unpacked.
func FieldsFrom(f *modelv1.Fields, names []string) (model.Fields, error) {
	if len(f.GetNames()) != len(f.GetValues()) {
		return nil, fmt.Errorf("%d score fields with %d values", len(f.GetNames()), len(f.GetValues()))
	}
	if len(f.GetNames()) == 0 {
		return nil, nil
	}
	out := make(model.Fields, len(f.GetNames()))
	for i, k := range f.GetNames() {
		if int(k) >= len(names) {
			return nil, fmt.Errorf("score field number %d of %d", k, len(names))
		}
		out[names[k]] = f.GetValues()[i]
	}
	return out, nil
}

// Params packs the parameters of an instance; the names must be valid UTF-8.
func Params(m map[string]string) map[string][]byte {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string][]byte, len(m))
	for k, v := range m {
		out[k] = Bytes(v)
	}
	return out
}

// ParamsFrom is the inverse of Params; the result is never nil.
func ParamsFrom(m map[string][]byte) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = Text(v)
	}
	return out
}
