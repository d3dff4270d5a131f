package cycle

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/gonutch/crawler/sdk/testengine"
)

// stream is a target that is sent operations, which whoever reads it replays.
type stream struct {
	sets        []string // parameters of its writer
	stop, start func()   // of its server
	// replay returns id → title of what all operations so far come to.
	replay func() map[string]string
	keeps  bool // it can't say that documents are gone
}

// TestStreams lets a site change in every way that matters to an index, while a real broker is
// stopped. Who replays what arrived has exactly the right set.
func TestStreams(t *testing.T) {
	for name, open := range map[string]func(*testing.T) stream{"kafka": kafka, "rabbitmq": rabbit, "parquet": parquetFiles, "csv": csvFiles} {
		t.Run(name, func(t *testing.T) { testStream(t, open(t)) })
	}
}

func testStream(t *testing.T, s stream) {
	sets := []string{"index_writer.main.enabled=false", "indexer.retries=0"}
	for _, p := range s.sets {
		sets = append(sets, "index_writer.stream."+p)
	}
	x := newWorld(t, map[string]http.HandlerFunc{
		"/": page("1", "/same", "/changed", "/moved", "/gone", "/noindex", "/twin"), "/same": page("2"), "/changed": page("3"),
		"/moved": page("4"), "/gone": page("5"), "/noindex": page("6"), "/twin": page("7"), "/new": page("8"),
	}, sets...)
	x.cycle.d.targets = nil
	check := func(step string, want map[string]string) {
		t.Helper()
		got := map[string]string{}
		for id, title := range s.replay() {
			got[strings.TrimPrefix(id, x.site.URL)] = title
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", step, d)
		}
	}
	x.run()
	before := map[string]string{"/": "1", "/same": "2", "/changed": "3", "/moved": "4", "/gone": "5", "/noindex": "6", "/twin": "7"}
	check("first", before)
	s.stop()
	x.site.set("/changed", page("33"))
	x.site.set("/moved", moved("/new"))
	x.site.set("/gone", nil)
	x.site.set("/noindex", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Robots-Tag", "noindex")
		page("66")(w, r)
	})
	x.site.set("/twin", page("2")) // the same bytes as /same, which is as long
	x.again()
	s.start()
	if rep, err := x.cycle.Pending(t.Context()); err != nil || len(rep.Waiting) != 0 {
		t.Fatal(rep, err)
	}
	after := map[string]string{"/": "1", "/same": "2", "/changed": "33", "/new": "8"}
	if s.keeps {
		for _, path := range []string{"/moved", "/gone", "/noindex", "/twin"} {
			after[path] = before[path]
		}
	}
	check("changed", after)
	if rep, err := x.cycle.Index(t.Context()); err != nil || rep.Indexed+rep.Deleted != 0 {
		t.Errorf("a further index step sends something: %+v, %v", rep, err)
	}
}

// apply replays an operation as the writers of JSON put it.
func (r *record) apply(docs map[string]string) {
	if r.Op == "delete" {
		delete(docs, r.ID)
	} else {
		docs[r.ID] = strings.Join(r.Fields["title"], "|")
	}
}

func kafka(t *testing.T) stream {
	server := testengine.Start(t, testengine.Kafka, nil)
	client := func(opts ...kgo.Opt) *kgo.Client {
		c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(server.URL))...)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := client(kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("pages"))
	defer c.Close()
	if err := c.ProduceSync(t.Context(), &kgo.Record{Key: []byte("none")}).FirstErr(); err != nil { // makes the topic
		t.Fatal(err)
	}
	replay := func() map[string]string {
		c := client(kgo.ConsumeTopics("pages"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		defer c.Close()
		docs := map[string]string{}
		for more := true; more; {
			f := c.PollFetches(t.Context())
			if err := f.Err(); err != nil {
				t.Fatal(err)
			}
			f.EachPartition(func(p kgo.FetchTopicPartition) {
				for _, r := range p.Records {
					more = r.Offset+1 < p.HighWatermark
					if r.Value == nil { // a tombstone
						delete(docs, string(r.Key))
						continue
					}
					var op record
					if err := json.Unmarshal(r.Value, &op); err != nil {
						t.Errorf("%s: %v", r.Value, err)
					}
					op.apply(docs)
				}
			})
		}
		return docs
	}
	return stream{
		sets: []string{"plugin=indexer-kafka", "brokers=" + server.URL, "topic=pages", "timeout=5s"},
		stop: server.Stop, start: server.Start, replay: replay,
	}
}

func rabbit(t *testing.T) stream {
	server := testengine.Start(t, testengine.RabbitMQ, nil)
	docs := map[string]string{} // of the messages that were taken out of the queue
	replay := func() map[string]string {
		conn, err := amqp.Dial(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		ch, err := conn.Channel()
		if err != nil {
			t.Fatal(err)
		}
		for {
			m, ok, err := ch.Get("pages", true)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				return maps.Clone(docs)
			}
			var op record
			if err := json.Unmarshal(m.Body, &op); err != nil {
				t.Errorf("%s: %v", m.Body, err)
			}
			op.apply(docs)
		}
	}
	return stream{
		sets: []string{"plugin=indexer-rabbit", "server_uri=" + server.URL, "queue_name=pages"},
		stop: server.Stop, start: server.Start, replay: replay,
	}
}

// files returns the files of a folder in the order of their names.
func files(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(slices.Values(names))
}

func parquetFiles(t *testing.T) stream {
	dir := t.TempDir()
	type row struct {
		Op    string  `parquet:"op"`
		ID    string  `parquet:"id"`
		Title *string `parquet:"title,optional"`
	}
	replay := func() map[string]string {
		docs := map[string]string{}
		for _, name := range files(t, dir) {
			rows, err := parquet.ReadFile[row](name)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				op := record{Op: r.Op, ID: r.ID}
				if r.Title != nil {
					op.Fields = map[string][]string{"title": {*r.Title}}
				}
				op.apply(docs)
			}
		}
		return docs
	}
	return stream{sets: []string{"plugin=indexer-parquet", "path=" + dir}, stop: func() {}, start: func() {}, replay: replay}
}

func csvFiles(t *testing.T) stream {
	dir := t.TempDir()
	replay := func() map[string]string {
		docs := map[string]string{}
		for _, name := range files(t, dir) {
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			in := csv.NewReader(f)
			if head, err := in.Read(); err != nil || !slices.Equal(head, []string{"id", "title"}) {
				t.Fatal(head, err)
			}
			for {
				row, err := in.Read()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				docs[row[0]] = row[1]
			}
		}
		return docs
	}
	return stream{sets: []string{"plugin=indexer-csv", "path=" + dir, "fields=id,title"}, stop: func() {}, start: func() {}, replay: replay, keeps: true}
}
