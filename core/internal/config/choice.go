package config

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/manifest"
)

// Choice is the plugins that take part, and their order at each point.
type Choice struct {
	Plugins []*manifest.Manifest // by id
	// ScopeOrder holds, by scope, the ids of the URL normalizers that run first
	// there; the rest follows by id (urlnormalizer.order_by_scope).
	ScopeOrder map[string][]string
	// ParserTypes holds, by MIME type, the ids of the parsers tried (parser.mime_types).
	ParserTypes map[string][]string
	// ProtocolOf holds, by scheme or host, the id of the plugin that fetches it
	// (protocol.plugins).
	ProtocolOf map[string]string
	// ProtocolRules are tried in order before ProtocolOf (protocol.rules).
	ProtocolRules []ProtocolRule
	chains        map[string][]*manifest.Manifest
}

// ProtocolRule names the plugin that fetches the URLs that match.
type ProtocolRule struct {
	ID  string
	URL *regexp.Regexp
}

// Chain returns the chosen plugins that provide point, in the order they run.
func (c *Choice) Chain(point string) []*manifest.Manifest { return c.chains[point] }

// Choose applies plugin.includes, excludes, add and remove to the known
// manifests, with the plugins that index_writer and exchange blocks name, and orders each point by its order setting: what is listed runs
// first, the rest in id order (Nutch takes the list as a whitelist and leaves
// the rest's order open). A name of the user that matches nothing and a
// requirement that is not met are errors; the error holds all of them, and comes with what
// could be chosen.
func (c *Config) Choose(manifests []*manifest.Manifest) (*Choice, error) {
	ch := &chooser{c: c, known: append([]*manifest.Manifest(nil), manifests...), why: map[string]*entry{}}
	sort.Slice(ch.known, func(i, j int) bool { return ch.known[i].ID < ch.known[j].ID })
	for _, m := range ch.known {
		ch.ids = append(ch.ids, m.ID)
	}
	ch.choose()
	out := &Choice{chains: map[string][]*manifest.Manifest{}}
	for _, m := range ch.known {
		if ch.why[m.ID] != nil {
			out.Plugins = append(out.Plugins, m)
		}
	}
	ch.requirements(out.Plugins)
	ch.instances(out.Plugins)
	for _, point := range manifest.Points() {
		out.chains[point] = ch.order(point, out.Plugins)
	}
	out.ScopeOrder = ch.assigned("urlnormalizer.order_by_scope", manifest.URLNormalizer, out.Plugins)
	out.ParserTypes = ch.assigned("parser.mime_types", manifest.Parser, out.Plugins)
	out.ProtocolRules = ch.protocolRules(out.Plugins)
	out.ProtocolOf = ch.protocolMapping(out.Plugins)
	for k, ids := range ch.assigned("protocol.plugins", manifest.Protocol, out.Plugins) {
		if len(ids) > 0 {
			out.ProtocolOf[k] = ids[0]
		}
	}
	return out, ch.problems.Err()
}

// Without returns the choice without some plugins, and without what names plugins.
func (c *Choice) Without(which func(*manifest.Manifest) bool) *Choice {
	if !slices.ContainsFunc(c.Plugins, which) {
		return c
	}
	out := &Choice{Plugins: slices.DeleteFunc(slices.Clone(c.Plugins), which), chains: map[string][]*manifest.Manifest{}}
	for point, list := range c.chains {
		out.chains[point] = slices.DeleteFunc(slices.Clone(list), which)
	}
	return out
}

// Sound returns the choice without plugins whose settings have mistakes.
func (c *Config) Sound(choice *Choice) *Choice {
	return choice.Without(func(m *manifest.Manifest) bool { return c.broken["plugin"+delim+m.ID] })
}

type chooser struct {
	c        *Config
	known    []*manifest.Manifest // by id
	ids      []string
	why      map[string]*entry // id → the setting that chose it
	problems hclconf.Problems
}

func (ch *chooser) problem(e *entry, format string, args ...any) {
	ch.problems = append(ch.problems, e.problem(format, args...))
}

func (ch *chooser) choose() {
	includes, excludes := ch.c.entry("plugin.includes"), ch.c.entry("plugin.excludes")
	for _, id := range ch.matching(includes) {
		ch.why[id] = includes
	}
	ch.blocks(func(e *entry, id, _ string) { ch.why[id] = e })
	for _, id := range ch.matching(excludes) {
		delete(ch.why, id)
	}
	for _, id := range ch.listed("plugin.add") {
		ch.why[id] = ch.c.entry("plugin.add")
	}
	for _, id := range ch.listed("plugin.remove") {
		delete(ch.why, id)
	}
}

// listed returns the known ids of a list of ids.
func (ch *chooser) listed(key string) []string {
	e := ch.c.entry(key)
	list, _ := e.value.([]string)
	var out []string
	for i, id := range list {
		if contains(ch.ids, id) {
			out = append(out, id)
		} else {
			ch.problems = append(ch.problems, e.element(i, "there is no plugin %q%s", id, hclconf.DidYouMean(id, ch.ids)))
		}
	}
	return out
}

// matching returns the ids that a regular expression matches in full, and
// reports each of its alternatives that matches none.
func (ch *chooser) matching(e *entry) []string {
	text, _ := e.value.(string)
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	re, err := fullMatch(text)
	if err != nil {
		ch.problems = append(ch.problems, e.wrong(err))
		return nil
	}
	var out []string
	for _, id := range ch.ids {
		if re.MatchString(id) {
			out = append(out, id)
		}
	}
	if e.origin.Layer != Default { // the built binary's own test sees to the default's
		for _, alt := range alternatives(text) {
			ch.checkAlternative(e, text, alt)
		}
	}
	return out
}

