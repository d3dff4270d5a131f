package protocolhttp

import (
	"bytes"
	"net"
	"testing"

	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/plugintest"
	"github.com/gonutch/crawler/sdk/testsite"
)

func TestConformance(t *testing.T) {
	s := testsite.Start(t, testsite.Options{})
	s.Site().Page("/", "<p>page").Redirect("/r", 302, "/").Status("/404", 404).File("/big", "text/plain", bytes.Repeat([]byte("text "), 600<<10))
	s.Site().Raw("/closes", func(net.Conn) {})
	var requests []protocol.Request
	for _, p := range []string{"/", "/r", "/404", "/big", "/closes"} {
		requests = append(requests, protocol.Request{URL: s.Site().URL(p)})
	}
	plugintest.Run(t, Plugin(), plugintest.Options{
		Sections: map[string]string{"http": `{"agent_name":"testbot","agent_url":"https://bot.example/","allow_private":["127.0.0.0/8"]}`},
		Requests: requests,
	})
}
