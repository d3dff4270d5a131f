package libscore_test

import (
	"math"
	"testing"

	"github.com/gonutch/crawler/plugins/internal/libscore"
	"github.com/gonutch/crawler/sdk/model"
)

func TestMul(t *testing.T) {
	for _, c := range []struct{ a, b, want int64 }{
		{2 * model.Micro, 3 * model.Micro, 6 * model.Micro},
		{model.Micro / 2, 3, 1},
		{-3 * model.Micro, model.Micro / 2, -1_500_000},
		{math.MaxInt64, model.Micro, math.MaxInt64},
		{math.MinInt64, model.Micro, math.MinInt64},
		{math.MaxInt64, 2 * model.Micro, math.MaxInt64},
		{math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{math.MinInt64, math.MaxInt64, math.MinInt64},
		{math.MinInt64, math.MinInt64, math.MaxInt64},
		{0, math.MinInt64, 0},
	} {
		if got := libscore.Mul(c.a, c.b); got != c.want {
			t.Errorf("%d × %d = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
