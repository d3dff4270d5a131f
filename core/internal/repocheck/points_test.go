package repocheck

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/sdk/extension"
)

func pointNames() []string {
	var out []string
	for _, p := range extension.Points() {
		out = append(out, p.Name)
	}
	return out
}

// TestPointFiles: everything that makes up an extension point is there, and
// nothing else.
func TestPointFiles(t *testing.T) {
	r := open(t)
	names := pointNames()
	differ(t, r.folders("sdk/extension"), names,
		"is a folder below sdk/extension; add its row to sdk/extension/points.go",
		"is in sdk/extension/points.go and has no package below sdk/extension")
	proto := slices.DeleteFunc(r.folders("sdk/proto/crawler"), func(s string) bool { return s == "base" || s == "model" })
	differ(t, proto, names,
		"is a folder below sdk/proto/crawler; add its row to sdk/extension/points.go",
		"is in sdk/extension/points.go and has no folder below sdk/proto/crawler")
	for _, name := range names {
		for _, f := range []string{
			"sdk/extension/" + name + "/" + name + ".go",
			"sdk/extension/" + name + "/grpc.go",
			"sdk/extension/" + name + "/" + name + "_test.go",
			"sdk/proto/crawler/" + name + "/v1/" + name + ".proto",
			"sdk/internal/pb/" + name + "v1/" + name + ".pb.go",
			"sdk/plugintool/templates/" + name + ".go.tmpl",
			"sdk/plugintool/templates/" + name + ".hcl.tmpl",
		} {
			if !r.exists(f) {
				t.Errorf("%s is missing: extension point %s needs it (copy another point's and change it; make proto generates)", f, name)
			}
		}
	}
}

// TestPointUsers: each point is called by core's chains and has its place in the
// conformance suite.
func TestPointUsers(t *testing.T) {
	used := map[string][]string{}
	for _, f := range open(t).goFiles(t) {
		if f.isTest() {
			continue
		}
		for _, imp := range f.imports() {
			if strings.HasPrefix(imp, module+"/sdk/extension/") {
				used[f.dir()] = append(used[f.dir()], path.Base(imp))
			}
		}
	}
	for _, p := range pointNames() {
		if !slices.Contains(used["core/internal/chain"], p) {
			t.Errorf("core/internal/chain does not use extension point %s: write there how its plugins work together", p)
		}
		if !slices.Contains(used["sdk/internal/conform"], p) {
			t.Errorf("sdk/internal/conform does not use extension point %s: write its conformance cases", p)
		}
	}
}

// TestPointSections: extension-points.md has a section for each point, with the
// same parts.
func TestPointSections(t *testing.T) {
	r := open(t)
	doc := r.read(t, "extension-points.md")
	order := slices.DeleteFunc(headings(doc, 2), func(h string) bool { return strings.Contains(h, " ") })
	if d := cmp.Diff(pointNames(), order); d != "" {
		t.Errorf("extension-points.md: one section for each row of sdk/extension/points.go, in its order (-want +got):\n%s", d)
	}
	shipped := map[string][]string{}
	for _, m := range pluginFolders(t, r) {
		for _, p := range m.Provides {
			shipped[p.Point] = append(shipped[p.Point], m.ID)
		}
	}
	parts := []string{
		"Purpose.", "Called by", "When.", "Interface.", "Batch and ordering.", "Composition.", "Errors.", "Settings.",
		"Plugins shipped.", "How to test.",
	}
	for _, p := range extension.Points() {
		text, ok := section(doc, "## "+p.Name)
		if !ok {
			continue // told above
		}
		at := 0
		for _, part := range parts {
			i := strings.Index(text[at:], "**"+part+"**")
			if i < 0 {
				t.Errorf("extension-points.md, section %s: part **%s** is missing or not in the order %v", p.Name, part, parts)
				break
			}
			at += i
		}
		_, list, _ := strings.Cut(text, "**Plugins shipped.**")
		list, _, _ = strings.Cut(list, "**")
		for _, id := range shipped[p.Name] {
			if !strings.Contains(list, id) {
				t.Errorf("extension-points.md, section %s: plugin %s is not named under Plugins shipped", p.Name, id)
			}
		}
		if row := "| [" + p.Name + "](#" + p.Name + ") |"; !strings.Contains(doc, row) {
			t.Errorf("extension-points.md: the table at the top has no row %s", row)
		}
	}
}
