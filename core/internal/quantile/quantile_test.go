package quantile

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBucketsAreInOrder(t *testing.T) {
	values := []int64{math.MinInt64, -1 << 40, -1001, -1000, -256, -129, -128, -1, 0, 1, 127, 128, 129, 255, 256, 257, 1000, 1e6, 1 << 40, math.MaxInt64}
	for i := 1; i < len(values); i++ {
		if bucketOf(values[i-1]) > bucketOf(values[i]) {
			t.Errorf("bucket of %d is %d, of %d %d", values[i-1], bucketOf(values[i-1]), values[i], bucketOf(values[i]))
		}
	}
	for v := int64(-300); v < 300; v++ { // no gap, no step back
		if d := bucketOf(v+1) - bucketOf(v); d < 0 || d > 1 {
			t.Errorf("from %d to the next value the bucket goes by %d", v, d)
		}
	}
}

func TestQuantile(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() int64{
		"one value":   func() int64 { return 1_000_000 },
		"small":       func() int64 { return r.Int64N(100) },
		"uniform":     func() int64 { return r.Int64N(5_000_000) },
		"exponential": func() int64 { return int64(r.ExpFloat64() * 1e6) },
		"signed":      func() int64 { return int64(r.NormFloat64() * 1e6) },
		"two values":  func() int64 { return []int64{1_000_000, 1_000_001}[r.IntN(2)] },
	} {
		var h Histogram
		all := make([]int64, 20_000)
		for i := range all {
			all[i] = draw()
			h.Add(all[i])
		}
		slices.Sort(all)
		for _, q := range []float64{0, .01, .25, .5, .9, .99, 1} {
			want := all[min(int(q*float64(len(all))), len(all)-1)]
			got := h.Quantile(q)
			if math.Abs(float64(got-want)) > math.Abs(float64(want))*0.008+1 {
				t.Errorf("%s: quantile %v is %d, want %d", name, q, got, want)
			}
		}
	}
	var none Histogram
	if none.Quantile(.5) != 0 {
		t.Error("no values")
	}
}
