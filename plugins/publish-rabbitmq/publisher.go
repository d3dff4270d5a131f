// Package publishrabbitmq sends fetch events to RabbitMQ (Nutch's
// publish-rabbitmq). The connection is libamqp's, the form of events libevent's.
package publishrabbitmq

import (
	"context"
	_ "embed"
	"fmt"
	"sync"

	"github.com/gonutch/crawler/plugins/internal/libamqp"
	"github.com/gonutch/crawler/plugins/internal/libevent"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/publisher"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c libamqp.Config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	client, err := libamqp.New(c)
	if err != nil {
		return nil, err
	}
	p := &Publisher{client: client}
	return &sdk.Extensions{Publisher: p, Close: p.close}, nil
}

// Publisher sends events to RabbitMQ. It is safe for concurrent use.
type Publisher struct {
	mu     sync.Mutex
	client *libamqp.Client
}

// Publish implements publisher.Publisher; it connects when there is no connection.
func (p *Publisher) Publish(ctx context.Context, events []publisher.Event) error {
	messages := make([]libamqp.Message, len(events))
	for i := range events {
		b, err := libevent.JSON(&events[i])
		if err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
		messages[i].Body = b
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.client.Publish(ctx, messages)
}

func (p *Publisher) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.client.Close()
	return nil
}

var _ publisher.Publisher = (*Publisher)(nil)
