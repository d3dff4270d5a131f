package wire

import (
	"time"
	"unsafe"
)

// Bytes returns the bytes of s without copying them. Messages made with it are
// only ever marshalled, never changed.
func Bytes(s string) []byte {
	if s == "" {
		return nil
	}
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// Text returns b as a string without copying it. Its argument is a field of a
// freshly unmarshalled message, which nobody else holds or changes.
func Text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// BytesList is Bytes for each of ss.
func BytesList(ss []string) [][]byte {
	if len(ss) == 0 {
		return nil
	}
	out := make([][]byte, len(ss))
	for i, s := range ss {
		out[i] = Bytes(s)
	}
	return out
}

// TextList is Text for each of bs.
func TextList(bs [][]byte) []string {
	if len(bs) == 0 {
		return nil
	}
	out := make([]string, len(bs))
	for i, b := range bs {
		out[i] = Text(b)
	}
	return out
}

// Time returns t in microseconds since 1970 UTC, 0 for the zero time.
func Time(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// TimeFrom is the inverse of Time.
func TimeFrom(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// Indexer numbers the different texts of a batch, so that a text repeated many
// times travels once. The zero Indexer is ready for use.
type Indexer struct {
	seen  map[string]uint32
	Texts [][]byte
}

// Add returns 0 for "" and else the one-based number of s.
func (x *Indexer) Add(s string) uint32 {
	if s == "" {
		return 0
	}
	if n, ok := x.seen[s]; ok {
		return n
	}
	if x.seen == nil {
		x.seen = make(map[string]uint32)
	}
	x.Texts = append(x.Texts, Bytes(s))
	n := uint32(len(x.Texts))
	x.seen[s] = n
	return n
}

// Lookup returns what the one-based n stands for, and whether n is 0 or within
// texts.
func Lookup(texts []string, n uint32) (string, bool) {
	if n == 0 {
		return "", true
	}
	if int(n) > len(texts) {
		return "", false
	}
	return texts[n-1], true
}
