package config

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	crawler "github.com/gonutch/crawler"
	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/setting"
)

// TestDefaults checks nutch-default.hcl itself: each setting is documented, its
// default has its own type and origin, and Nutch's properties lead to it.
func TestDefaults(t *testing.T) {
	c := load(t, Options{})
	if n := len(c.All()); n < 150 {
		t.Errorf("only %d settings", n)
	}
	for _, v := range c.All() {
		if v.Origin.Layer != Default || v.Origin.File != DefaultsName || v.Origin.Line == 0 {
			t.Errorf("%s: origin %+v", v.Key, v.Origin)
		}
		if strings.HasPrefix(v.Key, "index_writer.") {
			continue
		}
		if v.Meaning == "" || !strings.HasSuffix(v.Meaning, ".") {
			t.Errorf("%s: its meaning %q is no sentence", v.Key, v.Meaning)
		}
		if v.Nutch == "" {
			continue
		}
		names, nutch := c.schema.find(v.Nutch)
		found := false
		for _, n := range names {
			found = found || n.key == v.Key
		}
		if !nutch || !found {
			t.Errorf("%s: -D %s leads to %v", v.Key, v.Nutch, names)
		}
	}
	for property, names := range c.schema.nutch {
		for _, n := range names {
			s := c.schema.settings[n.key]
			if (s.Type == manifest.Duration || s.Type == manifest.Size) != (n.unit != "" && !strings.Contains(n.unit, "=")) {
				t.Errorf("%s: type %s, but Nutch's %s has unit %q", n.key, s.Type, property, n.unit)
			}
		}
	}
}

func load(t *testing.T, o Options) *Config {
	t.Helper()
	o.Defaults = crawler.Defaults()
	c, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDecode(t *testing.T) {
	c := load(t, Options{Sets: []string{
		"fetcher.server_delay=1500ms", "fetcher.threads_fetch=7", "fetcher.max_bytes_in_flight=2MiB",
		"fetcher.store_content=false", "fetcher.throughput_threshold_pages=0.5", "fetcher.min_crawl_delay=-1",
	}})
	var got struct {
		Delay   setting.Duration `hcl:"server_delay"`
		Go      time.Duration    `hcl:"max_crawl_delay"`
		Off     setting.Duration `hcl:"min_crawl_delay"`
		Text    string           `hcl:"timelimit"`
		Threads int              `hcl:"threads_fetch"`
		Bytes   setting.Size     `hcl:"max_bytes_in_flight"`
		Bytes64 int64            `hcl:"max_bytes_in_flight"`
		Store   bool             `hcl:"store_content"`
		Pages   float64          `hcl:"throughput_threshold_pages"`
		Mode    string           `hcl:"queue_mode"`
	}
	if err := c.Decode("fetcher", &got); err != nil {
		t.Fatal(err)
	}
	if got.Delay.D() != 1500*time.Millisecond || got.Go != 30*time.Second || got.Off != -1 || got.Text != "-1" ||
		got.Threads != 7 || got.Bytes != 2<<20 || got.Bytes64 != 2<<20 || got.Store || got.Pages != 0.5 || got.Mode != "byHost" {
		t.Errorf("got %+v", got)
	}
	var lists struct {
		Order   []string          `hcl:"order"`
		ByScope map[string]string `hcl:"order_by_scope"`
	}
	if err := c.Decode("urlnormalizer", &lists); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"urlnormalizer-basic", "urlnormalizer-regex"}, lists.Order); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeMistakes(t *testing.T) {
	c := load(t, Options{})
	var unknown struct {
		Delay setting.Duration `hcl:"server_dealy"`
	}
	var wrong struct {
		Threads string `hcl:"threads_fetch"`
	}
	var caseless struct {
		Threads int `hcl:"Threads_Fetch"`
	}
	for name, err := range map[string]error{
		"section":       c.Decode("fetchers", &unknown),
		"field":         c.Decode("fetcher", &unknown),
		"type":          c.Decode("fetcher", &wrong),
		"other letters": c.Decode("fetcher", &caseless),
	} {
		if err == nil {
			t.Errorf("wrong %s went through", name)
		}
	}
}

func TestGet(t *testing.T) {
	c := load(t, Options{Sets: []string{"http.agent.name=x", "http.proxy.password=secret"}})
	v, ok := c.Get("http.agent_name")
	if !ok || v.Text != `"x"` || v.Origin.String() != "-D http.agent.name" || v.Nutch != "http.agent.name" || v.Type != manifest.String {
		t.Errorf("got %+v, %v", v, ok)
	}
	if v, _ := c.Get("http.proxy_password"); v.Text != "(hidden)" || !v.Redacted {
		t.Errorf("password shown: %+v", v)
	}
	if got := c.String("http.proxy_password"); got != "secret" {
		t.Errorf("String = %q", got)
	}
	if got := c.String("http.proxy_host") + c.String("no.such"); got != "" {
		t.Errorf("String = %q", got)
	}
	for _, key := range []string{"http.agent_nam", "http", "", "plugin"} {
		if v, ok := c.Get(key); ok {
			t.Errorf("Get(%q) = %+v", key, v)
		}
	}
}

