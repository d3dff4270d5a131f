package searcher

import (
	"context"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/pb/searcherv1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/internal/wire"
)

// Client is a searcher in another process.
type Client struct {
	c searcherv1.SearcherServiceClient
}

var _ Searcher = (*Client)(nil)

// NewClient returns the client of the searcher that cc leads to.
func NewClient(cc grpc.ClientConnInterface) *Client {
	return &Client{searcherv1.NewSearcherServiceClient(cc)}
}

// Search implements Searcher.
func (c *Client) Search(ctx context.Context, instance string, q *Query) (*Result, error) {
	r, err := c.c.Search(ctx, &searcherv1.SearchRequest{
		Instance: wire.Bytes(instance), Text: wire.Bytes(q.Text), Offset: int64(q.Offset), Limit: int64(q.Limit), Facets: wire.BytesList(q.Facets),
	})
	if err := rpc.Failed(ctx, "searcher: search", err); err != nil {
		return nil, err
	}
	out := &Result{Total: r.GetTotal(), Hits: make([]Hit, len(r.GetHits()))}
	for i, h := range r.GetHits() {
		out.Hits[i] = Hit{ID: wire.Text(h.GetId()), Score: h.GetScore(), Fields: wire.ValuesListFrom(h.GetFields()), Snippets: wire.ValuesListFrom(h.GetSnippets())}
	}
	for _, f := range r.GetFacets() {
		if out.Facets == nil {
			out.Facets = make(map[string][]FacetValue)
		}
		values := make([]FacetValue, len(f.GetValues()))
		for i, v := range f.GetValues() {
			values[i] = FacetValue{Value: wire.Text(v.GetValue()), Count: int(v.GetCount())}
		}
		out.Facets[wire.Text(f.GetField())] = values
	}
	return out, nil
}

// Register serves on s what impl returns; impl is asked at every call.
func Register(s grpc.ServiceRegistrar, impl func() (Searcher, error)) {
	searcherv1.RegisterSearcherServiceServer(s, &server{impl: impl})
}

type server struct {
	searcherv1.UnimplementedSearcherServiceServer
	impl func() (Searcher, error)
}

func (s *server) Search(ctx context.Context, r *searcherv1.SearchRequest) (*searcherv1.SearchResponse, error) {
	impl, err := s.impl()
	if err != nil {
		return nil, err
	}
	res, err := impl.Search(ctx, wire.Text(r.GetInstance()), &Query{
		Text: wire.Text(r.GetText()), Offset: int(r.GetOffset()), Limit: int(r.GetLimit()), Facets: wire.TextList(r.GetFacets()),
	})
	if err != nil {
		return nil, err
	}
	if res == nil {
		return nil, fault.Errorf(fault.Permanent, "the searcher returned no result")
	}
	a := &searcherv1.SearchResponse{Total: res.Total}
	for _, h := range res.Hits {
		a.Hits = append(a.Hits, &searcherv1.Hit{Id: wire.Bytes(h.ID), Score: h.Score, Fields: wire.ValuesList(h.Fields), Snippets: wire.ValuesList(h.Snippets)})
	}
	for field, values := range res.Facets {
		f := &searcherv1.Facet{Field: wire.Bytes(field)}
		for _, v := range values {
			f.Values = append(f.Values, &searcherv1.FacetValue{Value: wire.Bytes(v.Value), Count: int64(v.Count)})
		}
		a.Facets = append(a.Facets, f)
	}
	return a, nil
}
