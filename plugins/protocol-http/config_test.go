package protocolhttp

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
)

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
	var got OwnConfig
	if err := (sdk.Settings{Own: js}).Decode(&got); err != nil || !reflect.DeepEqual(got, DefaultConfig().Own) {
		t.Errorf("the manifest's defaults are %+v (%v), the code's %+v", got, err, DefaultConfig().Own)
	}
}

func settings(t *testing.T, http, own string) sdk.Settings {
	t.Helper()
	return sdk.Settings{Own: json.RawMessage(own), Sections: map[string]json.RawMessage{"http": json.RawMessage(http)}}
}

// The names and defaults here are those of the core's nutch-default.hcl.
func TestAgreesWithCore(t *testing.T) {
	file, diags := hclparse.NewParser().ParseHCLFile("../../nutch-default.hcl")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	section := map[string]string{}
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		if b.Type != "http" {
			continue
		}
		for name, a := range b.Body.Attributes {
			v, diags := a.Expr.Value(nil)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			js, err := ctyjson.Marshal(v, v.Type())
			if err != nil {
				t.Fatal(err)
			}
			section[name] = string(js)
		}
	}
	cfg := reflect.ValueOf(DefaultConfig().HTTP)
	for i := range cfg.NumField() {
		key := cfg.Type().Field(i).Tag.Get("json")
		got := reflect.New(cfg.Field(i).Type())
		if err := json.Unmarshal([]byte(section[key]), got.Interface()); err != nil {
			t.Errorf("http.%s: %v", key, err)
		}
		if a, b := fmt.Sprint(got.Elem()), fmt.Sprint(cfg.Field(i)); a != b {
			t.Errorf("http.%s: the core's default is %q, the plugin's %q", key, a, b)
		}
	}
}

func TestNew(t *testing.T) {
	ext, err := Plugin().New(sdk.Env{Settings: settings(t,
		`{"agent_name":"a","agent_email":"a@example.org","time_limit":"5s","content_limit":"1KiB","robots_unrelated":1}`, `{"idle_connections":3}`)})
	if err != nil {
		t.Fatal(err)
	}
	f := ext.Protocol.(*Fetcher)
	if f.cfg.HTTP.TimeLimit.D() != 5*time.Second || f.cfg.HTTP.ContentLimit != 1024 || f.cfg.Own.IdleConnections != 3 || !f.cfg.HTTP.HTTP2 {
		t.Errorf("settings %+v", f.cfg)
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
		{`{"agent_name":"a","agent_url":"u"}`, `{"ca_file":"/nowhere.pem"}`, "ca_file"},
		{`{"agent_name":"a","agent_url":"u"}`, `{"unknown":1}`, "unknown"},
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
