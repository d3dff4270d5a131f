package repocheck

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers are the packages of core, those that may import others first. A
// package imports only packages of later rows, and of its own row; steps don't even import each other.
var layers = [][]string{
	{"cmd/*", "e2e", "e2e/*", "bench", "bench/*"},
	{"cli"},
	{"export"},
	{"query"},
	{"cycle", "checker"},
	{"crawl"},
	{"step/*", "backup", "importnutch"},
	{"chain", "db/*", "segment", "frontier", "robots", "schedule", "sheet", "signature", "mimetype", "webgraph"},
	{"store", "pluginhost", "config"},
	{"urlkey", "control", "quantile", "memtest", "testweb", "hadoop", "repocheck"},
}

// layer returns the row of a package of core, -1 if it has none.
func layer(pkg string) int {
	name := strings.TrimPrefix(strings.TrimPrefix(pkg, "core/"), "internal/")
	return slices.IndexFunc(layers, func(row []string) bool {
		return slices.ContainsFunc(row, func(p string) bool {
			ok, err := path.Match(p, name)
			return err == nil && ok
		})
	})
}

func TestImportsGoOneWay(t *testing.T) {
	for _, f := range open(t).goFiles(t) {
		from := f.dir()
		if within(from, "core") && layer(from) < 0 {
			t.Errorf("%s: package %s is in no row of the layers table of repocheck; add it to the row that fits", f.name, from)
			continue
		}
		for _, imp := range f.imports() {
			to, ours := strings.CutPrefix(imp, module+"/")
			switch {
			case !ours:
			case within(from, "sdk") && !within(to, "sdk"):
				t.Errorf("%s imports %s: the SDK knows neither core nor plugins; move what it needs into sdk", f.name, to)
			case within(from, "plugins") && within(to, "core"):
				t.Errorf("%s imports %s: a plugin knows only the SDK; what it needs must come with the call", f.name, to)
			case within(from, "core/internal") && !f.isTest() && within(to, "plugins"):
				t.Errorf("%s imports %s: only core/cmd knows core and plugins; hand sdk.Plugin values in", f.name, to)
			case isPlugin(from) && isPlugin(to) && !f.isTest():
				t.Errorf("%s imports %s: plugins are processes of their own; move what they share to plugins/internal", f.name, to)
			case within(from, "core/internal/step") && within(to, "core/internal/step") && from != to:
				t.Errorf("%s imports %s: no step imports a step; move what both need down, or compose them in cycle", f.name, to)
			case within(from, "core") && within(to, "core") && !f.isTest() && layer(to) < layer(from):
				t.Errorf("%s imports %s, which lies above it: hand in what it needs, or move one of them (layers table of repocheck)", f.name, to)
			}
		}
	}
}

// within says whether pkg is the package dir or below it.
func within(pkg, dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }

func isPlugin(dir string) bool {
	return strings.HasPrefix(dir, "plugins/") && !strings.HasPrefix(dir, "plugins/internal/")
}

func TestLibrariesWithOneOwner(t *testing.T) {
	owners := []struct {
		library string
		inTests bool // tests elsewhere may use it
		allowed []string
	}{
		{"github.com/cockroachdb/pebble", false, []string{"core/internal/store"}},
		{"github.com/hashicorp/go-plugin", true, []string{"core/internal/pluginhost", "sdk/internal/rpc", "sdk/plugintest"}},
		{"github.com/knadh/koanf", false, []string{"core/internal/config"}},
		{"github.com/hashicorp/hcl", true, []string{"core/internal/config", "sdk/hclconf", "sdk/manifest"}},
		{"github.com/nlnwa/gowarc", true, []string{"core/internal/segment"}},
		{"github.com/blevesearch/bleve", false, []string{"plugins/indexer-bleve"}},
		{"log/slog", false, nil},
	}
	for _, f := range open(t).goFiles(t) {
		for _, imp := range f.imports() {
			for _, o := range owners {
				if !strings.HasPrefix(imp, o.library) || o.inTests && f.isTest() || slices.Contains(o.allowed, f.dir()) {
					continue
				}
				if len(o.allowed) == 0 {
					t.Errorf("%s imports %s: logging is go-hclog everywhere, the logger handed in", f.name, imp)
					continue
				}
				t.Errorf("%s imports %s: only %s may; add a function there and call that", f.name, imp, strings.Join(o.allowed, ", "))
			}
		}
	}
}

func TestPackages(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range open(t).goFiles(t) {
		dir := f.dir()
		documented[dir] = documented[dir] || packageComment(f)
		if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "manager", "misc"}, f.ast.Name.Name) {
			t.Errorf("%s: package %s says nothing about what it holds; name it after that", f.name, f.ast.Name.Name)
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: init runs unasked in every process, plugins too; call it from where it is needed", f.at(fn))
			}
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment: say in it what the package owns and what it must not know", dir)
		}
	}
}

// packageComment says whether a file starts with the comment of its package.
func packageComment(f goFile) bool {
	want := "Package " + strings.TrimSuffix(f.ast.Name.Name, "_test") + " "
	if f.ast.Name.Name == "main" {
		want = "Command "
	}
	return f.ast.Doc != nil && strings.HasPrefix(f.ast.Doc.Text(), want)
}

func TestComments(t *testing.T) {
	open := open(t)
	todo := regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b(.*)`)
	condition := regexp.MustCompile(`^\([^)]{8,}\):`)
	for _, f := range open.goFiles(t) {
		for _, g := range f.ast.Comments {
			for _, c := range g.List {
				if m := todo.FindStringSubmatch(c.Text); m != nil && !(m[1] == "TODO" && condition.MatchString(m[2])) {
					t.Errorf("%s: %q: do it, or write TODO(when this can be done): and what", f.at(c), m[0])
				}
				if strings.HasPrefix(c.Text, "//go:"+"generate") {
					t.Errorf("%s: generating is done by make targets: move the command to the Makefile", f.at(c))
				}
			}
		}
	}
}
