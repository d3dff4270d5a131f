// Package indexstatic gives every document the same fields.
package indexstatic

import (
	"context"
	_ "embed"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/fault"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Fields   map[string]string `json:"fields"`
	Static   string            `json:"static"`
	FieldSep string            `json:"fieldsep"`
	KeySep   string            `json:"keysep"`
	ValueSep string            `json:"valuesep"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	add, err := c.parse()
	if err != nil {
		return nil, fault.New(fault.Invalid, err)
	}
	return &sdk.Extensions{IndexingFilter: &Filter{add}}, nil
}

// parse reads the fields. A value may hold keysep (an address does), and what is
// no field is an error; Nutch leaves both out silently.
func (c *config) parse() (map[string][]string, error) {
	add := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Fields)) {
		add[name] = []string{c.Fields[name]}
	}
	if strings.TrimSpace(c.Static) == "" {
		return add, nil
	}
	if c.FieldSep == "" || c.KeySep == "" {
		return nil, fault.Errorf(fault.Invalid, "fieldsep and keysep must not be empty")
	}
	var errs []error
	for _, part := range strings.Split(c.Static, c.FieldSep) {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, rest, ok := strings.Cut(part, c.KeySep)
		name = strings.TrimSpace(name)
		values := []string{rest}
		if c.ValueSep != "" {
			values = strings.Split(rest, c.ValueSep)
		}
		n := 0
		for _, v := range values {
			if v = strings.TrimSpace(v); v != "" {
				add[name] = append(add[name], v)
				n++
			}
		}
		if !ok || name == "" || n == 0 {
			errs = append(errs, fault.Errorf(fault.Invalid, "static: %q is no field: write name%svalue", part, c.KeySep))
		}
	}
	return add, errors.Join(errs...)
}

// Filter implements Nutch's StaticFieldIndexer.
type Filter struct{ add map[string][]string }

// FilterDocument implements indexingfilter.Filter.
func (f *Filter) FilterDocument(context.Context, *indexingfilter.Input) (*indexingfilter.Patch, error) {
	if len(f.add) == 0 {
		return nil, nil
	}
	return &indexingfilter.Patch{Add: maps.Clone(f.add)}, nil
}

var _ indexingfilter.Filter = (*Filter)(nil)
