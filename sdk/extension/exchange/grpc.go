package exchange

import (
	"context"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/internal/pb/exchangev1"
	"github.com/gonutch/crawler/sdk/internal/pb/modelv1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/internal/wire"
	"github.com/gonutch/crawler/sdk/model"
)

// Batch is the form the core calls: the answers are as many as the documents,
// in their order; errs is nil or as long. An Exchange that has MatchDocuments
// is called through it.
type Batch interface {
	Open(ctx context.Context, instance string, params Params) error
	MatchDocuments(ctx context.Context, instance string, docs []*model.Document) (out []bool, errs []error, err error)
}

// Local returns x as a Batch within this process.
func Local(x Exchange) Batch {
	if b, ok := x.(Batch); ok {
		return b
	}
	return local{x}
}

type local struct{ Exchange }

func (l local) MatchDocuments(ctx context.Context, instance string, docs []*model.Document) ([]bool, []error, error) {
	out := make([]bool, len(docs))
	errs, err := rpc.Each(ctx, len(docs), func(i int) (err error) {
		out[i], err = l.Match(ctx, instance, docs[i])
		return err
	})
	return out, errs, err
}

// Client is an exchange in another process.
type Client struct {
	c exchangev1.ExchangeServiceClient
}

var _ Batch = (*Client)(nil)

// NewClient returns the client of the exchange that cc leads to.
func NewClient(cc grpc.ClientConnInterface) *Client {
	return &Client{exchangev1.NewExchangeServiceClient(cc)}
}

// Open implements Batch.
func (c *Client) Open(ctx context.Context, instance string, params Params) error {
	_, err := c.c.Open(ctx, &exchangev1.OpenRequest{Instance: wire.Bytes(instance), Params: wire.Params(params)})
	return rpc.Failed(ctx, "exchange: open", err)
}

// MatchDocuments implements Batch.
func (c *Client) MatchDocuments(ctx context.Context, instance string, docs []*model.Document) ([]bool, []error, error) {
	const what = "exchange: match documents"
	if len(docs) == 0 {
		return nil, nil, nil
	}
	req := &exchangev1.MatchDocumentsRequest{Instance: wire.Bytes(instance), Documents: make([]*modelv1.Document, len(docs))}
	for i, d := range docs {
		req.Documents[i] = wire.Document(d)
	}
	r, err := c.c.MatchDocuments(ctx, req)
	if err := rpc.Answer(ctx, what, err, len(r.GetMatch()), len(docs)); err != nil {
		return nil, nil, err
	}
	errs, err := wire.ItemErrorsFrom(r.GetErrors(), len(docs))
	if err != nil {
		return nil, nil, rpc.Malformed(what, "%v", err)
	}
	return r.GetMatch(), errs, nil
}

// Register serves on s what impl returns; impl is asked at every call.
func Register(s grpc.ServiceRegistrar, impl func() (Exchange, error)) {
	exchangev1.RegisterExchangeServiceServer(s, &server{impl: impl})
}

type server struct {
	exchangev1.UnimplementedExchangeServiceServer
	impl func() (Exchange, error)
}

func (s *server) Open(ctx context.Context, r *exchangev1.OpenRequest) (*exchangev1.OpenResponse, error) {
	x, err := s.impl()
	if err != nil {
		return nil, err
	}
	return &exchangev1.OpenResponse{}, x.Open(ctx, wire.Text(r.GetInstance()), wire.ParamsFrom(r.GetParams()))
}

func (s *server) MatchDocuments(ctx context.Context, r *exchangev1.MatchDocumentsRequest) (*exchangev1.MatchDocumentsResponse, error) {
	x, err := s.impl()
	if err != nil {
		return nil, err
	}
	docs := make([]*model.Document, len(r.GetDocuments()))
	for i, d := range r.GetDocuments() {
		doc := wire.DocumentFrom(d)
		docs[i] = &doc
	}
	match, errs, err := Local(x).MatchDocuments(ctx, wire.Text(r.GetInstance()), docs)
	if err != nil {
		return nil, err
	}
	return &exchangev1.MatchDocumentsResponse{Match: match, Errors: wire.ItemErrors(errs)}, nil
}
