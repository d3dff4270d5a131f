package plugintool_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/handshake"
	"github.com/gonutch/crawler/sdk/plugintest/chaos"
	"github.com/gonutch/crawler/sdk/plugintool"
)

// TestMain serves the chaos plugin when this binary is started as the crawler
// starts itself.
func TestMain(m *testing.M) {
	if handshake.Started() && strings.Join(os.Args[1:], " ") == "plugin serve chaos" {
		sdk.Main(chaos.Plugin())
		return
	}
	os.Exit(m.Run())
}

// TestBuiltin calls every point of a built-in plugin with the example that the
// help shows for it.
func TestBuiltin(t *testing.T) {
	p, err := plugintool.OpenBuiltin(os.Args[0], chaos.Plugin().Manifest)
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]string{}
	for _, f := range plugintool.Calls() {
		forms[f.Point] = f.Example
	}
	for _, point := range extension.Points() {
		if forms[point.Name] == "" {
			t.Errorf("no form for %s", point.Name)
		}
	}
	for _, provided := range p.Manifest().Provides {
		got, err := p.Call(t.Context(), plugintool.Settings{}, provided.Point, json.RawMessage("["+forms[provided.Point]+"]"))
		if err != nil {
			t.Errorf("%s: %v", provided.Point, err)
			continue
		}
		var items []map[string]json.RawMessage
		if err := json.Unmarshal(got, &items); err != nil || len(items) != 1 || items[0]["error"] != nil {
			t.Errorf("%s: %s, %v", provided.Point, got, err)
		}
	}
	got, err := p.Call(t.Context(), plugintool.Settings{}, "urlfilter", json.RawMessage(`["chaos-denied", "x"]`))
	if want := `[{"error":"chaos: chaos-denied","kind":"denied"},{"answer":{"Accept":true,"Reason":""}}]`; err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
}

func TestBadInput(t *testing.T) {
	p, err := plugintool.OpenBuiltin(os.Args[0], chaos.Plugin().Manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ settings, point, input string }{
		{"", "urlfilter", `"not a list"`},
		{"", "urlfilter", `[5]`},
		{"", "parser", `[{"Url": "x", "Colour": "red"}]`},
		{"", "exchange", `[]`},
		{"", "nothing", `[]`},
		{`{"no_such": 1}`, "urlfilter", `[]`},
		{`{"configure": "error"}`, "urlfilter", `[]`},
	} {
		if _, err := p.Call(t.Context(), plugintool.Settings{Own: c.settings}, c.point, json.RawMessage(c.input)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
