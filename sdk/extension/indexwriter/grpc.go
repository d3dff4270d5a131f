package indexwriter

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/indexwriterv1"
	"github.com/gonutch/crawler/sdk/internal/pb/modelv1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/internal/wire"
	"github.com/gonutch/crawler/sdk/model"
)

// Client is a writer in another process.
type Client struct {
	c indexwriterv1.IndexWriterServiceClient
}

var (
	_ Writer    = (*Client)(nil)
	_ Describer = (*Client)(nil)
	_ Validator = (*Client)(nil)
)

// NewClient returns the client of the writer that cc leads to.
func NewClient(cc grpc.ClientConnInterface) *Client {
	return &Client{indexwriterv1.NewIndexWriterServiceClient(cc)}
}

// Open implements Writer.
func (c *Client) Open(ctx context.Context, instance string, params Params) error {
	_, err := c.c.Open(ctx, &indexwriterv1.OpenRequest{Instance: wire.Bytes(instance), Params: wire.Params(params)})
	return rpc.Failed(ctx, "indexwriter: open", err)
}

// Write implements Writer.
func (c *Client) Write(ctx context.Context, instance string, ops []Op) ([]Result, error) {
	const what = "indexwriter: write"
	if len(ops) == 0 {
		return nil, nil
	}
	req := &indexwriterv1.WriteRequest{Instance: wire.Bytes(instance), Ops: make([]*indexwriterv1.Op, len(ops))}
	for i := range ops {
		req.Ops[i] = &indexwriterv1.Op{Kind: indexwriterv1.OpKind(ops[i].Kind) + 1, Document: wire.Document(&ops[i].Doc)}
	}
	r, err := c.c.Write(ctx, req)
	if err := rpc.Answer(ctx, what, err, int(r.GetCount()), len(ops)); err != nil {
		return nil, err
	}
	out := make([]Result, len(ops))
	for _, rej := range r.GetRejections() {
		if int(rej.GetIndex()) >= len(ops) {
			return nil, rpc.Malformed(what, "rejection of operation %d of %d", rej.GetIndex(), len(ops))
		}
		reason := wire.Text(rej.GetReason())
		if reason == "" {
			reason = "refused without a reason"
		}
		out[rej.GetIndex()] = Result{Rejected: reason, Later: rej.GetLater()}
	}
	return out, nil
}

// Commit implements Writer.
func (c *Client) Commit(ctx context.Context, instance string) error {
	_, err := c.c.Commit(ctx, &indexwriterv1.CommitRequest{Instance: wire.Bytes(instance)})
	return rpc.Failed(ctx, "indexwriter: commit", err)
}

// Close implements Writer.
func (c *Client) Close(ctx context.Context, instance string) error {
	_, err := c.c.Close(ctx, &indexwriterv1.CloseRequest{Instance: wire.Bytes(instance)})
	return rpc.Failed(ctx, "indexwriter: close", err)
}

// Validate implements Validator. A writer that can't tell takes any parameters.
func (c *Client) Validate(ctx context.Context, instance string, params Params) error {
	_, err := c.c.Validate(ctx, &indexwriterv1.ValidateRequest{Instance: wire.Bytes(instance), Params: wire.Params(params)})
	if status.Code(err) == codes.Unimplemented {
		return nil
	}
	return rpc.Failed(ctx, "indexwriter: validate", err)
}

// Describe implements Describer. A writer that can't be asked is described as
// nothing.
func (c *Client) Describe(ctx context.Context, instance string, sample []model.Document) (*Description, error) {
	req := &indexwriterv1.DescribeRequest{Instance: wire.Bytes(instance), Sample: make([]*modelv1.Document, len(sample))}
	for i := range sample {
		req.Sample[i] = wire.Document(&sample[i])
	}
	r, err := c.c.Describe(ctx, req)
	if status.Code(err) == codes.Unimplemented {
		return &Description{}, nil
	}
	if err := rpc.Failed(ctx, "indexwriter: describe", err); err != nil {
		return nil, err
	}
	d := &Description{Server: wire.Text(r.GetServer()), Version: wire.Text(r.GetVersion()), Problems: wire.TextList(r.GetProblems())}
	for _, f := range r.GetFacts() {
		d.Facts = append(d.Facts, Fact{Name: wire.Text(f.GetName()), Value: wire.Text(f.GetValue())})
	}
	return d, nil
}

// Register serves on s what impl returns; impl is asked at every call.
func Register(s grpc.ServiceRegistrar, impl func() (Writer, error)) {
	indexwriterv1.RegisterIndexWriterServiceServer(s, &server{impl: impl})
}

type server struct {
	indexwriterv1.UnimplementedIndexWriterServiceServer
	impl func() (Writer, error)
}

