package repocheck

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler"
	"github.com/gonutch/crawler/core/internal/config"
	"github.com/gonutch/crawler/sdk/extension"
	"github.com/gonutch/crawler/sdk/manifest"
)

// pluginFolders returns the manifests of the folders below plugins.
func pluginFolders(t *testing.T, r *repo) []*manifest.Manifest {
	t.Helper()
	var out []*manifest.Manifest
	for _, id := range r.folders("plugins") {
		if id == "internal" {
			continue
		}
		name := path.Join("plugins", id, "plugin.hcl")
		m, err := manifest.Read(name, []byte(r.read(t, name)))
		if err != nil {
			t.Fatal(err)
		}
		if m.ID != id {
			t.Errorf("%s says id %q: folder and id must be the same", name, m.ID)
		}
		out = append(out, m)
	}
	if len(out) == 0 {
		t.Fatal("no plugins found")
	}
	return out
}

func TestPluginFolders(t *testing.T) {
	r := open(t)
	for _, m := range pluginFolders(t, r) {
		dir := "plugins/" + m.ID
		tests := slices.ContainsFunc(r.files, func(f string) bool {
			return path.Dir(f) == dir && strings.HasSuffix(f, "_test.go")
		})
		if !tests {
			t.Errorf("%s has no tests; a plugin has at least one table of cases", dir)
		}
		pluginReadme(t, r, m)
		if cases := "core/internal/cli/testdata/checkers/" + m.ID; checkable(m) && !slices.Contains(r.files, cases) {
			t.Errorf("%s has no small cases for the checkers: write %s; its neighbours and core/internal/cli/checkercases_test.go show how", dir, cases)
		}
	}
}

// checkable reports whether a checker can show the plugin at work.
func checkable(m *manifest.Manifest) bool {
	return slices.ContainsFunc(m.Provides, func(p manifest.Provide) bool {
		switch p.Point {
		case manifest.URLFilter, manifest.URLExemption, manifest.URLNormalizer, manifest.Parser, manifest.ParseFilter, manifest.IndexingFilter:
			return true
		}
		return false
	})
}

func pluginReadme(t *testing.T, r *repo, m *manifest.Manifest) {
	t.Helper()
	name := "plugins/" + m.ID + "/README.md"
	doc := r.read(t, name)
	if d := cmp.Diff([]string{m.ID}, headings(doc, 1)); d != "" {
		t.Errorf("%s: the title must be the plugin's id (-want +got):\n%s", name, d)
	}
	want := []string{"What it does", "Extension points", "Settings", "Example", "Limits"}
	if d := cmp.Diff(want, headings(doc, 2)); d != "" {
		t.Errorf("%s: all plugins have the same headings (-want +got):\n%s", name, d)
	}
	settings, _ := section(doc, "## Settings")
	all := slices.Concat(m.Settings, m.Parameters)
	for _, b := range m.Blocks {
		all = append(append(all, manifest.Setting{Name: b.Name, Line: b.Line}), b.Settings...)
	}
	for _, s := range all {
		if !strings.Contains(settings, "`"+s.Name+"`") {
			t.Errorf("%s: setting `%s` of plugin.hcl:%d is not named under Settings", name, s.Name, s.Line)
		}
	}
	for _, s := range m.Sections {
		if !strings.Contains(settings, "`"+s+"`") {
			t.Errorf("%s: plugin.hcl asks for section %s; name it under Settings", name, s)
		}
	}
	points, _ := section(doc, "## Extension points")
	for _, p := range m.Provides {
		point, _ := extension.Lookup(p.Point)
		if !strings.Contains(points, point.Nutch) || !strings.Contains(strings.ToLower(points), p.Point) {
			t.Errorf("%s: extension point %s is not named under Extension points", name, p.Point)
		}
	}
}

func TestBuiltinTable(t *testing.T) {
	r := open(t)
	var got, want []string
	for _, f := range r.goFiles(t) {
		if f.name != "plugins/builtin.go" {
			continue
		}
		for _, imp := range f.imports() {
			if id, ok := strings.CutPrefix(imp, module+"/plugins/"); ok {
				got = append(got, id)
			}
		}
		for _, id := range got {
			if call := strings.ReplaceAll(id, "-", "") + ".Plugin()"; !strings.Contains(r.read(t, f.name), call) {
				t.Errorf("plugins/builtin.go imports %s and does not list %s", id, call)
			}
		}
	}
	for _, m := range pluginFolders(t, r) {
		want = append(want, m.ID)
	}
	differ(t, got, want, "is in plugins/builtin.go and has no folder below plugins", "is a folder below plugins; add it to plugins/builtin.go")
}

// TestDefaultPlugins: what nutch-default.hcl includes exists, and whoever is not
// included by default is named in its text, so that readers know of it.
func TestDefaultPlugins(t *testing.T) {
	r := open(t)
	all := pluginFolders(t, r)
	c, err := config.Load(config.Options{Defaults: crawler.Defaults()})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ValidatePlugins(all); err != nil {
		t.Fatalf("nutch-default.hcl does not fit the built-in plugins:\n%v", err)
	}
	includes := c.String("plugin.includes")
	whole, err := regexp.Compile("^(?:" + includes + ")$")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, m := range all {
		ids[m.ID] = true
		if !whole.MatchString(m.ID) && !strings.Contains(r.read(t, "README.md"), m.ID) {
			t.Errorf("%s is not in plugin.includes of nutch-default.hcl; add it there, or name it in README.md as off by default", m.ID)
		}
	}
	for _, id := range alternatives(includes) {
		if !ids[id] {
			t.Errorf("plugin.includes of nutch-default.hcl names %s, and there is no such folder below plugins", id)
		}
	}
}

// alternatives expands a|b-(c|d) to a, b-c, b-d: the form of the default.
func alternatives(s string) []string {
	var out []string
	for _, part := range regexp.MustCompile(`\([^)]*\)|[^|(]+`).FindAllString(s, -1) {
		if group, ok := strings.CutPrefix(part, "("); ok {
			prefix := out[len(out)-1]
			out = out[:len(out)-1]
			for _, x := range strings.Split(strings.TrimSuffix(group, ")"), "|") {
				out = append(out, prefix+x)
			}
			continue
		}
		out = append(out, part)
	}
	return out
}

func TestAlternatives(t *testing.T) {
	want := []string{"p-a", "p-b", "q", "r-c"}
	if d := cmp.Diff(want, alternatives("p-(a|b)|q|r-(c)")); d != "" {
		t.Error(d)
	}
}
