// Package plugintest is the conformance suite for plugins: one call in a
// plugin's tests checks what every plugin, and every implementation of an
// extension point, owes to its host.
//
//	func TestConformance(t *testing.T) {
//		plugintest.Run(t, Plugin(), plugintest.Options{})
//	}
//
// Everything goes over real gRPC. For each point that the manifest provides,
// the suite asks with samples of its own, those in Options, and what strangers
// send: no items, many, invalid UTF-8, alone and together, in another order,
// from several callers at a time, with an ended context. It must not know the
// core.
package plugintest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/internal/conform"
	"github.com/gonutch/crawler/sdk/manifest"
)

// Options say what to check a plugin with; the zero value will do for most.
type Options = conform.Options

// Run checks p, served within the test's process. It also checks that nothing
// of p runs on after its shutdown. Do not call it from a parallel test.
func Run(t *testing.T, p sdk.Plugin, o Options) {
	t.Helper()
	m, err := manifest.Read("plugin.hcl", p.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	run(t, conform.NewLocal(p, m), o)
	if err := goleak.Find(before); err != nil {
		t.Errorf("after the shutdown: %v", err)
	}
}

// RunCommand checks the built plugin in folder, started by the command of its
// plugin.hcl.
func RunCommand(t *testing.T, folder string, o Options) {
	t.Helper()
	m, err := conform.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	run(t, conform.NewFolder(m), o)
}

func run(t *testing.T, target conform.Target, o Options) {
	if o.DataDir == "" {
		o.DataDir = t.TempDir()
	}
	suite := conform.New(target, o)
	defer func() {
		if err := suite.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, c := range suite.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			out := c.Run(t.Context())
			for _, f := range out.Failures {
				t.Error(f)
			}
			if out.Skipped != "" {
				t.Skip(out.Skipped)
			}
		})
	}
}
