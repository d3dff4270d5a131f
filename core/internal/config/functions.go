package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// maxSecretFile bounds what file() reads.
const maxSecretFile = 64 << 10

// functions are env("NAME"), env("NAME", "when not set") and file("path");
// relative paths start at dir.
func (c *Config) functions(dir string) *hcl.EvalContext {
	env := function.New(&function.Spec{
		Params:   []function.Parameter{{Name: "name", Type: cty.String}},
		VarParam: &function.Parameter{Name: "default", Type: cty.String},
		Type:     function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			name := args[0].AsString()
			if v, ok := c.environ[name]; ok {
				if !utf8.ValidString(v) {
					return cty.NilVal, fmt.Errorf("the environment variable %s is not UTF-8", name)
				}
				return cty.StringVal(v), nil
			}
			if len(args) > 1 {
				return args[1], nil
			}
			return cty.NilVal, fmt.Errorf("the environment variable %s is not set; set it, or write env(%q, \"default\")", name, name)
		},
	})
	file := function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			text, err := readSecret(dir, args[0].AsString())
			return cty.StringVal(text), err
		},
	})
	return &hcl.EvalContext{Functions: map[string]function.Function{"env": env, "file": file}}
}

// readSecret returns a file's text without the line ends at its end.
func readSecret(dir, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxSecretFile {
		return "", fmt.Errorf("%s has more than %d bytes", path, maxSecretFile)
	}
	if !utf8.Valid(b) {
		return "", fmt.Errorf("%s is not UTF-8", path)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}
