// Package indexerwebhook sends batches of operations by HTTP. It owns the form of
// requests, what answers mean, and signatures; the HTTP client is libindex's.
package indexerwebhook

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

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
	libindex.Server
	Format  string       `json:"format"`
	Method  string       `json:"method"`
	MaxDocs int          `json:"max_docs"`
	MaxSize setting.Size `json:"max_size"`
	Gzip    bool         `json:"gzip"`
	Secret  string       `json:"secret"`
}

func build(sdk.Env) (*sdk.Extensions, error) {
	t := &libwriter.Table{Check: func(name string, params indexwriter.Params) (func(context.Context) (libwriter.Instance, error), error) {
		c, err := libindex.Merge(config{}, params)
		if err != nil {
			return nil, err
		}
		client, err := libindex.NewClient(c.Server, "Bearer")
		if err != nil {
			return nil, err
		}
		return func(context.Context) (libwriter.Instance, error) {
			return &writer{config: c, name: name, client: client}, nil
		}, nil
	}}
	return &sdk.Extensions{IndexWriter: t, Close: t.Shutdown}, nil
}

type writer struct {
	config
	name   string
	client *libindex.Client
}

// line is an encoded operation and its place in the batch of the core.
type line struct {
	at   int
	json []byte
}

// Write sends ops in requests of bounded size, in order.
func (w *writer) Write(ctx context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	results := make([]indexwriter.Result, len(ops))
	var batch []line
	size := 0
	flush := func() error {
		defer func() { batch, size = nil, 0 }()
		if len(batch) == 0 {
			return nil
		}
		return w.deliver(ctx, batch, results)
	}
	for i := range ops {
		b, err := libwriter.JSON(&ops[i])
		if err != nil {
			results[i].Rejected = err.Error()
			continue
		}
		if len(batch) >= w.MaxDocs || len(batch) > 0 && size+len(b) > int(w.MaxSize) {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		batch, size = append(batch, line{i, b}), size+len(b)+1
	}
	return results, flush()
}

// deliver sends a batch, and again those operations that the server could not take
// now.
func (w *writer) deliver(ctx context.Context, batch []line, results []indexwriter.Result) error {
	return w.client.Retry(ctx, func() (bool, time.Duration, error) {
		a, err := w.send(ctx, batch)
		if err != nil {
			return fault.Is(err, fault.Transient), 0, err
		}
		if !a.OK() {
			return a.Again(), a.RetryAfter, w.failure(a)
		}
		batch, err = w.read(a, batch, results)
		return len(batch) > 0, a.RetryAfter, err
	})
}

// failure is the error of an answer to a whole batch.
func (w *writer) failure(a *libindex.Answer) error {
	err := a.Err(strings.Join(w.client.Addresses(), ", "), string(a.Body))
	switch {
	case a.Status/100 == 3, a.Status == 404, a.Status == 405, a.Status == 410:
		return fault.New(fault.Permanent, err)
	}
	return err
}

func (w *writer) send(ctx context.Context, batch []line) (*libindex.Answer, error) {
	body, err := w.body(batch)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	r := libindex.Request{Method: w.Method, Type: "application/json", Body: body, Header: map[string]string{
		"X-Crawler-Writer": w.name, "Idempotency-Key": hex.EncodeToString(sum[:16]),
	}}
	if w.Format == "ndjson" {
		r.Type = "application/x-ndjson"
	}
	if w.Gzip {
		r.Header["Content-Encoding"] = "gzip"
	}
	if w.Secret != "" {
		at := strconv.FormatInt(time.Now().Unix(), 10)
		r.Header["X-Crawler-Timestamp"] = at
		r.Header["X-Crawler-Signature"] = "sha256=" + sign(w.Secret, at, body)
	}
	return w.client.Do(ctx, r)
}

func sign(secret, at string, body []byte) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(at))
	m.Write([]byte{'.'})
	m.Write(body)
	return hex.EncodeToString(m.Sum(nil))
}

func (w *writer) body(batch []line) ([]byte, error) {
	var b bytes.Buffer
	if w.Format == "ndjson" {
		for _, l := range batch {
			b.Write(l.json)
			b.WriteByte('\n')
		}
	} else {
		ops := make([]json.RawMessage, len(batch))
		for i, l := range batch {
			ops[i] = l.json
		}
		err := json.NewEncoder(&b).Encode(struct {
			Writer     string            `json:"writer"`
			Operations []json.RawMessage `json:"operations"`
		}{w.name, ops})
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
	}
	if !w.Gzip {
		return b.Bytes(), nil
	}
	var z bytes.Buffer
	zw := gzip.NewWriter(&z)
	_, err := zw.Write(b.Bytes())
	if err == nil {
		err = zw.Close()
	}
	return z.Bytes(), err
}

// read takes over the server's results and returns the operations to be sent again.
func (w *writer) read(a *libindex.Answer, batch []line, results []indexwriter.Result) (again []line, err error) {
	var answer struct {
		Results []struct {
			Status int    `json:"status"`
			Error  string `json:"error"`
		} `json:"results"`
	}
	if json.Unmarshal(a.Body, &answer) != nil || answer.Results == nil {
		for _, l := range batch {
			results[l.at] = indexwriter.Result{}
		}
		return nil, nil // it says no more than that all is well
	}
	if len(answer.Results) != len(batch) {
		return nil, fault.Errorf(fault.Permanent, "%s: %d results for %d operations", strings.Join(w.client.Addresses(), ", "), len(answer.Results), len(batch))
	}
	for i, r := range answer.Results {
		status := libindex.Answer{Status: r.Status}
		if r.Status == 0 {
			status.Status = 200
			if r.Error != "" {
				status.Status = 400
			}
		}
		result := indexwriter.Result{}
		if !status.OK() {
			result.Rejected = libindex.Short(fmt.Sprintf("%s (status %d)", r.Error, status.Status), 500)
			if result.Later = status.Again(); result.Later {
				again = append(again, batch[i])
			}
		}
		results[batch[i].at] = result
	}
	return again, nil
}

// Commit has nothing to do: what was answered is done.
func (w *writer) Commit(context.Context) error { return nil }

func (w *writer) Describe(ctx context.Context, _ []model.Document, d *indexwriter.Description) error {
	d.Server = strings.Join(w.client.Addresses(), ", ")
	a, err := w.send(ctx, nil)
	if err == nil && !a.OK() {
		err = w.failure(a)
	}
	return err
}

func (w *writer) Close(context.Context) error {
	w.client.Close()
	return nil
}
