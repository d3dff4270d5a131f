package chain

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/model"
)

// named is a protocol that answers with its own name.
type namedProtocol string

func (n namedProtocol) Fetch(_ context.Context, r *protocol.Request) (*protocol.Response, error) {
	return &protocol.Response{URL: r.URL, Body: []byte(n), Status: model.ProtocolStatus{Code: model.ProtocolSuccess}}, nil
}

func protocolPlugin(id string) sdk.Plugin {
	return sdk.Plugin{
		Manifest: []byte("id = \"" + id + "\"\nname = \"x\"\nversion = \"1\"\napi = 1\nprovide \"protocol\" {\n  schemes = [\"http\", \"https\"]\n}\n"),
		New: func(sdk.Env) (*sdk.Extensions, error) {
			return &sdk.Extensions{Protocol: namedProtocol(id)}, nil
		},
	}
}

// TestProtocolOf: a host's plugin is stronger than its registered domain's, that than a scheme's, and that stronger
// than the order (protocol.plugins; Nutch's host-protocol-mapping.txt).
func TestProtocolOf(t *testing.T) {
	c := newLocal(t, Options{ProtocolOf: map[string]string{"https": "protocol-b", "app.test": "protocol-c", "shop.com": "protocol-b", "www.shop.com": "protocol-a"}},
		local(t, protocolPlugin("protocol-a")), local(t, protocolPlugin("protocol-b")), local(t, protocolPlugin("protocol-c")))
	for _, x := range []struct{ url, want string }{
		{"http://a.test/", "protocol-a"},
		{"https://a.test/", "protocol-b"},
		{"http://app.test/", "protocol-c"},
		{"https://APP.test:8443/", "protocol-c"},
		{"http://www.app.test/", "protocol-a"},
		{"http://a.shop.com/", "protocol-b"}, // of that registered domain
		{"http://shop.com/", "protocol-b"},
		{"http://www.shop.com/", "protocol-a"},
	} {
		r, err := c.Fetch(t.Context(), &protocol.Request{URL: x.url})
		if err != nil || string(r.Body) != x.want {
			t.Errorf("%s was fetched by %s, %v; want %s", x.url, r.Body, err, x.want)
		}
	}
	c = newLocal(t, Options{
		ProtocolRules: []ProtocolRule{{"protocol-b", regexp.MustCompile(`^https?://app\.test/js/`)}, {"protocol-a", regexp.MustCompile(`\.pdf$`)}},
		ProtocolOf:    map[string]string{"app.test": "protocol-c"},
	}, local(t, protocolPlugin("protocol-a")), local(t, protocolPlugin("protocol-b")), local(t, protocolPlugin("protocol-c")))
	for url, want := range map[string]string{
		"http://app.test/js/x.pdf": "protocol-b", "http://app.test/x.pdf": "protocol-a", "http://app.test/robots.txt": "protocol-c", "http://other.test/js/": "protocol-a",
	} {
		if r, err := c.Fetch(t.Context(), &protocol.Request{URL: url}); err != nil || string(r.Body) != want {
			t.Errorf("%s was fetched by %s, %v; want %s", url, r.Body, err, want)
		}
	}
	_, err := NewLocal([]LocalPlugin{local(t, protocolPlugin("protocol-a"))}, Options{ProtocolOf: map[string]string{"https": "protocol-x"}})
	if err == nil || !strings.Contains(err.Error(), "protocol-x") {
		t.Errorf("an unknown plugin: error %v", err)
	}
}
