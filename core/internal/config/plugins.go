package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/manifest"
)

// pluginBlock is a place where settings of a plugin are given.
type pluginBlock struct {
	id     string
	file   *hclconf.File // nil for environment and -D
	at     hcl.Range
	origin Origin
}

// namedBlock is a block inside a plugin block, such as site "intranet".
type namedBlock struct {
	id, kind, name string
	file           *hclconf.File // nil for -D
	at             hcl.Range
	origin         Origin
}

func (b *namedBlock) problem(format string, args ...any) hclconf.Problem {
	if b.file != nil {
		return b.file.Problem(b.at, format, args...)
	}
	return hclconf.Problem{Where: b.origin.String(), Text: fmt.Sprintf(format, args...)}
}

// File is a file that a setting names.
type File struct {
	Setting string // full key
	Path    string // absolute
	Origin  Origin
}

// ValidatePlugins checks everything that needs manifests: plugin blocks,
// instances, -D in the Nutch spelling of a plugin's property. The error holds
// every problem. It is called once, before the Config is shared.
func (c *Config) ValidatePlugins(manifests []*manifest.Manifest) error {
	c.problems = nil
	ids := make([]string, 0, len(manifests))
	for _, m := range manifests {
		ids = append(ids, m.ID)
	}
	c.resolveSets(manifests, ids)
	for _, m := range manifests {
		for _, s := range m.Sections {
			if c.schema.keys[s] == nil {
				c.problems = append(c.problems, hclconf.Problem{
					Where: m.File, Text: fmt.Sprintf("sections: there is no section %q%s", s, hclconf.DidYouMean(s, c.schema.sections)),
				})
			}
		}
	}
	for _, b := range c.pluginBlocks {
		if byID(manifests, b.id) == nil {
			text := fmt.Sprintf("there is no plugin %q%s", b.id, hclconf.DidYouMean(b.id, ids))
			if b.file != nil {
				c.problems = append(c.problems, b.file.Problem(b.at, "%s", text))
			} else {
				c.problems = append(c.problems, hclconf.Problem{Where: b.origin.String(), Text: text})
			}
		}
	}
	for _, m := range manifests {
		c.noting("plugin"+delim+m.ID, func() {
			c.validateBlock("plugin"+delim+m.ID, "plugin "+m.ID, m.Settings, nil)
			c.validateNamed(m)
		})
	}
	for _, kind := range instanceBlocks() {
		for _, name := range c.ko.MapKeys(kind) {
			c.noting(kind+delim+name, func() { c.validateInstance(kind, name, manifests, ids) })
		}
	}
	return c.problems.Err()
}

