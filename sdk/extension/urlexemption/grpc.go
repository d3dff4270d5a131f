package urlexemption

import (
	"context"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/urlexemptionv1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/internal/wire"
)

// Batch is the form the core calls: the answers are as many as the links, in
// their order; errs is nil or as long. A Filter that implements it is called
// through it.
type Batch interface {
	ExemptLinks(ctx context.Context, pairs []Pair) (out []bool, errs []error, err error)
}

// Local returns f as a Batch within this process.
func Local(f Filter) Batch {
	if b, ok := f.(Batch); ok {
		return b
	}
	return local{f}
}

type local struct{ f Filter }

func (l local) ExemptLinks(ctx context.Context, pairs []Pair) ([]bool, []error, error) {
	out := make([]bool, len(pairs))
	errs, err := rpc.Each(ctx, len(pairs), func(i int) (err error) {
		out[i], err = l.f.Exempt(ctx, pairs[i])
		return err
	})
	return out, errs, err
}

// Client is a filter in another process.
type Client struct {
	c urlexemptionv1.URLExemptionServiceClient
}

var _ Batch = (*Client)(nil)

// NewClient returns the client of the filter that cc leads to.
func NewClient(cc grpc.ClientConnInterface) *Client {
	return &Client{urlexemptionv1.NewURLExemptionServiceClient(cc)}
}

// ExemptLinks implements Batch.
func (c *Client) ExemptLinks(ctx context.Context, pairs []Pair) ([]bool, []error, error) {
	const what = "urlexemption: exempt links"
	if len(pairs) == 0 {
		return nil, nil, nil
	}
	req := &urlexemptionv1.ExemptLinksRequest{From: make([][]byte, len(pairs)), To: make([][]byte, len(pairs))}
	for i, p := range pairs {
		req.From[i], req.To[i] = wire.Bytes(p.From), wire.Bytes(p.To)
	}
	r, err := c.c.ExemptLinks(ctx, req)
	if err := rpc.Answer(ctx, what, err, len(r.GetExempt()), len(pairs)); err != nil {
		return nil, nil, err
	}
	errs, err := wire.ItemErrorsFrom(r.GetErrors(), len(pairs))
	if err != nil {
		return nil, nil, rpc.Malformed(what, "%v", err)
	}
	return r.GetExempt(), errs, nil
}

// Register serves on s what impl returns; impl is asked at every call.
func Register(s grpc.ServiceRegistrar, impl func() (Filter, error)) {
	urlexemptionv1.RegisterURLExemptionServiceServer(s, &server{impl: impl})
}

type server struct {
	urlexemptionv1.UnimplementedURLExemptionServiceServer
	impl func() (Filter, error)
}

func (s *server) ExemptLinks(ctx context.Context, r *urlexemptionv1.ExemptLinksRequest) (*urlexemptionv1.ExemptLinksResponse, error) {
	f, err := s.impl()
	if err != nil {
		return nil, err
	}
	if len(r.GetFrom()) != len(r.GetTo()) {
		return nil, fault.Errorf(fault.Invalid, "%d sources for %d targets", len(r.GetFrom()), len(r.GetTo()))
	}
	pairs := make([]Pair, len(r.GetFrom()))
	for i := range pairs {
		pairs[i] = Pair{From: wire.Text(r.GetFrom()[i]), To: wire.Text(r.GetTo()[i])}
	}
	exempt, errs, err := Local(f).ExemptLinks(ctx, pairs)
	if err != nil {
		return nil, err
	}
	return &urlexemptionv1.ExemptLinksResponse{Exempt: exempt, Errors: wire.ItemErrors(errs)}, nil
}
