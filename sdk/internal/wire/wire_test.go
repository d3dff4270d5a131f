package wire_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/basev1"
	"github.com/gonutch/crawler/sdk/internal/pb/modelv1"
	"github.com/gonutch/crawler/sdk/internal/rpctest"
	"github.com/gonutch/crawler/sdk/internal/wire"
	"github.com/gonutch/crawler/sdk/model"
)

func kinds() []fault.Kind {
	return []fault.Kind{fault.Permanent, fault.Transient, fault.Denied, fault.Invalid, fault.Shutdown}
}

func TestErrorKinds(t *testing.T) {
	for _, k := range kinds() {
		err := wire.Error(context.Background(), wire.Status(context.Background(), fmt.Errorf("outer: %w", fault.Errorf(k, "inner \xff"))))
		if !fault.Is(err, k) || err.Error() != "outer: inner \xff" {
			t.Errorf("%v: got %v, %v", k, fault.KindOf(err), err)
		}
		errs, err := wire.ItemErrorsFrom(wire.ItemErrors([]error{nil, fault.Errorf(k, "item \xff")}), 2)
		if err != nil || errs[0] != nil || !fault.Is(errs[1], k) || errs[1].Error() != "item \xff" {
			t.Errorf("%v: items %v, %v", k, errs, err)
		}
	}
	if got := wire.KindFrom(99); got != fault.Permanent {
		t.Errorf("unknown kind: %v", got)
	}
	if err := wire.Status(context.Background(), nil); err != nil {
		t.Error(err)
	}
	if err := wire.Error(context.Background(), nil); err != nil {
		t.Error(err)
	}
	errs, err := wire.ItemErrorsFrom([]*basev1.ItemError{{}}, 1)
	if err != nil || errs[0] == nil || errs[0].Error() == "" {
		t.Errorf("an error without a message: %v, %v", errs, err)
	}
}

// TestForeignStatus is what a plugin without our details means.
func TestForeignStatus(t *testing.T) {
	for code, kind := range map[codes.Code]fault.Kind{
		codes.Unavailable: fault.Shutdown, codes.Canceled: fault.Shutdown, codes.InvalidArgument: fault.Invalid,
		codes.ResourceExhausted: fault.Invalid, codes.PermissionDenied: fault.Denied, codes.Unauthenticated: fault.Denied,
		codes.Aborted: fault.Transient, codes.DeadlineExceeded: fault.Transient, codes.Unknown: fault.Permanent,
		codes.Unimplemented: fault.Permanent, codes.Internal: fault.Permanent,
	} {
		if err := wire.Error(context.Background(), status.Error(code, "text")); !fault.Is(err, kind) {
			t.Errorf("%v: got %v, want %v", code, fault.KindOf(err), kind)
		}
	}
	plain := errors.New("no status")
	if err := wire.Error(context.Background(), plain); !errors.Is(err, plain) {
		t.Errorf("got %v", err)
	}
}

func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := wire.Error(ctx, status.Error(codes.Canceled, "context canceled"))
	if !errors.Is(err, context.Canceled) || fault.Is(err, fault.Shutdown) {
		t.Errorf("cancelled: %v", err)
	}
	if err := wire.Error(ctx, status.Error(codes.Unavailable, "gone")); !fault.Is(err, fault.Shutdown) {
		t.Errorf("the process went first: %v", err)
	}
	ctx, cancel = context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	if err := wire.Error(ctx, status.Error(codes.DeadlineExceeded, "late")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("late: %v", err)
	}
	if err := wire.Error(context.Background(), wire.Status(ctx, ctx.Err())); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the plugin noticed first: %v", err)
	}
	own := fmt.Errorf("ask the index: %w", context.DeadlineExceeded)
	if err := wire.Error(context.Background(), wire.Status(context.Background(), own)); !fault.Is(err, fault.Transient) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the plugin's own deadline: %v", err)
	}
	errs, err := wire.ItemErrorsFrom(wire.ItemErrors([]error{own, fault.New(fault.Permanent, own)}), 2)
	if err != nil || !fault.Is(errs[0], fault.Transient) || !fault.Is(errs[1], fault.Permanent) {
		t.Errorf("own deadlines of items: %v, %v", errs, err)
	}
}

func TestTimes(t *testing.T) {
	for _, at := range []time.Time{{}, time.Unix(1, 0).UTC(), time.UnixMicro(-5).UTC(), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)} {
		if got := wire.TimeFrom(wire.Time(at)); !got.Equal(at) {
			t.Errorf("%v: got %v", at, got)
		}
	}
}

func TestIndexer(t *testing.T) {
	var x wire.Indexer
	got := []uint32{x.Add("a"), x.Add(""), x.Add("b"), x.Add("a")}
	if d := rpctest.Diff([]uint32{1, 0, 2, 1}, got); d != "" {
		t.Error(d)
	}
	texts := wire.TextList(x.Texts)
	for n, want := range []string{"", "a", "b"} {
		if s, ok := wire.Lookup(texts, uint32(n)); s != want || !ok {
			t.Errorf("%d: %q, %v", n, s, ok)
		}
	}
	if _, ok := wire.Lookup(texts, 3); ok {
		t.Error("found text 3 of 2")
	}
}

func TestRepeatedName(t *testing.T) {
	v := func(s string) *modelv1.Values { return &modelv1.Values{Name: []byte("k"), Values: [][]byte{[]byte(s)}} }
	if d := rpctest.Diff(map[string][]string{"k": {"a", "b"}}, wire.ValuesListFrom([]*modelv1.Values{v("a"), v("b")})); d != "" {
		t.Error(d)
	}
}

// FuzzParse reads what a plugin may send and checks that what was understood
// survives another trip.
func FuzzParse(f *testing.F) {
	p, d := rpctest.Filled[model.Parse](), rpctest.Filled[model.CrawlDatum]()
	for _, m := range []proto.Message{wire.Parse(&p), wire.Datum(&d)} {
		raw, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte{0x2a, 0x02, 0x0a, 0x00})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var pm modelv1.Parse
		if proto.Unmarshal(raw, &pm) == nil {
			if got, err := wire.ParseFrom(&pm); err == nil {
				again, err := wire.ParseFrom(wire.Parse(&got))
				if d := rpctest.Diff(got, again); err != nil || d != "" {
					t.Errorf("%v\n%s", err, d)
				}
			}
		}
		var dm modelv1.CrawlDatum
		if proto.Unmarshal(raw, &dm) == nil {
			if got, err := wire.DatumFrom(&dm); err == nil {
				again, err := wire.DatumFrom(wire.Datum(&got))
				if d := rpctest.Diff(got, again); err != nil || d != "" {
					t.Errorf("%v\n%s", err, d)
				}
			}
		}
	})
}
