// Package indexerkafka sends operations to a Kafka topic. It owns the form of
// records and what errors of brokers mean; the protocol is franz-go's.
package indexerkafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/plugins/internal/libwriter"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Brokers     []string         `json:"brokers"`
	Topic       string           `json:"topic"`
	Delete      string           `json:"delete"`
	Compression string           `json:"compression"`
	MaxMessage  setting.Size     `json:"max_message"`
	Timeout     setting.Duration `json:"timeout"`
	SASL        string           `json:"sasl"`
	Username    string           `json:"username"`
	Password    string           `json:"password"`
	TLS         bool             `json:"tls"`
	CAFile      string           `json:"ca_file"`
}

func build(sdk.Env) (*sdk.Extensions, error) {
	t := &libwriter.Table{Check: func(_ string, params indexwriter.Params) (func(context.Context) (libwriter.Instance, error), error) {
		c, err := libindex.Merge(config{}, params)
		if err != nil {
			return nil, err
		}
		opts, err := c.options()
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (libwriter.Instance, error) { return open(ctx, c, opts) }, nil
	}}
	return &sdk.Extensions{IndexWriter: t, Close: t.Shutdown}, nil
}

type writer struct {
	config
	client *kgo.Client
}

func open(ctx context.Context, c config, opts []kgo.Opt) (libwriter.Instance, error) {
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	w := &writer{config: c, client: client}
	if _, err := w.partitions(ctx); err != nil {
		client.Close()
		return nil, err
	}
	return w, nil
}

// options checks the parameters.
func (c *config) options() ([]kgo.Opt, error) {
	switch {
	case c.Topic == "":
		return nil, fault.Param("topic", "topic is missing")
	case len(c.Brokers) == 0:
		return nil, fault.Param("brokers", "brokers is empty")
	}
	compression, ok := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}[c.Compression]
	if !ok {
		return nil, fault.Param("compression", "compression = %q is unknown", c.Compression)
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Brokers...), kgo.DefaultProduceTopic(c.Topic), kgo.ProducerBatchCompression(compression), kgo.ClientID("crawler"),
		kgo.ProducerBatchMaxBytes(int32(min(int64(c.MaxMessage), 1<<30))), //nolint:gosec // bounded
		kgo.RecordDeliveryTimeout(c.Timeout.D()), kgo.RequestTimeoutOverhead(c.Timeout.D()), kgo.DialTimeout(c.Timeout.D()),
		// A producer that numbers its records never gives up what may have reached a broker that then
		// died, so that a call would hang. Records may come twice here; their order counts.
		kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1),
		kgo.ProduceRequestTimeout(c.Timeout.D()), kgo.RetryTimeout(c.Timeout.D()), kgo.UnknownTopicRetries(2),
	}
	switch c.SASL {
	case "", "none":
	case "plain":
		opts = append(opts, kgo.SASL(plain.Auth{User: c.Username, Pass: c.Password}.AsMechanism()))
	case "scram-sha-256":
		opts = append(opts, kgo.SASL(scram.Auth{User: c.Username, Pass: c.Password}.AsSha256Mechanism()))
	case "scram-sha-512":
		opts = append(opts, kgo.SASL(scram.Auth{User: c.Username, Pass: c.Password}.AsSha512Mechanism()))
	default:
		return nil, fault.Param("sasl", "sasl = %q is unknown", c.SASL)
	}
	if !c.TLS && c.CAFile == "" {
		return opts, nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fault.Param("ca_file", "ca_file: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fault.Param("ca_file", "ca_file: %s holds no PEM certificate", c.CAFile)
		}
	}
	return append(opts, kgo.DialTLSConfig(conf)), nil
}

// partitions asks for the topic; a missing one is a mistake, silence passes.
func (w *writer) partitions(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, w.Timeout.D())
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(w.Topic)
	req.Topics = []kmsg.MetadataRequestTopic{t}
	resp, err := req.RequestWith(ctx, w.client)
	if err != nil {
		return 0, failed(fmt.Errorf("ask %s: %w", strings.Join(w.Brokers, ", "), err))
	}
	if len(resp.Topics) > 0 {
		t := resp.Topics[0] // the one asked for
		err := kerr.ErrorForCode(t.ErrorCode)
		if errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.InvalidTopicException) {
			return 0, fault.Errorf(fault.Invalid, "topic %q: %w", w.Topic, err)
		}
		if err != nil {
			return 0, failed(fmt.Errorf("topic %q: %w", w.Topic, err))
		}
		return len(t.Partitions), nil
	}
	return 0, fault.Errorf(fault.Invalid, "topic %q does not exist", w.Topic)
}

// failed gives an error of the brokers its kind.
func failed(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed):
		return fault.New(fault.Denied, err)
	}
	return fault.New(fault.Transient, err)
}

// Write produces a record for each operation and waits until all are
// acknowledged. Records for one key keep their order.
func (w *writer) Write(ctx context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	results := make([]indexwriter.Result, len(ops))
	var records []*kgo.Record
	at := map[*kgo.Record]int{}
	for i := range ops {
		r := &kgo.Record{Key: []byte(ops[i].Doc.ID)}
		if ops[i].Kind == indexwriter.Delete && w.Delete != "message" {
			if w.Delete == "ignore" {
				continue
			}
		} else {
			b, err := libwriter.JSON(&ops[i])
			if err != nil {
				results[i].Rejected = err.Error()
				continue
			}
			r.Value = b
		}
		records, at[r] = append(records, r), i
	}
	if len(records) == 0 {
		return results, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*w.Timeout.D())
	defer cancel()
	for _, r := range w.client.ProduceSync(ctx, records...) { // in the order in which they end
		i := at[r.Record]
		switch {
		case r.Err == nil:
		case errors.Is(r.Err, kerr.MessageTooLarge), errors.Is(r.Err, kerr.InvalidRecord):
			results[i].Rejected = fmt.Sprintf("%v (%d bytes, max_message %d)", r.Err, len(r.Record.Value), w.MaxMessage)
		default:
			return nil, failed(fmt.Errorf("produce to %s: %w", w.Topic, r.Err))
		}
	}
	return results, nil
}

// Commit has nothing to do: what is acknowledged is done.
func (w *writer) Commit(context.Context) error { return nil }

func (w *writer) Describe(ctx context.Context, _ []model.Document, d *indexwriter.Description) error {
	d.Server = strings.Join(w.Brokers, ", ") + " topic " + w.Topic
	n, err := w.partitions(ctx)
	d.Facts = append(d.Facts, indexwriter.Fact{Name: "partitions", Value: strconv.Itoa(n)}, indexwriter.Fact{Name: "deletes", Value: w.Delete})
	return err
}

func (w *writer) Close(context.Context) error {
	w.client.Close()
	return nil
}
