package manifest

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/setting"
)

// MaxConcurrency bounds what a manifest may ask for.
const MaxConcurrency = 1024

// Read parses and checks the manifest src; filename is for messages. All
// problems are collected into one error of type hclconf.Problems, each with
// file, line, column and what to write instead. src is kept and must not change.
func Read(filename string, src []byte) (*Manifest, error) {
	f, body, ps := hclconf.Parse(filename, src)
	if ps != nil {
		return nil, ps.Err()
	}
	r := &reader{file: f, m: &Manifest{Cache: true, Source: src, File: filename}, bad: map[int]bool{}, factSettings: map[int]hcl.Range{}}
	r.top(body)
	if err := r.problems.Err(); err != nil {
		return nil, err
	}
	return r.m, nil
}

// idRE has no "_", so that environment variables can write "-" as "_".
func idRE() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`) }

// ValidID reports whether id can be a plugin's id.
func ValidID(id string) bool { return len(id) <= 64 && idRE().MatchString(id) }

func nameRE() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]*$`) }

type reader struct {
	file     *hclconf.File
	m        *Manifest
	problems hclconf.Problems
	bad      map[int]bool // offsets of keys whose value was refused; they are not judged again
	// factSettings is where the fact of this index names its setting.
	factSettings map[int]hcl.Range
}

func (r *reader) problem(at hcl.Range, format string, args ...any) {
	r.problems = append(r.problems, r.file.Problem(at, format, args...))
}

// field is a known key of a block: its type and where its value goes.
type field struct {
	Setting
	set func(v any, at hcl.Range)
}

// block is a known block type of a block.
type block struct {
	name   string
	labels int
	many   bool
	read   func(b *hclsyntax.Block)
}

// body reads the keys and blocks of b; what is not listed is a problem. Where
// names the block in messages, such as "provide".
func (r *reader) body(b *hclsyntax.Body, where string, fields []field, blocks []block) map[string]hcl.Range {
	known := make([]string, 0, len(fields)+len(blocks))
	for i := range fields {
		known = append(known, fields[i].Name)
	}
	for _, k := range blocks {
		known = append(known, k.name)
	}
	given := map[string]hcl.Range{}
	for name, attr := range b.Attributes {
		given[name] = attr.NameRange
		if !r.attribute(attr, fields) {
			r.unknown(attr.NameRange, where, name, known, blocks)
		}
	}
	for _, hb := range b.Blocks {
		r.block(hb, where, known, fields, blocks, given)
	}
	return given
}

func (r *reader) attribute(attr *hclsyntax.Attribute, fields []field) bool {
	for i := range fields {
		if fields[i].Name != attr.Name {
			continue
		}
		v, ps := r.file.Eval(attr.Expr, nil)
		if ps != nil {
			r.problems = append(r.problems, ps...)
			r.bad[attr.NameRange.Start.Byte] = true
			return true
		}
		if fields[i].Type != "" { // "" takes any value
			var err error
			if v, err = fields[i].Check(v); err != nil {
				r.problem(attr.Expr.Range(), "%s: %v", attr.Name, err)
				r.bad[attr.NameRange.Start.Byte] = true
				return true
			}
		}
		fields[i].set(v, attr.Expr.Range())
		return true
	}
	return false
}

func (r *reader) unknown(at hcl.Range, where, name string, known []string, blocks []block) {
	for _, k := range blocks {
		if k.name == name {
			label := ""
			if k.labels > 0 {
				label = ` "name"`
			}
			r.problem(at, "%s is a block: write %s%s { ... } without =", name, name, label)
			return
		}
	}
	r.problem(at, "%s is not known in %s%s", name, where, hclconf.DidYouMean(name, known))
}

func (r *reader) block(hb *hclsyntax.Block, where string, known []string, fields []field, blocks []block, given map[string]hcl.Range) {
	for _, k := range blocks {
		if k.name != hb.Type {
			continue
		}
		if len(hb.Labels) != k.labels {
			given[hb.Type] = hb.DefRange()
			want := "no name"
			if k.labels == 1 {
				want = fmt.Sprintf("one name in quotes: %s \"name\" { ... }", k.name)
			}
			r.problem(hb.DefRange(), "%s takes %s", k.name, want)
			return
		}
		key := hb.Type
		if k.labels > 0 {
			key += " " + hb.Labels[0]
		}
		if first, ok := given[key]; ok && !k.many {
			r.problem(hb.DefRange(), "%s was written before, at line %d; merge the two", key, first.Start.Line)
			return
		}
		given[key] = hb.DefRange()
		k.read(hb)
		return
	}
	for i := range fields {
		if fields[i].Name == hb.Type {
			r.problem(hb.TypeRange, "%s is not a block: write %s = ...", hb.Type, hb.Type)
			return
		}
	}
	r.problem(hb.TypeRange, "%s is not known in %s%s", hb.Type, where, hclconf.DidYouMean(hb.Type, known))
}

func text(name string, to *string) field {
	return field{Setting{Name: name, Type: String}, func(v any, _ hcl.Range) { *to = v.(string) }}
}

func flag(name string, to *bool) field {
	return field{Setting{Name: name, Type: Bool}, func(v any, _ hcl.Range) { *to = v.(bool) }}
}

func texts(name string, to *[]string) field {
	return field{Setting{Name: name, Type: List}, func(v any, _ hcl.Range) { *to = v.([]string) }}
}

func whole(name string, to *int, low, high string) field {
	return field{Setting{Name: name, Type: Int, Min: low, Max: high}, func(v any, _ hcl.Range) { *to = int(v.(int64)) }}
}

