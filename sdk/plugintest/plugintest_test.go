package plugintest_test

import (
	"testing"

	"github.com/gonutch/crawler/sdk/plugintest"
	"github.com/gonutch/crawler/sdk/plugintest/chaos"
)

// TestChaos: without its markers in the URLs the chaos plugin behaves.
func TestChaos(t *testing.T) {
	plugintest.Run(t, chaos.Plugin(), plugintest.Options{})
}
