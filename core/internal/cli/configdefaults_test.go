package cli

import (
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/core/internal/crawl"
	"github.com/gonutch/crawler/plugins"
)

// property writes a property of nutch-site.xml.
func property(w io.Writer, name, value string) {
	fmt.Fprintf(w, "<property><name>%s</name><value>", name)
	xml.EscapeText(w, []byte(value))
	fmt.Fprint(w, "</value></property>\n")
}

func siteXML(t *testing.T, file string, properties ...[2]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for _, p := range properties {
		property(&b, p[0], p[1])
	}
	b.WriteString("</configuration>\n")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestConfigImportDefaults: every property that Nutch has is translated or listed with a reason, also with the value
// that Nutch writes for it, and all of them together make a configuration without mistakes.
func TestConfigImportDefaults(t *testing.T) {
	b, err := os.ReadFile("testdata/nutch-defaults.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var all [][2]string
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok && !strings.HasPrefix(line, "#") {
			all = append(all, [2]string{name, value})
		}
	}
	if len(all) < 309 {
		t.Fatalf("%d properties", len(all))
	}
	dir := t.TempDir()
	site, out := filepath.Join(dir, "nutch-site.xml"), filepath.Join(dir, "site.hcl")
	siteXML(t, site, all...)
	if o := runLine(t, "", "config", "import", site, out); o.code != ExitDone {
		t.Fatal(o.err)
	}
	if o := runLine(t, "", "config", "check", "--config", out); o.code != ExitDone {
		t.Errorf("config check: %s", o.err)
	}

	defaults := crawler.Defaults()
	cfg, err := config.Load(config.Options{Defaults: defaults})
	if err != nil {
		t.Fatal(err)
	}
	manifests, _, err := crawl.Plugins(cfg, plugins.Builtins(), hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	poor := []string{"has no unit", "want a number", "want a whole number", "want true or false", "neither Nutch's default properties", "want pairs"}
	translated := 0
	for _, p := range all {
		siteXML(t, site, p)
		a, err := config.Import(config.ImportOptions{Defaults: defaults, Site: site, Manifests: manifests})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(a.Text, " {\n") {
			translated++
		} else if len(a.Left) == 0 && p[1] != "" && p[1] != "false" {
			t.Errorf("%s = %q: nothing became of it, and nothing is said", p[0], p[1])
		}
		for _, l := range a.Left {
			for _, why := range poor {
				if strings.Contains(l, why) {
					t.Errorf("%s = %q: no good reason: %s", p[0], p[1], l)
				}
			}
		}
	}
	if translated < 150 {
		t.Errorf("%d of %d properties were translated", translated, len(all))
	}
	t.Logf("%d of %d properties were translated", translated, len(all))
}
