package config

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/knadh/koanf/v2"

	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/manifest"
)

// templateName is the name of the blocks in nutch-default.hcl that say which
// settings a kind of named blocks takes, such as sheet "*" { ... }. They set nothing.
const templateName = "*"

// Rule is a named block of the core, such as sheet "shops" { ... }: settings
// that hold for some hosts or URLs only.
type Rule struct {
	Kind, Name string
	Origin     Origin // of the block's first setting
	c          *Config
}

// ruleKinds are the kinds of such blocks.
func (s *schema) ruleKinds() []string {
	var out []string
	for kind := range s.rules {
		out = append(out, kind)
	}
	sort.Strings(out)
	return out
}

// template reads the settings of a kind of named blocks.
func (s *schema) template(f *hclconf.File, b *hclsyntax.Block, lines []string) (ps hclconf.Problems) {
	settings := []manifest.Setting{}
	for _, a := range inOrder(b.Body.Attributes) {
		set, _, err := documented(lines, a, f)
		if err != nil {
			ps = append(ps, f.Problem(a.NameRange, "%v", err))
			continue
		}
		settings = append(settings, *set)
	}
	s.rules[b.Type] = settings
	return ps
}

// rule reads a named block of the core into entries.
func (l *fileLayer) rule(b *hclsyntax.Block) {
	if len(b.Labels) != 1 {
		l.problem(b.DefRange(), "%s needs a name: write %s \"main\" { ... }", b.Type, b.Type)
		return
	}
	name := b.Labels[0]
	if l.layer == Default && name == templateName {
		return
	}
	if !validInstance(name) {
		l.problem(b.LabelRanges[0], "%s %q: want a name of letters, digits, \"_\" and \"-\"", b.Type, name)
		return
	}
	for _, nested := range b.Body.Blocks {
		l.problem(nested.TypeRange, "%s takes no blocks; for a map write %s = { ... }", b.Type, nested.Type)
	}
	if len(b.Body.Attributes) == 0 {
		l.problem(b.DefRange(), "%s %q says nothing; it takes %s", b.Type, name, strings.Join(l.c.schema.ruleSettings(b.Type), ", "))
	}
	for _, a := range inOrder(b.Body.Attributes) {
		if e := l.entry([]string{b.Type, name, a.Name}, a); e != nil {
			l.c.addRule(e, b.Type, name, a.Name)
		}
	}
}

// addRule types a value of a named block and adds it.
func (c *Config) addRule(e *entry, kind, name, key string) {
	e.key, e.name = kind+delim+name+delim+key, key
	s := findSetting(c.schema.rules[kind], key)
	if s == nil {
		c.problems = append(c.problems, e.keyProblem("there is no setting %s in %s%s", key, kind, knownNames(key, c.schema.ruleSettings(kind))))
		return
	}
	if err := e.convert(s); err != nil {
		c.problems = append(c.problems, e.wrong(err))
		return
	}
	c.checkFile(e)
	c.add(e, kind, name, key)
}

// ruleSettings are the names of what a kind of named blocks takes.
func (s *schema) ruleSettings(kind string) []string {
	names := make([]string, len(s.rules[kind]))
	for i := range s.rules[kind] {
		names[i] = s.rules[kind][i].Name
	}
	return names
}

// Rules returns the named blocks of a kind in the order in which they were first
// written, but for those that have mistakes already.
func (c *Config) Rules(kind string) []Rule {
	var out []Rule
	first := map[string]ref{}
	for _, name := range c.ko.MapKeys(kind) {
		for _, k := range c.ko.MapKeys(kind + delim + name) {
			at, ok := c.ko.Get(kind + delim + name + delim + k).(ref)
			if before, has := first[name]; ok && (!has || at < before) {
				first[name] = at
			}
		}
		if at, ok := first[name]; ok && !c.broken[kind+delim+name] {
			out = append(out, Rule{Kind: kind, Name: name, Origin: c.entries[at].origin, c: c})
		}
	}
	slices.SortFunc(out, func(a, b Rule) int { return int(first[a.Name] - first[b.Name]) })
	return out
}

func (r Rule) entry(key string) *entry { return r.c.entry(r.Kind + delim + r.Name + delim + key) }

// Has reports whether the block sets key.
func (r Rule) Has(key string) bool { return r.entry(key) != nil }

// Decode fills the struct that into points at with what the block sets, by the
// tags `hcl:"crawl_delay"`, as Config.Decode does. Fields that it does not set are
// left alone.
func (r Rule) Decode(into any) error {
	err := r.c.ko.UnmarshalWithConf(r.Kind+delim+r.Name, into, koanf.UnmarshalConf{
		DecoderConfig: &mapstructure.DecoderConfig{
			TagName: "hcl", Result: into,
			MatchName:  func(key, field string) bool { return key == field },
			DecodeHook: r.c.decodeHook,
		},
	})
	if err != nil {
		return fmt.Errorf("decode %s %q: %w", r.Kind, r.Name, err)
	}
	return nil
}

// Problem is trouble with the value of key, for the user to mend: with element i
// of its list, or with all of it when i is negative.
func (r Rule) Problem(key string, i int, format string, args ...any) hclconf.Problem {
	e := r.entry(key)
	switch {
	case e == nil:
		return hclconf.Problem{Where: r.Origin.String(), Text: fmt.Sprintf("%s %q: %s", r.Kind, r.Name, fmt.Sprintf(format, args...))}
	case i < 0:
		return e.about(format, args...)
	}
	return e.element(i, format, args...)
}

// Place returns where key is set; the block's origin when it is not.
func (r Rule) Place(key string) Origin {
	if e := r.entry(key); e != nil {
		return e.origin
	}
	return r.Origin
}
