package plugins_test

import (
	"slices"
	"testing"

	"github.com/gonutch/crawler/plugins"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/plugintest"
)

// needServer are plugins that open a connection; their own tests run the suite with a
// server or browser.
var needServer = []string{"indexer-elastic", "indexer-solr", "parse-tika", "protocol-browser"}

// TestConformance runs the suite that third-party plugins are held to over every
// built-in, with the suite's own samples; the plugins' tests have further ones.
func TestConformance(t *testing.T) {
	params := map[string]map[string]string{"exchange-jexl": {"expr": "doc.title == 'x'"}}
	for _, p := range plugins.Builtins() {
		m, err := manifest.Read("plugin.hcl", p.Manifest)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(needServer, m.ID) {
			continue
		}
		t.Run(m.ID, func(t *testing.T) {
			switch m.ID {
			case "indexer-webhook", "indexer-kafka", "indexer-rabbit", "publish-nats", "publish-rabbitmq":
				t.Skip("it needs a server; the plugin's own tests run the suite with one")
			}
			plugintest.Run(t, p, plugintest.Options{Params: params[m.ID], Sections: map[string]string{
				"http": `{"agent_name": "conformance", "agent_url": "http://example.org/"}`,
			}})
		})
	}
}