func (r *reader) top(b *hclsyntax.Body) {
	m := r.m
	memory := field{Setting{Name: "memory_limit", Type: Size}, func(v any, at hcl.Range) {
		n, err := setting.ParseSize(v.(string))
		if err != nil {
			r.problem(at, "memory_limit: %v", err)
		}
		m.MemoryLimit = n
	}}
	fields := []field{
		text("id", &m.ID), text("name", &m.Name), text("version", &m.Version), whole("api", &m.API, "", ""),
		texts("command", &m.Command), whole("concurrency", &m.Concurrency, "0", fmt.Sprint(MaxConcurrency)),
		flag("cache", &m.Cache), flag("on_demand", &m.OnDemand), memory, texts("requires", &m.Requires), texts("sections", &m.Sections),
	}
	given := r.body(b, "a manifest", fields, []block{
		{"provide", 1, false, r.provide},
		{"needs", 0, false, r.needs},
		{"field", 1, false, r.field},
		{"setting", 1, false, func(hb *hclsyntax.Block) { r.setting(hb, &m.Settings) }},
		{"parameter", 1, false, func(hb *hclsyntax.Block) { r.setting(hb, &m.Parameters) }},
		{"block", 1, false, r.named},
	})
	r.checkTop(b, given)
	for i := range m.Provides {
		if m.Provides[i].Extension == "" {
			m.Provides[i].Extension = m.ID
		}
	}
}

// checkTop checks what holds between the parts of the manifest.
func (r *reader) checkTop(b *hclsyntax.Body, given map[string]hcl.Range) {
	m := r.m
	r.checkRequired(given)
	sound := func(key string) bool {
		at, ok := given[key]
		return ok && !r.bad[at.Start.Byte]
	}
	if sound("id") && !ValidID(m.ID) {
		r.problem(given["id"], "id %q: want lower-case words joined by \"-\", at most 64 characters, such as \"urlfilter-mine\"", m.ID)
	}
	for key, v := range map[string]string{"name": m.Name, "version": m.Version} {
		if sound(key) && v == "" {
			r.problem(given[key], "%s must not be empty", key)
		}
	}
	if sound("api") && m.API != APIVersion {
		r.problem(given["api"], "the plugin speaks version %d of the plugin contract, this program version %d", m.API, APIVersion)
	}
	if sound("command") && (len(m.Command) == 0 || m.Command[0] == "") {
		r.problem(given["command"], "command must name a program; leave it out for a built-in plugin")
	}
	for _, id := range m.Requires {
		if !ValidID(id) || id == m.ID {
			r.problem(given["requires"], "requires: %q is not another plugin's id", id)
		}
	}
	r.checkPoints(b)
	r.checkFactSettings()
	r.checkBlocks(b)
}

// checkBlocks checks that no block is called as a setting is.
func (r *reader) checkBlocks(b *hclsyntax.Body) {
	for _, hb := range b.Blocks {
		if hb.Type != "block" || len(hb.Labels) != 1 {
			continue
		}
		for i := range r.m.Settings {
			if s := &r.m.Settings[i]; s.Name == hb.Labels[0] {
				r.problem(hb.LabelRanges[0], "block %q: there is a setting of that name, at line %d", s.Name, s.Line)
			}
		}
	}
}

// checkRequired reports all that is missing in one problem.
func (r *reader) checkRequired(given map[string]hcl.Range) {
	required := []struct{ key, example string }{
		{"id", `id = "urlfilter-mine"`},
		{"name", `name = "My URL filter"`},
		{"version", `version = "1.0.0"`},
		{"api", fmt.Sprintf("api = %d", APIVersion)},
		{"provide", `provide "urlfilter" {}`},
	}
	var missing []string
	for _, q := range required {
		found := false
		for k := range given { // blocks are noted with their labels
			found = found || k == q.key || strings.HasPrefix(k, q.key+" ")
		}
		if !found {
			missing = append(missing, q.example)
		}
	}
	if len(missing) > 0 {
		p := r.file.Problem(hcl.Range{Start: hcl.InitialPos, End: hcl.InitialPos}, "the manifest lacks %s", strings.Join(missing, ", "))
		p.Source = ""
		r.problems = append(r.problems, p)
	}
}

// checkPoints checks what makes sense with certain extension points only.
func (r *reader) checkPoints(b *hclsyntax.Body) {
	points := map[string]bool{}
	for _, p := range r.m.Provides {
		points[p.Point] = true
	}
	for _, hb := range b.Blocks {
		switch {
		case hb.Type == "field" && !points[Scoring]:
			r.problem(hb.DefRange(), "score fields are for plugins that provide \"scoring\"")
		case hb.Type == "parameter" && !points[IndexWriter] && !points[Exchange]:
			r.problem(hb.DefRange(), "parameters are for plugins that provide \"indexwriter\" or \"exchange\"; others write setting %q", hb.Labels[0])
		case hb.Type == "needs" && len(r.m.Needs.Facts) > 0 && !points[ParseFilter]:
			r.problem(hb.DefRange(), "facts are for plugins that provide \"parsefilter\"")
		}
	}
}

// SameSource reports whether src is the manifest m was read from, as the
// running plugin returns it.
func (m *Manifest) SameSource(src []byte) bool { return bytes.Equal(m.Source, src) }

// Block returns the kind of blocks called name, or nil.
func (m *Manifest) Block(name string) *Block {
	for i := range m.Blocks {
		if m.Blocks[i].Name == name {
			return &m.Blocks[i]
		}
	}
	return nil
}

// Provided returns what m provides at point.
func (m *Manifest) Provided(point string) (Provide, bool) {
	for _, p := range m.Provides {
		if p.Point == point {
			return p, true
		}
	}
	return Provide{}, false
}
