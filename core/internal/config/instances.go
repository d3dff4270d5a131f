package config

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/manifest"
)

// Instance is a configured instance of a plugin: an index_writer "name" or
// exchange "name" block.
//
//	index_writer "main" {
//	  plugin  = "indexer-bleve"
//	  enabled = true
//	  path    = "index"                        # parameters of the plugin
//	  mapping {                                # Nutch's; its settings may also stand outside
//	    copy   = { content = "search,text" }
//	    rename = { title = "headline" }
//	    remove = ["segment"]
//	  }
//	}
//	exchange "pdf" { plugin, enabled, parameters …, writers = ["main"], default = false }
type Instance struct {
	Kind    string // "index_writer" or "exchange"
	Name    string
	Plugin  string
	Params  map[string]string // defaults of the manifest's parameters filled in; durations and sizes with units
	Files   []File            // files that parameters name
	Rename  map[string]string // field → its new name
	Copy    map[string][]string
	Remove  []string
	Writers []string // exchange: where its documents go
	Default bool     // exchange: takes what no other takes
	Origin  Origin   // of "plugin"
}

func instanceSettings(kind string) []manifest.Setting {
	s := []manifest.Setting{
		{Name: "plugin", Type: manifest.String, Meaning: "The plugin that serves this instance."},
		{Name: "enabled", Type: manifest.Bool, Meaning: "false switches the instance off."},
	}
	if kind == "exchange" {
		return append(s,
			manifest.Setting{Name: "writers", Type: manifest.List, Meaning: "The index writers that get the documents."},
			manifest.Setting{Name: "default", Type: manifest.Bool, Meaning: "Takes the documents that no other exchange takes."})
	}
	return append(s,
		manifest.Setting{Name: "rename", Type: manifest.Map, Meaning: "Fields to rename: old = \"new\"."},
		manifest.Setting{Name: "copy", Type: manifest.Map, Meaning: "Fields to copy: field = \"other,another\"."},
		manifest.Setting{Name: "remove", Type: manifest.List, Meaning: "Fields to leave out."})
}

