package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/handshake"
	"github.com/gonutch/crawler/sdk/internal/pb/protocolv1"
	"github.com/gonutch/crawler/sdk/internal/rpctest"
)

type connector func(t *testing.T, f fetchFunc) *protocol.Client

// bothWays runs test with exchanges by calls of their own and by FetchMany.
func bothWays(t *testing.T, test func(t *testing.T, c connector)) {
	t.Run("alone", func(t *testing.T) { test(t, connect) })
	t.Run("together", func(t *testing.T) { test(t, connectBusy) })
}

// busyURL is that of the exchange that is under way all the time.
const busyURL = "busy:"

// onlyMany refuses calls of Fetch other than that of busyURL.
type onlyMany struct {
	protocolv1.ProtocolServiceServer
}

func (o onlyMany) Fetch(r *protocolv1.FetchRequest, s grpc.ServerStreamingServer[protocolv1.FetchResponse]) error {
	if string(r.GetUrl()) != busyURL {
		return status.Error(codes.Internal, "not asked together with others")
	}
	return o.ProtocolServiceServer.Fetch(r, s)
}

// registrar takes the service that protocol.Register registers.
type registrar struct {
	impl protocolv1.ProtocolServiceServer
}

func (r *registrar) RegisterService(_ *grpc.ServiceDesc, impl any) {
	r.impl = impl.(protocolv1.ProtocolServiceServer)
}

// connectBusy connects to f with an exchange under way, so that all others go by FetchMany.
func connectBusy(t *testing.T, f fetchFunc) *protocol.Client {
	t.Helper()
	begun := make(chan struct{})
	var r registrar
	protocol.Register(&r, func() (protocol.Protocol, error) {
		return fetchFunc(func(ctx context.Context, req *protocol.Request) (*protocol.Response, error) {
			if req.URL != busyURL {
				return f(ctx, req)
			}
			close(begun)
			<-ctx.Done()
			return nil, ctx.Err()
		}), nil
	})
	c := protocol.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
		protocolv1.RegisterProtocolServiceServer(s, onlyMany{r.impl})
	}))
	keepBusy(t, c, begun)
	return c
}

