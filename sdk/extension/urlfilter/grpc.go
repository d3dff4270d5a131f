package urlfilter

import (
	"context"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/internal/pb/urlfilterv1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/internal/wire"
)

// Batch is the form the core calls: the answers are as many as the URLs, in
// their order; errs is nil or as long. A Filter that implements it is called
// through it.
type Batch interface {
	FilterURLs(ctx context.Context, urls []string) (out []Verdict, errs []error, err error)
}

// Local returns f as a Batch within this process.
func Local(f Filter) Batch {
	if b, ok := f.(Batch); ok {
		return b
	}
	return local{f}
}

type local struct{ f Filter }

func (l local) FilterURLs(ctx context.Context, urls []string) ([]Verdict, []error, error) {
	out := make([]Verdict, len(urls))
	errs, err := rpc.Each(ctx, len(urls), func(i int) (err error) {
		out[i], err = l.f.FilterURL(ctx, urls[i])
		return err
	})
	return out, errs, err
}

// Client is a filter in another process.
type Client struct {
	c urlfilterv1.URLFilterServiceClient
}

var _ Batch = (*Client)(nil)

// NewClient returns the client of the filter that cc leads to.
func NewClient(cc grpc.ClientConnInterface) *Client {
	return &Client{urlfilterv1.NewURLFilterServiceClient(cc)}
}

// FilterURLs implements Batch.
func (c *Client) FilterURLs(ctx context.Context, urls []string) ([]Verdict, []error, error) {
	const what = "urlfilter: filter urls"
	if len(urls) == 0 {
		return nil, nil, nil
	}
	r, err := c.c.FilterURLs(ctx, &urlfilterv1.FilterURLsRequest{Urls: wire.BytesList(urls)})
	if err := rpc.Answer(ctx, what, err, len(r.GetAccept()), len(urls)); err != nil {
		return nil, nil, err
	}
	errs, err := wire.ItemErrorsFrom(r.GetErrors(), len(urls))
	if err != nil {
		return nil, nil, rpc.Malformed(what, "%v", err)
	}
	if n := len(r.GetReason()); n != 0 && n != len(urls) {
		return nil, nil, rpc.WrongLength(what+": reasons", n, len(urls))
	}
	out := make([]Verdict, len(urls))
	for i, ok := range r.GetAccept() {
		out[i].Accept = ok
	}
	reasons := wire.TextList(r.GetReasons())
	for i, n := range r.GetReason() {
		var ok bool
		if out[i].Reason, ok = wire.Lookup(reasons, n); !ok {
			return nil, nil, rpc.Malformed(what, "reason %d of %d", n, len(reasons))
		}
	}
	return out, errs, nil
}

// Register serves on s what impl returns; impl is asked at every call.
func Register(s grpc.ServiceRegistrar, impl func() (Filter, error)) {
	urlfilterv1.RegisterURLFilterServiceServer(s, &server{impl: impl})
}

type server struct {
	urlfilterv1.UnimplementedURLFilterServiceServer
	impl func() (Filter, error)
}

func (s *server) FilterURLs(ctx context.Context, r *urlfilterv1.FilterURLsRequest) (*urlfilterv1.FilterURLsResponse, error) {
	f, err := s.impl()
	if err != nil {
		return nil, err
	}
	verdicts, errs, err := Local(f).FilterURLs(ctx, wire.TextList(r.GetUrls()))
	if err != nil {
		return nil, err
	}
	a := &urlfilterv1.FilterURLsResponse{Accept: make([]bool, len(verdicts)), Errors: wire.ItemErrors(errs)}
	var reasons wire.Indexer
	for i, v := range verdicts {
		a.Accept[i] = v.Accept
		if v.Reason != "" {
			if a.Reason == nil {
				a.Reason = make([]uint32, len(verdicts))
			}
			a.Reason[i] = reasons.Add(v.Reason)
		}
	}
	a.Reasons = reasons.Texts
	return a, nil
}
