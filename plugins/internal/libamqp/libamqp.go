// Package libamqp is what the plugins for RabbitMQ share: a connection that is
// made again when it is lost, what is declared on it, and messages that count
// once the broker has confirmed them. It owns no message's form.
package libamqp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

// Config are the settings, to be embedded in a plugin's; their names are the last
// parts of Nutch's.
type Config struct {
	URI              string            `json:"server_uri"`
	Binding          bool              `json:"binding"`
	BindingArguments map[string]string `json:"binding_arguments"`
	ExchangeName     string            `json:"exchange_name"`
	ExchangeOptions  map[string]string `json:"exchange_options"`
	QueueName        string            `json:"queue_name"`
	QueueOptions     map[string]string `json:"queue_options"`
	RoutingKey       string            `json:"routingkey"`
	StaticHeaders    map[string]string `json:"headers_static"`
	Timeout          setting.Duration  `json:"timeout"`
}

// Message is what is sent.
type Message struct {
	Body    []byte
	Headers map[string]string // besides the static ones
}

// Client sends messages. It is not safe for concurrent use.
type Client struct {
	conf    Config
	conn    *amqp.Connection
	ch      *amqp.Channel
	returns chan amqp.Return
}

// New checks conf; it does not connect.
func New(conf Config) (*Client, error) {
	if _, err := amqp.ParseURI(conf.URI); err != nil {
		var e *url.Error // has the URI, and with it a password
		if errors.As(err, &e) {
			err = e.Err
		}
		return nil, fault.Param("server_uri", "server_uri: %w", err)
	}
	if conf.ExchangeName == "" && conf.QueueName == "" {
		return nil, fault.Param("exchange_name", "exchange_name and queue_name are both empty")
	}
	if conf.Binding && (conf.ExchangeName == "" || conf.QueueName == "") {
		return nil, fault.Param("binding", "binding wants exchange_name and queue_name")
	}
	for name, options := range map[string]map[string]string{"exchange_options": conf.ExchangeOptions, "queue_options": conf.QueueOptions} {
		for k, v := range options {
			if k == "type" && name == "exchange_options" {
				continue
			}
			if k != "durable" && k != "auto-delete" && (k != "exclusive" || name != "queue_options") {
				return nil, fault.Param(name, "%s: %q is unknown", name, k)
			}
			if _, err := strconv.ParseBool(v); err != nil {
				return nil, fault.Param(name, "%s: %s = %q: want true or false", name, k, v)
			}
		}
	}
	return &Client{conf: conf}, nil
}

// Server returns the address without credentials.
func (c *Client) Server() string {
	u, err := url.Parse(c.conf.URI)
	if err != nil {
		return ""
	}
	return u.Redacted()
}

// Connect makes the connection, if there is none, and declares what the settings
// say. Errors are Transient when the broker can't be reached, Denied when it
// refuses the user, Permanent when what is declared is there in another form.
func (c *Client) Connect(ctx context.Context) error {
	if c.ch != nil && !c.ch.IsClosed() {
		return nil
	}
	c.Close()
	var d net.Dialer
	conn, err := amqp.DialConfig(c.conf.URI, amqp.Config{
		Heartbeat: 10 * time.Second, Locale: "en_US", Properties: amqp.Table{"connection_name": "crawler"},
		Dial: func(network, addr string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, c.conf.Timeout.D())
			defer cancel()
			nc, err := d.DialContext(ctx, network, addr)
			if err == nil { // for the handshake; the library takes it off after
				err = nc.SetDeadline(time.Now().Add(c.conf.Timeout.D()))
			}
			return nc, err
		},
	})
	if err != nil {
		return c.failed(fmt.Errorf("connect to %s: %w", c.Server(), err))
	}
	c.conn = conn
	if c.ch, err = conn.Channel(); err == nil {
		err = c.declare(c.ch.NotifyClose(make(chan *amqp.Error, 1)))
	}
	if err == nil {
		err = c.ch.Confirm(false)
	}
	if err != nil {
		c.Close()
		return c.failed(fmt.Errorf("declare on %s: %w", c.Server(), err))
	}
	c.returns = c.ch.NotifyReturn(make(chan amqp.Return, 1<<16))
	return nil
}

