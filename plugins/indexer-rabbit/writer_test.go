package indexerrabbit_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	indexerrabbit "github.com/gonutch/crawler/plugins/indexer-rabbit"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/plugins/internal/libwriter"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/plugintest"
	"github.com/gonutch/crawler/sdk/testengine"
)

func open(t testing.TB, uri string, params indexwriter.Params) *libtest.Writer {
	t.Helper()
	p := indexwriter.Params{"server_uri": uri}
	maps.Copy(p, params)
	w, err := libtest.OpenWriter(t, indexerrabbit.Plugin(), t.TempDir(), p)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// take returns what is in a queue.
func take(t *testing.T, uri, queue string) []amqp.Delivery {
	t.Helper()
	conn, err := amqp.Dial(uri)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	var out []amqp.Delivery
	for {
		m, ok, err := ch.Get(queue, true)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return out
		}
		out = append(out, m)
	}
}

// TestRabbit runs all that needs a broker over one.
func TestRabbit(t *testing.T) {
	uri := testengine.Start(t, testengine.RabbitMQ, nil).URL
	t.Run("conformance", func(t *testing.T) {
		plugintest.Run(t, indexerrabbit.Plugin(), plugintest.Options{Params: map[string]string{"server_uri": uri, "queue_name": "suite"}})
	})
	t.Run("single", func(t *testing.T) {
		w := open(t, uri, indexwriter.Params{
			"exchange_name": "x", "queue_name": "one", "binding": "true", "routingkey": "k", "headers_static": "from=crawler", "headers_dynamic": "lang",
		})
		w.MustWrite(t, libtest.Add("a", "lang", "de"), libtest.Delete("b"))
		got := take(t, uri, "one")
		if len(got) != 2 || string(got[1].Body) != `{"op":"delete","id":"b"}` || got[0].DeliveryMode != amqp.Persistent {
			t.Fatalf("%+v", got)
		}
		if d := cmp.Diff(amqp.Table{"from": "crawler", "lang": "de"}, got[0].Headers); d != "" {
			t.Error(d)
		}
	})
	t.Run("multiple", func(t *testing.T) {
		w := open(t, uri, indexwriter.Params{"queue_name": "many", "commit_mode": "multiple", "commit_size": "2"})
		w.MustWrite(t, libtest.Add("a"), libtest.Add("b"), libtest.Delete("a"))
		got := take(t, uri, "many")
		var records []libwriter.Record
		if len(got) != 2 || json.Unmarshal(got[0].Body, &records) != nil || len(records) != 2 || records[1].ID != "b" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("no queue", func(t *testing.T) {
		w := open(t, uri, indexwriter.Params{"exchange_name": "nowhere", "queue_name": ""})
		_, err := w.Write(t.Context(), libtest.Instance, []indexwriter.Op{libtest.Add("a")})
		if !fault.Is(err, fault.Permanent) || !strings.Contains(err.Error(), "no queue is bound") {
			t.Errorf("%v", err)
		}
	})
	t.Run("wrong password", func(t *testing.T) {
		_, err := libtest.OpenWriter(t, indexerrabbit.Plugin(), t.TempDir(), indexwriter.Params{"server_uri": strings.Replace(uri, "guest:guest", "guest:no", 1)})
		if !fault.Is(err, fault.Denied) || strings.Contains(err.Error(), "guest:no") {
			t.Errorf("%v", err)
		}
	})
	t.Run("declared otherwise", func(t *testing.T) {
		_, err := libtest.OpenWriter(t, indexerrabbit.Plugin(), t.TempDir(), indexwriter.Params{"server_uri": uri, "queue_name": "one", "queue_options": "durable=false"})
		if !fault.Is(err, fault.Permanent) {
			t.Errorf("%v", err)
		}
	})
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		params indexwriter.Params
		kind   fault.Kind
	}{
		"down":    {indexwriter.Params{"server_uri": "amqp://127.0.0.1:1/", "timeout": "5s"}, fault.Transient},
		"uri":     {indexwriter.Params{"server_uri": "http://x/"}, fault.Invalid},
		"nothing": {indexwriter.Params{"queue_name": ""}, fault.Invalid},
		"binding": {indexwriter.Params{"binding": "true"}, fault.Invalid},
		"options": {indexwriter.Params{"queue_options": "colour=red"}, fault.Invalid},
		"bool":    {indexwriter.Params{"queue_options": "durable=often"}, fault.Invalid},
	} {
		if _, err := libtest.OpenWriter(t, indexerrabbit.Plugin(), t.TempDir(), c.params); !fault.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	uri := testengine.Start(b, testengine.RabbitMQ, nil).URL
	libtest.BenchWrite(b, func(b *testing.B) *libtest.Writer { return open(b, uri, nil) })
}
