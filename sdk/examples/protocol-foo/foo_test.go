package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func TestFetch(t *testing.T) {
	ext, err := Plugin().New(sdk.Env{Settings: sdk.Settings{Own: json.RawMessage(`{"pages": 3}`)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		req  protocol.Request
		code model.ProtocolCode
		want string // in the body, or the location
	}{
		{protocol.Request{URL: "foo://a/"}, model.ProtocolSuccess, `<a href="/1">`},
		{protocol.Request{URL: "foo://a/2"}, model.ProtocolSuccess, "Page 2 of a"},
		{protocol.Request{URL: "foo://a/3"}, model.ProtocolNotFound, ""},
		{protocol.Request{URL: "foo://a/x"}, model.ProtocolNotFound, ""},
		{protocol.Request{URL: "foo://a/-1"}, model.ProtocolNotFound, ""},
		{protocol.Request{URL: "foo://a"}, model.ProtocolMoved, "foo://a/"},
		{protocol.Request{URL: "http://a/1"}, model.ProtocolNotFoundProto, ""},
		{protocol.Request{URL: "foo:a"}, model.ProtocolGone, ""},
		{protocol.Request{URL: "foo://a/1", LastModified: born}, model.ProtocolNotModified, ""},
		{protocol.Request{URL: "foo://a/1", MaxBytes: 10}, model.ProtocolSuccess, "<!DOCTYPE "},
	} {
		r, err := ext.Protocol.Fetch(t.Context(), &tc.req)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(r.Body) + r.Location; r.Status.Code != tc.code || !strings.Contains(got, tc.want) || tc.req.MaxBytes > 0 && (int64(len(r.Body)) != tc.req.MaxBytes || r.Truncated != "length") {
			t.Errorf("%+v: %v %q, truncated %q", tc.req, r.Status, got, r.Truncated)
		}
	}
}

func TestConformance(t *testing.T) {
	plugintest.Run(t, Plugin(), plugintest.Options{Requests: []protocol.Request{{URL: "foo://example/"}, {URL: "foo://example/9"}, {URL: "foo://example"}}})
}