func instanceRE() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`) }

func validInstance(name string) bool { return instanceRE().MatchString(name) }

// instance reads an index_writer or exchange block into entries.
func (l *fileLayer) instance(b *hclsyntax.Block) {
	if len(b.Labels) != 1 {
		l.problem(b.DefRange(), "%s needs a name: write %s \"main\" { ... }", b.Type, b.Type)
		return
	}
	name := b.Labels[0]
	if !validInstance(name) {
		l.problem(b.LabelRanges[0], "%s %q: want a name of letters, digits, \"_\" and \"-\"", b.Type, name)
		return
	}
	attributes := inOrder(b.Body.Attributes)
	mapped := false
	for _, nested := range b.Body.Blocks {
		switch {
		case nested.Type != "mapping" || b.Type != "index_writer":
			known := map[string][]string{"index_writer": {"mapping"}}[b.Type]
			l.problem(nested.TypeRange, "%s takes no such block%s; for a map write %s = { ... }", b.Type, hclconf.DidYouMean(nested.Type, known), nested.Type)
		case len(nested.Labels) > 0 || len(nested.Body.Blocks) > 0:
			l.problem(nested.TypeRange, "write mapping { copy = { ... } rename = { ... } remove = [ ... ] }")
		case mapped:
			l.problem(nested.TypeRange, "mapping { ... } is written twice; merge the two")
		default:
			mapped = true
			attributes = append(attributes, l.mapping(nested, b.Body.Attributes)...)
		}
	}
	for _, a := range attributes {
		if e := l.entry([]string{b.Type, name, a.Name}, a); e != nil {
			l.c.add(e, b.Type, name, a.Name)
		}
	}
}

// mapping returns the settings of a mapping block; outside are those around it.
func (l *fileLayer) mapping(b *hclsyntax.Block, outside hclsyntax.Attributes) []*hclsyntax.Attribute {
	var out []*hclsyntax.Attribute
	for _, a := range inOrder(b.Body.Attributes) {
		switch {
		case a.Name != "copy" && a.Name != "rename" && a.Name != "remove":
			l.problem(a.NameRange, "mapping has no %q%s", a.Name, hclconf.DidYouMean(a.Name, []string{"copy", "rename", "remove"}))
		case outside[a.Name] != nil:
			l.problem(a.NameRange, "%s is written outside the mapping, too, at line %d", a.Name, outside[a.Name].NameRange.Start.Line)
		default:
			out = append(out, a)
		}
	}
	return out
}

// dropReplaced removes instances of earlier layers that the pending layer gives
// to another plugin: their parameters are not for it.
func (c *Config) dropReplaced() {
	for _, kind := range instanceBlocks() {
		named, _ := c.pending[kind].(map[string]any)
		for name, v := range named {
			block, _ := v.(map[string]any)
			r, ok := block["plugin"].(ref)
			old := c.entry(kind + delim + name + delim + "plugin")
			if ok && old != nil && c.entries[r].raw != old.raw {
				c.ko.Delete(kind + delim + name)
			}
		}
	}
}

// Instances returns the enabled instances of kind ("index_writer" or
// "exchange") by name, for the chosen plugins. Call ValidatePlugins first.
func (c *Config) Instances(kind string, chosen []*manifest.Manifest) ([]Instance, error) {
	names := c.ko.MapKeys(kind)
	sort.Strings(names)
	var out []Instance
	for _, name := range names {
		e := c.entry(kind + delim + name + delim + "plugin")
		if e == nil || !c.enabled(kind, name) || c.broken[kind+delim+name] {
			continue
		}
		m := byID(chosen, fmt.Sprint(e.value))
		if m == nil {
			continue // Choose has reported it, or the default writer's plugin was left out
		}
		inst, err := c.readInstance(kind, name, e, m)
		if err != nil {
			return nil, err
		}
		out = append(out, inst)
	}
	return out, nil
}

func (c *Config) enabled(kind, name string) bool {
	e := c.entry(kind + delim + name + delim + "enabled")
	return e == nil || e.value != false
}

// parameters are what an instance of m may set. A plugin whose manifest has no
// parameter blocks takes its settings, which hold for every instance that
// doesn't set them; own is false then.
func parameters(m *manifest.Manifest) (list []manifest.Setting, own bool) {
	if len(m.Parameters) > 0 {
		return m.Parameters, true
	}
	return m.Settings, false
}

func (c *Config) readInstance(kind, name string, plugin *entry, m *manifest.Manifest) (Instance, error) {
	inst := Instance{Kind: kind, Name: name, Plugin: m.ID, Origin: plugin.origin, Params: map[string]string{}}
	get := func(key string) any {
		if e := c.entry(kind + delim + name + delim + key); e != nil {
			return e.value
		}
		return nil
	}
	inst.Rename, _ = get("rename").(map[string]string)
	inst.Remove, _ = get("remove").([]string)
	inst.Writers, _ = get("writers").([]string)
	inst.Default, _ = get("default").(bool)
	if copies, ok := get("copy").(map[string]string); ok {
		inst.Copy = map[string][]string{}
		for field, list := range copies {
			for _, to := range strings.Split(list, ",") {
				inst.Copy[field] = append(inst.Copy[field], strings.TrimSpace(to))
			}
		}
	}
	params, own := parameters(m)
	for i := range params {
		s := &params[i]
		key := kind + delim + name + delim + s.Name
		if !own && c.entry(key) == nil {
			continue
		}
		v, file, err := c.resolved(key, s, m)
		if err != nil {
			return inst, err
		}
		if file != nil {
			inst.Files = append(inst.Files, *file)
		}
		if v != nil {
			inst.Params[s.Name] = paramText(v)
		}
	}
	return inst, nil
}

// ParamProblem is what a plugin says against a parameter of an instance, or against the instance
// as a whole when param is "" or was not set: shown at the line where it was written.
func (c *Config) ParamProblem(kind, name, plugin, param, text string) hclconf.Problem {
	of := fmt.Sprintf("%s %q (plugin %s): %s", kind, name, plugin, text)
	for _, key := range []string{kind + delim + name + delim + param, "plugin" + delim + plugin + delim + param, kind + delim + name + delim + "plugin"} {
		if e := c.entry(key); e != nil && e.origin.Layer != Default {
			return e.problem("%s", of)
		}
	}
	return hclconf.Problem{Text: of}
}

// SettingProblem is what a plugin says against its settings; see ParamProblem.
func (c *Config) SettingProblem(plugin, setting, text string) hclconf.Problem {
	if e := c.entry("plugin" + delim + plugin + delim + setting); e != nil {
		return e.problem("plugin %q: %s", plugin, text)
	}
	return hclconf.Problem{Text: fmt.Sprintf("plugin %q: %s", plugin, text)}
}

// paramText writes a value as parameters carry it: lists separated by commas,
// maps as key=value pairs; as JSON when an element holds one of these signs.
func paramText(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case []string:
		return joined(x, x, ",")
	case map[string]string:
		pairs := make([]string, 0, len(x))
		signs := ","
		for k, e := range x {
			pairs = append(pairs, k+"="+e)
			if strings.Contains(k, "=") {
				signs = ",="
			}
		}
		sort.Strings(pairs)
		return joined(pairs, x, signs)
	}
	return manifest.Literal(v)
}

func joined(parts []string, v any, signs string) string {
	if slices.ContainsFunc(parts, func(s string) bool { return strings.ContainsAny(s, signs) }) {
		if raw, err := json.Marshal(v); err == nil {
			return string(raw)
		}
	}
	return strings.Join(parts, ",")
}
