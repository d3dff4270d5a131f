package indexdedupnear

import (
	"math"
	"strings"
	"unicode"

	"github.com/cespare/xxhash/v2"
)

// words cuts text into at most limit words of letters and digits, in lower case.
func words(text string, limit int) []string {
	var out []string
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(out) == limit {
			break
		}
		out = append(out, strings.ToLower(w))
	}
	return out
}

// shingles hashes each group of n words that follow one another. A text of fewer
// words is one group.
func shingles(ws []string, n int) []uint64 {
	last := len(ws) - n
	if last < 0 {
		last, n = 0, len(ws)
	}
	out := make([]uint64, 0, last+1)
	var d xxhash.Digest
	for i := 0; i <= last; i++ {
		d.Reset()
		for _, w := range ws[i : i+n] {
			_, _ = d.WriteString(w)
			_, _ = d.WriteString(" ")
		}
		out = append(out, d.Sum64())
	}
	return out
}

// simhash is Charikar's fingerprint (STOC 2002) as Manku, Jain and Das Sarma use
// it for crawls (WWW 2007): each bit is the majority of that bit over all hashes.
func simhash(hashes []uint64) uint64 {
	var count [64]int
	for _, h := range hashes {
		for b := range count {
			count[b] += int(h>>b&1)*2 - 1
		}
	}
	var out uint64
	for b, n := range count {
		if n > 0 {
			out |= 1 << b
		}
	}
	return out
}

// cluster joins the k smallest values of the hashes under k different orders
// (Broder's min-wise permutations, 1997): two sets whose resemblance is s agree
// in one with chance s, in all with s to the power of k.
func cluster(hashes []uint64, k int) uint64 {
	var d xxhash.Digest
	d.Reset()
	var b [8]byte
	for i := range k {
		least := uint64(math.MaxUint64)
		for _, h := range hashes {
			least = min(least, mix(h+uint64(i)*0x9e3779b97f4a7c15))
		}
		for j := range b {
			b[j] = byte(least >> (8 * j))
		}
		_, _ = d.Write(b[:])
	}
	return d.Sum64()
}

// mix is the finalizer of splitmix64 (Steele, Lea and Flood, OOPSLA 2014): a
// bijection, so that it orders hashes anew.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
