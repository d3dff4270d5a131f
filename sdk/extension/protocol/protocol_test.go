package protocol_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/protocolv1"
	"github.com/gonutch/crawler/sdk/internal/rpctest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fetchFunc func(ctx context.Context, req *protocol.Request) (*protocol.Response, error)

func (f fetchFunc) Fetch(ctx context.Context, req *protocol.Request) (*protocol.Response, error) {
	return f(ctx, req)
}

func connect(t *testing.T, f fetchFunc) *protocol.Client {
	return protocol.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
		protocol.Register(s, func() (protocol.Protocol, error) { return f, nil })
	}))
}

func TestRoundTrip(t *testing.T) { bothWays(t, testRoundTrip) }

func testRoundTrip(t *testing.T, connect connector) {
	full := rpctest.Filled[protocol.Request]()
	full.MaxBytes, full.Kind = 1<<20, protocol.Sitemap
	answer := rpctest.Filled[protocol.Response]()
	answer.URL = full.URL
	for i := range answer.Attachments {
		answer.Attachments[i].Name = "view"
	}
	for name, c := range map[string]struct {
		req  protocol.Request
		resp protocol.Response
	}{
		"zero":   {},
		"full":   {full, answer},
		"robots": {protocol.Request{Kind: protocol.Robots}, protocol.Response{Body: []byte("x")}},
	} {
		t.Run(name, func(t *testing.T) {
			var got protocol.Request
			resp, err := connect(t, func(_ context.Context, r *protocol.Request) (*protocol.Response, error) {
				got = *r
				return &c.resp, nil
			}).Fetch(rpctest.Context(t), &c.req)
			if err != nil {
				t.Fatal(err)
			}
			if d := rpctest.Diff(c.req, got); d != "" {
				t.Errorf("request (-sent +received):\n%s", d)
			}
			if d := rpctest.Diff(c.resp, *resp); d != "" {
				t.Errorf("response (-sent +received):\n%s", d)
			}
		})
	}
}

func TestBodies(t *testing.T) { bothWays(t, testBodies) }

func testBodies(t *testing.T, connect connector) {
	const chunk = 256 << 10
	for _, n := range []int{0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 3 << 20} {
		body := bytes.Repeat([]byte("\x00\xff0123456789"), n/12+1)[:n]
		c := connect(t, func(context.Context, *protocol.Request) (*protocol.Response, error) {
			return &protocol.Response{Body: body}, nil
		})
		resp, err := c.Fetch(rpctest.Context(t), &protocol.Request{MaxBytes: int64(n)})
		if n == 0 {
			resp, err = c.Fetch(rpctest.Context(t), &protocol.Request{MaxBytes: 1})
		}
		if err != nil || !bytes.Equal(resp.Body, body) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if n > 1 {
			if _, err = c.Fetch(rpctest.Context(t), &protocol.Request{MaxBytes: int64(n - 1)}); !fault.Is(err, fault.Invalid) {
				t.Errorf("%d bytes, one more than asked for: %v", n, err)
			}
		}
	}
}

func TestAttachments(t *testing.T) { bothWays(t, testAttachments) }

func testAttachments(t *testing.T, connect connector) {
	big := bytes.Repeat([]byte("x"), 300<<10)
	for name, sent := range map[string]protocol.Response{
		"no body":   {Attachments: []protocol.Attachment{{Name: "view", ContentType: "image/png", Body: big}}},
		"no bytes":  {Body: []byte("b"), Attachments: []protocol.Attachment{{Name: "view"}, {Name: "fullPage", Body: []byte("y")}}},
		"two large": {Body: big, Attachments: []protocol.Attachment{{Name: "view", Body: big}, {Name: "fullPage", Body: big}}},
	} {
		got, err := connect(t, func(context.Context, *protocol.Request) (*protocol.Response, error) { return &sent, nil }).
			Fetch(rpctest.Context(t), &protocol.Request{MaxBytes: int64(len(big))})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := rpctest.Diff(sent, *got); d != "" {
			t.Errorf("%s (-sent +received):\n%s", name, d)
		}
	}
	_, err := connect(t, func(context.Context, *protocol.Request) (*protocol.Response, error) {
		return &protocol.Response{Attachments: []protocol.Attachment{{Name: "view", Body: make([]byte, protocol.MaxAttachments+1)}}}, nil
	}).Fetch(rpctest.Context(t), &protocol.Request{})
	if !fault.Is(err, fault.Permanent) {
		t.Errorf("too large: %v", err)
	}
}

