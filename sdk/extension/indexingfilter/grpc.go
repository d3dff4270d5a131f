package indexingfilter

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/indexingfilterv1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/internal/wire"
)

// Batch is the form the core calls: the answers are as many as the inputs, in
// their order, nil where nothing changes; errs is nil or as long. A Filter that
// implements it is called through it.
type Batch interface {
	FilterDocuments(ctx context.Context, in []*Input) (out []*Patch, errs []error, err error)
}

// Local returns f as a Batch within this process.
func Local(f Filter) Batch {
	if b, ok := f.(Batch); ok {
		return b
	}
	return local{f}
}

type local struct{ f Filter }

func (l local) FilterDocuments(ctx context.Context, in []*Input) ([]*Patch, []error, error) {
	out := make([]*Patch, len(in))
	errs, err := rpc.Each(ctx, len(in), func(i int) (err error) {
		out[i], err = l.f.FilterDocument(ctx, in[i])
		return err
	})
	return out, errs, err
}

// Client is a filter in another process.
type Client struct {
	c indexingfilterv1.IndexingFilterServiceClient
}

var _ Batch = (*Client)(nil)

// NewClient returns the client of the filter that cc leads to.
func NewClient(cc grpc.ClientConnInterface) *Client {
	return &Client{indexingfilterv1.NewIndexingFilterServiceClient(cc)}
}

const what = "indexingfilter: filter documents"

// FilterDocuments implements Batch.
func (c *Client) FilterDocuments(ctx context.Context, in []*Input) ([]*Patch, []error, error) {
	if len(in) == 0 {
		return nil, nil, nil
	}
	req := &indexingfilterv1.FilterDocumentsRequest{Inputs: make([]*indexingfilterv1.Input, len(in))}
	for i, d := range in {
		req.Inputs[i] = &indexingfilterv1.Input{
			Url: wire.Bytes(d.URL), Document: wire.Document(&d.Doc), Parse: wire.Parse(&d.Parse), Datum: wire.Datum(&d.Datum),
			Headers: wire.Metadata(d.Headers), Segment: wire.Bytes(d.Segment), Inlinks: wire.Inlinks(d.Inlinks), Content: wire.Content(d.Content),
		}
	}
	r, err := c.c.FilterDocuments(ctx, req)
	if err := rpc.Answer(ctx, what, err, len(r.GetPatches()), len(in)); err != nil {
		return nil, nil, err
	}
	errs, err := wire.ItemErrorsFrom(r.GetErrors(), len(in))
	if err != nil {
		return nil, nil, rpc.Malformed(what, "%v", err)
	}
	out := make([]*Patch, len(in))
	for i, p := range r.GetPatches() {
		if len(p.GetRemove()) == 0 && len(p.GetSet()) == 0 && len(p.GetAdd()) == 0 && len(p.GetDrop()) == 0 {
			continue
		}
		out[i] = &Patch{
			Remove: wire.TextList(p.GetRemove()), Set: wire.ValuesListFrom(p.GetSet()), Add: wire.ValuesListFrom(p.GetAdd()),
			Drop: wire.Text(p.GetDrop()),
		}
	}
	return out, errs, nil
}

// Register serves on s what impl returns; impl is asked at every call.
func Register(s grpc.ServiceRegistrar, impl func() (Filter, error)) {
	indexingfilterv1.RegisterIndexingFilterServiceServer(s, &server{impl: impl})
}

type server struct {
	indexingfilterv1.UnimplementedIndexingFilterServiceServer
	impl func() (Filter, error)
}

func (s *server) FilterDocuments(ctx context.Context, r *indexingfilterv1.FilterDocumentsRequest) (*indexingfilterv1.FilterDocumentsResponse, error) {
	f, err := s.impl()
	if err != nil {
		return nil, err
	}
	in := make([]*Input, len(r.GetInputs()))
	for i, d := range r.GetInputs() {
		if in[i], err = inputFrom(d); err != nil {
			return nil, fault.New(fault.Invalid, fmt.Errorf("document %d: %w", i, err))
		}
	}
	patches, errs, err := Local(f).FilterDocuments(ctx, in)
	if err != nil {
		return nil, err
	}
	a := &indexingfilterv1.FilterDocumentsResponse{Patches: make([]*indexingfilterv1.Patch, len(patches)), Errors: wire.ItemErrors(errs)}
	for i, p := range patches {
		a.Patches[i] = &indexingfilterv1.Patch{}
		if p != nil {
			a.Patches[i] = &indexingfilterv1.Patch{
				Remove: wire.BytesList(p.Remove), Set: wire.ValuesList(p.Set), Add: wire.ValuesList(p.Add), Drop: wire.Bytes(p.Drop),
			}
		}
	}
	return a, nil
}

func inputFrom(d *indexingfilterv1.Input) (*Input, error) {
	parse, err := wire.ParseFrom(d.GetParse())
	if err != nil {
		return nil, err
	}
	datum, err := wire.DatumFrom(d.GetDatum())
	if err != nil {
		return nil, err
	}
	return &Input{
		URL: wire.Text(d.GetUrl()), Doc: wire.DocumentFrom(d.GetDocument()), Parse: parse, Datum: datum,
		Headers: wire.MetadataFrom(d.GetHeaders()), Segment: wire.Text(d.GetSegment()), Inlinks: wire.InlinksFrom(d.GetInlinks()),
		Content: wire.ContentFrom(d.GetContent()),
	}, nil
}
