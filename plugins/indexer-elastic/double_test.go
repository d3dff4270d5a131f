package indexerelastic_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// double is the part of the documented REST interface that the plugin uses, kept
// in memory and strict about what it is sent. Tests with a real server show that
// both agree.
type double struct {
	*httptest.Server

	mu      sync.Mutex
	exists  bool
	created map[string]any
	docs    map[string]map[string]any
	bulks   []int // operations of each bulk request
	auth    string
	// judge, when set, answers an operation with a status and a reason before
	// the double does; 0 lets it pass. It is called under the lock.
	judge func(verb, id string, doc map[string]any) (int, string)
	// refuse, when set, answers a whole request; 0 lets it pass.
	refuse func(r *http.Request, body []byte) int
}

func newDouble(t *testing.T) *double {
	d := &double{docs: map[string]map[string]any{}}
	d.Server = httptest.NewServer(http.HandlerFunc(d.serve))
	t.Cleanup(d.Close)
	return d
}

func (d *double) serve(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	d.auth = r.Header.Get("Authorization")
	if d.refuse != nil {
		if status := d.refuse(r, body); status != 0 {
			fail(w, status, "refused_exception", "the test says no")
			return
		}
	}
	path := strings.TrimPrefix(r.URL.Path, "/nutch")
	switch {
	case r.URL.Path == "/":
		_, _ = io.WriteString(w, `{"version":{"number":"2.19.6","distribution":"opensearch"}}`)
	case path == r.URL.Path:
		fail(w, http.StatusNotFound, "index_not_found_exception", "no such index "+r.URL.Path)
	case path == "" && r.Method == http.MethodHead:
		if !d.exists {
			w.WriteHeader(http.StatusNotFound)
		}
	case path == "" && r.Method == http.MethodPut:
		d.exists = true
		if err := json.Unmarshal(body, &d.created); err != nil {
			fail(w, http.StatusBadRequest, "parsing_exception", err.Error())
		}
	case path == "/_mapping":
		answer(w, map[string]any{"nutch": d.created})
	case path == "/_field_caps":
		answer(w, map[string]any{"fields": map[string]any{}})
	case path == "/_bulk":
		d.bulk(w, r, body)
	case path == "/_refresh":
		answer(w, map[string]any{})
	case path == "/_search":
		d.search(w, body)
	default:
		fail(w, http.StatusMethodNotAllowed, "unknown", r.Method+" "+r.URL.Path)
	}
}

func answer(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

func fail(w http.ResponseWriter, status int, kind, why string) {
	w.WriteHeader(status)
	answer(w, map[string]any{"status": status, "error": map[string]any{"type": kind, "reason": why, "root_cause": []any{map[string]any{"type": kind, "reason": why}}}})
}

func (d *double) bulk(w http.ResponseWriter, r *http.Request, body []byte) {
	if r.Header.Get("Content-Type") != "application/x-ndjson" || !bytes.HasSuffix(body, []byte("\n")) {
		fail(w, http.StatusNotAcceptable, "bad", "want ndjson that ends with a line end")
		return
	}
	lines := strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
	items := []any{}
	for len(lines) > 0 {
		var action map[string]struct {
			ID string `json:"_id"`
		}
		if err := json.Unmarshal([]byte(lines[0]), &action); err != nil || len(action) != 1 {
			fail(w, http.StatusBadRequest, "bad", "action "+lines[0])
			return
		}
		lines = lines[1:]
		for verb, a := range action {
			var doc map[string]any
			if verb != "delete" {
				if err := json.Unmarshal([]byte(lines[0]), &doc); err != nil {
					fail(w, http.StatusBadRequest, "bad", "source "+lines[0])
					return
				}
				lines = lines[1:]
			}
			items = append(items, map[string]any{verb: d.item(verb, a.ID, doc)})
		}
	}
	d.bulks = append(d.bulks, len(items))
	answer(w, map[string]any{"items": items})
}

func (d *double) item(verb, id string, doc map[string]any) map[string]any {
	if d.judge != nil {
		if status, why := d.judge(verb, id, doc); status != 0 {
			return map[string]any{"_id": id, "status": status, "error": map[string]any{"type": "test_exception", "reason": why}}
		}
	}
	switch {
	case len(id) > 512 || id == "":
		return map[string]any{"status": 400, "error": map[string]any{"type": "illegal_argument_exception", "reason": "id is too long"}}
	case verb == "delete" && d.docs[id] == nil:
		return map[string]any{"status": 404}
	case verb == "delete":
		delete(d.docs, id)
	default:
		d.docs[id] = doc
	}
	return map[string]any{"_id": id, "status": 200}
}

// search finds documents that hold all words, wherever.
func (d *double) search(w http.ResponseWriter, body []byte) {
	var q struct {
		From, Size int
		Query      struct {
			QueryString struct{ Query string } `json:"query_string"`
		}
	}
	if err := json.Unmarshal(body, &q); err != nil || q.Size == 0 {
		fail(w, http.StatusBadRequest, "parsing_exception", fmt.Sprint(err))
		return
	}
	text := q.Query.QueryString.Query
	if strings.ContainsAny(text, "([") || strings.Count(text, `"`)%2 != 0 {
		fail(w, http.StatusBadRequest, "query_shard_exception", "Failed to parse query ["+text+"]")
		return
	}
	hits := []any{}
	for id, doc := range d.docs {
		all := true
		raw, _ := json.Marshal(doc)
		for word := range strings.FieldsSeq(strings.ToLower(text)) {
			all = all && strings.Contains(strings.ToLower(string(raw)), word)
		}
		if all {
			hits = append(hits, map[string]any{"_id": id, "_score": 1, "_source": doc})
		}
	}
	n := len(hits)
	hits = hits[min(q.From, n):min(q.From+q.Size, n)]
	answer(w, map[string]any{"hits": map[string]any{"total": map[string]any{"value": n}, "hits": hits}})
}
