// Package mimetypefilter keeps documents out of the index by their MIME type. It
// owns the rule file format.
package mimetypefilter

import (
	"context"
	_ "embed"
	"strings"

	"github.com/gonutch/crawler/plugins/internal/librule"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	File  string   `json:"file"`
	Rules []string `json:"rules"`
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	var c config
	if err := env.Settings.Decode(&c); err != nil {
		return nil, err
	}
	lines, err := librule.Source{Setting: "rules", Inline: c.Rules, File: c.File}.Lines()
	if err != nil {
		return nil, err
	}
	f, err := compile(lines)
	if err != nil {
		return nil, err
	}
	return &sdk.Extensions{IndexingFilter: f}, nil
}

// Filter implements Nutch's MimeTypeIndexingFilter.
type Filter struct {
	accept   bool // what is not listed
	prefixes []string
	active   bool
}

func compile(lines []librule.Line) (*Filter, error) {
	if len(lines) == 0 {
		return &Filter{}, nil
	}
	mode := strings.TrimSpace(lines[0].Text)
	if mode != "+" && mode != "-" {
		return nil, lines[0].Errorf("want a line with + (index all but the types below) or - (index only these), not %q", mode)
	}
	f := &Filter{accept: mode == "+", active: true}
	for _, l := range lines[1:] {
		p := strings.ToLower(strings.TrimSpace(l.Text))
		if p == "+" || p == "-" {
			return nil, l.Errorf("the mode was set before, at %s", lines[0].At)
		}
		f.prefixes = append(f.prefixes, p)
	}
	return f, nil
}

// FilterDocument implements indexingfilter.Filter. A document without a type
// counts as not listed.
func (f *Filter) FilterDocument(_ context.Context, in *indexingfilter.Input) (*indexingfilter.Patch, error) {
	if !f.active {
		return nil, nil
	}
	t := in.Parse.ContentMeta.First("Content-Type")
	if t == "" {
		t = in.Headers.First("Content-Type")
	}
	t, _, _ = strings.Cut(t, ";")
	t = strings.ToLower(strings.TrimSpace(t))
	for _, p := range f.prefixes {
		if strings.HasPrefix(t, p) {
			if f.accept {
				return &indexingfilter.Patch{Drop: "MIME type " + t + " is excluded by " + p}, nil
			}
			return nil, nil
		}
	}
	if !f.accept {
		return &indexingfilter.Patch{Drop: "MIME type \"" + t + "\" is not among those to index"}, nil
	}
	return nil, nil
}

var _ indexingfilter.Filter = (*Filter)(nil)
