package config

import (
	"fmt"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/manifest"
)

// instanceBlocks are the blocks that configure instances of a plugin.
func instanceBlocks() []string { return []string{"index_writer", "exchange"} }

// fileLayer reads one HCL file into entries.
type fileLayer struct {
	c     *Config
	layer Layer
	file  *hclconf.File
	ctx   *hcl.EvalContext
	seen  map[string]hcl.Range // blocks
}

// inOrder returns attributes in the order they were written.
func inOrder(attrs hclsyntax.Attributes) []*hclsyntax.Attribute {
	out := make([]*hclsyntax.Attribute, 0, len(attrs))
	for _, a := range attrs {
		out = append(out, a)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].NameRange.Start.Byte < out[j].NameRange.Start.Byte })
	return out
}

func (l *fileLayer) problem(at hcl.Range, format string, args ...any) {
	l.c.problems = append(l.c.problems, l.file.Problem(at, format, args...))
}

// place is where a section, or with the key "" a file, starts in the user's
// files.
type place struct {
	file *hclconf.File
	at   hcl.Range
}

// read walks a file's body.
func (l *fileLayer) read(body *hclsyntax.Body) {
	if l.layer != Default {
		l.c.places[""] = place{l.file, hcl.Range{Start: hcl.InitialPos, End: hcl.InitialPos}}
	}
	for _, a := range inOrder(body.Attributes) {
		l.stray(a)
	}
	for _, b := range body.Blocks {
		key := strings.Join(append([]string{b.Type}, b.Labels...), "\x00")
		if first, ok := l.seen[key]; ok {
			name := strings.TrimSpace(b.Type + " " + quoted(b.Labels))
			l.problem(b.DefRange(), "%s { ... } was written before, at line %d; merge the two", name, first.Start.Line)
			continue
		}
		l.seen[key] = b.DefRange()
		l.c.noting(l.c.blockOf(append([]string{b.Type}, append(b.Labels, "")...)), func() { l.block(b) })
	}
}

