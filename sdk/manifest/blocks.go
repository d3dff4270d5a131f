package manifest

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/gonutch/crawler/sdk/hclconf"
	"github.com/gonutch/crawler/sdk/model"
)

func (r *reader) provide(hb *hclsyntax.Block) {
	p := Provide{Point: hb.Labels[0]}
	if !contains(Points(), p.Point) {
		r.problem(hb.LabelRanges[0], "there is no extension point %q%s", p.Point, hclconf.DidYouMean(p.Point, Points()))
	}
	given := r.body(hb.Body, "provide", []field{
		text("extension", &p.Extension), texts("schemes", &p.Schemes), texts("mime_types", &p.MIMETypes),
		texts("parse_meta", &p.ParseMeta),
		{Setting{Name: "parameters", Type: Map}, func(v any, _ hcl.Range) { p.Parameters = v.(map[string]string) }},
	}, nil)
	r.only(hb, given, "schemes", p.Point, Protocol, p.Schemes, `schemes = ["ftp"]`)
	r.only(hb, given, "mime_types", p.Point, Parser, p.MIMETypes, `mime_types = ["text/html"]`)
	if at, ok := given["parse_meta"]; ok && p.Point != IndexingFilter {
		r.problem(at, "parse_meta is for provide %q only", IndexingFilter)
	}
	for _, s := range p.Schemes {
		if !schemeRE().MatchString(s) {
			r.problem(given["schemes"], "%q is not a URL scheme: want lower-case letters such as \"ftp\"", s)
		}
	}
	for _, t := range p.MIMETypes {
		if t != "*" && (t != strings.ToLower(t) || strings.Count(t, "/") != 1) {
			r.problem(given["mime_types"], "%q is not a MIME type: want lower case such as \"text/html\", or \"*\"", t)
		}
	}
	r.m.Provides = append(r.m.Provides, p)
}

