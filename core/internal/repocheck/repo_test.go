// Package repocheck holds tests only: the house rules that no compiler and no
// linter knows. Tree, extension points, manifests, documents and configuration
// must agree, and each message says what to do. It must not know what any of
// them means.
package repocheck

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/gonutch/crawler"

// repo is the work tree as the tests see it.
type repo struct {
	root  string
	files []string // slash-separated, relative to root, sorted; without what git ignores at the top
}

// open finds the work tree around the test's folder.
func open(t *testing.T) *repo {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = filepath.Dir(dir)
	}
	r := &repo{root: dir}
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() && slices.Contains([]string{".git", "bin", ".bin", "crawl"}, rel) {
			return fs.SkipDir
		}
		if d.Type().IsRegular() {
			r.files = append(r.files, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(r.files)
	return r
}

// read returns a file's text, and fails the test when it is not there.
func (r *repo) read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatalf("%v: this file belongs to the tree", err)
	}
	return string(b)
}

func (r *repo) exists(name string) bool {
	_, err := os.Stat(filepath.Join(r.root, filepath.FromSlash(name)))
	return err == nil
}

// folders returns the names of the folders directly below dir.
func (r *repo) folders(dir string) []string {
	var out []string
	for _, f := range r.files {
		rest, ok := strings.CutPrefix(f, dir+"/")
		if name, _, deeper := strings.Cut(rest, "/"); ok && deeper && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// goFile is a parsed Go file of ours; generated ones are left out.
type goFile struct {
	name string // relative to the root
	ast  *ast.File
	fset *token.FileSet
}

func (f goFile) dir() string  { return path.Dir(f.name) }
func (f goFile) isTest() bool { return strings.HasSuffix(f.name, "_test.go") }
func (f goFile) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", f.name, f.fset.Position(n.Pos()).Line)
}

// imports returns the paths that the file imports.
func (f goFile) imports() []string {
	var out []string
	for _, s := range f.ast.Imports {
		out = append(out, strings.Trim(s.Path.Value, "\"`"))
	}
	return out
}

// goFiles parses every Go file outside testdata.
func (r *repo) goFiles(t *testing.T) []goFile {
	t.Helper()
	var out []goFile
	fset := token.NewFileSet()
	for _, name := range r.files {
		if path.Ext(name) != ".go" || strings.Contains(name, "/testdata/") {
			continue
		}
		f, err := parser.ParseFile(fset, filepath.Join(r.root, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if ast.IsGenerated(f) {
			continue
		}
		out = append(out, goFile{name, f, fset})
	}
	return out
}

// section returns the text below the heading of a Markdown document up to
// the next heading of the same or a higher level, and whether there is one.
func section(doc, heading string) (string, bool) {
	level := len(heading) - len(strings.TrimLeft(heading, "#"))
	var out []string
	found, fenced := false, false
	for line := range strings.Lines(doc) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		line = strings.TrimRight(line, "\n")
		if h := regexp.MustCompile(`^#+ `).FindString(line); !fenced && h != "" {
			if found && len(h)-1 <= level {
				break
			}
			if line == heading {
				found = true
				continue
			}
		}
		if found {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n"), found
}

// headings returns the headings of a level in a Markdown document.
func headings(doc string, level int) []string {
	var out []string
	fenced := false
	for line := range strings.Lines(doc) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if h, ok := strings.CutPrefix(line, strings.Repeat("#", level)+" "); ok && !fenced {
			out = append(out, strings.TrimSpace(h))
		}
	}
	return out
}

// differ reports what is in one list only.
func differ(t *testing.T, got, want []string, surplus, missing string) {
	t.Helper()
	for _, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("%s: %s", g, surplus)
		}
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%s: %s", w, missing)
		}
	}
}