// TestUnexplained keeps values of plugins hidden until a manifest has said
// whether they are secret.
func TestUnexplained(t *testing.T) {
	c := load(t, Options{Sets: []string{"plugin.some-plugin.password=hunter2"}})
	v, ok := c.Get("plugin.some-plugin.password")
	if !ok || strings.Contains(v.Text, "hunter2") {
		t.Errorf("got %+v, %v", v, ok)
	}
	if err := c.ValidatePlugins(nil); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

// TestSecretsInErrors checks that no message holds a secret.
func TestSecretsInErrors(t *testing.T) {
	m := &manifest.Manifest{ID: "some-plugin", Settings: []manifest.Setting{
		{Name: "limit", Type: manifest.Int, Secret: true, Meaning: "m"},
		{Name: "mode", Type: manifest.String, Secret: true, Meaning: "m", OneOf: []string{"a", "b"}},
	}}
	t.Chdir(t.TempDir())
	write(t, "site.hcl", `plugin "some-plugin" {
  limit = env("SECRET")
}
fetcher {
  threads_fetch = env("SECRET")
  server_delay  = "${env("SECRET")}"
  queue_mode    = file("secret")
  timelimit     = env("SECRET") == "x" ? "5s" : env("SECRET")
}
db {
  parsemeta_to_crawldb = [env("SECRET"), 5]
}
`)
	write(t, "secret", "hunter2")
	o := Options{Defaults: crawler.Defaults(), Environ: []string{"SECRET=hunter2"}, Files: []string{"site.hcl"}}
	_, err := Load(o)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("Load: %v", err)
	}
	if n := len(err.(hclconf.Problems)); n != 5 {
		t.Errorf("%d problems:\n%v", n, err)
	}
	c := load(t, Options{
		Sets:    []string{"plugin.some-plugin.limit=hunter2"},
		Environ: []string{"CRAWLER_PLUGIN__SOME_PLUGIN__MODE=hunter2"},
	})
	err = c.ValidatePlugins([]*manifest.Manifest{m})
	if err == nil || strings.Contains(err.Error(), "hunter2") || len(err.(hclconf.Problems)) != 2 {
		t.Errorf("ValidatePlugins: %v", err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestConcurrentReaders is for the race detector.
func TestConcurrentReaders(t *testing.T) {
	c := load(t, Options{Sets: []string{"http.agent_name=x"}})
	m := &manifest.Manifest{ID: "some-plugin", Sections: []string{"http"}, Settings: []manifest.Setting{
		{Name: "limit", Type: manifest.Int, Default: int64(1), Meaning: "m"},
	}}
	if err := c.ValidatePlugins([]*manifest.Manifest{m}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var s struct {
				Name string `hcl:"agent_name"`
			}
			if err := c.Decode("http", &s); err != nil || s.Name != "x" {
				t.Errorf("Decode: %+v, %v", s, err)
			}
			if set, _, err := c.PluginSettings(m); err != nil || string(set.Own) != `{"limit":1}` {
				t.Errorf("PluginSettings: %s, %v", set.Own, err)
			}
			c.All()
			if _, err := c.Choose([]*manifest.Manifest{m}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestNutchProperties gives every property of Nutch 1.23's nutch-default.xml on
// the command line: each either is a setting here or is explained.
func TestNutchProperties(t *testing.T) {
	text, err := os.ReadFile("testdata/nutch/properties.txt")
	if err != nil {
		t.Fatal(err)
	}
	properties := strings.Fields(string(text))
	if len(properties) != 322 {
		t.Fatalf("%d properties", len(properties))
	}
	c := load(t, Options{})
	for _, p := range properties {
		found, nutch := c.schema.find(p)
		text, _, sure := nutchInstead(p)
		switch {
		case nutch && !sure, len(found) == 0 && text != "":
		case len(found) == 0:
			t.Errorf("%s: neither a setting nor explained", p)
		default:
			t.Errorf("%s: leads to %v (a Nutch line in nutch-default.hcl: %v) and is explained: %q", p, found, nutch, text)
		}
	}
}

func TestAlternatives(t *testing.T) {
	for _, tc := range []struct {
		re   string
		want []string
	}{
		{"a", []string{"a"}},
		{"a|b", []string{"a", "b"}},
		{"a-(b|c)", []string{"a-b", "a-c"}},
		{"(a|b)-(c|d)|e", []string{"a-c", "a-d", "b-c", "b-d", "e"}},
		{"a(b(c|d)|e)f", []string{"abcf", "abdf", "aef"}},
		{"(?:a|b)c", []string{"ac", "bc"}},
		{"a(b|c)?", []string{"a(b|c)?"}},
		{"a(b|c){2}|d", []string{"a(b|c){2}", "d"}},
		{"(?i)a|(?i:b|c)", []string{"(?i)a", "(?i:b|c)"}},
		{`a\|b|c\(d`, []string{`a\|b`, `c\(d`}},
		{"[|(]x|[^]|]y|[]|]z", []string{"[|(]x", "[^]|]y", "[]|]z"}},
		{`\Qa|b\E`, []string{`\Qa|b\E`}},
		{"a||b|", []string{"a", "", "b", ""}},
		{strings.Repeat("(a|b)", 12), []string{strings.Repeat("(a|b)", 12)}},
	} {
		var got []string
		for _, a := range alternatives(tc.re) {
			got = append(got, a.text)
			if a.from < 0 || a.to > len(tc.re) || a.from > a.to {
				t.Errorf("%s: alternative at %d to %d", tc.re, a.from, a.to)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.re, diff)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := Load(Options{Defaults: crawler.Defaults()}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestTypes: a setting is asked for by its type, and another one is a bug that shows at once.
func TestTypes(t *testing.T) {
	c, err := Load(Options{Defaults: crawler.Defaults(), Sets: []string{"indexer.enabled=false", "db.injector_update=true", "cycle.rounds=7", "crawl.dir=x"}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Bool("indexer.enabled") || !c.Bool("db.injector_update") || c.Int("cycle.rounds") != 7 || c.String("crawl.dir") != "x" || c.String("no.setting") != "" || c.Bool("no.setting") {
		t.Error("values differ from what was set")
	}
	defer func() {
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "cycle.rounds is a int64") {
			t.Errorf("panic %v", r)
		}
	}()
	_ = c.String("cycle.rounds")
}
