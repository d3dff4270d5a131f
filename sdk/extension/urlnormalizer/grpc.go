package urlnormalizer

import (
	"context"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/internal/pb/urlnormalizerv1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/internal/wire"
)

// Batch is the form the core calls: the answers are as many as the URLs, in
// their order; errs is nil or as long. A Normalizer that implements it is
// called through it.
type Batch interface {
	NormalizeURLs(ctx context.Context, scope Scope, urls []string) (out []Result, errs []error, err error)
}

// Local returns n as a Batch within this process.
func Local(n Normalizer) Batch {
	if b, ok := n.(Batch); ok {
		return b
	}
	return local{n}
}

type local struct{ n Normalizer }

func (l local) NormalizeURLs(ctx context.Context, scope Scope, urls []string) ([]Result, []error, error) {
	out := make([]Result, len(urls))
	errs, err := rpc.Each(ctx, len(urls), func(i int) (err error) {
		out[i], err = l.n.NormalizeURL(ctx, scope, urls[i])
		return err
	})
	return out, errs, err
}

// Client is a normalizer in another process.
type Client struct {
	c urlnormalizerv1.URLNormalizerServiceClient
}

var _ Batch = (*Client)(nil)

// NewClient returns the client of the normalizer that cc leads to.
func NewClient(cc grpc.ClientConnInterface) *Client {
	return &Client{urlnormalizerv1.NewURLNormalizerServiceClient(cc)}
}

// NormalizeURLs implements Batch.
func (c *Client) NormalizeURLs(ctx context.Context, scope Scope, urls []string) ([]Result, []error, error) {
	const what = "urlnormalizer: normalize urls"
	if len(urls) == 0 {
		return nil, nil, nil
	}
	r, err := c.c.NormalizeURLs(ctx, &urlnormalizerv1.NormalizeURLsRequest{Scope: wire.Bytes(string(scope)), Urls: wire.BytesList(urls)})
	if err := rpc.Answer(ctx, what, err, int(r.GetCount()), len(urls)); err != nil {
		return nil, nil, err
	}
	errs, err := wire.ItemErrorsFrom(r.GetErrors(), len(urls))
	if err != nil {
		return nil, nil, rpc.Malformed(what, "%v", err)
	}
	out := make([]Result, len(urls))
	for i, u := range urls {
		out[i].URL = u
	}
	for _, ch := range r.GetChanges() {
		if int(ch.GetIndex()) >= len(urls) {
			return nil, nil, rpc.Malformed(what, "change of url %d of %d", ch.GetIndex(), len(urls))
		}
		out[ch.GetIndex()] = Result{URL: wire.Text(ch.GetUrl()), Reason: wire.Text(ch.GetReason())}
	}
	return out, errs, nil
}

// Register serves on s what impl returns; impl is asked at every call.
func Register(s grpc.ServiceRegistrar, impl func() (Normalizer, error)) {
	urlnormalizerv1.RegisterURLNormalizerServiceServer(s, &server{impl: impl})
}

type server struct {
	urlnormalizerv1.UnimplementedURLNormalizerServiceServer
	impl func() (Normalizer, error)
}

func (s *server) NormalizeURLs(ctx context.Context, r *urlnormalizerv1.NormalizeURLsRequest) (*urlnormalizerv1.NormalizeURLsResponse, error) {
	n, err := s.impl()
	if err != nil {
		return nil, err
	}
	urls := wire.TextList(r.GetUrls())
	results, errs, err := Local(n).NormalizeURLs(ctx, Scope(r.GetScope()), urls)
	if err != nil {
		return nil, err
	}
	a := &urlnormalizerv1.NormalizeURLsResponse{Count: uint32(len(results)), Errors: wire.ItemErrors(errs)}
	for i, v := range results {
		if i < len(urls) && v.URL == urls[i] && v.Reason == "" {
			continue
		}
		a.Changes = append(a.Changes, &urlnormalizerv1.Change{Index: uint32(i), Url: wire.Bytes(v.URL), Reason: wire.Bytes(v.Reason)})
	}
	return a, nil
}
