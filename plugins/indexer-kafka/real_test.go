package indexerkafka_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/plugins/internal/libwriter"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/testengine"
)

// TestReal does everything with a real broker: a document field by field, an update, a delete, and
// a broker that is stopped in the middle and started again.
func TestReal(t *testing.T) {
	s := testengine.Start(t, testengine.Kafka, nil)
	brokers := []string{s.URL}
	c, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "docs", 3, 1
	req.Topics, req.TimeoutMillis = []kmsg.CreateTopicsRequestTopic{topic}, 30_000
	if resp, err := req.RequestWith(t.Context(), c); err != nil || resp.Topics[0].ErrorCode != 0 {
		t.Fatal(resp, err)
	}
	w := open(t, brokers, indexwriter.Params{"timeout": "5s"})
	first := libtest.Add("http://a/1", "title", "One", "content", "first words", "type", "text/html", "type", "text", "tstamp", "2026-01-02T03:04:05.678Z")
	w.MustWrite(t, first, libtest.Add("http://a/2", "title", "old"), libtest.Add("http://a/3", "title", "3"))
	w.MustWrite(t, libtest.Delete("http://a/3"), libtest.Add("http://a/2", "title", "new"))
	w.MustCommit(t)
	docs, tombstones := consume(t, brokers, 5)
	if d := cmp.Diff(map[string]string{"http://a/1": "One", "http://a/2": "new"}, docs); d != "" || tombstones != 1 {
		t.Errorf("%d tombstones (-want +got):\n%s", tombstones, d)
	}
	var got libwriter.Record
	if err := json.Unmarshal(record(t, brokers, "http://a/1"), &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(libwriter.RecordOf(&first), got); d != "" {
		t.Errorf("a document (-want +got):\n%s", d)
	}

	s.Stop()
	var batch []indexwriter.Op
	want := map[string]string{"http://a/1": "One", "http://a/2": "new"}
	for n := range 200 {
		id := fmt.Sprint("http://b/", n)
		batch, want[id] = append(batch, libtest.Add(id, "title", "x")), "x"
	}
	if _, err := w.Write(t.Context(), libtest.Instance, batch); !fault.Is(err, fault.Transient) {
		t.Fatalf("got %v, want a transient error", err)
	}
	s.Start()
	w.MustWrite(t, batch...)
	w.MustCommit(t)
	docs, _ = consume(t, brokers, 205)
	if d := cmp.Diff(want, docs); d != "" {
		t.Errorf("after a restart (-want +got):\n%s", d)
	}
}

// record returns the first value of a key.
func record(t *testing.T, brokers []string, key string) []byte {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics("docs"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for {
		f := c.PollFetches(t.Context())
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		for _, r := range f.Records() {
			if string(r.Key) == key {
				return r.Value
			}
		}
	}
}
