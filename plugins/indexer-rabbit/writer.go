// Package indexerrabbit sends operations to RabbitMQ. It owns the form of messages;
// the connection is libamqp's.
package indexerrabbit

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/gonutch/crawler/plugins/internal/libamqp"
	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/plugins/internal/libwriter"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	libamqp.Config
	DynamicHeaders []string `json:"headers_dynamic"`
	CommitMode     string   `json:"commit_mode"`
	CommitSize     int      `json:"commit_size"`
}

func build(sdk.Env) (*sdk.Extensions, error) {
	t := &libwriter.Table{Check: func(_ string, params indexwriter.Params) (func(context.Context) (libwriter.Instance, error), error) {
		c, err := libindex.Merge(config{}, params)
		if err != nil {
			return nil, err
		}
		client, err := libamqp.New(c.Config)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (libwriter.Instance, error) {
			return &writer{config: c, client: client}, client.Connect(ctx)
		}, nil
	}}
	return &sdk.Extensions{IndexWriter: t, Close: t.Shutdown}, nil
}

type writer struct {
	config
	client *libamqp.Client
}

// Write sends ops and waits until the broker has confirmed them.
func (w *writer) Write(ctx context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	var messages []libamqp.Message
	size := 1
	if w.CommitMode == "multiple" {
		size = w.CommitSize
	}
	for from := 0; from < len(ops); from += size {
		m, err := w.message(ops[from:min(from+size, len(ops))])
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	if err := w.client.Publish(ctx, messages); err != nil {
		return nil, err
	}
	return make([]indexwriter.Result, len(ops)), nil
}

func (w *writer) message(ops []indexwriter.Op) (m libamqp.Message, err error) {
	if w.CommitMode == "multiple" {
		records := make([]libwriter.Record, len(ops))
		for i := range ops {
			records[i] = libwriter.RecordOf(&ops[i])
		}
		m.Body, err = json.Marshal(records)
	} else {
		m.Headers = map[string]string{}
		for _, f := range w.DynamicHeaders {
			if v := ops[0].Doc.Fields[f]; len(v) > 0 {
				m.Headers[f] = v[0]
			}
		}
		m.Body, err = libwriter.JSON(&ops[0])
	}
	if err != nil {
		return m, fmt.Errorf("encode message: %w", err)
	}
	return m, nil
}

// Commit has nothing to do: what is confirmed is done.
func (w *writer) Commit(context.Context) error { return nil }

func (w *writer) Describe(ctx context.Context, _ []model.Document, d *indexwriter.Description) error {
	d.Server = fmt.Sprintf("%s exchange %q queue %q", w.client.Server(), w.ExchangeName, w.QueueName)
	return w.client.Connect(ctx)
}

func (w *writer) Close(context.Context) error {
	w.client.Close()
	return nil
}
