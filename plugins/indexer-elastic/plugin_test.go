package indexerelastic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	elastic "github.com/gonutch/crawler/plugins/indexer-elastic"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func settings(t *testing.T) elastic.Config {
	t.Helper()
	s := libtest.Settings(t, libtest.Manifest(t, elastic.Plugin()), "")
	var c elastic.Config
	if err := s.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

// open opens instance main at url; own parameters go over these.
func open(t *testing.T, url string, own indexwriter.Params) *elastic.Elastic {
	t.Helper()
	e := elastic.New(settings(t))
	p := indexwriter.Params{"url": url, "backoff": "1ms", "retries": "3"}
	for k, v := range own {
		p[k] = v
	}
	if err := e.Open(t.Context(), "main", p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Shutdown() })
	return e
}

func add(id string, fields map[string][]string) indexwriter.Op {
	return indexwriter.Op{Doc: model.Document{ID: id, Boost: 1, Fields: fields}}
}

func del(id string) indexwriter.Op {
	return indexwriter.Op{Kind: indexwriter.Delete, Doc: model.Document{ID: id}}
}

func write(t *testing.T, e *elastic.Elastic, ops ...indexwriter.Op) []string {
	t.Helper()
	results, err := e.Write(t.Context(), "main", ops)
	if err != nil {
		t.Fatal(err)
	}
	refused := []string{}
	for _, r := range results {
		refused = append(refused, r.Rejected)
	}
	if err := e.Commit(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	return refused
}

func TestConformanceWithDouble(t *testing.T) {
	d := newDouble(t)
	url, _ := json.Marshal([]string{d.URL})
	plugintest.Run(t, elastic.Plugin(), plugintest.Options{Settings: `{"url": ` + string(url) + `}`})
}

func TestDocuments(t *testing.T) {
	d := newDouble(t)
	e := open(t, d.URL, nil)
	long := "http://a/" + strings.Repeat("x", 600)
	refused := write(t, e,
		add("http://a/1", map[string][]string{"title": {"One\x00\x0b\uffff"}, "type": {"text/html", "\xff"}, "none": nil}),
		add("http://a/2", map[string][]string{"id": {"own"}}),
		add(long, map[string][]string{"title": {"long"}}),
		del("http://a/2"), del("http://a/never"),
	)
	if d := cmp.Diff([]string{"", "", "", "", ""}, refused); d != "" {
		t.Error(d)
	}
	if len(d.docs) != 2 {
		t.Fatalf("documents: %v", d.docs)
	}
	want := map[string]any{"id": "http://a/1", "title": "One", "type": []any{"text/html", "\ufffd"}, "boost": 1.0}
	if diff := cmp.Diff(want, d.docs["http://a/1"]); diff != "" {
		t.Error(diff)
	}
	for id, doc := range d.docs {
		if id != "http://a/1" && (!strings.HasPrefix(id, "sha256:") || doc["id"] != long) {
			t.Errorf("long URL: id %q, field %q", id, doc["id"])
		}
	}
	write(t, e, del(long))
	if len(d.docs) != 1 {
		t.Error("a long URL's document is not deleted")
	}
}

func TestBulkSizes(t *testing.T) {
	d := newDouble(t)
	e := open(t, d.URL, indexwriter.Params{"max_bulk_docs": "3", "max_bulk_size": "1KB"})
	var ops []indexwriter.Op
	for n := range 7 {
		ops = append(ops, add(fmt.Sprint("http://a/", n), nil))
	}
	write(t, e, ops...)
	if diff := cmp.Diff([]int{3, 3, 1}, d.bulks); diff != "" {
		t.Error(diff)
	}
	d.bulks = nil
	big := map[string][]string{"content": {strings.Repeat("x", 600)}}
	write(t, e, add("1", big), add("2", big), add("3", map[string][]string{"content": {strings.Repeat("x", 9000)}}), add("4", nil))
	if diff := cmp.Diff([]int{1, 1, 1, 1}, d.bulks); diff != "" {
		t.Error(diff)
	}
	// A server with a smaller limit than ours gets halves; one document too large is refused.
	d.bulks = nil
	d.refuse = func(r *http.Request, body []byte) int {
		if strings.HasSuffix(r.URL.Path, "_bulk") && len(body) > 400 {
			return http.StatusRequestEntityTooLarge
		}
		return 0
	}
	refused := write(t, e, add("5", map[string][]string{"c": {strings.Repeat("x", 200)}}), add("6", map[string][]string{"c": {strings.Repeat("x", 600)}}), add("7", map[string][]string{"c": {strings.Repeat("x", 200)}}))
	if refused[0] != "" || !strings.Contains(refused[1], "413") || refused[2] != "" || d.docs["5"] == nil || d.docs["7"] == nil {
		t.Errorf("refused %q", refused)
	}
}

// TestItems: only what the server could not take now is sent again; what it
// refuses for good keeps its reason.
func TestItems(t *testing.T) {
	d := newDouble(t)
	seen := map[string]int{}
	d.judge = func(_, id string, _ map[string]any) (int, string) {
		seen[id]++
		switch {
		case id == "busy" && seen[id] < 3:
			return http.StatusTooManyRequests, "queue full"
		case id == "bad":
			return http.StatusBadRequest, "failed to parse field [tstamp]"
		}
		return 0, ""
	}
	e := open(t, d.URL, nil)
	refused := write(t, e, add("fine", nil), add("busy", nil), add("bad", nil))
	if diff := cmp.Diff([]string{"", "", "HTTP 400: test_exception: failed to parse field [tstamp]"}, refused); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"fine": 1, "busy": 3, "bad": 1}, seen); diff != "" {
		t.Error(diff)
	}
	d.judge = func(_, id string, _ map[string]any) (int, string) {
		if id == "busy" {
			return http.StatusServiceUnavailable, "shard gone"
		}
		return 0, ""
	}
	results, err := e.Write(t.Context(), "main", []indexwriter.Op{add("fine", nil), add("busy", nil), add("other", nil)})
	want := []indexwriter.Result{{}, {Rejected: "HTTP 503: test_exception: shard gone", Later: true}, {}}
	if diff := cmp.Diff(want, results); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestWholeRequests(t *testing.T) {
	for _, c := range []struct {
		status int
		kind   fault.Kind
	}{
		{http.StatusTooManyRequests, fault.Transient},
		{http.StatusInternalServerError, fault.Transient},
		{http.StatusServiceUnavailable, fault.Transient},
		{http.StatusUnauthorized, fault.Denied},
		{http.StatusForbidden, fault.Denied},
		{http.StatusNotFound, fault.Permanent},
		{http.StatusBadRequest, fault.Invalid},
	} {
		d := newDouble(t)
		e := open(t, d.URL, indexwriter.Params{"retries": "1"})
		calls := 0
		d.refuse = func(*http.Request, []byte) int { calls++; return c.status }
		_, err := e.Write(t.Context(), "main", []indexwriter.Op{add("a", nil)})
		if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), fmt.Sprint(c.status)) {
			t.Errorf("%d: %v", c.status, err)
		}
		if want := map[bool]int{true: 2, false: 1}[c.kind == fault.Transient]; calls != want {
			t.Errorf("%d: asked %d times, want %d", c.status, calls, want)
		}
		d.refuse = func(*http.Request, []byte) int {
			if calls--; calls >= 0 {
				return c.status
			}
			return 0
		}
		if calls = 1; c.kind == fault.Transient {
			write(t, e, add("a", nil))
		}
	}
}