// keepBusy begins an exchange of busyURL, which lasts as long as the test.
func keepBusy(t *testing.T, c *protocol.Client, begun <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := c.Fetch(ctx, &protocol.Request{URL: busyURL}); !errors.Is(err, context.Canceled) {
			t.Errorf("busy: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	<-begun
}

// A hundred exchanges at once, some of which fail, hang, or are called off.
func TestTogether(t *testing.T) {
	var over atomic.Int64
	c := connectBusy(t, func(ctx context.Context, r *protocol.Request) (*protocol.Response, error) {
		kind, n, _ := strings.Cut(r.URL, ":")
		switch kind {
		case "panic":
			panic(n)
		case "error":
			return nil, fault.Errorf(fault.Transient, "error %s", n)
		case "hang":
			_, timed := ctx.Deadline()
			<-ctx.Done()
			if timed {
				over.Add(1)
			}
			return nil, ctx.Err()
		case "large":
			return &protocol.Response{Body: []byte(strings.Repeat(n, 600<<10))}, nil
		}
		return &protocol.Response{Body: []byte(n)}, nil
	})
	hung, cancel := context.WithCancel(rpctest.Context(t))
	var wg, hanging sync.WaitGroup
	for i := range 100 {
		kind := []string{"page", "panic", "error", "hang", "large"}[i%5]
		n := fmt.Sprint(i % 10)
		url, ctx, group := kind+":"+n, rpctest.Context(t), &wg
		if kind == "hang" {
			ctx, group = hung, &hanging
		}
		group.Go(func() {
			resp, err := c.Fetch(ctx, &protocol.Request{URL: url, MaxBytes: 600 << 10})
			switch kind {
			case "page":
				if err != nil || string(resp.Body) != n {
					t.Errorf("%s: %v, %v", url, resp, err)
				}
			case "large":
				if err != nil || string(resp.Body) != strings.Repeat(n, 600<<10) {
					t.Errorf("%s: %v", url, err)
				}
			case "panic":
				if !fault.Is(err, fault.Permanent) || !strings.Contains(err.Error(), "panic: "+n) {
					t.Errorf("%s: %v", url, err)
				}
			case "error":
				if !fault.Is(err, fault.Transient) || !strings.Contains(err.Error(), "error "+n) {
					t.Errorf("%s: %v", url, err)
				}
			case "hang":
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", url, err)
				}
			}
		})
	}
	wg.Wait() // nobody waits for those that hang
	cancel()
	hanging.Wait()
	for over.Load() < 20 { // the plugin is told of the deadline, and that it was called off
		if rpctest.Context(t).Err() != nil {
			t.Fatal("exchanges go on that nobody waits for")
		}
		if _, err := c.Fetch(rpctest.Context(t), &protocol.Request{URL: "page:"}); err != nil {
			t.Fatal(err)
		}
	}
}

// A head that no message can hold is one exchange's failure.
func TestHeadTooLarge(t *testing.T) {
	t.Setenv(handshake.EnvMaxMessage, fmt.Sprint(rpctest.MaxMessage))
	c := connectBusy(t, func(_ context.Context, r *protocol.Request) (*protocol.Response, error) {
		return &protocol.Response{RawResponse: make([]byte, r.MaxBytes)}, nil
	})
	if _, err := c.Fetch(rpctest.Context(t), &protocol.Request{MaxBytes: rpctest.MaxMessage}); !fault.Is(err, fault.Invalid) {
		t.Errorf("too large: %v", err)
	}
	if r, err := c.Fetch(rpctest.Context(t), &protocol.Request{MaxBytes: 100}); err != nil || len(r.RawResponse) != 100 {
		t.Errorf("another one: %v", err)
	}
}

// old answers Fetch like a plugin of an earlier SDK, and FetchMany by many.
type old struct {
	protocolv1.UnimplementedProtocolServiceServer
	begun chan struct{}
	many  func(grpc.BidiStreamingServer[protocolv1.FetchManyRequest, protocolv1.FetchManyResponse]) error
	asked atomic.Int64 // by FetchMany
}

func (o *old) Fetch(r *protocolv1.FetchRequest, s grpc.ServerStreamingServer[protocolv1.FetchResponse]) error {
	if string(r.GetUrl()) == busyURL {
		close(o.begun)
		<-s.Context().Done()
		return s.Context().Err()
	}
	return s.Send(&protocolv1.FetchResponse{Head: &protocolv1.FetchHead{}, Body: r.GetUrl()})
}

func (o *old) FetchMany(s grpc.BidiStreamingServer[protocolv1.FetchManyRequest, protocolv1.FetchManyResponse]) error {
	o.asked.Add(1)
	return o.many(s)
}

// A plugin without FetchMany, or whose FetchMany ends without a reason, is asked by Fetch.
func TestWithoutFetchMany(t *testing.T) {
	for name, many := range map[string]func(grpc.BidiStreamingServer[protocolv1.FetchManyRequest, protocolv1.FetchManyResponse]) error{
		"unimplemented": protocolv1.UnimplementedProtocolServiceServer{}.FetchMany,
		"ends": func(grpc.BidiStreamingServer[protocolv1.FetchManyRequest, protocolv1.FetchManyResponse]) error {
			return nil
		},
		"too large": func(s grpc.BidiStreamingServer[protocolv1.FetchManyRequest, protocolv1.FetchManyResponse]) error {
			if _, err := s.Recv(); err != nil {
				return err
			}
			return s.Send(&protocolv1.FetchManyResponse{Parts: []*protocolv1.FetchPart{{Error: make([]byte, rpctest.MaxMessage)}}})
		},
	} {
		o := &old{begun: make(chan struct{}), many: many}
		c := protocol.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) { protocolv1.RegisterProtocolServiceServer(s, o) }))
		keepBusy(t, c, o.begun)
		for range 2 {
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					url := fmt.Sprint(i)
					if r, err := c.Fetch(rpctest.Context(t), &protocol.Request{URL: url, MaxBytes: 10}); err != nil || string(r.Body) != url {
						t.Errorf("%s, %s: %v", name, url, err)
					}
				})
			}
			wg.Wait()
			if before := o.asked.Swap(0); before > 20 {
				t.Errorf("%s: asked %d times by FetchMany", name, before)
			}
			o.many = func(grpc.BidiStreamingServer[protocolv1.FetchManyRequest, protocolv1.FetchManyResponse]) error {
				t.Errorf("%s: asked by FetchMany again", name)
				return nil
			}
		}
	}
}

