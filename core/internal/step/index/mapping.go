package index

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/gonutch/crawler/sdk/model"
)

// Mapped applies copy, rename and remove, in this order (nutch.md 6.14).
func (t *Target) Mapped(d model.Document) model.Document {
	if len(t.Copy)+len(t.Rename)+len(t.Remove) == 0 {
		return d
	}
	fields := maps.Clone(d.Fields)
	for _, from := range slices.Sorted(maps.Keys(t.Copy)) {
		if v, ok := d.Fields[from]; ok {
			for _, to := range t.Copy[from] {
				fields[to] = append(slices.Clip(fields[to]), v...)
			}
		}
	}
	renamed := map[string][]string{}
	for _, from := range slices.Sorted(maps.Keys(t.Rename)) {
		to := t.Rename[from]
		if v, ok := fields[from]; ok {
			renamed[to] = append(renamed[to], v...)
			delete(fields, from)
		}
	}
	maps.Copy(fields, renamed)
	for _, k := range t.Remove {
		delete(fields, k)
	}
	d.Fields = fields
	return d
}

// Unused names the settings of the mapping that fit none of the documents, which
// are as they are before mapping.
func (t *Target) Unused(docs []model.Document) []string {
	has := map[string]bool{}
	for i := range docs {
		for k := range docs[i].Fields {
			has[k] = true
		}
	}
	var out []string
	add := func(what, field string) {
		if !has[field] {
			out = append(out, fmt.Sprintf("mapping: %s names %q, which none of %d sample documents has", what, field, len(docs)))
		}
	}
	for _, f := range slices.Sorted(maps.Keys(t.Copy)) {
		add("copy", f)
		for _, to := range t.Copy[f] {
			has[to] = true
		}
	}
	for _, f := range slices.Sorted(maps.Keys(t.Rename)) {
		add("rename", f)
		has[t.Rename[f]] = true
	}
	for _, f := range t.Remove {
		add("remove", f)
	}
	return out
}

// volatile are fields that change with every fetch; a document that differs in
// nothing else is not sent again.
func volatile(field string) bool {
	switch field {
	case "boost", "tstamp", "segment", "date":
		return true
	}
	return false
}

// hash is the identity of the document's content as the writer gets it.
func (t *Target) hash(d *model.Document) []byte {
	lasting := model.Document{ID: d.ID, Fields: make(map[string][]string, len(d.Fields))}
	for k, v := range d.Fields {
		if !volatile(k) {
			lasting.Fields[k] = v
		}
	}
	lasting = t.Mapped(lasting)
	h := sha256.New()
	var n [8]byte
	put := func(s string) {
		for i := range n {
			n[i] = byte(len(s) >> (8 * i))
		}
		h.Write(n[:])
		h.Write([]byte(s))
	}
	for _, k := range slices.Sorted(maps.Keys(lasting.Fields)) {
		put(k)
		put(strconv.Itoa(len(lasting.Fields[k])))
		for _, v := range lasting.Fields[k] {
			put(v)
		}
	}
	return h.Sum(nil)[:16]
}

// mapping is the identity of the mapping.
func (t *Target) mapping() []byte {
	h := sha256.New()
	for _, from := range slices.Sorted(maps.Keys(t.Copy)) {
		_, _ = fmt.Fprintf(h, "copy %q=%q\n", from, t.Copy[from])
	}
	for _, from := range slices.Sorted(maps.Keys(t.Rename)) {
		_, _ = fmt.Fprintf(h, "rename %q=%q\n", from, t.Rename[from])
	}
	_, _ = fmt.Fprintf(h, "remove %q\n", slices.Sorted(slices.Values(t.Remove)))
	return h.Sum(nil)[:8]
}

func size(d *model.Document) int {
	n := 64 + len(d.ID)
	for k, v := range d.Fields {
		n += len(k)
		for _, x := range v {
			n += len(x)
		}
	}
	return n
}
