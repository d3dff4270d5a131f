package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
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
	attached, err := attachedBytes(first.GetHead())
	if err != nil {
		return nil, rpc.Malformed(what, "%v", err)
	}
	out.Body, err = receive(ctx, s, first, limit, attached)
	if err == nil {
		err = detach(out, first.GetHead(), limit)
	}
	return out, err
}

// attachedBytes returns how many bytes behind the body belong to attachments.
func attachedBytes(h *protocolv1.FetchHead) (int64, error) {
	var sum int64
	for _, a := range h.GetAttachments() {
		if !isName(wire.Text(a.GetName())) {
			return 0, fmt.Errorf("an attachment named %q: want letters only", a.GetName())
		}
		if a.GetSize() < 0 || a.GetSize() > MaxAttachments-sum {
			return 0, fmt.Errorf("attachments of more than %d bytes", MaxAttachments)
		}
		sum += a.GetSize()
	}
	return sum, nil
}

func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' })
}

// detach cuts what was received into body and attachments.
func detach(out *Response, h *protocolv1.FetchHead, limit int64) error {
	if len(h.GetAttachments()) == 0 {
		return nil
	}
	rest := out.Body
	if h.GetBodySize() < 0 || h.GetBodySize() > min(limit, int64(len(rest))) {
		return rpc.Malformed(what, "%d bytes for a body of %d", len(rest), h.GetBodySize())
	}
	out.Body, rest = rest[:h.GetBodySize():h.GetBodySize()], rest[h.GetBodySize():]
	if len(out.Body) == 0 {
		out.Body = nil
	}
	for _, a := range h.GetAttachments() {
		if a.GetSize() > int64(len(rest)) {
			return rpc.Malformed(what, "an attachment ends early")
		}
		out.Attachments = append(out.Attachments, Attachment{Name: wire.Text(a.GetName()), ContentType: wire.Text(a.GetContentType()), Body: rest[:a.GetSize():a.GetSize()]})
		rest = rest[a.GetSize():]
	}
	if len(rest) > 0 {
		return rpc.Malformed(what, "%d bytes behind the last attachment", len(rest))
	}
	return nil
}

// receive collects the body, with the bytes attached to it, from the first message and
// those that follow.
func receive(ctx context.Context, s grpc.ServerStreamingClient[protocolv1.FetchResponse], m *protocolv1.FetchResponse, limit, attached int64) ([]byte, error) {
	body := m.GetBody()
	size := min(m.GetHead().GetBodySize(), limit) + attached
	for {
		if int64(len(body)) > limit+attached {
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
	parts := [][]byte{resp.Body}
	for i := range resp.Attachments {
		a := &resp.Attachments[i]
		m.Head.Attachments = append(m.Head.Attachments, &protocolv1.Attachment{Name: wire.Bytes(a.Name), ContentType: wire.Bytes(a.ContentType), Size: int64(len(a.Body))})
		parts = append(parts, a.Body)
	}
	if _, err := attachedBytes(m.Head); err != nil {
		return fault.Errorf(fault.Permanent, "%s %s: the plugin returned %w", what, req.URL, err)
	}
	return sendParts(out, m, parts)
}

// sendParts sends m and the parts in pieces, one after the other.
func sendParts(out grpc.ServerStreamingServer[protocolv1.FetchResponse], m *protocolv1.FetchResponse, parts [][]byte) error {
	for i := 0; ; {
		body := parts[i]
		n := min(len(body), chunk)
		m.Body, parts[i] = body[:n], body[n:]
		if err := out.Send(m); err != nil {
			return err
		}
		if len(parts[i]) == 0 {
			i++
		}
		if i == len(parts) {
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
