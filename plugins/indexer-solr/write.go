package indexersolr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
)

// command is one operation as update requests carry it: "add":{…} or
// "delete":{…}.
type command struct {
	op   int // index into the batch
	text []byte
}

// Write implements libwriter.Instance: update requests of at most max_docs
// operations and max_size bytes. Solr refuses a request for the sake of one
// document; such a request goes again in halves until the document is found.
func (i *instance) Write(ctx context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	results := make([]indexwriter.Result, len(ops))
	var batch []command
	size := 0
	flush := func() error {
		err := i.each(func(t *target) error { return t.update(ctx, batch, results) })
		batch, size = batch[:0], 0
		return err
	}
	for k := range ops {
		text, err := i.command(&ops[k])
		if err != nil {
			results[k].Rejected = err.Error()
			continue
		}
		if len(batch) > 0 && (len(batch) >= i.cfg.MaxDocs || size+len(text) > int(i.cfg.MaxSize)) {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		batch = append(batch, command{k, text})
		size += len(text)
	}
	if len(batch) > 0 {
		if err := flush(); err != nil {
			return nil, err
		}
	}
	return results, nil
}

func (i *instance) command(op *indexwriter.Op) ([]byte, error) {
	var b bytes.Buffer
	var v any
	switch op.Kind {
	case indexwriter.Delete:
		b.WriteString(`"delete":`)
		v = map[string]string{"id": libindex.Clean(op.Doc.ID)}
	case indexwriter.Add:
		fields := libindex.Fields(&op.Doc, 2)
		fields["id"] = libindex.Clean(op.Doc.ID)
		if i.cfg.WeightField != "" {
			fields[i.cfg.WeightField] = op.Doc.Boost
		}
		b.WriteString(`"add":`)
		v = map[string]any{"doc": fields}
	default:
		return nil, fmt.Errorf("unknown operation %d", op.Kind)
	}
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// update sends a batch until it is taken, or each refused document is known.
func (t *target) update(ctx context.Context, batch []command, results []indexwriter.Result) error {
	a, err := t.send(ctx, batch)
	switch {
	case err != nil:
		return err
	case a.OK():
		return nil
	case a.Status == http.StatusNotFound: // the collection is gone, or not there yet: nothing is wrong with the documents
		return fault.New(fault.Permanent, a.Err("update "+t.name(), reason(a.Body)))
	case a.Status != http.StatusBadRequest && a.Status != http.StatusRequestEntityTooLarge && a.Status != http.StatusConflict:
		return a.Err("update "+t.name(), reason(a.Body))
	case len(batch) == 1:
		results[batch[0].op].Rejected = libindex.Short(fmt.Sprintf("HTTP %d: %s", a.Status, reason(a.Body)), 1000)
		return nil
	}
	half := len(batch) / 2
	return errors.Join(t.update(ctx, batch[:half], results), t.update(ctx, batch[half:], results))
}

// send posts a batch, again and again while Solr can't take it now.
func (t *target) send(ctx context.Context, batch []command) (a *libindex.Answer, err error) {
	var body bytes.Buffer
	body.WriteByte('{')
	for k, c := range batch {
		if k > 0 {
			body.WriteByte(',')
		}
		body.Write(c.text)
	}
	body.WriteByte('}')
	query := url.Values{"wt": {"json"}}
	if w := t.cfg.CommitWithin.D(); w > 0 {
		query.Set("commitWithin", strconv.FormatInt(w.Milliseconds(), 10))
	}
	err = t.client.Retry(ctx, func() (bool, time.Duration, error) {
		var err error
		a, err = t.client.Do(ctx, libindex.Request{Method: http.MethodPost, Path: t.path("/update"), Query: query, Body: body.Bytes()})
		if err != nil {
			return fault.Is(err, fault.Transient), 0, err
		}
		return a.Again(), a.RetryAfter, nil
	})
	return a, err
}

// Commit implements libwriter.Instance.
func (i *instance) Commit(ctx context.Context) error {
	if i.cfg.Commit == "none" {
		return nil
	}
	query := url.Values{"commit": {"true"}, "wt": {"json"}}
	if i.cfg.Commit == "soft" {
		query = url.Values{"softCommit": {"true"}, "wt": {"json"}}
	}
	return i.each(func(t *target) error {
		return t.client.Retry(ctx, func() (bool, time.Duration, error) {
			a, err := t.client.Do(ctx, libindex.Request{Method: http.MethodPost, Path: t.path("/update"), Query: query, Body: []byte("{}")})
			if err != nil {
				return fault.Is(err, fault.Transient), 0, err
			}
			return a.Again(), a.RetryAfter, a.Err("commit to "+t.name(), reason(a.Body))
		})
	})
}
