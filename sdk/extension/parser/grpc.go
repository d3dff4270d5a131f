package parser

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/modelv1"
	"github.com/gonutch/crawler/sdk/internal/pb/parserv1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/internal/wire"
	"github.com/gonutch/crawler/sdk/model"
)

// Batch is the form the core calls: the answers are as many as the documents,
// in their order; errs is nil or as long, and the answer of a failed document
// is nil. A Parser that implements it is called through it.
type Batch interface {
	ParseDocuments(ctx context.Context, in []*Input) (out []*Output, errs []error, err error)
}

// Local returns p as a Batch within this process. It parses as many documents
// at the same time as Go runs threads.
func Local(p Parser) Batch {
	if b, ok := p.(Batch); ok {
		return b
	}
	return local{p}
}

type local struct{ p Parser }

func (l local) ParseDocuments(ctx context.Context, in []*Input) ([]*Output, []error, error) {
	out := make([]*Output, len(in))
	errs, err := rpc.EachParallel(ctx, len(in), func(i int) error {
		o, err := l.p.Parse(ctx, in[i])
		if err == nil && (o == nil || len(o.Parses) == 0) {
			err = fault.Errorf(fault.Permanent, "the parser returned no parse")
		}
		if err == nil {
			out[i] = o
		}
		return err
	})
	return out, errs, err
}

// Client is a parser in another process.
type Client struct{ c parserv1.ParserServiceClient }

var _ Batch = (*Client)(nil)

// NewClient returns the client of the parser that cc leads to.
func NewClient(cc grpc.ClientConnInterface) *Client {
	return &Client{parserv1.NewParserServiceClient(cc)}
}

const what = "parser: parse"

// ParseDocuments implements Batch.
func (c *Client) ParseDocuments(ctx context.Context, in []*Input) ([]*Output, []error, error) {
	if len(in) == 0 {
		return nil, nil, nil
	}
	r, err := c.c.Parse(ctx, request(in))
	if err := rpc.Answer(ctx, what, err, len(r.GetOutputs()), len(in)); err != nil {
		return nil, nil, err
	}
	errs, err := wire.ItemErrorsFrom(r.GetErrors(), len(in))
	if err != nil {
		return nil, nil, rpc.Malformed(what, "%v", err)
	}
	out := make([]*Output, len(in))
	for i, o := range r.GetOutputs() {
		if errs != nil && errs[i] != nil {
			continue
		}
		if len(o.GetParses()) == 0 {
			return nil, nil, rpc.Malformed(what, "no parse for document %d", i)
		}
		out[i] = &Output{Parses: make([]model.Parse, len(o.GetParses()))}
		for j, p := range o.GetParses() {
			if out[i].Parses[j], err = wire.ParseFrom(p); err != nil {
				return nil, nil, rpc.Malformed(what, "document %d: %v", i, err)
			}
		}
		for _, m := range o.GetMembers() {
			out[i].Members = append(out[i].Members, *wire.ContentFrom(m))
		}
	}
	return out, errs, nil
}

func request(in []*Input) *parserv1.ParseRequest {
	req := &parserv1.ParseRequest{Documents: make([]*modelv1.Content, len(in))}
	var lists [][]model.Fact
	for i, d := range in {
		req.Documents[i] = wire.Content(&d.Content)
		if len(d.Facts) == 0 {
			continue
		}
		n := slices.IndexFunc(lists, func(l []model.Fact) bool { return slices.Equal(l, d.Facts) })
		if n < 0 {
			n = len(lists)
			lists = append(lists, d.Facts)
			req.FactLists = append(req.FactLists, &parserv1.FactList{Facts: wire.Facts(d.Facts)})
		}
		if req.Facts == nil {
			req.Facts = make([]uint32, len(in))
		}
		req.Facts[i] = uint32(n + 1)
	}
	return req
}

// Register serves on s what impl returns; impl is asked at every call.
func Register(s grpc.ServiceRegistrar, impl func() (Parser, error)) {
	parserv1.RegisterParserServiceServer(s, &server{impl: impl})
}

type server struct {
	parserv1.UnimplementedParserServiceServer
	impl func() (Parser, error)
}

func (s *server) Parse(ctx context.Context, r *parserv1.ParseRequest) (*parserv1.ParseResponse, error) {
	p, err := s.impl()
	if err != nil {
		return nil, err
	}
	in, err := inputs(r)
	if err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	outputs, errs, err := Local(p).ParseDocuments(ctx, in)
	if err != nil {
		return nil, err
	}
	a := &parserv1.ParseResponse{Outputs: make([]*parserv1.Output, len(outputs)), Errors: wire.ItemErrors(errs)}
	for i, o := range outputs {
		a.Outputs[i] = &parserv1.Output{}
		if o == nil {
			continue
		}
		for j := range o.Parses {
			a.Outputs[i].Parses = append(a.Outputs[i].Parses, wire.Parse(&o.Parses[j]))
		}
		for j := range o.Members {
			a.Outputs[i].Members = append(a.Outputs[i].Members, wire.Content(&o.Members[j]))
		}
	}
	return a, nil
}

func inputs(r *parserv1.ParseRequest) ([]*Input, error) {
	if n := len(r.GetFacts()); n != 0 && n != len(r.GetDocuments()) {
		return nil, fmt.Errorf("%d lists of facts for %d documents", n, len(r.GetDocuments()))
	}
	in := make([]*Input, len(r.GetDocuments()))
	for i, d := range r.GetDocuments() {
		in[i] = &Input{Content: *wire.ContentFrom(d)}
		if len(r.GetFacts()) == 0 || r.GetFacts()[i] == 0 {
			continue
		}
		n := int(r.GetFacts()[i])
		if n > len(r.GetFactLists()) {
			return nil, fmt.Errorf("list of facts %d of %d", n, len(r.GetFactLists()))
		}
		in[i].Facts = wire.FactsFrom(r.GetFactLists()[n-1].GetFacts())
	}
	return in, nil
}
