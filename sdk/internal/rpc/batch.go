package rpc

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/wire"
)

// Each calls fn for every item of a batch of n, one after the other, and
// returns the items' errors: nil when none failed, else n long. A panic of fn
// is that item's error, of kind Permanent, and its stack goes to the logger of
// ctx. The second result is ctx's error when it ends before the batch does.
func Each(ctx context.Context, n int, fn func(i int) error) ([]error, error) {
	var errs []error
	for i := 0; i < n; i++ {
		if i&15 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := item(ctx, i, fn); err != nil {
			if errs == nil {
				errs = make([]error, n)
			}
			errs[i] = err
		}
	}
	return errs, ended(ctx, errs)
}

// EachParallel is Each with up to GOMAXPROCS items at the same time, for work
// that is worth a goroutine.
func EachParallel(ctx context.Context, n int, fn func(i int) error) ([]error, error) {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers < 2 {
		return Each(ctx, n, fn)
	}
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if errs[i] = item(ctx, i, fn); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	if int(next.Load()) < n && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if !failed.Load() {
		errs = nil
	}
	return errs, ended(ctx, errs)
}

// ended returns ctx's error if it can be the reason why items failed.
func ended(ctx context.Context, errs []error) error {
	if errs == nil {
		return nil
	}
	return ctx.Err()
}

func item(ctx context.Context, i int, fn func(i int) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = recovered(ctx, r)
		}
	}()
	return fn(i)
}

// Safely calls fn and returns a panic as an error of kind Permanent.
func Safely(ctx context.Context, fn func() error) error {
	return item(ctx, 0, func(int) error { return fn() })
}

func recovered(ctx context.Context, r any) error {
	hclog.FromContext(ctx).Error("panic", "error", r, "stack", string(debug.Stack()))
	return fault.New(fault.Permanent, fmt.Errorf("panic: %v", r))
}

// Failed returns the error of a call with its kind, wrapped with what was
// called; nil for nil.
func Failed(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, wire.Error(ctx, err))
}

// Answer is Failed for a batch call that was answered with got items instead of
// want: a wrong length is an error of kind Invalid.
func Answer(ctx context.Context, what string, err error, got, want int) error {
	if err != nil {
		return Failed(ctx, what, err)
	}
	if got != want {
		return WrongLength(what, got, want)
	}
	return nil
}

// WrongLength is the error of an answer that does not fit its question.
func WrongLength(what string, got, want int) error {
	return fault.Errorf(fault.Invalid, "%s: the plugin answered %d of %d items", what, got, want)
}

// Malformed is the error of an answer that contradicts itself.
func Malformed(what, format string, args ...any) error {
	return fault.Errorf(fault.Invalid, "%s: malformed answer: %s", what, fmt.Sprintf(format, args...))
}
