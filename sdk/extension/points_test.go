package extension_test

import (
	"os"
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
