package extension_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gonutch/crawler/sdk/extension"
	"github.com/gonutch/crawler/sdk/manifest"
)

// TestPoints compares the table with the packages beside it and the services in
// sdk/proto.
func TestPoints(t *testing.T) {
	var want []string
	for _, p := range extension.Points() {
		want = append(want, p.Name)
		if got, ok := extension.Lookup(p.Name); !ok || got != p {
			t.Errorf("lookup %q: %+v, %v", p.Name, got, ok)
		}
	}
	if _, ok := extension.Lookup("urlfilters"); ok {
		t.Error("found a point that is not there")
	}
	if d := cmp.Diff(want, manifest.Points()); d != "" {
		t.Errorf("table and manifests differ (-table +manifest):\n%s", d)
	}
	sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	if d := cmp.Diff(want, folders(t, "."), sorted); d != "" {
		t.Errorf("table and packages differ (-table +packages):\n%s", d)
	}
	if d := cmp.Diff(append(want, "base", "model"), folders(t, "../proto/crawler"), sorted); d != "" {
		t.Errorf("table and proto folders differ (-table +folders):\n%s", d)
	}
}

// headings are those that every section of extension-points.md has, in order.
func headings() []string {
	return []string{
		"Purpose", "Called by", "When", "Interface", "Batch and ordering", "Composition", "Errors", "Settings", "Plugins shipped", "How to test",
	}
}

// TestDocument checks that extension-points.md has a section for every point,
// each with the same headings, and that it lists the plugins that are shipped.
func TestDocument(t *testing.T) {
	b, err := os.ReadFile("../../extension-points.md")
	if err != nil {
		t.Fatal(err)
	}
	shipped := shippedPlugins(t)
	heading := regexp.MustCompile(`(?m)^\*\*([^*]+)\.\*\*`)
	for _, p := range extension.Points() {
		_, section, ok := strings.Cut(string(b), "\n## "+p.Name+"\n")
		if !ok {
			t.Errorf("no section %q", p.Name)
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		var got []string
		for _, m := range heading.FindAllStringSubmatch(section, -1) {
			got = append(got, m[1])
		}
		if d := cmp.Diff(headings(), got); d != "" {
			t.Errorf("%s: headings (-want +got):\n%s", p.Name, d)
		}
		_, list, _ := strings.Cut(section, "**Plugins shipped.**")
		list, _, _ = strings.Cut(list, "\n\n")
		for _, id := range shipped[p.Name] {
			if !regexp.MustCompile(`\b` + id + `\b`).MatchString(list) {
				t.Errorf("%s: plugin %s is shipped and not listed", p.Name, id)
			}
		}
		if !strings.Contains(string(b), "["+p.Name+"](#"+p.Name+")") {
			t.Errorf("%s is not in the table", p.Name)
		}
	}
}

// shippedPlugins returns the ids of the built-in plugins by point.
func shippedPlugins(t *testing.T) map[string][]string {
	files, err := filepath.Glob("../../plugins/*/plugin.hcl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no built-in plugins found: %v", err)
	}
	out := map[string][]string{}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m, err := manifest.Read(f, src)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, p := range m.Provides {
			out[p.Point] = append(out[p.Point], m.ID)
		}
	}
	return out
}

func folders(t *testing.T, dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}
