package rpc

import (
	"context"
	"math"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"

	"github.com/gonutch/crawler/sdk/handshake"
	"github.com/gonutch/crawler/sdk/internal/wire"
)

const (
	bufferSize = 128 << 10
	windowSize = 4 << 20
	// streamWorkers is how many goroutines wait for calls: their stacks have grown
	// already. Calls beyond them get goroutines of their own.
	streamWorkers = 8
)

// ServerOptions are the options of every plugin's gRPC server: limits of
// maxMessage bytes both ways, buffers for page-sized messages, and the
// interceptors that turn errors into statuses and keep a panic inside its call.
func ServerOptions(maxMessage int, log hclog.Logger) []grpc.ServerOption {
	buffers := new(pool)
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.ReadBufferSize(bufferSize), grpc.WriteBufferSize(bufferSize),
		grpc.InitialWindowSize(windowSize), grpc.InitialConnWindowSize(windowSize),
		grpc.MaxConcurrentStreams(math.MaxUint32), grpc.NumStreamWorkers(streamWorkers), experimental.BufferPool(buffers),
		grpc.ForceServerCodecV2(codec{buffers}),
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
			ctx = hclog.WithContext(ctx, log)
			err = Safely(ctx, func() error { resp, err = next(ctx, req); return err })
			return resp, wire.Status(ctx, err)
		}),
		grpc.ChainStreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			ctx := hclog.WithContext(ss.Context(), log)
			return wire.Status(ctx, Safely(ctx, func() error { return next(srv, &stream{ss, ctx}) }))
		}),
	}
}

type stream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // gRPC's way of handing it on
}

func (s *stream) Context() context.Context { return s.ctx }

// DialOptions are the host's counterpart of ServerOptions. A call whose context
// has ended fails with the context's error even when its answer still arrived:
// the items of such an answer may have failed only because the context ended.
func DialOptions(maxMessage int) []grpc.DialOption {
	buffers := new(pool)
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, resp any, cc *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if err := next(ctx, method, req, resp, cc, opts...); err != nil {
				return err
			}
			return ctx.Err()
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage), grpc.ForceCodecV2(codec{buffers})),
		grpc.WithReadBufferSize(bufferSize), grpc.WithWriteBufferSize(bufferSize),
		grpc.WithInitialWindowSize(windowSize), grpc.WithInitialConnWindowSize(windowSize),
		// What is tried again, and where, is the caller's to say: gRPC need not keep the
		// messages for it.
		grpc.WithDisableRetry(), experimental.WithBufferPool(buffers),
	}
}

// PluginSet is go-plugin's set with the one plugin that holds every service.
type PluginSet = plugin.PluginSet

// HandshakeConfig is go-plugin's.
type HandshakeConfig = plugin.HandshakeConfig

// Handshake returns the terms of the handshake.
func Handshake() HandshakeConfig {
	return HandshakeConfig{
		ProtocolVersion:  handshake.ProtocolVersion,
		MagicCookieKey:   handshake.CookieKey,
		MagicCookieValue: handshake.CookieValue,
	}
}

// Plugins returns the set for a host (register nil), where Dispense yields the
// connection as a *grpc.ClientConn, or for a plugin.
func Plugins(register func(grpc.ServiceRegistrar)) PluginSet {
	return PluginSet{handshake.PluginName: &adapter{register: register}}
}

type adapter struct {
	plugin.NetRPCUnsupportedPlugin
	register func(grpc.ServiceRegistrar)
}

func (a *adapter) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	a.register(s)
	return nil
}

func (a *adapter) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, cc *grpc.ClientConn) (any, error) {
	return cc, nil
}

// Serve serves what register registers to the host that started this process,
// until the host ends it or ctx does. It waits for calls under way only when
// the host asks for it.
func Serve(ctx context.Context, log hclog.Logger, register func(grpc.ServiceRegistrar)) {
	done := make(chan struct{})
	defer close(done)
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: Handshake(),
		Plugins:         Plugins(register),
		Logger:          log,
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			s := grpc.NewServer(append(opts, ServerOptions(handshake.MaxMessage(), log)...)...)
			go func() {
				select {
				case <-ctx.Done():
					s.Stop()
				case <-done:
				}
			}()
			return s
		},
	})
}
