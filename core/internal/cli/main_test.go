package cli

import (
	"fmt"
	"os"
	"testing"

	"github.com/gonutch/crawler/core/internal/pluginhost"
	"github.com/gonutch/crawler/plugins"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/manifest"
)

// TestMain lets the test binary be what the program is besides its commands: a
// built-in plugin's process, and the guard of the plugins.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "plugin" && os.Args[2] == "serve":
		for _, p := range plugins.Builtins() {
			if m, err := manifest.Read("plugin.hcl", p.Manifest); err == nil && m.ID == os.Args[3] {
				sdk.Main(p)
				os.Exit(0)
			}
		}
		fmt.Fprintln(os.Stderr, "no such plugin")
		os.Exit(1)
	case len(os.Args) == 5 && os.Args[1] == "plugin" && os.Args[2] == "guard":
		pluginhost.Guard(os.Stdin, os.Args[3], os.Args[4])
		os.Exit(0)
	}
	os.Exit(m.Run())
}