// declare makes what the settings say; closed tells why the broker closed the channel.
func (c *Client) declare(closed <-chan *amqp.Error) error {
	conf := &c.conf
	on := func(options map[string]string, key string, def bool) bool {
		if v, ok := options[key]; ok {
			def, _ = strconv.ParseBool(v) // New has checked it
		}
		return def
	}
	if conf.ExchangeName != "" {
		kind := conf.ExchangeOptions["type"]
		if kind == "" {
			kind = amqp.ExchangeDirect
		}
		err := c.ch.ExchangeDeclare(conf.ExchangeName, kind, on(conf.ExchangeOptions, "durable", true), on(conf.ExchangeOptions, "auto-delete", false), false, false, nil)
		if err != nil {
			return fmt.Errorf("exchange %s: %w", conf.ExchangeName, because(err, closed))
		}
	}
	if conf.QueueName != "" {
		o := conf.QueueOptions
		_, err := c.ch.QueueDeclare(conf.QueueName, on(o, "durable", true), on(o, "auto-delete", false), on(o, "exclusive", false), false, nil)
		if err != nil {
			return fmt.Errorf("queue %s: %w", conf.QueueName, because(err, closed))
		}
	}
	if conf.Binding {
		if err := c.ch.QueueBind(conf.QueueName, conf.RoutingKey, conf.ExchangeName, false, table(conf.BindingArguments)); err != nil {
			return fmt.Errorf("binding of %s to %s: %w", conf.QueueName, conf.ExchangeName, because(err, closed))
		}
	}
	return nil
}

// because returns the broker's word for an error of a call: when the broker answers with the end
// of the channel, the library says by chance that or only that the channel is closed.
func because(err error, closed <-chan *amqp.Error) error {
	if !errors.Is(err, amqp.ErrClosed) {
		return err
	}
	select {
	case e := <-closed:
		if e != nil {
			return e
		}
	default:
	}
	return err
}

func table(m map[string]string) amqp.Table {
	t := amqp.Table{}
	for k, v := range m {
		t[k] = v
	}
	return t
}

// failed gives an error of the broker its kind.
func (c *Client) failed(err error) error {
	var e *amqp.Error
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &e) && (e.Code == amqp.AccessRefused || e.Code == amqp.NotAllowed):
		return fault.New(fault.Denied, err)
	case errors.As(err, &e) && (e.Code == amqp.PreconditionFailed || e.Code == amqp.NotFound || e.Code == amqp.CommandInvalid):
		return fault.New(fault.Permanent, err)
	}
	return fault.New(fault.Transient, err)
}

// Publish sends messages in order and waits until the broker has confirmed all of
// them. With an error any of them may have arrived. A message that no queue
// takes is an error of kind Permanent.
func (c *Client) Publish(ctx context.Context, messages []Message) error {
	ctx, cancel := context.WithTimeout(ctx, c.conf.Timeout.D())
	defer cancel()
	if err := c.Connect(ctx); err != nil {
		return err
	}
	key := c.conf.RoutingKey
	if c.conf.ExchangeName == "" { // the default exchange routes by the queue's name
		key = c.conf.QueueName
	}
	confirms := make([]*amqp.DeferredConfirmation, len(messages))
	for i, m := range messages {
		headers := table(c.conf.StaticHeaders)
		maps.Copy(headers, table(m.Headers))
		var err error
		confirms[i], err = c.ch.PublishWithDeferredConfirmWithContext(ctx, c.conf.ExchangeName, key, true, false, amqp.Publishing{
			ContentType: "application/json", DeliveryMode: amqp.Persistent, Headers: headers, Body: m.Body, Timestamp: time.Now(),
		})
		if err != nil {
			c.Close()
			return c.failed(fmt.Errorf("publish to %s: %w", c.Server(), err))
		}
	}
	for _, confirm := range confirms {
		ok, err := confirm.WaitContext(ctx)
		if err == nil && !ok {
			err = errors.New("the broker did not take the message")
		}
		if err != nil {
			c.Close()
			return c.failed(fmt.Errorf("publish to %s: %w", c.Server(), err))
		}
	}
	select { // a return comes before the confirmation
	case r := <-c.returns:
		for len(c.returns) > 0 {
			<-c.returns
		}
		return fault.Errorf(fault.Permanent, "publish to %s: exchange %q, routing key %q: %s; no queue is bound", c.Server(), r.Exchange, r.RoutingKey, r.ReplyText)
	default:
		return nil
	}
}

// Close ends the connection. It is safe to call twice; Publish makes another.
func (c *Client) Close() {
	if c.conn != nil {
		_ = c.conn.CloseDeadline(time.Now().Add(time.Second)) // nothing that counts is on its way
	}
	c.conn, c.ch = nil, nil
}
