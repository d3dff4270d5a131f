package plugintool

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/gonutch/crawler/sdk/extension"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/manifest"
)

//go:embed templates
var templates embed.FS

// New writes the folder of a new Go plugin, dir/id, which provides point: a
// manifest, a main, an implementation that works, its tests and a README. It
// compiles within any module that requires this one. The id begins with the
// point's prefix, such as "urlfilter-". It returns the files it wrote. A folder
// that is there already is left alone.
func New(dir, id, point string) ([]string, error) {
	p, ok := extension.Lookup(point)
	if !ok {
		return nil, fault.Errorf(fault.Invalid, "there is no extension point %q; there are %s", point, strings.Join(manifest.Points(), ", "))
	}
	if !manifest.ValidID(id) || !strings.HasPrefix(id, p.Prefix) || id == p.Prefix {
		return nil, fault.Errorf(fault.Invalid, "plugin id %q: want lower-case words joined by \"-\", beginning with %q, such as %q", id, p.Prefix, p.Prefix+"mine")
	}
	files, err := render(id, point)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(dir, id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make plugin folder: %w", err)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, fault.New(fault.Invalid, fmt.Errorf("make plugin folder: %w", err))
	}
	var written []string
	for _, f := range files {
		name := filepath.Join(folder, f.name)
		if err := os.WriteFile(name, f.text, 0o644); err != nil {
			return nil, errors.Join(fmt.Errorf("write plugin: %w", err), os.RemoveAll(folder))
		}
		written = append(written, name)
	}
	return written, nil
}

type file struct {
	name string
	text []byte
}

// data is what the templates are filled with.
type data struct {
	ID, Point, Nutch string
	API              int
}

func render(id, point string) ([]file, error) {
	t, err := template.ParseFS(templates, "templates/*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("plugin templates: %w", err)
	}
	p, _ := extension.Lookup(point)
	d := data{ID: id, Point: point, Nutch: p.Nutch, API: manifest.APIVersion}
	var out []file
	for _, f := range []struct{ name, template string }{
		{"plugin.hcl", point + ".hcl.tmpl"},
		{"plugin.go", point + ".go.tmpl"},
		{"main.go", "main.go.tmpl"},
		{"plugin_test.go", "plugin_test.go.tmpl"},
		{"README.md", "README.md.tmpl"},
		{".gitignore", "gitignore.tmpl"},
	} {
		var b bytes.Buffer
		if err := t.ExecuteTemplate(&b, f.template, d); err != nil {
			return nil, fmt.Errorf("plugin templates: %w", err)
		}
		text := b.Bytes()
		if strings.HasSuffix(f.name, ".go") {
			if text, err = format.Source(text); err != nil {
				return nil, fmt.Errorf("plugin templates: %s: %w", f.template, err)
			}
		}
		out = append(out, file{f.name, text})
	}
	return out, nil
}
