package parsefilter

import (
	"context"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/modelv1"
	"github.com/gonutch/crawler/sdk/internal/pb/parsefilterv1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/internal/wire"
)

// Batch is the form the core calls: the answers are as many as the inputs, in
// their order, nil where nothing changes; errs is nil or as long. A Filter that
// implements it is called through it.
type Batch interface {
	FilterParses(ctx context.Context, in []*Input) (out []*Patch, errs []error, err error)
}

// Local returns f as a Batch within this process.
func Local(f Filter) Batch {
	if b, ok := f.(Batch); ok {
		return b
	}
	return local{f}
}

type local struct{ f Filter }

func (l local) FilterParses(ctx context.Context, in []*Input) ([]*Patch, []error, error) {
	out := make([]*Patch, len(in))
	errs, err := rpc.Each(ctx, len(in), func(i int) (err error) {
		out[i], err = l.f.FilterParse(ctx, in[i])
		return err
	})
	return out, errs, err
}

// Client is a filter in another process.
type Client struct {
	c parsefilterv1.ParseFilterServiceClient
}

var _ Batch = (*Client)(nil)

// NewClient returns the client of the filter that cc leads to.
func NewClient(cc grpc.ClientConnInterface) *Client {
	return &Client{parsefilterv1.NewParseFilterServiceClient(cc)}
}

const what = "parsefilter: filter parses"

// FilterParses implements Batch.
func (c *Client) FilterParses(ctx context.Context, in []*Input) ([]*Patch, []error, error) {
	if len(in) == 0 {
		return nil, nil, nil
	}
	req := &parsefilterv1.FilterParsesRequest{Inputs: make([]*parsefilterv1.Input, len(in))}
	for i, d := range in {
		req.Inputs[i] = &parsefilterv1.Input{Parse: wire.Parse(&d.Parse), Content: wire.Content(d.Content)}
	}
	r, err := c.c.FilterParses(ctx, req)
	if err := rpc.Answer(ctx, what, err, len(r.GetPatches()), len(in)); err != nil {
		return nil, nil, err
	}
	errs, err := wire.ItemErrorsFrom(r.GetErrors(), len(in))
	if err != nil {
		return nil, nil, rpc.Malformed(what, "%v", err)
	}
	out := make([]*Patch, len(in))
	for i, p := range r.GetPatches() {
		if out[i], err = patchFrom(p); err != nil {
			return nil, nil, rpc.Malformed(what, "patch %d: %v", i, err)
		}
	}
	return out, errs, nil
}

// patchFrom returns nil for a patch that changes nothing.
func patchFrom(p *parsefilterv1.Patch) (*Patch, error) {
	links, err := wire.OutlinksFrom(p.GetOutlinks())
	if err != nil {
		return nil, err
	}
	out := &Patch{
		SetMeta: wire.MetadataFrom(p.GetSetMeta()), AddMeta: wire.MetadataFrom(p.GetAddMeta()),
		Outlinks: links, ReplaceLinks: p.GetOutlinks() != nil, Fail: wire.Text(p.GetFail()),
	}
	if p.GetTitle() != nil {
		s := wire.Text(p.GetTitle())
		out.Title = &s
	}
	if p.GetText() != nil {
		s := wire.Text(p.GetText())
		out.Text = &s
	}
	if out.SetMeta == nil && out.AddMeta == nil && out.Title == nil && out.Text == nil && !out.ReplaceLinks && out.Fail == "" {
		return nil, nil
	}
	return out, nil
}

func patch(p *Patch) *parsefilterv1.Patch {
	if p == nil {
		return &parsefilterv1.Patch{}
	}
	out := &parsefilterv1.Patch{SetMeta: wire.Metadata(p.SetMeta), AddMeta: wire.Metadata(p.AddMeta), Fail: wire.Bytes(p.Fail)}
	if p.Title != nil {
		out.Title = present(*p.Title)
	}
	if p.Text != nil {
		out.Text = present(*p.Text)
	}
	if p.ReplaceLinks {
		if out.Outlinks = wire.Outlinks(p.Outlinks); out.Outlinks == nil {
			out.Outlinks = &modelv1.Outlinks{}
		}
	}
	return out
}

// present returns the bytes of s, not nil also when there are none.
func present(s string) []byte {
	if s == "" {
		return []byte{}
	}
	return wire.Bytes(s)
}

// Register serves on s what impl returns; impl is asked at every call.
func Register(s grpc.ServiceRegistrar, impl func() (Filter, error)) {
	parsefilterv1.RegisterParseFilterServiceServer(s, &server{impl: impl})
}

type server struct {
	parsefilterv1.UnimplementedParseFilterServiceServer
	impl func() (Filter, error)
}

func (s *server) FilterParses(ctx context.Context, r *parsefilterv1.FilterParsesRequest) (*parsefilterv1.FilterParsesResponse, error) {
	f, err := s.impl()
	if err != nil {
		return nil, err
	}
	in := make([]*Input, len(r.GetInputs()))
	for i, d := range r.GetInputs() {
		p, err := wire.ParseFrom(d.GetParse())
		if err != nil {
			return nil, fault.New(fault.Invalid, err)
		}
		in[i] = &Input{Parse: p, Content: wire.ContentFrom(d.GetContent())}
	}
	patches, errs, err := Local(f).FilterParses(ctx, in)
	if err != nil {
		return nil, err
	}
	a := &parsefilterv1.FilterParsesResponse{Patches: make([]*parsefilterv1.Patch, len(patches)), Errors: wire.ItemErrors(errs)}
	for i, p := range patches {
		a.Patches[i] = patch(p)
	}
	return a, nil
}
