package protocol

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
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

// Client is a protocol in another process. It is safe for concurrent use, and
// exchanges of one Client that overlap cost less than those of several.
type Client struct {
	c protocolv1.ProtocolServiceClient

	busy  atomic.Int64 // exchanges under way
	alone atomic.Bool  // FetchMany is of no use with this plugin
	mu    sync.Mutex
	many  *many // that exchanges under way share; nil for none
}

var _ Protocol = (*Client)(nil)

// NewClient returns the client of the protocol that cc leads to.
func NewClient(cc grpc.ClientConnInterface) *Client {
	return &Client{c: protocolv1.NewProtocolServiceClient(cc)}
}

// Fetch implements Protocol. A body longer than req.MaxBytes is an error of
// kind Invalid, and no more than that is ever held.
func (c *Client) Fetch(ctx context.Context, req *Request) (*Response, error) {
	others := c.busy.Add(1) > 1
	defer c.busy.Add(-1)
	r := requestTo(req)
	if others && !c.alone.Load() {
		if resp, err := c.fetchTogether(ctx, r); !errors.Is(err, errAlone) {
			return resp, err
		}
	}
	return c.fetchAlone(ctx, r)
}

// fetchAlone performs the exchange by a call of its own.
func (c *Client) fetchAlone(ctx context.Context, req *protocolv1.FetchRequest) (*Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.c.Fetch(ctx, req)
	if err := rpc.Failed(ctx, what, err); err != nil {
		return nil, err
	}
	a := answerTo(req)
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return a.end()
		}
		if err := rpc.Failed(ctx, what, err); err != nil {
			return nil, err
		}
		if err := a.add(m); err != nil {
			return nil, err
		}
	}
}

func requestTo(req *Request) *protocolv1.FetchRequest {
	return &protocolv1.FetchRequest{
		Url: wire.Bytes(req.URL), Kind: protocolv1.RequestKind(req.Kind) + 1,
		LastModified: wire.Bytes(req.LastModified), Etag: wire.Bytes(req.ETag),
		MaxBytes: req.MaxBytes, TimeoutNs: int64(req.Timeout), AllowPrivate: wire.BytesList(req.AllowPrivate),
		Metadata: wire.Metadata(req.Metadata), Headers: wire.Metadata(req.Headers),
	}
}

// answer is put together from the messages of one exchange.
type answer struct {
	url      []byte // asked for
	limit    int64  // of the body; that of the request
	out      *Response
	head     *protocolv1.FetchHead
	body     []byte // with the bytes attached to it
	attached int64
}

func answerTo(req *protocolv1.FetchRequest) answer {
	return answer{url: req.GetUrl(), limit: req.GetMaxBytes()}
}

// add takes the next message.
func (a *answer) add(m *protocolv1.FetchResponse) error {
	if a.out == nil {
		return a.begin(m)
	}
	if m.GetHead() != nil {
		return rpc.Malformed(what, "a second head")
	}
	if size := min(a.head.GetBodySize(), a.limit) + a.attached; int64(cap(a.body)) < size {
		a.body = append(make([]byte, 0, size), a.body...)
	}
	a.body = append(a.body, m.GetBody()...)
	return a.fits()
}

func (a *answer) begin(m *protocolv1.FetchResponse) error {
	if m.GetHead() == nil {
		return rpc.Malformed(what, "the first message has no head")
	}
	var err error
	if a.out, err = responseFrom(m.GetHead()); err != nil {
		return rpc.Malformed(what, "%v", err)
	}
	if u := m.GetHead().GetUrl(); len(u) > 0 && !bytes.Equal(u, a.url) { // it would be stored as another page
		return rpc.Malformed(what, "it is of %.200q", u)
	}
	if a.attached, err = attachedBytes(m.GetHead()); err != nil {
		return rpc.Malformed(what, "%v", err)
	}
	if a.limit <= 0 {
		a.limit = maxBody
	}
	a.head, a.body = m.GetHead(), m.GetBody()
	return a.fits()
}

func (a *answer) fits() error {
	if int64(len(a.body)) > a.limit+a.attached {
		return rpc.Malformed(what, "a body of more than %d bytes", a.limit)
	}
	return nil
}

// end returns what the messages made.
func (a *answer) end() (*Response, error) {
	if a.out == nil {
		return nil, rpc.Malformed(what, "no message")
	}
	a.out.Body = a.body
	return a.out, detach(a.out, a.head, a.limit)
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
	m, parts, err := s.fetch(out.Context(), r)
	if err != nil {
		return err
	}
	return sendParts(func(m *protocolv1.FetchResponse, _ bool) error { return out.Send(m) }, m, parts)
}

// fetch performs the exchange. The answer is the message with the head, and then
// what is sent behind it piece by piece.
func (s *server) fetch(ctx context.Context, r *protocolv1.FetchRequest) (*protocolv1.FetchResponse, [][]byte, error) {
	p, err := s.impl()
	if err != nil {
		return nil, nil, err
	}
	req := &Request{
		URL: wire.Text(r.GetUrl()), Kind: kindFrom(r.GetKind()),
		LastModified: wire.Text(r.GetLastModified()), ETag: wire.Text(r.GetEtag()),
		MaxBytes: r.GetMaxBytes(), Timeout: time.Duration(r.GetTimeoutNs()), AllowPrivate: wire.TextList(r.GetAllowPrivate()),
		Metadata: wire.MetadataFrom(r.GetMetadata()), Headers: wire.MetadataFrom(r.GetHeaders()),
	}
	resp, err := p.Fetch(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	if resp == nil {
		return nil, nil, fault.Errorf(fault.Permanent, "%s %s: the plugin returned no response", what, req.URL)
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
		return nil, nil, fault.Errorf(fault.Permanent, "%s %s: the plugin returned %w", what, req.URL, err)
	}
	return m, parts, nil
}

// sendParts sends m and the parts in pieces, one after the other; send is told
// which is the last.
func sendParts(send func(m *protocolv1.FetchResponse, last bool) error, m *protocolv1.FetchResponse, parts [][]byte) error {
	for i := 0; ; {
		body := parts[i]
		n := min(len(body), chunk)
		m.Body, parts[i] = body[:n], body[n:]
		if len(parts[i]) == 0 {
			i++
		}
		last := i == len(parts)
		if err := send(m, last); err != nil || last {
			return err
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
