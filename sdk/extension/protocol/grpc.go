package protocol

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/protocolv1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/internal/wire"
)

const (
	// chunk is how many bytes of a body travel in one message.
	chunk = 256 << 10
	// maxBody bounds the body of a request that names no limit.
	maxBody = 256 << 20
)

const what = "protocol: fetch"

// Client is a protocol in another process.
type Client struct {
	c protocolv1.ProtocolServiceClient
}

var _ Protocol = (*Client)(nil)

// NewClient returns the client of the protocol that cc leads to.
func NewClient(cc grpc.ClientConnInterface) *Client {
	return &Client{protocolv1.NewProtocolServiceClient(cc)}
}

// Fetch implements Protocol. A body longer than req.MaxBytes is an error of
// kind Invalid, and no more than that is ever held.
func (c *Client) Fetch(ctx context.Context, req *Request) (*Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.c.Fetch(ctx, &protocolv1.FetchRequest{
		Url: wire.Bytes(req.URL), Kind: protocolv1.RequestKind(req.Kind) + 1,
		LastModified: wire.Bytes(req.LastModified), Etag: wire.Bytes(req.ETag),
		MaxBytes: req.MaxBytes, TimeoutNs: int64(req.Timeout), AllowPrivate: wire.BytesList(req.AllowPrivate),
		Metadata: wire.Metadata(req.Metadata),
	})
	if err := rpc.Failed(ctx, what, err); err != nil {
		return nil, err
	}
	first, err := s.Recv()
	if errors.Is(err, io.EOF) {
		return nil, rpc.Malformed(what, "no message")
	}
	if err := rpc.Failed(ctx, what, err); err != nil {
		return nil, err
	}
	if first.GetHead() == nil {
		return nil, rpc.Malformed(what, "the first message has no head")
	}
	out, err := responseFrom(first.GetHead())
	if err != nil {
		return nil, rpc.Malformed(what, "%v", err)
	}
	limit := req.MaxBytes
	if limit <= 0 {
		limit = maxBody
	}
	out.Body, err = receive(ctx, s, first, limit)
	return out, err
}

// receive collects the body from the first message and those that follow.
func receive(ctx context.Context, s grpc.ServerStreamingClient[protocolv1.FetchResponse], m *protocolv1.FetchResponse, limit int64) ([]byte, error) {
	body := m.GetBody()
	size := min(m.GetHead().GetBodySize(), limit)
	for {
		if int64(len(body)) > limit {
			return nil, rpc.Malformed(what, "a body of more than %d bytes", limit)
		}
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err := rpc.Failed(ctx, what, err); err != nil {
			return nil, err
		}
		if m.GetHead() != nil {
			return nil, rpc.Malformed(what, "a second head")
		}
		if int64(cap(body)) < size {
			body = append(make([]byte, 0, size), body...)
		}
		body = append(body, m.GetBody()...)
	}
}

func responseFrom(h *protocolv1.FetchHead) (*Response, error) {
	status, err := wire.ProtocolStatusFrom(h.GetStatus())
	if err != nil {
		return nil, err
	}
	return &Response{
		Status: status, URL: wire.Text(h.GetUrl()), Location: wire.Text(h.GetLocation()), Headers: wire.MetadataFrom(h.GetHeaders()),
		ContentType: wire.Text(h.GetContentType()), Truncated: wire.Text(h.GetTruncated()), RetryAfter: time.Duration(h.GetRetryAfterNs()),
		IP: wire.Text(h.GetIp()), Protocol: wire.Text(h.GetProtocol()), FetchTime: wire.TimeFrom(h.GetFetchTimeUs()),
		Elapsed: time.Duration(h.GetElapsedNs()), RawRequest: h.GetRawRequest(), RawResponse: h.GetRawResponse(),
	}, nil
}

// Register serves on s what impl returns; impl is asked at every call.
func Register(s grpc.ServiceRegistrar, impl func() (Protocol, error)) {
	protocolv1.RegisterProtocolServiceServer(s, &server{impl: impl})
}

type server struct {
	protocolv1.UnimplementedProtocolServiceServer
	impl func() (Protocol, error)
}

func (s *server) Fetch(r *protocolv1.FetchRequest, out grpc.ServerStreamingServer[protocolv1.FetchResponse]) error {
	p, err := s.impl()
	if err != nil {
		return err
	}
	req := &Request{
		URL: wire.Text(r.GetUrl()), Kind: kindFrom(r.GetKind()),
		LastModified: wire.Text(r.GetLastModified()), ETag: wire.Text(r.GetEtag()),
		MaxBytes: r.GetMaxBytes(), Timeout: time.Duration(r.GetTimeoutNs()), AllowPrivate: wire.TextList(r.GetAllowPrivate()),
		Metadata: wire.MetadataFrom(r.GetMetadata()),
	}
	resp, err := p.Fetch(out.Context(), req)
	if err != nil {
		return err
	}
	if resp == nil {
		return fault.Errorf(fault.Permanent, "%s %s: the plugin returned no response", what, req.URL)
	}
	m := &protocolv1.FetchResponse{Head: &protocolv1.FetchHead{
		Status: wire.ProtocolStatus(resp.Status), Url: wire.Bytes(resp.URL), Location: wire.Bytes(resp.Location), Headers: wire.Metadata(resp.Headers),
		ContentType: wire.Bytes(resp.ContentType), Truncated: wire.Bytes(resp.Truncated), RetryAfterNs: int64(resp.RetryAfter),
		Ip: wire.Bytes(resp.IP), Protocol: wire.Bytes(resp.Protocol), FetchTimeUs: wire.Time(resp.FetchTime),
		ElapsedNs: int64(resp.Elapsed), RawRequest: resp.RawRequest, RawResponse: resp.RawResponse, BodySize: int64(len(resp.Body)),
	}}
	for body := resp.Body; ; {
		n := min(len(body), chunk)
		m.Body, body = body[:n], body[n:]
		if err := out.Send(m); err != nil {
			return err
		}
		if len(body) == 0 {
			return nil
		}
		m = new(protocolv1.FetchResponse)
	}
}

func kindFrom(k protocolv1.RequestKind) Kind {
	switch k {
	case protocolv1.RequestKind_REQUEST_KIND_ROBOTS:
		return Robots
	case protocolv1.RequestKind_REQUEST_KIND_SITEMAP:
		return Sitemap
	default:
		return Page
	}
}
