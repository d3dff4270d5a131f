package crawl

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler"
	"github.com/gonutch/crawler/core/internal/chain"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/pluginhost"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
)

// builtins are two normalizers and two parsers.
func builtins() []sdk.Plugin {
	var out []sdk.Plugin
	for _, p := range []struct{ id, provide string }{
		{"urlnormalizer-a", `provide "urlnormalizer" {}`},
		{"urlnormalizer-b", `provide "urlnormalizer" {}`},
		{"parse-a", `provide "parser" { mime_types = ["*"] }`},
		{"parse-b", `provide "parser" { mime_types = ["*"] }`},
	} {
		out = append(out, sdk.Plugin{Manifest: []byte("id = \"" + p.id + "\"\nname = \"A plugin\"\nversion = \"1.0.0\"\napi = 1\n" + p.provide + "\n")})
	}
	return out
}

func options(t *testing.T, site string) (pluginhost.Options, chain.Options) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "site.hcl")
	site += `
index_writer "main" {
  enabled = false
}
`
	if err := os.WriteFile(file, []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Options{Defaults: crawler.Defaults(), Files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	_, choice, err := Plugins(c, builtins(), hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	h, err := hostOptions(c)
	if err != nil {
		t.Fatal(err)
	}
	o, err := chainOptions(c, choice)
	if err != nil {
		t.Fatal(err)
	}
	return h, o
}

// TestSettingsReachTheirUsers: what the user sets about plugins is what the
// plugin host and the chains are told.
func TestSettingsReachTheirUsers(t *testing.T) {
	h, o := options(t, `
plugin {
  includes             = "(urlnormalizer|parse)-[ab]"
  watch_interval       = "3s"
  quarantine_processes = 5
  retries              = 9
  retry_delay          = "7ms"
}
parser {
  timeout    = "11s"
  mime_types = { "text/html" = "parse-b, parse-a" }
}
urlnormalizer {
  order          = []
  order_by_scope = { outlink = "urlnormalizer-b, urlnormalizer-a" }
}
`)
	if h.WatchInterval != 3*time.Second || h.QuarantineProcs != 5 {
		t.Errorf("plugin host: %+v", h)
	}
	if o.Retries != 9 || o.RetryDelay != 7*time.Millisecond || o.ParseTimeout != 11*time.Second {
		t.Errorf("chains: %+v", o)
	}
	want := map[urlnormalizer.Scope][]string{urlnormalizer.ScopeOutlink: {"urlnormalizer-b", "urlnormalizer-a"}}
	if d := cmp.Diff(want, o.NormalizerOrder); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string][]string{"text/html": {"parse-b", "parse-a"}}, o.ParserTypes); d != "" {
		t.Error(d)
	}
	if _, o = options(t, `
plugin {
  includes = "(urlnormalizer|parse)-[ab]"
}
urlnormalizer {
  order = []
}
parser {
  timeout = "-1"
}
`); o.ParseTimeout < 24*time.Hour {
		t.Errorf("no limit became %v", o.ParseTimeout)
	}
}

// TestEveryPluginSettingIsRead: no setting of the section plugin is documented
// and then ignored.
func TestEveryPluginSettingIsRead(t *testing.T) {
	read := []string{"includes", "excludes", "add", "remove", "folders"} // by Choose and Plugins
	for f := range reflect.TypeFor[pluginSection]().Fields() {
		read = append(read, f.Tag.Get("hcl"))
	}
	c, err := config.Load(config.Options{Defaults: crawler.Defaults()})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, v := range c.All() {
		key, ok := strings.CutPrefix(v.Key, "plugin.")
		if !ok {
			continue
		}
		n++
		if !slices.Contains(read, key) {
			t.Errorf("nobody reads plugin.%s", key)
		}
	}
	if n < 20 {
		t.Errorf("only %d settings found", n)
	}
}
