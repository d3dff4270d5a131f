// Package rpctest connects a client and a server of the wire within a test,
// over a real gRPC connection with the options that plugins are served with.
package rpctest

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/basev1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
)

// MaxMessage is the limit of one message in bytes.
const MaxMessage = 8 << 20

// Connect serves what register registers and returns a connection to it. Both
// end with the test.
func Connect(tb testing.TB, register func(grpc.ServiceRegistrar)) *grpc.ClientConn {
	tb.Helper()
	lis := bufconn.Listen(1 << 20)
	s := grpc.NewServer(rpc.ServerOptions(MaxMessage, hclog.NewNullLogger())...)
	register(s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(lis); err != nil {
			tb.Error(err)
		}
	}()
	cc, err := grpc.NewClient("passthrough:bufconn", append(rpc.DialOptions(MaxMessage),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cc.Close()
		s.Stop()
		<-done
	})
	return cc
}

// Context returns a context that ends with the test, or after ten seconds.
func Context(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	tb.Cleanup(cancel)
	return ctx
}

// ErrorTexts writes each error as its kind and text, "" for nil.
func ErrorTexts(errs []error) []string {
	var out []string
	for _, err := range errs {
		s := ""
		if err != nil {
			s = fault.KindOf(err).String() + ": " + err.Error()
		}
		out = append(out, s)
	}
	return out
}

// ItemError returns the error of one item of a batch.
func ItemError(index uint32) []*basev1.ItemError {
	return []*basev1.ItemError{{Index: index, Kind: basev1.ErrorKind_ERROR_KIND_INVALID, Message: []byte("bad")}}
}
