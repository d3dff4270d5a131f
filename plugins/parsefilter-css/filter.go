// Package parsefiltercss makes fields of what CSS selectors find in a page. The
// parser evaluates the selectors, as facts; this package owns what becomes of
// their matches.
package parsefiltercss

import (
	"context"
	_ "embed"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/andybalholm/cascadia"

	"github.com/gonutch/crawler/plugins/internal/libvalue"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// metaUnread is the parse metadata that names fields with values that were no
// number, date or link.
const metaUnread = "css.unread"

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

// config are the settings; see plugin.hcl.
type config struct {
	Fields      map[string]string `json:"fields"`
	Multivalued []string          `json:"multivalued"`
	Numbers     []string          `json:"numbers"`
	Decimal     string            `json:"decimal"`
	Dates       []string          `json:"dates"`
	DateLayouts []string          `json:"date_layouts"`
	DayFirst    bool              `json:"day_first"`
	URLs        []string          `json:"urls"`
	MaxValues   int               `json:"max_values"`
	MaxLength   setting.Size      `json:"max_length"`
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

type kind uint8

const (
	asText kind = iota
	asNumber
	asDate
	asURL
)

// field is one field, at the place of its fact.
type field struct {
	name string
	kind kind
	many bool
	html bool
}

// Filter is safe for concurrent use.
type Filter struct {
	fields    []field
	decimal   string
	dates     libvalue.Dates
	maxValues int
	maxLength int
	index     bool
}

// newFilter checks the settings; all that is wrong is reported together.
func newFilter(c config) (*Filter, error) {
	f := &Filter{
		decimal: strings.TrimPrefix(c.Decimal, "auto"), dates: libvalue.Dates{Layouts: c.DateLayouts, DayFirst: c.DayFirst},
		maxValues: c.MaxValues, maxLength: int(c.MaxLength), index: c.Index,
	}
	var errs []error
	at := map[string]int{}
	for i, name := range slices.Sorted(maps.Keys(c.Fields)) { // the order of the facts
		fact, err := model.ParseSelector(c.Fields[name])
		if err == nil {
			_, err = cascadia.ParseGroup(fact.Arg)
		}
		if err != nil {
			errs = append(errs, fault.Errorf(fault.Invalid, "fields: %s = %q: %w", name, c.Fields[name], err))
		}
		if name == "" {
			errs = append(errs, fault.Errorf(fault.Invalid, "fields: selector %q has no field name", c.Fields[name]))
		}
		at[name] = i
		f.fields = append(f.fields, field{name: name, html: fact.Attr == "html"})
	}
	each := func(setting string, names []string, do func(*field) error) {
		for _, name := range names {
			i, ok := at[name]
			if !ok {
				errs = append(errs, fault.Errorf(fault.Invalid, "%s: there is no field %q in fields", setting, name))
				continue
			}
			if err := do(&f.fields[i]); err != nil {
				errs = append(errs, fault.Errorf(fault.Invalid, "%s: field %q %w", setting, name, err))
			}
		}
	}
	is := func(k kind) func(*field) error {
		return func(fl *field) error {
			if fl.kind != asText {
				return errors.New("can be only one of number, date and link")
			}
			fl.kind = k
			return nil
		}
	}
	each("numbers", c.Numbers, is(asNumber))
	each("dates", c.Dates, is(asDate))
	each("urls", c.URLs, is(asURL))
	all := slices.Contains(c.Multivalued, "*")
	each("multivalued", slices.DeleteFunc(slices.Clone(c.Multivalued), func(s string) bool { return s == "*" }), func(fl *field) error {
		fl.many = true
		return nil
	})
	for i := range f.fields {
		f.fields[i].many = f.fields[i].many || all
	}
	for _, l := range c.DateLayouts {
		if !strings.Contains(l, "06") {
			errs = append(errs, fault.Errorf(fault.Invalid, "date_layouts: %q has no year: write the date of 2 January 2006, 15:04:05 in that form", l))
		}
	}
	return f, errors.Join(errs...)
}

// FilterParse implements parsefilter.Filter.
func (f *Filter) FilterParse(_ context.Context, in *parsefilter.Input) (*parsefilter.Patch, error) {
	set := model.Metadata{}
	var unread []string
	var base *url.URL
	for i, fl := range f.fields {
		if i >= len(in.Parse.Facts) {
			break // a parser without a tree
		}
		if fl.kind == asURL && base == nil {
			base, _ = url.Parse(in.Parse.URL)
		}
		values, bad := f.values(fl, in.Parse.Facts[i].Values, base)
		if len(values) > 0 {
			set[fl.name] = values
		}
		if bad {
			unread = append(unread, fl.name)
		}
	}
	if unread != nil {
		set[metaUnread] = unread
	}
	if len(set) == 0 {
		return nil, nil
	}
	return &parsefilter.Patch{SetMeta: set}, nil
}

// values converts what was found; bad says that something was left out because
// it could not be read as what it should be.
func (f *Filter) values(fl field, found []string, base *url.URL) (out []string, bad bool) {
	seen := map[string]bool{}
	for _, v := range found {
		if len(out) > 0 && !fl.many || len(out) >= f.maxValues {
			break
		}
		v = strings.TrimSpace(v)
		if v == "" {
			continue
		}
		v, ok := f.convert(fl, v, base)
		if !ok {
			bad = true
			continue
		}
		if v = cut(v, f.maxLength); !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out, bad
}

func (f *Filter) convert(fl field, v string, base *url.URL) (string, bool) {
	switch fl.kind {
	case asNumber:
		return libvalue.Number(v, f.decimal)
	case asDate:
		t, ok := f.dates.Date(v)
		return t.Format(time.RFC3339), ok
	case asURL:
		ref, err := url.Parse(v)
		if err != nil {
			return "", false
		}
		if base != nil {
			ref = base.ResolveReference(ref)
		}
		return strings.ReplaceAll(ref.String(), " ", "%20"), ref.IsAbs()
	}
	if !fl.html {
		v = strings.Join(strings.Fields(v), " ")
	}
	return v, true
}

// cut shortens s to n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimSpace(s[:n])
}

// FilterDocument implements indexingfilter.Filter.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	if !f.index {
		return nil, nil
	}
	set := map[string][]string{}
	for _, fl := range f.fields {
		if v := in.Parse.ParseMeta[fl.name]; len(v) > 0 {
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