// Wrong parts are the failure of the exchange that they belong to.
func TestMalformedParts(t *testing.T) {
	head := &protocolv1.FetchResponse{Head: &protocolv1.FetchHead{}}
	for name, parts := range map[string][]*protocolv1.FetchPart{
		"nothing":        {{Last: true}},
		"no head":        {{Response: &protocolv1.FetchResponse{}}},
		"two heads":      {{Response: head}, {Response: head}},
		"no status":      {{Error: []byte{0xff}}},
		"no error":       {{Error: []byte{0x08, 0x00}}},
		"too long":       {{Response: head}, {Response: &protocolv1.FetchResponse{Body: make([]byte, 11)}}},
		"another's":      {{Response: &protocolv1.FetchResponse{Head: &protocolv1.FetchHead{Url: []byte("good:")}}, Last: true}},
		"nobody's first": {{Number: 1 << 60, Response: head}, {Last: true}},
	} {
		o := &old{begun: make(chan struct{}), many: func(s grpc.BidiStreamingServer[protocolv1.FetchManyRequest, protocolv1.FetchManyResponse]) error {
			for {
				r, err := s.Recv()
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
				for _, call := range r.GetCalls() {
					m := &protocolv1.FetchManyResponse{}
					for _, p := range parts {
						if string(call.GetRequest().GetUrl()) == "good:" {
							p = &protocolv1.FetchPart{Response: head, Last: true}
						}
						n := p.GetNumber()
						if n == 0 {
							n = call.GetNumber()
						}
						m.Parts = append(m.Parts, &protocolv1.FetchPart{Number: n, Response: p.GetResponse(), Last: p.GetLast(), Error: p.GetError()})
					}
					if err := s.Send(m); err != nil {
						return err
					}
				}
			}
		}}
		c := protocol.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) { protocolv1.RegisterProtocolServiceServer(s, o) }))
		keepBusy(t, c, o.begun)
		if _, err := c.Fetch(rpctest.Context(t), &protocol.Request{URL: "bad:", MaxBytes: 10}); !fault.Is(err, fault.Invalid) || strings.Count(err.Error(), "protocol: fetch") != 1 {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := c.Fetch(rpctest.Context(t), &protocol.Request{URL: "good:", MaxBytes: 10}); err != nil {
			t.Errorf("%s, the next one: %v", name, err)
		}
	}
}

// Exchanges under way when the plugin ends are lost with it.
func TestConnectionLost(t *testing.T) {
	begun := make(chan struct{}, 4)
	var server *grpc.Server
	c := protocol.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
		server = s.(*grpc.Server)
		protocol.Register(s, func() (protocol.Protocol, error) {
			return fetchFunc(func(ctx context.Context, _ *protocol.Request) (*protocol.Response, error) {
				begun <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			}), nil
		})
	}))
	var wg sync.WaitGroup
	for range cap(begun) {
		wg.Go(func() {
			if _, err := c.Fetch(rpctest.Context(t), &protocol.Request{}); !fault.Is(err, fault.Shutdown) {
				t.Errorf("got %v", err)
			}
		})
	}
	for range cap(begun) {
		<-begun
	}
	server.Stop()
	wg.Wait()
}
