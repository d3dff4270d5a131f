// Package quantile counts many values in little memory and tells their quantiles. It
// must not know what the values are.
package quantile

import "math/bits"

// Histogram counts values in buckets of 1/128 of a power of two, so that its
// memory does not depend on how many there are. Within a bucket values are
// taken to lie evenly between its least and greatest one; a quantile is off by
// less than 0.8 % therefore, and exact where a bucket holds one value only. The zero value is
// empty and ready.
type Histogram struct {
	n               int64
	least, greatest int64
	buckets         map[int]*bucket
}

type bucket struct{ n, least, greatest int64 }

const bucketBits = 7

// bucketOf numbers the buckets in the order of their values.
func bucketOf(v int64) int {
	if v < 0 {
		return -1 - bucketOf(-1-v) // -1-v is not negative, even for the least value
	}
	e := bits.Len64(uint64(v))
	if e <= bucketBits {
		return int(v)
	}
	shift := e - bucketBits - 1
	return shift<<bucketBits + int(v>>shift)
}

// Add counts v.
func (h *Histogram) Add(v int64) {
	if h.n == 0 {
		h.least, h.greatest, h.buckets = v, v, map[int]*bucket{}
	}
	h.n++
	h.least, h.greatest = min(h.least, v), max(h.greatest, v)
	i := bucketOf(v)
	b := h.buckets[i]
	if b == nil {
		b = &bucket{least: v, greatest: v}
		h.buckets[i] = b
	}
	b.n++
	b.least, b.greatest = min(b.least, v), max(b.greatest, v)
}

// Quantile returns the value below which the share q of all values lies.
func (h *Histogram) Quantile(q float64) int64 {
	if h.n == 0 {
		return 0
	}
	rank := min(int64(q*float64(h.n)), h.n-1) // from 0
	for i := bucketOf(h.least); i <= bucketOf(h.greatest); i++ {
		b := h.buckets[i]
		switch {
		case b == nil:
		case rank >= b.n:
			rank -= b.n
		case b.n == 1:
			return b.least
		default:
			return b.least + int64(float64(b.greatest-b.least)*float64(rank)/float64(b.n-1))
		}
	}
	return h.greatest
}

// Bounds returns the least and the greatest value; zeroes when there is none.
func (h *Histogram) Bounds() (least, greatest int64) { return h.least, h.greatest }

// Len returns how many values were added.
func (h *Histogram) Len() int64 { return h.n }