func TestOpen(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer other.Close()
	wrong := newDouble(t)
	wrong.exists = true
	wrong.created = map[string]any{"mappings": map[string]any{"properties": map[string]any{"tstamp": map[string]any{"type": "boolean"}, "title": map[string]any{"type": "long"}}}}
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	bad := filepath.Join(t.TempDir(), "m.json")
	if err := os.WriteFile(bad, []byte(`{"mapping": {}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDouble(t)
	for name, c := range map[string]struct {
		p    indexwriter.Params
		kind fault.Kind
		want string
	}{
		"no server":     {indexwriter.Params{"url": down.URL}, fault.Transient, down.URL},
		"other server":  {indexwriter.Params{"url": other.URL}, fault.Invalid, "neither Elasticsearch nor OpenSearch"},
		"no scheme":     {indexwriter.Params{"url": "localhost:9200"}, fault.Invalid, "localhost:9200"},
		"no url":        {indexwriter.Params{"url": ""}, fault.Invalid, "no address"},
		"capitals":      {indexwriter.Params{"index": "Nutch"}, fault.Invalid, "lower case"},
		"pattern":       {indexwriter.Params{"index": "nutch-*"}, fault.Invalid, "index"},
		"missing index": {indexwriter.Params{"create": "false"}, fault.Invalid, "there is no index"},
		"unknown":       {indexwriter.Params{"indx": "a"}, fault.Invalid, "indx"},
		"number":        {indexwriter.Params{"max_bulk_docs": "many"}, fault.Invalid, "max_bulk_docs"},
		"both":          {indexwriter.Params{"username": "a", "password": "secret", "token": "t"}, fault.Invalid, "token"},
		"mapping":       {indexwriter.Params{"mapping_file": bad}, fault.Invalid, `"mapping"`},
		"wrong types":   {indexwriter.Params{"url": wrong.URL}, fault.Invalid, "field title is of type long, documents need text; index nutch: field tstamp is of type boolean, documents need date"},
		"no ca":         {indexwriter.Params{"ca_file": "/nowhere.pem"}, fault.Invalid, "ca_file"},
		"half a pair":   {indexwriter.Params{"cert_file": bad}, fault.Invalid, "key_file"},
	} {
		if c.p["url"] == "" && name != "no url" {
			c.p["url"] = d.URL
		}
		err := elastic.New(settings(t)).Open(t.Context(), "main", c.p)
		if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s with %q", name, err, c.kind, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the password is shown: %v", name, err)
		}
	}
}

func TestDescribe(t *testing.T) {
	d := newDouble(t)
	d.exists = true
	d.created = map[string]any{"mappings": map[string]any{"dynamic": "strict", "properties": map[string]any{
		"id": map[string]any{"type": "keyword"}, "tstamp": map[string]any{"type": "date"}, "size": map[string]any{"type": "long"}, "ok": map[string]any{"type": "boolean"}, "boost": map[string]any{"type": "float"},
		"author": map[string]any{"properties": map[string]any{"name": map[string]any{"type": "text"}}},
	}}}
	e := open(t, d.URL, nil)
	got, err := e.Describe(t.Context(), "main", []model.Document{
		{ID: "http://a/1", Fields: map[string][]string{"tstamp": {"2026-01-02T03:04:05Z"}, "size": {"12"}, "ok": {"true"}}},
		{ID: "http://a/2", Fields: map[string][]string{"tstamp": {"yesterday"}, "size": {"1", "many"}, "ok": {"yes"}, "extra": {"x"}, "author": {"me"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`field author: the index has an object there, documents have "me" (http://a/2)`,
		`field extra: not in the mapping, which takes no new fields (http://a/2): add it, or remove the field in the writer's mapping`,
		`field ok: "yes" is no boolean (http://a/2)`, `field size: "many" is no long (http://a/2)`, `field tstamp: "yesterday" is no date (http://a/2)`,
	}
	if diff := cmp.Diff(want, got.Problems); diff != "" || got.Version != "opensearch 2.19.6" || got.Server != d.URL+"/nutch" {
		t.Errorf("%s\n%+v", diff, got)
	}
}

func TestCredentialsAndFailover(t *testing.T) {
	d := newDouble(t)
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	e := open(t, down.URL+","+d.URL, indexwriter.Params{"token": "k"})
	write(t, e, add("a", nil))
	if d.docs["a"] == nil || d.auth != "ApiKey k" {
		t.Errorf("documents %v, authorization %q", d.docs, d.auth)
	}
	e = open(t, strings.Replace(d.URL, "http://", "http://user:pw@", 1), nil)
	write(t, e, add("b", nil))
	if !strings.HasPrefix(d.auth, "Basic ") {
		t.Errorf("authorization %q", d.auth)
	}
}

func TestCancelled(t *testing.T) {
	d := newDouble(t)
	e := open(t, d.URL, indexwriter.Params{"backoff": "1h"})
	ctx, cancel := context.WithCancel(t.Context())
	d.refuse = func(*http.Request, []byte) int { cancel(); return http.StatusServiceUnavailable }
	if _, err := e.Write(ctx, "main", []indexwriter.Op{add("a", nil)}); err == nil || ctx.Err() == nil {
		t.Errorf("got %v", err)
	}
}

func TestReadyMapping(t *testing.T) {
	d := newDouble(t)
	open(t, d.URL, indexwriter.Params{"analyzer": "english", "text_fields": "summary", "alias": "pages", "replicas": "0"})
	m := d.created["mappings"].(map[string]any)["properties"].(map[string]any)
	got := []string{}
	for f, v := range m {
		p := v.(map[string]any)
		got = append(got, fmt.Sprint(f, " ", p["type"], " ", p["analyzer"]))
	}
	slices.Sort(got)
	want := []string{
		"anchor text english", "boost float <nil>", "content text english", "contentLength long <nil>", "date date <nil>", "lastModified date <nil>",
		"publishedDate date <nil>", "summary text english", "title text english", "tstamp date <nil>", "updatedDate date <nil>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"pages": map[string]any{}}, d.created["aliases"]); diff != "" {
		t.Error(diff)
	}
}
