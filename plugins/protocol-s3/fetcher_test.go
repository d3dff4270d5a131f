package protocols3

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/gonutch/crawler/plugins/internal/libtest"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
	"github.com/gonutch/crawler/sdk/testsite/s3site"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// storage is a local S3 service with the objects of these tests.
func storage(t testing.TB) *s3site.Server {
	return s3site.Start(t, map[string]string{
		"index.html": "<p>start", "a b&c.txt": "spaces", "sub/é.txt": "accent", "sub/deeper/z.txt": "z", "empty": "", "q?x": "question", "big": strings.Repeat("x", 100_000),
	})
}

// signed counts the requests to s that were signed with KEY.
func signed(s *s3site.Server) (n int) {
	for _, r := range s.Requests() {
		if r.Key == "KEY" {
			n++
		}
	}
	return n
}

func fetcher(t testing.TB, endpoint string, change ...func(*Config)) *Fetcher {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Own.Endpoint, cfg.Own.Region = endpoint, "us-east-1"
	for _, c := range change {
		c(&cfg)
	}
	f, err := NewFetcher(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestOutcomes(t *testing.T) {
	endpoint := storage(t).URL
	f := fetcher(t, endpoint)
	const ok, moved, notFound, gone = model.ProtocolSuccess, model.ProtocolMoved, model.ProtocolNotFound, model.ProtocolGone
	for _, tc := range []struct {
		url  string
		code model.ProtocolCode
		want string // contained in body, or Location
	}{
		{"s3://docs/index.html", ok, "<p>start"},
		{"s3://docs/index.html#x", ok, "<p>start"},
		{"s3://docs/a%20b&c.txt", ok, "spaces"},
		{"s3://docs/sub/%C3%A9.txt", ok, "accent"},
		{"s3://docs/q%3Fx", ok, "question"},
		{"s3://docs/q?x", ok, "question"},
		{"s3://docs/empty", ok, ""},
		{"s3://docs/", ok, `<a href="./sub/">sub/</a>`},
		{"s3://docs/", ok, `<a href="./a%20b&amp;c.txt">`},
		{"s3://docs/sub/", ok, `<a href="./deeper/">deeper/</a>`},
		{"s3://docs", moved, "s3://docs/"},
		{"s3://docs/sub", moved, "s3://docs/sub/"},
		{"s3://docs/none", notFound, ""},
		{"s3://docs/none/", notFound, ""},
		{"s3://nosuchbucket/x", notFound, ""},
		{"s3://docs:80/x", gone, ""},
		{"s3:///x", gone, ""},
		{"s3://X/x", gone, ""},
		{"http://docs/x", model.ProtocolNotFoundProto, ""},
	} {
		r := libtest.Get(t, f, tc.url)
		got := string(r.Body)
		if tc.code == moved {
			got = r.Location
		}
		if r.Status.Code != tc.code || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %v, %q", tc.url, r.Status, got)
		}
	}
	if r := libtest.Fetch(t, f, &protocol.Request{URL: "s3://docs/robots.txt", Kind: protocol.Robots}); r.Status.Code != notFound {
		t.Errorf("robots.txt: %v", r.Status)
	}
}

func TestLimits(t *testing.T) {
	endpoint := storage(t).URL
	f := fetcher(t, endpoint)
	for limit, want := range map[int64]string{1000: "length", 99_999: "length", 100_000: "", -1: ""} {
		r := libtest.Fetch(t, f, &protocol.Request{URL: "s3://docs/big", MaxBytes: limit})
		if r.Truncated != want || limit > 0 && int64(len(r.Body)) != limit || r.ContentType != "text/plain" {
			t.Errorf("limit %d: %d bytes, truncated %q, %s", limit, len(r.Body), r.Truncated, r.ContentType)
		}
	}
	f = fetcher(t, endpoint, func(c *Config) { c.Own.MaxEntries = 2 })
	if r := libtest.Get(t, f, "s3://docs/"); r.Truncated != "length" || strings.Count(string(r.Body), "<li>") != 2 {
		t.Errorf("max_entries: truncated %q, %s", r.Truncated, r.Body)
	}
}

func TestNotModified(t *testing.T) {
	endpoint := storage(t).URL
	f := fetcher(t, endpoint)
	r := libtest.Get(t, f, "s3://docs/index.html")
	etag, modified := r.Headers.First("Etag"), r.Headers.First("Last-Modified")
	if etag == "" || modified == "" {
		t.Fatalf("headers %v", r.Headers)
	}
	if r = libtest.Fetch(t, f, &protocol.Request{URL: "s3://docs/index.html", ETag: etag}); r.Status.Code != model.ProtocolNotModified {
		t.Errorf("same ETag: %v", r.Status)
	}
	if r = libtest.Fetch(t, f, &protocol.Request{URL: "s3://docs/index.html", ETag: `"other"`}); r.Status.Code != model.ProtocolSuccess {
		t.Errorf("other ETag: %v", r.Status)
	}
}

func TestCredentials(t *testing.T) {
	s := storage(t)
	endpoint := s.URL
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[other]\naws_access_key_id = KEY\naws_secret_access_key = s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"none": func(*Config) {}, "settings": func(c *Config) { c.Own.AccessKey, c.Own.SecretKey = "KEY", "s" },
		"file": func(c *Config) { c.Own.CredentialsFile, c.Own.Profile = file, "other" },
	} {
		before := signed(s)
		if r := libtest.Get(t, fetcher(t, endpoint, change), "s3://docs/index.html"); r.Status.Code != model.ProtocolSuccess {
			t.Errorf("%s: %v", name, r.Status)
		}
		if got := signed(s) > before; got != (name != "none") {
			t.Errorf("%s: signed %t", name, got)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "KEY")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	before := signed(s)
	if libtest.Get(t, fetcher(t, endpoint), "s3://docs/index.html"); signed(s) == before {
		t.Error("environment: not signed")
	}
}

// TestAddresses: the configured endpoint may be private, whatever it leads to may not.
func TestAddresses(t *testing.T) {
	var reached atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer inside.Close()
	for _, code := range []int{301, 302, 307} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, inside.URL+"/secret", code)
		}))
		r := libtest.Get(t, fetcher(t, s.URL), "s3://docs/x")
		s.Close()
		if r.Status.Code != model.ProtocolException || !strings.Contains(r.Status.Message, "not followed") || reached.Load() > 0 {
			t.Errorf("%d: %v, %d requests elsewhere", code, r.Status, reached.Load())
		}
	}
}

