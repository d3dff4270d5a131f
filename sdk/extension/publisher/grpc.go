package publisher

import (
	"context"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/internal/pb/publisherv1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/internal/wire"
)

// Client is a publisher in another process.
type Client struct {
	c publisherv1.PublisherServiceClient
}

var _ Publisher = (*Client)(nil)

// NewClient returns the client of the publisher that cc leads to.
func NewClient(cc grpc.ClientConnInterface) *Client {
	return &Client{publisherv1.NewPublisherServiceClient(cc)}
}

// Publish implements Publisher.
func (c *Client) Publish(ctx context.Context, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	req := &publisherv1.PublishRequest{Events: make([]*publisherv1.Event, len(events))}
	for i, e := range events {
		req.Events[i] = &publisherv1.Event{
			Type: wire.Bytes(string(e.Type)), Url: wire.Bytes(e.URL), TimeUs: wire.Time(e.Time), Data: wire.Metadata(e.Data),
		}
	}
	_, err := c.c.Publish(ctx, req)
	return rpc.Failed(ctx, "publisher: publish", err)
}

// Register serves on s what impl returns; impl is asked at every call.
func Register(s grpc.ServiceRegistrar, impl func() (Publisher, error)) {
	publisherv1.RegisterPublisherServiceServer(s, &server{impl: impl})
}

type server struct {
	publisherv1.UnimplementedPublisherServiceServer
	impl func() (Publisher, error)
}

func (s *server) Publish(ctx context.Context, r *publisherv1.PublishRequest) (*publisherv1.PublishResponse, error) {
	p, err := s.impl()
	if err != nil {
		return nil, err
	}
	events := make([]Event, len(r.GetEvents()))
	for i, e := range r.GetEvents() {
		events[i] = Event{
			Type: EventType(e.GetType()), URL: wire.Text(e.GetUrl()), Time: wire.TimeFrom(e.GetTimeUs()), Data: wire.MetadataFrom(e.GetData()),
		}
	}
	return &publisherv1.PublishResponse{}, p.Publish(ctx, events)
}
