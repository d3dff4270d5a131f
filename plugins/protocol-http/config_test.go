package protocolhttp

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/gonutch/crawler/plugins/internal/libhttp"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/testsite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestManifest(t *testing.T) {
	m, err := manifest.Read("plugin.hcl", Plugin().Manifest)
	if err != nil {
		t.Fatal(err)
	}
	if m.ID != "protocol-http" || !slices.Equal(m.Provides[0].Schemes, []string{"http", "https"}) || !slices.Equal(m.Sections, []string{"http"}) {
		t.Errorf("%+v", m)
	}
	own := map[string]any{}
	for _, s := range m.Settings {
		own[s.Name] = s.Default
	}
	js, err := json.Marshal(own)
	if err != nil {
		t.Fatal(err)
	}
	var got libhttp.OwnConfig
	if err := (sdk.Settings{Own: js}).Decode(&got); err != nil || !reflect.DeepEqual(got, libhttp.DefaultConfig().Own) {
		t.Errorf("the manifest's defaults are %+v (%v), the code's %+v", got, err, libhttp.DefaultConfig().Own)
	}
}

func settings(t *testing.T, http, own string) sdk.Settings {
	t.Helper()
	return sdk.Settings{Own: json.RawMessage(own), Sections: map[string]json.RawMessage{"http": json.RawMessage(http)}}
}

func TestNew(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	s.Site().Page("/", strings.Repeat("x", 2000))
	ext, err := Plugin().New(sdk.Env{Settings: settings(t,
		`{"agent_name":"a","agent_email":"a@example.org","allow_private":["127.0.0.1"],"content_limit":"1KiB","robots_unrelated":1}`,
		`{"site":{"x":{"hosts":["127.0.0.1"],"headers":{"X-Key":"k"}}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := ext.Protocol.Fetch(t.Context(), &protocol.Request{URL: s.Site().URL("/")})
	if err != nil || len(r.Body) != 1024 || r.Truncated != "length" || s.Requests()[0].Header.Get("X-Key") != "k" {
		t.Errorf("the settings did not arrive: %v %v", r, err)
	}
	if err := ext.Close(); err != nil {
		t.Error(err)
	}
	for _, tc := range []struct{ http, own, want string }{
		{`{}`, `{}`, "http.agent_name"},
		{`{"agent_name":"a"}`, `{}`, "http.agent_url"},
		{`{"agent_name":"a\nb","agent_url":"u"}`, `{}`, "http.agent_name"},
		{`{"agent_name":"a","agent_url":"u","time_limit":"0s"}`, `{}`, "http.time_limit"},
		{`{"agent_name":"a","agent_url":"u","time_limit":"5"}`, `{}`, "no unit"},
		{`{"agent_name":"a","agent_url":"u","allow_private":["10.0.0.0/99"]}`, `{}`, `"10.0.0.0/99"`},
		{`{"agent_name":"a","agent_url":"u","tls_min_version":"3"}`, `{}`, "http.tls_min_version"},
		{`{"agent_name":"a","agent_url":"u","proxy_host":"http://p"}`, `{}`, "http.proxy_host"},
		{`{"agent_name":"a","agent_url":"u","proxy_host":"p","proxy_port":70000}`, `{}`, "http.proxy_port"},
		{`{"agent_name":"a","agent_url":"u","proxy_host":"p","proxy_type":"x"}`, `{}`, "http.proxy_type"},
		{`{"agent_name":"a","agent_url":"u","proxy_host":"p","proxy_exception_list":["a*b"]}`, `{}`, "proxy_exception_list"},
		{`{"agent_name":"a","agent_url":"u"}`, `{"ca_file":"/nowhere.pem"}`, `plugin "protocol-http" { ca_file }`},
		{`{"agent_name":"a","agent_url":"u"}`, `{"unknown":1}`, "unknown"},
		{`{"agent_name":"a","agent_url":"u"}`, `{"site":{"x":{"username":"u"}}}`, `plugin "protocol-http" { site "x" }: hosts`},
	} {
		_, err := New(sdk.Env{Settings: settings(t, tc.http, tc.own)})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %s: error %v, want Invalid with %q", tc.http, tc.own, err, tc.want)
		}
	}
	empty := t.TempDir() + "/empty.pem"
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(sdk.Env{Settings: settings(t, `{"agent_name":"a","agent_url":"u"}`, `{"ca_file":"`+empty+`"}`)}); !fault.Is(err, fault.Invalid) {
		t.Errorf("empty certificate file: %v", err)
	}
}