func fullMatch(text string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(text); err != nil { // without the group, so that ")(" is refused
		return nil, fmt.Errorf("%q is no regular expression: %s", text, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return regexp.Compile(`^(?:` + text + `)$`)
}

func (ch *chooser) checkAlternative(e *entry, text string, alt alternative) {
	if re, err := fullMatch(alt.text); err == nil {
		for _, id := range ch.ids {
			if re.MatchString(id) {
				return
			}
		}
	}
	what := fmt.Sprintf("%q matches no plugin%s", alt.text, hclconf.DidYouMean(alt.text, ch.ids))
	if alt.text == "" {
		what = "there is nothing between two \"|\""
	}
	p := e.about("%s", what)
	if e.file != nil && e.file.Text(e.at) == `"`+text+`"` { // no escapes: the caret can point into the text
		at := e.at
		at.Start.Byte, at.Start.Column = at.Start.Byte+1+alt.from, at.Start.Column+1+alt.from
		at.End.Byte = e.at.Start.Byte + 1 + alt.to
		p = e.file.Problem(at, "%s", p.Text)
	}
	ch.problems = append(ch.problems, p)
}

func (ch *chooser) requirements(chosen []*manifest.Manifest) {
	for _, m := range chosen {
		for _, id := range m.Requires {
			switch {
			case ch.why[id] != nil:
			case contains(ch.ids, id):
				ch.problem(ch.why[m.ID], "plugin %s requires %s, which is not chosen: write plugin { add = [%q] }", m.ID, id, id)
			default:
				ch.problem(ch.why[m.ID], "plugin %s requires %s, which is not installed%s", m.ID, id, hclconf.DidYouMean(id, ch.ids))
			}
		}
	}
}

// blocks calls f for each enabled index_writer and exchange block of the user
// that names a known plugin: the block is reason enough to start it.
func (ch *chooser) blocks(f func(e *entry, id, kind string)) {
	for _, kind := range instanceBlocks() {
		for _, name := range ch.c.ko.MapKeys(kind) {
			e := ch.c.entry(kind + delim + name + delim + "plugin")
			if e == nil || e.origin.Layer == Default || !ch.c.enabled(kind, name) {
				continue
			}
			if id := fmt.Sprint(e.value); contains(ch.ids, id) {
				f(e, id, kind)
			}
		}
	}
}

// instances reports blocks whose plugin the user excludes or removes.
func (ch *chooser) instances(chosen []*manifest.Manifest) {
	ch.blocks(func(e *entry, id, kind string) {
		if byID(chosen, id) == nil {
			ch.problem(e, "plugin %s is left out by plugin { excludes } or { remove }: let it in, or write enabled = false in this %s", id, kind)
		}
	})
}

// order returns the chosen plugins of point in the order they run.
func (ch *chooser) order(point string, chosen []*manifest.Manifest) []*manifest.Manifest {
	var rest []*manifest.Manifest
	for _, m := range chosen {
		if _, ok := m.Provided(point); ok {
			rest = append(rest, m)
		}
	}
	e := ch.c.entry(point + delim + "order")
	if e == nil {
		return rest
	}
	list, _ := e.value.([]string)
	var out []*manifest.Manifest
	for i, name := range list {
		m, wrong := ch.pick(name, point, chosen)
		switch {
		case wrong != "" && e.origin.Layer != Default:
			ch.problems = append(ch.problems, e.element(i, "%s", wrong))
		case wrong != "":
		case byID(out, m.ID) != nil:
			ch.problems = append(ch.problems, e.element(i, "%q is listed twice", name))
		default:
			out = append(out, m)
		}
	}
	for _, m := range rest {
		if byID(out, m.ID) == nil {
			out = append(out, m)
		}
	}
	return out
}

// pick finds the chosen plugin called name at point, or says what is wrong.
func (ch *chooser) pick(name, point string, chosen []*manifest.Manifest) (*manifest.Manifest, string) {
	m := Provider(name, point, ch.known)
	if m == nil {
		return nil, fmt.Sprintf("no %s is called %q%s", point, name, hclconf.DidYouMean(name, providers(point, ch.known)))
	}
	if byID(chosen, m.ID) == nil {
		return nil, fmt.Sprintf("plugin %s is not chosen: write plugin { add = [%q] }, or take it from the list", m.ID, m.ID)
	}
	return m, ""
}

// assigned reads a map of names to plugins separated by commas.
func (ch *chooser) assigned(key, point string, chosen []*manifest.Manifest) map[string][]string {
	e := ch.c.entry(key)
	if e == nil {
		return nil
	}
	texts, _ := e.value.(map[string]string)
	out := make(map[string][]string, len(texts))
	for _, k := range sortedKeys(texts) {
		for _, name := range strings.Split(texts[k], ",") {
			if m, wrong := ch.pick(strings.TrimSpace(name), point, chosen); wrong != "" {
				ch.problems = append(ch.problems, e.about("%s: %s", k, wrong))
			} else {
				out[k] = append(out[k], m.ID)
			}
		}
	}
	return out
}

func sortedKeys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// Provider finds a provider of point by plugin id, extension id, or Nutch's class
// name, whose last part is the extension id; nil when there is none.
func Provider(name, point string, known []*manifest.Manifest) *manifest.Manifest {
	for _, m := range known {
		p, ok := m.Provided(point)
		if ok && (m.ID == name || p.Extension == name || strings.HasSuffix(name, "."+p.Extension)) {
			return m
		}
	}
	return nil
}

func providers(point string, known []*manifest.Manifest) []string {
	var ids []string
	for _, m := range known {
		if _, ok := m.Provided(point); ok {
			ids = append(ids, m.ID)
		}
	}
	return ids
}
