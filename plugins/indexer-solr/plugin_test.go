package indexersolr_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	solr "github.com/gonutch/crawler/plugins/indexer-solr"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func settings(t *testing.T) solr.Config {
	t.Helper()
	s := libtest.Settings(t, libtest.Manifest(t, solr.Plugin()), "")
	var c solr.Config
	if err := s.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

func open(t *testing.T, url string, own indexwriter.Params) *solr.Solr {
	t.Helper()
	s := solr.New(settings(t))
	p := indexwriter.Params{"url": url, "backoff": "1ms", "retries": "3"}
	for k, v := range own {
		p[k] = v
	}
	if err := s.Open(t.Context(), "main", p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Shutdown() })
	return s
}

func add(id string, fields map[string][]string) indexwriter.Op {
	return indexwriter.Op{Doc: model.Document{ID: id, Boost: 1, Fields: fields}}
}

func del(id string) indexwriter.Op {
	return indexwriter.Op{Kind: indexwriter.Delete, Doc: model.Document{ID: id}}
}

func write(t *testing.T, s *solr.Solr, ops ...indexwriter.Op) []string {
	t.Helper()
	results, err := s.Write(t.Context(), "main", ops)
	if err != nil {
		t.Fatal(err)
	}
	refused := []string{}
	for _, r := range results {
		refused = append(refused, r.Rejected)
	}
	if err := s.Commit(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	return refused
}

// double is a Solr in memory, as strict as the documentation of its JSON
// updates: a request with one bad document is refused, those before it stay.
type double struct {
	*httptest.Server

	mu      sync.Mutex
	docs    map[string]map[string]any
	updates []int
	commits []string
	schema  string
	refuse  func(r *http.Request) int
}

const goodSchema = `{"schema": {"uniqueKey": "id", "fieldTypes": [{"name": "string", "class": "solr.StrField"}, {"name": "long", "class": "solr.LongPointField"}], "fields": [{"name": "id", "type": "string"}]}}`

func newDouble(t *testing.T) *double {
	d := &double{docs: map[string]map[string]any{}, schema: goodSchema}
	d.Server = httptest.NewServer(http.HandlerFunc(d.serve))
	t.Cleanup(d.Close)
	return d
}

func (d *double) serve(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuse != nil {
		if status := d.refuse(r); status != 0 {
			fail(w, status, "the test says no")
			return
		}
	}
	switch path := strings.TrimPrefix(r.URL.Path, "/solr/nutch"); path {
	case "/schema":
		_, _ = io.WriteString(w, d.schema)
	case "/update":
		d.update(w, r)
	case "/select":
		d.find(w, r)
	default:
		fail(w, http.StatusNotFound, "no handler for "+r.URL.Path)
	}
}

func fail(w http.ResponseWriter, status int, why string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": status, "msg": why}})
}

func (d *double) update(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawQuery != "wt=json" {
		d.commits = append(d.commits, r.URL.RawQuery)
	}
	in := json.NewDecoder(r.Body)
	if t, err := in.Token(); err != nil || t != json.Delim('{') {
		fail(w, http.StatusBadRequest, "no JSON object")
		return
	}
	n := 0
	for in.More() {
		verb, err := in.Token()
		if err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		var c struct {
			ID  string
			Doc map[string]any
		}
		if err := in.Decode(&c); err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		switch verb {
		case "add":
			if bad := c.Doc["bad"]; bad != nil {
				fail(w, http.StatusBadRequest, fmt.Sprintf("ERROR: [doc=%s] unknown field 'bad'", c.Doc["id"]))
				return
			}
			d.docs[c.Doc["id"].(string)] = c.Doc
		case "delete":
			delete(d.docs, c.ID)
		}
		n++
	}
	if n > 0 {
		d.updates = append(d.updates, n)
	}
	_, _ = io.WriteString(w, `{"responseHeader":{"status":0}}`)
}

func (d *double) find(w http.ResponseWriter, r *http.Request) {
	q := r.FormValue("q")
	docs := []any{}
	for _, doc := range d.docs {
		raw, _ := json.Marshal(doc)
		if q == "*:*" || strings.Contains(string(raw), q) {
			docs = append(docs, doc)
		}
	}
	var start, rows int
	_, _ = fmt.Sscan(r.FormValue("start"), &start)
	_, _ = fmt.Sscan(r.FormValue("rows"), &rows)
	n := len(docs)
	_ = json.NewEncoder(w).Encode(map[string]any{"response": map[string]any{"numFound": n, "docs": docs[min(start, n):min(start+rows, n)]}})
}

func TestConformanceWithDouble(t *testing.T) {
	d := newDouble(t)
	url, _ := json.Marshal([]string{d.URL + "/solr"})
	plugintest.Run(t, solr.Plugin(), plugintest.Options{Settings: `{"url": ` + string(url) + `}`})
}

func TestDocuments(t *testing.T) {
	d := newDouble(t)
	s := open(t, d.URL+"/solr", nil)
	write(t, s, add("http://a/1", map[string][]string{"title": {"One\x00\x0b\uffff<&>"}, "type": {"text/html", "\xff"}, "none": nil}), add("http://a/2", nil), del("http://a/2"), del("never"))
	want := map[string]map[string]any{"http://a/1": {"id": "http://a/1", "title": "One<&>", "type": []any{"text/html", "\ufffd"}, "boost": 1.0}}
	if diff := cmp.Diff(want, d.docs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"commit=true&wt=json"}, d.commits); diff != "" {
		t.Error(diff)
	}
	s = open(t, d.URL+"/solr/nutch", indexwriter.Params{"collection": "", "commit": "soft", "commit_within": "1500ms", "weight_field": ""})
	write(t, s, add("http://a/1", nil))
	if diff := cmp.Diff(map[string]any{"id": "http://a/1"}, d.docs["http://a/1"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"commit=true&wt=json", "commitWithin=1500&wt=json", "softCommit=true&wt=json"}, d.commits); diff != "" {
		t.Error(diff)
	}
}

