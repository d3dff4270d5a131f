package libtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ModuleDir returns the folder of a Go module this one depends on.
func ModuleDir(t testing.TB, module string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output() //nolint:gosec // a name in a test
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Fatalf("where is module %s: %v", module, err)
	}
	return dir
}

// ModuleCache returns the folder of the modules that were downloaded.
func ModuleCache(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatalf("where is the module cache: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// Languages of the site that Hugo makes.
func Languages() []string {
	return []string{"bg", "cs", "de", "en", "es", "fi", "fr", "it", "nl", "pl", "sv"}
}

// HugoBase is the URL of the site that Hugo makes.
const HugoBase = "https://docs.example/"

// Hugo makes a site of the descriptions of the modules that this one depends on,
// in several languages, with Debian's hugo, and returns its folder: it has
// sitemap.xml, and in a folder for each language sitemap.xml and the feeds index.xml
// and index.json.
func Hugo(t testing.TB) string {
	t.Helper()
	hugo, err := exec.LookPath("hugo")
	if err != nil {
		t.Skip("hugo is not on this machine; .ci/run installs it")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	conf := fmt.Sprintf("baseURL = %q\ntitle = \"Docs\"\ndefaultContentLanguage = \"en\"\ndefaultContentLanguageInSubdir = true\ndisableKinds = [\"taxonomy\", \"term\"]\n[outputs]\nhome = [\"HTML\", \"RSS\", \"JSON\"]\n", HugoBase)
	readmes := map[string]string{}
	for name, module := range map[string]string{"gofeed": "github.com/mmcdole/gofeed", "parse": "github.com/tdewolff/parse/v2", "cascadia": "github.com/andybalholm/cascadia"} {
		readme, err := os.ReadFile(filepath.Join(ModuleDir(t, module), "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		readmes[name] = strings.ReplaceAll(string(readme), "{{", "{ {") // hugo's shortcodes
	}
	for _, lang := range Languages() {
		conf += fmt.Sprintf("[languages.%s]\ntitle = \"Docs %s\"\ncontentDir = \"content/%s\"\n", lang, lang, lang)
		for name, text := range readmes {
			write("content/"+lang+"/"+name+".md", "---\ntitle: About "+name+"\ndate: 2024-01-02\n---\n"+text)
		}
	}
	write("hugo.toml", conf)
	write("layouts/_default/single.html", "<html><body>{{ .Content }}</body></html>")
	write("layouts/_default/list.html", "<html><body>{{ .Content }}</body></html>")
	write("layouts/_default/list.json", `{"version": "https://jsonfeed.org/version/1.1", "title": {{ .Site.Title | jsonify }}, "home_page_url": {{ .Permalink | jsonify }},
"items": [{{ range $i, $p := .Site.RegularPages }}{{ if $i }}, {{ end }}{"id": {{ .Permalink | jsonify }}, "url": {{ .Permalink | jsonify }},
"title": {{ .Title | jsonify }}, "content_html": {{ .Content | jsonify }}, "date_published": {{ .Date.Format "2006-01-02T15:04:05Z07:00" | jsonify }}}{{ end }}]}`)
	cmd := exec.CommandContext(t.Context(), hugo, "--quiet") //nolint:gosec // found by its name
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("hugo: %v\n%s", err, out)
	}
	return filepath.Join(dir, "public")
}
