package publisher_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/publisher"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/internal/rpctest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type script struct {
	got []publisher.Event
	err error
}

func (s *script) Publish(_ context.Context, events []publisher.Event) error {
	s.got = events
	return s.err
}

func TestRoundTrip(t *testing.T) {
	s := &script{}
	c := publisher.NewClient(rpctest.Connect(t, func(r grpc.ServiceRegistrar) {
		publisher.Register(r, func() (publisher.Publisher, error) { return s, nil })
	}))
	events := append(rpctest.Filled[[]publisher.Event](), publisher.Event{})
	if err := c.Publish(rpctest.Context(t), events); err != nil {
		t.Fatal(err)
	}
	if d := rpctest.Diff(events, s.got); d != "" {
		t.Errorf("events (-sent +received):\n%s", d)
	}
	s.err = fault.Errorf(fault.Denied, "no \xff")
	if err := c.Publish(rpctest.Context(t), events); !fault.Is(err, fault.Denied) || err.Error() != "publisher: publish: no \xff" {
		t.Errorf("got %v", err)
	}
	if err := c.Publish(rpctest.Context(t), nil); err != nil {
		t.Errorf("no events: %v", err)
	}
}
