package protocolfile

import (
	"testing"

	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/plugintest"
)

func TestConformance(t *testing.T) {
	dir := tree(t, "a.html", "sub/b", "link -> a.html")
	var requests []protocol.Request
	for _, p := range []string{"/a.html", "/", "/sub", "/link", "/none"} {
		requests = append(requests, protocol.Request{URL: "file://" + dir + p})
	}
	plugintest.Run(t, Plugin(), plugintest.Options{
		Sections: map[string]string{"file": `{"roots":["` + dir + `"]}`},
		Requests: requests,
	})
}
