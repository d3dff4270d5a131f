package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/hashicorp/hcl/v2"
	"github.com/knadh/koanf/v2"

	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/setting"
)

// Options say where configuration is read from.
type Options struct {
	Defaults []byte   // nutch-default.hcl
	Files    []string // --config files, later ones win
	Environ  []string // "NAME=value" as os.Environ returns them; only CRAWLER_… is looked at, besides env()
	Sets     []string // -D section.key=value, later ones win
}

// Config is the effective configuration.
type Config struct {
	schema       *schema
	ko           *koanf.Koanf // layers; its leaves are refs
	entries      []*entry     // what refs point at
	pending      map[string]any
	pluginBlocks []pluginBlock
	namedBlocks  []namedBlock
	unresolved   []*entry // -D in the Nutch spelling of a plugin's property
	environ      map[string]string
	places       map[string]place // by section
	problems     hclconf.Problems
	broken       map[string]bool // blocks that have mistakes; see Broken
}

// ref is a leaf of the layered tree: an index into Config.entries. It keeps
// each value together with its origin through koanf's merges.
type ref int

// delim can't occur in keys: sections, setting names, plugin ids and instance
// names hold letters, digits, "-" and "_".
const delim = "."

// Load reads all layers. The error holds every problem found (hclconf.Problems)
// and is for the user to mend. When all files could be parsed, the Config holds what is
// right even so, to look for more mistakes; see Broken.
func Load(o Options) (*Config, error) {
	c := &Config{ko: koanf.New(delim), environ: map[string]string{}, places: map[string]place{}, broken: map[string]bool{}}
	for _, kv := range o.Environ {
		if name, v, ok := strings.Cut(kv, "="); ok {
			c.environ[name] = v
		}
	}
	if err := c.loadDefaults(o.Defaults); err != nil {
		return nil, err
	}
	parsed := true
	for _, name := range o.Files {
		parsed = c.loadFile(name) && parsed
	}
	c.loadEnviron()
	c.loadSets(o.Sets)
	if !parsed {
		return nil, c.problems.Err()
	}
	return c, c.problems.Err()
}

// Broken reports whether a block had mistakes, so that what it says is not known: a section,
// "plugin.ID", "index_writer.NAME" or another named block. What else seems wrong with it
// may follow from them.
func (c *Config) Broken(block string) bool { return c.broken[block] }

// noting marks block as broken if f finds problems.
func (c *Config) noting(block string, f func()) {
	before := len(c.problems)
	f()
	if len(c.problems) > before {
		c.broken[block] = true
	}
}

// blockOf is the block that a setting by its parts belongs to.
func (c *Config) blockOf(parts []string) string {
	if len(parts) > 2 || len(parts) == 2 && (contains(instanceBlocks(), parts[0]) || c.schema.rules[parts[0]] != nil) {
		return parts[0] + delim + parts[1]
	}
	return parts[0]
}

func (c *Config) loadDefaults(src []byte) error {
	f, body, ps := hclconf.Parse(DefaultsName, src)
	if ps != nil {
		return ps.Err()
	}
	if c.schema, ps = readSchema(f, body); ps != nil {
		return ps.Err()
	}
	c.begin()
	(&fileLayer{c: c, layer: Default, file: f, seen: map[string]hcl.Range{}}).read(body)
	c.commit()
	return c.problems.Err()
}

// loadFile reports whether the file is HCL.
func (c *Config) loadFile(name string) bool {
	src, err := os.ReadFile(name)
	if err != nil {
		c.problems = append(c.problems, hclconf.Problem{Where: name, Text: readProblem(err)})
		return false
	}
	f, body, ps := hclconf.Parse(name, src)
	if ps != nil {
		c.problems = append(c.problems, ps...)
		return false
	}
	c.begin()
	l := &fileLayer{c: c, layer: Site, file: f, ctx: c.functions(filepath.Dir(name)), seen: map[string]hcl.Range{}}
	l.read(body)
	c.commit()
	return true
}

// readProblem says why a file named by the user can't be read, without
// repeating its name.
func readProblem(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return "can't read the configuration file: " + err.Error()
}

// begin starts a layer; add puts values into it; commit lays it over those
// before.
func (c *Config) begin() { c.pending = map[string]any{} }

func (c *Config) add(e *entry, path ...string) {
	m := c.pending
	for _, p := range path[:len(path)-1] {
		next, ok := m[p].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[p] = next
		}
		m = next
	}
	c.entries = append(c.entries, e)
	m[path[len(path)-1]] = ref(len(c.entries) - 1)
}

func (c *Config) commit() {
	c.dropReplaced()
	if err := c.ko.Load(layerMap(c.pending), nil); err != nil {
		panic(fmt.Sprintf("config: merge a layer: %v", err)) // merging plain maps can't fail
	}
	c.pending = nil
}

