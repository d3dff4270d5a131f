package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/manifest"
)

// Origin is where a value came from.
type Origin struct {
	Layer  Layer
	File   string // the file's name as it was given; "" for environment and command line
	Line   int    // from 1; 0 for environment and command line
	Column int
	Name   string // the environment variable, or the key after -D
}

// Layer is a source of configuration; greater layers win.
type Layer int

// The layers.
const (
	Default Layer = iota
	Site          // --config files
	Environment
	CommandLine
)

// String is "site.hcl:3:5", "environment CRAWLER_HTTP__TIMEOUT" or
// "-D http.timeout". It never holds the value.
func (o Origin) String() string {
	switch o.Layer {
	case Environment:
		return "environment " + o.Name
	case CommandLine:
		return "-D " + o.Name
	}
	return fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Column)
}

// Value is one effective setting as it may be shown.
type Value struct {
	Key      string // "http.agent_name", "plugin.urlfilter-regex.file", "index_writer.main.path"
	Text     string // as HCL writes it; "(hidden)" when Redacted
	Origin   Origin
	Type     manifest.Type
	Meaning  string
	Nutch    string // the Nutch property it stands for, or ""
	Redacted bool   // a secret, or read with env() or file()
}

// hidden is shown instead of secrets.
const hidden = "(hidden)"

// entry is one value of one layer.
type entry struct {
	key      string
	name     string            // last part of the key
	setting  *manifest.Setting // nil until a manifest explains it
	nutch    bool              // in Nutch's spelling
	unit     string            // Nutch's unit when nutch
	raw      any               // as hclconf.Eval returns it, or the text of environment and -D
	text     bool              // raw is a text of environment or -D, or came through env() or file()
	value    any               // raw converted by setting; nil before
	origin   Origin
	redacted bool
	file     *hclconf.File // nil for environment and -D
	at       hcl.Range     // of the value
	keyAt    hcl.Range     // of the key
	elements []hcl.Range   // of the elements of a list; nil when it isn't written as one
}

// convert gives e its type and checks it.
func (e *entry) convert(s *manifest.Setting) error {
	e.setting = s
	if s.Secret {
		e.redacted = true
	}
	checked := *s
	if e.nutch {
		checked.NutchUnit = e.unit
	}
	var v any
	var err error
	if t, ok := e.raw.(string); ok && e.text {
		v, err = checked.Parse(t, e.nutch)
	} else {
		v, err = checked.Check(e.raw)
	}
	if err != nil {
		if e.redacted {
			return fmt.Errorf("the hidden value is not a %s%s", typeName(s.Type), boundsText(s))
		}
		return err
	}
	e.value = v
	return nil
}

func typeName(t manifest.Type) string {
	switch t {
	case manifest.Int:
		return "whole number"
	case manifest.Float:
		return "number"
	case manifest.Bool:
		return "true or false"
	case manifest.Duration:
		return "duration with a unit, such as 5s"
	case manifest.Size:
		return "size with a unit, such as 1MiB"
	}
	return string(t)
}

func boundsText(s *manifest.Setting) string {
	t := ""
	if s.Min != "" {
		t += ", at least " + s.Min
	}
	if s.Max != "" {
		t += ", at most " + s.Max
	}
	if len(s.OneOf) > 0 {
		t += ", one of " + strings.Join(s.OneOf, ", ")
	}
	return t
}

// wrong is a value that its setting doesn't take.
func (e *entry) wrong(err error) hclconf.Problem { return e.about("%v", err) }

// about is trouble with e's value; the text follows e's key.
func (e *entry) about(format string, args ...any) hclconf.Problem {
	if e.origin.Layer == CommandLine && e.origin.Name == e.key {
		return e.problem(format, args...)
	}
	return e.problem("%s: %s", e.key, fmt.Sprintf(format, args...))
}

// element is trouble with element i of e's list.
func (e *entry) element(i int, format string, args ...any) hclconf.Problem {
	p := e.about(format, args...)
	if i < len(e.elements) {
		p = e.file.Problem(e.elements[i], "%s", p.Text)
	}
	return p
}

// problem is trouble with e's value.
func (e *entry) problem(format string, args ...any) hclconf.Problem {
	if e.file != nil {
		p := e.file.Problem(e.at, format, args...)
		if e.redacted && !e.text { // the line has the secret itself
			p.Source = ""
		}
		return p
	}
	return hclconf.Problem{Where: e.origin.String(), Text: fmt.Sprintf(format, args...)}
}

// keyProblem is trouble with e's name.
func (e *entry) keyProblem(format string, args ...any) hclconf.Problem {
	if e.file != nil {
		return e.file.Problem(e.keyAt, format, args...)
	}
	return e.problem(format, args...)
}

// path resolves a file named by e: against the folder of the configuration file
// that named it, or the working directory for environment and -D.
func (e *entry) path(name string) (string, error) {
	if e.origin.File != "" && e.origin.Layer != Default && !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(e.origin.File), name)
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", fmt.Errorf("resolve %s: %w", name, err)
	}
	return abs, nil
}

// shown is e as it may be shown.
func (e *entry) shown() Value {
	v := Value{Key: e.key, Origin: e.origin, Redacted: e.redacted}
	if e.setting == nil { // nobody can say whether it is a secret
		v.Redacted = true
	} else {
		v.Type, v.Meaning, v.Nutch = e.setting.Type, e.setting.Meaning, e.setting.Nutch
	}
	if v.Redacted {
		v.Text = hidden
	} else {
		v.Text = manifest.Literal(e.value)
	}
	return v
}