func quoted(labels []string) string {
	out := make([]string, len(labels))
	for i, s := range labels {
		out[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(out, " ")
}

func (l *fileLayer) block(b *hclsyntax.Block) {
	switch {
	case b.Type == "plugin" && len(b.Labels) == 1:
		l.plugin(b)
	case contains(instanceBlocks(), b.Type):
		l.instance(b)
	case l.c.schema.rules[b.Type] != nil:
		l.rule(b)
	case l.c.schema.keys[b.Type] == nil:
		l.problem(b.TypeRange, "%s", l.c.unknownSection(b.Type))
	case len(b.Labels) > 0:
		l.problem(b.LabelRanges[0], "%s takes no name: write %s { ... }", b.Type, b.Type)
	default:
		l.section(b)
	}
}

func (c *Config) unknownSection(name string) string {
	if strings.Contains(name, "-") && manifest.ValidID(name) {
		return fmt.Sprintf("there is no section %s; settings of a plugin are written plugin %q { ... }", name, name)
	}
	known := append(append([]string(nil), c.schema.sections...), append(instanceBlocks(), c.schema.ruleKinds()...)...)
	if _, plugin, _ := nutchInstead(name + "."); plugin != "" {
		return fmt.Sprintf("there is no section %s; its settings belong to plugin %s: write plugin %q { ... }", name, plugin, plugin)
	}
	if s := hclconf.Suggest(name, known); s != "" {
		return fmt.Sprintf("there is no section %s; did you mean %q?", name, s)
	}
	if instead, _, _ := nutchInstead(name + "."); instead != "" {
		return fmt.Sprintf("there is no section %s; %s", name, instead)
	}
	return fmt.Sprintf("there is no section %s; the sections are %s", name, strings.Join(known, ", "))
}

// stray explains a setting outside a block.
func (l *fileLayer) stray(a *hclsyntax.Attribute) {
	var sections []string
	for _, s := range l.c.schema.sections {
		if l.c.schema.settings[s+"."+a.Name] != nil {
			sections = append(sections, s)
		}
	}
	switch {
	case l.c.schema.keys[a.Name] != nil:
		l.problem(a.NameRange, "%s is a section: write %s { ... } without =", a.Name, a.Name)
	case len(sections) > 0:
		l.problem(a.NameRange, "%s stands outside a section; write %s { %s = ... }", a.Name, strings.Join(sections, " or "), a.Name)
	default:
		l.problem(a.NameRange, "%s stands outside a section; write section { %s = ... }", a.Name, a.Name)
	}
}

func (l *fileLayer) section(b *hclsyntax.Block) {
	if l.layer != Default {
		l.c.places[b.Type] = place{l.file, b.TypeRange}
	}
	for _, a := range inOrder(b.Body.Attributes) {
		s := l.c.schema.settings[b.Type+"."+a.Name]
		if s == nil {
			l.problem(a.NameRange, "%s", l.c.schema.unknownKey(b.Type, a.Name))
			continue
		}
		e := l.entry([]string{b.Type, a.Name}, a)
		if e == nil {
			continue
		}
		if err := e.convert(s); err != nil {
			l.c.problems = append(l.c.problems, e.wrong(err))
			continue
		}
		l.c.checkFile(e)
		l.c.add(e, b.Type, a.Name)
	}
	for _, nested := range b.Body.Blocks {
		if l.c.schema.settings[b.Type+"."+nested.Type] != nil {
			l.problem(nested.TypeRange, "%s is not a block: write %s = ...", nested.Type, nested.Type)
		} else {
			l.problem(nested.TypeRange, "there is no block %s in %s; settings are written key = value", nested.Type, b.Type)
		}
	}
}

func (l *fileLayer) plugin(b *hclsyntax.Block) {
	id := b.Labels[0]
	if !manifest.ValidID(id) || l.c.schema.settings["plugin."+id] != nil {
		l.problem(b.LabelRanges[0], "%q is not a plugin's id", id)
		return
	}
	l.c.pluginBlocks = append(l.c.pluginBlocks, pluginBlock{id: id, file: l.file, at: b.LabelRanges[0]})
	for _, a := range inOrder(b.Body.Attributes) {
		if e := l.entry([]string{"plugin", id, a.Name}, a); e != nil {
			l.c.add(e, "plugin", id, a.Name)
		}
	}
	for _, nested := range b.Body.Blocks {
		l.named(id, nested)
	}
}

// named reads a named block inside a plugin block, such as site "intranet".
func (l *fileLayer) named(id string, b *hclsyntax.Block) {
	if len(b.Labels) != 1 {
		l.problem(b.TypeRange, "settings of plugins are written key = value; for a map write %s = { ... }", b.Type)
		return
	}
	name := b.Labels[0]
	if !validInstance(name) {
		l.problem(b.LabelRanges[0], "%s %q: want a name of letters, digits, \"_\" and \"-\"", b.Type, name)
		return
	}
	key := strings.Join([]string{"plugin", id, b.Type, name}, "\x00")
	if first, ok := l.seen[key]; ok {
		l.problem(b.DefRange(), "%s %q was written before, at line %d; merge the two", b.Type, name, first.Start.Line)
		return
	}
	l.seen[key] = b.DefRange()
	l.c.namedBlocks = append(l.c.namedBlocks, namedBlock{id: id, kind: b.Type, name: name, file: l.file, at: b.TypeRange})
	for _, a := range inOrder(b.Body.Attributes) {
		path := []string{"plugin", id, b.Type, name, a.Name}
		if e := l.entry(path, a); e != nil {
			l.c.add(e, path...)
		}
	}
	for _, nested := range b.Body.Blocks {
		l.problem(nested.TypeRange, "%s takes no blocks; for a map write %s = { ... }", b.Type, nested.Type)
	}
}

// entry evaluates a. It returns nil after reporting a problem.
func (l *fileLayer) entry(path []string, a *hclsyntax.Attribute) *entry {
	v, ps := l.file.Eval(a.Expr, l.ctx)
	if ps != nil {
		l.c.problems = append(l.c.problems, ps...)
		return nil
	}
	external := callsFunction(a.Expr)
	return &entry{
		key: strings.Join(path, "."), name: path[len(path)-1], raw: v, text: external, redacted: external,
		file: l.file, at: a.Expr.Range(), keyAt: a.NameRange, elements: elements(a.Expr),
		origin: Origin{Layer: l.layer, File: l.file.Name, Line: a.NameRange.Start.Line, Column: a.NameRange.Start.Column},
	}
}

func elements(expr hclsyntax.Expression) []hcl.Range {
	list, ok := expr.(*hclsyntax.TupleConsExpr)
	if !ok {
		return nil
	}
	out := make([]hcl.Range, len(list.Exprs))
	for i, e := range list.Exprs {
		out[i] = e.Range()
	}
	return out
}

// callsFunction reports whether expr uses env() or file(); what comes from
// there is never shown.
func callsFunction(expr hclsyntax.Expression) bool {
	found := false
	_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics { // the visitor returns none
		if _, ok := n.(*hclsyntax.FunctionCallExpr); ok {
			found = true
		}
		return nil
	})
	return found
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