// inTime calls f with seven eighths of the time that is left for the call, so that a writer whose
// index does not answer says so, with kind Transient, before its process counts as hung.
func inTime(ctx context.Context, f func(context.Context) error) error {
	end, ok := ctx.Deadline()
	if !ok {
		return f(ctx)
	}
	left := time.Until(end)
	left -= left / 8
	own, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	err := f(own)
	if err != nil && own.Err() != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return fault.Errorf(fault.Transient, "no answer within %v: %w", left.Round(time.Millisecond), err)
	}
	return err
}

func (s *server) Open(ctx context.Context, r *indexwriterv1.OpenRequest) (*indexwriterv1.OpenResponse, error) {
	w, err := s.impl()
	if err != nil {
		return nil, err
	}
	return &indexwriterv1.OpenResponse{}, inTime(ctx, func(ctx context.Context) error {
		return w.Open(ctx, wire.Text(r.GetInstance()), wire.ParamsFrom(r.GetParams()))
	})
}

func (s *server) Write(ctx context.Context, r *indexwriterv1.WriteRequest) (*indexwriterv1.WriteResponse, error) {
	w, err := s.impl()
	if err != nil {
		return nil, err
	}
	ops := make([]Op, len(r.GetOps()))
	for i, op := range r.GetOps() {
		ops[i].Doc = wire.DocumentFrom(op.GetDocument())
		if op.GetKind() == indexwriterv1.OpKind_OP_KIND_DELETE {
			ops[i].Kind = Delete
		}
	}
	var results []Result
	err = inTime(ctx, func(ctx context.Context) (err error) {
		results, err = w.Write(ctx, wire.Text(r.GetInstance()), ops)
		return err
	})
	if err != nil {
		return nil, err
	}
	a := &indexwriterv1.WriteResponse{Count: uint32(len(results))}
	for i, res := range results {
		if res.Rejected != "" {
			a.Rejections = append(a.Rejections, &indexwriterv1.Rejection{Index: uint32(i), Reason: wire.Bytes(res.Rejected), Later: res.Later})
		}
	}
	return a, nil
}

func (s *server) Commit(ctx context.Context, r *indexwriterv1.CommitRequest) (*indexwriterv1.CommitResponse, error) {
	w, err := s.impl()
	if err != nil {
		return nil, err
	}
	return &indexwriterv1.CommitResponse{}, inTime(ctx, func(ctx context.Context) error { return w.Commit(ctx, wire.Text(r.GetInstance())) })
}

func (s *server) Close(ctx context.Context, r *indexwriterv1.CloseRequest) (*indexwriterv1.CloseResponse, error) {
	w, err := s.impl()
	if err != nil {
		return nil, err
	}
	return &indexwriterv1.CloseResponse{}, w.Close(ctx, wire.Text(r.GetInstance()))
}

func (s *server) Validate(ctx context.Context, r *indexwriterv1.ValidateRequest) (*indexwriterv1.ValidateResponse, error) {
	w, err := s.impl()
	if err != nil {
		return nil, err
	}
	v, ok := w.(Validator)
	if !ok {
		return nil, status.Error(codes.Unimplemented, "the writer can't check parameters by themselves")
	}
	return &indexwriterv1.ValidateResponse{}, v.Validate(ctx, wire.Text(r.GetInstance()), wire.ParamsFrom(r.GetParams()))
}

func (s *server) Describe(ctx context.Context, r *indexwriterv1.DescribeRequest) (*indexwriterv1.DescribeResponse, error) {
	w, err := s.impl()
	if err != nil {
		return nil, err
	}
	d, ok := w.(Describer)
	if !ok {
		return nil, status.Error(codes.Unimplemented, "the writer has no description")
	}
	sample := make([]model.Document, len(r.GetSample()))
	for i, doc := range r.GetSample() {
		sample[i] = wire.DocumentFrom(doc)
	}
	var desc *Description
	err = inTime(ctx, func(ctx context.Context) (err error) {
		desc, err = d.Describe(ctx, wire.Text(r.GetInstance()), sample)
		return err
	})
	if err != nil {
		return nil, err
	}
	if desc == nil {
		return &indexwriterv1.DescribeResponse{}, nil
	}
	a := &indexwriterv1.DescribeResponse{Server: wire.Bytes(desc.Server), Version: wire.Bytes(desc.Version), Problems: wire.BytesList(desc.Problems)}
	for _, f := range desc.Facts {
		a.Facts = append(a.Facts, &indexwriterv1.Fact{Name: wire.Bytes(f.Name), Value: wire.Bytes(f.Value)})
	}
	return a, nil
}
