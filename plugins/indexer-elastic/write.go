package indexerelastic

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

// maxID is the longest _id that the server takes, in bytes.
const maxID = 512

// documentID returns the _id of a document: its own, or for a longer one its
// SHA-256. The field id holds it whole in either case.
func documentID(id string) string {
	id = libindex.Clean(id)
	if len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// line is one operation as bulk requests carry it: an action and, for an add,
// the document, each with its line end.
type line struct {
	op   int // index into the batch
	text []byte
	stop bool // ends the bulk request before it: a data stream's delete
}

// Write implements libwriter.Instance: bulk requests of at most max_bulk_docs
// operations and max_bulk_size bytes. Items that the server can't take now are
// sent again, alone, and when it stays so are refused for now.
func (i *instance) Write(ctx context.Context, ops []indexwriter.Op) ([]indexwriter.Result, error) {
	results := make([]indexwriter.Result, len(ops))
	var bulk []line
	size := 0
	flush := func() error {
		err := i.bulk(ctx, bulk, results)
		bulk, size = bulk[:0], 0
		return err
	}
	for k := range ops {
		l, err := i.line(k, &ops[k])
		if err != nil {
			results[k].Rejected = err.Error()
			continue
		}
		if len(bulk) > 0 && (l.stop || len(bulk) >= i.cfg.MaxBulkDocs || size+len(l.text) > int(i.cfg.MaxBulkSize)) {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		if l.stop {
			if err := i.deleteVersions(ctx, ops[k].Doc.ID); err != nil {
				return nil, err
			}
			continue
		}
		bulk = append(bulk, l)
		size += len(l.text)
	}
	if len(bulk) > 0 {
		if err := flush(); err != nil {
			return nil, err
		}
	}
	return results, nil
}

func (i *instance) line(k int, op *indexwriter.Op) (line, error) {
	l := line{op: k}
	var action, source any
	id := documentID(op.Doc.ID)
	switch {
	case op.Kind == indexwriter.Delete && i.cfg.DataStream:
		l.stop = true
		return l, nil
	case op.Kind == indexwriter.Delete:
		action = map[string]any{"delete": map[string]any{"_id": id}}
	case op.Kind != indexwriter.Add:
		return l, fmt.Errorf("unknown operation %d", op.Kind)
	default:
		fields := document(&op.Doc)
		verb := "index"
		meta := map[string]any{"_id": id}
		if i.cfg.DataStream {
			fields["@timestamp"] = timestamp(&op.Doc)
			verb, meta["_id"] = "create", version(fields)
		}
		action, source = map[string]any{verb: meta}, fields
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(action); err != nil {
		return l, err
	}
	if source != nil {
		if err := enc.Encode(source); err != nil {
			return l, err
		}
	}
	l.text = b.Bytes()
	return l, nil
}

func document(d *model.Document) map[string]any {
	fields := libindex.Fields(d, 3)
	if fields["id"] == nil {
		fields["id"] = libindex.Clean(d.ID)
	}
	fields["boost"] = decimal(d.Boost)
	return fields
}

// decimal is a number that always has a decimal point: an index that does not know its field yet
// makes it one for such numbers, not for whole ones.
type decimal float64

func (d decimal) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(float64(d))
	if err == nil && !bytes.ContainsAny(b, ".e") {
		b = append(b, '.', '0')
	}
	return b, err
}

// timestamp is when a document was fetched, for a data stream.
func timestamp(d *model.Document) string {
	for _, f := range []string{"tstamp", "date", "lastModified"} {
		if v := d.Fields[f]; len(v) > 0 {
			if _, err := time.Parse(time.RFC3339Nano, v[0]); err == nil {
				return v[0]
			}
		}
	}
	return time.Unix(0, 0).UTC().Format(time.RFC3339)
}

// version names one version of a document, so that sending it twice makes no
// second entry.
func version(fields map[string]any) string {
	raw, _ := json.Marshal(fields) // texts and numbers
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:20])
}

type bulkAnswer struct {
	Errors bool
	Items  []map[string]struct {
		Status int
		Error  *cause
	}
}

// bulk sends lines until each is taken or refused. What the server still can't
// take after the last repetition is refused for now.
func (i *instance) bulk(ctx context.Context, lines []line, results []indexwriter.Result) error {
	return i.client.Retry(ctx, func() (bool, time.Duration, error) {
		left, wait, err := i.bulkOnce(ctx, lines, results)
		lines = left
		return len(left) > 0 && (err == nil || fault.Is(err, fault.Transient)), wait, err
	})
}

