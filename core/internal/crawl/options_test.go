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
	"github.com/gonutch/crawler/plugins"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
)

func options(t *testing.T, site string) (pluginhost.Options, chain.Options) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "site.hcl")
	if err := os.WriteFile(file, []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Options{Defaults: crawler.Defaults(), Files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	_, choice, err := Plugins(c, plugins.Builtins(), hclog.NewNullLogger())
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
  watch_interval       = "3s"
  quarantine_processes = 5
  retries              = 9
  retry_delay          = "7ms"
}
parser {
  timeout    = "11s"
  mime_types = { "text/html" = "parse-text, parse-html" }
}
urlnormalizer {
  order_by_scope = { outlink = "urlnormalizer-regex, urlnormalizer-basic" }
}
`)
	if h.WatchInterval != 3*time.Second || h.QuarantineProcs != 5 {
		t.Errorf("plugin host: %+v", h)
	}
	if o.Retries != 9 || o.RetryDelay != 7*time.Millisecond || o.ParseTimeout != 11*time.Second {
		t.Errorf("chains: %+v", o)
	}
	want := map[urlnormalizer.Scope][]string{urlnormalizer.ScopeOutlink: {"urlnormalizer-regex", "urlnormalizer-basic"}}
	if d := cmp.Diff(want, o.NormalizerOrder); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string][]string{"text/html": {"parse-text", "parse-html"}}, o.ParserTypes); d != "" {
		t.Error(d)
	}
	if _, o = options(t, `parser { timeout = "-1" }`); o.ParseTimeout < 24*time.Hour {
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
