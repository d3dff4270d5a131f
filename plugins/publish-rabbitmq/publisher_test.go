package publishrabbitmq_test

import (
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	publishrabbitmq "github.com/gonutch/crawler/plugins/publish-rabbitmq"
	"github.com/gonutch/crawler/sdk/extension/publisher"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/plugintest"
	"github.com/gonutch/crawler/sdk/testengine"
)

func events() []publisher.Event {
	return []publisher.Event{{Type: publisher.Start, URL: "u", Time: time.UnixMilli(7)}}
}

func TestRabbit(t *testing.T) {
	uri := testengine.Start(t, testengine.RabbitMQ, nil).URL
	settings := `{"server_uri": "` + uri + `", "timeout": "30s"}`
	p := libtest.Must(t, publishrabbitmq.Plugin(), settings).Publisher
	if err := p.Publish(t.Context(), events()); err != nil {
		t.Fatal(err)
	}
	conn, err := amqp.Dial(uri)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	m, ok, err := ch.Get("nutch.events.queue", true)
	if err != nil || !ok || string(m.Body) != `{"eventType":"START","url":"u","timestamp":7}` {
		t.Errorf("%s %v %v", m.Body, ok, err)
	}
	t.Run("conformance", func(t *testing.T) {
		plugintest.Run(t, publishrabbitmq.Plugin(), plugintest.Options{Settings: settings})
	})
}

func TestDown(t *testing.T) {
	p := libtest.Must(t, publishrabbitmq.Plugin(), `{"server_uri": "amqp://127.0.0.1:1/"}`).Publisher
	if err := p.Publish(t.Context(), events()); !fault.Is(err, fault.Transient) {
		t.Errorf("%v", err)
	}
	if _, err := libtest.New(t, publishrabbitmq.Plugin(), `{"server_uri": "nonsense"}`); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v", err)
	}
}
