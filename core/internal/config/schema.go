package config

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/manifest"
)

// DefaultsName is what messages call the embedded defaults.
const DefaultsName = "nutch-default.hcl"

// schema is what nutch-default.hcl says: the settings of the core. Each is
// preceded by comment lines: its meaning, then optionally
//
//	# Type: duration, min 1s, max 1h, or -1, secret
//	# Type: one of host, domain
//	# Nutch: fetcher.server.delay (s); other.property
//
// Without a Type line the type is that of the default: true and false bool, a
// number int, a number with a fraction float, a list list, a map map, a text
// string. A parenthesis holds the unit of Nutch's bare numbers or, for texts,
// NutchName=ours pairs. One property may stand at several settings.
type schema struct {
	sections []string                      // in file order
	keys     map[string][]string           // section → keys in file order
	settings map[string]*manifest.Setting  // by "section.key"
	nutch    map[string][]nutchName        // Nutch property → settings
	rules    map[string][]manifest.Setting // what named blocks such as sheet "*" take, by kind
}

// nutchName is a setting that stands for a Nutch property.
type nutchName struct {
	key  string // "section.key"
	unit string
}

func readSchema(f *hclconf.File, body *hclsyntax.Body) (*schema, hclconf.Problems) {
	s := &schema{
		keys: map[string][]string{}, settings: map[string]*manifest.Setting{}, nutch: map[string][]nutchName{},
		rules: map[string][]manifest.Setting{},
	}
	lines := strings.Split(string(f.Src), "\n")
	var ps hclconf.Problems
	for _, b := range body.Blocks {
		if len(b.Labels) == 1 && b.Labels[0] == templateName {
			ps = append(ps, s.template(f, b, lines)...)
		}
		if len(b.Labels) > 0 {
			continue
		}
		s.sections = append(s.sections, b.Type)
		for _, a := range inOrder(b.Body.Attributes) {
			set, names, err := documented(lines, a, f)
			if err != nil {
				ps = append(ps, f.Problem(a.NameRange, "%v", err))
				continue
			}
			key := b.Type + "." + a.Name
			s.keys[b.Type] = append(s.keys[b.Type], a.Name)
			s.settings[key] = set
			for property, unit := range names {
				s.nutch[property] = append(s.nutch[property], nutchName{key, unit})
			}
		}
	}
	return s, ps
}

// documented reads the comment above attribute a.
func documented(lines []string, a *hclsyntax.Attribute, f *hclconf.File) (*manifest.Setting, map[string]string, error) {
	set := &manifest.Setting{Name: a.Name, Line: a.NameRange.Start.Line}
	first := set.Line - 1
	for first > 0 && strings.HasPrefix(strings.TrimSpace(lines[first-1]), "#") {
		first--
	}
	names := map[string]string{}
	var meaning []string
	for _, l := range lines[first : set.Line-1] {
		l = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(l), "#"))
		switch {
		case strings.HasPrefix(l, "Type:"):
			if err := parseType(set, strings.TrimPrefix(l, "Type:")); err != nil {
				return nil, nil, err
			}
		case strings.HasPrefix(l, "Nutch:"):
			list := strings.TrimPrefix(l, "Nutch:")
			for _, one := range strings.Split(list, ";") {
				property, unit := manifest.SplitNutch(one)
				names[property] = unit
				if set.Nutch == "" {
					set.Nutch, set.NutchUnit = property, unit
				}
			}
		default:
			meaning = append(meaning, l)
		}
	}
	set.Meaning = strings.Join(meaning, " ")
	if set.Meaning == "" {
		return nil, nil, fmt.Errorf("%s has no comment that says what it means", a.Name)
	}
	v, ps := f.Eval(a.Expr, nil)
	if ps != nil {
		return nil, nil, ps
	}
	if set.Type == "" {
		set.Type = typeOf(v)
	}
	var err error
	if set.Default, err = set.Check(v); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	return set, names, nil
}

func parseType(set *manifest.Setting, text string) error {
	text = strings.TrimSpace(text)
	if list, ok := strings.CutPrefix(text, "one of "); ok {
		set.Type = manifest.String
		for _, w := range strings.Split(list, ",") {
			set.OneOf = append(set.OneOf, strings.TrimSpace(w))
		}
		return nil
	}
	for i, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		switch {
		case i == 0:
			set.Type = manifest.Type(word)
			known := false
			for _, t := range manifest.Types() {
				known = known || t == set.Type
			}
			if !known {
				return fmt.Errorf("unknown type %q", word)
			}
		case word == "secret":
			set.Secret = true
		case word == "or -1":
			set.Off = true
		case strings.HasPrefix(word, "min "):
			set.Min = strings.TrimPrefix(word, "min ")
		case strings.HasPrefix(word, "max "):
			set.Max = strings.TrimPrefix(word, "max ")
		default:
			return fmt.Errorf("unknown word %q in a Type line", word)
		}
	}
	return nil
}

func typeOf(v any) manifest.Type {
	switch v.(type) {
	case bool:
		return manifest.Bool
	case int64:
		return manifest.Int
	case float64:
		return manifest.Float
	case []any:
		return manifest.List
	case map[string]any:
		return manifest.Map
	}
	return manifest.String
}

// find returns the settings that key names in any spelling: ours, Nutch's, or
// ours with dots for "_". Nutch says whether bare numbers in Nutch's unit are
// taken.
func (s *schema) find(key string) (found []nutchName, nutch bool) {
	if names := s.nutch[key]; names != nil {
		return names, true
	}
	section, rest, ok := strings.Cut(key, ".")
	if !ok {
		return nil, false
	}
	for _, k := range []string{key, section + "." + strings.NewReplacer(".", "_", "-", "_").Replace(rest)} {
		if s.settings[k] != nil {
			return []nutchName{{key: k}}, false
		}
	}
	return nil, false
}

// unknownKey says what to write instead of section.name.
func (s *schema) unknownKey(section, name string) string {
	text := fmt.Sprintf("there is no setting %s in %s", name, section)
	dotted := section + "." + strings.ReplaceAll(name, "_", ".")
	for property, names := range s.nutch {
		if property == dotted || ruleName(property) == section+"."+name {
			keys := make([]string, len(names))
			for i, n := range names {
				keys[i] = n.key
			}
			return fmt.Sprintf("%s; Nutch's %s is called %s here", text, property, strings.Join(keys, " and "))
		}
	}
	instead, _, sure := nutchInstead(dotted)
	if sure {
		return instead
	}
	if near := hclconf.Suggest(name, s.keys[section]); near != "" {
		return fmt.Sprintf("%s; did you mean %q?", text, near)
	}
	for _, other := range s.sections {
		if s.settings[other+"."+name] != nil {
			return fmt.Sprintf("%s; it belongs in %s { ... }", text, other)
		}
	}
	if instead != "" {
		return instead
	}
	return text + "; crawler config show lists all settings"
}

// ruleName is the setting that a property would be by the general rule: section
// is its first word, the key is the rest joined by "_".
func ruleName(property string) string {
	section, rest, _ := strings.Cut(property, ".")
	return section + "." + strings.NewReplacer(".", "_", "-", "_").Replace(rest)
}
