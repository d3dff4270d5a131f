package conform

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/fault"
)

// many is how many items the great batch has; manyBytes bounds its size.
const (
	many      = 1000
	manyBytes = 16 << 20
)

// promptly is how long a cancelled call may take to return.
const promptly = 2 * time.Second

// batch is a point's batch call.
type batch[I, O any] struct {
	samples []I         // what every implementation must judge the same way each time
	odd     []I         // what strangers send
	size    func(I) int // bytes of an item; nil when they are small
	call    func(ctx context.Context, conn grpc.ClientConnInterface, in []I) ([]O, []error, error)
	check   func(in I, out O) error // what must hold for every answer; may be nil
}

// answer is the answer to one item.
type answer[O any] struct {
	out O
	err string
}

func (b batch[I, O]) ask(t *T, conn grpc.ClientConnInterface, in []I) []answer[O] {
	out, errs, err := b.call(t.ctx, conn, in)
	if err != nil {
		t.fatalf("%d items: %v", len(in), err)
	}
	answers := make([]answer[O], len(in))
	for i := range in {
		if errs != nil && errs[i] != nil {
			answers[i].err = fault.KindOf(errs[i]).String() + ": " + errs[i].Error()
			continue
		}
		answers[i].out = out[i]
		if b.check == nil {
			continue
		}
		if err := b.check(in[i], out[i]); err != nil {
			t.errorf("item %d: %v", i, err)
		}
	}
	return answers
}

func (b batch[I, O]) compare(t *T, what string, in []I, want, got []answer[O]) {
	for i := range want {
		if !reflect.DeepEqual(want[i], got[i]) {
			t.errorf("%s: item %d\n  asked  %.300s\n  got    %.300s\n  before %.300s", what, i, show(in[i]), show(got[i]), show(want[i]))
		}
	}
}

func show(v any) string { return fmt.Sprintf("%+v", v) }

func (b batch[I, O]) cases(s *Suite) []Case {
	compared := func(run func(t *T, conn grpc.ClientConnInterface)) func(t *T) {
		return func(t *T) {
			if s.o.Varies {
				t.skip("the plugin's answers vary")
			}
			run(t, s.shared(t))
		}
	}
	return []Case{
		{Name: "no items", run: func(t *T) {
			if got := b.ask(t, s.shared(t), nil); len(got) != 0 {
				t.errorf("%d answers", len(got))
			}
		}},
		{Name: "same answer twice", run: compared(func(t *T, conn grpc.ClientConnInterface) {
			want := b.ask(t, conn, b.samples)
			b.compare(t, "asked again", b.samples, want, b.ask(t, conn, b.samples))
		})},
		{Name: "alone and together", run: compared(func(t *T, conn grpc.ClientConnInterface) {
			var alone []answer[O]
			for i := range b.samples {
				alone = append(alone, b.ask(t, conn, b.samples[i:i+1])...)
			}
			b.compare(t, "together", b.samples, alone, b.ask(t, conn, b.samples))
		})},
		{Name: "any order", run: compared(func(t *T, conn grpc.ClientConnInterface) {
			want := b.ask(t, conn, b.samples)
			reversed := slices.Clone(b.samples)
			slices.Reverse(reversed)
			got := b.ask(t, conn, reversed)
			slices.Reverse(got)
			b.compare(t, "reversed", b.samples, want, got)
		})},
		{Name: "great batch", run: compared(func(t *T, conn grpc.ClientConnInterface) {
			in := b.great(append(slices.Clone(b.samples), b.odd...))
			one := b.ask(t, conn, in[:min(len(in), len(b.samples))])
			got := b.ask(t, conn, in)
			b.compare(t, "first of many", in, one, got[:len(one)])
		})},
		{Name: "odd input", run: func(t *T) {
			conn := s.shared(t)
			want := b.ask(t, conn, b.samples[:1])
			in := append(slices.Clone(b.odd), b.samples[0])
			got := b.ask(t, conn, in)
			if !s.o.Varies {
				b.compare(t, "after odd ones", b.samples[:1], want, got[len(got)-1:])
			}
		}},
		{Name: "concurrent calls", run: compared(b.concurrent)},
		{Name: "cancelled", run: func(t *T) { b.cancelled(t, s.shared(t)) }},
	}
}

// great returns many items.
func (b batch[I, O]) great(from []I) []I {
	var in []I
	bytes := 0
	for i := 0; i < many; i++ {
		item := from[i%len(from)]
		if b.size != nil {
			bytes += b.size(item)
		}
		if bytes > manyBytes {
			break
		}
		in = append(in, item)
	}
	return in
}

func (b batch[I, O]) concurrent(t *T, conn grpc.ClientConnInterface) {
	const callers = 8
	want := b.ask(t, conn, b.samples)
	var wg sync.WaitGroup
	ts := make([]*T, callers)
	for i := range ts {
		ts[i] = &T{ctx: t.ctx}
		wg.Go(func() {
			defer func() {
				if r := recover(); r != nil && r != (stop{}) {
					panic(r)
				}
			}()
			for range 3 {
				b.compare(ts[i], "with others", b.samples, want, b.ask(ts[i], conn, b.samples))
			}
		})
	}
	wg.Wait()
	for _, other := range ts {
		if len(other.failures) > 0 {
			t.failures = append(t.failures, other.failures...)
			return // the others say the same
		}
	}
}

// cancelled ends calls before and while they run. The plugin must answer the
// next call as ever.
func (b batch[I, O]) cancelled(t *T, conn grpc.ClientConnInterface) {
	in := b.great(b.samples)
	for _, wait := range []time.Duration{0, 100 * time.Microsecond, 2 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.ctx, wait)
		start := time.Now()
		_, _, err := b.call(ctx, conn, in)
		if took := time.Since(start); took > promptly {
			t.errorf("returned %v after its context ended", took)
		}
		if wait == 0 && !errors.Is(err, context.DeadlineExceeded) {
			t.errorf("ended context: got %v", err)
		}
		cancel()
	}
	b.ask(t, conn, b.samples)
}