// TestBadDocuments: each bad document is found with its reason, all others arrive.
func TestBadDocuments(t *testing.T) {
	d := newDouble(t)
	s := open(t, d.URL+"/solr", nil)
	var ops []indexwriter.Op
	for n := range 100 {
		f := map[string][]string{"title": {"x"}}
		if n == 0 || n == 50 || n == 51 || n == 99 {
			f["bad"] = []string{"x"}
		}
		ops = append(ops, add(fmt.Sprint("http://a/", n), f))
	}
	for n, r := range write(t, s, ops...) {
		if bad := ops[n].Doc.Fields["bad"] != nil; bad != (r == fmt.Sprintf("HTTP 400: ERROR: [doc=http://a/%d] unknown field 'bad'", n)) || !bad && r != "" {
			t.Errorf("document %d: %q", n, r)
		}
	}
	if len(d.docs) != 96 {
		t.Errorf("%d documents, want 96", len(d.docs))
	}
}

func TestSizes(t *testing.T) {
	d := newDouble(t)
	s := open(t, d.URL+"/solr", indexwriter.Params{"max_docs": "3", "max_size": "1KB"})
	big := map[string][]string{"content": {strings.Repeat("x", 600)}}
	write(t, s, add("1", nil), add("2", nil), add("3", nil), add("4", nil), add("5", big), add("6", big), add("7", map[string][]string{"content": {strings.Repeat("x", 5000)}}))
	if diff := cmp.Diff([]int{3, 2, 1, 1}, d.updates); diff != "" {
		t.Error(diff)
	}
}

func TestStatuses(t *testing.T) {
	for _, c := range []struct {
		status int
		kind   fault.Kind
		asked  int
	}{
		{http.StatusServiceUnavailable, fault.Transient, 4},
		{http.StatusInternalServerError, fault.Transient, 4},
		{http.StatusTooManyRequests, fault.Transient, 4},
		{http.StatusUnauthorized, fault.Denied, 1},
		{http.StatusForbidden, fault.Denied, 1},
		{http.StatusNotFound, fault.Permanent, 1}, // of the collection, not of the documents
	} {
		d := newDouble(t)
		s := open(t, d.URL+"/solr", nil)
		asked := 0
		d.refuse = func(*http.Request) int { asked++; return c.status }
		_, err := s.Write(t.Context(), "main", []indexwriter.Op{add("1", nil)})
		if !fault.Is(err, c.kind) || asked != c.asked {
			t.Errorf("%d: %v after %d requests, want %s after %d", c.status, err, asked, c.kind, c.asked)
		}
	}
}

// TestSeveral: each Solr of its own gets all, a cloud's node any.
func TestSeveral(t *testing.T) {
	a, b := newDouble(t), newDouble(t)
	both := a.URL + "/solr," + b.URL + "/solr"
	s := open(t, both, nil)
	write(t, s, add("1", nil))
	if a.docs["1"] == nil || b.docs["1"] == nil {
		t.Error("type http: not both got the document")
	}
	b.refuse = func(*http.Request) int { return http.StatusServiceUnavailable }
	if _, err := s.Write(t.Context(), "main", []indexwriter.Op{add("2", nil)}); !fault.Is(err, fault.Transient) {
		t.Errorf("one of two is down: %v", err)
	}
	s = open(t, b.URL+"/solr,"+a.URL+"/solr", indexwriter.Params{"type": "cloud"})
	write(t, s, add("3", nil))
	if a.docs["3"] == nil || b.docs["3"] != nil {
		t.Error("type cloud: the node that answers got nothing")
	}
}

func TestOpen(t *testing.T) {
	d := newDouble(t)
	wrong := newDouble(t)
	wrong.schema = `{"schema": {"uniqueKey": "id", "fieldTypes": [{"name": "string", "class": "solr.StrField"}, {"name": "b", "class": "solr.BoolField"}], "fields": [{"name": "id", "type": "string"}, {"name": "tstamp", "type": "b"}, {"name": "title", "type": "b"}]}}`
	key := newDouble(t)
	key.schema = strings.Replace(goodSchema, `"uniqueKey": "id"`, `"uniqueKey": "url"`, 1)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer other.Close()
	for name, c := range map[string]struct {
		p    indexwriter.Params
		kind fault.Kind
		want string
	}{
		"missing":   {indexwriter.Params{"collection": "other"}, fault.Invalid, `no core or collection "other"`},
		"zookeeper": {indexwriter.Params{"type": "cloud", "url": "localhost:2181"}, fault.Invalid, "ZooKeeper"},
		"types":     {indexwriter.Params{"url": wrong.URL + "/solr"}, fault.Invalid, "field title is a BoolField, documents need TextField; field tstamp is a BoolField, documents need DatePointField"},
		"key":       {indexwriter.Params{"url": key.URL + "/solr"}, fault.Invalid, `"url"`},
		"other":     {indexwriter.Params{"url": other.URL}, fault.Invalid, "is no Solr"},
		"unknown":   {indexwriter.Params{"colection": "x"}, fault.Invalid, "colection"},
	} {
		if c.p["url"] == "" {
			c.p["url"] = d.URL + "/solr"
		}
		err := solr.New(settings(t)).Open(t.Context(), "main", c.p)
		if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s with %q", name, err, c.kind, c.want)
		}
	}
}
