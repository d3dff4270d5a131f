package indexerkafka_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	indexerkafka "github.com/gonutch/crawler/plugins/indexer-kafka"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/plugins/internal/libwriter"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func serve(t testing.TB) []string {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(2), kfake.SeedTopics(3, "docs"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.ListenAddrs()
}

func open(t testing.TB, brokers []string, params indexwriter.Params) *libtest.Writer {
	t.Helper()
	p := indexwriter.Params{"brokers": strings.Join(brokers, ","), "topic": "docs"}
	maps.Copy(p, params)
	w, err := libtest.OpenWriter(t, indexerkafka.Plugin(), t.TempDir(), p)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// consume reads n records and returns what they come to: id → title, and the
// number of tombstones.
func consume(t *testing.T, brokers []string, n int) (docs map[string]string, tombstones int) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics("docs"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	docs = map[string]string{}
	for n > 0 {
		f := c.PollFetches(ctx)
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		f.EachRecord(func(r *kgo.Record) {
			n--
			var op libwriter.Record
			if r.Value == nil {
				tombstones++
			} else if err := json.Unmarshal(r.Value, &op); err != nil || op.ID != string(r.Key) {
				t.Errorf("%s: %s: %v", r.Key, r.Value, err)
			}
			if r.Value == nil || op.Op == "delete" {
				delete(docs, string(r.Key))
			} else {
				docs[op.ID] = strings.Join(op.Fields["title"], "|")
			}
		})
	}
	return docs, tombstones
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, indexerkafka.Plugin(), plugintest.Options{Params: map[string]string{"brokers": strings.Join(serve(t), ","), "topic": "docs"}})
}

func TestWrite(t *testing.T) {
	for del, c := range map[string]struct {
		records, tombstones int
		want                []string
	}{"tombstone": {5, 1, []string{"b", "c"}}, "message": {5, 0, []string{"b", "c"}}, "ignore": {4, 0, []string{"a", "b", "c"}}} {
		brokers := serve(t)
		w := open(t, brokers, indexwriter.Params{"delete": del})
		w.MustWrite(t, libtest.Add("a", "title", "1"), libtest.Add("b", "title", "old"), libtest.Add("c", "title", "3"))
		w.MustWrite(t, libtest.Delete("a"), libtest.Add("b", "title", "new"))
		w.MustCommit(t)
		docs, tombstones := consume(t, brokers, c.records)
		if got := slices.Sorted(maps.Keys(docs)); !slices.Equal(got, c.want) || docs["b"] != "new" || tombstones != c.tombstones {
			t.Errorf("%s: %v, %d tombstones", del, docs, tombstones)
		}
	}
}

// TestTooLarge: one document that does not fit does not hold up the others.
func TestTooLarge(t *testing.T) {
	brokers := serve(t)
	w := open(t, brokers, indexwriter.Params{"max_message": "20000B", "compression": "none"})
	got, err := w.Write(t.Context(), libtest.Instance, []indexwriter.Op{libtest.Add("a"), libtest.Add("b", "content", strings.Repeat("x", 30000)), libtest.Add("c")})
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Rejected != "" || got[2].Rejected != "" || !strings.Contains(got[1].Rejected, "MESSAGE_TOO_LARGE") || got[1].Later {
		t.Errorf("%+v", got)
	}
	if docs, _ := consume(t, brokers, 2); len(docs) != 2 {
		t.Errorf("%v", docs)
	}
}

func TestErrors(t *testing.T) {
	brokers := strings.Join(serve(t), ",")
	for name, c := range map[string]struct {
		params indexwriter.Params
		kind   fault.Kind
	}{
		"no topic":     {indexwriter.Params{"brokers": brokers}, fault.Invalid},
		"no such":      {indexwriter.Params{"brokers": brokers, "topic": "never"}, fault.Invalid},
		"no broker":    {indexwriter.Params{"brokers": "127.0.0.1:1", "topic": "docs", "timeout": "1s"}, fault.Transient},
		"no ca":        {indexwriter.Params{"brokers": brokers, "topic": "docs", "ca_file": "/nonexistent"}, fault.Invalid},
		"no brokers":   {indexwriter.Params{"brokers": "", "topic": "docs"}, fault.Invalid},
		"no such sasl": {indexwriter.Params{"brokers": brokers, "topic": "docs", "sasl": "magic"}, fault.Invalid},
	} {
		if _, err := libtest.OpenWriter(t, indexerkafka.Plugin(), t.TempDir(), c.params); !fault.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDescribe(t *testing.T) {
	w := open(t, serve(t), nil)
	d, err := w.Writer.(indexwriter.Describer).Describe(t.Context(), libtest.Instance, nil)
	if err != nil || !strings.HasSuffix(d.Server, " topic docs") {
		t.Errorf("%+v %v", d, err)
	}
	if diff := cmp.Diff([]indexwriter.Fact{{Name: "partitions", Value: "3"}, {Name: "deletes", Value: "tombstone"}}, d.Facts); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkWrite(b *testing.B) {
	libtest.BenchWrite(b, func(b *testing.B) *libtest.Writer { return open(b, serve(b), nil) })
}
