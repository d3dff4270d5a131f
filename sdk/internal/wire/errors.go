package wire

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/basev1"
)

// Kind returns the message's form of k.
func Kind(k fault.Kind) basev1.ErrorKind { return basev1.ErrorKind(k) + 1 }

// KindFrom is the inverse of Kind; what it does not know is permanent.
func KindFrom(k basev1.ErrorKind) fault.Kind {
	if k <= basev1.ErrorKind_ERROR_KIND_UNSPECIFIED || k > basev1.ErrorKind_ERROR_KIND_SHUTDOWN {
		return fault.Permanent
	}
	return fault.Kind(k - 1)
}

// ItemErrors packs the errors of a batch: errs is nil or as long as the batch.
func ItemErrors(errs []error) []*basev1.ItemError {
	var out []*basev1.ItemError
	for i, err := range errs {
		if err != nil {
			out = append(out, &basev1.ItemError{Index: uint32(i), Kind: Kind(kindOf(err)), Message: []byte(err.Error())})
		}
	}
	return out
}

// ItemErrorsFrom is the inverse of ItemErrors for a batch of n. It returns nil
// when no item failed and an error when an index is out of range.
func ItemErrorsFrom(in []*basev1.ItemError, n int) ([]error, error) {
	if len(in) == 0 {
		return nil, nil
	}
	out := make([]error, n)
	for _, e := range in {
		if int(e.GetIndex()) >= n {
			return nil, fault.Errorf(fault.Invalid, "error for item %d of a batch of %d", e.GetIndex(), n)
		}
		msg := string(e.GetMessage())
		if msg == "" {
			msg = "failed without a message"
		}
		out[e.GetIndex()] = fault.New(KindFrom(e.GetKind()), errors.New(msg))
	}
	return out, nil
}

func codeOf(k fault.Kind) codes.Code {
	switch k {
	case fault.Transient:
		return codes.Aborted
	case fault.Denied:
		return codes.PermissionDenied
	case fault.Invalid:
		return codes.InvalidArgument
	case fault.Shutdown:
		return codes.Unavailable
	default:
		return codes.Internal
	}
}

// kindOf is fault.KindOf, but a time-out that nobody gave a kind is Transient.
func kindOf(err error) fault.Kind {
	if errors.Is(err, context.DeadlineExceeded) && !fault.Is(err, fault.Permanent) && fault.KindOf(err) == fault.Permanent {
		return fault.Transient
	}
	return fault.KindOf(err)
}

// Status returns err, the outcome of a call with ctx, as a gRPC status that
// keeps its kind and its message byte for byte. Errors that are a status already
// stay as they are. Only the end of ctx is a cancellation or a missed deadline of
// the call: the plugin's own time-outs are something else.
func Status(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := err.(interface{ GRPCStatus() *status.Status }); ok { // only a bare status
		return err
	}
	kind := kindOf(err)
	code := codeOf(kind)
	if cerr := ctx.Err(); cerr != nil && errors.Is(err, cerr) {
		return status.FromContextError(cerr).Err()
	}
	s := status.New(code, strings.ToValidUTF8(err.Error(), "\uFFFD"))
	param, _ := fault.ParamOf(err)
	d, derr := s.WithDetails(&basev1.ErrorDetail{Kind: Kind(kind), Message: []byte(err.Error()), Param: []byte(param)})
	if derr != nil {
		return s.Err()
	}
	return d.Err()
}

// Error is the inverse of Status for the answer of a call made with ctx. When
// ctx has ended the error wraps ctx's; when the connection is gone its kind is
// fault.Shutdown.
func Error(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	if cerr := ctx.Err(); cerr != nil && (s.Code() == codes.Canceled || s.Code() == codes.DeadlineExceeded) {
		return fault.New(fault.Transient, cerr)
	}
	for _, d := range s.Details() {
		if d, ok := d.(*basev1.ErrorDetail); ok {
			if p := Text(d.GetParam()); p != "" && KindFrom(d.GetKind()) == fault.Invalid {
				return fault.Param(p, "%s", d.GetMessage())
			}
			return fault.New(KindFrom(d.GetKind()), errors.New(string(d.GetMessage())))
		}
	}
	kind := fault.Permanent
	switch s.Code() {
	case codes.Unavailable, codes.Canceled:
		kind = fault.Shutdown
	case codes.InvalidArgument, codes.ResourceExhausted, codes.OutOfRange:
		kind = fault.Invalid
	case codes.PermissionDenied, codes.Unauthenticated:
		kind = fault.Denied
	case codes.Aborted:
		kind = fault.Transient
	case codes.DeadlineExceeded:
		// gRPC, and the plugin, may notice the deadline a moment before ctx does.
		return fault.New(fault.Transient, context.DeadlineExceeded)
	}
	return fault.Errorf(kind, "%s: %s", s.Code(), s.Message())
}