// bulkOnce sends lines once and returns those to be sent again. A request that
// is too large for the server goes in halves.
func (i *instance) bulkOnce(ctx context.Context, lines []line, results []indexwriter.Result) (left []line, wait time.Duration, err error) {
	var body bytes.Buffer
	for _, l := range lines {
		body.Write(l.text)
	}
	query := url.Values{}
	if i.cfg.Pipeline != "" {
		query.Set("pipeline", i.cfg.Pipeline)
	}
	a, err := i.client.Do(ctx, libindex.Request{Method: http.MethodPost, Path: "/" + url.PathEscape(i.cfg.Index) + "/_bulk", Query: query, Type: "application/x-ndjson", Body: body.Bytes()})
	switch {
	case err != nil:
		return lines, 0, err
	case a.Status == http.StatusRequestEntityTooLarge && len(lines) > 1:
		first, second := lines[:len(lines)/2], lines[len(lines)/2:]
		left, wait, err = i.bulkOnce(ctx, first, results)
		if err != nil {
			return append(left, second...), wait, err
		}
		more, longer, err := i.bulkOnce(ctx, second, results)
		return append(left, more...), max(wait, longer), err
	case a.Status == http.StatusRequestEntityTooLarge:
		results[lines[0].op].Rejected = fmt.Sprintf("HTTP 413: %d bytes are more than the server takes", len(lines[0].text))
		return nil, 0, nil
	case a.Again():
		return lines, a.RetryAfter, a.Err("bulk request", reason(a.Body))
	case a.Status == http.StatusNotFound: // nothing is wrong with the documents
		return nil, 0, fault.New(fault.Permanent, a.Err("bulk request", reason(a.Body)))
	case !a.OK():
		return nil, 0, a.Err("bulk request", reason(a.Body))
	}
	left, err = judge(a.Body, lines, results)
	return left, a.RetryAfter, err
}

// judge reads a bulk answer: refused items are noted in results, those that the
// server could not take now are returned too.
func judge(body []byte, lines []line, results []indexwriter.Result) ([]line, error) {
	var b bulkAnswer
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, fault.Errorf(fault.Transient, "bulk answer: %w", err)
	}
	if len(b.Items) != len(lines) {
		return nil, fault.Errorf(fault.Transient, "bulk answer: %d items for %d operations", len(b.Items), len(lines))
	}
	var left []line
	for k, item := range b.Items {
		for verb, r := range item {
			switch {
			case r.Status/100 == 2, verb == "delete" && r.Status == http.StatusNotFound,
				verb == "create" && r.Status == http.StatusConflict: // a data stream has this version
				results[lines[k].op] = indexwriter.Result{}
			default:
				// A block (a full disk, a read-only index) is lifted, by the server or an operator, and a
				// missing index is made.
				blocked := r.Error != nil && (r.Error.Type == "cluster_block_exception" || r.Error.Type == "index_not_found_exception")
				later := r.Status == http.StatusTooManyRequests || r.Status/100 == 5 || blocked
				if later {
					left = append(left, lines[k])
				}
				text := fmt.Sprintf("HTTP %d", r.Status)
				if r.Error != nil {
					text += ": " + r.Error.String()
				}
				results[lines[k].op] = indexwriter.Result{Rejected: libindex.Short(text, 1000), Later: later}
			}
		}
	}
	return left, nil
}

// deleteVersions removes every entry of a document from a data stream.
func (i *instance) deleteVersions(ctx context.Context, id string) error {
	if a, err := i.do(ctx, http.MethodPost, "/_refresh", nil, nil); err != nil || !a.OK() {
		if err == nil {
			err = a.Err("refresh", reason(a.Body))
		}
		return err
	}
	query := map[string]any{"query": map[string]any{"term": map[string]any{"id": libindex.Clean(id)}}}
	a, err := i.do(ctx, http.MethodPost, "/_delete_by_query", url.Values{"conflicts": {"proceed"}}, query)
	if err != nil {
		return err
	}
	return a.Err("delete from data stream", reason(a.Body))
}

// Commit implements libwriter.Instance. What a bulk request was answered for is
// durable (the server's translog); it becomes visible here.
func (i *instance) Commit(ctx context.Context) error {
	if !i.cfg.Refresh {
		return nil
	}
	return i.client.Retry(ctx, func() (bool, time.Duration, error) {
		a, err := i.do(ctx, http.MethodPost, "/_refresh", nil, nil)
		if err != nil {
			return true, 0, err
		}
		return a.Again(), a.RetryAfter, a.Err("refresh", reason(a.Body))
	})
}
