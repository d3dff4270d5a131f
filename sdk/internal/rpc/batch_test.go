package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type each func(ctx context.Context, n int, fn func(i int) error) ([]error, error)

func both() map[string]each {
	return map[string]each{"one by one": rpc.Each, "parallel": rpc.EachParallel}
}

func TestEach(t *testing.T) {
	for name, each := range both() {
		for _, n := range []int{0, 1, 2, 1000} {
			var calls atomic.Int64
			errs, err := each(context.Background(), n, func(int) error { calls.Add(1); return nil })
			if errs != nil || err != nil || calls.Load() != int64(n) {
				t.Errorf("%s, %d: %d calls, %v, %v", name, n, calls.Load(), errs, err)
			}
		}
		var log bytes.Buffer
		ctx := hclog.WithContext(context.Background(), hclog.New(&hclog.LoggerOptions{Output: &log}))
		errs, err := each(ctx, 50, func(i int) error {
			switch i {
			case 7:
				panic("seven")
			case 49:
				return errors.New("last")
			}
			return nil
		})
		if err != nil || len(errs) != 50 {
			t.Fatalf("%s: %v, %v", name, errs, err)
		}
		for i, err := range errs {
			if (err != nil) != (i == 7 || i == 49) {
				t.Errorf("%s: item %d: %v", name, i, err)
			}
		}
		if !fault.Is(errs[7], fault.Permanent) || errs[7].Error() != "panic: seven" || !strings.Contains(log.String(), "batch_test.go") {
			t.Errorf("%s: panic is %v, log:\n%s", name, errs[7], log.String())
		}
	}
}

func TestEachCancelled(t *testing.T) {
	for name, each := range both() {
		ctx, cancel := context.WithCancel(context.Background())
		var calls atomic.Int64
		_, err := each(ctx, 10_000, func(int) error {
			if calls.Add(1) == 100 {
				cancel()
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) || calls.Load() > 200 {
			t.Errorf("%s: %v after %d calls", name, err, calls.Load())
		}
		// Items that fail because the context ended are no items' errors.
		ctx, cancel = context.WithCancel(context.Background())
		_, err = each(ctx, 1, func(int) error { cancel(); return ctx.Err() })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSafely(t *testing.T) {
	ctx := hclog.WithContext(context.Background(), hclog.NewNullLogger())
	if err := rpc.Safely(ctx, func() error { panic(errors.New("x")) }); !fault.Is(err, fault.Permanent) || err.Error() != "panic: x" {
		t.Errorf("got %v", err)
	}
	if err := rpc.Safely(ctx, func() error { return nil }); err != nil {
		t.Error(err)
	}
}