func TestErrors(t *testing.T) {
	answer := func(code int, name string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(code)
			_, _ = w.Write([]byte("<Error><Code>" + name + "</Code><Message>m</Message></Error>"))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	for _, tc := range []struct {
		code int
		name string
		want model.ProtocolCode
	}{
		{403, "AccessDenied", model.ProtocolAccessDenied},
		{503, "SlowDown", model.ProtocolException},
		{500, "InternalError", model.ProtocolException},
		{404, "NoSuchBucket", model.ProtocolNotFound},
		{400, "InvalidBucketName", model.ProtocolGone},
	} {
		f := fetcher(t, answer(tc.code, tc.name))
		for _, u := range []string{"s3://docs/x", "s3://docs/x/"} {
			if r := libtest.Get(t, f, u); r.Status.Code != tc.want {
				t.Errorf("%s %s: %v", tc.name, u, r.Status)
			}
		}
	}
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	if r := libtest.Get(t, fetcher(t, s.URL), "s3://docs/x"); r.Status.Code != model.ProtocolException {
		t.Errorf("no server: %v", r.Status)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fetcher(t, s.URL).Fetch(ctx, &protocol.Request{URL: "s3://docs/x"}); !fault.Is(err, fault.Transient) {
		t.Errorf("called off: %v", err)
	}
}

func TestSettings(t *testing.T) {
	for name, change := range map[string]func(*OwnConfig){
		"endpoint": func(o *OwnConfig) { o.Endpoint = "s3.amazonaws.com" }, "endpoint's path": func(o *OwnConfig) { o.Endpoint = "https://h/x" },
		"half a key": func(o *OwnConfig) { o.AccessKey = "x" }, "file": func(o *OwnConfig) { o.CredentialsFile = "/no/such/file" },
		"timeout": func(o *OwnConfig) { o.Timeout = 0 }, "entries": func(o *OwnConfig) { o.MaxEntries = 0 },
	} {
		cfg := DefaultConfig()
		change(&cfg.Own)
		if _, err := NewFetcher(cfg); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: error %v, want Invalid", name, err)
		}
	}
	m := libtest.Manifest(t, Plugin())
	var got OwnConfig
	if err := json.Unmarshal(libtest.Settings(t, m, "").Own, &got); err != nil {
		t.Fatal(err)
	}
	if want := DefaultConfig().Own; !reflect.DeepEqual(got, want) || len(m.Settings) != reflect.TypeFor[OwnConfig]().NumField() {
		t.Errorf("manifest %+v, code %+v", got, want)
	}
}

func TestConformance(t *testing.T) {
	endpoint := storage(t).URL
	var requests []protocol.Request
	for _, p := range []string{"/index.html", "/", "/sub", "/none"} {
		requests = append(requests, protocol.Request{URL: "s3://docs" + p})
	}
	plugintest.Run(t, Plugin(), plugintest.Options{Settings: `{"endpoint":"` + endpoint + `","region":"us-east-1"}`, Requests: requests})
}
