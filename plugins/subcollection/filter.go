// Package subcollection says which named sets of URLs a document belongs to. It
// owns the format of subcollections.xml.
package subcollection

import (
	"context"
	_ "embed"
	"maps"
	"slices"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/fault"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	File            string            `json:"config"`
	Whitelist       map[string]string `json:"whitelist"`
	Blacklist       map[string]string `json:"blacklist"`
	DefaultField    string            `json:"default_fieldname"`
	CaseInsensitive bool              `json:"case_insensitive"`
	MetadataSource  string            `json:"metadata_source"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	f := &Filter{config: c}
	if c.File != "" {
		src, err := librule.Read(c.File)
		if err != nil {
			return nil, err
		}
		if f.collections, err = parseXML(c.File, src); err != nil {
			return nil, fault.New(fault.Invalid, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Whitelist)) {
		f.collections = append(f.collections, collection{name: name, white: strings.Fields(c.Whitelist[name]), black: strings.Fields(c.Blacklist[name])})
	}
	for name := range c.Blacklist {
		if _, ok := c.Whitelist[name]; !ok {
			return nil, fault.Errorf(fault.Invalid, "blacklist: there is no collection %q in whitelist", name)
		}
	}
	if c.DefaultField == "" {
		return nil, fault.Errorf(fault.Invalid, "default_fieldname must not be empty")
	}
	for i := range f.collections {
		c := &f.collections[i]
		if f.CaseInsensitive {
			c.white, c.black = lower(c.white), lower(c.black)
		}
		if c.key == "" {
			c.key = f.DefaultField
		}
	}
	return &sdk.Extensions{IndexingFilter: f}, nil
}

func lower(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.ToLower(s)
	}
	return out
}

// Filter implements Nutch's SubcollectionIndexingFilter.
type Filter struct {
	config
	collections []collection
}

// FilterDocument implements indexingfilter.Filter.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	if given := in.Datum.Metadata[f.MetadataSource]; f.MetadataSource != "" && len(given) > 0 {
		return &indexingfilter.Patch{Add: map[string][]string{f.DefaultField: given}}, nil
	}
	url := in.URL
	if f.CaseInsensitive {
		url = strings.ToLower(url)
	}
	add := map[string][]string{}
	for i := range f.collections {
		if c := &f.collections[i]; c.has(url) && !slices.Contains(add[c.key], c.name) {
			add[c.key] = append(add[c.key], c.name)
		}
	}
	if len(add) == 0 {
		return nil, nil
	}
	return &indexingfilter.Patch{Add: add}, nil
}

var _ indexingfilter.Filter = (*Filter)(nil)
