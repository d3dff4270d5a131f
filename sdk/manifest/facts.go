package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/andybalholm/cascadia"

	"github.com/gonutch/crawler/sdk/model"
)

// Fact is a fact block: one fact, or with Setting as many as the user's
// setting names.
type Fact struct {
	model.Fact
	// Setting names a setting of type list or map. Each element of a list, and
	// each value of a map in the order of its keys, is the argument of one fact;
	// for selectors as model.ParseSelector reads it.
	Setting string `json:",omitempty"`
}

// Facts returns the facts that the plugin wants under its effective settings,
// own, in the order of the manifest: what Parse.Facts answers. A setting that
// own leaves out has its default. Errors name the setting.
func (m *Manifest) Facts(own json.RawMessage) ([]model.Fact, error) {
	var given map[string]json.RawMessage
	var out []model.Fact
	for _, f := range m.Needs.Facts {
		if f.Setting == "" {
			out = append(out, f.Fact)
			continue
		}
		if given == nil && len(own) > 0 {
			if err := json.Unmarshal(own, &given); err != nil {
				return nil, fmt.Errorf("settings of plugin %s: %w", m.ID, err)
			}
		}
		args, err := m.factArgs(f.Setting, given[f.Setting])
		if err != nil {
			return nil, fmt.Errorf("setting %s of plugin %s: %w", f.Setting, m.ID, err)
		}
		for _, arg := range args {
			fact := f.Fact
			fact.Arg = arg
			if f.Kind == model.FactSelector {
				if fact, err = model.ParseSelector(arg); err != nil {
					return nil, fmt.Errorf("setting %s of plugin %s: %w", f.Setting, m.ID, err)
				}
				fact.Max = f.Max
			}
			if err := checkArg(fact); err != nil {
				return nil, fmt.Errorf("setting %s of plugin %s: %w", f.Setting, m.ID, err)
			}
			out = append(out, fact)
		}
	}
	return out, nil
}

// checkArg reports an argument that no parser can work with, so that it is an
// error at start and not on every page.
func checkArg(f model.Fact) error {
	switch f.Kind {
	case model.FactSelector:
		if _, err := cascadia.ParseGroup(f.Arg); err != nil {
			return fmt.Errorf("selector %q: %w", f.Arg, err)
		}
	case model.FactHeading:
		if len(f.Arg) != 2 || f.Arg[0] != 'h' || f.Arg[1] < '1' || f.Arg[1] > '6' {
			return fmt.Errorf("%q is no heading: write h1 to h6", f.Arg)
		}
	default:
		if f.Arg == "" {
			return fmt.Errorf("fact %s needs to know what to look for, not \"\"", f.Kind)
		}
	}
	return nil
}

// factArgs returns the arguments that setting name gives; raw is nil when it
// has its default.
func (m *Manifest) factArgs(name string, raw json.RawMessage) ([]string, error) {
	i := slices.IndexFunc(m.Settings, func(s Setting) bool { return s.Name == name })
	if i < 0 { // Read has checked it
		return nil, fmt.Errorf("not in the manifest")
	}
	if m.Settings[i].Type == Map {
		byKey, _ := m.Settings[i].Default.(map[string]string)
		if raw != nil {
			byKey = nil
			if err := json.Unmarshal(raw, &byKey); err != nil {
				return nil, err
			}
		}
		out := make([]string, 0, len(byKey))
		for _, k := range slices.Sorted(maps.Keys(byKey)) {
			out = append(out, byKey[k])
		}
		return out, nil
	}
	list, _ := m.Settings[i].Default.([]string)
	if raw != nil {
		list = nil
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
	}
	return list, nil
}
