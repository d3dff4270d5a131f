package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/gonutch/crawler/core/internal/pluginhost"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/plugintest/chaos"
)

// The test binary serves the plugins of the tests, and guards.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "plugin" {
		switch os.Args[2] {
		case "serve":
			sdk.Main(plugins()[os.Args[3]])
		case "guard":
			pluginhost.Guard(os.Stdin, os.Args[3], os.Args[4])
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// plugins are the plugins that tests run as processes and within this one.
func plugins() map[string]sdk.Plugin {
	out := map[string]sdk.Plugin{
		"chaos":               chaos.Plugin(),
		"urlnormalizer-lower": simple("urlnormalizer-lower", `provide "urlnormalizer" {}`, &sdk.Extensions{URLNormalizer: lower{}}),
		"urlnormalizer-slash": simple("urlnormalizer-slash", `provide "urlnormalizer" {}`, &sdk.Extensions{URLNormalizer: slash{}}),
		"urlfilter-spam":      simple("urlfilter-spam", `provide "urlfilter" {}`, &sdk.Extensions{URLFilter: reject("spam")}),
		"urlfilter-eggs":      simple("urlfilter-eggs", `provide "urlfilter" {}`, &sdk.Extensions{URLFilter: reject("eggs")}),
		"indexer-file":        {Manifest: []byte(header("indexer-file", `provide "indexwriter" {}`)), New: newFileWriter},
	}
	return out
}

func header(id, rest string) string {
	return fmt.Sprintf("id      = %q\nname    = \"Test\"\nversion = \"1\"\napi     = 1\n%s\n", id, rest)
}

func simple(id, rest string, ext *sdk.Extensions) sdk.Plugin {
	return sdk.Plugin{Manifest: []byte(header(id, rest)), New: func(sdk.Env) (*sdk.Extensions, error) { return ext, nil }}
}

// lower lower-cases URLs and drops those with "gone" in them.
type lower struct{}

func (lower) NormalizeURL(_ context.Context, scope urlnormalizer.Scope, url string) (urlnormalizer.Result, error) {
	if strings.Contains(url, "gone") {
		return urlnormalizer.Result{Reason: "gone in scope " + string(scope)}, nil
	}
	return urlnormalizer.Result{URL: strings.ToLower(url)}, nil
}

// slash removes one trailing slash.
type slash struct{}

func (slash) NormalizeURL(_ context.Context, _ urlnormalizer.Scope, url string) (urlnormalizer.Result, error) {
	return urlnormalizer.Result{URL: strings.TrimSuffix(url, "/")}, nil
}

// reject rejects URLs with the word in them.
type reject string

func (r reject) FilterURL(_ context.Context, url string) (urlfilter.Verdict, error) {
	if strings.Contains(url, string(r)) {
		return urlfilter.Verdict{Reason: "rule " + string(r)}, nil
	}
	return urlfilter.Verdict{Accept: true}, nil
}

// local returns a plugin to run in this process.
func local(t testing.TB, p sdk.Plugin) LocalPlugin {
	t.Helper()
	return LocalPlugin{Manifest: read(t, p), Plugin: p, Settings: defaults(read(t, p), nil)}
}

func read(t testing.TB, p sdk.Plugin) *manifest.Manifest {
	t.Helper()
	m, err := manifest.Read("plugin.hcl", p.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	m.File = ""
	return m
}

// defaults returns the settings of a manifest, some of them changed.
func defaults(m *manifest.Manifest, own map[string]any) sdk.Settings {
	all := map[string]any{}
	for _, s := range m.Settings {
		all[s.Name] = s.Default
	}
	for k, v := range own {
		all[k] = v
	}
	raw, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return sdk.Settings{Own: raw}
}

// inProcess returns chains over plugins in this process.
func inProcess(t testing.TB, opts Options, ids ...string) *Chains {
	t.Helper()
	var ps []LocalPlugin
	for _, id := range ids {
		ps = append(ps, local(t, plugins()[id]))
	}
	return newLocal(t, opts, ps...)
}

func newLocal(t testing.TB, opts Options, ps ...LocalPlugin) *Chains {
	t.Helper()
	c, err := NewLocal(ps, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// outOfProcess returns chains over processes of the plugins; own changes the
// settings of the plugin of that id.
func outOfProcess(t testing.TB, opts Options, hostOpts pluginhost.Options, own map[string]map[string]any, ids ...string) (*Chains, *pluginhost.Host) {
	t.Helper()
	var manifests []*manifest.Manifest
	var chosen []Plugin
	for _, id := range ids {
		m := read(t, plugins()[id])
		manifests = append(manifests, m)
		chosen = append(chosen, Plugin{Manifest: m, Settings: defaults(m, own[id])})
	}
	if testing.Verbose() {
		hostOpts.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: os.Stderr})
	}
	if hostOpts.MaxProcs == 0 {
		hostOpts.MaxProcs = 1
	}
	host, err := pluginhost.New(hostOpts, manifests, func(m *manifest.Manifest) (sdk.Settings, error) {
		return defaults(m, own[m.ID]), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close(context.Background()) })
	if err := host.Start(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	c, err := New(host, chosen, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c, host
}
