// Package publishnats sends fetch events to NATS. It owns subjects and the
// connection; the form of events is libevent's.
package publishnats

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/gonutch/crawler/plugins/internal/libevent"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/publisher"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	URL       []string         `json:"url"`
	Subject   string           `json:"subject"`
	JetStream bool             `json:"jetstream"`
	Username  string           `json:"username"`
	Password  string           `json:"password"`
	Token     string           `json:"token"`
	CredsFile string           `json:"credentials_file"`
	CAFile    string           `json:"ca_file"`
	Timeout   setting.Duration `json:"timeout"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	if c.Subject == "" || strings.ContainsAny(c.Subject, " \t\r\n*>") {
		return nil, fault.Errorf(fault.Invalid, "subject = %q: want a subject without blanks and wildcards", c.Subject)
	}
	p := &Publisher{config: c}
	var err error
	if p.conn, err = nats.Connect(strings.Join(c.URL, ","), c.options()...); err != nil {
		return nil, fault.Errorf(fault.Invalid, "connect to NATS: %w", err)
	}
	if !p.conn.IsConnected() {
		env.Logger.Warn("NATS can't be reached; events are lost until it can", "url", p.conn.Opts.Servers)
	}
	if c.JetStream {
		if p.js, err = jetstream.New(p.conn); err != nil {
			p.conn.Close()
			return nil, fault.New(fault.Invalid, err)
		}
	}
	return &sdk.Extensions{Publisher: p, Close: p.close}, nil
}

// options let the connection be made and made again in the background, without
// keeping events for it.
func (c *config) options() []nats.Option {
	out := []nats.Option{
		nats.Name("crawler"), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1), nats.Timeout(c.Timeout.D()),
	}
	if c.Username != "" {
		out = append(out, nats.UserInfo(c.Username, c.Password))
	}
	if c.Token != "" {
		out = append(out, nats.Token(c.Token))
	}
	if c.CredsFile != "" {
		out = append(out, nats.UserCredentials(c.CredsFile))
	}
	if c.CAFile != "" {
		out = append(out, nats.RootCAs(c.CAFile))
	}
	return out
}

// Publisher sends events to NATS. It is safe for concurrent use.
type Publisher struct {
	config
	conn *nats.Conn
	js   jetstream.JetStream // nil without
}

// Publish implements publisher.Publisher. It is not tried again: what fails is
// lost.
func (p *Publisher) Publish(ctx context.Context, events []publisher.Event) error {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout.D())
	defer cancel()
	var acks []jetstream.PubAckFuture
	for i := range events {
		b, err := libevent.JSON(&events[i])
		if err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
		subject := p.Subject + "." + strings.ToLower(string(events[i].Type))
		if p.js == nil {
			err = p.conn.Publish(subject, b)
		} else {
			var ack jetstream.PubAckFuture
			if ack, err = p.js.PublishAsync(subject, b); err == nil {
				acks = append(acks, ack)
			}
		}
		if err != nil {
			return failed(err)
		}
	}
	if p.js == nil {
		return failed(p.conn.FlushWithContext(ctx))
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return failed(err)
		case <-ctx.Done():
			return failed(ctx.Err())
		}
	}
	return nil
}

func failed(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fault.Errorf(fault.Permanent, "publish to NATS: %w", err)
}

func (p *Publisher) close() error {
	p.conn.Close()
	return nil
}

var _ publisher.Publisher = (*Publisher)(nil)
