package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

func randomOperand(r *rand.Rand) Operand {
	var o Operand
	src := fmt.Sprintf("source%d", r.IntN(4))
	for _, f := range []FieldEffect{
		{Name: "a", Reducer: manifest.Add},
		{Name: "b", Reducer: manifest.Min},
		{Name: "c", Reducer: manifest.Max},
		{Name: "d", Reducer: manifest.First},
	} {
		if r.IntN(2) == 0 {
			continue
		}
		f.Value = r.Int64() - r.Int64() // sums wrap
		if r.IntN(8) == 0 {
			f.Reducer = manifest.Max // the manifest changed
		}
		if f.Reducer == manifest.First {
			f.Source = src
		}
		o.Add(f)
	}
	if r.IntN(3) == 0 {
		o.Source, o.Metadata = src, model.Metadata{"k": {fmt.Sprint(r.IntN(3))}}
	}
	return o
}

// TestMergeOrder merges the same operands in random orders and groupings, and
// through the database with flushes and compactions between: one result.
func TestMergeOrder(t *testing.T) {
	key := []byte("Ekey")
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		ops := make([][]byte, 2+r.IntN(8))
		for i := range ops {
			o := randomOperand(r)
			ops[i] = o.Append(nil)
		}
		want := mergeTree(t, key, ops, r)
		for range 10 {
			r.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
			if got := mergeTree(t, key, ops, r); !bytes.Equal(got, want) {
				a, _ := DecodeOperand(key, want)
				b, _ := DecodeOperand(key, got)
				t.Fatalf("seed %d: order matters (-one +other):\n%s", seed, cmp.Diff(a, b))
			}
		}
		if seed%20 == 0 {
			mergeInStore(t, key, ops, want, r)
		}
	}
}

// mergeTree merges ops in random neighbouring pairs.
func mergeTree(t *testing.T, key []byte, ops [][]byte, r *rand.Rand) []byte {
	ops = append([][]byte(nil), ops...)
	for len(ops) > 1 {
		i := r.IntN(len(ops) - 1)
		m, err := mergeValues(key, ops[i], ops[i+1])
		must(t, err)
		ops = append(ops[:i], append([][]byte{m}, ops[i+2:]...)...)
	}
	return ops[0]
}

func mergeInStore(t *testing.T, key []byte, ops [][]byte, want []byte, r *rand.Rand) {
	s := openMem(t, NewMemFS())
	defer s.Close()
	for i, o := range ops {
		must(t, s.Update(context.Background(), func(tx *Tx) error {
			tx.Merge(key, o)
			tx.Merge([]byte("bcount"), AppendCounts(nil, Count{uint64(i % 3), int64(i)}))
			return nil
		}))
		if r.IntN(2) == 0 {
			must(t, s.Compact(context.Background(), nil, nil))
		}
	}
	wantValue(t, s, string(key), string(want))
}

func TestMergeRefusesNonsense(t *testing.T) {
	if _, err := mergeValues([]byte("Cx"), nil, nil); err == nil {
		t.Error("a record was merged")
	}
	if _, err := mergeValues([]byte("Ex"), []byte{9}, []byte{operandVersion, 0}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

func FuzzOperand(f *testing.F) {
	o := randomOperand(rand.New(rand.NewPCG(1, 1)))
	f.Add(o.Append(nil))
	f.Add([]byte{operandVersion, 1, 1, 'a', 3, 2, 1, 's', 1, 's', 1, 1, 'k', 1, 1, 'v'})
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := DecodeOperand([]byte("E"), b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		again, err := DecodeOperand([]byte("E"), o.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Metadata) == 0 {
			o.Source, o.Metadata = "", nil
		}
		if d := cmp.Diff(o, again); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzCounts(f *testing.F) {
	f.Add(AppendCounts(nil, Count{1, 2}, Count{5, -7}))
	f.Fuzz(func(t *testing.T, b []byte) {
		cs, err := DecodeCounts([]byte("b"), b)
		if err != nil {
			return
		}
		again, err := DecodeCounts([]byte("b"), AppendCounts(nil, cs...))
		if err != nil || !cmp.Equal(cs, again) {
			t.Fatal(cs, again, err)
		}
	})
}

func TestTimes(t *testing.T) {
	for _, want := range []time.Time{{}, time.UnixMicro(1).UTC(), time.UnixMicro(-5).UTC(), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
		d := RawDecoder(AppendTime(nil, want))
		if got := d.Time(); !got.Equal(want) || d.Finish(nil) != nil {
			t.Errorf("%v came back as %v", want, got)
		}
	}
}