func TestErrors(t *testing.T) { bothWays(t, testErrors) }

func testErrors(t *testing.T, connect connector) {
	for name, f := range map[string]fetchFunc{
		"error": func(context.Context, *protocol.Request) (*protocol.Response, error) {
			return nil, errors.New("broken \xff")
		},
		"nothing": func(context.Context, *protocol.Request) (*protocol.Response, error) { return nil, nil },
		"panic":   func(context.Context, *protocol.Request) (*protocol.Response, error) { panic("oops") },
	} {
		if _, err := connect(t, f).Fetch(rpctest.Context(t), &protocol.Request{}); !fault.Is(err, fault.Permanent) || !strings.Contains(err.Error(), "protocol: fetch") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(rpctest.Context(t))
	_, err := connect(t, func(pctx context.Context, _ *protocol.Request) (*protocol.Response, error) {
		cancel()
		<-pctx.Done()
		return nil, pctx.Err()
	}).Fetch(ctx, &protocol.Request{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

type rogue struct {
	protocolv1.UnimplementedProtocolServiceServer
	messages []*protocolv1.FetchResponse
}

func (r rogue) Fetch(_ *protocolv1.FetchRequest, s grpc.ServerStreamingServer[protocolv1.FetchResponse]) error {
	for _, m := range r.messages {
		if err := s.Send(m); err != nil {
			return err
		}
	}
	return nil
}

func TestMalformedAnswers(t *testing.T) {
	head := &protocolv1.FetchHead{}
	for name, m := range map[string][]*protocolv1.FetchResponse{
		"nothing":               nil,
		"no head":               {{Body: []byte("x")}},
		"two heads":             {{Head: head}, {Head: head}},
		"attachment ends early": {{Head: &protocolv1.FetchHead{BodySize: 1, Attachments: []*protocolv1.Attachment{{Name: []byte("a"), Size: 5}}}, Body: []byte("x")}},
		"more than attached":    {{Head: &protocolv1.FetchHead{BodySize: 1, Attachments: []*protocolv1.Attachment{{Name: []byte("a"), Size: 1}}}, Body: []byte("xyz")}},
		"attached negative":     {{Head: &protocolv1.FetchHead{Attachments: []*protocolv1.Attachment{{Name: []byte("a"), Size: -1}}}}},
		"attached too much":     {{Head: &protocolv1.FetchHead{Attachments: []*protocolv1.Attachment{{Name: []byte("a"), Size: 1 << 62}, {Name: []byte("a"), Size: 1 << 62}}}}},
		"attachment's name":     {{Head: &protocolv1.FetchHead{Attachments: []*protocolv1.Attachment{{Name: []byte("a\r\nb")}}}}},
		"negative body":         {{Head: &protocolv1.FetchHead{BodySize: -1, Attachments: []*protocolv1.Attachment{{Name: []byte("a")}}}}},
		"too long":              {{Head: &protocolv1.FetchHead{BodySize: 1 << 60}}, {Body: make([]byte, 10)}, {Body: make([]byte, 10)}},
	} {
		c := protocol.NewClient(rpctest.Connect(t, func(s grpc.ServiceRegistrar) {
			protocolv1.RegisterProtocolServiceServer(s, rogue{messages: m})
		}))
		if _, err := c.Fetch(rpctest.Context(t), &protocol.Request{MaxBytes: 15}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
