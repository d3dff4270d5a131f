// Package libscore is the arithmetic of scores in micro-units that scoring
// plugins share. It must not know what a score means.
package libscore

import (
	"math"
	"math/bits"

	"github.com/gonutch/crawler/sdk/model"
)

// Mul multiplies two scores in micro-units, rounding towards zero. What does
// not fit becomes the greatest or smallest score.
func Mul(a, b int64) int64 {
	negative := (a < 0) != (b < 0)
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if hi >= model.Micro {
		return limit(negative)
	}
	q, _ := bits.Div64(hi, lo, model.Micro)
	switch {
	case q > math.MaxInt64:
		return limit(negative)
	case negative:
		return -int64(q)
	}
	return int64(q)
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

func limit(negative bool) int64 {
	if negative {
		return math.MinInt64
	}
	return math.MaxInt64
}
