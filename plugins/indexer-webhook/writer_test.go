package indexerwebhook_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	indexerwebhook "github.com/gonutch/crawler/plugins/indexer-webhook"
	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/plugins/internal/libwriter"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/plugintest"
)

const secret = "s3cret"

// hook is the server: it keeps documents, and answers by script.
type hook struct {
	*httptest.Server
	t  testing.TB
	mu sync.Mutex
	// answer decides about an operation; nil takes it. Status 0 and no error is silence.
	answer   func(libwriter.Record) (status int, reason string)
	statuses []int // of the next requests as a whole; 0 is normal
	requests int
	keys     []string
	docs     map[string]libwriter.Record
}

func serve(t testing.TB) *hook {
	h := &hook{t: t, docs: map[string]libwriter.Record{}}
	h.Server = httptest.NewServer(http.HandlerFunc(h.handle))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) handle(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests++
	h.keys = append(h.keys, r.Header.Get("Idempotency-Key"))
	body, err := io.ReadAll(r.Body)
	if err != nil {
		h.t.Error(err)
	}
	m := hmac.New(sha256.New, []byte(secret))
	_, _ = fmt.Fprintf(m, "%s.%s", r.Header.Get("X-Crawler-Timestamp"), body)
	if got := r.Header.Get("X-Crawler-Signature"); got != "" && got != "sha256="+hex.EncodeToString(m.Sum(nil)) {
		h.t.Errorf("signature %s", got)
	}
	if len(h.statuses) > 0 {
		s := h.statuses[0]
		h.statuses = h.statuses[1:]
		if s != 0 {
			w.WriteHeader(s)
			_, _ = io.WriteString(w, "by script")
			return
		}
	}
	var results []map[string]any
	for _, op := range h.operations(r, body) {
		status, reason := 200, ""
		if h.answer != nil {
			status, reason = h.answer(op)
		}
		switch {
		case status != 200:
		case op.Op == "delete":
			delete(h.docs, op.ID)
		default:
			h.docs[op.ID] = op
		}
		results = append(results, map[string]any{"status": status, "error": reason})
	}
	if h.answer != nil {
		_ = json.NewEncoder(w).Encode(map[string]any{"results": results})
	}
}

func (h *hook) operations(r *http.Request, body []byte) []libwriter.Record {
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			h.t.Error(err)
			return nil
		}
		body, _ = io.ReadAll(z)
	}
	if r.Header.Get("Content-Type") == "application/json" {
		var in struct {
			Writer     string
			Operations []libwriter.Record
		}
		if err := json.Unmarshal(body, &in); err != nil || in.Writer == "" {
			h.t.Errorf("%q: %v", body, err)
		}
		return in.Operations
	}
	var out []libwriter.Record
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var op libwriter.Record
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			h.t.Errorf("%q: %v", lines.Text(), err)
		}
		out = append(out, op)
	}
	return out
}

func (h *hook) ids() []string { return slices.Sorted(maps.Keys(h.docs)) }

func open(t testing.TB, h *hook, params indexwriter.Params) *libtest.Writer {
	t.Helper()
	p := indexwriter.Params{"url": h.URL, "backoff": "1ms", "retries": "2", "max_docs": "3", "secret": secret}
	maps.Copy(p, params)
	w, err := libtest.OpenWriter(t, indexerwebhook.Plugin(), t.TempDir(), p)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, indexerwebhook.Plugin(), plugintest.Options{Params: map[string]string{"url": serve(t).URL}})
}

func TestForms(t *testing.T) {
	for _, params := range []indexwriter.Params{{}, {"format": "ndjson"}, {"gzip": "true"}, {"format": "ndjson", "gzip": "true", "method": "PUT"}} {
		h := serve(t)
		w := open(t, h, params)
		w.MustWrite(t, libtest.Add("a", "title", "x\ny"), libtest.Add("b"), libtest.Add("c"), libtest.Delete("b"), libtest.Delete("never"))
		w.MustCommit(t)
		if d := cmp.Diff([]string{"a", "c"}, h.ids()); d != "" || h.requests != 2 {
			t.Errorf("%v: %d requests, %s", params, h.requests, d)
		}
		want := libwriter.Record{Op: "add", ID: "a", Boost: 1, Fields: map[string][]string{"id": {"a"}, "title": {"x\ny"}}}
		if d := cmp.Diff(want, h.docs["a"]); d != "" {
			t.Errorf("%v: %s", params, d)
		}
	}
}

// TestRetries: what the server can't take now is sent again under the same key.
func TestRetries(t *testing.T) {
	h := serve(t)
	h.statuses = []int{503, 429}
	w := open(t, h, nil)
	w.MustWrite(t, libtest.Add("a"))
	if h.requests != 3 || len(h.docs) != 1 || h.keys[0] != h.keys[2] || h.keys[0] == "" {
		t.Errorf("%d requests, %v, keys %v", h.requests, h.ids(), h.keys)
	}
	h.statuses = []int{500, 500, 500}
	if _, err := w.Write(t.Context(), libtest.Instance, []indexwriter.Op{libtest.Add("b")}); !fault.Is(err, fault.Transient) {
		t.Errorf("for good: %v", err)
	}
	h.Close()
	if _, err := w.Write(t.Context(), libtest.Instance, []indexwriter.Op{libtest.Add("b")}); !fault.Is(err, fault.Transient) {
		t.Errorf("no server: %v", err)
	}
}

