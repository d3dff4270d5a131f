package segmentmerge

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/segmentmergev1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/internal/wire"
)

// Batch is the form the core calls: the answers are as many as the records, in
// their order; errs is nil or as long. A Filter that implements it is called
// through it.
type Batch interface {
	KeepRecords(ctx context.Context, records []*Record) (out []bool, errs []error, err error)
}

// Local returns f as a Batch within this process.
func Local(f Filter) Batch {
	if b, ok := f.(Batch); ok {
		return b
	}
	return local{f}
}

type local struct{ f Filter }

func (l local) KeepRecords(ctx context.Context, records []*Record) ([]bool, []error, error) {
	out := make([]bool, len(records))
	errs, err := rpc.Each(ctx, len(records), func(i int) (err error) {
		out[i], err = l.f.Keep(ctx, records[i])
		return err
	})
	return out, errs, err
}

// Client is a filter in another process.
type Client struct {
	c segmentmergev1.SegmentMergeServiceClient
}

var _ Batch = (*Client)(nil)

// NewClient returns the client of the filter that cc leads to.
func NewClient(cc grpc.ClientConnInterface) *Client {
	return &Client{segmentmergev1.NewSegmentMergeServiceClient(cc)}
}

// KeepRecords implements Batch.
func (c *Client) KeepRecords(ctx context.Context, records []*Record) ([]bool, []error, error) {
	const what = "segmentmerge: keep records"
	if len(records) == 0 {
		return nil, nil, nil
	}
	req := &segmentmergev1.KeepRecordsRequest{Records: make([]*segmentmergev1.Record, len(records))}
	for i, d := range records {
		req.Records[i] = &segmentmergev1.Record{
			Url: wire.Bytes(d.URL), FetchStatus: uint32(d.FetchStatus), Signature: d.Signature,
			Parse: wire.Parse(d.Parse), Metadata: wire.Metadata(d.Metadata),
		}
	}
	r, err := c.c.KeepRecords(ctx, req)
	if err := rpc.Answer(ctx, what, err, len(r.GetKeep()), len(records)); err != nil {
		return nil, nil, err
	}
	errs, err := wire.ItemErrorsFrom(r.GetErrors(), len(records))
	if err != nil {
		return nil, nil, rpc.Malformed(what, "%v", err)
	}
	return r.GetKeep(), errs, nil
}

// Register serves on s what impl returns; impl is asked at every call.
func Register(s grpc.ServiceRegistrar, impl func() (Filter, error)) {
	segmentmergev1.RegisterSegmentMergeServiceServer(s, &server{impl: impl})
}

type server struct {
	segmentmergev1.UnimplementedSegmentMergeServiceServer
	impl func() (Filter, error)
}

func (s *server) KeepRecords(ctx context.Context, r *segmentmergev1.KeepRecordsRequest) (*segmentmergev1.KeepRecordsResponse, error) {
	f, err := s.impl()
	if err != nil {
		return nil, err
	}
	records := make([]*Record, len(r.GetRecords()))
	for i, d := range r.GetRecords() {
		if records[i], err = recordFrom(d); err != nil {
			return nil, fault.New(fault.Invalid, fmt.Errorf("record %d: %w", i, err))
		}
	}
	keep, errs, err := Local(f).KeepRecords(ctx, records)
	if err != nil {
		return nil, err
	}
	return &segmentmergev1.KeepRecordsResponse{Keep: keep, Errors: wire.ItemErrors(errs)}, nil
}

func recordFrom(d *segmentmergev1.Record) (*Record, error) {
	status, err := wire.StatusOf(d.GetFetchStatus())
	if err != nil {
		return nil, err
	}
	out := &Record{URL: wire.Text(d.GetUrl()), FetchStatus: status, Signature: d.GetSignature(), Metadata: wire.MetadataFrom(d.GetMetadata())}
	if d.GetParse() != nil {
		p, err := wire.ParseFrom(d.GetParse())
		if err != nil {
			return nil, err
		}
		out.Parse = &p
	}
	return out, nil
}
