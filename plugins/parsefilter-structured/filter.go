// Package parsefilterstructured makes fields of what pages say about themselves
// for machines: JSON-LD, microdata, OpenGraph and Dublin Core. It owns how these
// are read and which of them wins.
package parsefilterstructured

import (
	"context"
	_ "embed"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gonutch/crawler/plugins/internal/libvalue"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// metaInvalid is the parse metadata that counts JSON-LD scripts that are no JSON.
const metaInvalid = "structured.invalid"

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// config are the settings; see plugin.hcl.
type config struct {
	Fields      map[string]string `json:"fields"`
	AddFields   map[string]string `json:"add_fields"`
	Multivalued []string          `json:"multivalued"`
	Split       []string          `json:"split"`
	Numbers     []string          `json:"numbers"`
	Dates       []string          `json:"dates"`
	URLs        []string          `json:"urls"`
	Microdata   []string          `json:"microdata"` // the core makes facts of it
	MaxValues   int               `json:"max_values"`
	Index       bool              `json:"index"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	f, err := newFilter(c)
	if err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	return &sdk.Extensions{ParseFilter: f, IndexingFilter: f}, nil
}

// source is one place a value may come from.
type source struct {
	kind string   // "ld", "md" or "" for a meta tag
	typ  string   // type of the thing to look in, "" for those at the top
	path []string // of a meta tag: its name
}

type field struct {
	name    string
	sources []source
}

// Filter is safe for concurrent use.
type Filter struct {
	config
	fields []field
}

func newFilter(c config) (*Filter, error) {
	f := &Filter{config: c}
	all := maps.Clone(c.Fields)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, c.AddFields)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] == "" {
			continue
		}
		fl := field{name: name}
		for _, text := range strings.Split(all[name], ",") {
			s, err := parseSource(strings.TrimSpace(text))
			if err != nil {
				errs = append(errs, fault.Errorf(fault.Invalid, "field %s: %w", name, err))
			}
			fl.sources = append(fl.sources, s)
		}
		f.fields = append(f.fields, fl)
	}
	return f, errors.Join(errs...)
}

func parseSource(text string) (source, error) {
	kind, rest, _ := strings.Cut(text, ":")
	if kind != "ld" && kind != "md" {
		if text == "" || strings.ContainsAny(text, " \t") {
			return source{}, fault.Errorf(fault.Invalid, "%q is no source: write ld:path, md:path or the name of a meta tag", text)
		}
		return source{path: []string{strings.ToLower(text)}}, nil
	}
	s := source{kind: kind}
	if typ, path, ok := strings.Cut(rest, "/"); ok {
		s.typ, rest = typ, path
		if typ == "" {
			rest = ""
		}
	}
	s.path = strings.Split(rest, ".")
	if slices.Contains(s.path, "") {
		return source{}, fault.Errorf(fault.Invalid, "%q is no source: write %s:path or %s:Type/path, such as %s:offers.price", text, kind, kind, kind)
	}
	return s, nil
}

// page is what a page says.
type page struct {
	things  map[string][]thing // by kind
	metas   model.FactResult
	invalid int
}

func read(facts []model.FactResult) page {
	p := page{things: map[string][]thing{}}
	if len(facts) < 2 {
		return p
	}
	for _, body := range facts[0].Values {
		ts, err := parseJSONLD(body)
		if err != nil {
			p.invalid++
		}
		p.things["ld"] = append(p.things["ld"], ts...)
	}
	p.metas = facts[1]
	for _, f := range facts[2:] {
		for _, outer := range f.Values {
			if t, ok := parseItem(outer); ok {
				p.things["md"] = append(p.things["md"], t)
			}
		}
	}
	return p
}

// from returns the values that s has on the page.
func (p *page) from(s source) []string {
	if s.kind == "" {
		var out []string
		for i, name := range p.metas.Names {
			if v := strings.TrimSpace(p.metas.Values[i]); name == s.path[0] && v != "" {
				out = append(out, v)
			}
		}
		return out
	}
	things := p.things[s.kind]
	if s.typ != "" {
		things = ofType(things, s.typ)
	}
	for _, t := range things {
		if v := texts(t, s.path, 0); len(v) > 0 {
			return v
		}
	}
	return nil
}

// FilterParse implements parsefilter.Filter.
func (f *Filter) FilterParse(_ context.Context, in *parsefilter.Input) (*parsefilter.Patch, error) {
	p := read(in.Parse.Facts)
	base, _ := url.Parse(in.Parse.URL)
	set := model.Metadata{}
	for _, fl := range f.fields {
		for _, s := range fl.sources {
			if v := f.values(fl.name, p.from(s), base); len(v) > 0 {
				set[fl.name] = v
				break
			}
		}
	}
	if p.invalid > 0 {
		set.Set(metaInvalid, strconv.Itoa(p.invalid))
	}
	if len(set) == 0 {
		return nil, nil
	}
	return &parsefilter.Patch{SetMeta: set}, nil
}

func (f *Filter) values(name string, found []string, base *url.URL) []string {
	if slices.Contains(f.Split, name) {
		var parts []string
		for _, v := range found {
			parts = append(parts, strings.Split(v, ",")...)
		}
		found = parts
	}
	limit := 1
	if slices.Contains(f.Multivalued, name) || slices.Contains(f.Multivalued, "*") {
		limit = f.MaxValues
	}
	var out []string
	seen := map[string]bool{}
	for _, v := range found {
		if len(out) == limit {
			break
		}
		if v = f.convert(name, bare(strings.TrimSpace(v)), base); v != "" && !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// convert returns "" for what is not what it should be.
func (f *Filter) convert(name, v string, base *url.URL) string {
	switch {
	case v == "":
		return ""
	case slices.Contains(f.Numbers, name):
		// Machines write a point before decimals.
		n, _ := libvalue.Number(v, decimal(v))
		return n
	case slices.Contains(f.Dates, name):
		t, ok := libvalue.Dates{}.Date(v)
		if !ok {
			return ""
		}
		return t.Format(time.RFC3339)
	case slices.Contains(f.URLs, name):
		ref, err := url.Parse(v)
		if err != nil {
			return ""
		}
		if base != nil {
			ref = base.ResolveReference(ref)
		}
		if !ref.IsAbs() {
			return ""
		}
		return strings.ReplaceAll(ref.String(), " ", "%20")
	}
	return v
}

func decimal(v string) string {
	if strings.Count(v, ".") == 1 && !strings.Contains(v, ",") {
		return "."
	}
	return ""
}

// FilterDocument implements indexingfilter.Filter.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	if !f.Index {
		return nil, nil
	}
	set := map[string][]string{}
	for _, fl := range f.fields {
		v := in.Parse.ParseMeta[fl.name]
		if slices.Contains(f.Dates, fl.name) {
			v = f.values(fl.name, v, nil) // feed writes milliseconds under the same name
		}
		if len(v) > 0 {
			set[fl.name] = v
		}
	}
	if len(set) == 0 {
		return nil, nil
	}
	return &indexingfilter.Patch{Set: set}, nil
}

var (
	_ parsefilter.Filter    = (*Filter)(nil)
	_ indexingfilter.Filter = (*Filter)(nil)
)
