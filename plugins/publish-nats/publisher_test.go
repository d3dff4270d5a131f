package publishnats_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	publishnats "github.com/gonutch/crawler/plugins/publish-nats"
	"github.com/gonutch/crawler/sdk/extension/publisher"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

// serve runs a real server in this process.
func serve(t testing.TB, change func(*server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir()}
	if change != nil {
		change(o)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	return s
}

func settings(t testing.TB, s map[string]any) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func connect(t testing.TB, url string) *nats.Conn {
	t.Helper()
	c, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func event() publisher.Event {
	return publisher.Event{Type: publisher.End, URL: "http://example.org/", Time: time.UnixMilli(7), Data: model.Metadata{"status": {"fetch_success"}}}
}

func TestConformance(t *testing.T) {
	s := serve(t, nil)
	plugintest.Run(t, publishnats.Plugin(), plugintest.Options{Settings: settings(t, map[string]any{"url": []string{s.ClientURL()}})})
}

func TestPublish(t *testing.T) {
	s := serve(t, func(o *server.Options) { o.Username, o.Password = "u", "p" })
	c, err := nats.Connect(s.ClientURL(), nats.UserInfo("u", "p"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sub, err := c.SubscribeSync("mine.*")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	p := libtest.Must(t, publishnats.Plugin(), settings(t, map[string]any{"url": []string{s.ClientURL()}, "subject": "mine", "username": "u", "password": "p"})).Publisher
	if err := p.Publish(t.Context(), []publisher.Event{event()}); err != nil {
		t.Fatal(err)
	}
	m, err := sub.NextMsg(30 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"eventType":"END","eventData":{"status":"fetch_success"},"url":"http://example.org/","timestamp":7}`
	if m.Subject != "mine.end" || string(m.Data) != want {
		t.Errorf("%s: %s", m.Subject, m.Data)
	}
}

func TestJetStream(t *testing.T) {
	s := serve(t, nil)
	p := libtest.Must(t, publishnats.Plugin(), settings(t, map[string]any{"url": []string{s.ClientURL()}, "jetstream": true, "timeout": "30s"})).Publisher
	if err := p.Publish(t.Context(), []publisher.Event{event()}); err == nil {
		t.Error("published without a stream")
	}
	js, err := connect(t, s.ClientURL()).JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "EVENTS", Subjects: []string{"crawler.events.*"}}); err != nil {
		t.Fatal(err)
	}
	if err := p.Publish(t.Context(), []publisher.Event{event(), event()}); err != nil {
		t.Fatal(err)
	}
	if info, err := js.StreamInfo("EVENTS"); err != nil || info.State.Msgs != 2 {
		t.Errorf("%+v %v", info, err)
	}
}

// TestDown: a server that is not there fails events and nothing else.
func TestDown(t *testing.T) {
	p := libtest.Must(t, publishnats.Plugin(), settings(t, map[string]any{"url": []string{"nats://127.0.0.1:1"}, "timeout": "1s"})).Publisher
	if err := p.Publish(t.Context(), []publisher.Event{event()}); err == nil || fault.Is(err, fault.Transient) {
		t.Errorf("%v", err)
	}
}

func TestErrors(t *testing.T) {
	for _, s := range []map[string]any{{"subject": ""}, {"subject": "a.*"}, {"credentials_file": "/nonexistent"}, {"ca_file": "/nonexistent"}} {
		if _, err := libtest.New(t, publishnats.Plugin(), settings(t, s)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%v: %v", s, err)
		}
	}
}

func BenchmarkPublish(b *testing.B) {
	s := serve(b, nil)
	p := libtest.Must(b, publishnats.Plugin(), settings(b, map[string]any{"url": []string{s.ClientURL()}})).Publisher
	list := make([]publisher.Event, 16)
	for i := range list {
		list[i] = event()
	}
	for b.Loop() {
		if err := p.Publish(b.Context(), list); err != nil {
			b.Fatal(err)
		}
	}
}