func byID(manifests []*manifest.Manifest, id string) *manifest.Manifest {
	for _, m := range manifests {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// resolveSets gives -D in Nutch's spelling to the plugins whose property it is.
func (c *Config) resolveSets(manifests []*manifest.Manifest, ids []string) {
	c.begin()
	var known []string
	for _, e := range c.unresolved {
		found := false
		for _, m := range manifests {
			for i := range m.Settings {
				s := &m.Settings[i]
				known = append(known, "plugin."+m.ID+"."+s.Name)
				if s.Nutch != "" {
					known = append(known, s.Nutch)
				}
				if s.Nutch == e.origin.Name {
					each := *e
					each.nutch, each.unit = true, s.NutchUnit
					c.addFree(&each, "plugin", m.ID, s.Name)
					found = true
				}
			}
		}
		if !found {
			c.problems = append(c.problems, e.problem("%s", c.unknownSet(e.key, known, ids)))
		}
	}
	c.unresolved = nil
	c.commit()
}

// validateNamed types the values in the named blocks of m's plugin block.
func (c *Config) validateNamed(m *manifest.Manifest) {
	kinds := make([]string, len(m.Blocks))
	for i := range m.Blocks {
		kinds[i] = m.Blocks[i].Name
	}
	for i := range c.namedBlocks {
		b := &c.namedBlocks[i]
		if b.id != m.ID || m.Block(b.kind) != nil {
			continue
		}
		if s := findSetting(m.Settings, b.kind); s != nil {
			c.problems = append(c.problems, b.problem("%s is not a block: write %s = ...", b.kind, b.kind))
			continue
		}
		c.problems = append(c.problems, b.problem("there is no block %s in plugin %s%s", b.kind, m.ID, knownNames(b.kind, kinds)))
	}
	for i := range m.Blocks {
		kind := &m.Blocks[i]
		prefix := "plugin" + delim + m.ID + delim + kind.Name
		for _, name := range c.ko.MapKeys(prefix) {
			c.validateBlock(prefix+delim+name, fmt.Sprintf("%s %q of plugin %s", kind.Name, name, m.ID), kind.Settings, nil)
		}
	}
}

// validateBlock types the values under prefix by settings, own first.
func (c *Config) validateBlock(prefix, where string, settings, own []manifest.Setting) {
	names := make([]string, 0, len(settings)+len(own))
	for i := range settings {
		names = append(names, settings[i].Name)
	}
	for i := range own {
		names = append(names, own[i].Name)
	}
	for _, name := range c.ko.MapKeys(prefix) {
		e := c.entry(prefix + delim + name)
		if e == nil {
			continue
		}
		s := findSetting(own, name)
		if s == nil {
			s = findSetting(settings, name)
		}
		if s == nil {
			c.problems = append(c.problems, e.keyProblem("there is no setting %s in %s%s", name, where, knownNames(name, names)))
			continue
		}
		if err := e.convert(s); err != nil {
			c.problems = append(c.problems, e.wrong(err))
			continue
		}
		c.checkFile(e)
	}
}

func knownNames(name string, names []string) string {
	if s := hclconf.DidYouMean(name, names); s != "" {
		return s
	}
	if len(names) == 0 {
		return "; it takes none"
	}
	return "; it takes " + strings.Join(names, ", ")
}

func findSetting(list []manifest.Setting, name string) *manifest.Setting {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// checkFile reports a file that is not there at the place that names it.
func (c *Config) checkFile(e *entry) {
	name, ok := e.value.(string)
	if e.setting.Type != manifest.File || !ok || name == "" {
		return
	}
	p, err := e.path(name)
	if err == nil {
		_, err = os.Stat(p)
	}
	if os.IsNotExist(err) {
		err = fmt.Errorf("there is no file %s", p)
	}
	if err != nil {
		c.problems = append(c.problems, e.wrong(err))
	}
}

func (c *Config) validateInstance(kind, name string, manifests []*manifest.Manifest, ids []string) {
	prefix := kind + delim + name
	e := c.entry(prefix + delim + "plugin")
	if e == nil {
		if c.broken[prefix] {
			return
		}
		for _, k := range c.ko.MapKeys(prefix) { // say it at one of its lines
			if any := c.entry(prefix + delim + k); any != nil {
				c.problems = append(c.problems, any.keyProblem("%s %q has no plugin; write plugin = \"...\" in it", kind, name))
				return
			}
		}
		return
	}
	own := instanceSettings(kind)
	if err := e.convert(&own[0]); err != nil {
		c.problems = append(c.problems, e.wrong(err))
		return
	}
	m := byID(manifests, fmt.Sprint(e.value))
	if m == nil {
		if e.origin.Layer != Default {
			c.problems = append(c.problems, e.problem("there is no plugin %q%s", e.value, hclconf.DidYouMean(fmt.Sprint(e.value), ids)))
		}
		return
	}
	point := manifest.IndexWriter
	if kind == "exchange" {
		point = manifest.Exchange
	}
	if _, ok := m.Provided(point); !ok {
		c.problems = append(c.problems, e.problem("plugin %q can't serve an %s: it provides no %s", m.ID, kind, point))
		return
	}
	params, _ := parameters(m)
	c.validateBlock(prefix, fmt.Sprintf("%s %q (plugin %s)", kind, name, m.ID), params, own)
	c.checkWriters(kind, name)
}

// checkWriters checks the writers an exchange names.
func (c *Config) checkWriters(kind, name string) {
	e := c.entry(kind + delim + name + delim + "writers")
	if kind != "exchange" || e == nil {
		return
	}
	writers := c.ko.MapKeys("index_writer")
	list, _ := e.value.([]string)
	for _, w := range list {
		if !contains(writers, w) && !c.broken["index_writer"] && !c.broken["index_writer"+delim+w] {
			c.problems = append(c.problems, e.problem("there is no index_writer %q%s", w, hclconf.DidYouMean(w, writers)))
		}
	}
}

// PluginSet reports whether the user has set any setting or block of the plugin.
func (c *Config) PluginSet(m *manifest.Manifest) bool {
	for i := range m.Settings {
		if e := c.entry("plugin" + delim + m.ID + delim + m.Settings[i].Name); e != nil && e.origin.Layer != Default {
			return true
		}
	}
	for i := range m.Blocks {
		if len(c.ko.MapKeys("plugin"+delim+m.ID+delim+m.Blocks[i].Name)) > 0 {
			return true
		}
	}
	return false
}

// PluginSettings returns what m's process gets: its own settings with the
// manifest's defaults filled in, and the core's sections it asks for. The files
// that its settings name come along so that their bytes can count as part of
// its configuration. Secrets are in clear. Call ValidatePlugins first.
func (c *Config) PluginSettings(m *manifest.Manifest) (sdk.Settings, []File, error) {
	prefix := "plugin" + delim + m.ID
	own, files, err := c.blockSettings(prefix, m.Settings, m)
	if err != nil {
		return sdk.Settings{}, nil, err
	}
	for i := range m.Blocks {
		kind := &m.Blocks[i]
		named := map[string]any{}
		for _, name := range c.ko.MapKeys(prefix + delim + kind.Name) {
			values, more, err := c.blockSettings(prefix+delim+kind.Name+delim+name, kind.Settings, m)
			if err != nil {
				return sdk.Settings{}, nil, err
			}
			named[name], files = values, append(files, more...)
		}
		for _, b := range c.namedBlocks { // one without any setting has no key
			if b.id == m.ID && b.kind == kind.Name && named[b.name] == nil {
				if named[b.name], _, err = c.blockSettings(prefix+delim+kind.Name+delim+b.name, kind.Settings, m); err != nil {
					return sdk.Settings{}, nil, err
				}
			}
		}
		if len(named) > 0 {
			own[kind.Name] = named
		}
	}
	out := sdk.Settings{Sections: map[string]json.RawMessage{}}
	if out.Own, err = json.Marshal(own); err != nil {
		return sdk.Settings{}, nil, fmt.Errorf("encode settings of plugin %s: %w", m.ID, err)
	}
	for _, section := range m.Sections {
		values := map[string]any{}
		for _, k := range c.schema.keys[section] {
			e := c.entry(section + delim + k)
			values[k] = e.value
			if name, _ := e.value.(string); e.setting.Type == manifest.File && name != "" {
				path, err := e.path(name)
				if err != nil {
					return sdk.Settings{}, nil, fmt.Errorf("setting %s: %w", e.key, err)
				}
				values[k], files = path, append(files, File{Setting: e.key, Path: path, Origin: e.origin})
			}
		}
		if out.Sections[section], err = json.Marshal(values); err != nil {
			return sdk.Settings{}, nil, fmt.Errorf("encode section %s for plugin %s: %w", section, m.ID, err)
		}
	}
	return out, files, nil
}

// blockSettings are the values below prefix with the defaults of settings.
func (c *Config) blockSettings(prefix string, settings []manifest.Setting, m *manifest.Manifest) (map[string]any, []File, error) {
	values := map[string]any{}
	var files []File
	for i := range settings {
		s := &settings[i]
		v, file, err := c.resolved(prefix+delim+s.Name, s, m)
		if err != nil {
			return nil, nil, err
		}
		if file != nil {
			files = append(files, *file)
		}
		if v != nil {
			values[s.Name] = v
		}
	}
	return values, files, nil
}

// resolved is the value at key, or s's default; files as absolute paths.
func (c *Config) resolved(key string, s *manifest.Setting, m *manifest.Manifest) (any, *File, error) {
	v, origin := s.Default, Origin{File: m.File, Line: s.Line, Column: 1}
	e := c.entry(key)
	if e != nil {
		v, origin = e.value, e.origin
	}
	name, ok := v.(string)
	if s.Type != manifest.File || !ok || name == "" {
		return v, nil, nil
	}
	var path string
	var err error
	if e != nil {
		path, err = e.path(name)
	} else {
		path, err = filepath.Abs(filepath.Join(filepath.Dir(m.File), name))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("setting %s: %w", key, err)
	}
	return path, &File{Setting: key, Path: path, Origin: origin}, nil
}

// Folder is a folder searched for plugins.
type Folder struct {
	Path     string // absolute
	Optional bool   // a default: no error when it isn't there
	Origin   Origin
}

// PluginFolders returns plugin.folders. Relative folders of a configuration
// file start at the file's folder, others at the working directory.
func (c *Config) PluginFolders() ([]Folder, error) {
	e := c.entry("plugin.folders")
	list, _ := e.value.([]string)
	var out []Folder
	var ps hclconf.Problems
	for i, name := range list {
		path, err := e.path(name)
		optional := e.origin.Layer == Default
		if err == nil && !optional {
			err = isFolder(path)
		}
		if err != nil {
			ps = append(ps, e.element(i, "%v", err))
			continue
		}
		out = append(out, Folder{Path: path, Optional: optional, Origin: e.origin})
	}
	return out, ps.Err()
}

func isFolder(path string) error {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return fmt.Errorf("there is no folder %s", path)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", path)
	}
	return nil
}