// TestItems: each operation has an answer of its own, and only those that may do
// better are sent again.
func TestItems(t *testing.T) {
	h := serve(t)
	tries := map[string]int{}
	h.answer = func(r libwriter.Record) (int, string) {
		tries[r.ID]++
		switch {
		case r.ID == "bad":
			return 400, "no such field"
		case r.ID == "busy", r.ID == "soon" && tries[r.ID] == 1:
			return 429, "busy"
		}
		return 200, ""
	}
	w := open(t, h, nil)
	got, err := w.Write(t.Context(), libtest.Instance, []indexwriter.Op{libtest.Add("bad"), libtest.Add("busy"), libtest.Add("soon"), libtest.Add("good")})
	if err != nil {
		t.Fatal(err)
	}
	want := []indexwriter.Result{{Rejected: "no such field (status 400)"}, {Rejected: "busy (status 429)", Later: true}, {}, {}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]int{"bad": 1, "busy": 3, "soon": 2, "good": 1}, tries); d != "" {
		t.Error(d)
	}
}

// TestKinds: what the core does about a refused batch depends on the kind.
func TestKinds(t *testing.T) {
	h := serve(t)
	w := open(t, h, nil)
	for status, kind := range map[int]fault.Kind{
		400: fault.Invalid, 413: fault.Invalid, 422: fault.Invalid, 401: fault.Denied, 403: fault.Denied,
		404: fault.Permanent, 405: fault.Permanent, 302: fault.Permanent,
	} {
		h.statuses = []int{status}
		_, err := w.Write(t.Context(), libtest.Instance, []indexwriter.Op{libtest.Add("a")})
		if !fault.Is(err, kind) || !strings.Contains(err.Error(), "by script") {
			t.Errorf("%d: %v", status, err)
		}
	}
	short := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"results":[]}`) }))
	defer short.Close()
	w = open(t, h, indexwriter.Params{"url": short.URL})
	if _, err := w.Write(t.Context(), libtest.Instance, []indexwriter.Op{libtest.Add("a")}); !fault.Is(err, fault.Permanent) {
		t.Errorf("fewer results: %v", err)
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		params indexwriter.Params
		ok     bool
	}{"unknown authority": {nil, false}, "ca_file": {indexwriter.Params{"ca_file": ca}, true}, "insecure": {indexwriter.Params{"tls_insecure": "true"}, true}} {
		p := indexwriter.Params{"url": s.URL, "retries": "0"}
		maps.Copy(p, c.params)
		w, err := libtest.OpenWriter(t, indexerwebhook.Plugin(), t.TempDir(), p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(t.Context(), libtest.Instance, []indexwriter.Op{libtest.Add("a")}); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrors(t *testing.T) {
	for name, p := range map[string]indexwriter.Params{
		"url": {}, "ftp": {"url": "ftp://x/"}, "cert_file": {"url": "https://x/", "cert_file": "a"}, "ca_file": {"url": "https://x/", "ca_file": "/nonexistent"},
		"nonsense": {"url": "https://x/", "nonsense": "1"},
	} {
		if _, err := libtest.OpenWriter(t, indexerwebhook.Plugin(), t.TempDir(), p); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDescribe(t *testing.T) {
	h := serve(t)
	w := open(t, h, nil)
	d := w.Writer.(indexwriter.Describer)
	if got, err := d.Describe(t.Context(), libtest.Instance, nil); err != nil || got.Server != h.URL {
		t.Errorf("%+v %v", got, err)
	}
	h.statuses = []int{401}
	if _, err := d.Describe(t.Context(), libtest.Instance, nil); !fault.Is(err, fault.Denied) {
		t.Errorf("%v", err)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"results":[{"status":200}]}`))
	f.Add([]byte(`{"results":[{"status":-1,"error":"\ud800"}]}`))
	f.Add([]byte(`[`))
	var body []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, answer []byte) {
		body = answer
		w, err := libtest.OpenWriter(t, indexerwebhook.Plugin(), t.TempDir(), indexwriter.Params{"url": s.URL, "retries": "0"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := w.Write(t.Context(), libtest.Instance, []indexwriter.Op{libtest.Add("a")}); err == nil && len(got) != 1 {
			t.Errorf("%q: %v", answer, got)
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	b.Cleanup(s.Close)
	libtest.BenchWrite(b, func(b *testing.B) *libtest.Writer {
		return open(b, &hook{Server: s}, indexwriter.Params{"max_docs": "4000", "max_size": "64MiB"})
	})
}