func schemeRE() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`) }

// only checks a key that one extension point demands and no other takes.
func (r *reader) only(hb *hclsyntax.Block, given map[string]hcl.Range, key, point, want string, list []string, example string) {
	at, ok := given[key]
	switch {
	case ok && point != want && contains(Points(), point):
		r.problem(at, "%s is for provide %q only", key, want)
	case point == want && len(list) == 0:
		r.problem(hb.DefRange(), "provide %q must say which: write %s", point, example)
	}
}

func (r *reader) needs(hb *hclsyntax.Block) {
	n := &r.m.Needs
	r.body(hb.Body, "needs", []field{
		flag("content", &n.Content), flag("inlinks", &n.Inlinks),
		flag("outlinks", &n.Outlinks), flag("text", &n.Text), flag("orphans", &n.Orphans),
	}, []block{{"fact", 1, true, r.fact}})
}

// factKinds are the kinds with whether they take an argument.
func factKinds() ([]string, map[string]bool) {
	kinds := []model.FactKind{
		model.FactMeta, model.FactHeading, model.FactRel, model.FactJSONLD, model.FactSelector, model.FactScript,
	}
	arg := map[string]bool{}
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
		arg[string(k)] = k != model.FactJSONLD && k != model.FactScript
	}
	return names, arg
}

func (r *reader) fact(hb *hclsyntax.Block) {
	f := Fact{Fact: model.Fact{Kind: model.FactKind(hb.Labels[0])}}
	names, takesArg := factKinds()
	if !contains(names, hb.Labels[0]) {
		r.problem(hb.LabelRanges[0], "there is no fact %q%s; the facts are %s", f.Kind,
			hclconf.DidYouMean(hb.Labels[0], names), strings.Join(names, ", "))
	}
	given := r.body(hb.Body, "fact", []field{
		text("arg", &f.Arg), text("attr", &f.Attr), whole("max", &f.Max, "0", "100000"),
		{Setting{Name: "setting", Type: String}, func(v any, at hcl.Range) { f.Setting = v.(string); r.factSettings[len(r.m.Needs.Facts)] = at }},
	}, nil)
	if _, ok := given["setting"]; ok {
		r.factOfSetting(f, given, takesArg[hb.Labels[0]])
	} else if takesArg[hb.Labels[0]] && f.Arg == "" {
		r.problem(hb.DefRange(), "fact %q needs arg: what to look for", f.Kind)
	} else if at, ok := given["arg"]; ok && takesArg[hb.Labels[0]] && !r.bad[at.Start.Byte] {
		if err := checkArg(f.Fact); err != nil {
			r.problem(at, "%v", err)
		}
	}
	if at, ok := given["attr"]; ok && f.Kind != model.FactSelector {
		r.problem(at, "attr is for fact %q only", model.FactSelector)
	}
	r.m.Needs.Facts = append(r.m.Needs.Facts, f)
}

// factOfSetting checks a fact whose arguments a setting gives.
func (r *reader) factOfSetting(f Fact, given map[string]hcl.Range, takesArg bool) {
	if arg, ok := given["arg"]; ok {
		r.problem(arg, "fact %q: either arg or setting, not both", f.Kind)
	}
	if attr, ok := given["attr"]; ok && f.Kind == model.FactSelector {
		r.problem(attr, "fact %q: the setting's selectors say themselves what they yield, as in \"a::attr(x)\"", f.Kind)
	}
	if !takesArg {
		r.problem(r.factSettings[len(r.m.Needs.Facts)], "fact %q takes no argument", f.Kind)
	}
}

// checkFactSettings checks, after all settings were read, that those which give
// facts exist and can.
func (r *reader) checkFactSettings() {
	names := make([]string, len(r.m.Settings))
	for i := range r.m.Settings {
		names[i] = r.m.Settings[i].Name
	}
	for i, f := range r.m.Needs.Facts {
		at, ok := r.factSettings[i]
		if !ok {
			continue
		}
		k := slices.Index(names, f.Setting)
		switch {
		case k < 0:
			r.problem(at, "fact %q: there is no setting %q%s", f.Kind, f.Setting, hclconf.DidYouMean(f.Setting, names))
		case r.m.Settings[k].Type != List && r.m.Settings[k].Type != Map && r.m.Settings[k].Type != "":
			r.problem(at, "fact %q: setting %q is of type %s; facts come from a list or map", f.Kind, f.Setting, r.m.Settings[k].Type)
		}
	}
}

func (r *reader) field(hb *hclsyntax.Block) {
	f := Field{Name: hb.Labels[0]}
	if !nameRE().MatchString(f.Name) {
		r.problem(hb.LabelRanges[0], "field %q: want lower-case letters, digits and \"_\"", f.Name)
	}
	var reducer string
	given := r.body(hb.Body, "field", []field{
		{
			Setting{Name: "reducer", Type: String, OneOf: []string{string(Add), string(Min), string(Max), string(First)}},
			func(v any, _ hcl.Range) { reducer = v.(string) },
		},
		text("meaning", &f.Meaning),
	}, nil)
	f.Reducer = Reducer(reducer)
	if _, ok := given["reducer"]; !ok {
		r.problem(hb.DefRange(), "field %q needs a reducer: write reducer = \"add\"", f.Name)
	}
	r.m.Fields = append(r.m.Fields, f)
}

func (r *reader) setting(hb *hclsyntax.Block, to *[]Setting) {
	s := Setting{Name: hb.Labels[0], Line: hb.TypeRange.Start.Line}
	if !nameRE().MatchString(s.Name) {
		r.problem(hb.LabelRanges[0], "%s %q: want lower-case letters, digits and \"_\"", hb.Type, s.Name)
	}
	names := make([]string, 0, len(Types()))
	for _, t := range Types() {
		names = append(names, string(t))
	}
	var typ, nutch string
	var def any
	var defAt hcl.Range
	given := r.body(hb.Body, hb.Type, []field{
		{Setting{Name: "type", Type: String, OneOf: names}, func(v any, _ hcl.Range) { typ = v.(string) }},
		{Setting{Name: "default"}, func(v any, at hcl.Range) { def, defAt = v, at }},
		text("meaning", &s.Meaning), text("nutch", &nutch), texts("one_of", &s.OneOf),
		text("min", &s.Min), text("max", &s.Max), flag("off", &s.Off), flag("secret", &s.Secret),
	}, nil)
	if _, ok := given["type"]; !ok {
		r.problem(hb.DefRange(), "%s %q needs a type: one of %s", hb.Type, s.Name, strings.Join(names, ", "))
	}
	if s.Meaning == "" {
		r.problem(hb.DefRange(), "%s %q needs a meaning: a sentence for its users", hb.Type, s.Name)
	}
	s.Type = Type(typ)
	s.Nutch, s.NutchUnit = SplitNutch(nutch)
	r.checkBounds(&s, given)
	if def != nil && s.Type != "" {
		v, err := s.Check(def)
		if err != nil {
			r.problem(defAt, "default: %v", err)
		}
		s.Default = v
		if s.Type == File && err == nil && v != "" && len(r.m.Command) == 0 {
			r.problem(defAt, "default: a built-in plugin has no folder for files; leave it \"\"")
		}
	}
	*to = append(*to, s)
}

// named reads a block block.
func (r *reader) named(hb *hclsyntax.Block) {
	k := Block{Name: hb.Labels[0], Line: hb.TypeRange.Start.Line}
	if !nameRE().MatchString(k.Name) {
		r.problem(hb.LabelRanges[0], "block %q: want lower-case letters, digits and \"_\"", k.Name)
	}
	r.body(hb.Body, "block", []field{text("meaning", &k.Meaning)}, []block{
		{"setting", 1, false, func(hb *hclsyntax.Block) { r.setting(hb, &k.Settings) }},
	})
	if k.Meaning == "" {
		r.problem(hb.DefRange(), "block %q needs a meaning: a sentence for its users", k.Name)
	}
	if len(k.Settings) == 0 {
		r.problem(hb.DefRange(), "block %q needs a setting", k.Name)
	}
	r.m.Blocks = append(r.m.Blocks, k)
}

// checkBounds checks that the bounds of s fit its type.
func (r *reader) checkBounds(s *Setting, given map[string]hcl.Range) {
	numeric := s.Type == Int || s.Type == Float || s.Type == Duration || s.Type == Size
	for key, bound := range map[string]string{"min": s.Min, "max": s.Max} {
		if at, ok := given[key]; ok && s.Type != "" {
			if _, isNumber := s.number(bound); !numeric || !isNumber {
				r.problem(at, "%s = %q is no %s to compare with", key, bound, s.Type)
			}
		}
	}
	if at, ok := given["off"]; ok && !numeric && s.Type != "" {
		r.problem(at, "off (-1) is for numbers, durations and sizes")
	}
	if at, ok := given["one_of"]; ok && s.Type != String && s.Type != List && s.Type != "" {
		r.problem(at, "one_of is for type \"string\" and \"list\"")
	}
}

// SplitNutch splits "http.timeout (ms)" into the property and its unit.
func SplitNutch(s string) (property, unit string) {
	property, rest, _ := strings.Cut(s, "(")
	unit, _, _ = strings.Cut(rest, ")")
	return strings.TrimSpace(property), strings.TrimSpace(unit)
}
