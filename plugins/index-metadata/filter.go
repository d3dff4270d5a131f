// Package indexmetadata makes fields of metadata: the CrawlDB's, the parse's and
// the content's.
package indexmetadata

import (
	"context"
	_ "embed"
	"net/textproto"
	"slices"
	"strings"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	DBMeta      []string `json:"db_md"`
	ParseMeta   []string `json:"parse_md"`
	ContentMeta []string `json:"content_md"`
	Separator   string   `json:"separator"`
	Multivalued []string `json:"multivalued_fields"`
	MaxValues   int      `json:"max_values"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	for i, f := range c.Multivalued {
		c.Multivalued[i] = strings.ToLower(f)
	}
	for _, k := range slices.Concat(c.DBMeta, c.ParseMeta, c.ContentMeta) {
		if k == "" || strings.Contains(strings.TrimSuffix(k, "*"), "*") {
			return nil, fault.Errorf(fault.Invalid, "%q is no key of metadata: a \"*\" may stand at its end only", k)
		}
	}
	return &sdk.Extensions{IndexingFilter: &Filter{c}}, nil
}

// Filter implements Nutch's MetadataIndexer: fields are called as the keys, in
// lower case.
type Filter struct{ config }

// FilterDocument implements indexingfilter.Filter.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	add := map[string][]string{}
	f.take(add, in.Datum.Metadata, f.DBMeta, false)
	f.take(add, in.Parse.ParseMeta, f.ParseMeta, false)
	f.take(add, in.Parse.ContentMeta, f.ContentMeta, false)
	f.take(add, in.Headers, f.without(in.Parse.ContentMeta), true)
	if len(add) == 0 {
		return nil, nil
	}
	return &indexingfilter.Patch{Add: add}, nil
}

// without returns the keys of content_md that m does not have: Nutch keeps
// response headers in the same place.
func (f *Filter) without(m model.Metadata) []string {
	var out []string
	for _, k := range f.ContentMeta {
		if len(m[k]) == 0 {
			out = append(out, k)
		}
	}
	return out
}

func (f *Filter) take(add map[string][]string, m model.Metadata, keys []string, headers bool) {
	for _, key := range keys {
		if prefix, ok := strings.CutSuffix(key, "*"); ok {
			if headers {
				prefix = textproto.CanonicalMIMEHeaderKey(prefix)
			}
			for _, k := range m.Keys() {
				if strings.HasPrefix(k, prefix) {
					f.add(add, k, m[k])
				}
			}
			continue
		}
		name := key
		if headers {
			key = textproto.CanonicalMIMEHeaderKey(key)
		}
		f.add(add, name, m[key])
	}
}

func (f *Filter) add(add map[string][]string, key string, values []string) {
	field := strings.ToLower(key)
	split := f.Separator != "" && (len(f.Multivalued) == 0 || slices.Contains(f.Multivalued, field))
	n := 0
	for _, v := range values {
		parts := []string{v}
		if split {
			parts = strings.Split(v, f.Separator)
		}
		for _, p := range parts {
			if split {
				p = strings.TrimSpace(p)
			}
			if p != "" && n < f.MaxValues {
				add[field] = append(add[field], p)
				n++
			}
		}
	}
}

var _ indexingfilter.Filter = (*Filter)(nil)
