package protocolbrowser

import (
	"fmt"
	"os"
	"testing"

	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/plugintest"
	"github.com/gonutch/crawler/sdk/testsite"
)

func TestConformance(t *testing.T) {
	if _, err := FindBrowser(""); err != nil {
		t.Skip("no Chromium: apt-get install chromium")
	}
	s := testsite.Start(t, testsite.Options{})
	s.Site().Page("/", `<script>document.write("<p>written")</script>`).Redirect("/r", 302, "/").Status("/404", 404)
	var requests []protocol.Request
	for _, p := range []string{"/", "/r", "/404", "/robots.txt"} {
		requests = append(requests, protocol.Request{URL: s.Site().URL(p), AllowPrivate: []string{s.Addr()}})
	}
	requests[3].Kind = protocol.Robots
	plugintest.Run(t, Plugin(), plugintest.Options{
		Sections: map[string]string{"http": `{"agent_name":"testcrawler","agent_url":"https://example.org/"}`},
		Settings: fmt.Sprintf(`{"sandbox":%t}`, os.Getuid() != 0),
		Requests: requests,
	})
}