// layerMap is a koanf.Provider of an already parsed layer.
type layerMap map[string]any

// Read implements koanf.Provider.
func (m layerMap) Read() (map[string]any, error) { return m, nil }

// ReadBytes implements koanf.Provider.
func (layerMap) ReadBytes() ([]byte, error) {
	return nil, errors.New("config: a layer has no bytes")
}

// entry returns the effective entry at a full key, or nil.
func (c *Config) entry(key string) *entry {
	if r, ok := c.ko.Get(key).(ref); ok {
		return c.entries[r]
	}
	return nil
}

// Get returns the effective value of key, such as "http.agent_name".
func (c *Config) Get(key string) (Value, bool) {
	e := c.entry(key)
	if e == nil {
		return Value{}, false
	}
	return e.shown(), true
}

// Problem is trouble with the effective value of a core setting, for the user to
// mend: with element i of its list, or with all of it when i is negative.
func (c *Config) Problem(key string, i int, format string, args ...any) error {
	e := c.entry(key)
	if i < 0 {
		return hclconf.Problems{e.about(format, args...)}
	}
	return hclconf.Problems{e.element(i, format, args...)}
}

// String returns the effective value of a core setting of type string, or of
// type duration or size as it is written; "" when there is none. Secrets are in
// clear: it is for use, Get is for showing.
func (c *Config) String(key string) string { return valueOf[string](c, key) }

// Bool is String for settings of type bool; false when there is none.
func (c *Config) Bool(key string) bool { return valueOf[bool](c, key) }

// Int is String for settings of type int; 0 when there is none.
func (c *Config) Int(key string) int64 { return valueOf[int64](c, key) }

// valueOf panics when the setting is of another type: no configuration makes up for that.
func valueOf[T any](c *Config, key string) (v T) {
	e := c.entry(key)
	if e == nil || e.value == nil {
		return v
	}
	v, ok := e.value.(T)
	if !ok {
		panic(fmt.Sprintf("config: setting %s is a %T, asked for as a %T", key, e.value, v))
	}
	return v
}

// All returns every effective value: the core's settings in the order of
// nutch-default.hcl, then plugins and instances by key. Secrets, and settings
// of plugins before ValidatePlugins has explained them, are hidden.
func (c *Config) All() []Value {
	out := make([]Value, 0, len(c.schema.settings))
	for _, s := range c.schema.sections {
		for _, k := range c.schema.keys[s] {
			out = append(out, c.entry(s+delim+k).shown())
		}
	}
	keys := c.ko.Keys()
	sort.Strings(keys)
	for _, k := range keys {
		if c.schema.settings[k] == nil {
			if e := c.entry(k); e != nil {
				out = append(out, e.shown())
			}
		}
	}
	return out
}

// Sections returns the names of the core's sections in the order of
// nutch-default.hcl.
func (c *Config) Sections() []string { return append([]string(nil), c.schema.sections...) }

// Decode fills the struct that into points at from a section of the core, by
// the tags `hcl:"server_delay"`. Durations go into setting.Duration or
// time.Duration, sizes into setting.Size or int64. A field without a setting of
// its name is an error; settings without a field are left alone.
func (c *Config) Decode(section string, into any) error {
	if c.schema.keys[section] == nil {
		return fmt.Errorf("decode configuration: there is no section %q", section)
	}
	err := c.ko.UnmarshalWithConf(section, into, koanf.UnmarshalConf{
		DecoderConfig: &mapstructure.DecoderConfig{
			TagName: "hcl", ErrorUnset: true, Result: into,
			MatchName:  func(key, field string) bool { return key == field },
			DecodeHook: c.decodeHook,
		},
	})
	if err != nil {
		return fmt.Errorf("decode configuration section %s: %w", section, err)
	}
	return nil
}

// decodeHook replaces refs by their values in the form the field wants.
func (c *Config) decodeHook(from, to reflect.Value) (any, error) {
	r, ok := from.Interface().(ref)
	if !ok {
		return from.Interface(), nil
	}
	e := c.entries[r]
	t, isText := e.value.(string)
	switch {
	case isText && e.setting.Type == manifest.Duration && to.Type() != reflect.TypeFor[string]():
		d, err := setting.ParseDuration(t)
		if to.Type() == reflect.TypeFor[time.Duration]() {
			return d, err
		}
		return setting.Duration(d), err
	case isText && e.setting.Type == manifest.Size && to.Type() != reflect.TypeFor[string]():
		n, err := setting.ParseSize(t)
		if to.Type() == reflect.TypeFor[setting.Size]() {
			return setting.Size(n), err
		}
		return n, err
	case isText && e.setting.Type == manifest.File && t != "":
		return e.path(t)
	}
	return e.value, nil
}
