package repocheck

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTopLevel(t *testing.T) {
	r := open(t)
	out, err := exec.Command("git", "-C", r.root, "ls-tree", "--name-only", "HEAD").Output()
	if err != nil {
		t.Skipf("needs a git work tree with a commit to tell the tree's files from others: %v", err)
	}
	var got []string
	for _, name := range strings.Fields(string(out)) {
		if !strings.HasPrefix(name, ".") {
			got = append(got, name)
		}
	}
	want := []string{
		"LICENSE", "Makefile", "README.md", "core", "defaults.go", "extension-points.md", "go.mod", "go.sum",
		"nutch-default.hcl", "plugins", "sdk",
	}
	differ(t, got, want, "does not belong at the top of the tree; move it to where its owner is", "is missing at the top of the tree")
}

// TestReadmeTree: the tree map names every folder a reader meets first, and none
// that is gone.
func TestReadmeTree(t *testing.T) {
	r := open(t)
	text, ok := section(r.read(t, "README.md"), "## The tree")
	if !ok {
		t.Fatal("README.md has no section \"## The tree\"")
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(text, -1) {
		named[m[1]] = true
		if !r.exists(m[1]) {
			t.Errorf("README.md: the tree map names %s, which is not there", m[1])
		}
	}
	var want []string
	for _, dir := range []string{"core", "core/internal", "sdk", "plugins"} {
		for _, name := range r.folders(dir) {
			want = append(want, dir+"/"+name)
		}
	}
	for _, dir := range want {
		// Plugins are listed in extension-points.md, and internal folders by what is in them.
		if isPlugin(dir) && dir != "plugins/internal" || dir == "core/internal" {
			continue
		}
		if !named[dir] {
			t.Errorf("README.md: the tree map has no row for %s", dir)
		}
	}
}

// TestReadmeModules: the dependency table has each direct module of go.mod.
func TestReadmeModules(t *testing.T) {
	r := open(t)
	text, ok := section(r.read(t, "README.md"), "## Dependencies")
	if !ok {
		t.Fatal("README.md has no section \"## Dependencies\"")
	}
	var got, want []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(text, -1) {
		got = append(got, m[1])
	}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+/\S+) v\S+$`).FindAllStringSubmatch(r.read(t, "go.mod"), -1) {
		want = append(want, m[1])
	}
	if len(want) == 0 {
		t.Fatal("no modules found in go.mod")
	}
	differ(t, got, want,
		"is in README.md's dependency table and no direct module of go.mod; remove the row",
		"is a direct module of go.mod; say in README.md's dependency table why this one")
}

func TestMakefile(t *testing.T) {
	r := open(t)
	text := r.read(t, "Makefile")
	_, phony, _ := strings.Cut(text, ".PHONY: ")
	phony, _, _ = strings.Cut(phony, "\n")
	targets := strings.Fields(phony)
	for _, name := range targets {
		if !regexp.MustCompile(`(?m)^` + name + `:.*## `).MatchString(text) {
			t.Errorf("Makefile: target %s has no \"## what it does\" behind it, so make help does not show it", name)
		}
	}
	for _, f := range []string{"README.md", ".ci/run"} {
		for _, m := range regexp.MustCompile("(?m)(?:`|^ *)make ([a-z][a-z -]*)").FindAllStringSubmatch(r.read(t, f), -1) {
			for _, name := range strings.Fields(m[1]) {
				if !slices.Contains(targets, name) {
					t.Errorf("%s: \"make %s\": the Makefile has no target %s", f, m[1], name)
				}
			}
		}
	}
}

// TestLinks: links between documents lead somewhere.
func TestLinks(t *testing.T) {
	r := open(t)
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, f := range r.files {
		if path.Ext(f) != ".md" || strings.Contains(f, "/testdata/") {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(r.read(t, f), -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, ":") {
				continue
			}
			target := f
			if to != "" {
				target = path.Join(path.Dir(f), to)
			}
			if !r.exists(target) {
				t.Errorf("%s links to %s, which is not there", f, m[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(r.read(t, target)), anchor) {
				t.Errorf("%s links to %s: %s has no such heading", f, m[1], target)
			}
		}
	}
}

// anchors returns the names of a document's headings in links.
func anchors(doc string) []string {
	var out []string
	for level := 1; level <= 4; level++ {
		for _, h := range headings(doc, level) {
			h = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(h), "")
			out = append(out, strings.ReplaceAll(h, " ", "-"))
		}
	}
	return out
}

// TestNothingOfOneMachine: no file names a path of the machine it was written
// on, or the address of a package registry.
func TestNothingOfOneMachine(t *testing.T) {
	r := open(t)
	// Written in pieces, since this file is searched too.
	parts := []string{
		"/" + "work/(main|shared)", "/" + `root/\.`, "/" + "Users/[a-z]", "/" + "home/[a-z]+/", "proxy" + `\.golang\.org`,
		"pypi" + `\.org`, "registry" + `\.npmjs`, "deb" + `\.debian\.org`, "repo1" + `\.maven`,
	}
	bad := regexp.MustCompile(strings.Join(parts, "|"))
	for _, f := range r.files {
		if strings.Contains(f, "/testdata/") || f == "LICENSE" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(f)))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(b), "\n") {
			if m := bad.FindString(line); m != "" {
				t.Errorf("%s:%d names %s: it means something on one machine only; take it from the environment, a flag or a temporary folder", f, i+1, m)
			}
		}
	}
}
