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

// TestPointFiles: everything that makes up an extension point is there. That
// there is nothing else is tested in sdk/extension.
func TestPointFiles(t *testing.T) {
	r := open(t)
	for _, name := range pointNames() {
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

// TestPointSections: extension-points.md has the points in the order of the
// table, and each in its list at the top. What is in a section is tested in
// sdk/extension.
func TestPointSections(t *testing.T) {
	doc := open(t).read(t, "extension-points.md")
	order := slices.DeleteFunc(headings(doc, 2), func(h string) bool { return strings.Contains(h, " ") })
	if d := cmp.Diff(pointNames(), order); d != "" {
		t.Errorf("extension-points.md: one section for each row of sdk/extension/points.go, in its order (-want +got):\n%s", d)
	}
	for _, p := range pointNames() {
		if row := "| [" + p + "](#" + p + ") |"; !strings.Contains(doc, row) {
			t.Errorf("extension-points.md: the list at the top has no row %s", row)
		}
	}
}
