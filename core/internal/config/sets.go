package config

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/manifest"
)

// envPrefix starts the names of the environment variables that are settings.
const envPrefix = "CRAWLER_"

// loadEnviron reads CRAWLER_SECTION__KEY, CRAWLER_PLUGIN__ID__KEY and
// CRAWLER_INDEX_WRITER__NAME__KEY.
func (c *Config) loadEnviron() {
	c.begin()
	names := make([]string, 0, len(c.environ))
	for n := range c.environ {
		if strings.HasPrefix(n, envPrefix) {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	for _, n := range names {
		parts := strings.Split(strings.ToLower(strings.TrimPrefix(n, envPrefix)), "__")
		if parts[0] == "plugin" && len(parts) > 2 {
			parts[1] = strings.ReplaceAll(parts[1], "_", "-")
		}
		c.noting(c.blockOf(parts), func() { c.environment(n, parts, c.environ[n]) })
	}
	c.commit()
}

// environment reads a variable; parts are those of its name, a plugin's id as it is.
func (c *Config) environment(name string, parts []string, text string) {
	e := &entry{raw: text, text: true, origin: Origin{Layer: Environment, Name: name}}
	switch {
	case len(parts) > 1 && !utf8.ValidString(text):
		c.problems = append(c.problems, e.problem("the value is not UTF-8"))
	case len(parts) == 1:
		c.singleUnderscore(name, parts[0])
	case len(parts) == 3 && parts[0] == "plugin":
		c.pluginBlocks = append(c.pluginBlocks, pluginBlock{id: parts[1], origin: e.origin})
		c.addFree(e, parts...)
	case len(parts) == 5 && parts[0] == "plugin":
		id, kind := parts[1], parts[2]
		name := c.keyOfEnv("plugin"+delim+id+delim+kind, parts[3])
		if name == "" {
			c.problems = append(c.problems, e.problem("there is no %s %q of plugin %s in the configuration files", kind, parts[3], id))
			return
		}
		c.pluginBlocks = append(c.pluginBlocks, pluginBlock{id: id, origin: e.origin})
		c.addFree(e, "plugin", id, kind, name, parts[4])
	case len(parts) == 3 && contains(instanceBlocks(), parts[0]):
		instance := c.keyOfEnv(parts[0], parts[1])
		if instance == "" {
			c.problems = append(c.problems, e.problem("there is no %s %q in the configuration files", parts[0], parts[1]))
			return
		}
		c.addFree(e, parts[0], instance, parts[2])
	case len(parts) == 3 && c.schema.rules[parts[0]] != nil:
		rule := c.keyOfEnv(parts[0], parts[1])
		if rule == "" {
			c.problems = append(c.problems, e.problem("there is no %s %q in the configuration files", parts[0], parts[1]))
			return
		}
		c.addRule(e, parts[0], rule, parts[2])
	case len(parts) == 2 && c.schema.settings[parts[0]+delim+parts[1]] != nil:
		c.addKnown(e, parts[0]+delim+parts[1])
	case len(parts) == 2 && c.schema.keys[parts[0]] != nil:
		c.problems = append(c.problems, e.problem("%s", c.schema.unknownKey(parts[0], parts[1])))
	default:
		c.problems = append(c.problems, e.problem("%s", c.unknownSection(parts[0])))
	}
}

// singleUnderscore explains CRAWLER_HTTP_AGENT_NAME. Other variables of that
// form are not ours to judge.
func (c *Config) singleUnderscore(name, rest string) {
	for key := range c.schema.settings {
		section, k, _ := strings.Cut(key, delim)
		if section+"_"+k == rest {
			c.problems = append(c.problems, hclconf.Problem{
				Where: Origin{Layer: Environment, Name: name}.String(),
				Text:  fmt.Sprintf("write %s%s__%s, with two \"_\" after the section", envPrefix, strings.ToUpper(section), strings.ToUpper(k)),
			})
			return
		}
	}
}

// keyOfEnv finds the key below prefix, such as an instance, that is written as
// name in the environment, or "".
func (c *Config) keyOfEnv(prefix, name string) string {
	for _, n := range c.ko.MapKeys(prefix) {
		if strings.ToLower(strings.ReplaceAll(n, "-", "_")) == name {
			return n
		}
	}
	return ""
}

// loadSets reads -D key=value.
func (c *Config) loadSets(sets []string) {
	c.begin()
	for _, s := range sets {
		key, text, ok := strings.Cut(s, "=")
		key = strings.TrimSpace(key)
		e := &entry{raw: text, text: true, origin: Origin{Layer: CommandLine, Name: key}}
		if !ok || key == "" {
			c.problems = append(c.problems, hclconf.Problem{Where: "-D " + s, Text: "write -D section.key=value"})
			continue
		}
		if !utf8.ValidString(text) {
			c.problems = append(c.problems, e.problem("the value is not UTF-8"))
			continue
		}
		c.set(e, key)
	}
	c.commit()
}

func (c *Config) set(e *entry, key string) {
	if found, nutch := c.schema.find(key); len(found) > 0 {
		for _, f := range found {
			each := *e
			each.nutch, each.unit = nutch, f.unit
			c.noting(c.blockOf(strings.Split(f.key, delim)), func() { c.addKnown(&each, f.key) })
		}
		return
	}
	parts := strings.Split(key, ".")
	c.noting(c.blockOf(parts), func() { c.setFree(e, key, parts) })
}

// setFree reads a setting of a named block, or one that no section has.
func (c *Config) setFree(e *entry, key string, parts []string) {
	switch {
	case len(parts) == 3 && parts[0] == "plugin" && manifest.ValidID(parts[1]):
		c.pluginBlocks = append(c.pluginBlocks, pluginBlock{id: parts[1], origin: e.origin})
		c.addFree(e, parts...)
	case len(parts) == 5 && parts[0] == "plugin" && manifest.ValidID(parts[1]) && validInstance(parts[3]):
		c.pluginBlocks = append(c.pluginBlocks, pluginBlock{id: parts[1], origin: e.origin})
		c.namedBlocks = append(c.namedBlocks, namedBlock{id: parts[1], kind: parts[2], name: parts[3], origin: e.origin})
		c.addFree(e, parts...)
	case len(parts) == 3 && contains(instanceBlocks(), parts[0]) && validInstance(parts[1]):
		c.addFree(e, parts...)
	case len(parts) == 3 && c.schema.rules[parts[0]] != nil && validInstance(parts[1]):
		c.addRule(e, parts[0], parts[1], parts[2])
	default:
		e.key = key
		c.unresolved = append(c.unresolved, e)
	}
}

// addKnown adds the value of a setting of the core.
func (c *Config) addKnown(e *entry, key string) {
	section, name, _ := strings.Cut(key, delim)
	e.key, e.name = key, name
	if err := e.convert(c.schema.settings[key]); err != nil {
		c.problems = append(c.problems, e.wrong(err))
		return
	}
	c.checkFile(e)
	c.add(e, section, name)
}

// addFree adds a value that a manifest explains later.
func (c *Config) addFree(e *entry, path ...string) {
	e.key, e.name = strings.Join(path, delim), path[len(path)-1]
	c.add(e, path...)
}

// unknownSet explains a -D that nothing stands for. Plugins are the keys and
// Nutch properties of the plugins' settings, ids their ids.
func (c *Config) unknownSet(key string, plugins, ids []string) string {
	instead, plugin, sure := nutchInstead(key)
	if plugin != "" && !contains(ids, plugin) {
		return fmt.Sprintf("Nutch's %s belongs to plugin %s, which is not installed", key, plugin)
	}
	if sure {
		return instead
	}
	section, name, ok := strings.Cut(key, ".")
	if !ok {
		return c.noSection(key)
	}
	known := append([]string(nil), plugins...)
	for k := range c.schema.settings {
		known = append(known, k)
	}
	for p := range c.schema.nutch {
		known = append(known, p)
	}
	if near := hclconf.Suggest(key, known); near != "" {
		return fmt.Sprintf("there is no setting %s; did you mean %q?", key, near)
	}
	if instead != "" {
		return instead
	}
	if c.schema.keys[section] != nil {
		return c.schema.unknownKey(section, strings.ReplaceAll(name, ".", "_"))
	}
	return c.unknownSection(section)
}

// noSection explains -D timeout=5s.
func (c *Config) noSection(key string) string {
	var keys []string
	for _, s := range c.schema.sections {
		if c.schema.settings[s+delim+key] != nil {
			keys = append(keys, s+delim+key)
		}
	}
	if len(keys) > 0 {
		return fmt.Sprintf("the section is missing: write -D %s=...", strings.Join(keys, "=... or -D "))
	}
	return fmt.Sprintf("there is no setting %s; write -D section.key=value", key)
}
